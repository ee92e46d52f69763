//! The database of mcp-memory-service (12.4.0), and its export in JSON.
//!
//! A row that was deleted keeps its text, with the time of its deletion. The export has no deleted
//! rows, but calls superseded ones alive.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::database::{Database, is_database};
use crate::{Outlet, PeerError, PeerMemory, Result, json_file, times};

const FILE: &str = "sqlite_vec.db";
/// The tag of a memory to which the user gave no tag.
const NO_TAG: &str = "untagged";
/// The keys of the metadata that a search writes, e.g. the questions of users, or that repeat a
/// column.
const READING: [&str; 4] = [
    "access_count",
    "last_accessed_at",
    "access_queries",
    "superseded_by",
];
/// The type of a memory that the service makes by itself out of a pair of memories.
const ASSOCIATION: &str = "association";
/// The beginnings of tags that name a project.
const PROJECTS: [&str; 2] = ["project:", "repo:"];

fn file(path: &Path) -> PathBuf {
    if path.is_dir() {
        path.join(FILE)
    } else {
        path.to_owned()
    }
}

/// Returns true if mcp-memory-service wrote the folder or file.
pub fn wrote(path: &Path) -> bool {
    let file = file(path);
    if is_database(&file) {
        return file.file_name().is_some_and(|name| name == FILE)
            || Database::copied(&file)
                .and_then(|database| database.columns("memories"))
                .is_ok_and(|columns| columns.iter().any(|name| name == "content_hash"));
    }
    file.is_file()
        && file.extension().is_some_and(|ending| ending == "json")
        && json_file::document(&file).is_ok_and(|value| {
            value.get("export_metadata").is_some() && value.get("memories").is_some()
        })
}

pub fn read(path: &Path, outlet: &mut Outlet<'_>) -> Result<()> {
    let file = file(path);
    if is_database(&file) {
        return read_database(&file, outlet);
    }
    let document = json_file::document(&file)?;
    let memories = document
        .get("memories")
        .and_then(Value::as_array)
        .ok_or_else(|| {
            PeerError::Form(format!(
                "{} is no export of mcp-memory-service",
                file.display()
            ))
        })?;
    outlet.report.notice(
        "the export names no memory that was replaced by another; the database itself does, so import that if you have it",
    );
    for memory in memories {
        let Some(memory) = memory.as_object() else {
            outlet.report.leave_out("entries that are no memory");
            continue;
        };
        let text = |key: &str| memory.get(key).and_then(Value::as_str);
        let (Some(id), Some(content)) = (text("content_hash"), text("content")) else {
            outlet.report.leave_out("entries that are no memory");
            continue;
        };
        let mut made = PeerMemory::new(id, content);
        let time = |key: &str| {
            memory
                .get(key)
                .and_then(Value::as_f64)
                .and_then(times::seconds)
        };
        (made.created_at, made.updated_at) = (time("created_at"), time("updated_at"));
        let tags = json_file::texts(memory.get("tags"));
        let metadata = memory.get("metadata").and_then(Value::as_object).cloned();
        finish(
            &mut made,
            tags,
            text("memory_type"),
            text("store"),
            metadata.unwrap_or_default(),
        );
        put(made, outlet)?;
    }
    Ok(())
}

fn put(memory: PeerMemory, outlet: &mut Outlet<'_>) -> Result<()> {
    if memory.kind.as_deref() == Some(ASSOCIATION) {
        outlet
            .report
            .leave_out("associations that the service made by itself");
        return Ok(());
    }
    outlet.put_memory(memory)
}

/// Notes tags, type, container and metadata.
fn finish(
    memory: &mut PeerMemory,
    tags: Vec<String>,
    kind: Option<&str>,
    store: Option<&str>,
    metadata: Map<String, Value>,
) {
    let named = |tag: &String| {
        PROJECTS
            .iter()
            .find_map(|start| tag.strip_prefix(start))
            .map(str::to_owned)
    };
    memory.container = tags
        .iter()
        .find_map(named)
        .or_else(|| store.filter(|store| *store != "default").map(str::to_owned));
    memory.tags = tags.into_iter().filter(|tag| tag != NO_TAG).collect();
    memory.kind = kind.map(str::to_owned);
    for (name, value) in metadata {
        match value {
            _ if READING.contains(&name.as_str()) => {}
            Value::String(title) if name == "title" => memory.title = Some(title),
            Value::String(agent) if name == "agent_id" => memory.author = Some(agent),
            Value::String(text) => memory.note(&name, &text),
            Value::Null => {}
            other => memory.note(&name, &other.to_string()),
        }
    }
}

fn read_database(file: &Path, outlet: &mut Outlet<'_>) -> Result<()> {
    let database = Database::copied(file)?;
    if !database.has(&["memories"])? {
        return Err(PeerError::Form(format!(
            "{} has no tables: what was stored is in {}-wal, which must be beside it",
            file.display(),
            file.file_name().unwrap_or_default().display()
        )));
    }
    outlet.report.notices.extend(database.notice());
    let (mut memories, mut replaced) = (Vec::new(), BTreeMap::new());
    let mut deleted = BTreeSet::new();
    database.rows("SELECT * FROM memories ORDER BY rowid", &[], |cells| {
        let (Some(id), Some(content)) = (cells.filled("content_hash"), cells.text("content"))
        else {
            outlet.report.leave_out("rows without a text");
            return Ok(());
        };
        if cells.real("deleted_at").is_some() || cells.number("deleted_at").is_some() {
            outlet.report.leave_out("deleted memories");
            deleted.insert(id);
            return Ok(());
        }
        let mut memory = PeerMemory::new(&*id, content);
        let time = |column: &str| cells.real(column).and_then(times::seconds);
        (memory.created_at, memory.updated_at) = (time("created_at"), time("updated_at"));
        memory.supersedes = cells.filled("parent_id");
        if let Some(by) = cells.filled("superseded_by") {
            replaced.insert(by, id);
        }
        let tags = cells.text("tags").unwrap_or_default();
        let tags = tags.split(',').map(str::trim).filter(|tag| !tag.is_empty());
        let metadata = cells.text("metadata").unwrap_or_default();
        finish(
            &mut memory,
            tags.map(str::to_owned).collect(),
            cells.filled("memory_type").as_deref(),
            cells.filled("store").as_deref(),
            serde_json::from_str(&metadata).unwrap_or_default(),
        );
        memories.push(memory);
        Ok(())
    })?;
    let mut links = read_links(&database, outlet)?;
    for mut memory in memories {
        if let Some(id) = replaced.get(&memory.id) {
            memory.supersedes = Some(id.clone());
        }
        memory.supersedes = memory.supersedes.filter(|id| !deleted.contains(id));
        memory.links = links.remove(&memory.id).unwrap_or_default();
        memory.links.retain(|(target, _)| !deleted.contains(target));
        put(memory, outlet)?;
    }
    Ok(())
}

/// Returns the links between memories, by the memory that they start from, and counts the beliefs.
fn read_links(
    database: &Database,
    outlet: &mut Outlet<'_>,
) -> Result<BTreeMap<String, Vec<(String, String)>>> {
    let mut links: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    if database.has(&["memory_graph"])? {
        database.rows("SELECT * FROM memory_graph", &[], |cells| {
            if let (Some(from), Some(to)) =
                (cells.filled("source_hash"), cells.filled("target_hash"))
            {
                let relation = cells
                    .filled("relationship_type")
                    .unwrap_or_else(|| "related".to_owned());
                links.entry(from).or_default().push((to, relation));
            }
            Ok(())
        })?;
    }
    if database.has(&["beliefs"])? {
        database.rows("SELECT count(*) AS beliefs FROM beliefs", &[], |cells| {
            for _ in 0..cells.number("beliefs").unwrap_or_default() {
                outlet
                    .report
                    .leave_out("beliefs that the service made by itself");
            }
            Ok(())
        })?;
    }
    Ok(links)
}
