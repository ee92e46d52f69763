//! Sets filed through tool calls, each in a store of its own.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use loci_core::MemoryId;
use loci_core::limits;
use loci_dialects::{Dialect, mememory, memory_mcp, mempalace, vault};
use loci_engine::SOURCE_FILE;
use loci_mine::project::propose;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use super::material::{Set, Text, Through};
use crate::commands::bench::laboratory::{Laboratory, copy, object, settle};
use crate::exit::{Exit, Failure};
use crate::mining::{absolute, caller, project};
use crate::output::note;
use crate::progress::Progress;
use crate::secret::hex;
use crate::wiring::Parts;

/// The user of the messages.
pub const USER: &str = "sets";

/// A set in its store, of which nothing was asked yet.
pub struct Stored {
    data: PathBuf,
    /// The text that each memory is, by id; of a mined project, the path of its file.
    texts: HashMap<String, String>,
}

impl Stored {
    /// Takes the store that an earlier run left beside the set, if it holds the same texts with vectors of the same
    /// model, or files it.
    ///
    /// # Errors
    /// If the folder cannot be used, or a tool refuses a text.
    pub fn of(set: &Set, laboratory: &Laboratory<'_>) -> Result<Self, Failure> {
        let model = laboratory.model();
        let short: String = hex(&Sha256::digest(&model)).chars().take(8).collect();
        let data = set.folder.join(format!("store-{short}"));
        let list = set.folder.join(format!("store-{short}.json"));
        let known = hex(&Sha256::digest(format!("{model} {:?}", set.texts)));
        if let Some(texts) = kept(&list, &known) {
            return Ok(Stored { data, texts });
        }
        // An interrupted run leaves a part of it.
        let _ = fs::remove_dir_all(&data);
        note(format_args!("filing {} …", set.name));
        let parts = laboratory.open(&data)?;
        let mut stored = Stored { data, texts: HashMap::new() };
        match set.through {
            Through::Mined => stored.mine(set, &parts)?,
            Through::Messages => stored.converse(set, &parts)?,
            Through::Facts | Through::Drawers | Through::Notes => stored.file(set, &parts)?,
        }
        settle(&parts)?;
        drop(parts);
        fs::write(&list, json!({"known": known, "texts": stored.texts}).to_string())?;
        Ok(stored)
    }

    /// A copy of the store, so that a question changes nothing for others.
    ///
    /// # Errors
    /// If it cannot be copied.
    pub fn copy(&self) -> Result<TempDir, Failure> {
        let folder = tempfile::tempdir()?;
        copy(&self.data, folder.path()).map_err(|error| {
            Failure::new(Exit::Failure, format!("{} cannot be copied: {error}", self.data.display()))
        })?;
        Ok(folder)
    }

    /// The text that a memory is.
    pub fn text_of(&self, id: &str) -> Option<&String> {
        self.texts.get(id)
    }

    fn file(&mut self, set: &Set, parts: &Parts) -> Result<(), Failure> {
        for Text { id, text, .. } in &set.texts {
            let (dialect, tool, key, arguments): (&Dialect, _, _, _) = match set.through {
                Through::Facts => (&mememory::DIALECT, "remember", "id", json!({"content": text, "project": set.name})),
                Through::Notes => (
                    &vault::DIALECT,
                    "memory_append",
                    "id",
                    json!({"title": format!("Note {}", self.texts.len()), "body": text}),
                ),
                _ => {
                    let arguments = json!({"content": text, "wing": set.name, "room": "general"});
                    (&mempalace::DIALECT, "mempalace_add_drawer", "drawer_id", arguments)
                }
            };
            let reply = parts.call_in(dialect, tool, object(arguments))?.structured;
            let stored = reply[key].as_str().unwrap_or_default();
            self.texts.insert(stored.to_owned(), id.clone());
        }
        Ok(())
    }

    fn converse(&mut self, set: &Set, parts: &Parts) -> Result<(), Failure> {
        for thread in set.texts.chunk_by(|one, next| one.thread == next.thread) {
            for texts in thread.chunks(limits::MESSAGES_MAX) {
                let message = |text: &Text| json!({"role": "human", "content": text.text});
                let messages: Vec<Value> = texts.iter().map(message).collect();
                let call = json!({"user_id": USER, "conversation_id": texts[0].thread, "messages": messages});
                let reply = parts.call_in(&memory_mcp::DIALECT, "store_memory", object(call))?.structured;
                let ids = reply["stm_ids"].as_array().map_or(&[][..], Vec::as_slice);
                let ids = ids.iter().filter_map(Value::as_str).map(str::to_owned);
                self.texts.extend(ids.zip(texts.iter().map(|text| text.id.clone())));
            }
        }
        Ok(())
    }

    fn mine(&mut self, set: &Set, parts: &Parts) -> Result<(), Failure> {
        let files = set.folder.join("files");
        let root = absolute(&files)?;
        let plan = propose(&files)?;
        let mining = project::Mining { root: &root, plan: &plan, is_dry: false, rereads: false, is_verbatim: false };
        project::mine(&parts.engine, &mining, &Progress::new("files"))?;
        let drawers = parts.call_in(&mempalace::DIALECT, "mempalace_list_drawers", object(json!({"limit": 1})))?;
        let total = drawers.structured["total"].as_u64().unwrap_or(0);
        let mut offset = 0;
        while offset < total {
            let page = json!({"limit": 100, "offset": offset});
            let page = parts.call_in(&mempalace::DIALECT, "mempalace_list_drawers", object(page))?.structured;
            let drawers = page["drawers"].as_array().map_or(&[][..], Vec::as_slice);
            if drawers.is_empty() {
                break;
            }
            offset += drawers.len() as u64;
            for id in drawers.iter().filter_map(|drawer| drawer["drawer_id"].as_str()) {
                let memory = parts.engine.show(&caller(), &MemoryId::new(id))?;
                let path = memory.attributes.get(SOURCE_FILE).and_then(|path| path.strip_prefix(&root));
                if let Some(path) = path {
                    self.texts.insert(id.to_owned(), path.trim_start_matches('/').to_owned());
                }
            }
        }
        Ok(())
    }
}

/// The ids that an earlier run noted, if it was complete.
fn kept(list: &std::path::Path, known: &str) -> Option<HashMap<String, String>> {
    let kept: Value = serde_json::from_str(&fs::read_to_string(list).ok()?).ok()?;
    if kept["known"] != known {
        return None;
    }
    let texts = kept["texts"].as_object()?;
    Some(texts.iter().filter_map(|(id, text)| Some((id.clone(), text.as_str()?.to_owned()))).collect())
}
