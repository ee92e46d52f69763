//! The tasks, and the evaluation of the replies to them.

use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use loci::exit::{Exit, Failure};
use loci::output::status_line;
use loci::wiring::Parts;
use loci_core::TokenCounter;
use loci_dialects::Context;
use loci_tokens::BpeTokens;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::material::{Call, read as read_file};
use super::stored::{FilledStore, Ids, caller, id_beside};
use crate::client::loci;
use crate::laboratory::{Laboratory, SetClock, consolidate};

/// The time of the tasks in milliseconds after noon, after all calls that fill the store and before
/// cached answers expire.
const ASKED_AFTER_NOON_MS: i64 = 50 * 60 * 1_000;
/// An id that replaces all ids, whose digits and thus tokens differ from run to run.
const ANY_ID: &str = "019a3c7e-5b21-7d40-9f86-e2c4d81b07a5";
/// The length from which hexadecimal digits are an id, and from which other letters and digits are
/// an id or a cursor.
const ID_CHARACTERS_MIN: usize = 8;
const OPAQUE_CHARACTERS_MIN: usize = 32;
/// The length of a date.
const DATE_CHARACTERS: usize = 10;

/// A task: one call, after some steps, with the expected and unwanted parts of its reply.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// Its name.
    pub name: String,
    /// The dialect of the agent.
    pub dialect: String,
    /// The tool. Without it, the task is the start of a session.
    pub tool: Option<String>,
    /// The arguments of the tool.
    #[serde(default)]
    pub arguments: Map<String, Value>,
    /// The project in whose folder a session starts, by the hook of the host.
    pub starts_in: Option<String>,
    /// The resource that a session starts with.
    pub resource: Option<String>,
    /// The caller; the local user, if left out.
    #[serde(rename = "as")]
    pub caller: Option<String>,
    /// The calls before it.
    #[serde(default)]
    pub steps: Vec<Call>,
    /// Parts of memories that the agent needs.
    #[serde(default)]
    pub must: Vec<String>,
    /// Parts of memories that would mislead the agent or do not concern it.
    #[serde(default)]
    pub must_not: Vec<String>,
    /// Expected parts of the reply besides the memories.
    #[serde(default)]
    pub must_say: Vec<String>,
    /// Unwanted parts of the reply besides the memories.
    #[serde(default)]
    pub must_not_say: Vec<String>,
    /// The largest number of tokens of the reply.
    pub budget_tokens: usize,
}

/// The outcome of a task.
pub struct TaskOutcome<'a> {
    /// The task.
    pub task: &'a Task,
    /// The evidence that the reply lacks.
    pub missing: Vec<String>,
    /// The distractors in the reply.
    pub shown: Vec<String>,
    /// The number of tokens of the reply.
    pub tokens: usize,
    /// The error of the call, or of a step before it.
    pub refused: Option<String>,
}

impl TaskOutcome<'_> {
    /// Returns true if the reply stays within its tokens.
    pub fn is_within_budget(&self) -> bool {
        self.tokens <= self.task.budget_tokens
    }

    /// Returns true if the reply has all evidence, no distractor and not too many tokens.
    pub fn is_right(&self) -> bool {
        self.missing.is_empty() && self.shown.is_empty() && self.is_within_budget()
    }
}

impl Task {
    /// Returns the expected parts of the reply.
    pub fn evidence(&self) -> impl Iterator<Item = &String> {
        self.must.iter().chain(&self.must_say)
    }

    /// Returns the unwanted parts of the reply.
    pub fn distractors(&self) -> impl Iterator<Item = &String> {
        self.must_not.iter().chain(&self.must_not_say)
    }
}

/// Returns all tasks.
///
/// # Errors
/// If the file is not in the form above.
pub fn read() -> Result<Vec<Task>, Failure> {
    #[derive(Deserialize)]
    struct Tasks {
        tasks: Vec<Task>,
    }
    Ok(read_file::<Tasks>("tasks.toml", include_str!("tasks.toml"))?.tasks)
}

/// Returns that many of the tasks, evenly spread over all; without a number, all.
pub fn sample(tasks: Vec<Task>, number: Option<u32>) -> Vec<Task> {
    let all = tasks.len();
    let number = number.map_or(all, |number| (number as usize).min(all));
    let is_taken = |index: usize| (index + 1) * number / all > index * number / all;
    tasks
        .into_iter()
        .enumerate()
        .filter(|(index, _)| is_taken(*index))
        .map(|(_, task)| task)
        .collect()
}

/// Runs the tasks one after the other on a copy of the store.
///
/// # Errors
/// If the copy cannot be made or opened. A failed call is a reply with its error.
pub fn ask<'a>(
    tasks: &'a [Task],
    stored: &FilledStore,
    laboratory: &Laboratory<'_>,
    clock: &SetClock,
    is_consolidated: bool,
) -> Result<Vec<TaskOutcome<'a>>, Failure> {
    let folder = tempfile::tempdir()?;
    stored.copy_to(folder.path())?;
    clock.set_after_noon(0, ASKED_AFTER_NOON_MS);
    let parts = laboratory.open(folder.path())?;
    if is_consolidated {
        let behind = consolidate(&parts)?;
        status_line(format_args!("{behind} memories stand behind others"));
    }
    let asked = |task: &'a Task| {
        let mut ids = Ids::default();
        let outcome = take_steps(task, stored, &parts, &mut ids)
            .map(|()| reply(task, stored, &parts, folder.path(), &ids));
        // An agent reads why a call was refused. After a failed step, the store lacks its change,
        // so all distractors count.
        let (text, refused, is_begun) = match outcome {
            Ok(Ok(text)) => (text, None, true),
            Ok(Err(failure)) => (failure.message.clone(), Some(failure.message), true),
            Err(failure) => (String::new(), Some(failure.message), false),
        };
        let is_there = |part: &&String| text.contains(&stored.with_ids(part, &ids));
        TaskOutcome {
            task,
            missing: task
                .evidence()
                .filter(|part| !is_there(part))
                .cloned()
                .collect(),
            shown: task
                .distractors()
                .filter(|part| !is_begun || is_there(part))
                .cloned()
                .collect(),
            tokens: BpeTokens.count(&with_one_id(&text)),
            refused,
        }
    };
    Ok(tasks.iter().map(asked).collect())
}

/// Returns a call with the defaults of its task.
fn completed(call: &Call, task: &Task) -> Call {
    let mut call = call.clone();
    call.dialect.get_or_insert_with(|| task.dialect.clone());
    call.caller = call.caller.or_else(|| task.caller.clone());
    call
}

/// Makes the steps of a task.
fn take_steps(
    task: &Task,
    stored: &FilledStore,
    parts: &Parts,
    ids: &mut Ids,
) -> Result<(), Failure> {
    for step in &task.steps {
        let reply = stored.call(&completed(step, task), ids, parts)?;
        if let Some(part) = &step.shows {
            let id = id_beside(&reply.structured, part).map(str::to_owned);
            let missing = || {
                Failure::new(
                    Exit::Failure,
                    format!("no result of {} holds {part}", step.tool),
                )
            };
            ids.shown = Some(id.ok_or_else(missing)?);
        }
    }
    Ok(())
}

/// Returns the reply that the agent reads in the end.
fn reply(
    task: &Task,
    stored: &FilledStore,
    parts: &Parts,
    data: &Path,
    ids: &Ids,
) -> Result<String, Failure> {
    if let Some(tool) = &task.tool {
        let call = Call::now(tool, task.arguments.clone());
        return Ok(stored.call(&completed(&call, task), ids, parts)?.text);
    }
    if let Some(uri) = &task.resource {
        let resources =
            loci_dialects::dialect(&task.dialect).and_then(|dialect| dialect.resources.as_ref());
        let context = Context {
            engine: &parts.engine,
            caller: &caller(task.caller.as_deref()),
        };
        let text = resources
            .map(|resources| resources.read(context, uri))
            .transpose()?
            .flatten();
        return text
            .ok_or_else(|| Failure::new(Exit::Failure, format!("there is no resource {uri}")));
    }
    session_start(task, data)
}

/// Returns the text that the hook of a host adds to a new session, from a process of its own.
fn session_start(task: &Task, data: &Path) -> Result<String, Failure> {
    let temporary = tempfile::tempdir()?;
    let folder = temporary
        .path()
        .join(task.starts_in.as_deref().unwrap_or("global"));
    std::fs::create_dir(&folder)?;
    let mut command = loci(data)?;
    command.args([
        "hook",
        "run",
        "--host",
        "claude-code",
        "--event",
        "session-start",
        "--dialect",
        &task.dialect,
    ]);
    command
        .arg("--data")
        .arg(data)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(json!({"cwd": folder}).to_string().as_bytes())?;
    }
    let output = child.wait_with_output()?;
    let said: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let text = said["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .map(str::to_owned);
    text.ok_or_else(|| {
        let problem = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Failure::new(
            Exit::Failure,
            format!("the hook said nothing that a host can use: {problem}"),
        )
    })
}

/// Replaces all ids and cursors in the text by the same digits, except dates.
fn with_one_id(text: &str) -> String {
    let is_of_id =
        |character: &char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_');
    let mut rest = text;
    let mut with_one_id = String::with_capacity(text.len());
    while let Some(start) = rest.find(|character: char| is_of_id(&character)) {
        let (before, run) = rest.split_at(start);
        let characters = run.chars().take_while(is_of_id).count();
        let (run, after) = run.split_at(characters);
        let is_date = characters == DATE_CHARACTERS
            && !run.contains(|character: char| character.is_ascii_alphabetic());
        let is_short_id = run
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
            && !is_date;
        let characters_min = if is_short_id {
            ID_CHARACTERS_MIN
        } else {
            OPAQUE_CHARACTERS_MIN
        };
        with_one_id.push_str(before);
        if characters >= characters_min
            && run.contains(|character: char| character.is_ascii_digit())
        {
            with_one_id.extend(ANY_ID.chars().cycle().take(characters));
        } else {
            with_one_id.push_str(run);
        }
        rest = after;
    }
    with_one_id + rest
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::material::calls;
    use super::*;

    #[test]
    fn tasks_ask_for_what_was_filed_and_do_not_hold_it_themselves() {
        let (tasks, filed) = (read().unwrap(), calls(1, 5_000).unwrap());
        let names: HashSet<&str> = tasks.iter().map(|task| task.name.as_str()).collect();
        assert_eq!((tasks.len(), names.len()), (200, 200));
        let known: HashSet<&str> = filed
            .iter()
            .filter_map(|call| call.name.as_deref())
            .collect();
        let texts = |arguments: &Map<String, Value>| Value::Object(arguments.clone()).to_string();
        let of_tasks: Vec<String> = calls(1, 0)
            .unwrap()
            .iter()
            .map(|call| texts(&call.arguments))
            .collect();
        let around: Vec<String> = filed
            .iter()
            .map(|call| texts(&call.arguments))
            .filter(|text| !text.contains("{id ") && !of_tasks.contains(text))
            .collect();
        for task in &tasks {
            let dialect = loci_dialects::dialect(&task.dialect).unwrap();
            assert!(
                task.tool.iter().all(|tool| dialect.tool(tool).is_some()),
                "{}",
                task.name
            );
            assert!(
                task.evidence().chain(task.distractors()).next().is_some(),
                "{} asks for nothing",
                task.name
            );
            let asked = texts(&task.arguments);
            let steps: Vec<String> = task
                .steps
                .iter()
                .map(|step| texts(&step.arguments))
                .collect();
            for part in task.must.iter().chain(&task.must_not) {
                if let Some(id) = part
                    .strip_prefix("{id ")
                    .and_then(|part| part.strip_suffix('}'))
                {
                    assert!(
                        known.contains(id),
                        "{}: no memory has the name {id}",
                        task.name
                    );
                    continue;
                }
                let is_filed = of_tasks
                    .iter()
                    .chain(&steps)
                    .any(|text| text.contains(part));
                assert!(is_filed, "{}: no memory holds: {part}", task.name);
                assert!(
                    !asked.contains(part),
                    "{}: the call itself holds: {part}",
                    task.name
                );
                assert!(
                    !around.iter().any(|text| text.contains(part)),
                    "{}: others hold, too: {part}",
                    task.name
                );
            }
        }
    }

    #[test]
    fn a_sample_is_taken_from_all_tasks() {
        let of = |number| {
            sample(read().unwrap(), number)
                .into_iter()
                .map(|task| task.dialect)
                .collect::<Vec<_>>()
        };
        assert_eq!(of(None).len(), 200);
        assert_eq!(of(Some(10)).len(), 10);
        assert_eq!(of(Some(1_000)).len(), 200);
        assert!(of(Some(10)).iter().collect::<HashSet<_>>().len() > 3);
    }

    #[test]
    fn the_digits_of_ids_do_not_count() {
        let with = |id: &str| {
            format!(
                r#"{{"id":"{id}","created_at":"2026-03-18T12:00:00Z","text":"a cabbage, 12 days"}}"#
            )
        };
        let [first, second] = [
            "019f0000-1111-7222-8333-444455556666",
            "018abcde-f012-7345-9678-9abcdef01234",
        ]
        .map(with);
        assert_eq!(with_one_id(&first), with_one_id(&second));
        assert_eq!(with_one_id(&first), with(ANY_ID));
    }
}
