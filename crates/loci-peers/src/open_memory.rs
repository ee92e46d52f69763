//! Exports of OpenMemory, which was a part of mem0 until 2026: the file `memories.json` with the user, the
//! apps, the categories and the memories. `memories.jsonl.gz` beside it has the same memories, and less of
//! each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::json_file::{self, text, texts};
use crate::json_walk::{Lists, Step, first, walk};
use crate::{Outlet, PeerMemory, Result, times};

const FILE: &str = "memories.json";
/// The lists of an export.
const LISTS: Lists<'_> = &[
    &["apps", "*"],
    &["categories", "*"],
    &["memories", "*"],
    &["memory_categories", "*"],
    &["status_history", "*"],
    &["access_controls", "*"],
];
/// The keys of a memory that have a place of their own here.
const OWN_KEYS: [&str; 10] = [
    "id",
    "user_id",
    "app_id",
    "content",
    "state",
    "created_at",
    "updated_at",
    "archived_at",
    "deleted_at",
    "category_ids",
];

/// Returns the file of an export: the path itself, or the file in it.
fn file(path: &Path) -> PathBuf {
    if path.is_dir() {
        path.join(FILE)
    } else {
        path.to_owned()
    }
}

/// Returns true if the file, or the folder, is an export of OpenMemory.
pub fn wrote(path: &Path) -> bool {
    let file = file(path);
    let head = json_file::head(&file);
    let is_told = ["\"apps\"", "\"user\"", "\"export_meta\""]
        .iter()
        .any(|key| head.contains(key));
    is_told
        && first(&file, LISTS, |steps, value| match steps {
            [Step::Key(list), Step::Place(_)] if list == "apps" => Some(()),
            [Step::Key(list), Step::Place(_)] if list == "memories" => {
                value.get("app_id").and(value.get("state")).map(|_| ())
            }
            _ => None,
        })
        .is_some()
}

/// The names in an export, by their ids.
#[derive(Default)]
struct Names {
    user: Option<String>,
    apps: BTreeMap<String, String>,
    categories: BTreeMap<String, String>,
    /// The categories of a memory that are noted beside it.
    of_memories: BTreeMap<String, Vec<String>>,
}

impl Names {
    fn of(file: &Path) -> Result<Self> {
        let mut names = Names::default();
        walk(file, LISTS, |steps, value| {
            let (Some(Step::Key(list)), Some(Value::Object(value))) = (steps.first(), value) else {
                return Ok(());
            };
            let own = |key: &str| text(&value, &[key]).map(str::to_owned);
            let pair = own("id").zip(own("name"));
            match list.as_str() {
                "user" => names.user = own("user_id").or_else(|| own("name")),
                "apps" => names.apps.extend(pair),
                "categories" => names.categories.extend(pair),
                "memory_categories" => {
                    if let Some((memory, category)) = own("memory_id").zip(own("category_id")) {
                        names.of_memories.entry(memory).or_default().push(category);
                    }
                }
                _ => {}
            }
            Ok(())
        })?;
        Ok(names)
    }

    /// Returns the names of the categories of a memory.
    fn tags(&self, id: &str, memory: &Map<String, Value>) -> Vec<String> {
        let own = texts(memory.get("category_ids"));
        let ids = own
            .iter()
            .chain(self.of_memories.get(id).into_iter().flatten());
        let mut tags = Vec::new();
        for tag in ids.filter_map(|id| self.categories.get(id)) {
            if !tags.contains(tag) {
                tags.push(tag.clone());
            }
        }
        tags
    }
}

pub fn read(path: &Path, outlet: &mut Outlet<'_>) -> Result<()> {
    let file = file(path);
    let names = Names::of(&file)?;
    walk(&file, LISTS, |steps, value| {
        if !matches!(steps, [Step::Key(list), Step::Place(_)] if list == "memories") {
            return Ok(());
        }
        if let Some(Value::Object(memory)) = value {
            return put(&memory, &names, outlet);
        }
        outlet.report.leave_out("entries that are no memory");
        Ok(())
    })?;
    Ok(())
}

fn put(said: &Map<String, Value>, names: &Names, outlet: &mut Outlet<'_>) -> Result<()> {
    let content = said.get("content").and_then(Value::as_str);
    let (Some(id), Some(content)) = (text(said, &["id"]), content) else {
        outlet.report.leave_out("entries that are no memory");
        return Ok(());
    };
    let state = text(said, &["state"]).unwrap_or_default();
    if state == "deleted" || text(said, &["deleted_at"]).is_some() {
        outlet.report.leave_out("deleted memories");
        return Ok(());
    }
    let mut memory = PeerMemory::new(id, content);
    let moment = |key: &str| text(said, &[key]).and_then(times::utc);
    (memory.created_at, memory.updated_at) = (moment("created_at"), moment("updated_at"));
    memory.tags = names.tags(id, said);
    memory.author.clone_from(&names.user);
    // Agents there do not see it.
    memory.is_hidden = matches!(state, "paused" | "archived");
    if memory.is_hidden {
        memory.note("state", state);
    }
    let app = text(said, &["app_id"]).and_then(|id| names.apps.get(id));
    memory.note("app", app.map_or("", String::as_str));
    let metadata = said.get("metadata").and_then(Value::as_object);
    let others = said
        .iter()
        .filter(|(name, _)| !OWN_KEYS.contains(&name.as_str()) && *name != "metadata");
    for (name, value) in metadata.into_iter().flatten().chain(others) {
        match value {
            Value::String(value) => memory.note(name, value),
            Value::Null => {}
            other => memory.note(name, &other.to_string()),
        }
    }
    outlet.put_memory(memory)
}
