//! A palace of mempalace on SQLite, with its graph and its tunnels.
//!
//! The vectors of mempalace's model are not loci's: each is zero, so that drawers are found by their
//! words, and by their meaning after `mempalace repair` has read them.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rusqlite::{Connection, params};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::{OWN_ID, Target, Written, make_file, moment};
use crate::{PeerFact, PeerMemory, PeerTunnel};

/// The collection of the drawers.
const DRAWERS: &str = "mempalace_drawers";
/// The number of dimensions of the model that mempalace uses unless it is told otherwise.
const DIMENSIONS: usize = 384;
/// The wing of memories without a project.
const WING: &str = "global";
/// The room of memories without a type.
const ROOM: &str = "general";
/// The number of drawers that one transaction writes.
const ROWS_AT_ONCE: u64 = 1_000;

const SCHEMA: &str = "
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
    CREATE TABLE collections (
        id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, dimension INTEGER, created_at TEXT NOT NULL
    );
    CREATE TABLE documents (
        collection_id INTEGER NOT NULL, id TEXT NOT NULL, document TEXT NOT NULL, metadata_json TEXT NOT NULL,
        embedding BLOB NOT NULL, dim INTEGER NOT NULL, created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
        PRIMARY KEY (collection_id, id),
        FOREIGN KEY (collection_id) REFERENCES collections (id) ON DELETE CASCADE
    );
    CREATE INDEX idx_documents_collection ON documents (collection_id);
    CREATE VIRTUAL TABLE docs_fts USING fts5 (collection_id UNINDEXED, doc_id UNINDEXED, document);
    INSERT INTO meta VALUES ('fts5_available', '1');
    BEGIN;
";
const GRAPH: &str = "
    CREATE TABLE entities (
        id TEXT PRIMARY KEY, name TEXT NOT NULL, type TEXT DEFAULT 'unknown', properties TEXT DEFAULT '{}',
        created_at TEXT DEFAULT CURRENT_TIMESTAMP
    );
    CREATE TABLE triples (
        id TEXT PRIMARY KEY, subject TEXT NOT NULL, predicate TEXT NOT NULL, object TEXT NOT NULL, valid_from TEXT,
        valid_to TEXT, confidence REAL DEFAULT 1.0, source_closet TEXT, source_file TEXT, source_drawer_id TEXT,
        adapter_name TEXT, extracted_at TEXT DEFAULT CURRENT_TIMESTAMP,
        FOREIGN KEY (subject) REFERENCES entities (id), FOREIGN KEY (object) REFERENCES entities (id)
    );
    CREATE INDEX idx_triples_subject ON triples (subject);
    CREATE INDEX idx_triples_object ON triples (object);
    CREATE INDEX idx_triples_predicate ON triples (predicate);
    CREATE INDEX idx_triples_valid ON triples (valid_from, valid_to);
    BEGIN;
";

pub struct Palace {
    root: PathBuf,
    drawers: Connection,
    graph: Connection,
    collection: i64,
    /// The time of what has no time of its own.
    now: String,
    rows: u64,
    tunnels: Vec<Value>,
}

fn failed(error: rusqlite::Error) -> io::Error {
    io::Error::other(error)
}

impl Palace {
    pub fn create(root: &Path, now: Timestamp) -> io::Result<Self> {
        let palace = root.join("palace");
        super::make_folder(&palace)?;
        let open = |name: &str, schema: &str| {
            let path = palace.join(name);
            // SQLite would make it readable for others.
            drop(make_file(&path)?);
            let database = Connection::open(path).map_err(failed)?;
            database.execute_batch(schema).map_err(failed)?;
            Ok::<_, io::Error>(database)
        };
        let drawers = open("sqlite_exact.sqlite3", SCHEMA)?;
        let sql = "INSERT INTO collections (name, dimension, created_at) VALUES (?1, ?2, ?3)";
        let now = moment(now);
        drawers
            .execute(sql, params![DRAWERS, DIMENSIONS.cast_signed(), &now])
            .map_err(failed)?;
        Ok(Palace {
            root: root.to_owned(),
            collection: drawers.last_insert_rowid(),
            now,
            drawers,
            graph: open("knowledge_graph.sqlite3", GRAPH)?,
            rows: 0,
            tunnels: Vec::new(),
        })
    }
}

impl Target for Palace {
    fn memory(&mut self, memory: &PeerMemory, _: &mut Written) -> io::Result<()> {
        let mut metadata: Map<String, Value> = Map::new();
        let mut put = |key: &str, value: &str| metadata.insert(key.to_owned(), json!(value));
        put("wing", memory.container.as_deref().unwrap_or(WING));
        put("room", memory.kind.as_deref().unwrap_or(ROOM));
        put(OWN_ID, &memory.id);
        if !memory.tags.is_empty() {
            put("entities", &memory.tags.join(";"));
        }
        let created_at = memory.created_at.map(moment);
        let filed_at = created_at.as_deref().unwrap_or(&self.now);
        put("filed_at", filed_at);
        if let Some(updated_at) = memory.updated_at {
            put("last_modified", &moment(updated_at));
        }
        let sql = "INSERT INTO documents (collection_id, id, document, metadata_json, embedding, dim, created_at, \
                   updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7)";
        let metadata = Value::Object(metadata).to_string();
        self.drawers
            .prepare_cached(sql)
            .and_then(|mut insert| {
                insert.execute(params![
                    self.collection,
                    memory.id,
                    memory.text,
                    metadata,
                    vec![0_u8; DIMENSIONS * size_of::<f32>()],
                    DIMENSIONS.cast_signed(),
                    filed_at,
                ])
            })
            .map_err(failed)?;
        let sql = "INSERT INTO docs_fts (collection_id, doc_id, document) VALUES (?1, ?2, ?3)";
        self.drawers
            .prepare_cached(sql)
            .and_then(|mut insert| insert.execute(params![self.collection, memory.id, memory.text]))
            .map_err(failed)?;
        self.rows += 1;
        if self.rows.is_multiple_of(ROWS_AT_ONCE) {
            self.drawers
                .execute_batch("COMMIT; BEGIN;")
                .map_err(failed)?;
        }
        Ok(())
    }

    fn fact(&mut self, fact: &PeerFact, _: &mut Written) -> io::Result<Option<&'static str>> {
        let key = |name: &str| name.to_lowercase().replace(' ', "_");
        for name in [&fact.subject, &fact.object] {
            let sql = "INSERT OR IGNORE INTO entities (id, name) VALUES (?1, ?2)";
            self.graph
                .execute(sql, params![key(name), name])
                .map_err(failed)?;
        }
        let (subject, predicate, object) =
            (key(&fact.subject), key(&fact.predicate), key(&fact.object));
        let ends = [fact.valid_from, fact.valid_to].map(|end| end.map(bound));
        let [from, to] = &ends;
        let hash = Sha256::digest(format!("{from:?} {to:?}"));
        let hash = data_encoding::HEXLOWER.encode(&hash[..6]);
        let sql = "INSERT OR IGNORE INTO triples (id, subject, predicate, object, valid_from, valid_to, source_file) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        let written = self
            .graph
            .execute(
                sql,
                params![
                    format!("t_{subject}_{predicate}_{object}_{hash}"),
                    subject,
                    predicate,
                    object,
                    from,
                    to,
                    fact.source
                ],
            )
            .map_err(failed)?;
        Ok((written == 0).then_some("facts that are the same in small letters"))
    }

    fn tunnel(&mut self, tunnel: &PeerTunnel) -> io::Result<bool> {
        let PeerTunnel {
            source,
            target,
            label,
        } = tunnel;
        let mut ends = [source, target].map(|(wing, room)| format!("{wing}/{room}"));
        ends.sort_unstable();
        let hash = Sha256::digest(ends.join("\n"));
        let end = |(wing, room): &(String, String)| json!({"wing": wing, "room": room});
        self.tunnels.push(json!({
            "id": data_encoding::HEXLOWER.encode(&hash[..8]), "source": end(source), "target": end(target),
            "label": label, "kind": "explicit", "created_at": self.now,
        }));
        Ok(true)
    }

    fn finish(&mut self) -> io::Result<()> {
        for database in [&self.drawers, &self.graph] {
            database.execute_batch("COMMIT;").map_err(failed)?;
        }
        if self.tunnels.is_empty() {
            return Ok(());
        }
        let mut file = make_file(&self.root.join("tunnels.json"))?;
        serde_json::to_writer_pretty(&mut file, &self.tunnels)?;
        file.flush()?;
        file.sync_all()
    }
}

/// Returns a day, or a moment, as mempalace writes them.
fn bound((first, last): (Timestamp, Timestamp)) -> String {
    let text = first.to_string();
    match text.split_once('T') {
        Some((day, _)) if first != last => day.to_owned(),
        _ => text,
    }
}
