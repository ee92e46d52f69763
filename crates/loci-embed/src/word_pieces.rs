//! BERT's tokenizer as `tokenizer.json` describes it, cut at the model's input length.
//!
//! Vocabulary, accents and word splitting come from `rten-text`; what it leaves out of BERT's
//! rules (cleaning, Chinese characters, a word with an unknown piece is unknown as a whole) is
//! here. Special tokens written out in a text, such as `[SEP]`, are text.

use std::collections::HashMap;

use rten_text::models::{Model, WordPiece, WordPieceOptions};
use rten_text::normalizers::{Bert as AccentsAndCase, BertOptions, Normalizer};
use rten_text::pre_tokenizers::{Bert as Words, PreTokenizer};
use serde::Deserialize;
use unicode_categories::UnicodeCategories;

/// Tokens that the model reads, `[CLS]` and `[SEP]` included.
pub(crate) const TOKENS_MAX: usize = 256;

/// Bytes of a text that are looked at: so many that the cut by tokens comes first in any text
/// whose words are shorter than 250 bytes.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// Turns a text into the ids that the model reads.
pub(crate) struct WordPieces {
    accents_and_case: AccentsAndCase,
    pieces: WordPiece,
    first: i32,
    last: i32,
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
    /// From the bytes of a `tokenizer.json`; its truncation and padding are ignored. The error
    /// is what is wrong with it.
    pub(crate) fn from_json(json: &[u8]) -> Result<Self, String> {
        let file: TokenizerFile =
            serde_json::from_slice(json).map_err(|error| format!("is damaged or no BERT tokenizer ({error})"))?;
        let kinds = [&file.normalizer.r#type, &file.pre_tokenizer.r#type];
        let word_piece = file.model.r#type.as_deref().is_none_or(|name| name == "WordPiece");
        if kinds != ["BertNormalizer", "BertPreTokenizer"] || !word_piece {
            return Err("is no BERT (WordPiece) tokenizer, the only kind that is read".to_owned());
        }
        let vocabulary = file.model.vocab;
        let id = |token: &str| {
            let id = vocabulary.get(token).and_then(|&id| i32::try_from(id).ok());
            id.ok_or_else(|| format!("has no token {token}"))
        };
        let (first, last, unknown) = (id("[CLS]")?, id("[SEP]")?, id("[UNK]")?);
        let lowercase = file.normalizer.lowercase;
        let strip_accents = file.normalizer.strip_accents.unwrap_or(lowercase);
        let accents_and_case = AccentsAndCase::new(BertOptions { lowercase, strip_accents });
        let pieces = WordPiece::from_vocab(vocabulary, WordPieceOptions::default());
        Ok(WordPieces { accents_and_case, pieces, first, last, unknown })
    }

    /// The ids of a text, at most [`TOKENS_MAX`]. The error says what the tokenizer could not do.
    pub(crate) fn encode(&self, text: &str) -> Result<Vec<i32>, String> {
        let text = &text[..text.floor_char_boundary(TEXT_BYTES_MAX)];
        let (text, _) = self.accents_and_case.normalize(&clean(text)).map_err(|error| error.to_string())?;
        let words = Words::new().pre_tokenize(&text).map_err(|error| error.to_string())?;
        let mut ids = vec![self.first];
        for word in words {
            let start = ids.len();
            let encoded = self.pieces.encode_with_offsets(word, &mut |_, id| ids.push(id.cast_signed()));
            encoded.map_err(|error| error.to_string())?;
            if ids.len() > start + 1 && ids.last() == Some(&self.unknown) {
                ids.truncate(start);
                ids.push(self.unknown);
            }
            if ids.len() >= TOKENS_MAX {
                ids.truncate(TOKENS_MAX - 1);
                break;
            }
        }
        ids.push(self.last);
        Ok(ids)
    }
}

/// Drops control characters, makes white space blanks and Chinese characters words.
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

/// The blocks that BERT calls Chinese: unified ideographs, their extensions A to E and the
/// compatibility ones.
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

    const BUNDLED: &[u8] = include_bytes!("../model/tokenizer.json");

    #[derive(Deserialize)]
    struct Golden {
        text: String,
        ids: Vec<i32>,
    }

    #[test]
    fn gives_the_ids_of_hugging_faces_tokenizer() {
        let tokenizer = WordPieces::from_json(BUNDLED).unwrap();
        let golden: Vec<Golden> = serde_json::from_str(include_str!("../tests/golden/golden.json")).unwrap();
        assert!(golden.len() > 40);
        for Golden { text, ids } in golden {
            assert_eq!(tokenizer.encode(&text).unwrap(), ids, "{text:?}");
        }
    }

    #[test]
    fn special_tokens_in_a_text_are_text() {
        let tokenizer = WordPieces::from_json(BUNDLED).unwrap();
        let ids = tokenizer.encode("a [SEP] b [PAD]").unwrap();
        assert_eq!((ids[0], ids[ids.len() - 1]), (tokenizer.first, tokenizer.last));
        assert!(!ids[1..ids.len() - 1].iter().any(|id| [tokenizer.first, tokenizer.last, 0].contains(id)));
    }

    #[test]
    fn a_mebibyte_of_anything_is_cut() {
        let tokenizer = WordPieces::from_json(BUNDLED).unwrap();
        for unit in ["word ", "é", "長", "\u{0}", " ", "👩‍👩", "x"] {
            let ids = tokenizer.encode(&unit.repeat((1 << 20) / unit.len())).unwrap();
            assert!((2..=TOKENS_MAX).contains(&ids.len()), "{unit:?}: {}", ids.len());
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
                "[SEP]",
            ),
        ];
        for (json, expected) in rows {
            let problem = WordPieces::from_json(json.as_bytes()).err().unwrap();
            assert!(problem.contains(expected), "{problem}");
        }
    }
}
