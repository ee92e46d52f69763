//! The memory of Claude.ai in the export of an account: its texts, and the knowledge and
//! instructions of projects. Conversations are transcripts, which `loci-mine` reads.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::json_file::{self, text};
use crate::json_walk::{Lists, Step, walk};
use crate::{Outlet, PeerMemory, Result, folder, times};

const MEMORIES: &str = "memories.json";
const PROJECTS: &str = "projects";
const CONVERSATIONS: &str = "conversations";
/// The keys of the memory of all conversations, and of the ones of projects.
const ACCOUNT_MEMORY: &str = "conversations_memory";
const PROJECT_MEMORIES: &str = "project_memories";

/// Where the documents of a project are, in its own file or in a list of projects.
const LISTS: Lists<'_> = &[&["docs", "*"], &["*", "docs", "*"]];

/// Returns the files of the folder, or of the only folder in it, whose names start so.
pub fn files(path: &Path, beginning: &str) -> Vec<PathBuf> {
    let entries = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten();
        entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect::<Vec<_>>()
    };
    let is_named = |file: &PathBuf| {
        let name = file
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        name.starts_with(beginning)
            && (file.is_dir() || file.extension().is_some_and(|ending| ending == "json"))
    };
    let mut own = entries(path);
    if let [only] = &own[..]
        && only.is_dir()
        && !is_named(only)
    {
        own = entries(only);
    }
    own.retain(is_named);
    own.sort();
    own
}

/// Returns true if the folder is an export of Claude.ai, or the file its memories.
pub fn wrote(path: &Path) -> bool {
    let has = |file: &Path, keys: &[&str]| {
        let head = json_file::head(file);
        keys.iter().any(|key| head.contains(&format!("\"{key}\"")))
    };
    if path.is_file() {
        return has(path, &[ACCOUNT_MEMORY, PROJECT_MEMORIES]);
    }
    files(path, CONVERSATIONS)
        .iter()
        .any(|file| has(file, &["chat_messages"]))
        || files(path, MEMORIES)
            .iter()
            .any(|file| has(file, &[ACCOUNT_MEMORY, PROJECT_MEMORIES]))
        || files(path, PROJECTS)
            .iter()
            .any(|file| has(file, &["prompt_template"]))
}

pub fn read(path: &Path, outlet: &mut Outlet<'_>) -> Result<()> {
    if path.is_file() {
        return read_memories(path, &HashMap::new(), outlet);
    }
    let mut names = HashMap::new();
    for entry in files(path, PROJECTS) {
        let files = if entry.is_dir() {
            folder::files(&entry, folder::Hidden::LeftOut, &mut outlet.report)?
        } else {
            vec![entry]
        };
        for file in files {
            read_projects(&file, &mut names, outlet)?;
        }
    }
    for file in files(path, MEMORIES) {
        read_memories(&file, &names, outlet)?;
    }
    Ok(())
}

/// Reads a file of a project, or of a list of these: first what is said of each, and then the documents,
/// which may be large, one by one.
fn read_projects(
    file: &Path,
    names: &mut HashMap<String, String>,
    outlet: &mut Outlet<'_>,
) -> Result<()> {
    let mut projects: BTreeMap<u64, Map<String, Value>> = BTreeMap::new();
    walk(file, LISTS, |steps, value| {
        match (place_and_key(steps), value) {
            (Some((place, key)), Some(value)) if !is_document(steps) => {
                let project = projects.entry(place).or_default();
                project.insert(key.to_owned(), value);
            }
            (Some(_), Some(_)) => {}
            _ => outlet.report.leave_out("elements that are no JSON object"),
        }
        Ok(())
    })?;
    let mut own: BTreeMap<u64, &Map<String, Value>> = BTreeMap::new();
    for (place, project) in &projects {
        if put_project(project, names, outlet)? {
            own.insert(*place, project);
        }
    }
    walk(file, LISTS, |steps, value| {
        let project = place_and_key(steps).and_then(|(place, _)| own.get(&place));
        match (project, value) {
            (Some(project), Some(Value::Object(document))) if is_document(steps) => {
                put_document(&document, project, outlet)
            }
            _ => Ok(()),
        }
    })?;
    Ok(())
}

/// Returns the number of the project in its file, and the key of one of its parts.
fn place_and_key(steps: &[Step]) -> Option<(u64, &str)> {
    match steps {
        [Step::Place(place), Step::Key(key), ..] => Some((*place, key)),
        [Step::Key(key), ..] => Some((0, key)),
        _ => None,
    }
}

fn is_document(steps: &[Step]) -> bool {
    matches!(steps, [.., Step::Place(_)])
}

fn moment(of: &Map<String, Value>, key: &str) -> Option<Timestamp> {
    text(of, &[key]).and_then(times::utc)
}

/// Passes on what is said of a project; returns false if its documents are left out as well.
fn put_project(
    project: &Map<String, Value>,
    names: &mut HashMap<String, String>,
    outlet: &mut Outlet<'_>,
) -> Result<bool> {
    let (Some(uuid), Some(name)) = (text(project, &["uuid"]), text(project, &["name"])) else {
        outlet.report.leave_out("projects without an id or a name");
        return Ok(false);
    };
    names.insert(uuid.to_owned(), name.to_owned());
    if project.get("is_starter_project") == Some(&Value::Bool(true)) {
        outlet
            .report
            .leave_out("projects that every account starts with");
        return Ok(false);
    }
    for (key, kind) in [
        ("description", "description"),
        ("prompt_template", "instructions"),
    ] {
        if let Some(said) = text(project, &[key]) {
            let mut memory = PeerMemory::new(format!("{uuid}/{key}"), said);
            memory.title = Some(format!("{name}: {kind}"));
            memory.container = Some(name.to_owned());
            memory.kind = Some(kind.to_owned());
            memory.created_at = moment(project, "created_at");
            memory.updated_at = moment(project, "updated_at");
            outlet.put_memory(memory)?;
        }
    }
    Ok(true)
}

fn put_document(
    document: &Map<String, Value>,
    project: &Map<String, Value>,
    outlet: &mut Outlet<'_>,
) -> Result<()> {
    let content = document.get("content").and_then(Value::as_str);
    let (Some(id), Some(content)) = (text(document, &["uuid"]), content) else {
        outlet.report.leave_out("documents without an id or a text");
        return Ok(());
    };
    let mut memory = PeerMemory::new(id, content);
    memory.title = text(document, &["filename"]).map(str::to_owned);
    memory.container = text(project, &["name"]).map(str::to_owned);
    memory.kind = Some("document".to_owned());
    memory.created_at = moment(document, "created_at");
    outlet.put_memory(memory)
}

/// Passes on the memory texts. They have no time but that of the export.
fn read_memories(
    file: &Path,
    names: &HashMap<String, String>,
    outlet: &mut Outlet<'_>,
) -> Result<()> {
    let modified = fs::metadata(file).and_then(|data| data.modified()).ok();
    let time = modified.and_then(|time| Timestamp::try_from(time).ok());
    let put = |id: String, said: &Value, container: Option<String>, outlet: &mut Outlet<'_>| {
        let Some(said) = said.as_str() else {
            outlet
                .report
                .leave_out("memory texts in a form that is not known");
            return Ok(());
        };
        let mut memory = PeerMemory::new(id, said);
        memory.container = container;
        memory.kind = Some("memory".to_owned());
        (memory.created_at, memory.updated_at) = (time, time);
        outlet.put_memory(memory)
    };
    walk(file, &[&["*"]], |_, value| {
        let Some(Value::Object(memories)) = value else {
            outlet.report.leave_out("elements that are no JSON object");
            return Ok(());
        };
        let account = text(&memories, &["account_uuid"]).unwrap_or_default();
        for (key, value) in &memories {
            match (key.as_str(), value) {
                ("account_uuid", _) | (_, Value::Null) => {}
                (PROJECT_MEMORIES, Value::Object(projects)) => {
                    for (uuid, said) in projects.iter().filter(|(_, said)| !said.is_null()) {
                        let name = names.get(uuid).or(Some(uuid)).cloned();
                        put(format!("{key}/{uuid}"), said, name, outlet)?;
                    }
                }
                _ => put(format!("{account}/{key}"), value, None, outlet)?,
            }
        }
        Ok(())
    })?;
    Ok(())
}
