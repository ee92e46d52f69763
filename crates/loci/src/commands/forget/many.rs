//! Forgets all memories that match some conditions, or brings them back.

use loci_core::{Caller, CollectionFilter, Memory, Tier};
use loci_dialects::mememory::Record;
use loci_engine::{Effect, ForgetConditions, LiftReport, MarkCounts, MatchSummary};
use loci_hosts::quoted;
use serde_json::{Value, json};

use crate::cli;
use crate::commands::search::NOUNS;
use crate::escaped::OneLine;
use crate::exit::{Exit, Failure};
use crate::output::{Output, status_line};
use crate::time_format;
use crate::wiring::Parts;

/// The matching memories that are shown.
const SHOWN_MAX: usize = 10;
/// The characters of the first line of a memory that are shown.
const CHARACTERS_SHOWN_MAX: usize = 72;
/// The notes that a message names.
const NAMED_MAX: usize = 10;

/// The work on the memories that match.
#[derive(Debug, Clone, Copy)]
pub enum Direction<'a> {
    /// Forgets them.
    Forget,
    /// Brings forgotten ones back.
    Unforget {
        /// Only those forgotten then or later, as the user writes a moment.
        since: Option<&'a str>,
        /// Only memories of this conversation.
        conversation: Option<&'a str>,
    },
}

impl Direction<'_> {
    /// Returns what was done with the memories, in words.
    const fn done(self) -> &'static str {
        match self {
            Direction::Forget => "forgotten",
            Direction::Unforget { .. } => "brought back",
        }
    }
}

/// Counts the memories that match the conditions and shows the first ones; with `--yes` it forgets
/// them or brings them back.
///
/// # Errors
/// [`Exit::Usage`] without any condition or for a wrong one; the errors of the operation.
pub fn run_many(
    parts: &Parts,
    arguments: &cli::BulkConditions,
    direction: Direction<'_>,
    output: Output,
) -> Result<(), Failure> {
    let which = conditions(parts, arguments, direction)?;
    if !arguments.yes {
        let system = parts.looking();
        let memories = system.memories();
        let matching = match direction {
            Direction::Forget => memories.matching(&which, SHOWN_MAX)?,
            Direction::Unforget { .. } => memories.matching_forgotten(&which, SHOWN_MAX)?,
        };
        return show(&matching, direction, output);
    }
    let marked = match direction {
        Direction::Forget => parts
            .logged(("forget", "memory:delete", Effect::Destroy), |call| {
                Ok(call.memories().forget_where(&which)?)
            })?,
        Direction::Unforget { .. } => {
            let (marked, lifted) =
                parts.logged(("unforget", "memory:write", Effect::Write), |call| {
                    let marked = call.memories().unforget_where(&which)?;
                    Ok((marked, call.memories().lift_where(&which)?))
                })?;
            say_lifted(&lifted);
            marked
        }
    };
    report(&marked, &which, direction, output)
}

/// Returns the conditions of the arguments. A project or a type that is written in another case is
/// the one that exists.
fn conditions(
    parts: &Parts,
    arguments: &cli::BulkConditions,
    direction: Direction<'_>,
) -> Result<ForgetConditions, Failure> {
    let now = parts.engine.now();
    let moment = |flag: &str, text: Option<&str>| {
        text.map(|text| time_format::parse(flag, text, now))
            .transpose()
    };
    let mut which = ForgetConditions {
        collections: arguments.project.as_deref().map(|project| match project {
            "global" => CollectionFilter::Global,
            project => CollectionFilter::Only(project.to_owned()),
        }),
        sections: arguments.r#type.iter().cloned().collect(),
        tags: arguments.tags.clone(),
        source: None,
        conversation: None,
        created_before: moment("--before", arguments.before.as_deref())?,
        forgotten_from: None,
    };
    if let Some(path) = &arguments.source {
        // A file that was deleted is named by its former path.
        let named = loci_ingest::absolute(path).or_else(|_| loci_ingest::named(path))?;
        which.source = Some(named);
    }
    match direction {
        Direction::Forget => {
            let named = parts.looking().listings().named(
                NOUNS,
                &[Tier::LongTerm],
                which.collections.take().unwrap_or(CollectionFilter::Any),
                which.sections,
            )?;
            if let Some(notice) = &named.notice {
                status_line(format_args!("note: {notice}"));
            }
            which.collections =
                (named.collections != CollectionFilter::Any).then_some(named.collections);
            which.sections = named.sections;
        }
        Direction::Unforget {
            since,
            conversation,
        } => {
            which.forgotten_from = moment("--since", since)?;
            which.conversation = conversation.map(str::to_owned);
        }
    }
    if which == ForgetConditions::default() {
        let since = match direction {
            Direction::Forget => "",
            Direction::Unforget { .. } => ", --conversation, --since",
        };
        return Err(Failure::new(
            Exit::Usage,
            format!(
                "--where needs a condition: --project, --type, --tags, --source, --before{since}; all that are given \
                 must hold"
            ),
        ));
    }
    Ok(which)
}

/// Prints what a dry run found.
fn show(matching: &MatchSummary, direction: Direction<'_>, output: Output) -> Result<(), Failure> {
    let value = json!({
        "dry_run": true,
        "memories": matching.memories,
        "of_others": matching.of_others,
        "first": matching.first.iter().map(described).collect::<Vec<Value>>(),
    });
    output.either(&value, matching.first.iter().map(line).collect::<String>())?;
    say_of_others(matching.of_others);
    if matching.memories == 0 {
        status_line("no memory matches");
        return Ok(());
    }
    let more = match matching.memories - matching.first.len() as u64 {
        0 => String::new(),
        more => format!(", of which {more} are not shown"),
    };
    status_line(format_args!(
        "{} would be {}{more}; nothing is changed, --yes does it",
        memories(matching.memories),
        direction.done()
    ));
    Ok(())
}

/// Prints what was done, and how to undo it.
fn report(
    marked: &MarkCounts,
    which: &ForgetConditions,
    direction: Direction<'_>,
    output: Output,
) -> Result<(), Failure> {
    let undo = match direction {
        Direction::Forget if marked.memories > 0 => Some(undo(which, marked)),
        _ => None,
    };
    let kept: Vec<Value> = marked
        .kept
        .iter()
        .map(|(id, error)| json!({"id": id.as_str(), "problem": error.message}))
        .collect();
    let count = match direction {
        Direction::Forget => "forgotten",
        Direction::Unforget { .. } => "unforgotten",
    };
    let mut value = json!({"of_others": marked.of_others, "equal": marked.equal, "kept": kept});
    value[count] = json!(marked.memories);
    if let Some(undo) = &undo {
        value["undo"] = json!(undo);
    }
    output.either(&value, "")?;
    say_of_others(marked.of_others);
    let undo = undo.map_or_else(String::new, |undo| {
        format!("; this brings them back: {undo}")
    });
    let (memories, done) = (memories(marked.memories), direction.done());
    status_line(format_args!("{done}: {memories}{undo}"));
    if marked.equal > 0 {
        status_line(format_args!(
            "note: {} with the same texts stay in sight, from other sources or places",
            self::memories(marked.equal)
        ));
    }
    let Some((_, first)) = marked.kept.first() else {
        return Ok(());
    };
    let mut named: Vec<&str> = marked.kept.iter().map(|(id, _)| id.as_str()).collect();
    let others = match named.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        others => format!(" and {others} more"),
    };
    named.truncate(NAMED_MAX);
    let named = named.join(", ");
    Err(Failure::new(
        Exit::Failure,
        format!("not {done}, the notes {named}{others}: {}", first.message),
    ))
}

/// Returns a number of memories in words.
pub fn memories(count: u64) -> String {
    if count == 1 {
        "1 memory".to_owned()
    } else {
        format!("{count} memories")
    }
}

/// Says which texts may be read again.
pub fn say_lifted(lifted: &LiftReport) {
    if lifted.memories == 0 {
        return;
    }
    let files = match lifted.files {
        0 => "an import brings them back, or `loci palace mine --reread` of a file".to_owned(),
        1 => "the next `loci palace mine` or hook reads their file again".to_owned(),
        files => format!("the next `loci palace mine` or hook reads their {files} files again"),
    };
    status_line(format_args!(
        "removed for good, and may come back: {}; {files}",
        memories(lifted.memories)
    ));
}

fn say_of_others(count: u64) {
    if count > 0 {
        status_line(format_args!(
            "note: {} of others match, too, and stay as they are: you can only read them",
            memories(count)
        ));
    }
}

/// Returns the command that brings back what was forgotten.
fn undo(which: &ForgetConditions, marked: &MarkCounts) -> String {
    let mut words = vec!["loci unforget --where".to_owned()];
    let mut flag = |name: &str, value: &str| words.push(format!("--{name} {}", quoted(value)));
    match &which.collections {
        Some(CollectionFilter::Global) => flag("project", "global"),
        Some(CollectionFilter::Only(project)) => flag("project", project),
        _ => {}
    }
    for section in &which.sections {
        flag("type", section);
    }
    if !which.tags.is_empty() {
        flag("tags", &which.tags.join(","));
    }
    if let Some(source) = &which.source {
        flag("source", source);
    }
    if let Some(before) = which.created_before {
        flag("before", &time_format::format(before));
    }
    flag("since", &time_format::format(marked.begun_at));
    words.push("--yes".to_owned());
    words.join(" ")
}

/// Returns the id, the type, the project and the beginning of a memory as one line.
pub fn line(memory: &Memory) -> String {
    let place = memory
        .location
        .collection
        .as_ref()
        .map_or_else(|| "global".to_owned(), |name| format!("project {name}"));
    let text = memory.content.trim_start();
    let first = text.lines().next().unwrap_or_default();
    let beginning: String = first.chars().take(CHARACTERS_SHOWN_MAX).collect();
    let more = if beginning.len() < text.trim_end().len() {
        " …"
    } else {
        ""
    };
    let line = format!(
        "{}  {}  {place}  {beginning}{more}",
        memory.id, memory.location.section
    );
    format!("{}\n", OneLine(line))
}

fn described(memory: &Memory) -> Value {
    json!(Record::of(&Caller::local(), memory.clone()))
}
