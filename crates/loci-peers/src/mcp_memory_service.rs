//! The database of mcp-memory-service (12.4.0), and its export in JSON.
//!
//! A row that was deleted keeps its text, with the time of its deletion. The export has no deleted
//! rows, but calls superseded ones alive.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::database::{Database, is_database};
use crate::json_walk::{Lists, Step, first, walk};
use crate::{Outlet, PeerError, PeerMemory, Result, json_file, times};

const FILE: &str = "sqlite_vec.db";
/// The tag of a memory to which the user gave no tag.
const NO_TAG: &str = "untagged";
/// The key of the metadata with the questions for which a memory was found.
const QUESTIONS: &str = "access_queries";
/// The keys of the metadata that a search writes, e.g. the questions of users, or that repeat a
/// column.
const READING: [&str; 4] = [
    "access_count",
    "last_accessed_at",
    QUESTIONS,
    "superseded_by",
];
/// The type of a memory that the service makes by itself out of a pair of memories.
const ASSOCIATION: &str = "association";
/// Where the memories of an export are.
const LISTS: Lists<'_> = &[&["memories", "*"]];
/// The reason for which elements of an export are left out.
const NO_MEMORY: &str = "entries that are no memory";
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
        && json_file::head(&file).contains("\"export_metadata\"")
        && first(&file, LISTS, |steps, _| match steps {
            [Step::Key(key)] if key == "export_metadata" => Some(()),
            _ => None,
        })
        .is_some()
}

pub fn read(path: &Path, outlet: &mut Outlet<'_>) -> Result<()> {
    let file = file(path);
    if is_database(&file) {
        return read_database(&file, outlet);
    }
    outlet.report.notice(
        "the export names no memory that was replaced by another; the database itself does, so import that if you have it",
    );
    let mut asked = 0;
    let is_export = walk(&file, LISTS, |steps, value| match (steps, value) {
        ([.., Step::Place(_)], Some(Value::Object(memory))) => {
            put_exported(memory, &mut asked, outlet)
        }
        ([.., Step::Place(_)], _) => {
            outlet.report.leave_out(NO_MEMORY);
            Ok(())
        }
        _ => Ok(()),
    })?;
    if is_export {
        tell_asked(asked, outlet);
        return Ok(());
    }
    Err(PeerError::Form(format!(
        "{} is no export of mcp-memory-service",
        file.display()
    )))
}

fn put_exported(
    mut memory: Map<String, Value>,
    asked: &mut u64,
    outlet: &mut Outlet<'_>,
) -> Result<()> {
    let metadata = match memory.remove("metadata") {
        Some(Value::Object(metadata)) => metadata,
        _ => Map::new(),
    };
    let text = |key: &str| memory.get(key).and_then(Value::as_str);
    let (Some(id), Some(content)) = (text("content_hash"), text("content")) else {
        outlet.report.leave_out(NO_MEMORY);
        return Ok(());
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
    let kinds = [text("memory_type"), text("store")];
    finish(&mut made, tags, kinds, metadata, asked);
    put(made, outlet)
}

/// Says from how many memories the questions of users were left out.
fn tell_asked(asked: u64, outlet: &mut Outlet<'_>) {
    if asked > 0 {
        outlet.report.notice(format!(
            "left out of the metadata, because searching wrote them: the questions for which {asked} memories were found"
        ));
    }
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

/// Notes tags, type, container and metadata; counts a memory with questions of users in `asked`.
fn finish(
    memory: &mut PeerMemory,
    tags: Vec<String>,
    [kind, store]: [Option<&str>; 2],
    metadata: Map<String, Value>,
    asked: &mut u64,
) {
    let questions = metadata.get(QUESTIONS).and_then(Value::as_array);
    *asked += u64::from(questions.is_some_and(|questions| !questions.is_empty()));
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
    let fate = Fate::of(&database)?;
    let has_links = database.has(&["memory_graph"])?;
    let mut asked = 0;
    database.rows("SELECT * FROM memories ORDER BY rowid", &[], |cells| {
        let (Some(id), Some(content)) = (cells.filled("content_hash"), cells.text("content"))
        else {
            outlet.report.leave_out("rows without a text");
            return Ok(());
        };
        if fate.deleted.contains(&id) {
            outlet.report.leave_out("deleted memories");
            return Ok(());
        }
        let mut memory = PeerMemory::new(&*id, content);
        let time = |column: &str| cells.real(column).and_then(times::seconds);
        (memory.created_at, memory.updated_at) = (time("created_at"), time("updated_at"));
        let replaced = fate.replaced.get(&id).cloned();
        memory.supersedes = replaced
            .or_else(|| cells.filled("parent_id"))
            .filter(|id| !fate.deleted.contains(id));
        let tags = cells.text("tags").unwrap_or_default();
        let tags = tags.split(',').map(str::trim).filter(|tag| !tag.is_empty());
        let metadata = cells.text("metadata").unwrap_or_default();
        let kinds = ["memory_type", "store"].map(|column| cells.filled(column));
        finish(
            &mut memory,
            tags.map(str::to_owned).collect(),
            kinds.each_ref().map(Option::as_deref),
            serde_json::from_str(&metadata).unwrap_or_default(),
            &mut asked,
        );
        if has_links {
            memory.links = links(&database, &id)?;
            memory
                .links
                .retain(|(target, _)| !fate.deleted.contains(target));
        }
        put(memory, outlet)
    })?;
    tell_asked(asked, outlet);
    count_beliefs(&database, outlet)
}

/// The memories that were deleted, and the ones that another replaced.
#[derive(Default)]
struct Fate {
    deleted: BTreeSet<String>,
    /// The memory that each one replaced, by the id of the newer one.
    replaced: BTreeMap<String, String>,
}

impl Fate {
    fn of(database: &Database) -> Result<Self> {
        let mut fate = Fate::default();
        let has = |name: &str, columns: &[String]| columns.iter().any(|column| column == name);
        let columns = database.columns("memories")?;
        if has("deleted_at", &columns) {
            let query = "SELECT content_hash FROM memories WHERE deleted_at IS NOT NULL";
            database.rows(query, &[], |cells| {
                fate.deleted.extend(cells.filled("content_hash"));
                Ok(())
            })?;
        }
        if has("superseded_by", &columns) {
            let query = "SELECT content_hash, superseded_by FROM memories \
                         WHERE superseded_by IS NOT NULL ORDER BY rowid";
            database.rows(query, &[], |cells| {
                let pair = cells
                    .filled("superseded_by")
                    .zip(cells.filled("content_hash"));
                let pair = pair.filter(|(_, id)| !fate.deleted.contains(id));
                fate.replaced.extend(pair);
                Ok(())
            })?;
        }
        Ok(fate)
    }
}

/// Returns the links of a memory, each with its relation.
fn links(database: &Database, id: &str) -> Result<Vec<(String, String)>> {
    let mut links = Vec::new();
    let query = "SELECT * FROM memory_graph WHERE source_hash = ?1";
    database.rows(query, &[&id], |cells| {
        let relation = cells.filled("relationship_type");
        let relation = relation.unwrap_or_else(|| "related".to_owned());
        links.extend(cells.filled("target_hash").map(|to| (to, relation)));
        Ok(())
    })?;
    Ok(links)
}

fn count_beliefs(database: &Database, outlet: &mut Outlet<'_>) -> Result<()> {
    if !database.has(&["beliefs"])? {
        return Ok(());
    }
    database.rows("SELECT count(*) AS beliefs FROM beliefs", &[], |cells| {
        let count = cells.number("beliefs").unwrap_or_default();
        let reason = "beliefs that the service made by itself";
        outlet.report.leave_out_many(reason, count);
        Ok(())
    })
}
