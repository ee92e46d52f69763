//! Folders of Chroma (chromadb 1.5.9).
//!
//! A collection has a segment for metadata, whose rows hold an entry each; the text of an entry is the
//! metadata key `chroma:document`. `embeddings_queue` is not read, because it may hold older and
//! deleted texts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Number, Value};

use crate::database::{Database, is_database};
use crate::{Outlet, PeerError, PeerMemory, Result, times};

/// The name of the database in a folder.
pub const FILE: &str = "chroma.sqlite3";
/// The metadata key of the text.
const DOCUMENT: &str = "chroma:document";
/// The metadata key of an entry that is elsewhere.
const ADDRESS: &str = "chroma:uri";

/// An entry of a collection.
pub struct Entry {
    /// Its id, unique in its collection.
    pub id: String,
    /// The collection.
    pub collection: String,
    /// Its text, if it has one.
    pub document: Option<String>,
    /// Its metadata, lists included.
    pub metadata: BTreeMap<String, Value>,
    /// The time at which it was first stored, to the second; an update does not move it.
    pub created_at: Option<jiff::Timestamp>,
}

impl Entry {
    /// Returns a text of the metadata that is not blank.
    pub fn text(&self, key: &str) -> Option<String> {
        let text = match self.metadata.get(key)? {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => return None,
        };
        (!text.trim().is_empty()).then_some(text)
    }
}

/// Returns the database of a folder, or the file itself.
fn file(path: &Path) -> PathBuf {
    if path.is_dir() {
        path.join(FILE)
    } else {
        path.to_owned()
    }
}

/// Returns true if Chroma wrote the folder or file.
pub fn wrote(path: &Path) -> bool {
    let file = file(path);
    is_database(&file)
        && Database::copied(&file)
            .and_then(|database| database.has(&["collections", "segments", "embedding_metadata"]))
            .unwrap_or(false)
}

pub fn read(path: &Path, outlet: &mut Outlet<'_>) -> Result<()> {
    let file = file(path);
    let database = open(&file)?;
    entries(&database, None, |entry| put(entry, outlet))
}

fn put(entry: Entry, outlet: &mut Outlet<'_>) -> Result<()> {
    let Entry {
        id,
        collection,
        document,
        mut metadata,
        created_at,
    } = entry;
    let Some(document) = document else {
        outlet.report.leave_out(if metadata.contains_key(ADDRESS) {
            "entries that name a file in place of a text"
        } else {
            "entries without a text"
        });
        return Ok(());
    };
    let mut memory = PeerMemory::new(format!("{collection}/{id}"), document);
    memory.container = Some(collection);
    memory.created_at = created_at;
    memory.tags = crate::json_file::texts(metadata.get("tags"));
    if !memory.tags.is_empty() {
        metadata.remove("tags");
    }
    for (name, value) in &metadata {
        match value {
            Value::String(text) => memory.note(name, text),
            other => memory.note(name, &other.to_string()),
        }
    }
    outlet.put_memory(memory)
}

/// Opens a database of Chroma.
///
/// # Errors
/// If it cannot be read or is another one.
pub fn open(file: &Path) -> Result<Database> {
    let database = Database::copied(file)?;
    if database.has(&[
        "collections",
        "segments",
        "embeddings",
        "embedding_metadata",
    ])? {
        return Ok(database);
    }
    Err(PeerError::Form(format!(
        "{} has no tables of Chroma",
        file.display()
    )))
}

/// Passes on the entries of a collection, or of all, in the order in which they were stored.
///
/// # Errors
/// If the database cannot be read; the first error of `visit`.
pub fn entries(
    database: &Database,
    collection: Option<&str>,
    mut visit: impl FnMut(Entry) -> Result<()>,
) -> Result<()> {
    let query = "SELECT e.id AS row, e.embedding_id AS id, e.created_at AS created_at, c.name AS collection \
                 FROM embeddings e JOIN segments s ON e.segment_id = s.id AND s.scope = 'METADATA' \
                 JOIN collections c ON s.collection = c.id \
                 WHERE ?1 IS NULL OR c.name = ?1 ORDER BY e.id";
    let has_lists = database.has(&["embedding_metadata_array"])?;
    // One by one, because a folder may hold more than the memory of the machine.
    database.rows(query, &[&collection], |cells| {
        let (Some(row), Some(id), Some(collection)) = (
            cells.number("row"),
            cells.text("id"),
            cells.text("collection"),
        ) else {
            return Ok(());
        };
        let mut metadata = metadata(database, row, has_lists)?;
        let document = match metadata.remove(DOCUMENT) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        visit(Entry {
            id,
            collection,
            document,
            metadata,
            created_at: cells.text("created_at").and_then(|text| times::utc(&text)),
        })
    })
}

fn metadata(database: &Database, row: i64, has_lists: bool) -> Result<BTreeMap<String, Value>> {
    let mut metadata = BTreeMap::new();
    database.rows(
        "SELECT * FROM embedding_metadata WHERE id = ?1",
        &[&row],
        |cells| {
            if let (Some(key), Some(value)) = (cells.text("key"), value(cells)) {
                metadata.insert(key, value);
            }
            Ok(())
        },
    )?;
    if has_lists {
        database.rows(
            "SELECT * FROM embedding_metadata_array WHERE id = ?1 ORDER BY rowid",
            &[&row],
            |cells| {
                if let (Some(key), Some(value)) = (cells.text("key"), value(cells)) {
                    let list = metadata.entry(key).or_insert(Value::Array(Vec::new()));
                    if let Value::Array(values) = list {
                        values.push(value);
                    }
                }
                Ok(())
            },
        )?;
    }
    Ok(metadata)
}

/// Returns the value of a row of metadata: the one column that is filled.
fn value(cells: &crate::database::Cells<'_, '_>) -> Option<Value> {
    if let Some(number) = cells.number("bool_value") {
        return Some(Value::Bool(number != 0));
    }
    if let Some(number) = cells.number("int_value") {
        return Some(Value::from(number));
    }
    if let Some(number) = cells.real("float_value") {
        return Number::from_f64(number).map(Value::Number);
    }
    cells.text("string_value").map(Value::String)
}
