//! A model that runs in this process.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use data_encoding::HEXLOWER;
use loci_core::{CosineScale, Embedder, Error, ModelId, Result};
use sha2::{Digest, Sha256};

use crate::catalogue::{BUNDLED, CatalogueModel, ROWS_SUFFIX};
use crate::cores::{Core, Cores};
use crate::idle::Idle;
use crate::network::Network;
use crate::parallel::{Priority, spread};
use crate::runs::{distinct, longest_first, runs};
use crate::runtime::{Runtime, Scales};
use crate::tokenizer::Tokenizer;

static BUNDLED_TOKENIZER: &[u8] = include_bytes!("../model/tokenizer.json");

/// The time for which a loaded model is kept after its last use. It takes some 36 MB, and 30 ms to
/// load.
const KEPT: Duration = Duration::from_mins(1);
/// Maximum tokens of the input of a model outside of the catalogue, including those around the
/// text.
const TOKENS_MAX: usize = 256;

/// Names of the graph in a model folder; the first existing one is used.
const GRAPH_FILES: [&str; 2] = ["model.onnx", "model_int8.onnx"];
const TOKENIZER_FILE: &str = "tokenizer.json";

/// The prefix of the fingerprints of models in folders.
const FOLDER_PREFIX: &str = "onnx:";

/// A text for [`LocalModel::check`].
const CHECK_TEXT: &str = "The model answers.";

/// A BERT-like sentence encoder in ONNX form, run in this process: the bundled all-MiniLM-L6-v2
/// (384 components), another one of the [catalogue](crate::CATALOGUE) or any other in a folder.
///
/// A model of the catalogue gets the prefixes of its training and its full input length; other
/// models read 256 tokens. The first [`embed`](Embedder::embed) loads the model for all threads;
/// after a failed load, the next call tries again. A model that was not used for a minute is
/// dropped, and loaded again by the next call. One text uses one core; several use all cores, the
/// longest first, and all callers together never use more. Short texts of one call run together, and
/// equal ones once. Texts in the [background](Embedder::embed_in_background) have threads of their
/// own, which run when the cores are not wanted for others. A text's vector depends only on the text,
/// to the bit, and on any processor.
pub struct LocalModel {
    model: ModelId,
    source: Source,
    /// `None` for a model outside of the catalogue.
    known: Option<&'static CatalogueModel>,
    runtime: Runtime,
    loaded: Idle<LoadedModel>,
    /// The number of cores that a process may use.
    limit: usize,
    /// For texts that a call waits for.
    cores: Cores,
    /// For the others, numbered after [`cores`](Self::cores). Both are all cores of the machine,
    /// because the system lets the threads of calls go first.
    background_cores: Cores,
}

enum Source {
    Bundled,
    Folder {
        graph: PathBuf,
        tokenizer: PathBuf,
        digest: String,
    },
}

struct LoadedModel {
    tokenizer: Tokenizer,
    network: Box<dyn Network>,
}

impl LocalModel {
    /// Returns the bundled model. Loads nothing until its first use.
    pub fn bundled() -> Self {
        LocalModel::known(Source::Bundled, &BUNDLED)
    }

    /// Returns a model of the catalogue: the bundled one, or one with its files in its own folder.
    /// Loads nothing until its first use, which fails if these are not its files.
    pub fn of_catalogue(model: &'static CatalogueModel, folder: &Path) -> Self {
        if model.is_bundled() {
            return LocalModel::bundled();
        }
        let [graph, tokenizer] = model.files.each_ref().map(|file| folder.join(file.name));
        let source = Source::Folder {
            graph,
            tokenizer,
            digest: model.digest.to_owned(),
        };
        LocalModel::known(source, model)
    }

    /// Returns the model in a folder: `model.onnx` or, if that is missing, `model_int8.onnx`
    /// (inputs `input_ids`, `attention_mask` and optionally `token_type_ids`; output
    /// `sentence_embedding`, or `last_hidden_state` to be averaged), and `tokenizer.json` (BERT
    /// WordPiece or SentencePiece Unigram). If these are the files of a model of the catalogue, it
    /// is that model.
    ///
    /// Reads both files once for the fingerprint, about 0.1 s for 25 MB, and does not keep them.
    ///
    /// # Errors
    /// `unavailable`, naming the file that cannot be read.
    pub fn from_folder(folder: &Path) -> Result<Self> {
        let graph = GRAPH_FILES
            .iter()
            .map(|name| folder.join(name))
            .find(|path| path.exists());
        let Some(graph) = graph else {
            return Err(unusable(&folder.join(GRAPH_FILES[0]), "does not exist"));
        };
        let tokenizer = folder.join(TOKENIZER_FILE);
        let digest = digest(&read(&graph)?, &read(&tokenizer)?);
        let model = ModelId::new(format!("{FOLDER_PREFIX}{digest}:{TOKENS_MAX}"));
        let known = CatalogueModel::with_digest(&digest);
        let source = Source::Folder {
            graph,
            tokenizer,
            digest,
        };
        Ok(match known {
            Some(known) => LocalModel::known(source, known),
            None => LocalModel::new(model, source, None, Scales::PerText),
        })
    }

    /// Returns true if a model with this fingerprint may be in a folder.
    pub fn is_of_a_folder(model: &ModelId) -> bool {
        let known = CatalogueModel::of_fingerprint(model);
        model.as_str().starts_with(FOLDER_PREFIX) || known.is_some_and(|known| !known.is_bundled())
    }

    fn known(source: Source, model: &'static CatalogueModel) -> Self {
        let id = ModelId::new(format!("{}{ROWS_SUFFIX}", model.fingerprint()));
        LocalModel::new(id, source, Some(model), Scales::PerToken)
    }

    fn new(
        model: ModelId,
        source: Source,
        known: Option<&'static CatalogueModel>,
        scales: Scales,
    ) -> Self {
        let runtime = Runtime::BuiltIn {
            for_one_text: false,
            scales,
        };
        let limit = std::thread::available_parallelism().map_or(1, usize::from);
        LocalModel {
            model,
            source,
            known,
            runtime,
            loaded: Idle::new(KEPT),
            limit,
            cores: Cores::new(0..limit),
            background_cores: Cores::new(limit..2 * limit),
        }
    }

    /// Loads less for a process that embeds one short text. Every further text takes longer. The
    /// vectors are the same.
    #[must_use]
    pub fn for_one_text(self) -> Self {
        let runtime = match self.runtime {
            Runtime::BuiltIn { scales, .. } => Runtime::BuiltIn {
                for_one_text: true,
                scales,
            },
            #[cfg(feature = "ort")]
            runtime => runtime,
        };
        LocalModel { runtime, ..self }
    }

    /// Computes the vectors that former versions stored, which had one scale for all tokens of a text:
    /// it is another model, and slower. A model outside of the catalogue stays as it is.
    #[must_use]
    pub fn of_former_versions(self) -> Self {
        match self.runtime {
            Runtime::BuiltIn { for_one_text, .. } => LocalModel {
                model: self.bare_model(),
                runtime: Runtime::BuiltIn {
                    for_one_text,
                    scales: Scales::PerText,
                },
                ..self
            },
            #[cfg(feature = "ort")]
            Runtime::Onnxruntime { .. } => self,
        }
    }

    /// Returns its fingerprint without the arithmetic.
    fn bare_model(&self) -> ModelId {
        let model = self.model.as_str();
        ModelId::new(model.strip_suffix(ROWS_SUFFIX).unwrap_or(model))
    }

    /// Runs the same files on an onnxruntime (1.17 or newer) that the user installed: `library`,
    /// otherwise the one in `ORT_DYLIB_PATH`, otherwise the one that the system's loader finds. The
    /// first use opens it, with its telemetry off, and fails with `unavailable` if it is missing. A
    /// process can open only one library.
    ///
    /// The fingerprint ends with `:ort`, because the vectors are not bit-identical. Each core in
    /// use has a copy of the model.
    #[cfg(feature = "ort")]
    #[must_use]
    pub fn on_onnxruntime(self, library: Option<PathBuf>) -> Self {
        let suffix = crate::catalogue::ORT_SUFFIX;
        let model = ModelId::new(format!("{}{suffix}", self.bare_model()));
        LocalModel {
            model,
            runtime: Runtime::Onnxruntime { library },
            ..self
        }
    }

    /// Loads the model, embeds a fixed text, verifies the vector and returns the number of its
    /// components.
    ///
    /// # Errors
    /// `unavailable` as for [`embed`](Embedder::embed), or if the vector is not the expected one.
    pub fn check(&self) -> Result<usize> {
        let vectors = self.embed(&[CHECK_TEXT])?;
        let vector = vectors
            .first()
            .ok_or_else(|| self.failed("it gave no vector"))?;
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        if (length - 1.0).abs() > 1e-3 {
            return Err(self.failed(format!("its vector has the length {length}, not 1")));
        }
        if let Some(known) = self.known.filter(|known| known.dimension != vector.len()) {
            let problem = format!(
                "its vector has {} components, not {}",
                vector.len(),
                known.dimension
            );
            return Err(self.failed(problem));
        }
        Ok(vector.len())
    }

    /// Returns the loaded model. Concurrent callers wait while it loads.
    fn loaded(&self) -> Result<Arc<LoadedModel>> {
        self.loaded.get_or_load(|| self.load())
    }

    fn load(&self) -> Result<LoadedModel> {
        #[cfg(feature = "ort")]
        self.runtime.start()?;
        match &self.source {
            Source::Bundled => {
                let tokenizer = Tokenizer::from_json(BUNDLED_TOKENIZER);
                let tokenizer =
                    tokenizer.map_err(|problem| self.failed(format!("its tokenizer {problem}")))?;
                let network = self.runtime.load_bundled(2 * self.limit);
                let network = network.map_err(|problem| self.failed(problem))?;
                Ok(LoadedModel { tokenizer, network })
            }
            Source::Folder {
                graph,
                tokenizer,
                digest: expected,
            } => {
                let of_known = |error: Error| match self.known {
                    Some(known) => not_installed(known, graph, &error),
                    None => error,
                };
                let (graph_bytes, tokenizer_bytes) = (
                    read(graph).map_err(of_known)?,
                    read(tokenizer).map_err(of_known)?,
                );
                if digest(&graph_bytes, &tokenizer_bytes) != *expected {
                    let path = graph.display();
                    let problem =
                        "or the tokenizer beside it changed since loci started; start loci again";
                    return Err(of_known(Error::unavailable(format!(
                        "the model file {path} {problem}"
                    ))));
                }
                let tokens = Tokenizer::from_json(&tokenizer_bytes);
                let tokenizer = tokens.map_err(|problem| unusable(tokenizer, problem))?;
                let network = self.runtime.load(Cow::Owned(graph_bytes), 2 * self.limit);
                let network =
                    network.map_err(|problem| unusable(graph, format!("is damaged: {problem}")))?;
                Ok(LoadedModel { tokenizer, network })
            }
        }
    }

    /// Returns the token ids of a prefix and a text.
    fn tokens(&self, loaded: &LoadedModel, prefix: &str, text: &str) -> Result<Vec<i32>> {
        let tokens_max = self.known.map_or(TOKENS_MAX, |known| known.tokens_max);
        let text = if prefix.is_empty() {
            Cow::Borrowed(text)
        } else {
            Cow::Owned(format!("{prefix}{text}"))
        };
        loaded
            .tokenizer
            .encode(&text, tokens_max)
            .map_err(|problem| self.failed(problem))
    }

    fn embed_one(&self, prefix: &str, text: &str) -> Result<Vec<f32>> {
        let loaded = self.loaded()?;
        let core = self.cores.take();
        let tokens = self.tokens(&loaded, prefix, text)?;
        let mut vectors = self.vectors(&loaded, &[&tokens], &core)?;
        Ok(vectors.remove(0))
    }

    /// Takes a core for one run at a time, so that another caller waits at most for one run.
    fn embed_all(
        &self,
        prefix: &str,
        texts: &[&str],
        cores: &Cores,
        priority: Priority,
    ) -> Result<Vec<Vec<f32>>> {
        let loaded = self.loaded()?;
        let in_order: Vec<usize> = (0..texts.len()).collect();
        let tokens = spread(&in_order, self.limit, priority, |index| {
            let _core = cores.take();
            self.tokens(&loaded, prefix, texts[index])
        })?;
        let (distinct, places) = distinct(&tokens);
        let order = longest_first(&distinct);
        let runs = runs(
            &order,
            &distinct,
            loaded.network.tokens_at_once(),
            self.limit,
        );
        let in_order: Vec<usize> = (0..runs.len()).collect();
        let of_runs = spread(&in_order, self.limit, priority, |run| {
            let texts: Vec<&[i32]> = order[runs[run].clone()]
                .iter()
                .map(|&text| distinct[text])
                .collect();
            self.vectors(&loaded, &texts, &cores.take())
        })?;
        let mut vectors = vec![Vec::new(); distinct.len()];
        for (text, vector) in order.into_iter().zip(of_runs.into_iter().flatten()) {
            vectors[text] = vector;
        }
        Ok(places
            .into_iter()
            .map(|text| vectors[text].clone())
            .collect())
    }

    fn vectors(
        &self,
        loaded: &LoadedModel,
        texts: &[&[i32]],
        core: &Core<'_>,
    ) -> Result<Vec<Vec<f32>>> {
        let vectors = loaded.network.run(texts, core);
        let vectors = vectors.map_err(|problem| self.failed(problem))?;
        if vectors.len() != texts.len() {
            return Err(self.failed(format!(
                "it gave {} vectors for {} texts",
                vectors.len(),
                texts.len()
            )));
        }
        Ok(vectors)
    }

    fn failed(&self, problem: impl std::fmt::Display) -> Error {
        match &self.source {
            Source::Bundled => Error::unavailable(format!(
                "the model inside this binary cannot be used: {problem}; install loci again, or choose another model with the setting `embedding.provider`"
            )),
            Source::Folder { graph, .. } => unusable(graph, format!("cannot be used: {problem}")),
        }
    }
}

impl Embedder for LocalModel {
    fn model(&self) -> &ModelId {
        &self.model
    }

    fn cosine_scale(&self) -> CosineScale {
        self.known
            .map_or_else(CosineScale::default, |known| known.cosine_scale)
    }

    fn knows(&self, language: &str) -> bool {
        self.known
            .is_none_or(|known| known.languages.include(language))
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let prefix = self.known.map_or("", |known| known.passage_prefix);
        if let [text] = texts {
            return Ok(vec![self.embed_one(prefix, text)?]);
        }
        self.embed_all(prefix, texts, &self.cores, Priority::OfCaller)
    }

    fn embed_in_background(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let prefix = self.known.map_or("", |known| known.passage_prefix);
        self.embed_all(prefix, texts, &self.background_cores, Priority::Low)
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
        self.embed_one(self.known.map_or("", |known| known.query_prefix), text)
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|error| unusable(path, format!("cannot be read: {error}")))
}

fn unusable(path: &Path, problem: impl std::fmt::Display) -> Error {
    Error::unavailable(format!(
        "the model file {} {problem}; put a whole copy there, or choose another with the setting `embedding.model_folder` (or the bundled one with `embedding.provider`)",
        path.display()
    ))
}

/// Returns the error for a model of the catalogue whose files are missing or have other content.
fn not_installed(model: &CatalogueModel, graph: &Path, error: &Error) -> Error {
    let (name, folder) = (model.name, graph.parent().unwrap_or(graph).display());
    Error::unavailable(format!(
        "{folder} does not hold the files of {name} ({}); put them there with `loci model install {name}`, \
         or choose another model with `loci model use`",
        error.message
    ))
}

/// Returns the first 8 bytes of the SHA-256 of both files, in hexadecimal digits.
fn digest(graph: &[u8], tokenizer: &[u8]) -> String {
    let hash = Sha256::new()
        .chain_update(graph)
        .chain_update(tokenizer)
        .finalize();
    HEXLOWER.encode(&hash[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUNDLED_GRAPH: &[u8] = include_bytes!("../model/model_int8.onnx");

    #[test]
    fn the_written_digest_is_that_of_the_bundled_files() {
        assert_eq!(
            digest(BUNDLED_GRAPH, BUNDLED_TOKENIZER),
            crate::catalogue::BUNDLED_DIGEST
        );
        assert!(
            LocalModel::bundled()
                .model()
                .as_str()
                .ends_with(":256:rows")
        );
    }
}
