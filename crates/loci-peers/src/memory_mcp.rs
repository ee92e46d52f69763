//! memory-mcp: its database in MongoDB, as `mongoexport` writes a collection in JSON, or `mongodump` all
//! collections in BSON.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::json_file::{self, Line, text, texts};
use crate::{
    Outlet, Owner, PeerDecision, PeerError, PeerMemory, PeerRecord, Result, Sharing, bson, folder,
    times,
};

/// The collections that hold memories and decisions.
const COLLECTIONS: [&str; 2] = ["memories", "decisions"];
/// The collections whose documents stay there.
const OTHERS: [&str; 2] = ["semantic_cache", "audit_log"];
const BSON: &str = "bson";
/// The endings of the files of a dump or an export.
const ENDINGS: [&str; 3] = [BSON, "json", "jsonl"];
/// The ending of packed files of a dump.
const PACKED: &str = "gz";
/// The first bytes of a dump in one file.
const ARCHIVE: [u8; 4] = [0x6d, 0xe2, 0x99, 0x81];
/// The number of folders in which the files of a dump lie.
const DEPTH_MAX: usize = 2;
/// The tier of messages.
const MESSAGES: &str = "stm";

/// Returns the files of collections in a folder and the ones below.
fn files(path: &Path) -> Vec<PathBuf> {
    files_below(path, 0)
}

fn files_below(path: &Path, depth: usize) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let entries = fs::read_dir(path).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .flat_map(|entry| {
            if !entry.is_dir() {
                vec![entry]
            } else if depth < DEPTH_MAX {
                files_below(&entry, depth + 1)
            } else {
                Vec::new()
            }
        })
        .filter(|file| is_collection(file))
        .collect();
    files.sort();
    files
}

fn has_ending(file: &Path, endings: &[&str]) -> bool {
    file.extension()
        .is_some_and(|ending| endings.iter().any(|own| ending == *own))
}

fn is_collection(file: &Path) -> bool {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let name = stem.strip_suffix(".bson").unwrap_or(&stem);
    has_ending(file, &[&ENDINGS[..], &[PACKED]].concat())
        && COLLECTIONS
            .iter()
            .chain(&OTHERS)
            .any(|collection| name == *collection)
}

/// Returns true if the file, or one in the folder, is a collection of memory-mcp.
pub fn wrote(path: &Path) -> bool {
    files(path).iter().any(|file| {
        let mut is_own = false;
        let look = |document: Option<Map<String, Value>>| {
            is_own = document.is_some_and(|document| {
                let has = |keys: &[&str]| keys.iter().all(|key| document.contains_key(*key));
                has(&["_id", "user_id", "tier", "content"])
                    || has(&["_id", "user_id", "key", "value"])
            });
            Err(PeerError::Stopped(String::new()))
        };
        let _ = documents(file, look);
        is_own
    })
}

/// Passes each document of a file to `visit`; `None` for a line that is no document.
fn documents(
    file: &Path,
    mut visit: impl FnMut(Option<Map<String, Value>>) -> Result<()>,
) -> Result<()> {
    if !has_ending(file, &[BSON]) {
        return json_file::objects(file, |line| match line {
            Line::Object(document) => {
                let plain = document
                    .into_iter()
                    .map(|(name, value)| (name, plain(value)));
                visit(Some(plain.collect()))
            }
            Line::Broken(_) => visit(None),
        });
    }
    let unreadable = |source| PeerError::File {
        file: file.display().to_string(),
        source,
    };
    let mut input = BufReader::new(File::open(file).map_err(unreadable)?);
    while let Some(document) = bson::next(&mut input).map_err(unreadable)? {
        visit(Some(document))?;
    }
    Ok(())
}

/// Returns a value of MongoDB's extended JSON as the plain one.
fn plain(value: Value) -> Value {
    let Value::Object(object) = &value else {
        return value;
    };
    let Some((name, inner)) = object.iter().next().filter(|_| object.len() == 1) else {
        return value;
    };
    match (name.as_str(), inner) {
        ("$oid", Value::String(id)) => Value::String(id.clone()),
        ("$date", Value::String(time)) => Value::String(time.clone()),
        ("$date", inner) => plain(inner.clone())
            .as_i64()
            .and_then(times::milliseconds)
            .map_or(Value::Null, |time| Value::String(time.to_string())),
        (
            "$numberInt" | "$numberLong" | "$numberDouble" | "$numberDecimal",
            Value::String(number),
        ) => serde_json::from_str(number).unwrap_or(Value::Null),
        _ => value,
    }
}

pub fn read(path: &Path, outlet: &mut Outlet<'_>) -> Result<()> {
    let files = files(path);
    let is_packed =
        |file: &&PathBuf| has_ending(file, &[PACKED]) || folder::begins_with(file, &ARCHIVE);
    if let Some(packed) = files.iter().find(is_packed) {
        return Err(PeerError::Form(format!(
            "{} is packed; unpack it with gunzip, or restore it and dump it without `--gzip` and `--archive`",
            packed.display()
        )));
    }
    if files.is_empty() {
        return Err(PeerError::Form(format!(
            "{} has no collection of memory-mcp: memories.bson of mongodump, or what mongoexport writes of `memories`",
            path.display()
        )));
    }
    for file in files {
        documents(&file, |document| {
            if let Some(document) = document {
                return put(&document, outlet);
            }
            outlet.report.leave_out("lines that are no document");
            Ok(())
        })?;
    }
    Ok(())
}

fn put(document: &Map<String, Value>, outlet: &mut Outlet<'_>) -> Result<()> {
    let own = |key: &str| text(document, &[key]).map(str::to_owned);
    let moment = |key: &str| text(document, &[key]).and_then(times::utc);
    if document.contains_key("response") {
        outlet.report.leave_out("cached answers");
        return Ok(());
    }
    if let (Some(owner), Some(key), Some(value)) = (own("user_id"), own("key"), own("value")) {
        return outlet.put(PeerRecord::Decision(PeerDecision {
            owner,
            key,
            value,
            created_at: moment("created_at"),
            updated_at: moment("updated_at"),
            expires_at: moment("expires_at"),
        }));
    }
    let (Some(id), Some(content)) = (own("_id"), document.get("content").and_then(Value::as_str))
    else {
        outlet
            .report
            .leave_out("documents that are neither a memory nor a decision");
        return Ok(());
    };
    if document.get("is_deleted") == Some(&Value::Bool(true)) || moment("deleted_at").is_some() {
        outlet.report.leave_out("deleted memories");
        return Ok(());
    }
    let mut memory = PeerMemory::new(id, content);
    (memory.created_at, memory.updated_at) = (moment("created_at"), moment("updated_at"));
    memory.expires_at = moment("expires_at");
    memory.tags = texts(document.get("tags"));
    memory.weight = document.get("importance").and_then(Value::as_f64);
    memory.summary = own("summary");
    memory.owner = own("user_id").map_or(Owner::Nobody, Owner::User);
    memory.sharing = Sharing::Private;
    memory.source = own("source_stm_id");
    memory.is_unread = own("enrichment_status").as_deref() == Some("pending");
    if let Some(target) = own("merge_target_id") {
        memory.links.push((target, "related_to".to_owned()));
    }
    memory.note("retention_tier", &own("retention_tier").unwrap_or_default());
    if own("tier").as_deref() == Some(MESSAGES) {
        memory.is_message = true;
        memory.kind = Some(own("message_type").unwrap_or_else(|| "human".to_owned()));
    } else {
        memory.kind = own("memory_type");
    }
    memory.conversation = own("conversation_id");
    outlet.put_memory(memory)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn extended_json_is_read_in_both_forms() {
        for (written, expected) in [
            (json!({"$oid": "ab"}), json!("ab")),
            (
                json!({"$date": "2026-01-01T00:00:00Z"}),
                json!("2026-01-01T00:00:00Z"),
            ),
            (
                json!({"$date": {"$numberLong": "1767225600000"}}),
                json!("2026-01-01T00:00:00Z"),
            ),
            (json!({"$numberDouble": "0.5"}), json!(0.5)),
            (json!({"$numberInt": "7"}), json!(7)),
            (json!({"$numberDouble": "NaN"}), Value::Null),
            (json!({"a": 1}), json!({"a": 1})),
            (json!("text"), json!("text")),
        ] {
            assert_eq!(plain(written.clone()), expected, "{written}");
        }
    }
}
