//! `loci-bench locomo`: measures how well the tools find the evidence of LoCoMo's questions, by the
//! same calls that an agent makes.
//!
//! `recall_memory` counts accesses, and memories with more accesses often rank higher. So the
//! results of a question depend on the questions before it, as in normal use. Every pass over the
//! questions starts with a fresh copy of the store.

pub mod data;
mod report;
mod score;
pub mod stored;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use loci::exit::Failure;
use loci::output::{Output, status_line};
use loci::settings::Settings;
use loci::wiring::{Parts, SystemClock};
use loci_core::TokenCounter;
use loci_dialects::{Dialect, mememory, memory_mcp};
use loci_tokens::BpeTokens;
use serde_json::json;

use self::data::{Conversation, session_of};
use self::report::Report;
use self::score::Score;
use self::stored::StoredConversation;
use super::laboratory::{Laboratory, consolidate, object};
use crate::arguments::Locomo;

/// The number of results whose turns are scored: a tool's default limit, or more.
const TURN_RESULTS: usize = 10;
/// The number of results whose sessions are scored, in the order of their best turns: enough for
/// ten different ones.
const SESSION_RESULTS: usize = 50;
/// The number of conversations for choosing settings; the others test them.
pub const DEV_CONVERSATIONS: usize = 5;

/// The dialect that stores the turns and answers the questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// Stores messages, with each session as a conversation of one user.
    MemoryMcp,
    /// Stores facts of one project.
    Mememory,
}

impl View {
    fn dialect(self) -> &'static Dialect {
        match self {
            View::MemoryMcp => &memory_mcp::DIALECT,
            View::Mememory => &mememory::DIALECT,
        }
    }
}

/// The scores of one tool, by category of question.
struct ToolScores {
    tool: String,
    /// The scores of turns and of sessions.
    categories: BTreeMap<u64, [Score; 2]>,
    /// The number of questions whose first turns differ when more results are asked for.
    different_heads: usize,
    /// The number of degraded replies.
    degraded: usize,
    /// The number of tokens of all replies with [`TURN_RESULTS`] results, and of these replies.
    tokens: [usize; 2],
    /// The memories of the last store that stand behind others.
    behind: usize,
}

pub fn run(settings: &Settings, options: &Locomo, output: Output) -> Result<(), Failure> {
    let mut conversations = data::read(Path::new(&options.data))?;
    let dev = DEV_CONVERSATIONS.min(conversations.len());
    match options.split.as_str() {
        "dev" => conversations.truncate(dev),
        "test" => drop(conversations.drain(..dev)),
        _ => {}
    }
    let (view, tools) = match (options.dialect.as_str(), options.tool.as_str()) {
        ("mememory", _) => (View::Mememory, vec!["recall"]),
        (_, "both") => (View::MemoryMcp, vec!["recall_memory", "hybrid_search"]),
        (_, tool) => (View::MemoryMcp, vec![tool]),
    };
    let laboratory = Laboratory::new(settings, Arc::new(SystemClock), &options.without)?;
    let temporary = tempfile::tempdir()?;
    let folder = options.keep.as_deref().unwrap_or(temporary.path());
    std::fs::create_dir_all(folder)?;

    let mut scores: Vec<ToolScores> = tools.into_iter().map(ToolScores::of).collect();
    for conversation in &conversations {
        let stored = StoredConversation::of(conversation, folder, view, &laboratory)?;
        status_line(format_args!(
            "asking {}: {} questions …",
            conversation.name,
            conversation.questions.len()
        ));
        for scores in &mut scores {
            scores.ask(
                conversation,
                &stored,
                view,
                &laboratory,
                options.consolidate,
            )?;
        }
    }
    let report = Report {
        options,
        laboratory: &laboratory,
        conversations: &conversations,
        tools: &scores,
    };
    let value = report.value();
    if let Some(file) = &options.out {
        std::fs::write(file, format!("{value:#}\n"))?;
    }
    Ok(output.either(&value, report.text())?)
}

impl ToolScores {
    fn of(tool: &str) -> Self {
        ToolScores {
            tool: tool.to_owned(),
            categories: BTreeMap::new(),
            different_heads: 0,
            degraded: 0,
            tokens: [0; 2],
            behind: 0,
        }
    }

    /// Asks every question of a conversation, once for the turns and once for the sessions.
    fn ask(
        &mut self,
        conversation: &Conversation,
        stored: &StoredConversation,
        view: View,
        laboratory: &Laboratory<'_>,
        is_consolidated: bool,
    ) -> Result<(), Failure> {
        let mut pass = |limit| {
            let stores = (stored, laboratory, is_consolidated);
            self.pass(conversation, view, stores, limit)
        };
        let (turns, more) = (pass(TURN_RESULTS)?, pass(SESSION_RESULTS)?);
        for ((question, turns), more) in conversation.questions.iter().zip(&turns).zip(&more) {
            let mut sessions = Vec::new();
            for session in more.iter().filter_map(|turn| session_of(turn)) {
                if !sessions.contains(&session) {
                    sessions.push(session);
                }
            }
            self.different_heads += usize::from(!more.starts_with(turns));
            let [all_turns, all_sessions] = self.categories.entry(question.category).or_default();
            *all_turns = all_turns.plus(Score::of(turns, &question.turns));
            *all_sessions = all_sessions.plus(Score::of(&sessions, &question.sessions));
        }
        Ok(())
    }

    /// Asks every question for that many results; returns the turns of these.
    fn pass(
        &mut self,
        conversation: &Conversation,
        view: View,
        (stored, laboratory, is_consolidated): (&StoredConversation, &Laboratory<'_>, bool),
        limit: usize,
    ) -> Result<Vec<Vec<String>>, Failure> {
        let folder = tempfile::tempdir()?;
        stored.copy_to(folder.path())?;
        let parts = laboratory.open(folder.path())?;
        if is_consolidated {
            self.behind = consolidate(&parts)?;
        }
        let questions = conversation.questions.iter();
        questions
            .map(|question| {
                self.question(
                    &parts,
                    view,
                    &conversation.name,
                    &question.text,
                    limit,
                    stored,
                )
            })
            .collect()
    }

    fn question(
        &mut self,
        parts: &Parts,
        view: View,
        name: &str,
        query: &str,
        limit: usize,
        stored: &StoredConversation,
    ) -> Result<Vec<String>, Failure> {
        let arguments = match view {
            View::MemoryMcp => json!({"user_id": name, "query": query, "limit": limit}),
            View::Mememory => json!({"project": name, "query": query, "limit": limit}),
        };
        let reply = parts.call_in(view.dialect(), &self.tool, object(arguments))?;
        self.degraded += usize::from(reply.notice.is_some());
        if limit == TURN_RESULTS {
            let [tokens, replies] = &mut self.tokens;
            *tokens += BpeTokens.count(&reply.structured.to_string());
            *replies += 1;
        }
        let results = reply.structured.get("results").unwrap_or(&reply.structured);
        let results = results.as_array().map_or(&[][..], Vec::as_slice);
        let mut turns: Vec<String> = Vec::with_capacity(limit);
        for turn in results.iter().filter_map(|result| stored.turn(result)) {
            if !turns.iter().any(|found| found == turn) {
                turns.push(turn.to_owned());
            }
        }
        Ok(turns)
    }
}
