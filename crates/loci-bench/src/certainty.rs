//! `loci-bench certainty`: measures how certain the pairs are that the page shows under *Review*.
//!
//! The contradictions are in `certainty/contradictions.tsv`, the unrelated pairs are all pairs of
//! the statements of one topic in `certainty/one_topic.tsv`. Each pair is judged by itself, as the
//! examination of memories does.

use std::sync::Arc;

use loci::exit::{Exit, Failure};
use loci::output::Output;
use loci::settings::Settings;
use loci::wiring::SystemClock;
use loci_core::unit_vector;
use loci_engine::Certainty;
use loci_text::contradiction::Judge;
use serde_json::json;

use super::laboratory::Laboratory;
use crate::arguments;

const CONTRADICTIONS: &str = include_str!("certainty/contradictions.tsv");
const ONE_TOPIC: &str = include_str!("certainty/one_topic.tsv");
/// The contradictions of the half for judging of which at least so many must be sure or likely.
const FOUND_MIN: usize = 24;
/// The unrelated pairs of that half of which at most so many may be sure or likely.
const FALSE_MAX: usize = 6;
/// The unrelated pairs of each half.
const UNRELATED_PAIRS: usize = 200;

type TextPair = (&'static str, &'static str);

fn rows(file: &'static str) -> impl Iterator<Item = TextPair> {
    let lines = file.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once('\t'))
}

/// Returns the pairs of a half that contradict each other.
fn contradictions(is_dev: bool) -> Vec<TextPair> {
    let rows = rows(CONTRADICTIONS).enumerate();
    rows.filter(|(row, _)| (row % 2 == 0) == is_dev)
        .map(|(_, pair)| pair)
        .collect()
}

/// Returns the unrelated pairs of a half, each of two statements of its topic.
fn unrelated(half: &str) -> Vec<TextPair> {
    let of_half = rows(ONE_TOPIC).filter(|(of, _)| *of == half);
    let texts: Vec<&str> = of_half.map(|(_, text)| text).collect();
    let of = |(place, older): (usize, &&'static str)| {
        let newer = texts[place + 1..].iter();
        newer.map(|newer| (*older, *newer)).collect::<Vec<_>>()
    };
    let mut pairs: Vec<TextPair> = texts.iter().enumerate().flat_map(of).collect();
    pairs.truncate(UNRELATED_PAIRS);
    pairs
}

pub fn run(settings: &Settings, options: &arguments::Pairs, output: Output) -> Result<(), Failure> {
    let laboratory = Laboratory::new(settings, Arc::new(SystemClock), &[])?;
    let embedder = laboratory.embedder();
    let vector = |text: &str| -> Result<Option<Vec<f32>>, Failure> {
        Ok(embedder.embed(&[text])?.pop().and_then(unit_vector))
    };
    let sum = |(older, newer): TextPair| -> Result<f64, Failure> {
        let vectors = vector(older)?.zip(vector(newer)?);
        let cosine =
            vectors.map(|(older, newer)| older.iter().zip(&newer).map(|(a, b)| a * b).sum());
        let known = cosine.map(|cosine: f32| (embedder.model(), cosine));
        Ok(Judge::of(newer).contradiction(older, known))
    };
    let (mut text, mut figures, mut judged) = (String::new(), Vec::new(), [0; 2]);
    for (half, is_dev) in [("dev", true), ("held-out", false)] {
        let kinds = [
            ("contradiction", contradictions(is_dev)),
            ("unrelated", unrelated(half)),
        ];
        for (place, (kind, pairs)) in kinds.into_iter().enumerate() {
            let sums = pairs.iter().map(|pair| sum(*pair));
            let sums: Vec<f64> = sums.collect::<Result<_, _>>()?;
            let with = |certainty| {
                let is_meant = |sum: &&f64| Certainty::of_contradiction(**sum) == Some(certainty);
                sums.iter().filter(is_meant).count()
            };
            let [sure, likely, maybe] =
                [Certainty::Sure, Certainty::Likely, Certainty::Maybe].map(with);
            if !is_dev {
                judged[place] = sure + likely;
            }
            let number = pairs.len();
            text += &format!(
                "{half:10} {kind:14} {number:>4} pairs: {sure:>3} sure, {likely:>3} likely, {maybe:>3} maybe\n"
            );
            let pairs = pairs.iter().zip(&sums);
            let pairs = pairs.map(|((older, newer), sum)| json!([older, newer, sum]));
            figures.push(json!({
                "half": half, "kind": kind, "sure": sure, "likely": likely, "maybe": maybe,
                "pairs": pairs.collect::<Vec<_>>(),
            }));
        }
    }
    let value = json!({"suite": "certainty", "model": laboratory.model(), "rows": figures});
    if let Some(file) = &options.out {
        std::fs::write(file, format!("{value:#}\n"))?;
    }
    output.either(&value, text)?;
    if laboratory.search() != "words" && (judged[0] < FOUND_MIN || judged[1] > FALSE_MAX) {
        return Err(Failure::new(Exit::Failure, "below the floor: certainty"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The contradictions of each half.
    const CONTRADICTION_PAIRS: usize = 30;

    #[test]
    fn each_half_has_as_many_pairs() {
        for (half, is_dev) in [("dev", true), ("held-out", false)] {
            assert_eq!(contradictions(is_dev).len(), CONTRADICTION_PAIRS, "{half}");
            assert_eq!(unrelated(half).len(), UNRELATED_PAIRS, "{half}");
        }
    }
}
