//! Palaces of mempalace (3.11.0): drawers and diaries in Chroma or in a plain SQLite file, the
//! knowledge graph beside them, and `tunnels.json` in the folder above.
//!
//! A long drawer is many rows, without one of its own: slices that together are the text byte for byte.
//! Times of drawers are local times of the machine that wrote them; the moment at
//! which the row was stored, which stands beside them, tells the offset.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::chroma::{self, Entry};
use crate::database::{Database, is_database};
use crate::write::OWN_ID;
use crate::{
    Outlet, PeerError, PeerFact, PeerMemory, PeerRecord, PeerTunnel, Result, json_file, times,
};

/// The plain database.
const EXACT: &str = "sqlite_exact.sqlite3";
/// The knowledge graph.
const GRAPH: &str = "knowledge_graph.sqlite3";
/// The links between rooms.
const TUNNELS: &str = "tunnels.json";
/// The log of events.
const LOG: &str = "logstream.sqlite3";
/// The collection of the drawers.
const DRAWERS: &str = "mempalace_drawers";
/// The room of the notes that mempalace makes about itself.
const REGISTRY: &str = "_registry";
/// The authors that stand for no one.
const NO_AUTHORS: [&str; 2] = ["mcp", "mempalace"];

/// The folder with the databases: the path itself, or `palace` in it.
fn palace(path: &Path) -> Option<PathBuf> {
    [path.to_owned(), path.join("palace")]
        .into_iter()
        .find(|folder| folder.join(EXACT).is_file() || folder.join(chroma::FILE).is_file())
}

/// Returns true if mempalace wrote the folder.
pub fn wrote(path: &Path) -> bool {
    let Some(folder) = palace(path) else {
        return false;
    };
    if folder.join(EXACT).is_file() {
        return true;
    }
    chroma::open(&folder.join(chroma::FILE))
        .and_then(|database| {
            let mut is_there = false;
            let query = "SELECT name FROM collections WHERE name = ?1";
            database.rows(query, &[&DRAWERS], |_| {
                is_there = true;
                Ok(())
            })?;
            Ok(is_there)
        })
        .unwrap_or(false)
}

pub fn read(path: &Path, outlet: &mut Outlet<'_>) -> Result<()> {
    let folder = palace(path).ok_or_else(|| {
        PeerError::Form(format!(
            "{} has neither {} nor {EXACT}; name the folder of the palace, or the one above it",
            path.display(),
            chroma::FILE
        ))
    })?;
    read_drawers(&folder, outlet)?;
    let above = folder.parent().unwrap_or(&folder);
    let graph = [folder.join(GRAPH), above.join(GRAPH)];
    if let Some(graph) = graph.iter().find(|file| is_database(file)) {
        read_graph(graph, outlet)?;
    }
    let tunnels = [above.join(TUNNELS), folder.join(TUNNELS)];
    if let Some(tunnels) = tunnels.iter().find(|file| file.is_file()) {
        read_tunnels(tunnels, outlet)?;
    }
    let log = folder.join(LOG);
    if is_database(&log) {
        count_events(&log, outlet)?;
    }
    Ok(())
}

fn read_drawers(folder: &Path, outlet: &mut Outlet<'_>) -> Result<()> {
    let exact = folder.join(EXACT);
    let mut drawers = Drawers::default();
    if exact.is_file() {
        let database = Database::copied(&exact)?;
        outlet.report.notices.extend(database.notice());
        if !database.has(&["collections", "documents"])? {
            return Err(PeerError::Form(format!(
                "{} has no tables yet: what was filed is in {EXACT}-wal, which is missing",
                exact.display()
            )));
        }
        let query = "SELECT d.id, d.document, d.metadata_json, d.created_at FROM documents d \
                     JOIN collections c ON d.collection_id = c.id WHERE c.name = ?1 ORDER BY d.rowid";
        database.rows(query, &[&DRAWERS], |cells| {
            let metadata = cells.text("metadata_json").unwrap_or_default();
            let metadata: Map<String, Value> = serde_json::from_str(&metadata).unwrap_or_default();
            drawers.add(
                Entry {
                    id: cells.text("id").unwrap_or_default(),
                    collection: DRAWERS.to_owned(),
                    document: cells.text("document"),
                    metadata: metadata.into_iter().collect(),
                    created_at: cells.text("created_at").and_then(|text| times::utc(&text)),
                },
                outlet,
            );
            Ok(())
        })?;
    } else {
        let file = folder.join(chroma::FILE);
        let database = chroma::open(&file)?;
        chroma::entries(&database, Some(DRAWERS), |entry| {
            drawers.add(entry, outlet);
            Ok(())
        })?;
    }
    for drawer in drawers.order {
        let slices = drawers.slices.remove(&drawer).unwrap_or_default();
        if let Some(memory) = memory(drawer, slices, outlet) {
            outlet.put_memory(memory)?;
        }
    }
    Ok(())
}

/// The slices of each drawer, and the drawers in the order of their first slices.
#[derive(Default)]
struct Drawers {
    slices: BTreeMap<String, Vec<Entry>>,
    order: Vec<String>,
}

impl Drawers {
    fn add(&mut self, entry: Entry, outlet: &mut Outlet<'_>) {
        if entry.text("room").as_deref() == Some(REGISTRY) || entry.id.starts_with("_reg_") {
            outlet
                .report
                .leave_out("notes of mempalace about what it has read");
            return;
        }
        // Slices of mined files overlap, and stay apart.
        let is_slice =
            entry.metadata.contains_key("chunk_index") && entry.text("ingest_mode").is_none();
        let parent = entry.text("parent_drawer_id").filter(|_| is_slice);
        let id = parent.unwrap_or_else(|| entry.id.clone());
        let slices = self.slices.entry(id.clone()).or_default();
        if slices.is_empty() {
            self.order.push(id);
        }
        slices.push(entry);
    }
}

fn memory(id: String, mut slices: Vec<Entry>, outlet: &mut Outlet<'_>) -> Option<PeerMemory> {
    let position = |entry: &Entry| entry.metadata.get("chunk_index").and_then(Value::as_i64);
    slices.sort_by_key(position);
    let first = slices.first()?;
    let text: String = slices
        .iter()
        .filter_map(|slice| slice.document.as_deref())
        .collect();
    let mut memory = PeerMemory::new(id, text);
    memory.own_id = first.text(OWN_ID);
    memory.container = first.text("wing");
    memory.kind = first.text("room");
    memory.is_diary = first.text("type").as_deref() == Some("diary_entry");
    let writer = first.text("agent").or_else(|| first.text("added_by"));
    memory.author = writer.filter(|name| !NO_AUTHORS.contains(&name.as_str()));
    memory.created_at = moment(first, "filed_at", outlet).or(first.created_at);
    memory.updated_at = moment(first, "last_modified", outlet).or(memory.created_at);
    memory.tags = first
        .text("entities")
        .map(|names| {
            let names = names
                .split(';')
                .map(str::trim)
                .filter(|name| !name.is_empty());
            names.map(str::to_owned).collect()
        })
        .unwrap_or_default();
    for name in [
        "source_file",
        "added_by",
        "agent",
        "topic",
        "hall",
        "session_id",
        "content_date",
    ] {
        if let Some(value) = first.text(name) {
            memory.note(name, &value);
        }
    }
    if let (Some(from), Some(to)) = (first.text("line_start"), first.text("line_end")) {
        memory.note("lines", &format!("{from}-{to}"));
    }
    Some(memory)
}

/// Returns the moment of a time of a drawer.
fn moment(entry: &Entry, key: &str, outlet: &mut Outlet<'_>) -> Option<Timestamp> {
    let text = entry.text(key)?;
    // The offset of the day on which the drawer was filed is that of the pair of both moments.
    let filed = entry.text("filed_at").unwrap_or_else(|| text.clone());
    if let Some((_, offset)) = entry.created_at.and_then(|at| times::beside(&filed, at)) {
        return times::utc(&text).and_then(|as_utc| match times::told(&text)? {
            times::WrittenTime::Moment(moment) => Some(moment),
            times::WrittenTime::Local(_) => as_utc.checked_sub(offset).ok(),
        });
    }
    outlet.moment(&text)
}

fn read_graph(file: &Path, outlet: &mut Outlet<'_>) -> Result<()> {
    let database = Database::copied(file)?;
    outlet.report.notices.extend(database.notice());
    if !database.has(&["entities", "triples"])? {
        outlet
            .report
            .notice(format!("{} holds no facts", file.display()));
        return Ok(());
    }
    let mut facts = Vec::new();
    // An entity has an id in small letters, and its name as it was spelt.
    let query = "SELECT coalesce(s.name, t.subject) AS subject, t.predicate AS predicate, \
                 coalesce(o.name, t.object) AS object, t.valid_from AS valid_from, t.valid_to AS valid_to, \
                 t.source_file AS source_file FROM triples t LEFT JOIN entities s ON s.id = t.subject \
                 LEFT JOIN entities o ON o.id = t.object ORDER BY t.rowid";
    database.rows(query, &[], |cells| {
        let named = [
            cells.filled("subject"),
            cells.filled("predicate"),
            cells.filled("object"),
        ];
        let [Some(subject), Some(predicate), Some(object)] = named else {
            outlet.report.leave_out("facts without a name");
            return Ok(());
        };
        let ends = ["valid_from", "valid_to"].map(|column| cells.filled(column));
        let spans = ends
            .each_ref()
            .map(|end| end.as_deref().and_then(times::span));
        // A fact that would hold longer than it was said to is not the same fact.
        if (0..ends.len()).any(|end| ends[end].is_some() && spans[end].is_none()) {
            outlet
                .report
                .leave_out("facts with a date that cannot be read");
            return Ok(());
        }
        let [valid_from, valid_to] = spans;
        facts.push(PeerFact {
            subject,
            predicate,
            object,
            valid_from,
            valid_to,
            source: cells.filled("source_file"),
        });
        Ok(())
    })?;
    facts
        .into_iter()
        .try_for_each(|fact| outlet.put(PeerRecord::Fact(fact)))
}

fn read_tunnels(file: &Path, outlet: &mut Outlet<'_>) -> Result<()> {
    let tunnels = json_file::document(file)?;
    for tunnel in tunnels.as_array().into_iter().flatten() {
        let Value::Object(tunnel) = tunnel else {
            outlet.report.leave_out("tunnels without ends");
            continue;
        };
        if json_file::text(tunnel, &["kind"]).is_some_and(|kind| kind != "explicit") {
            outlet
                .report
                .leave_out("tunnels that mempalace made by itself");
            continue;
        }
        let end = |name: &str| {
            let end = tunnel.get(name)?.as_object()?;
            let part = |key: &str| json_file::text(end, &[key]).map(str::to_owned);
            Some((part("wing")?, part("room")?))
        };
        match (end("source"), end("target")) {
            (Some(source), Some(target)) => outlet.put(PeerRecord::Tunnel(PeerTunnel {
                source,
                target,
                label: json_file::text(tunnel, &["label"])
                    .unwrap_or_default()
                    .to_owned(),
            }))?,
            _ => outlet.report.leave_out("tunnels without ends"),
        }
    }
    Ok(())
}

fn count_events(file: &Path, outlet: &mut Outlet<'_>) -> Result<()> {
    let database = Database::copied(file)?;
    if !database.has(&["events"])? {
        return Ok(());
    }
    database.rows("SELECT count(*) AS events FROM events", &[], |cells| {
        for _ in 0..cells.number("events").unwrap_or_default() {
            outlet.report.leave_out("events of the log between agents");
        }
        Ok(())
    })
}
