//! BERT's tokenizer as `tokenizer.json` describes it, truncated at the model's input length.
//!
//! `rten-text` provides the vocabulary, accents and word splitting. This module adds the missing
//! rules of BERT (cleaning, Chinese characters, and that a word with an unknown piece is unknown as
//! a whole). Special tokens in a text, e.g. `[SEP]`, are read as text.

use std::collections::HashMap;

use rten_text::models::{Model, WordPiece, WordPieceOptions};
use rten_text::normalizers::{Bert as AccentsAndCase, BertOptions, Normalizer};
use rten_text::pre_tokenizers::{Bert as Words, PreTokenizer};
use serde::Deserialize;
use unicode_categories::UnicodeCategories;

use crate::token::{Ends, bounded};

/// Converts a text to the token ids that the model reads.
pub(crate) struct WordPieces {
    accents_and_case: AccentsAndCase,
    pieces: WordPiece,
    ends: Ends,
    unknown: i32,
}

#[derive(Deserialize)]
struct TokenizerFile {
    normalizer: NormalizerPart,
    pre_tokenizer: NamedPart,
    model: ModelPart,
}

#[derive(Deserialize)]
struct NamedPart {
    r#type: String,
}

#[derive(Deserialize)]
struct NormalizerPart {
    r#type: String,
    lowercase: bool,
    strip_accents: Option<bool>,
}

#[derive(Deserialize)]
struct ModelPart {
    #[serde(default)]
    r#type: Option<String>,
    vocab: HashMap<String, u32>,
}

impl WordPieces {
    /// Parses the bytes of a `tokenizer.json`; ignores its truncation and padding. The error
    /// describes the problem with it.
    pub(crate) fn from_json(json: &[u8], ends: Ends) -> Result<Self, String> {
        let file: TokenizerFile = serde_json::from_slice(json)
            .map_err(|error| format!("is damaged or no BERT tokenizer ({error})"))?;
        let kinds = [&file.normalizer.r#type, &file.pre_tokenizer.r#type];
        let word_piece = file
            .model
            .r#type
            .as_deref()
            .is_none_or(|name| name == "WordPiece");
        if kinds != ["BertNormalizer", "BertPreTokenizer"] || !word_piece {
            return Err(
                "is no BERT (WordPiece) and no Unigram tokenizer, the only kinds that are read"
                    .to_owned(),
            );
        }
        let vocabulary = file.model.vocab;
        let unknown = vocabulary
            .get("[UNK]")
            .and_then(|&id| i32::try_from(id).ok());
        let unknown = unknown.ok_or("has no token [UNK]")?;
        let lowercase = file.normalizer.lowercase;
        let strip_accents = file.normalizer.strip_accents.unwrap_or(lowercase);
        let accents_and_case = AccentsAndCase::new(BertOptions {
            lowercase,
            strip_accents,
        });
        let pieces = WordPiece::from_vocab(vocabulary, WordPieceOptions::default());
        Ok(WordPieces {
            accents_and_case,
            pieces,
            ends,
            unknown,
        })
    }

    /// Returns the ids of a text, at most `tokens_max`. The error describes the failure of the
    /// tokenizer.
    pub(crate) fn encode(&self, text: &str, tokens_max: usize) -> Result<Vec<i32>, String> {
        let (text, _) = self
            .accents_and_case
            .normalize(&clean(bounded(text)))
            .map_err(|error| error.to_string())?;
        let words = Words::new()
            .pre_tokenize(&text)
            .map_err(|error| error.to_string())?;
        let mut ids = vec![self.ends.first];
        for word in words {
            let start = ids.len();
            let encoded = self
                .pieces
                .encode_with_offsets(word, &mut |_, id| ids.push(id.cast_signed()));
            encoded.map_err(|error| error.to_string())?;
            if ids.len() > start + 1 && ids.last() == Some(&self.unknown) {
                ids.truncate(start);
                ids.push(self.unknown);
            }
            if ids.len() >= tokens_max {
                ids.truncate(tokens_max - 1);
                break;
            }
        }
        ids.push(self.ends.last);
        Ok(ids)
    }
}

/// Removes control characters, turns white space to blanks, and separates Chinese characters.
fn clean(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            _ if character.is_whitespace() => cleaned.push(' '),
            '\0' | char::REPLACEMENT_CHARACTER => {}
            _ if character.is_other() => {}
            _ if is_chinese(character) => cleaned.extend([' ', character, ' ']),
            _ => cleaned.push(character),
        }
    }
    cleaned
}

/// Returns true for the blocks that BERT calls Chinese: unified ideographs, their extensions A to E
/// and the compatibility ones.
fn is_chinese(character: char) -> bool {
    matches!(character,
        '\u{4E00}'..='\u{9FFF}'
        | '\u{3400}'..='\u{4DBF}'
        | '\u{20000}'..='\u{2A6DF}'
        | '\u{2A700}'..='\u{2B73F}'
        | '\u{2B740}'..='\u{2B81F}'
        | '\u{2B820}'..='\u{2CEAF}'
        | '\u{F900}'..='\u{FAFF}'
        | '\u{2F800}'..='\u{2FA1F}')
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKENS_MAX: usize = 256;
    const BUNDLED: &[u8] = include_bytes!("../model/tokenizer.json");

    fn bundled() -> WordPieces {
        WordPieces::from_json(
            BUNDLED,
            Ends {
                first: 101,
                last: 102,
            },
        )
        .unwrap()
    }

    #[derive(Deserialize)]
    struct Golden {
        text: String,
        ids: Vec<i32>,
    }

    #[test]
    fn gives_the_ids_of_hugging_faces_tokenizer() {
        let tokenizer = bundled();
        let golden: Vec<Golden> =
            serde_json::from_str(include_str!("../tests/golden/golden.json")).unwrap();
        assert!(golden.len() > 40);
        for Golden { text, ids } in golden {
            assert_eq!(
                tokenizer.encode(&text, TOKENS_MAX).unwrap(),
                ids,
                "{text:?}"
            );
        }
    }

    #[test]
    fn special_tokens_in_a_text_are_text() {
        let tokenizer = bundled();
        let ids = tokenizer.encode("a [SEP] b [PAD]", TOKENS_MAX).unwrap();
        assert_eq!(
            (ids[0], ids[ids.len() - 1]),
            (tokenizer.ends.first, tokenizer.ends.last)
        );
        assert!(
            !ids[1..ids.len() - 1]
                .iter()
                .any(|id| [tokenizer.ends.first, tokenizer.ends.last, 0].contains(id))
        );
    }

    #[test]
    fn a_mebibyte_of_anything_is_cut() {
        let tokenizer = bundled();
        for unit in ["word ", "é", "長", "\u{0}", " ", "👩‍👩", "x"] {
            let ids = tokenizer
                .encode(&unit.repeat((1 << 20) / unit.len()), TOKENS_MAX)
                .unwrap();
            assert!(
                (2..=TOKENS_MAX).contains(&ids.len()),
                "{unit:?}: {}",
                ids.len()
            );
        }
    }

    #[test]
    fn refuses_other_tokenizers() {
        let rows = [
            ("{", "damaged"),
            (
                r#"{"normalizer":null,"pre_tokenizer":{"type":"ByteLevel"},"model":{"type":"BPE","vocab":{}}}"#,
                "damaged",
            ),
            (
                r#"{"normalizer":{"type":"BertNormalizer","lowercase":true},"pre_tokenizer":{"type":"Digits"},"model":{"vocab":{}}}"#,
                "no BERT",
            ),
            (
                r#"{"normalizer":{"type":"BertNormalizer","lowercase":true},"pre_tokenizer":{"type":"BertPreTokenizer"},"model":{"vocab":{"[CLS]":0}}}"#,
                "[UNK]",
            ),
        ];
        for (json, expected) in rows {
            let problem = WordPieces::from_json(json.as_bytes(), Ends { first: 0, last: 1 })
                .err()
                .unwrap();
            assert!(problem.contains(expected), "{problem}");
        }
    }
}
