//! The database of claude-mem (13.25.3).
//!
//! `tool_uses` and `pending_messages` hold the raw input and output of tools, and are not read.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::database::{Cells, Database, is_database};
use crate::{Outlet, PeerError, PeerMemory, Result, json_file, times};

/// The name of the database in its folder.
const FILE: &str = "claude-mem.db";
/// The marks around a passage that the user declared private.
const PRIVATE: [&str; 2] = ["<private>", "</private>"];
/// The columns of a summary, in the order of the session.
const SUMMARY: [&str; 6] = [
    "request",
    "investigated",
    "learned",
    "completed",
    "next_steps",
    "notes",
];

fn file(path: &Path) -> PathBuf {
    if path.is_dir() {
        path.join(FILE)
    } else {
        path.to_owned()
    }
}

/// Returns true if claude-mem wrote the folder or file.
pub fn wrote(path: &Path) -> bool {
    let file = file(path);
    is_database(&file)
        && (file.file_name().is_some_and(|name| name == FILE)
            || Database::copied(&file)
                .and_then(|database| database.has(&["observations", "sdk_sessions"]))
                .unwrap_or(false))
}

pub fn read(path: &Path, outlet: &mut Outlet<'_>) -> Result<()> {
    let file = file(path);
    let database = Database::copied(&file)?;
    if !database.has(&["observations", "sdk_sessions"])? {
        return Err(PeerError::Form(format!(
            "{} has no tables yet: what was stored is in {FILE}-wal, which must be beside it",
            file.display()
        )));
    }
    outlet.report.notices.extend(database.notice());
    let mut cut = 0;
    read_observations(&database, &mut cut, outlet)?;
    read_sessions(&database, &mut cut, outlet)?;
    if cut > 0 {
        outlet.report.notice(format!(
            "left out of texts, because they were marked as private: {cut}"
        ));
    }
    Ok(())
}

fn read_observations(database: &Database, cut: &mut u64, outlet: &mut Outlet<'_>) -> Result<()> {
    database.rows("SELECT * FROM observations ORDER BY id", &[], |cells| {
        let texts = [
            cells.filled("text"),
            cells.filled("narrative"),
            listed(&json_file::texts(json(cells, "facts").as_ref())),
        ];
        let mut memory = started(cells, "observations", texts, cut);
        memory.title = cells
            .filled("title")
            .map(|title| without_private(&title, cut));
        memory.kind = cells.filled("type");
        memory.tags = json_file::texts(json(cells, "concepts").as_ref());
        for (name, column) in [
            ("subtitle", "subtitle"),
            ("session_id", "memory_session_id"),
            ("model", "generated_by_model"),
        ] {
            memory.note(name, &cells.text(column).unwrap_or_default());
        }
        let files = [json(cells, "files_read"), json(cells, "files_modified")];
        let files: Vec<String> = files
            .iter()
            .flat_map(|files| json_file::texts(files.as_ref()))
            .collect();
        memory.note("files", &files.join("\n"));
        if memory.text.trim().is_empty()
            && let Some(title) = &memory.title
        {
            memory.text.clone_from(title);
        }
        outlet.put_memory(memory)
    })
}

/// Reads the summaries of sessions, and the prompts of the user in them.
fn read_sessions(database: &Database, cut: &mut u64, outlet: &mut Outlet<'_>) -> Result<()> {
    if database.has(&["session_summaries"])? {
        database.rows(
            "SELECT * FROM session_summaries ORDER BY id",
            &[],
            |cells| {
                let texts = SUMMARY.map(|column| cells.filled(column));
                let mut memory = started(cells, "session_summaries", texts, cut);
                memory.kind = Some("summary".to_owned());
                memory.note(
                    "session_id",
                    &cells.text("memory_session_id").unwrap_or_default(),
                );
                outlet.put_memory(memory)
            },
        )?;
    }
    if database.has(&["user_prompts"])? {
        let query = "SELECT p.*, s.project FROM user_prompts p LEFT JOIN sdk_sessions s ON s.id = p.session_db_id \
                     ORDER BY p.id";
        database.rows(query, &[], |cells| {
            let mut memory = started(cells, "user_prompts", [cells.filled("prompt_text")], cut);
            memory.kind = Some("prompt".to_owned());
            outlet.put_memory(memory)
        })?;
    }
    Ok(())
}

fn json(cells: &Cells<'_, '_>, column: &str) -> Option<Value> {
    serde_json::from_str(&cells.text(column)?).ok()
}

/// Returns a list as lines; `None` for an empty one.
fn listed(items: &[String]) -> Option<String> {
    let lines: Vec<String> = items.iter().map(|item| format!("- {item}")).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Returns a memory with the columns of every table: id, project, time, and its texts one after the
/// other.
fn started<const TEXTS: usize>(
    cells: &Cells<'_, '_>,
    table: &str,
    texts: [Option<String>; TEXTS],
    cut: &mut u64,
) -> PeerMemory {
    let id = cells.number("id").unwrap_or_default();
    let texts: Vec<String> = texts
        .into_iter()
        .flatten()
        .map(|text| without_private(&text, cut))
        .collect();
    let mut memory = PeerMemory::new(format!("{table}/{id}"), texts.join("\n\n"));
    memory.container = cells.filled("project");
    memory.created_at = cells
        .number("created_at_epoch")
        .and_then(times::milliseconds)
        .or_else(|| times::utc(&cells.text("created_at")?));
    memory
}

/// Returns a text without its private passages; an open mark reaches to the end.
fn without_private(text: &str, cut: &mut u64) -> String {
    let [start, end] = PRIVATE;
    let mut left = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(start) {
        left.push_str(before);
        rest = after.split_once(end).map_or("", |(_, after)| after);
        *cut += 1;
    }
    left.push_str(rest);
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_private_is_cut() {
        for (text, expected, count) in [
            ("a", "a", 0),
            ("a <private>b</private> c", "a  c", 1),
            ("<private>b</private>c<private>d</private>", "c", 2),
            ("a <private>b", "a ", 1),
        ] {
            let mut cut = 0;
            assert_eq!(
                (without_private(text, &mut cut).as_str(), cut),
                (expected, count)
            );
        }
    }
}
