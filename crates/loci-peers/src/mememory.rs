//! mememory: a dump of its database, or the list that its `GET /api/export` returns.

use std::path::Path;

use serde_json::{Map, Value};

use crate::json_file::{self, Line};
use crate::sql_dump::{self, Part, Row};
use crate::{Outlet, PeerError, PeerMemory, Result, times};

const TABLE: &str = "memories";
/// The columns that no other table of this name has together.
const COLUMNS: [&str; 4] = ["content", "scope", "type", "weight"];
/// The first words of every dump.
const DUMP: &str = "PostgreSQL database dump";
/// Where a memory is delivered that every session starts with.
const BOOTSTRAP: &str = "bootstrap";
const PINNED: &str = "pinned";

fn is_own(table: &str, row: &Row) -> bool {
    table == TABLE && COLUMNS.iter().all(|column| row.contains_key(*column))
}

/// Returns true if the file is a dump of mememory's database. A list in JSON is like the ones of loci, and
/// has to be named.
pub fn wrote(path: &Path) -> bool {
    let mut has_own = false;
    if path.is_file() && json_file::head(path).contains(DUMP) {
        let _ = sql_dump::rows(path, |part| match part {
            Part::Row(table, row) if is_own(&table, &row) => {
                has_own = true;
                Err(PeerError::Stopped(String::new()))
            }
            _ => Ok(()),
        });
    }
    has_own
}

pub fn read(path: &Path, outlet: &mut Outlet<'_>) -> Result<()> {
    if sql_dump::is_custom(path) {
        return Err(PeerError::Form(format!(
            "{0} is a dump that only pg_restore reads; turn it into SQL (`pg_restore -f dump.sql {0}`), and import that",
            path.display()
        )));
    }
    if json_file::head(path).trim_start().starts_with(['[', '{']) {
        return json_file::objects(path, |line| match line {
            Line::Object(object) => put(&said(object), outlet),
            Line::Broken(_) => {
                outlet.report.leave_out("lines that are no JSON object");
                Ok(())
            }
        });
    }
    let mut count = 0_u64;
    sql_dump::rows(path, |part| match part {
        Part::Row(table, row) if is_own(&table, &row) => {
            count += 1;
            put(&row, outlet)
        }
        Part::Row(..) => Ok(()),
        Part::Broken(line) => {
            outlet.report.leave_out("rows that cannot be read");
            let notice = format!("line {line} of {} cannot be read", path.display());
            outlet.report.notice(notice);
            Ok(())
        }
    })?;
    match count {
        0 => Err(PeerError::Form(format!(
            "{} has no rows of the table {TABLE} of mememory; `pg_dump --table=memories` writes them",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// Returns an object of the export as the row that it was.
fn said(object: Map<String, Value>) -> Row {
    let pairs = object.into_iter().filter_map(|(name, value)| match value {
        Value::String(text) => Some((name, text)),
        Value::Array(_) => {
            let tags = json_file::texts(Some(&value));
            let quoted = tags
                .iter()
                .map(|tag| tag.replace('\\', "\\\\").replace('"', "\\\""));
            let quoted: Vec<String> = quoted.map(|tag| format!("\"{tag}\"")).collect();
            Some((name, format!("{{{}}}", quoted.join(","))))
        }
        Value::Null => None,
        other => Some((name, other.to_string())),
    });
    pairs.collect()
}

fn put(row: &Row, outlet: &mut Outlet<'_>) -> Result<()> {
    let own = |column: &str| {
        row.get(column)
            .filter(|value| !value.trim().is_empty())
            .cloned()
    };
    let (Some(id), Some(content)) = (own("id"), row.get("content")) else {
        outlet.report.leave_out("rows without an id or a text");
        return Ok(());
    };
    let mut memory = PeerMemory::new(id, &**content);
    let moment = |column: &str| own(column).and_then(|text| times::utc(&text));
    memory.container = own("project");
    memory.kind = own("type");
    memory.tags = own("tags")
        .map(|tags| sql_dump::array(&tags))
        .unwrap_or_default();
    memory.supersedes = own("supersedes");
    (memory.created_at, memory.updated_at) = (moment("created_at"), moment("updated_at"));
    memory.expires_at = moment("ttl").or_else(|| moment("expires_at"));
    memory.weight = own("weight").and_then(|weight| weight.parse().ok());
    let delivery = own("delivery");
    memory.is_pinned = delivery.as_deref() == Some(PINNED);
    memory.is_at_start = memory.is_pinned
        || delivery.as_deref() == Some(BOOTSTRAP)
        || memory.kind.as_deref() == Some(BOOTSTRAP);
    memory.note("persona", &own("persona").unwrap_or_default());
    outlet.put_memory(memory)
}
