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
    let store = Store::open(&file(path))?;
    store.places(None, |place| {
        let entry = store.entry(place, Text::Taken)?;
        entry.map_or(Ok(()), |entry| put(entry, outlet))
    })
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

/// Tells if the text of an entry is read, which is much larger than the rest.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Text {
    Taken,
    LeftOut,
}

/// A database of Chroma.
pub struct Store {
    database: Database,
    /// True if it keeps lists in a table of their own.
    has_lists: bool,
}

impl Store {
    /// Opens a database of Chroma.
    ///
    /// # Errors
    /// If it cannot be read or is another one.
    pub fn open(file: &Path) -> Result<Self> {
        let database = Database::copied(file)?;
        if database.has(&[
            "collections",
            "segments",
            "embeddings",
            "embedding_metadata",
        ])? {
            let has_lists = database.has(&["embedding_metadata_array"])?;
            return Ok(Store {
                database,
                has_lists,
            });
        }
        Err(PeerError::Form(format!(
            "{} has no tables of Chroma",
            file.display()
        )))
    }

    /// Returns true if it has a collection of this name.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn has_collection(&self, name: &str) -> Result<bool> {
        let mut is_there = false;
        let query = "SELECT name FROM collections WHERE name = ?1";
        self.database.rows(query, &[&name], |_| {
            is_there = true;
            Ok(())
        })?;
        Ok(is_there)
    }

    /// Passes on the places of the entries of a collection, or of all, in the order in which they were
    /// stored.
    ///
    /// # Errors
    /// If the database cannot be read; the first error of `visit`.
    pub fn places(
        &self,
        collection: Option<&str>,
        mut visit: impl FnMut(i64) -> Result<()>,
    ) -> Result<()> {
        let query = "SELECT e.id AS place FROM embeddings e \
                     JOIN segments s ON e.segment_id = s.id AND s.scope = 'METADATA' \
                     JOIN collections c ON s.collection = c.id \
                     WHERE ?1 IS NULL OR c.name = ?1 ORDER BY e.id";
        // One by one, because a folder may hold more than the memory of the machine.
        self.database.rows(query, &[&collection], |cells| {
            cells.number("place").map_or(Ok(()), &mut visit)
        })
    }

    /// Returns the entry at a place.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn entry(&self, place: i64, text: Text) -> Result<Option<Entry>> {
        let query = "SELECT e.embedding_id AS id, e.created_at AS created_at, c.name AS collection \
                     FROM embeddings e JOIN segments s ON e.segment_id = s.id \
                     JOIN collections c ON s.collection = c.id WHERE e.id = ?1";
        let mut entry = None;
        self.database.rows(query, &[&place], |cells| {
            let (Some(id), Some(collection)) = (cells.text("id"), cells.text("collection")) else {
                return Ok(());
            };
            let mut metadata = self.metadata(place, text)?;
            let document = match metadata.remove(DOCUMENT) {
                Some(Value::String(text)) => Some(text),
                _ => None,
            };
            entry = Some(Entry {
                id,
                collection,
                document,
                metadata,
                created_at: cells.text("created_at").and_then(|text| times::utc(&text)),
            });
            Ok(())
        })?;
        Ok(entry)
    }

    fn metadata(&self, place: i64, text: Text) -> Result<BTreeMap<String, Value>> {
        let mut metadata = BTreeMap::new();
        let left_out = (text == Text::LeftOut).then_some(DOCUMENT);
        let query = "SELECT * FROM embedding_metadata WHERE id = ?1 AND (?2 IS NULL OR key <> ?2)";
        self.database.rows(query, &[&place, &left_out], |cells| {
            if let (Some(key), Some(value)) = (cells.text("key"), value(cells)) {
                metadata.insert(key, value);
            }
            Ok(())
        })?;
        if !self.has_lists {
            return Ok(metadata);
        }
        let query = "SELECT * FROM embedding_metadata_array WHERE id = ?1 ORDER BY rowid";
        self.database.rows(query, &[&place], |cells| {
            if let (Some(key), Some(value)) = (cells.text("key"), value(cells)) {
                let list = metadata.entry(key).or_insert(Value::Array(Vec::new()));
                if let Value::Array(values) = list {
                    values.push(value);
                }
            }
            Ok(())
        })?;
        Ok(metadata)
    }
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
