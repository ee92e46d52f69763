//! SentencePiece's Unigram tokenizer as `tokenizer.json` describes it, truncated at the model's
//! input length.
//!
//! It normalizes a text, replaces its blanks by `▁`, and splits each word into the pieces with the
//! largest sum of scores (Kudo, "Subword Regularization", 2018). Special tokens in a text, e.g.
//! `</s>`, are read as text.

use std::collections::HashSet;

use serde::Deserialize;
use unicode_segmentation::UnicodeSegmentation;

use crate::charsmap::Charsmap;
use crate::token::{AddedToken, Ends, bounded};

/// Replaces a blank.
const BLANK: char = '▁';

/// The score of an unknown character is this much below the lowest score of the vocabulary.
const UNKNOWN_PENALTY: f64 = 10.0;

/// Maximum bytes of a grapheme cluster that the table of the normalizer may contain as a whole, as
/// in Hugging Face's tokenizers.
const CLUSTER_BYTES_MAX: usize = 5;

/// Converts a text to the token ids that the model reads.
pub(crate) struct Unigram {
    charsmap: Option<Charsmap>,
    /// Sorted by their bytes.
    pieces: Vec<Piece>,
    unknown: i32,
    unknown_score: f64,
    ends: Ends,
}

struct Piece {
    text: Box<str>,
    id: i32,
    score: f64,
}

#[derive(Deserialize)]
struct TokenizerFile {
    normalizer: Option<Normalizer>,
    pre_tokenizer: PreTokenizer,
    model: ModelPart,
    #[serde(default)]
    added_tokens: Vec<AddedToken>,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Normalizer {
    Sequence {
        normalizers: Vec<Normalizer>,
    },
    Precompiled {
        precompiled_charsmap: Option<String>,
    },
    /// Collapses runs of blanks, as the tokenizer always does.
    Replace {
        pattern: Pattern,
        content: String,
    },
}

#[derive(Deserialize)]
struct Pattern {
    #[serde(rename = "Regex")]
    regex: String,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum PreTokenizer {
    Sequence { pretokenizers: Vec<PreTokenizer> },
    WhitespaceSplit,
    Metaspace { replacement: char },
}

#[derive(Deserialize)]
struct ModelPart {
    unk_id: usize,
    vocab: Vec<(Box<str>, f64)>,
}

impl Unigram {
    /// Parses the bytes of a `tokenizer.json`; ignores its truncation and padding. The error
    /// describes the problem with it.
    pub(crate) fn from_json(json: &[u8], ends: Ends) -> Result<Self, String> {
        let file: TokenizerFile = serde_json::from_slice(json).map_err(|error| {
            format!("is damaged or not a Unigram tokenizer that loci can read ({error})")
        })?;
        if !file.pre_tokenizer.marks_blanks() {
            return Err(
                "does not mark blanks with `▁` (Metaspace), the only way that is read".to_owned(),
            );
        }
        let mut charsmaps = Vec::new();
        file.normalizer
            .iter()
            .try_for_each(|normalizer| normalizer.collect(&mut charsmaps))?;
        if charsmaps.len() > 1 {
            return Err("has more than one table of characters".to_owned());
        }
        let charsmap = charsmaps.pop();
        let specials: HashSet<usize> = file
            .added_tokens
            .iter()
            .filter(|token| token.special)
            .map(|token| token.id)
            .collect();
        let unk_id = file.model.unk_id;
        let lowest = file
            .model
            .vocab
            .iter()
            .map(|(_, score)| *score)
            .fold(f64::INFINITY, f64::min);
        let known = file.model.vocab.into_iter().enumerate();
        let known = known
            .filter(|(id, (text, _))| *id != unk_id && !specials.contains(id) && !text.is_empty());
        let pieces = known.map(|(id, (text, score))| {
            Ok(Piece {
                text,
                id: id_of(id)?,
                score,
            })
        });
        let mut pieces = pieces.collect::<Result<Vec<_>, String>>()?;
        pieces.sort_by(|left, right| left.text.cmp(&right.text));
        Ok(Unigram {
            charsmap,
            pieces,
            unknown: id_of(unk_id)?,
            unknown_score: lowest - UNKNOWN_PENALTY,
            ends,
        })
    }

    /// Returns the ids of a text, at most `tokens_max`.
    pub(crate) fn encode(&self, text: &str, tokens_max: usize) -> Vec<i32> {
        let marked = self.marked(bounded(text));
        let mut ids = vec![self.ends.first];
        let mut start = 0;
        while start < marked.len() && ids.len() < tokens_max {
            let mark = marked[start..].chars().next().map_or(0, char::len_utf8);
            let end = marked[start + mark..]
                .find(BLANK)
                .map_or(marked.len(), |length| start + mark + length);
            self.add_word(&marked[start..end], &mut ids);
            start = end;
        }
        ids.truncate(tokens_max.saturating_sub(1).max(1));
        ids.push(self.ends.last);
        ids
    }

    /// Returns the normalized text with `▁` before its first word and for each run of blanks.
    fn marked(&self, text: &str) -> String {
        let mut marked = String::with_capacity(text.len() + BLANK.len_utf8());
        let mut is_blank = false;
        let mut add = |part: &str| {
            for character in part.chars() {
                let is_mark = character == ' ';
                match is_mark {
                    true if is_blank => {}
                    true => marked.push(BLANK),
                    false => {
                        if marked.is_empty() && character != BLANK {
                            marked.push(BLANK);
                        }
                        marked.push(character);
                    }
                }
                is_blank = is_mark;
            }
        };
        match &self.charsmap {
            None => add(text),
            Some(charsmap) => {
                for cluster in text.graphemes(true) {
                    let whole = Some(cluster).filter(|cluster| cluster.len() <= CLUSTER_BYTES_MAX);
                    if let Some(normal) = whole.and_then(|cluster| charsmap.normal(cluster)) {
                        add(normal);
                        continue;
                    }
                    for character in cluster.chars() {
                        let character = character.encode_utf8(&mut [0; 4]).to_owned();
                        add(charsmap.normal(&character).unwrap_or(&character));
                    }
                }
            }
        }
        marked
    }

    /// Adds the pieces of a word with the best sum of scores (Viterbi). Consecutive unknown
    /// characters are one token.
    fn add_word(&self, word: &str, ids: &mut Vec<i32>) {
        // For each end of a piece: the best sum up to there, the start of its last piece, and the
        // piece's id.
        let mut best: Vec<Option<(f64, usize, i32)>> = vec![None; word.len() + 1];
        best[0] = Some((0.0, 0, self.unknown));
        for (start, character) in word.char_indices() {
            let Some((sum, ..)) = best[start] else {
                continue;
            };
            let mut offer = |end: usize, score: f64, id: i32| {
                if best[end].is_none_or(|(known, ..)| sum + score > known) {
                    best[end] = Some((sum + score, start, id));
                }
            };
            let one = start + character.len_utf8();
            let mut has_one = false;
            self.pieces_at(&word[start..], |piece| {
                has_one |= start + piece.text.len() == one;
                offer(start + piece.text.len(), piece.score, piece.id);
            });
            if !has_one {
                offer(one, self.unknown_score, self.unknown);
            }
        }
        let first = ids.len();
        let mut end = word.len();
        while end > 0 {
            // Each character has a piece or is unknown, so every end is reached.
            let Some((_, start, id)) = best[end] else {
                return;
            };
            if id != self.unknown || ids.len() == first || ids.last() != Some(&id) {
                ids.push(id);
            }
            end = start;
        }
        ids[first..].reverse();
    }

    /// Calls `found` with each piece that is a prefix of a text, the shortest first.
    fn pieces_at<'a>(&'a self, text: &str, mut found: impl FnMut(&'a Piece)) {
        let mut range = self.pieces.as_slice();
        for (start, character) in text.char_indices() {
            let end = start + character.len_utf8();
            let wanted = &text.as_bytes()[start..end];
            let begin = range.partition_point(|piece| piece.bytes(start, end) < wanted);
            range = &range[begin..];
            range = &range[..range.partition_point(|piece| piece.bytes(start, end) == wanted)];
            match range.first() {
                None => return,
                Some(piece) if piece.text.len() == end => found(piece),
                Some(_) => {}
            }
        }
    }
}

impl Piece {
    /// Returns its bytes in this range, as far as they exist.
    fn bytes(&self, start: usize, end: usize) -> &[u8] {
        let length = self.text.len();
        &self.text.as_bytes()[start.min(length)..end.min(length)]
    }
}

impl Normalizer {
    fn collect(&self, charsmaps: &mut Vec<Charsmap>) -> Result<(), String> {
        match self {
            Normalizer::Sequence { normalizers } => normalizers
                .iter()
                .try_for_each(|one| one.collect(charsmaps)),
            Normalizer::Precompiled {
                precompiled_charsmap: None,
            } => Ok(()),
            Normalizer::Precompiled {
                precompiled_charsmap: Some(base64),
            } => {
                charsmaps.push(Charsmap::from_base64(base64)?);
                Ok(())
            }
            Normalizer::Replace { pattern, content }
                if pattern.regex == " {2,}" && content == " " =>
            {
                Ok(())
            }
            Normalizer::Replace { pattern, .. } => Err(format!(
                "replaces `{}`, which loci cannot do",
                pattern.regex
            )),
        }
    }
}

impl PreTokenizer {
    fn marks_blanks(&self) -> bool {
        match self {
            PreTokenizer::Sequence { pretokenizers } => {
                pretokenizers.iter().any(PreTokenizer::marks_blanks)
            }
            PreTokenizer::WhitespaceSplit => false,
            PreTokenizer::Metaspace { replacement } => *replacement == BLANK,
        }
    }
}

fn id_of(index: usize) -> Result<i32, String> {
    i32::try_from(index).map_err(|_| format!("has a token with the id {index}, which is too large"))
}
