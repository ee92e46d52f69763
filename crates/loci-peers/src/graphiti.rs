//! Graphs of graphiti (0.31.2): exports as JSON lines.
//!
//! An export is the result of a query, with the properties of a node or an edge on each line, or what
//! `apoc.export.json` of Neo4j writes. Kuzu's own file has a form that only Kuzu reads.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::json_file::{self, Line, text};
use crate::times::{self, WrittenTime};
use crate::{Outlet, PeerError, PeerFact, PeerMemory, PeerRecord, Result, folder};

/// The first bytes of a file of Kuzu.
const KUZU: &[u8; 4] = b"KUZU";
/// The file of a folder of an older Kuzu.
const KUZU_CATALOG: &str = "catalog.kz";
const EPISODE: &str = "Episodic";
const ENTITY: &str = "Entity";
const EDGE: &str = "RELATES_TO";
const MENTION: &str = "MENTIONS";
/// The labels of nodes and edges that are no episodes, entities or relations.
const OTHERS: [&str; 6] = [
    MENTION,
    "Community",
    "Saga",
    "HAS_MEMBER",
    "HAS_EPISODE",
    "NEXT_EPISODE",
];

/// A node or an edge.
struct Item {
    label: String,
    properties: Map<String, Value>,
    /// The names of the ends of an edge.
    ends: Option<(String, String)>,
}

fn is_kuzu(path: &Path) -> bool {
    path.join(KUZU_CATALOG).is_file() || folder::begins_with(path, KUZU)
}

/// Returns the files of an export: the file itself, or the ones in a folder.
fn files(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let entries = fs::read_dir(path).into_iter().flatten();
    let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut files: Vec<PathBuf> = files
        .filter(|file| {
            file.extension()
                .is_some_and(|ending| ending == "jsonl" || ending == "json")
        })
        .filter(|file| tells(file))
        .collect();
    files.sort();
    files
}

fn tells(file: &Path) -> bool {
    let item = json_file::first_object(file).and_then(|object| Names::default().item(object));
    item.is_some_and(|item| {
        [EPISODE, ENTITY, EDGE].contains(&&*item.label) || OTHERS.contains(&&*item.label)
    })
}

/// Returns true if the file is an export of graphiti, or of Kuzu.
pub fn wrote(path: &Path) -> bool {
    if is_kuzu(path) {
        return true;
    }
    if path.is_dir() {
        let is_beside = |entry: fs::DirEntry| is_kuzu(&entry.path());
        let mut entries = fs::read_dir(path).into_iter().flatten().flatten();
        return entries.any(is_beside) || !files(path).is_empty();
    }
    tells(path)
}

pub fn read(path: &Path, outlet: &mut Outlet<'_>) -> Result<()> {
    let files = files(path);
    if is_kuzu(path) || files.is_empty() {
        return Err(PeerError::Form(format!(
            "{} is no export of graphiti, and a database of Kuzu is read only by Kuzu itself: write each row of \
             `MATCH (e:Episodic) RETURN e` and of `MATCH (a:Entity)-[:RELATES_TO]->(r:RelatesToNode_)-[:RELATES_TO]->\
             (b:Entity) RETURN a.name, r, b.name` as a line of JSON (of Neo4j or FalkorDB: `MATCH (a)-[r:RELATES_TO]->(b) \
             RETURN a.name, r, b.name`, or apoc.export.json), and import that file",
            path.display()
        )));
    }
    let mut names = Names::default();
    for file in &files {
        json_file::objects(file, |line| {
            if let Line::Object(object) = line {
                names.learn(&object);
            }
            Ok(())
        })?;
    }
    for file in &files {
        json_file::objects(file, |line| {
            let item = match line {
                Line::Object(object) => names.item(object),
                Line::Broken(number) => {
                    let notice = format!("line {number} of {} is no JSON object", file.display());
                    outlet.report.notice(notice);
                    outlet.report.leave_out("lines that are no JSON object");
                    return Ok(());
                }
            };
            if let Some(item) = item {
                return put(item, outlet);
            }
            let reason = "lines that are neither a node nor an edge";
            outlet.report.leave_out(reason);
            Ok(())
        })?;
    }
    Ok(())
}

/// The names of entities, by the ids that edges name them by.
#[derive(Default)]
struct Names(HashMap<String, String>);

impl Names {
    /// Remembers the name of a node, if it is one that an edge may lead to.
    fn learn(&mut self, object: &Map<String, Value>) {
        let properties = properties(object);
        let is_episode = ["content", "valid_at"]
            .iter()
            .all(|key| properties.contains_key(*key));
        if is_episode || properties.contains_key("fact") {
            return;
        }
        if let Some(name) = text(properties, &["name"]) {
            let own = [object.get("id"), properties.get("uuid")]
                .into_iter()
                .flatten();
            let ids: Vec<String> = own.map(id).collect();
            self.0
                .extend(ids.into_iter().map(|id| (id, name.to_owned())));
        }
    }

    /// Returns the node or edge of a line, in one of the forms that are known.
    fn item(&self, object: Map<String, Value>) -> Option<Item> {
        let told = text(&object, &["label"]).map(str::to_owned);
        let labels = json_file::texts(object.get("labels"));
        let node = [EPISODE, ENTITY].into_iter().chain(OTHERS);
        let node = node
            .into_iter()
            .find(|label| labels.iter().any(|own| own == label));
        if let Some(label) = told.or_else(|| node.map(str::to_owned)) {
            let ends = self
                .end(&object, &["source", "start"])
                .zip(self.end(&object, &["target", "end"]));
            return Some(Item {
                label,
                properties: properties(&object).clone(),
                ends,
            });
        }
        row(&object)
    }

    /// Returns the name of an end of an edge: as it is told, or the one of the node with that id.
    fn end(&self, edge: &Map<String, Value>, keys: &[&str]) -> Option<String> {
        let end = keys.iter().find_map(|key| edge.get(*key))?;
        let known = |end: &Value| self.0.get(&id(end)).cloned();
        match end {
            Value::Object(node) => text(properties(node), &["name"])
                .map(str::to_owned)
                .or_else(|| known(node.get("id")?)),
            end => known(end).or_else(|| Some(id(end))),
        }
    }
}

/// Returns the node or edge of a row of a query, which has a column for each value that it asked
/// for.
fn row(row: &Map<String, Value>) -> Option<Item> {
    let nested = || row.values().filter_map(Value::as_object).map(properties);
    let columns = || {
        let columns = row.iter().filter(|(name, _)| name.ends_with("name"));
        columns.filter_map(|(_, value)| value.as_str().map(str::to_owned))
    };
    let is_edge = |one: &Map<String, Value>| one.contains_key("fact");
    let is_episode = |one: &Map<String, Value>| {
        ["uuid", "content", "valid_at"]
            .iter()
            .all(|key| one.contains_key(*key))
    };
    if let Some(properties) = nested().find(|one| is_edge(one)) {
        let nodes = nested().filter(|one| !is_edge(one));
        let nodes = nodes.filter_map(|node| text(node, &["name"]).map(str::to_owned));
        let mut ends = columns().chain(nodes);
        return Some(Item {
            label: EDGE.to_owned(),
            properties: properties.clone(),
            ends: ends.next().zip(ends.next()),
        });
    }
    let episode = nested().find(|one| is_episode(one));
    let bare = is_episode(row).then_some(row);
    episode.or(bare).map(|properties| Item {
        label: EPISODE.to_owned(),
        properties: properties.clone(),
        ends: None,
    })
}

/// Returns the properties of a node or edge, which are one level down in some forms.
fn properties(object: &Map<String, Value>) -> &Map<String, Value> {
    let nested = object.get("properties").and_then(Value::as_object);
    nested.unwrap_or(object)
}

fn id(value: &Value) -> String {
    match value {
        Value::String(id) => id.clone(),
        other => other.to_string(),
    }
}

fn put(item: Item, outlet: &mut Outlet<'_>) -> Result<()> {
    let Item {
        label,
        properties,
        ends,
    } = item;
    match &*label {
        EPISODE => put_episode(&properties, outlet),
        EDGE => put_fact(&properties, ends, outlet),
        ENTITY => {
            outlet
                .report
                .leave_out(match text(&properties, &["summary"]) {
                    Some(_) => "summaries of entities, which its model wrote",
                    None => "entities that have only a name",
                });
            Ok(())
        }
        MENTION => {
            outlet.report.leave_out("mentions of entities in episodes");
            Ok(())
        }
        _ => {
            let reason = "communities, sagas and edges to them";
            outlet.report.leave_out(reason);
            Ok(())
        }
    }
}

fn put_episode(said: &Map<String, Value>, outlet: &mut Outlet<'_>) -> Result<()> {
    let (Some(uuid), Some(content)) = (
        text(said, &["uuid"]),
        said.get("content").and_then(Value::as_str),
    ) else {
        outlet.report.leave_out("episodes without an id or a text");
        return Ok(());
    };
    let mut memory = PeerMemory::new(uuid, content);
    let own = |key: &str| text(said, &[key]).map(str::to_owned);
    memory.title = own("name");
    memory.container = own("group_id");
    memory.kind = own("source");
    memory.created_at =
        moment(said, "valid_at", outlet).or_else(|| moment(said, "created_at", outlet));
    for key in ["source_description", "created_at"] {
        memory.note(key, text(said, &[key]).unwrap_or_default());
    }
    outlet.put_memory(memory)
}

/// Passes on an edge as a fact, whose source is the sentence that it was made from.
fn put_fact(
    said: &Map<String, Value>,
    ends: Option<(String, String)>,
    outlet: &mut Outlet<'_>,
) -> Result<()> {
    let (Some((subject, object)), Some(predicate)) = (ends, text(said, &["name"])) else {
        outlet.report.leave_out("edges without a name or an end");
        return Ok(());
    };
    let span = |key: &str, outlet: &mut Outlet<'_>| moment(said, key, outlet).map(|at| (at, at));
    let until = span("invalid_at", outlet);
    let until = until.or_else(|| span("expired_at", outlet));
    let fact = PeerFact {
        subject,
        predicate: predicate.to_owned(),
        object,
        valid_from: span("valid_at", outlet),
        valid_to: until,
        source: text(said, &["fact"]).map(str::to_owned),
    };
    outlet.put(PeerRecord::Fact(fact))
}

fn moment(said: &Map<String, Value>, key: &str, outlet: &mut Outlet<'_>) -> Option<Timestamp> {
    let written = text(said, &[key])?;
    if matches!(times::told(written), Some(WrittenTime::Local(_))) {
        outlet.report.notice(
            "times without a zone were taken as of UTC: Kuzu keeps the time of the clock and drops the zone that an \
             episode was given with",
        );
    }
    times::utc(written)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(lines: &[Value]) -> Vec<String> {
        let mut names = Names::default();
        let objects = || lines.iter().map(|line| line.as_object().unwrap());
        objects().for_each(|object| names.learn(object));
        objects()
            .map(|object| match names.item(object.clone()) {
                None => "-".to_owned(),
                Some(Item {
                    label,
                    properties,
                    ends,
                }) => {
                    let (from, to) = ends.unwrap_or_default();
                    let uuid = text(&properties, &["uuid"]).unwrap_or_default();
                    format!("{label} {uuid} {from} {to}").trim_end().to_owned()
                }
            })
            .collect()
    }

    #[test]
    fn every_form_of_an_export_is_read() {
        let edge = json!({"uuid": "r", "fact": "A works at B.", "name": "WORKS_AT"});
        let episode = json!({"uuid": "e", "content": "a text", "valid_at": "2026-01-01T00:00:00Z"});
        // As the columns of a query.
        for (line, expected) in [
            (
                json!({"a.name": "A", "r": edge, "b.name": "B"}),
                "RELATES_TO r A B",
            ),
            (
                json!({"a": {"name": "A"}, "r": {"properties": edge}, "b": {"properties": {"name": "B"}}}),
                "RELATES_TO r A B",
            ),
            (json!({"e": episode}), "Episodic e"),
            (
                json!({"n": {"identity": 1, "labels": ["Episodic"], "properties": episode}}),
                "Episodic e",
            ),
            (episode.clone(), "Episodic e"),
            (json!({"x": 1}), "-"),
        ] {
            assert_eq!(told(std::slice::from_ref(&line)), [expected], "{line}");
        }
        // As `apoc.export.json` writes it.
        let lines = [
            json!({"type": "node", "id": "0", "labels": ["Entity", "Person"], "properties": {"uuid": "a", "name": "A"}}),
            json!({"type": "node", "id": "1", "labels": ["Episodic"], "properties": episode}),
            json!({
                "type": "relationship", "id": "7", "label": "RELATES_TO", "properties": edge,
                "start": {"id": "0", "labels": ["Entity"]},
                "end": {"id": "2", "labels": ["Entity"], "properties": {"name": "B"}},
            }),
        ];
        assert_eq!(told(&lines), ["Entity a", "Episodic e", "RELATES_TO r A B"]);
    }
}
