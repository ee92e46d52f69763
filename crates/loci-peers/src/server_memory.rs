//! The file of the reference memory server (2026.8.31): an entity or a relation on each line.
//!
//! Two entities may have one name, observations and relations may repeat, and a relation may end at no
//! entity. Nothing has a time or an id.
//!
//! That an entity exists, and of which type, is a fact as well, so that one without an observation
//! comes in, and loci's own tools of this server show each as it was.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::json_file::{self, Line, text, texts};
use crate::repetitions::Repetitions;
use crate::{Outlet, PeerFact, PeerMemory, PeerRecord, Result};

/// The names of the file, today's and the older one.
const FILES: [&str; 2] = ["memory.jsonl", "memory.json"];

fn file(path: &Path) -> PathBuf {
    if path.is_file() {
        return path.to_owned();
    }
    let files = FILES.map(|name| path.join(name));
    let found = files.iter().find(|file| file.is_file());
    found.unwrap_or(&files[0]).clone()
}

/// The keys of the name and of the type of an entity.
const NAMES: [&str; 3] = ["name", "entityName", "id"];
const TYPES: [&str; 2] = ["entityType", "entity_type"];
/// The predicate of the fact that an entity exists, as loci's own tools of this server note it.
const ENTITY_TYPE: &str = "entity_type";

/// The most broken lines that are named; all of them are counted.
const BROKEN_NAMED_MAX: u64 = 20;

/// Returns true if the reference server wrote the file.
pub fn wrote(path: &Path) -> bool {
    let file = file(path);
    json_file::first_object(&file)
        .is_some_and(|object| matches!(text(&object, &["type"]), Some("entity" | "relation")))
}

pub fn read(path: &Path, outlet: &mut Outlet<'_>) -> Result<()> {
    let file = file(path);
    let (mut said, mut related) = (Repetitions::default(), Repetitions::default());
    let mut broken = 0;
    json_file::lines(&file, |line| {
        let object = match line {
            Line::Object(object) => object,
            Line::Broken(number) => {
                outlet.report.leave_out("lines that are no JSON object");
                broken += 1;
                if broken <= BROKEN_NAMED_MAX {
                    let file = file.display();
                    let notice = format!("line {number} of {file} is no JSON object");
                    outlet.report.notice(notice);
                }
                return Ok(());
            }
        };
        match text(&object, &["type"]) {
            Some("entity") => {
                put_observations(&object, &mut said, outlet)?;
                if let Some(fact) = entity_fact(&object)
                    && related.count(ends(&fact)) == 0
                {
                    outlet.put(PeerRecord::Fact(fact))?;
                }
            }
            Some("relation") => match fact(&object) {
                None => outlet.report.leave_out("relations without an end"),
                Some(fact) => {
                    if related.count(ends(&fact)) == 0 {
                        outlet.put(PeerRecord::Fact(fact))?;
                    } else {
                        outlet.report.leave_out("relations that were said before");
                    }
                }
            },
            _ => {
                let reason = "lines that are neither an entity nor a relation";
                outlet.report.leave_out(reason);
            }
        }
        Ok(())
    })
}

/// Returns the subject, predicate and object of a fact.
fn ends(fact: &PeerFact) -> [&str; 3] {
    [&fact.subject, &fact.predicate, &fact.object]
}

/// Returns the fact that an entity exists; `None` without a name or a type.
fn entity_fact(entity: &Map<String, Value>) -> Option<PeerFact> {
    let given = |names: &[&str]| {
        let text = text(entity, names)?;
        (!text.trim().is_empty()).then(|| text.to_owned())
    };
    Some(PeerFact {
        subject: given(&NAMES)?,
        predicate: ENTITY_TYPE.to_owned(),
        object: given(&TYPES)?,
        valid_from: None,
        valid_to: None,
        source: None,
    })
}

fn fact(relation: &Map<String, Value>) -> Option<PeerFact> {
    let end = |names: &[&str]| text(relation, names).map(str::to_owned);
    Some(PeerFact {
        subject: end(&["from", "from_id"])?,
        predicate: end(&["relationType", "relation_type"])?,
        object: end(&["to", "to_id"])?,
        valid_from: None,
        valid_to: None,
        source: None,
    })
}

/// Passes on the observations of an entity. Two entities of one name, and equal observations, have
/// ids that count up.
fn put_observations(
    entity: &Map<String, Value>,
    said: &mut Repetitions,
    outlet: &mut Outlet<'_>,
) -> Result<()> {
    let Some(name) = text(entity, &NAMES) else {
        outlet.report.leave_out("entities without a name");
        return Ok(());
    };
    let kind = text(entity, &TYPES);
    let observations = texts(entity.get("observations"));
    if observations.is_empty() && kind.is_none_or(|kind| kind.trim().is_empty()) {
        outlet
            .report
            .leave_out("entities without an observation and a type");
    }
    for observation in observations {
        let count = said.count([name, &observation]);
        let mut memory = PeerMemory::new(format!("{name}\n{count}\n{observation}"), observation);
        memory.title = Some(name.to_owned());
        memory.kind = kind.map(str::to_owned);
        memory.note("entity", name);
        outlet.put_memory(memory)?;
    }
    Ok(())
}
