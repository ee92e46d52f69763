//! Conversations stored through tool calls, each in its own store.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use loci::exit::{Exit, Failure};
use loci::output::status_line;
use loci_core::limits;
use serde_json::{Value, json};

use super::View;
use super::data::{Conversation, Session};
use crate::laboratory::{Laboratory, copy, object, settle};

/// A stored conversation that was not queried yet.
pub struct StoredConversation {
    /// The data folder.
    data: PathBuf,
    /// The turn of each memory, by id.
    turns: HashMap<String, String>,
}

impl StoredConversation {
    /// Uses the store that an earlier run left in the folder, or makes it.
    ///
    /// # Errors
    /// If the folder cannot be used, or a tool refuses.
    pub fn of(
        conversation: &Conversation,
        folder: &Path,
        view: View,
        laboratory: &Laboratory<'_>,
    ) -> Result<Self, Failure> {
        let name = format!("{}.{}", conversation.name, view.dialect().name);
        let (data, list) = (folder.join(&name), folder.join(format!("{name}.json")));
        let model = laboratory.model();
        let turns_to_store: usize = conversation
            .sessions
            .iter()
            .map(|session| session.turns.len())
            .sum();
        if let Some(turns) = kept(&list, &model).filter(|turns| turns.len() == turns_to_store) {
            return Ok(StoredConversation { data, turns });
        }
        // An interrupted run leaves an incomplete store.
        let _ = fs::remove_dir_all(&data);
        status_line(format_args!("storing {} …", conversation.name));
        let parts = laboratory.open(&data)?;
        let mut turns = HashMap::new();
        for session in &conversation.sessions {
            turns.extend(file(conversation, session, view, &parts)?);
        }
        settle(&parts)?;
        drop(parts);
        fs::write(&list, json!({"model": model, "turns": turns}).to_string())?;
        Ok(StoredConversation { data, turns })
    }

    /// Copies the store, so that questions to the copy do not count as accesses in the original.
    ///
    /// # Errors
    /// If it cannot be copied.
    pub fn copy_to(&self, folder: &Path) -> Result<(), Failure> {
        copy(&self.data, folder).map_err(|error| {
            Failure::new(
                Exit::Failure,
                format!("{} cannot be copied: {error}", self.data.display()),
            )
        })
    }

    /// Returns the turn of a result, which is a message, a memory made from it, or a fact.
    pub fn turn(&self, result: &Value) -> Option<&str> {
        let ids = [
            &result["_id"],
            &result["source_stm_id"],
            &result["memory"]["id"],
        ];
        ids.into_iter()
            .find_map(|id| self.turns.get(id.as_str()?))
            .map(String::as_str)
    }
}

/// Returns the turns that an earlier run recorded, if it was complete and its vectors are this
/// model's.
fn kept(list: &Path, model: &str) -> Option<HashMap<String, String>> {
    let kept: Value = serde_json::from_str(&fs::read_to_string(list).ok()?).ok()?;
    if kept["model"] != model {
        return None;
    }
    let turns = kept["turns"].as_object()?;
    Some(
        turns
            .iter()
            .filter_map(|(id, turn)| Some((id.clone(), turn.as_str()?.to_owned())))
            .collect(),
    )
}

/// Stores a session; returns the ids with their turns.
fn file(
    conversation: &Conversation,
    session: &Session,
    view: View,
    parts: &loci::wiring::Parts,
) -> Result<Vec<(String, String)>, Failure> {
    let tags: Vec<&String> = session.date.iter().collect();
    let mut filed = Vec::with_capacity(session.turns.len());
    let mut add = |id: &Value, turn: &str| {
        filed.push((id.as_str().unwrap_or_default().to_owned(), turn.to_owned()));
    };
    match view {
        View::MemoryMcp => {
            for turns in session.turns.chunks(limits::MESSAGES_MAX) {
                let role = |is_first_speaker| if is_first_speaker { "human" } else { "ai" };
                let messages: Vec<Value> = turns
                    .iter()
                    .map(|turn| json!({"role": role(turn.is_first_speaker), "content": turn.text, "tags": tags}))
                    .collect();
                let thread = format!("session_{}", session.number);
                let call = json!({"user_id": conversation.name, "conversation_id": thread, "messages": messages});
                let stored = parts
                    .call_in(view.dialect(), "store_memory", object(call))?
                    .structured;
                let ids = stored["stm_ids"].as_array().map_or(&[][..], Vec::as_slice);
                ids.iter()
                    .zip(turns)
                    .for_each(|(id, turn)| add(id, &turn.id));
            }
        }
        View::Mememory => {
            for turn in &session.turns {
                let call =
                    json!({"content": turn.text, "project": conversation.name, "tags": tags});
                add(
                    &parts
                        .call_in(view.dialect(), "remember", object(call))?
                        .structured["id"],
                    &turn.id,
                );
            }
        }
    }
    Ok(filed)
}
