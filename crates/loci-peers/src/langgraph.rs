//! The SQLite store of LangGraph (langgraph-checkpoint-sqlite 3.1.2). Its times are of UTC, without
//! saying so.

use std::path::Path;

use serde_json::{Map, Value};

use crate::database::{Database, is_database};
use crate::{Outlet, PeerError, PeerMemory, Result, json_file, times};

/// The keys of a value that hold its text, the first one found.
const TEXTS: [&str; 4] = ["content", "text", "memory", "data"];

/// Returns true if LangGraph wrote the file.
pub fn wrote(path: &Path) -> bool {
    is_database(path)
        && Database::copied(path)
            .and_then(|database| database.columns("store"))
            .is_ok_and(|columns| {
                ["prefix", "key", "value"]
                    .iter()
                    .all(|name| columns.iter().any(|column| column == name))
            })
}

pub fn read(path: &Path, outlet: &mut Outlet<'_>) -> Result<()> {
    let database = Database::copied(path)?;
    outlet.report.notices.extend(database.notice());
    if !database.has(&["store"])? {
        return Err(PeerError::Form(format!(
            "{} has no table of a LangGraph store",
            path.display()
        )));
    }
    database.rows(
        "SELECT * FROM store ORDER BY created_at, prefix, key",
        &[],
        |cells| {
            let (prefix, key) = (
                cells.text("prefix").unwrap_or_default(),
                cells.text("key").unwrap_or_default(),
            );
            let value: Map<String, Value> = cells
                .text("value")
                .and_then(|text| serde_json::from_str(&text).ok())
                .unwrap_or_default();
            let held = TEXTS
                .iter()
                .find_map(|name| Some((*name, value.get(*name)?.as_str()?)));
            let mut memory = match held {
                Some((_, text)) => PeerMemory::new(format!("{prefix}/{key}"), text),
                // A value of another form comes as it is.
                None if value.is_empty() => {
                    outlet.report.leave_out("values without a text");
                    return Ok(());
                }
                None => PeerMemory::new(
                    format!("{prefix}/{key}"),
                    Value::Object(value.clone()).to_string(),
                ),
            };
            memory.container = Some(prefix).filter(|prefix| !prefix.is_empty());
            memory.title = Some(key);
            let time = |column: &str| times::utc(&cells.text(column)?);
            (memory.created_at, memory.updated_at) = (time("created_at"), time("updated_at"));
            memory.expires_at = time("expires_at");
            if let Some((held, _)) = held {
                for (name, value) in value.iter().filter(|(name, _)| *name != held) {
                    match value {
                        Value::Array(_) if name == "tags" => {
                            memory.tags = json_file::texts(Some(value));
                        }
                        Value::String(text) => memory.note(name, text),
                        Value::Null => {}
                        other => memory.note(name, &other.to_string()),
                    }
                }
            }
            outlet.put_memory(memory)
        },
    )
}
