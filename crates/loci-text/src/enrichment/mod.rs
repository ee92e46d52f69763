//! Rates a text by rules: on this machine, without a model, with the same result every time. The
//! rules know English words. In other languages they see only length, numbers, names and question
//! marks, so their scores stay low there.

mod cues;
mod kind;
mod lexicon;
mod sentence;
mod signals;
mod summary;

use loci_core::limits::SUMMARY_WORDS_MAX;
use loci_core::{Enrichment, Error, MEMORY_KINDS, Result};

use crate::analysis;
use cues::Cue;
use sentence::{Request, Sentence};

/// Bytes of a text that the rules read. People put important things first, and the limit bounds the
/// work.
const READ_BYTES_MAX: usize = 32 << 10;
/// Bytes of a text that [`kind_of`] reads.
const KIND_BYTES_MAX: usize = 1 << 10;
/// Sentences of a text that the rules read, more than people put into as many bytes.
const SENTENCES_MAX: usize = 500;
/// Characters of a summary. Words have no maximum length, so a limit of words by itself is not
/// enough.
const SUMMARY_CHARACTERS_MAX: usize = 1_000;

/// A sentence with its signals.
struct SentenceSignals<'a> {
    text: &'a str,
    words: usize,
    /// The number of words that name something exactly.
    specifics: usize,
    cues: Vec<Cue>,
    /// Its importance, 0 to 1.
    worth: f64,
}

impl<'a> SentenceSignals<'a> {
    fn of(sentence: Sentence<'a>) -> Self {
        let cues = cues::cues(&sentence);
        let specifics = sentence.specifics();
        let worth = signals::worth(sentence.words, specifics, &cues);
        SentenceSignals {
            text: sentence.text,
            words: sentence.words,
            specifics,
            cues,
            worth,
        }
    }

    fn has(&self, cue: Cue) -> bool {
        self.cues.contains(&cue)
    }
}

/// Applies the rules: computes the importance, the summary and the kind from the worth of the
/// sentences.
pub fn judge(text: &str) -> Enrichment {
    let sentences = sentences(text, READ_BYTES_MAX);
    Enrichment {
        importance: signals::importance(sentences.iter().map(|judged| judged.worth)),
        summary: summary::summary(text, &sentences),
        kind: kind::kind(&sentences).to_owned(),
    }
}

/// Returns the kind of a text by the local rules, one of [`MEMORY_KINDS`]. Of a long text they read
/// the first KiB, which takes about a millisecond.
pub fn kind_of(text: &str) -> &'static str {
    kind::kind(&sentences(text, KIND_BYTES_MAX))
}

fn sentences(text: &str, bytes_max: usize) -> Vec<SentenceSignals<'_>> {
    let read = &text[..text.floor_char_boundary(bytes_max)];
    let parts = analysis::sentences(read)
        .flat_map(parts)
        .take(SENTENCES_MAX);
    let mut sentences: Vec<Sentence<'_>> = parts.map(Sentence::of).collect();
    // The last sentence may be cut off.
    if read.len() < text.len() && sentences.len() > 1 {
        sentences.pop();
    }
    // "My code is 4711. Please remember that."
    for place in 0..sentences.len() {
        let neighbour = match sentences[place].request {
            Some(Request::Next) if place + 1 < sentences.len() => place + 1,
            Some(Request::Next | Request::Previous) if place > 0 => place - 1,
            _ => continue,
        };
        sentences[neighbour].request = Some(Request::This);
    }
    sentences.into_iter().map(SentenceSignals::of).collect()
}

/// Splits a sentence that Unicode does not split since no capital follows the full stop. A part
/// ends with a full stop after a word of three letters or more, which few abbreviations have.
fn parts(sentence: &str) -> impl Iterator<Item = &str> {
    let ends_word = |stop: &usize| {
        let word = sentence[..*stop].rsplit(' ').next().unwrap_or_default();
        word.len() >= 3 && word.chars().all(char::is_alphanumeric)
    };
    let stops = sentence
        .match_indices(". ")
        .map(|(stop, _)| stop)
        .filter(ends_word);
    stops
        .map(|stop| stop + 1)
        .chain([sentence.len()])
        .scan(0, |start, end| {
            let part = sentence[*start..end].trim();
            *start = end;
            Some(part)
        })
}

/// Refuses an enrichment that is out of range or incomplete, from any enricher.
///
/// # Errors
/// `unavailable`, with the problem.
pub fn check(enrichment: &Enrichment) -> Result<()> {
    let problem = if !(0.0..=1.0).contains(&enrichment.importance) {
        "an importance that is not from 0 to 1".to_owned()
    } else if !MEMORY_KINDS.contains(&enrichment.kind.as_str()) {
        format!("a kind that is none of {}", MEMORY_KINDS.join(", "))
    } else if enrichment.summary.trim().is_empty() || enrichment.summary.contains('\0') {
        "no summary".to_owned()
    } else if !summary::fits(&enrichment.summary) {
        format!(
            "a summary of more than {SUMMARY_WORDS_MAX} words or {SUMMARY_CHARACTERS_MAX} characters"
        )
    } else {
        return Ok(());
    };
    Err(Error::unavailable(format!(
        "the enricher answered with {problem}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts of words, punctuation marks and characters of many scripts, in random order.
    fn texts() -> impl Iterator<Item = String> {
        const PIECES: [&str; 24] = [
            "I",
            "prefer",
            "tea",
            ".",
            "?",
            "\n",
            " ",
            "decided",
            "Remember",
            "東京都",
            "は",
            "。",
            "ไทย",
            "مُحَمَّد",
            "🦀",
            "\u{200b}",
            "é",
            "2026-03-01",
            "ERR_4012",
            "’",
            "n't",
            "thanks",
            "!",
            "maybe",
        ];
        let mut seed = 7_u64;
        let mut next = move |below: usize| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % below
        };
        let generated = (0..400).map(move |length| {
            let pieces: Vec<&str> = (0..length).map(|_| PIECES[next(PIECES.len())]).collect();
            pieces.join(if length % 3 == 0 { "" } else { " " })
        });
        let long = [
            "a",
            "東",
            "word ",
            "!",
            "One sentence. ",
            "Ünïcödé ",
            "\n",
            "a?",
        ]
        .map(|piece| piece.repeat(100_000));
        generated.chain(long)
    }

    #[test]
    fn every_text_gets_a_judgement_that_is_one() {
        for text in texts() {
            let judged = judge(&text);
            assert!((0.0..=1.0).contains(&judged.importance), "{judged:?}");
            assert!(summary::fits(&judged.summary), "{judged:?}");
            assert_eq!(
                check(&judged).is_ok(),
                !text.trim().is_empty(),
                "{judged:?}"
            );
            assert_eq!(judge(&text), judged);
        }
    }

    #[test]
    fn nonsense_is_refused() {
        let good = Enrichment {
            importance: 0.5,
            summary: "Tea at four.".to_owned(),
            kind: "fact".to_owned(),
        };
        assert_eq!(check(&good), Ok(()));
        for nonsense in [
            Enrichment {
                importance: f64::NAN,
                ..good.clone()
            },
            Enrichment {
                importance: 1.01,
                ..good.clone()
            },
            Enrichment {
                importance: -0.1,
                ..good.clone()
            },
            Enrichment {
                kind: "Fact".to_owned(),
                ..good.clone()
            },
            Enrichment {
                summary: " \n".to_owned(),
                ..good.clone()
            },
            Enrichment {
                summary: "a\0b".to_owned(),
                ..good.clone()
            },
            Enrichment {
                summary: "word ".repeat(SUMMARY_WORDS_MAX + 1),
                ..good.clone()
            },
            Enrichment {
                summary: "!".repeat(SUMMARY_CHARACTERS_MAX + 1),
                ..good.clone()
            },
        ] {
            assert!(check(&nonsense).is_err(), "{nonsense:?}");
        }
    }
}
