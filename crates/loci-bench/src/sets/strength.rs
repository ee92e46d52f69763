//! `loci-bench strength`: measures which questions are told that nothing stored answers them, and
//! fits the [strength](loci_engine::StrengthFeatures) of searches to the halves for training.
//!
//! Each store is asked its own questions, and questions that it does not answer: those of sets of
//! other kinds, prompts about other things, made-up words, and the questions of LoCoMo that were
//! written to have no answer.

mod fit;
mod report;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::Arc;

use loci::exit::{Exit, Failure};
use loci::output::{Output, status_line};
use loci::settings::Settings;
use loci_core::{Caller, Clock, Tier};
use loci_engine::{Recall, StrengthFeatures, Weights};

use self::fit::fitted;
use self::report::Report;
use super::ask::RESULTS;
use super::data::{self, Set};
use super::stored::StoredSet;
use crate::arguments;
use crate::corpus::Random;
use crate::laboratory::{Laboratory, SetClock};
use crate::prompts::UNRELATED;

/// The halves of the questions.
const HALVES: [&str; 2] = ["train", "test"];
/// The most questions of one kind that a store is asked in each half.
const QUESTIONS: usize = 60;
/// The questions of other sets, the prompts and the made-up queries that a store is asked in each
/// half.
const FOREIGN: usize = 50;
const PROMPTS: usize = 50;
const NONSENSE: usize = 15;
/// The kind of sets about packages, and the beginning of that of their translations.
const PACKAGES: &str = "package descriptions";
/// The kind of LoCoMo's sets, each of which is about other people.
const TALK: &str = "talk";

/// The reason why a store has no answer, or that it has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum QuestionKind {
    /// A text of the store answers it.
    Answered,
    /// It is about another store.
    Foreign,
    /// It is a prompt about other things.
    Unrelated,
    /// It is of made-up words.
    Nonsense,
    /// It is about the people and subjects of the store, which does not answer it.
    Adversarial,
}

impl QuestionKind {
    pub const ALL: [QuestionKind; 5] = [
        QuestionKind::Answered,
        QuestionKind::Foreign,
        QuestionKind::Unrelated,
        QuestionKind::Nonsense,
        QuestionKind::Adversarial,
    ];

    pub fn name(self) -> &'static str {
        match self {
            QuestionKind::Answered => "answered",
            QuestionKind::Foreign => "of another store",
            QuestionKind::Unrelated => "unrelated prompt",
            QuestionKind::Nonsense => "made-up words",
            QuestionKind::Adversarial => "adversarial",
        }
    }
}

/// A question that was asked.
pub struct AskedQuestion {
    pub set: String,
    /// `train` or `test`.
    pub half: String,
    pub kind: QuestionKind,
    /// The features of the search; `None` if it found nothing.
    pub features: Option<StrengthFeatures>,
    /// True if a result holds an identifier of the question.
    pub is_identified: bool,
}

/// A question to ask.
struct Query<'a> {
    half: &'a str,
    kind: QuestionKind,
    text: String,
}

pub fn run(
    settings: &Settings,
    options: &arguments::Strength,
    output: Output,
) -> Result<(), Failure> {
    let clock = SetClock::new();
    let shared: Arc<dyn Clock> = Arc::<SetClock>::clone(&clock);
    let laboratory = Laboratory::new(settings, shared, &[])?;
    let folder = Path::new(&options.data);
    let mut sets = data::folders(folder, &options.only)?
        .iter()
        .map(|folder| Set::read(folder))
        .collect::<Result<Vec<_>, _>>()?;
    // The conversations come with their adversarial questions from LoCoMo's own file.
    sets.retain(|set| set.about.kind != TALK);
    for half in HALVES {
        sets.push(Set::of_needles(folder, half)?);
    }
    if let Some(file) = &options.locomo {
        sets.extend(Set::of_locomo(folder, Path::new(file))?);
    }
    let mut asked = Vec::new();
    for set in &sets {
        let stored = StoredSet::of(set, &laboratory, &clock)?;
        clock.set(0);
        status_line(format_args!("asking {} …", set.about.name));
        ask(set, &queries(set, &sets), &stored, &laboratory, &mut asked)?;
    }
    let scale = laboratory.embedder().cosine_scale();
    let mut weights = Weights::default().strength.of_scale(scale);
    if options.fit {
        weights = fitted(&asked, weights);
    }
    let report = Report::of(&asked, &weights);
    let value = report.value(&laboratory);
    if let Some(file) = &options.out {
        std::fs::write(file, format!("{value:#}\n"))?;
    }
    output.either(&value, report.text())?;
    let missed = report.missed();
    if missed.is_empty() || options.fit {
        return Ok(());
    }
    Err(Failure::new(Exit::Failure, missed.join("; ")))
}

/// Returns the questions that the store of a set is asked.
fn queries<'a>(set: &'a Set, sets: &'a [Set]) -> Vec<Query<'a>> {
    let mut queries = Vec::new();
    let mut counts: HashMap<_, usize> = HashMap::new();
    for question in &set.questions {
        let kind = if question.answers.is_empty() {
            QuestionKind::Adversarial
        } else {
            QuestionKind::Answered
        };
        let count = counts
            .entry((&question.half, &question.kind, kind.name()))
            .or_default();
        *count += 1;
        if *count <= QUESTIONS {
            queries.push(Query {
                half: &question.half,
                kind,
                text: question.query.clone(),
            });
        }
    }
    for (number, half) in HALVES.into_iter().enumerate() {
        let mut foreign: Vec<&str> = sets
            .iter()
            .filter(|other| is_foreign(set, other))
            .flat_map(|other| &other.questions)
            .filter(|question| question.half == half)
            .map(|question| question.query.as_str())
            .collect();
        foreign.sort_by_key(|text| place_of(text, &set.about.name));
        let prompts = UNRELATED.lines().skip(number).step_by(HALVES.len());
        let prompts = prompts.map(|line| line.split_once('\t').map_or(line, |(_, prompt)| prompt));
        let mut random = Random(number as u64);
        let nonsense = (0..NONSENSE).map(|words| random.words(2 + words % 8));
        let mut add = |kind, text: String| queries.push(Query { half, kind, text });
        foreign
            .into_iter()
            .take(FOREIGN)
            .for_each(|text| add(QuestionKind::Foreign, text.to_owned()));
        prompts
            .step_by(UNRELATED.lines().count() / HALVES.len() / PROMPTS)
            .for_each(|text| add(QuestionKind::Unrelated, text.to_owned()));
        nonsense.for_each(|text| add(QuestionKind::Nonsense, text));
    }
    queries
}

/// Reports whether the questions of another set have no answer in the store of this one. Sets of
/// one kind resemble each other, but for conversations of different people.
fn is_foreign(set: &Set, other: &Set) -> bool {
    fn subject(set: &Set) -> &str {
        let kind = match set.about.name.as_str() {
            "debian-apart" => PACKAGES,
            "facts-apart" => "isolated facts",
            _ => &set.about.kind,
        };
        if kind.starts_with(PACKAGES) {
            PACKAGES
        } else {
            kind
        }
    }
    subject(set) != subject(other) || (set.about.kind == TALK && set.about.name != other.about.name)
}

/// Returns a number that says nothing about a text, for an order that no other text changes.
fn place_of(text: &str, set: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (text, set).hash(&mut hasher);
    hasher.finish()
}

/// Asks through the engine, as a tool call does.
fn ask(
    set: &Set,
    queries: &[Query<'_>],
    stored: &StoredSet,
    laboratory: &Laboratory<'_>,
    asked: &mut Vec<AskedQuestion>,
) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let parts = stored.open(folder.path(), laboratory)?;
    let weights = Weights::default();
    for query in queries {
        let request = Recall {
            tiers: Tier::OF_CONVERSATIONS.to_vec(),
            ..Recall::new(&query.text, RESULTS, &|signals| signals.relevance)
        };
        let system = parts.engine.system(&Caller::local());
        let input = system.search().fusion_input(&request)?;
        let features = input.strength_features(&weights);
        asked.push(AskedQuestion {
            set: set.about.name.clone(),
            half: query.half.to_owned(),
            kind: query.kind,
            features: (!features.is_empty()).then(|| StrengthFeatures::of_search(features)),
            is_identified: input.identifiers.iter().any(|count| *count > 0),
        });
    }
    Ok(())
}
