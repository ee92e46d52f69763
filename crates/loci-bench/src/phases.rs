//! `loci-bench phases`: measures which memories matter in which phases of work, and which floor of
//! a bundle is best.
//!
//! A memory belongs to a bundle if its cosine to the query of the phase, plus a weight times the
//! share of the query that its words cover, reaches the floor. Leaving out a memory that matters is
//! worse than showing one that does not, because the budget ends a bundle anyway: the recall counts
//! twice as much as the precision (F2).

use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;

use loci::exit::{Exit, Failure};
use loci::output::Output;
use loci::settings::Settings;
use loci::wiring::SystemClock;
use loci_core::{Caller, Visibility};
use loci_engine::{Phase, Phases, Recall, Remember, Weights};
use serde_json::{Value, json};

use super::laboratory::{Laboratory, settle};

/// The memories, one on each line; the first lines explain the form.
const MEMORIES: &str = include_str!("phases.txt");
/// The floors to try, in hundredths, and the weights of the words beside a cosine, in halves.
const FLOORS: RangeInclusive<u32> = 1..=80;
const WORDS: RangeInclusive<u32> = 0..=8;
/// Floors whose F2 differs by less are equally good: one of the 50 memories that matter in a phase
/// moves it by 0.016. The best of these floors passes the fewest memories that matter in no phase.
const TOLERANCE: f64 = 0.03;

/// A memory and the phases in which it matters.
struct LabelledMemory<'a> {
    phases: Vec<&'a str>,
    text: &'a str,
}

/// A memory with its scores in the search for a phase.
#[derive(Clone, Copy)]
struct ScoredMemory {
    matters: bool,
    /// True if it matters in no phase at all.
    is_unrelated: bool,
    cosine: f64,
    coverage: f64,
}

/// The quality of a floor.
#[derive(Clone, Copy, PartialEq)]
struct Quality {
    floor: f64,
    words: f64,
    /// The share of the passing memories that matter.
    precision: f64,
    /// The share of the memories that matter that pass.
    recall: f64,
    /// The share of the memories that matter in no phase that pass.
    unrelated: f64,
}

impl Quality {
    fn of(judged: &[ScoredMemory], floor: f64, words: f64) -> Self {
        let passes = |one: &ScoredMemory| one.cosine.max(0.0) + words * one.coverage >= floor;
        let share_of = |among: &dyn Fn(&ScoredMemory) -> bool,
                        which: &dyn Fn(&ScoredMemory) -> bool| {
            let among: Vec<&ScoredMemory> = judged.iter().filter(|one| among(one)).collect();
            among.iter().filter(|one| which(one)).count() as f64 / among.len().max(1) as f64
        };
        let (matters, is_unrelated) = (
            |one: &ScoredMemory| one.matters,
            |one: &ScoredMemory| one.is_unrelated,
        );
        let (precision, recall) = (share_of(&passes, &matters), share_of(&matters, &passes));
        Quality {
            floor,
            words,
            precision,
            recall,
            unrelated: share_of(&is_unrelated, &passes),
        }
    }

    /// Returns the weighted mean of precision and recall in which the recall counts twice as much.
    fn f2(&self) -> f64 {
        5.0 * self.precision * self.recall
            / (4.0 * self.precision + self.recall).max(f64::MIN_POSITIVE)
    }

    fn value(&self) -> Value {
        let Quality {
            floor,
            words,
            precision,
            recall,
            unrelated,
        } = self;
        json!({
            "floor": floor, "words": words, "precision": precision, "recall": recall, "f2": self.f2(),
            "unrelated": unrelated,
        })
    }
}

pub fn run(settings: &Settings, out: Option<&Path>, output: Output) -> Result<(), Failure> {
    let laboratory = Laboratory::new(settings, Arc::new(SystemClock), &[])?;
    let [fitted, reported] =
        ["= fitted\n", "= reported\n"].map(|heading| memories(section(heading)));
    let (fitted, reported) = (judge(&laboratory, &fitted)?, judge(&laboratory, &reported)?);
    let floors = FLOORS.flat_map(|floor| {
        WORDS.map(move |words| (f64::from(floor) / 100.0, f64::from(words) / 2.0))
    });
    let tried: Vec<Quality> = floors
        .map(|(floor, words)| Quality::of(&fitted, floor, words))
        .collect();
    let f2_max = tried.iter().map(Quality::f2).fold(0.0, f64::max);
    let good = tried
        .into_iter()
        .filter(|quality| quality.f2() >= f2_max - TOLERANCE);
    let best = good.min_by(|a, b| {
        a.unrelated
            .total_cmp(&b.unrelated)
            .then_with(|| b.f2().total_cmp(&a.f2()))
    });
    let best = best.ok_or_else(|| Failure::new(Exit::Failure, "no floor was tried".to_owned()))?;
    let weights = Weights::default();
    let in_use =
        |judged: &[ScoredMemory]| Quality::of(judged, weights.phase_floor, weights.phase_words);
    let rows = [
        ("best, fitted", best),
        (
            "best, reported",
            Quality::of(&reported, best.floor, best.words),
        ),
        ("in use, fitted", in_use(&fitted)),
        ("in use, reported", in_use(&reported)),
        ("none, reported", Quality::of(&reported, 0.0, 0.0)),
    ];
    let value = json!({
        "suite": "phases",
        "model": laboratory.model(),
        "search": laboratory.search(),
        "rows": rows.iter().map(|(name, quality)| json!({"floor": name, "quality": quality.value()})).collect::<Vec<_>>(),
    });
    if let Some(file) = out {
        std::fs::write(file, format!("{value:#}\n"))?;
    }
    let mut text = format!(
        "{:<18}{:>6}{:>7}{:>11}{:>8}{:>7}{:>11}\n",
        "", "floor", "words", "precision", "recall", "F2", "unrelated"
    );
    for (name, quality) in rows {
        let Quality {
            floor,
            words,
            precision,
            recall,
            unrelated,
        } = quality;
        let f2 = quality.f2();
        let _ = writeln!(
            text,
            "{name:<18}{floor:>6.2}{words:>7.1}{precision:>11.3}{recall:>8.3}{f2:>7.3}{unrelated:>11.3}"
        );
    }
    output.either(&value, text)?;
    if laboratory.search() == "hybrid" && in_use(&fitted).f2() < f2_max - TOLERANCE {
        return Err(Failure::new(
            Exit::Failure,
            "the floor in use is not the best one for this model".to_owned(),
        ));
    }
    Ok(())
}

/// Returns the lines under a heading.
fn section(heading: &str) -> &'static str {
    let section = MEMORIES.split_once(heading).map_or("", |(_, rest)| rest);
    section
        .split_once("\n= ")
        .map_or(section, |(section, _)| section)
}

fn memories(section: &str) -> Vec<LabelledMemory<'_>> {
    let lines = section.lines().filter_map(|line| line.split_once(" | "));
    lines
        .map(|(phases, text)| LabelledMemory {
            phases: phases.split(',').filter(|phase| *phase != "-").collect(),
            text,
        })
        .collect()
}

/// Stores the memories and searches for each phase.
fn judge(
    laboratory: &Laboratory<'_>,
    memories: &[LabelledMemory<'_>],
) -> Result<Vec<ScoredMemory>, Failure> {
    let folder = tempfile::tempdir()?;
    let parts = laboratory.open(folder.path())?;
    let local = Caller::local();
    let mut ids = Vec::new();
    for memory in memories {
        let request = Remember {
            visibility: Visibility::Common,
            ..Remember::new(memory.text, "fact")
        };
        ids.push(
            parts
                .engine
                .system(&local)
                .memories()
                .remember(request)?
                .memory
                .id,
        );
    }
    settle(&parts)?;
    let phases: BTreeSet<&str> = memories
        .iter()
        .flat_map(|memory| memory.phases.iter().copied())
        .collect();
    let known = Phases::default();
    let mut judged = Vec::new();
    for name in phases {
        let phase = known.0.get(name).cloned();
        let phase = phase.unwrap_or_else(|| Phase {
            query: name.to_owned(),
            ..Phase::default()
        });
        let recall = Recall::new(&phase.query, memories.len(), &|signals| signals.relevance);
        let hits = parts.engine.system(&local).search().recall(&recall)?.hits;
        judged.extend(memories.iter().zip(&ids).map(|(memory, id)| {
            let signals = hits
                .iter()
                .find(|hit| hit.memory.id == *id)
                .map(|hit| &hit.signals);
            ScoredMemory {
                matters: memory.phases.contains(&name),
                is_unrelated: memory.phases.is_empty(),
                cosine: signals
                    .and_then(|signals| signals.cosine)
                    .unwrap_or(-1.0)
                    .into(),
                coverage: signals.map_or(0.0, |signals| signals.coverage),
            }
        }));
    }
    Ok(judged)
}
