//! The supported tokenizers: WordPiece and Unigram.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::token::{AddedToken, Ends};
use crate::unigram::Unigram;
use crate::word_pieces::WordPieces;

/// Converts a text to the token ids that a model reads.
pub(crate) enum Tokenizer {
    /// BERT's.
    WordPieces(WordPieces),
    /// SentencePiece's.
    Unigram(Unigram),
}

#[derive(Deserialize)]
struct TokenizerFile {
    model: NamedPart,
    #[serde(default)]
    added_tokens: Vec<AddedToken>,
    post_processor: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
struct NamedPart {
    r#type: Option<String>,
}

impl Tokenizer {
    /// Parses the bytes of a `tokenizer.json`. The error describes the problem with it.
    pub(crate) fn from_json(json: &[u8]) -> Result<Self, String> {
        let file: TokenizerFile = serde_json::from_slice(json)
            .map_err(|error| format!("is damaged or not a tokenizer ({error})"))?;
        match file.model.r#type.as_deref() {
            Some("Unigram") => Unigram::from_json(json, file.ends()?).map(Tokenizer::Unigram),
            _ => WordPieces::from_json(json, file.ends()?).map(Tokenizer::WordPieces),
        }
    }

    /// Returns the ids of a text, at most `tokens_max`, including the tokens around it. The error
    /// describes the failure of the tokenizer.
    pub(crate) fn encode(&self, text: &str, tokens_max: usize) -> Result<Vec<i32>, String> {
        match self {
            Tokenizer::WordPieces(pieces) => pieces.encode(text, tokens_max),
            Tokenizer::Unigram(pieces) => Ok(pieces.encode(text, tokens_max)),
        }
    }
}

impl TokenizerFile {
    /// Returns the tokens around a text: those in the file, otherwise `[CLS]` and `[SEP]`.
    fn ends(&self) -> Result<Ends, String> {
        let part = |key: &str| {
            self.post_processor
                .as_ref()
                .and_then(|processor| processor.get(key))
        };
        // A pair of name and id (as for BERT and RoBERTa), or a template with the text between two
        // tokens.
        let named = |key: &str| part(key)?.get(0)?.as_str();
        let special = |position: usize| {
            part("single")?
                .get(position)?
                .pointer("/SpecialToken/id")?
                .as_str()
        };
        let first = named("cls").or_else(|| special(0)).unwrap_or("[CLS]");
        let last = named("sep").or_else(|| special(2)).unwrap_or("[SEP]");
        let id = |name: &str| {
            let token = self.added_tokens.iter().find(|token| token.content == name);
            let id = token.and_then(|token| i32::try_from(token.id).ok());
            id.ok_or_else(|| format!("has no token {name}"))
        };
        Ok(Ends {
            first: id(first)?,
            last: id(last)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::{Path, PathBuf};

    use proptest::prelude::*;

    use super::*;

    const BUNDLED: &[u8] = include_bytes!("../model/tokenizer.json");
    /// A vocabulary of a few pieces, with SentencePiece's table of characters reduced to two
    /// entries.
    const SMALL: &[u8] = include_bytes!("../tests/golden/small-unigram.json");

    fn small() -> Tokenizer {
        Tokenizer::from_json(SMALL).unwrap()
    }

    #[derive(Deserialize)]
    struct Golden {
        text: String,
        ids: Vec<i32>,
    }

    #[test]
    fn a_small_unigram_tokenizer_gives_the_ids_of_hugging_faces() {
        let golden: Vec<Golden> =
            serde_json::from_str(include_str!("../tests/golden/small-unigram-ids.json")).unwrap();
        assert!(golden.len() > 20);
        for Golden { text, ids } in golden {
            assert_eq!(small().encode(&text, 512).unwrap(), ids, "{text:?}");
        }
    }

    /// Needs the same files as the tests in `tests/models/catalogue.rs`.
    #[test]
    fn the_tokenizers_of_the_catalogue_give_the_ids_of_hugging_faces() {
        let golden: BTreeMap<String, Vec<Golden>> =
            serde_json::from_str(include_str!("../tests/golden/catalogue.json")).unwrap();
        let usual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/models");
        let folder = std::env::var_os("LOCI_TEST_MODELS").map_or(usual, PathBuf::from);
        for (name, cases) in golden {
            let Ok(json) = std::fs::read(folder.join(&name).join("tokenizer.json")) else {
                eprintln!(
                    "SKIPPED: {name} is not in {}: run `just models`",
                    folder.display()
                );
                continue;
            };
            let tokenizer = Tokenizer::from_json(&json).unwrap();
            assert_eq!(cases.len(), 100);
            for Golden { text, ids } in cases {
                assert_eq!(
                    tokenizer.encode(&text, 512).unwrap(),
                    ids,
                    "{name}: {text:?}"
                );
            }
        }
    }

    #[test]
    fn a_text_is_cut_between_its_ends() {
        for tokenizer in [small(), Tokenizer::from_json(BUNDLED).unwrap()] {
            let whole = tokenizer.encode("a a a a a", 512).unwrap();
            for tokens_max in 2..whole.len() {
                let cut = tokenizer.encode("a a a a a", tokens_max).unwrap();
                assert_eq!(cut.len(), tokens_max);
                assert_eq!(cut[..tokens_max - 1], whole[..tokens_max - 1]);
                assert_eq!(cut.last(), whole.last());
            }
        }
    }

    #[test]
    fn refuses_other_tokenizers() {
        let (template, unigram) = (
            r#""added_tokens":[{"id":0,"content":"[CLS]","special":true},{"id":1,"content":"[SEP]","special":true}]"#,
            r#""model":{"type":"Unigram","unk_id":0,"vocab":[["<unk>",0.0],["a",-1.0]]}"#,
        );
        let rows = [
            ("{".to_owned(), "damaged"),
            (
                format!("{{{template},\"model\":{{\"type\":\"BPE\"}}}}"),
                "BERT",
            ),
            (format!("{{{unigram}}}"), "[CLS]"),
            (
                format!(
                    "{{{template},{unigram},\"pre_tokenizer\":{{\"type\":\"WhitespaceSplit\"}}}}"
                ),
                "blanks",
            ),
            (
                format!(
                    "{{{template},{unigram},\"pre_tokenizer\":{{\"type\":\"Metaspace\",\"replacement\":\"▁\"}},\
                     \"normalizer\":{{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AAAA\"}}}}"
                ),
                "table of characters",
            ),
            (
                format!("{{{template},{unigram},\"normalizer\":{{\"type\":\"Lowercase\"}}}}"),
                "not a Unigram tokenizer that loci can read",
            ),
        ];
        for (json, expected) in rows {
            let problem = Tokenizer::from_json(json.as_bytes()).err().unwrap();
            assert!(problem.contains(expected), "{problem}");
        }
    }

    proptest! {
        #[test]
        fn any_text_has_bounded_ids_between_its_ends(text in "\\PC{0,40}|[ aeiou\u{301}ﬁ▁]{0,40}", tokens_max in 2_usize..20) {
            for tokenizer in [small(), Tokenizer::from_json(BUNDLED).unwrap()] {
                let ids = tokenizer.encode(&text, tokens_max).unwrap();
                prop_assert!((2..=tokens_max).contains(&ids.len()));
            }
        }
    }
}
