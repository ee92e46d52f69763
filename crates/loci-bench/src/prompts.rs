//! `loci-bench prompts`: measures which prompts bring up memories, through the code of the hook.
//!
//! Each conversation of LoCoMo is filed as the transcripts of an agent. Its questions should bring
//! up a text of their evidence; prompts that have nothing to do with it should bring up nothing.

mod report;
mod stored;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use loci::exit::{Exit, Failure};
use loci::output::{Output, status_line};
use loci::settings::Settings;
use loci::wiring::{Parts, SystemClock};
use loci_engine::{SearchMode, quoted};
use loci_hooks::hook::HookSession;
use loci_hooks::prompt::{Prompt, best_score};
use loci_hosts::{Event, Input, Reply};
use loci_ingest::trust::Trust;
use serde_json::json;

use self::report::{Counts, StoreOutcome, report};
use self::stored::stored;
use super::laboratory::{Laboratory, copy};
use super::locomo::DEV_CONVERSATIONS;
use super::locomo::data::{self, Conversation};
use crate::arguments::Prompts;

/// The prompts that have nothing to do with the conversations: a kind and a text in each line. Odd
/// lines are for choosing the floor, even ones test it.
pub const UNRELATED: &str = include_str!("unrelated_prompts.tsv");

/// The halves of the material.
const HALVES: [&str; 2] = ["dev", "test"];

pub fn run(settings: &Settings, options: &Prompts, output: Output) -> Result<(), Failure> {
    let conversations = data::read(Path::new(&options.data))?;
    let laboratory = Laboratory::new(settings, Arc::new(SystemClock), &[])?;
    let temporary = tempfile::tempdir()?;
    let folder = options.keep.as_deref().unwrap_or(temporary.path());
    let mut asked = Vec::new();
    for (number, conversation) in conversations.iter().enumerate() {
        let half = usize::from(number >= DEV_CONVERSATIONS);
        if ![HALVES[half], "all"].contains(&options.split.as_str()) {
            continue;
        }
        let home = stored(conversation, folder, &laboratory)?;
        for mode in [SearchMode::Hybrid, SearchMode::Words] {
            status_line(format_args!("asking {} …", conversation.name));
            // The shown memories are noted.
            let data = tempfile::tempdir()?;
            copy(&home, data.path())?;
            let parts = laboratory.open_searching(data.path(), mode)?;
            let counts = ask(conversation, &parts, data.path(), half)?;
            asked.push(StoreOutcome { half, mode, counts });
        }
    }
    report(&asked, &laboratory, options.out.as_deref(), output)
}

/// Asks everything of that half.
fn ask(
    conversation: &Conversation,
    parts: &Parts,
    data: &Path,
    half: usize,
) -> Result<BTreeMap<String, Counts>, Failure> {
    let asking = PromptRunner {
        parts,
        trust: Trust::read_or_none(data, |_| ()),
        folder: Path::new(&conversation.name),
    };
    let mut counts: BTreeMap<String, Counts> = BTreeMap::new();
    let texts: BTreeMap<&str, &str> = conversation
        .sessions
        .iter()
        .flat_map(|session| &session.turns)
        .map(|turn| (turn.id.as_str(), turn.text.as_str()))
        .collect();
    for question in &conversation.questions {
        let evidence: Vec<String> = question
            .turns
            .iter()
            .filter_map(|turn| Some(quoted(texts.get(turn.as_str())?)))
            .collect();
        if evidence.is_empty() {
            continue;
        }
        let found = asking.ask(&question.text)?;
        let holds = |text: &String| evidence.iter().any(|turn| text.contains(turn));
        let is_right = found.text.as_ref().is_some_and(holds);
        counts
            .entry("questions".to_owned())
            .or_default()
            .add(&found, is_right);
    }
    for line in UNRELATED.lines().skip(half).step_by(HALVES.len()) {
        let (kind, prompt) = line.split_once('\t').unwrap_or(("", line));
        let found = asking.ask(prompt)?;
        counts
            .entry(format!("unrelated: {kind}"))
            .or_default()
            .add(&found, false);
    }
    Ok(counts)
}

/// The host of the prompts.
const HOST: &str = "loci-bench";

/// A session for each prompt.
struct PromptRunner<'a> {
    parts: &'a Parts,
    trust: Trust,
    /// The folder of the sessions, whose name is that of the wing.
    folder: &'a Path,
}

/// The outcome of a prompt.
struct PromptOutcome {
    /// The text that it brings up.
    text: Option<String>,
    /// The number of its tokens.
    tokens: usize,
    /// The score that the floor is for.
    score: Option<f64>,
}

impl PromptRunner<'_> {
    fn ask(&self, prompt: &str) -> Result<PromptOutcome, Failure> {
        let engine = &self.parts.engine;
        let session = HookSession {
            engine,
            host: HOST,
            trust: &self.trust,
            folder: self.folder,
            dialect: "mememory",
            is_shared: false,
            is_verbatim: false,
        };
        let input = Input::read(json!({"prompt": prompt}).to_string().as_bytes())?;
        let mut text = None;
        let mut answer = |reply| {
            if let Reply::Context(_, shown) = reply {
                text = Some(shown);
            }
        };
        session
            .handle(Event::Prompt, &input, |_| (), &mut answer)
            .map_err(|error| Failure::new(Exit::Failure, error.to_string()))?;
        let score = match Prompt::of(&input, HOST, &self.trust, self.folder) {
            Some(prompt) => best_score(&engine.system(&loci_ingest::caller()), &prompt)?,
            None => None,
        };
        let tokens = text
            .as_ref()
            .map_or(0, |text| engine.budgets().count_tokens(text));
        Ok(PromptOutcome {
            text,
            tokens,
            score,
        })
    }
}
