//! `loci-bench contradictions`: measures which contradictions and duplicates `remember` reports,
//! and its false alarms.
//!
//! The pairs are in `contradictions.tsv`. Each pair is stored in its own project, without other
//! memories; then all pairs of a domain are stored in one project, where the others are
//! distractors.

use std::collections::BTreeMap;
use std::sync::Arc;

use loci::exit::{Exit, Failure};
use loci::output::Output;
use loci::settings::Settings;
use loci::wiring::{Parts, SystemClock};
use loci_dialects::mememory;
use serde_json::{Value, json};

use super::laboratory::{Laboratory, object};
use crate::arguments;

const PAIRS: &str = include_str!("contradictions.tsv");
/// The least share of contradictions that must be reported.
const TOLD_MIN: f64 = 0.8;
/// The largest share of related pairs that may be reported as contradictions.
const FALSE_ALARMS_MAX: f64 = 0.1;

/// Two memories, and the relation of the newer one to the older.
struct Pair {
    domain: &'static str,
    kind: &'static str,
    older: &'static str,
    newer: &'static str,
    /// True if the rule was tuned on it.
    is_dev: bool,
}

/// The outcome of storing a pair.
struct FilingOutcome {
    pair: Pair,
    /// The kinds of the warnings about the older one.
    alone: Vec<String>,
    /// The same, with the other pairs of the domain in the same project.
    among_others: Vec<String>,
    /// The number of contradictions that were reported of memories of other pairs.
    strangers: usize,
}

fn pairs() -> Vec<Pair> {
    let rows = PAIRS
        .lines()
        .filter(|line| !line.starts_with('#'))
        .enumerate();
    rows.filter_map(|(row, line)| {
        let mut fields = line.split('\t');
        let mut next = || fields.next();
        Some(Pair {
            domain: next()?,
            kind: next()?,
            older: next()?,
            newer: next()?,
            is_dev: row % 2 == 0,
        })
    })
    .collect()
}

pub fn run(settings: &Settings, options: &arguments::Pairs, output: Output) -> Result<(), Failure> {
    let laboratory = Laboratory::new(settings, Arc::new(SystemClock), &[])?;
    let folder = tempfile::tempdir()?;
    let parts = laboratory.open(folder.path())?;
    let filed = file(&parts, pairs())?;
    let rows = [("dev", true), ("held-out", false)].map(|(half, is_dev)| {
        let mut kinds: BTreeMap<&str, Vec<&FilingOutcome>> = BTreeMap::new();
        for filed in filed.iter().filter(|filed| filed.pair.is_dev == is_dev) {
            kinds.entry(filed.pair.kind).or_default().push(filed);
        }
        (half, kinds)
    });
    let mut text = format!(
        "{:10} {:14} {:>5} {:>6} {:>10} {:>13}\n",
        "half", "pairs", "", "told", "duplicate", "among others"
    );
    let mut figures = Vec::new();
    for (half, kinds) in &rows {
        for (kind, filed) in kinds {
            let alone = share(filed, |filed| filed.tells("contradiction"));
            let duplicates = share(filed, |filed| {
                filed.alone.iter().any(|kind| kind == "duplicate")
            });
            let among_others = share(filed, |filed| {
                filed
                    .among_others
                    .iter()
                    .any(|kind| kind == "contradiction")
            });
            let pairs = filed.len();
            text += &format!(
                "{half:10} {kind:14} {pairs:>5} {alone:>6.3} {duplicates:>10.3} {among_others:>13.3}\n"
            );
            figures.push(json!({
                "half": half, "kind": kind, "pairs": pairs,
                "told": alone, "duplicates": duplicates, "told_among_others": among_others,
            }));
        }
    }
    let strangers =
        filed.iter().map(|filed| filed.strangers).sum::<usize>() as f64 / filed.len() as f64;
    text += &format!(
        "{strangers:.3} contradictions with memories of other pairs were told for each memory filed among others\n"
    );
    let value = json!({
        "suite": "contradictions",
        "model": laboratory.model(),
        "search": laboratory.search(),
        "rows": figures,
        "strangers": strangers,
        "pairs": filed.iter().map(FilingOutcome::value).collect::<Vec<_>>(),
    });
    if let Some(file) = &options.out {
        std::fs::write(file, format!("{value:#}\n"))?;
    }
    output.either(&value, text)?;
    let held_out = &rows[1].1;
    let told = |kind: &str| {
        held_out.get(kind).map_or(0.0, |filed| {
            share(filed, |filed| filed.tells("contradiction"))
        })
    };
    if laboratory.search() != "words"
        && (told("contradiction") < TOLD_MIN || told("related") > FALSE_ALARMS_MAX)
    {
        return Err(Failure::new(
            Exit::Failure,
            "below the floor: contradictions",
        ));
    }
    Ok(())
}

fn share(filed: &[&FilingOutcome], is_counted: impl Fn(&FilingOutcome) -> bool) -> f64 {
    filed.iter().filter(|filed| is_counted(filed)).count() as f64 / filed.len().max(1) as f64
}

fn file(parts: &Parts, pairs: Vec<Pair>) -> Result<Vec<FilingOutcome>, Failure> {
    let remember = |project: &str, content: &str| -> Result<Value, Failure> {
        let arguments = object(json!({"content": content, "project": project}));
        Ok(parts
            .call_in(&mememory::DIALECT, "remember", arguments)?
            .structured)
    };
    let mut filed = Vec::with_capacity(pairs.len());
    for (number, pair) in pairs.into_iter().enumerate() {
        let project = format!("pair-{number}");
        let older = remember(&project, pair.older)?;
        let newer = remember(&project, pair.newer)?;
        let (alone, _) = warnings(&newer, &older["id"]);
        filed.push(FilingOutcome {
            pair,
            alone,
            among_others: Vec::new(),
            strangers: 0,
        });
    }
    // All older memories are stored before the first newer one.
    let older: Vec<Value> = filed
        .iter()
        .map(|filed| remember(filed.pair.domain, filed.pair.older))
        .collect::<Result<_, _>>()?;
    for (filed, older) in filed.iter_mut().zip(older) {
        (filed.among_others, filed.strangers) = warnings(
            &remember(filed.pair.domain, filed.pair.newer)?,
            &older["id"],
        );
    }
    Ok(filed)
}

/// Returns the kinds of the warnings that name this memory, and the number of other memories that
/// they name.
fn warnings(reply: &Value, older: &Value) -> (Vec<String>, usize) {
    let (mut kinds, mut others) = (Vec::new(), 0);
    for warning in reply["warnings"].as_array().into_iter().flatten() {
        let matches = warning["matches"].as_array().map_or(&[][..], Vec::as_slice);
        others += matches.iter().filter(|found| found["id"] != *older).count();
        if warning["duplicate_of"] == *older || matches.iter().any(|found| found["id"] == *older) {
            kinds.push(warning["kind"].as_str().unwrap_or_default().to_owned());
        }
    }
    (kinds, others)
}

impl FilingOutcome {
    fn tells(&self, kind: &str) -> bool {
        self.alone.iter().any(|told| told == kind)
    }

    fn value(&self) -> Value {
        let Pair {
            domain,
            kind,
            older,
            newer,
            is_dev,
        } = &self.pair;
        json!({
            "domain": domain, "kind": kind, "older": older, "newer": newer, "half": if *is_dev { "dev" } else { "held-out" },
            "told": self.alone, "told_among_others": self.among_others, "strangers": self.strangers,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_halves_hold_what_they_should() {
        let pairs = pairs();
        assert_eq!(
            pairs.len(),
            PAIRS.lines().filter(|line| !line.starts_with('#')).count()
        );
        assert!(pairs.len() >= 300);
        for kind in [
            "contradiction",
            "refinement",
            "related",
            "unrelated",
            "duplicate",
        ] {
            for domain in ["software", "preferences", "operations", "people", "home"] {
                let of = |is_dev| {
                    pairs
                        .iter()
                        .filter(|it| (it.kind, it.domain, it.is_dev) == (kind, domain, is_dev))
                        .count()
                };
                assert!(of(true) > 2 && of(true) == of(false), "{domain} {kind}");
            }
        }
    }
}
