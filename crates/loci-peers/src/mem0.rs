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

use crate::database::{Cells, Database, is_database};
use crate::json_walk::{Lists, Step, first, walk};
use crate::write::{OWN_ID, OWN_PROJECT};
use crate::{Outlet, Owner, PeerError, PeerMemory, Result, json_file, open_memory, pickle, times};

const HISTORY: &str = "history.db";
/// The database of each collection of a local Qdrant.
const POINTS: &str = "storage.sqlite";
/// Where mem0 puts Qdrant unless it is told otherwise.
const QDRANT_DEFAULT: &str = "/tmp/qdrant";
/// The number of memories that an export has unless its caller asked for more.
const EXPORTED_DEFAULT: u64 = 20;
/// Where the memories of an export are.
const LISTS: Lists<'_> = &[&["results", "*"], &["*"]];
/// The reason for which elements of an export are left out.
const NO_MEMORY: &str = "entries that are no memory";
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
    if open_memory::wrote(path) {
        return true;
    }
    file.is_file()
        && file.extension().is_some_and(|ending| ending == "json")
        && first(&file, LISTS, |steps, value| match steps {
            [.., Step::Place(_)] => {
                Some(value.get("memory").is_some() && value.get("id").is_some())
            }
            _ => None,
        })
        .unwrap_or(false)
}

pub fn read(path: &Path, outlet: &mut Outlet<'_>) -> Result<()> {
    let file = history(path);
    if is_database(&file) {
        return read_history(&file, path, outlet);
    }
    if open_memory::wrote(path) {
        return open_memory::read(path, outlet);
    }
    let mut count = 0_u64;
    let is_list = walk(&file, LISTS, |steps, value| {
        let [.., Step::Place(_)] = steps else {
            return Ok(());
        };
        count += 1;
        if let Some(Value::Object(memory)) = value {
            return put_exported(&memory, outlet);
        }
        outlet.report.leave_out(NO_MEMORY);
        Ok(())
    })?;
    if !is_list {
        return Err(PeerError::Form(format!(
            "{} is no list of memories of mem0",
            file.display()
        )));
    }
    if count == EXPORTED_DEFAULT {
        outlet.report.notice(
            "there are exactly 20 memories, which is what mem0 exports unless it is asked for more (`top_k`); \
             expired ones are left out, too, unless `show_expired` is set",
        );
    }
    Ok(())
}

fn put_exported(memory: &Map<String, Value>, outlet: &mut Outlet<'_>) -> Result<()> {
    let text = memory.get("memory").or_else(|| memory.get("data"));
    let (Some(id), Some(text)) = (
        json_file::text(memory, &["id"]),
        text.and_then(Value::as_str),
    ) else {
        outlet.report.leave_out(NO_MEMORY);
        return Ok(());
    };
    let mut made = PeerMemory::new(id, text);
    fill(&mut made, memory);
    if let Some(metadata) = memory.get("metadata").and_then(Value::as_object) {
        add_metadata(&mut made, metadata.iter());
    }
    own(&mut made);
    outlet.put_memory(made)
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
            (OWN_ID, Value::String(id)) => memory.own_id = Some(id.clone()),
            (OWN_PROJECT, Value::String(project)) => memory.container = Some(project.clone()),
            ("tags", Value::Array(_)) => memory.tags.extend(json_file::texts(Some(value))),
            ("title", Value::String(title)) => memory.title = Some(title.clone()),
            ("category", Value::String(category)) => memory.kind = Some(category.clone()),
            (_, Value::String(text)) => memory.note(name, text),
            (_, Value::Null) => {}
            (_, other) => memory.note(name, &other.to_string()),
        }
    }
}

/// Takes the user of a memory that loci wrote for its owner, and not for an author.
fn own(memory: &mut PeerMemory) {
    if memory.own_id.is_some()
        && let Some(user) = memory.attributes.remove("user_id")
    {
        memory.author.take_if(|author| *author == user);
        memory.owner = Owner::User(user);
    }
}

fn read_history(file: &Path, path: &Path, outlet: &mut Outlet<'_>) -> Result<()> {
    let database = Database::copied(file)?;
    outlet.report.notices.extend(database.notice());
    let points = points(path, outlet)?;
    // The last row of each memory, in the order in which the memories were added.
    let query = "SELECT h.* FROM (SELECT max(rowid) AS last, min(rowid) AS first FROM history \
                 WHERE memory_id IS NOT NULL GROUP BY memory_id) AS g \
                 CROSS JOIN history AS h ON h.rowid = g.last ORDER BY g.first";
    database.rows(query, &[], |cells| {
        let Some(id) = cells.filled("memory_id") else {
            return Ok(());
        };
        if cells.text("event").as_deref() == Some("DELETE") {
            outlet.report.leave_out("deleted memories");
            return Ok(());
        }
        let time = |column: &str| times::utc(&cells.text(column)?);
        let mut memory = PeerMemory::new(&*id, cells.text("new_memory").unwrap_or_default());
        memory.created_at = time("created_at");
        memory.updated_at = time("updated_at").or(memory.created_at);
        memory.author = cells.filled("actor_id");
        memory.note("role", &cells.text("role").unwrap_or_default());
        if let Some(payload) = points.payload(&id)? {
            fill(&mut memory, &payload);
            let others = payload
                .iter()
                .filter(|(name, _)| !OWN_KEYS.contains(&name.as_str()));
            add_metadata(&mut memory, others);
        }
        own(&mut memory);
        outlet.put_memory(memory)
    })
}

/// The points of a local Qdrant beside the history.
#[derive(Default)]
struct Points {
    databases: Vec<Database>,
    /// The database and the row of each point, by its id: their payloads hold the texts once more.
    places: BTreeMap<String, (usize, i64)>,
}

impl Points {
    /// Returns the payload of a point, if there is one.
    fn payload(&self, id: &str) -> Result<Option<Map<String, Value>>> {
        let place = self.places.get(id);
        let Some((database, row)) =
            place.and_then(|(place, row)| Some((self.databases.get(*place)?, row)))
        else {
            return Ok(None);
        };
        let mut payload = None;
        let query = "SELECT point FROM points WHERE rowid = ?1";
        database.rows(query, &[row], |cells| {
            payload = payload_of(cells);
            Ok(())
        })?;
        Ok(payload)
    }
}

fn payload_of(cells: &Cells<'_, '_>) -> Option<Map<String, Value>> {
    let mut point = pickle::point(&cells.bytes("point")?)?;
    match point.remove("payload") {
        Some(Value::Object(payload)) => Some(payload),
        _ => None,
    }
}

/// Returns the points of a local Qdrant beside the history; empty if there is no such folder.
fn points(path: &Path, outlet: &mut Outlet<'_>) -> Result<Points> {
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
    let mut points = Points::default();
    if files.is_empty() {
        outlet.report.notice(
            "no folder of Qdrant (`qdrant`) is beside history.db: owners, tags and expiry dates are only there, and are missing",
        );
        return Ok(points);
    }
    for file in files {
        let database = Database::copied(&file)?;
        if !database.has(&["points"])? {
            continue;
        }
        let number = points.databases.len();
        let query = "SELECT rowid AS row, id, point FROM points";
        database.rows(query, &[], |cells| {
            let id = cells
                .bytes("id")
                .and_then(|id| STANDARD.decode(id).ok())
                .and_then(|id| pickle::text(&id));
            match (id, payload_of(cells), cells.number("row")) {
                (Some(id), Some(_), Some(row)) => {
                    points.places.insert(id, (number, row));
                }
                _ => outlet.report.notice(format!(
                    "some points of {} are in a form that is not known; what they say of their memories is missing",
                    file.display()
                )),
            }
            Ok(())
        })?;
        points.databases.push(database);
    }
    Ok(points)
}
