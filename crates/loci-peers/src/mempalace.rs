//! Palaces of mempalace (3.11.0): drawers and diaries in Chroma or in a plain SQLite file, the
//! knowledge graph beside them, and `tunnels.json` in the folder above.
//!
//! A long drawer is many rows, without one of its own: slices that together are the text byte for byte.
//! Times of drawers are local times of the machine that wrote them; the moment at
//! which the row was stored, which stands beside them, tells the offset.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::chroma::{self, Entry};
use crate::database::{Cells, Database, is_database};
use crate::json_walk::{VALUE_BYTES_MAX, walk};
use crate::repetitions::Numbers;
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
    chroma::Store::open(&folder.join(chroma::FILE))
        .and_then(|store| store.has_collection(DRAWERS))
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
    let rows = Rows::open(folder, outlet)?;
    let slices = Slices::of(&rows)?;
    let mut places = slices.0.chunk_by(|one, other| one.drawer == other.drawer);
    places.try_for_each(|places| put_drawer(&rows, places, outlet))
}

/// The rows of the drawers, in either kind of database.
enum Rows {
    Exact(Database),
    Chroma(chroma::Store),
}

impl Rows {
    fn open(folder: &Path, outlet: &mut Outlet<'_>) -> Result<Self> {
        let exact = folder.join(EXACT);
        if !exact.is_file() {
            let file = folder.join(chroma::FILE);
            return Ok(Rows::Chroma(chroma::Store::open(&file)?));
        }
        let database = Database::copied(&exact)?;
        outlet.report.notices.extend(database.notice());
        if database.has(&["collections", "documents"])? {
            return Ok(Rows::Exact(database));
        }
        Err(PeerError::Form(format!(
            "{} has no tables yet: what was filed is in {EXACT}-wal, which is missing",
            exact.display()
        )))
    }

    /// Passes each row to `visit`, without its text, with its place.
    fn each(&self, mut visit: impl FnMut(i64, Entry)) -> Result<()> {
        match self {
            Rows::Exact(database) => {
                let query = "SELECT d.rowid AS place, d.id, d.metadata_json, d.created_at FROM documents d \
                             JOIN collections c ON d.collection_id = c.id WHERE c.name = ?1 ORDER BY d.rowid";
                database.rows(query, &[&DRAWERS], |cells| {
                    visit(cells.number("place").unwrap_or_default(), exact(cells));
                    Ok(())
                })
            }
            Rows::Chroma(store) => store.places(Some(DRAWERS), |place| {
                if let Some(entry) = store.entry(place, chroma::Text::LeftOut)? {
                    visit(place, entry);
                }
                Ok(())
            }),
        }
    }

    /// Returns the row at a place.
    fn at(&self, place: i64) -> Result<Option<Entry>> {
        let database = match self {
            Rows::Exact(database) => database,
            Rows::Chroma(store) => return store.entry(place, chroma::Text::Taken),
        };
        let mut entry = None;
        let query =
            "SELECT id, document, metadata_json, created_at FROM documents WHERE rowid = ?1";
        database.rows(query, &[&place], |cells| {
            entry = Some(exact(cells));
            Ok(())
        })?;
        Ok(entry)
    }
}

/// Returns a row of the plain database.
fn exact(cells: &Cells<'_, '_>) -> Entry {
    let metadata = cells.text("metadata_json").unwrap_or_default();
    let metadata: Map<String, Value> = serde_json::from_str(&metadata).unwrap_or_default();
    Entry {
        id: cells.text("id").unwrap_or_default(),
        collection: DRAWERS.to_owned(),
        document: cells.text("document"),
        metadata: metadata.into_iter().collect(),
        created_at: cells.text("created_at").and_then(|text| times::utc(&text)),
    }
}

/// The place of a row, as a slice of a drawer.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Slice {
    /// The number of the drawer: drawers stand in the order of their first rows.
    drawer: u32,
    position: Option<i64>,
    place: i64,
}

/// The slices of all drawers, in order. Their texts are read when a drawer is passed on, because a palace may
/// be larger than the memory of the machine.
struct Slices(Vec<Slice>);

impl Slices {
    fn of(rows: &Rows) -> Result<Self> {
        let (mut slices, mut drawers) = (Vec::new(), Numbers::default());
        rows.each(|place, entry| {
            let parent = entry.parent();
            slices.push(Slice {
                drawer: drawers.number(parent.as_deref().unwrap_or(&entry.id)),
                position: entry.position(),
                place,
            });
        })?;
        slices.sort_unstable();
        Ok(Slices(slices))
    }
}

impl Entry {
    /// Returns the drawer that it is a slice of. Slices of mined files overlap, and stay apart.
    fn parent(&self) -> Option<String> {
        let is_slice =
            self.metadata.contains_key("chunk_index") && self.text("ingest_mode").is_none();
        self.text("parent_drawer_id").filter(|_| is_slice)
    }

    fn position(&self) -> Option<i64> {
        self.metadata.get("chunk_index").and_then(Value::as_i64)
    }
}

/// Passes on the drawer of these slices.
fn put_drawer(rows: &Rows, slices: &[Slice], outlet: &mut Outlet<'_>) -> Result<()> {
    let mut text = String::new();
    let mut first: Option<Entry> = None;
    for slice in slices {
        let Some(entry) = rows.at(slice.place)? else {
            continue;
        };
        if entry.text("room").as_deref() == Some(REGISTRY) || entry.id.starts_with("_reg_") {
            outlet
                .report
                .leave_out("notes of mempalace about what it has read");
            continue;
        }
        if text.len() <= VALUE_BYTES_MAX {
            text += entry.document.as_deref().unwrap_or_default();
        }
        first.get_or_insert(entry);
    }
    let Some(first) = first else {
        return Ok(());
    };
    let id = first.parent().unwrap_or_else(|| first.id.clone());
    let memory = memory(id, text, &first, outlet);
    outlet.put_memory(memory)
}

/// Returns the memory of a drawer with the metadata of its first slice.
fn memory(id: String, text: String, first: &Entry, outlet: &mut Outlet<'_>) -> PeerMemory {
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
    memory
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
        outlet.put(PeerRecord::Fact(PeerFact {
            subject,
            predicate,
            object,
            valid_from,
            valid_to,
            source: cells.filled("source_file"),
        }))
    })
}

fn read_tunnels(file: &Path, outlet: &mut Outlet<'_>) -> Result<()> {
    walk(file, &[&["*"]], |_, tunnel| {
        let Some(Value::Object(tunnel)) = tunnel else {
            outlet.report.leave_out("tunnels without ends");
            return Ok(());
        };
        if json_file::text(&tunnel, &["kind"]).is_some_and(|kind| kind != "explicit") {
            outlet
                .report
                .leave_out("tunnels that mempalace made by itself");
            return Ok(());
        }
        let end = |name: &str| {
            let end = tunnel.get(name)?.as_object()?;
            let part = |key: &str| json_file::text(end, &[key]).map(str::to_owned);
            Some((part("wing")?, part("room")?))
        };
        let (Some(source), Some(target)) = (end("source"), end("target")) else {
            outlet.report.leave_out("tunnels without ends");
            return Ok(());
        };
        let label = json_file::text(&tunnel, &["label"]).unwrap_or_default();
        outlet.put(PeerRecord::Tunnel(PeerTunnel {
            source,
            target,
            label: label.to_owned(),
        }))
    })?;
    Ok(())
}

fn count_events(file: &Path, outlet: &mut Outlet<'_>) -> Result<()> {
    let database = Database::copied(file)?;
    if !database.has(&["events"])? {
        return Ok(());
    }
    database.rows("SELECT count(*) AS events FROM events", &[], |cells| {
        let count = cells.number("events").unwrap_or_default();
        let reason = "events of the log between agents";
        outlet.report.leave_out_many(reason, count);
        Ok(())
    })
}
