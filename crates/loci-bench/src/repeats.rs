//! `loci-bench repeats`: measures what `loci consolidate` does to a store in which two fifths of the
//! memories say again what others say: whether the tools find the same evidence as before, and in how
//! many tokens.

mod material;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use loci::exit::{Exit, Failure};
use loci::output::{Output, status_line};
use loci::settings::Settings;
use loci::wiring::Parts;
use loci_core::{Clock, MemoryId, TokenCounter};
use loci_dialects::mememory;
use loci_engine::{CONSOLIDATE, ConsolidationReport, Effect, Remember};
use loci_tokens::BpeTokens;
use serde_json::{Value, json};

use self::material::{FORMS, Material};
use super::laboratory::{Laboratory, SetClock, object, settle};
use crate::arguments::Repeats;

/// The numbers of results that are asked for: the default of `recall`, and more.
const LIMITS: [usize; 2] = [5, 10];
/// The most evidence that may be lost, as a share of the questions: the noise of the ranking.
const LOST_MAX: f64 = 0.01;

/// The contents of the replies to a kind of questions.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    questions: usize,
    /// The questions whose reply has a memory of their fact.
    found: usize,
    /// The questions whose first result is of their fact.
    first: usize,
    tokens: usize,
    results: usize,
}

/// The tallies by kind of question and number of results.
type Tallies = BTreeMap<(&'static str, usize), Tally>;

pub fn run(settings: &Settings, options: &Repeats, output: Output) -> Result<(), Failure> {
    let clock = SetClock::new();
    let shared: Arc<dyn Clock> = Arc::<SetClock>::clone(&clock);
    let laboratory = Laboratory::new(settings, shared, &[])?;
    let folder = tempfile::tempdir()?;
    let parts = laboratory.open(folder.path())?;
    let material = material::material(options.seed, options.memories as usize);
    status_line(format_args!("storing {} memories …", material.said.len()));
    let facts = store(&parts, &material, &clock)?;
    clock.set(0);
    settle(&parts)?;
    let questions = asked(&material, options.questions as usize);
    status_line(format_args!("asking {} questions …", questions.len()));
    let before = ask(&parts, &material, &questions, &facts)?;
    status_line("consolidating …");
    let begun = Instant::now();
    let info = (CONSOLIDATE, "memory:write", Effect::Write);
    let report = parts.logged(info, |call| Ok(call.consolidation().consolidate(false)?))?;
    let seconds = begun.elapsed().as_secs_f64();
    let begun = Instant::now();
    let again = parts.looking().consolidation().consolidate(true)?;
    let again_seconds = begun.elapsed().as_secs_f64();
    status_line("asking again …");
    let after = ask(&parts, &material, &questions, &facts)?;
    let wrong = wrong_pairs(&report, &material, &facts);
    let outcome = Outcome {
        options,
        model: laboratory.model(),
        before,
        after,
        behind: by_form(&report, &material, &facts),
        report,
        wrong,
        changed_again: again.put_behind.len() + again.brought_back.len(),
        seconds: [seconds, again_seconds],
    };
    let value = outcome.value();
    if let Some(file) = &options.out {
        std::fs::write(file, format!("{value:#}\n"))?;
    }
    output.either(&value, outcome.text())?;
    let missed = outcome.missed();
    if missed.is_empty() {
        return Ok(());
    }
    Err(Failure::new(Exit::Failure, missed.join("; ")))
}

/// Stores the memories; returns the place in the material of each, by id.
fn store(
    parts: &Parts,
    material: &Material,
    clock: &SetClock,
) -> Result<HashMap<MemoryId, usize>, Failure> {
    let mut facts = HashMap::new();
    for (place, said) in material.said.iter().enumerate() {
        clock.set_after_noon(30, i64::try_from(place).unwrap_or(i64::MAX));
        let remember = Remember::new(said.text.clone(), "fact");
        let stored = parts.system().memories().remember(remember)?;
        facts.insert(stored.memory.id, place);
    }
    Ok(facts)
}

/// Returns facts to ask for, as many that are repeated as that are not, evenly from all.
fn asked(material: &Material, count: usize) -> Vec<(&'static str, usize)> {
    let repeated = material.said.iter().filter(|said| said.form.is_some());
    let repeated: HashSet<usize> = repeated.map(|said| said.fact).collect();
    let (repeated, single): (Vec<usize>, Vec<usize>) =
        (0..material.facts.len()).partition(|fact| repeated.contains(fact));
    let some = |facts: Vec<usize>, kind: &'static str| {
        let step = (2 * facts.len() / count.max(1)).max(1);
        facts
            .into_iter()
            .step_by(step)
            .map(move |fact| (kind, fact))
    };
    some(repeated, "repeated")
        .chain(some(single, "said once"))
        .collect()
}

fn ask(
    parts: &Parts,
    material: &Material,
    questions: &[(&'static str, usize)],
    facts: &HashMap<MemoryId, usize>,
) -> Result<Tallies, Failure> {
    let mut tallies = Tallies::new();
    for limit in LIMITS {
        for (kind, fact) in questions {
            let arguments = json!({"query": material.facts[*fact].question, "limit": limit});
            let reply = parts.call_in(&mememory::DIALECT, "recall", object(arguments))?;
            let results = reply.structured.get("results");
            let results = results.unwrap_or(&reply.structured).as_array();
            let of_fact = |result: &Value| {
                let id = result["memory"]["id"].as_str().map(MemoryId::new);
                let place = id.and_then(|id| facts.get(&id).copied());
                place.is_some_and(|place| material.said[place].fact == *fact)
            };
            let found: Vec<bool> = results.into_iter().flatten().map(of_fact).collect();
            let tally = tallies.entry((kind, limit)).or_default();
            tally.questions += 1;
            tally.found += usize::from(found.contains(&true));
            tally.first += usize::from(found.first() == Some(&true));
            tally.tokens += BpeTokens.count(&reply.structured.to_string());
            tally.results += found.len();
        }
    }
    Ok(tallies)
}

/// Returns the texts of memories that stand behind one that says another fact, with that one.
fn wrong_pairs(
    report: &ConsolidationReport,
    material: &Material,
    facts: &HashMap<MemoryId, usize>,
) -> Vec<[String; 2]> {
    let said = |id: &MemoryId| facts.get(id).map(|place| &material.said[*place]);
    let pairs = report.put_behind.iter().filter_map(|pair| {
        let (one, other) = (said(&pair.memory)?, said(&pair.representative)?);
        (one.fact != other.fact).then(|| [one.text.clone(), other.text.clone()])
    });
    pairs.collect()
}

/// Returns of each form the number of repeats, and of those whose memory stands behind another one or
/// for others.
fn by_form(
    report: &ConsolidationReport,
    material: &Material,
    facts: &HashMap<MemoryId, usize>,
) -> Vec<(&'static str, usize, usize)> {
    let pairs = report.put_behind.iter();
    let settled: HashSet<usize> = pairs
        .flat_map(|pair| [&pair.memory, &pair.representative])
        .filter_map(|id| facts.get(id).copied())
        .collect();
    FORMS
        .iter()
        .map(|(form, _)| {
            let of_form: Vec<usize> = (0..material.said.len())
                .filter(|place| material.said[*place].form == Some(*form))
                .collect();
            let settled = of_form
                .iter()
                .filter(|place| settled.contains(place))
                .count();
            (form.name(), of_form.len(), settled)
        })
        .collect()
}

/// The outcome of a run.
struct Outcome<'a> {
    options: &'a Repeats,
    model: String,
    before: Tallies,
    after: Tallies,
    behind: Vec<(&'static str, usize, usize)>,
    report: ConsolidationReport,
    wrong: Vec<[String; 2]>,
    changed_again: usize,
    seconds: [f64; 2],
}

impl Tally {
    fn share(self, part: usize) -> f64 {
        part as f64 / self.questions.max(1) as f64
    }

    fn value(self) -> Value {
        json!({
            "found": self.share(self.found),
            "first": self.share(self.first),
            "tokens": self.share(self.tokens),
            "results": self.share(self.results),
        })
    }

    fn plus(self, other: Tally) -> Tally {
        Tally {
            questions: self.questions + other.questions,
            found: self.found + other.found,
            first: self.first + other.first,
            tokens: self.tokens + other.tokens,
            results: self.results + other.results,
        }
    }
}

/// Returns the tallies, and the sums over all questions.
fn with_all(tallies: &Tallies) -> Tallies {
    let mut all = tallies.clone();
    for ((_, limit), tally) in tallies {
        let sum = all.entry(("all", *limit)).or_default();
        *sum = sum.plus(*tally);
    }
    all
}

impl Outcome<'_> {
    /// Returns what is worse than it should be.
    fn missed(&self) -> Vec<String> {
        let mut missed = Vec::new();
        for (key, before) in &self.before {
            let after = self.after.get(key).copied().unwrap_or_default();
            let lost = before.share(before.found) - after.share(after.found);
            if lost > LOST_MAX {
                missed.push(format!(
                    "{lost:.3} of the evidence is lost among {} results, {}",
                    key.1, key.0
                ));
            }
        }
        if !self.wrong.is_empty() {
            missed.push(format!(
                "{} memories stand behind another fact",
                self.wrong.len()
            ));
        }
        if self.changed_again > 0 {
            missed.push(format!("a further run would change {}", self.changed_again));
        }
        missed
    }

    fn value(&self) -> Value {
        let after = with_all(&self.after);
        let rows: Vec<Value> = with_all(&self.before)
            .into_iter()
            .map(|((kind, limit), before)| {
                let after = after.get(&(kind, limit)).copied().unwrap_or_default();
                json!({
                    "questions": kind, "limit": limit, "number": before.questions,
                    "before": before.value(), "after": after.value(),
                    "tokens_after_to_before": after.tokens as f64 / before.tokens.max(1) as f64,
                })
            })
            .collect();
        let forms = self.behind.iter().map(
            |(form, all, settled)| json!({"form": form, "repeats": all, "consolidated": settled}),
        );
        json!({
            "suite": "repeats",
            "loci": env!("CARGO_PKG_VERSION"),
            "model": self.model,
            "memories": self.options.memories,
            "seed": self.options.seed,
            "behind": self.report.behind,
            "representatives": self.report.representatives,
            "forms": forms.collect::<Value>(),
            "wrong": self.wrong,
            "changed_by_a_further_run": self.changed_again,
            "seconds": self.seconds[0],
            "seconds_of_a_further_run": self.seconds[1],
            "rows": rows,
        })
    }

    fn text(&self) -> String {
        let mut text = format!(
            "{:11} {:>5} {:>9}   {:>13}   {:>13}   {:>15}   {:>13}\n",
            "questions", "limit", "number", "found", "first", "tokens", "results"
        );
        let after = with_all(&self.after);
        for ((kind, limit), before) in with_all(&self.before) {
            let after = after.get(&(kind, limit)).copied().unwrap_or_default();
            let [b, a] = [before, after];
            text += &format!(
                "{kind:11} {limit:>5} {:>9}   {:.3} → {:.3}   {:.3} → {:.3}   {:>6.1} → {:>6.1}   {:>5.2} → {:>5.2}   tokens × {:.3}\n",
                b.questions,
                b.share(b.found),
                a.share(a.found),
                b.share(b.first),
                a.share(a.first),
                b.share(b.tokens),
                a.share(a.tokens),
                b.share(b.results),
                a.share(a.results),
                a.tokens as f64 / b.tokens.max(1) as f64,
            );
        }
        text += &format!(
            "{} of {} memories stand behind {} others; {:.1} s, a further run {:.1} s\n",
            self.report.behind,
            self.options.memories,
            self.report.representatives,
            self.seconds[0],
            self.seconds[1]
        );
        for (form, all, settled) in &self.behind {
            text += &format!(
                "{form:12} {settled:>6} of {all:>6} repeats stand behind another one, or for others\n"
            );
        }
        for [one, other] in &self.wrong {
            text += &format!("wrong: {one}\n       {other}\n");
        }
        text
    }
}
