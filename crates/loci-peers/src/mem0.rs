//! The history of mem0 (2.2.1), and its exports.
//!
//! `history.db` is a log of changes: the last row of a memory counts, and a memory whose last
//! row is a deletion is dead, although its first row still holds the text and is not marked. Owner,
//! tags and expiry are only in the vector store, e.g. the local folder of Qdrant.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::database::{Database, is_database};
use crate::{Outlet, PeerError, PeerMemory, Result, json_file, pickle, times};

const HISTORY: &str = "history.db";
/// The database of each collection of a local Qdrant.
const POINTS: &str = "storage.sqlite";
/// Where mem0 puts Qdrant unless it is told otherwise.
const QDRANT_DEFAULT: &str = "/tmp/qdrant";
/// The number of memories that an export has unless its caller asked for more.
const EXPORTED_DEFAULT: usize = 20;
/// The keys of a payload that mem0 fills by itself.
const OWN_KEYS: [&str; 14] = [
    "data",
    "memory",
    "id",
    "hash",
    "created_at",
    "updated_at",
    "user_id",
    "agent_id",
    "run_id",
    "actor_id",
    "role",
    "expiration_date",
    "text_lemmatized",
    "score",
];

fn history(path: &Path) -> PathBuf {
    if path.is_dir() {
        path.join(HISTORY)
    } else {
        path.to_owned()
    }
}

/// Returns true if mem0 wrote the folder or file.
pub fn wrote(path: &Path) -> bool {
    let file = history(path);
    if is_database(&file) {
        return Database::copied(&file)
            .and_then(|database| database.columns("history"))
            .is_ok_and(|columns| columns.iter().any(|name| name == "new_memory"));
    }
    file.is_file()
        && file.extension().is_some_and(|ending| ending == "json")
        && json_file::document(&file).is_ok_and(|value| {
            results(&value).is_some_and(|list| {
                list.first()
                    .and_then(Value::as_object)
                    .is_some_and(|first| first.contains_key("memory") && first.contains_key("id"))
            })
        })
}

fn results(value: &Value) -> Option<&Vec<Value>> {
    value.get("results").unwrap_or(value).as_array()
}

pub fn read(path: &Path, outlet: &mut Outlet<'_>) -> Result<()> {
    let file = history(path);
    if is_database(&file) {
        return read_history(&file, path, outlet);
    }
    let document = json_file::document(&file)?;
    let list = results(&document).ok_or_else(|| {
        PeerError::Form(format!("{} is no list of memories of mem0", file.display()))
    })?;
    if list.len() == EXPORTED_DEFAULT {
        outlet.report.notice(
            "there are exactly 20 memories, which is what mem0 exports unless it is asked for more (`top_k`); \
             expired ones are left out, too, unless `show_expired` is set",
        );
    }
    for memory in list {
        let Some(memory) = memory.as_object() else {
            outlet.report.leave_out("entries that are no memory");
            continue;
        };
        let (Some(id), Some(text)) = (
            json_file::text(memory, &["id"]),
            memory
                .get("memory")
                .or_else(|| memory.get("data"))
                .and_then(Value::as_str),
        ) else {
            outlet.report.leave_out("entries that are no memory");
            continue;
        };
        let mut made = PeerMemory::new(id, text);
        fill(&mut made, memory);
        let metadata = memory.get("metadata").and_then(Value::as_object);
        if let Some(metadata) = metadata {
            add_metadata(&mut made, metadata.iter());
        }
        outlet.put_memory(made)?;
    }
    Ok(())
}

/// Notes times, author and expiry.
fn fill(memory: &mut PeerMemory, said: &Map<String, Value>) {
    let time = |key: &str| json_file::text(said, &[key]).and_then(times::utc);
    memory.created_at = time("created_at").or(memory.created_at);
    memory.updated_at = time("updated_at").or(memory.updated_at);
    memory.expires_at = time("expiration_date");
    memory.author = json_file::text(said, &["actor_id", "user_id"]).map(str::to_owned);
    for key in ["user_id", "agent_id", "run_id", "role"] {
        memory.note(key, json_file::text(said, &[key]).unwrap_or_default());
    }
    let categories = json_file::texts(said.get("categories"));
    memory.tags.extend(categories);
}

/// Notes the metadata that users add to a memory.
fn add_metadata<'a>(memory: &mut PeerMemory, said: impl Iterator<Item = (&'a String, &'a Value)>) {
    for (name, value) in said {
        match (name.as_str(), value) {
            ("tags", Value::Array(_)) => memory.tags.extend(json_file::texts(Some(value))),
            ("title", Value::String(title)) => memory.title = Some(title.clone()),
            ("category", Value::String(category)) => memory.kind = Some(category.clone()),
            (_, Value::String(text)) => memory.note(name, text),
            (_, Value::Null) => {}
            (_, other) => memory.note(name, &other.to_string()),
        }
    }
}

fn read_history(file: &Path, path: &Path, outlet: &mut Outlet<'_>) -> Result<()> {
    let database = Database::copied(file)?;
    let mut dead = 0;
    // The last row of each memory, in the order in which the memories were added.
    let mut memories: BTreeMap<String, (i64, Option<PeerMemory>)> = BTreeMap::new();
    database.rows(
        "SELECT rowid AS row, * FROM history ORDER BY rowid",
        &[],
        |cells| {
            let (Some(id), Some(row)) = (cells.filled("memory_id"), cells.number("row")) else {
                return Ok(());
            };
            let is_deletion = cells.text("event").as_deref() == Some("DELETE");
            let time = |column: &str| times::utc(&cells.text(column)?);
            let memory = (!is_deletion).then(|| {
                let mut memory =
                    PeerMemory::new(&*id, cells.text("new_memory").unwrap_or_default());
                memory.created_at = time("created_at");
                memory.updated_at = time("updated_at").or(memory.created_at);
                memory.author = cells.filled("actor_id");
                memory.note("role", &cells.text("role").unwrap_or_default());
                memory
            });
            let first = memories.get(&id).map_or(row, |(first, _)| *first);
            memories.insert(id, (first, memory));
            Ok(())
        },
    )?;
    let points = points(path, outlet)?;
    let mut living = Vec::new();
    for (id, (row, memory)) in memories {
        let Some(mut memory) = memory else {
            dead += 1;
            continue;
        };
        if let Some(payload) = points.as_ref().and_then(|points| points.get(&id)) {
            fill(&mut memory, payload);
            let others = payload
                .iter()
                .filter(|(name, _)| !OWN_KEYS.contains(&name.as_str()));
            add_metadata(&mut memory, others);
        }
        living.push((row, memory));
    }
    for _ in 0..dead {
        outlet.report.leave_out("deleted memories");
    }
    living.sort_by_key(|(row, _)| *row);
    living
        .into_iter()
        .try_for_each(|(_, memory)| outlet.put_memory(memory))
}

/// Returns the payloads of the points of a local Qdrant beside the history, by their ids; `None` if
/// there is no such folder.
fn points(
    path: &Path,
    outlet: &mut Outlet<'_>,
) -> Result<Option<BTreeMap<String, Map<String, Value>>>> {
    let folder = if path.is_dir() {
        path
    } else {
        path.parent().unwrap_or(path)
    };
    let mut places = vec![folder.join("qdrant"), folder.join("migrations_qdrant")];
    // Only the store of this machine's own mem0 has its points in the folder for all.
    if folder.file_name().is_some_and(|name| name == ".mem0") {
        places.push(PathBuf::from(QDRANT_DEFAULT));
    }
    let collections = places
        .iter()
        .filter_map(|place| std::fs::read_dir(place.join("collection")).ok());
    let files: Vec<PathBuf> = collections
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path().join(POINTS)))
        .filter(|file| is_database(file))
        .collect();
    if files.is_empty() {
        outlet.report.notice(
            "no folder of Qdrant (`qdrant`) is beside history.db: owners, tags and expiry dates are only there, and are missing",
        );
        return Ok(None);
    }
    let mut points = BTreeMap::new();
    for file in files {
        let database = Database::copied(&file)?;
        if !database.has(&["points"])? {
            continue;
        }
        database.rows("SELECT id, point FROM points", &[], |cells| {
            let id = cells
                .bytes("id")
                .and_then(|id| STANDARD.decode(id).ok())
                .and_then(|id| pickle::text(&id));
            let payload = cells
                .bytes("point")
                .and_then(|point| pickle::point(&point))
                .and_then(|mut point| match point.remove("payload") {
                    Some(Value::Object(payload)) => Some(payload),
                    _ => None,
                });
            match (id, payload) {
                (Some(id), Some(payload)) => {
                    points.insert(id, payload);
                }
                _ => outlet.report.notice(format!(
                    "some points of {} are in a form that is not known; what they say of their memories is missing",
                    file.display()
                )),
            }
            Ok(())
        })?;
    }
    Ok(Some(points))
}
