//! `loci-bench cached-questions`: measures which questions the cache of answers takes for the same.
//!
//! The pairs are in `cached_questions.tsv`; each is a cache of its own, at the default threshold.

use std::sync::Arc;

use loci::exit::{Exit, Failure};
use loci::output::Output;
use loci::settings::Settings;
use loci::wiring::SystemClock;
use loci_dialects::memory_mcp;
use serde_json::{Value, json};

use super::laboratory::{Laboratory, object};
use crate::arguments;

const PAIRS: &str = include_str!("cached_questions.tsv");
/// The largest share of hits among pairs of different questions.
const WRONG_HITS_MAX: f64 = 0.02;

/// Two questions, and the outcome of asking the second with the answer to the first in the cache.
struct PairOutcome {
    is_same: bool,
    first: &'static str,
    second: &'static str,
    is_dev: bool,
    is_hit: bool,
    /// The similarity that the cache returns for a hit.
    similarity: Option<f64>,
}

pub fn run(settings: &Settings, options: &arguments::Pairs, output: Output) -> Result<(), Failure> {
    let laboratory = Laboratory::new(settings, Arc::new(SystemClock), &[])?;
    let folder = tempfile::tempdir()?;
    let parts = laboratory.open(folder.path())?;
    let mut asked = Vec::new();
    for (row, line) in PAIRS
        .lines()
        .filter(|line| !line.starts_with('#'))
        .enumerate()
    {
        let mut fields = line.split('\t');
        let (Some(kind), Some(first), Some(second)) = (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let user = format!("pair-{row}");
        let store = object(json!({"user_id": user, "query": first, "response": "the answer"}));
        parts.call_in(&memory_mcp::DIALECT, "store_cache", store)?;
        let check = object(json!({"user_id": user, "query": second}));
        let reply = parts
            .call_in(&memory_mcp::DIALECT, "check_cache", check)?
            .structured;
        asked.push(PairOutcome {
            is_same: kind == "same",
            first,
            second,
            is_dev: row % 2 == 0,
            is_hit: reply["cache_hit"] == true,
            similarity: reply["score"].as_f64(),
        });
    }
    let share = |is_same: bool, is_dev: bool| {
        let pairs: Vec<&PairOutcome> = asked
            .iter()
            .filter(|it| (it.is_same, it.is_dev) == (is_same, is_dev))
            .collect();
        pairs.iter().filter(|asked| asked.is_hit).count() as f64 / pairs.len().max(1) as f64
    };
    let mut text = format!("{:10} {:>11} {:>11}\n", "half", "true hits", "wrong hits");
    for (half, is_dev) in [("dev", true), ("held-out", false)] {
        text += &format!(
            "{half:10} {:>11.3} {:>11.3}\n",
            share(true, is_dev),
            share(false, is_dev)
        );
    }
    let value = json!({
        "suite": "cached-questions",
        "model": laboratory.model(),
        "true_hits": {"dev": share(true, true), "held_out": share(true, false)},
        "wrong_hits": {"dev": share(false, true), "held_out": share(false, false)},
        "pairs": asked.iter().map(PairOutcome::value).collect::<Vec<_>>(),
    });
    if let Some(file) = &options.out {
        std::fs::write(file, format!("{value:#}\n"))?;
    }
    output.either(&value, text)?;
    if share(false, false) > WRONG_HITS_MAX {
        return Err(Failure::new(
            Exit::Failure,
            "beyond the limit: wrong hits of the cache",
        ));
    }
    Ok(())
}

impl PairOutcome {
    fn value(&self) -> Value {
        let PairOutcome {
            is_same,
            first,
            second,
            is_dev,
            is_hit,
            similarity,
        } = self;
        let half = if *is_dev { "dev" } else { "held-out" };
        json!({"same": is_same, "first": first, "second": second, "half": half, "hit": is_hit, "similarity": similarity})
    }
}
