//! Sets stored through tool calls, each in its own store next to it.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use loci::exit::{Exit, Failure};
use loci::output::status_line;
use loci::progress::Progress;
use loci::wiring::Parts;
use loci_core::{Caller, Filter, Memory, MemoryId, Timestamp, limits};
use loci_engine::SOURCE_FILE;
use loci_ingest::project;
use loci_mine::project::propose;
use serde_json::{Value, json};

use super::StoringTools;
use super::data::{FILES, Set, Text};
use crate::laboratory::{Laboratory, SetClock, copy, object, settle};

/// The user of the conversations, the wing and the room of the drawers.
pub const USER: &str = "sets";
/// The age of the texts at the time of the questions, in days.
const DAYS_AGO: i64 = 1;

/// A stored set that was not queried yet.
pub struct StoredSet {
    /// The data folder.
    data: PathBuf,
    /// The text of each memory, by id.
    texts: HashMap<String, String>,
    /// The folder that was mined, if one was.
    root: Option<PathBuf>,
}

impl StoredSet {
    /// Uses the store that an earlier run left next to the set, or makes it.
    ///
    /// # Errors
    /// [`Exit::Usage`] if that store holds another version of the set; else if the folder cannot be
    /// used, or a tool refuses.
    pub fn of(set: &Set, laboratory: &Laboratory<'_>, clock: &SetClock) -> Result<Self, Failure> {
        let model = laboratory.model();
        let name: String = model
            .chars()
            .map(|letter| {
                if letter.is_ascii_alphanumeric() {
                    letter
                } else {
                    '-'
                }
            })
            .collect();
        let data = set.folder.join(format!("store-{name}"));
        let list = set.folder.join(format!("store-{name}.json"));
        let root = match set.about.through {
            StoringTools::Mined => Some(PathBuf::from(loci_ingest::absolute(
                &set.folder.join(FILES),
            )?)),
            _ => None,
        };
        if let Ok(kept) = fs::read_to_string(&list) {
            let kept: Value = serde_json::from_str(&kept).unwrap_or_default();
            if kept["model"] != json!(model) || kept["version"] != json!(set.version) {
                let problem = format!(
                    "{} holds another version of the set or vectors of another model; remove it and {}, so that the set is \
                     filed again",
                    data.display(),
                    list.display()
                );
                return Err(Failure::new(Exit::Usage, problem));
            }
            let texts = kept["texts"].as_object().into_iter().flatten();
            let texts = texts
                .filter_map(|(id, text)| Some((id.clone(), text.as_str()?.to_owned())))
                .collect();
            return Ok(StoredSet { data, texts, root });
        }
        // An interrupted run leaves an incomplete store.
        let _ = fs::remove_dir_all(&data);
        status_line(format_args!("filing {} …", set.about.name));
        clock.set(DAYS_AGO);
        let parts = laboratory.open(&data)?;
        let texts = match &root {
            Some(root) => mine(root, &parts)?,
            None => file(set, &parts)?,
        };
        settle(&parts)?;
        drop(parts);
        fs::write(
            &list,
            json!({"model": model, "version": set.version, "texts": texts}).to_string(),
        )?;
        Ok(StoredSet { data, texts, root })
    }

    /// Opens a copy of the store, so that questions to it do not change the original.
    ///
    /// # Errors
    /// If it cannot be copied or opened.
    pub fn open(&self, folder: &Path, laboratory: &Laboratory<'_>) -> Result<Parts, Failure> {
        copy(&self.data, folder).map_err(|error| {
            Failure::new(
                Exit::Failure,
                format!("{} cannot be copied: {error}", self.data.display()),
            )
        })?;
        laboratory.open(folder)
    }

    /// Returns the text of a memory.
    pub fn text_of(&self, memory: &Memory) -> Option<String> {
        if let Some(root) = &self.root {
            let path = Path::new(memory.attributes.get(SOURCE_FILE)?)
                .strip_prefix(root)
                .ok()?;
            return Some(path.to_str()?.replace('\\', "/"));
        }
        let mut ids = [Some(&memory.id), memory.source.as_ref()]
            .into_iter()
            .flatten();
        ids.find_map(|id| self.texts.get(id.as_str())).cloned()
    }

    /// Returns the texts of the results of a tool, in their order.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn texts_of(&self, reply: &Value, parts: &Parts) -> Result<Vec<Option<String>>, Failure> {
        let results = reply
            .get("results")
            .unwrap_or(reply)
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        let id = |result: &Value| {
            let ids = [
                &result["_id"],
                &result["drawer_id"],
                &result["id"],
                &result["memory"]["id"],
            ];
            ids.into_iter().find_map(Value::as_str).map(MemoryId::new)
        };
        let ids: Vec<Option<MemoryId>> = results.iter().map(id).collect();
        let texts = self.texts_of_ids(ids.iter().flatten(), parts)?;
        Ok(ids
            .iter()
            .map(|id| texts.get(id.as_ref()?).cloned())
            .collect())
    }

    /// Returns the texts of memories, by id.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn texts_of_ids<'a>(
        &self,
        ids: impl Iterator<Item = &'a MemoryId>,
        parts: &Parts,
    ) -> Result<HashMap<MemoryId, String>, Failure> {
        let caller = Caller::local();
        // Results contain no expired memories.
        let filter = Filter::of(
            caller.space.clone(),
            caller.reader(),
            Timestamp::from_microseconds(0),
        );
        let ids: Vec<MemoryId> = ids.cloned().collect();
        let memories = parts.store.get_all(&filter, &ids)?;
        Ok(memories
            .into_iter()
            .filter_map(|memory| Some((memory.id.clone(), self.text_of(&memory)?)))
            .collect())
    }
}

/// Mines the folder as `loci palace mine` does. The path of each file identifies its text.
fn mine(root: &Path, parts: &Parts) -> Result<HashMap<String, String>, Failure> {
    let plan = propose(root)?;
    let root = loci_ingest::in_utf8(root.to_owned())?;
    let mining = project::Mining {
        files_again: false,
        root: &root,
        notes: None,
        plan: &plan,
        is_dry: false,
        rereads: false,
        is_verbatim: false,
    };
    let report = project::mine(
        &parts.engine.system(&loci_ingest::caller()),
        &mining,
        &Progress::new("files"),
    )?;
    if report.read == 0 || report.failures > 0 {
        let problem = format!(
            "of {root}, {} files were filed and {} were not",
            report.read, report.failures
        );
        return Err(Failure::new(Exit::Failure, problem));
    }
    Ok(HashMap::new())
}

/// Stores the texts; returns the text of each memory, by id.
fn file(set: &Set, parts: &Parts) -> Result<HashMap<String, String>, Failure> {
    let (dialect, _) = set.about.through.tools();
    let call = |tool: &str, arguments: Value| {
        Ok::<_, Failure>(parts.call_in(dialect, tool, object(arguments))?.structured)
    };
    let mut texts = HashMap::new();
    let mut add = |id: &Value, text: &Text| {
        texts.insert(id.as_str().unwrap_or_default().to_owned(), text.id.clone())
    };
    if set.about.through == StoringTools::Messages {
        for thread in set.texts.chunk_by(|one, next| one.thread == next.thread) {
            for chunk in thread.chunks(limits::MESSAGES_MAX) {
                let message = |text: &Text| json!({"role": text.role, "content": text.content, "tags": text.tags});
                let messages: Vec<Value> = chunk.iter().map(message).collect();
                let arguments = json!({"user_id": USER, "conversation_id": chunk[0].thread, "messages": messages});
                let reply = call("store_memory", arguments)?;
                let ids = reply["stm_ids"].as_array().map_or(&[][..], Vec::as_slice);
                ids.iter().zip(chunk).for_each(|(id, text)| {
                    add(id, text);
                });
            }
        }
        return Ok(texts);
    }
    for text in &set.texts {
        let (tool, arguments, id) = match set.about.through {
            StoringTools::Facts => ("remember", json!({"content": text.content}), "id"),
            StoringTools::Notes => (
                "memory_append",
                json!({"title": text.title, "body": text.content}),
                "id",
            ),
            _ => {
                let arguments = json!({"wing": USER, "room": USER, "content": text.content});
                ("mempalace_add_drawer", arguments, "drawer_id")
            }
        };
        add(&call(tool, arguments)?[id], text);
    }
    Ok(texts)
}
