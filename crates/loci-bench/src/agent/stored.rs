//! The store that the tasks query, filled through tool calls.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use loci::exit::{Exit, Failure};
use loci::output::status_line;
use loci::wiring::Parts;
use loci_core::{Caller, Principal, Scope, Scopes, Space};
use loci_dialects::{Context, Reply};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::material::{Call, expanded, in_strings};
use crate::laboratory::{Laboratory, SetClock, copy, settle};

/// The milliseconds between two calls of a day.
const BETWEEN_CALLS_MS: i64 = 100;
/// The number of characters of shortened ids.
const SHORT_ID_CHARACTERS: usize = 8;
/// The names of an id in replies.
const ID_KEYS: [&str; 6] = [
    "id",
    "_id",
    "drawer_id",
    "entry_id",
    "triple_id",
    "cache_id",
];

/// A filled store that was not queried yet.
pub struct FilledStore {
    data: PathBuf,
    /// The ids of the named memories.
    ids: HashMap<String, String>,
}

impl FilledStore {
    /// Uses the store that an earlier run left in the folder, if it was filled by the same calls
    /// with the same model, or fills a new one.
    ///
    /// # Errors
    /// If the folder cannot be used, or a tool refuses a call.
    pub fn of(
        calls: &[Call],
        folder: &Path,
        laboratory: &Laboratory<'_>,
        clock: &SetClock,
    ) -> Result<Self, Failure> {
        let (data, list) = (folder.join("agent"), folder.join("agent.json"));
        let known = format!("{} {} {calls:?}", laboratory.model(), laboratory.search());
        let known = HEXLOWER.encode(&Sha256::digest(known));
        if let Some(ids) = kept(&list, &known) {
            return Ok(FilledStore { data, ids });
        }
        // An interrupted run leaves an incomplete store.
        let _ = fs::remove_dir_all(&data);
        status_line(format_args!("filing {} calls …", calls.len()));
        let parts = laboratory.open(&data)?;
        let mut stored = FilledStore {
            data,
            ids: HashMap::new(),
        };
        let mut milliseconds = 0;
        for call in calls {
            for _ in 0..call.times {
                milliseconds += BETWEEN_CALLS_MS;
                clock.set_after_noon(call.days_ago, milliseconds);
                let reply = stored
                    .call(call, &Ids::default(), &parts)
                    .map_err(|failure| {
                        let name = call.name.as_deref().unwrap_or("a memory");
                        Failure {
                            message: format!(
                                "{name} cannot be filed with {}: {}",
                                call.tool, failure.message
                            ),
                            ..failure
                        }
                    })?;
                if let (Some(name), Some(id)) = (&call.name, id_in(&reply.structured)) {
                    stored.ids.insert(name.clone(), id.to_owned());
                }
            }
        }
        settle(&parts)?;
        drop(parts);
        fs::write(
            &list,
            json!({"calls": known, "ids": stored.ids}).to_string(),
        )?;
        Ok(stored)
    }

    /// Copies the store.
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

    /// Makes a call.
    ///
    /// # Errors
    /// The errors of the tool; [`Exit::Failure`] if there is no such tool.
    pub fn call(&self, call: &Call, ids: &Ids, parts: &Parts) -> Result<Reply, Failure> {
        let name = call.dialect.as_deref().unwrap_or_default();
        let dialect = loci_dialects::dialect(name)
            .ok_or_else(|| Failure::new(Exit::Failure, format!("there is no dialect {name}")))?;
        let tool = dialect.tool(&call.tool).ok_or_else(|| {
            Failure::new(
                Exit::Failure,
                format!("the {name} dialect has no tool {}", call.tool),
            )
        })?;
        let mut arguments: Map<String, Value> = call.arguments.clone();
        arguments
            .values_mut()
            .for_each(|value| in_strings(value, &mut |text| self.with_ids(text, ids)));
        let caller = caller(call.caller.as_deref());
        Ok(dialect.call(
            tool,
            Context {
                engine: &parts.engine,
                caller: &caller,
            },
            arguments,
        )?)
    }

    /// Replaces the names in the text by ids.
    pub fn with_ids(&self, text: &str, ids: &Ids) -> String {
        expanded(text, |name| {
            let (form, name) = name.split_once(' ').unwrap_or((name, ""));
            let of_name = || self.ids.get(name).cloned();
            match form {
                "shown" => ids.shown.clone(),
                "id" => of_name(),
                "head" => of_name().map(|id| id.chars().take(SHORT_ID_CHARACTERS).collect()),
                "tail" => of_name().map(|id| {
                    let characters: Vec<char> = id.chars().collect();
                    characters[characters.len().saturating_sub(SHORT_ID_CHARACTERS)..]
                        .iter()
                        .collect()
                }),
                _ => None,
            }
        })
    }
}

/// The ids that a task learns from its steps.
#[derive(Debug, Default)]
pub struct Ids {
    /// The id that its last step showed.
    pub shown: Option<String>,
}

/// Returns the local user, or the bearer of a token of that name, who reads memories that are
/// common, shared or their own.
pub fn caller(name: Option<&str>) -> Caller {
    let scopes = || Scopes::of(&[Scope::Read, Scope::Write]);
    name.map_or_else(Caller::local, |name| {
        Caller::new(Space::default(), Principal::new(name, scopes()))
    })
}

/// Returns the id of the memory that a reply says was stored; of several messages, the first.
fn id_in(reply: &Value) -> Option<&str> {
    ID_KEYS
        .iter()
        .find_map(|key| reply[key].as_str())
        .or_else(|| reply["stm_ids"][0].as_str())
}

/// Returns the id of the innermost object that has an id and a text with that part.
pub fn id_beside<'a>(reply: &'a Value, part: &str) -> Option<&'a str> {
    let inner = match reply {
        Value::Array(items) => items.iter().find_map(|item| id_beside(item, part)),
        Value::Object(fields) => fields.values().find_map(|field| id_beside(field, part)),
        _ => None,
    };
    let holds = |reply: &Value| {
        let texts = reply
            .as_object()
            .map(|fields| fields.values().filter_map(Value::as_str));
        texts.is_some_and(|mut texts| texts.any(|text| text.contains(part)))
    };
    inner.or_else(|| id_in(reply).filter(|_| holds(reply)))
}

/// Returns the ids that an earlier run recorded, if it was complete and made these calls.
fn kept(list: &Path, known: &str) -> Option<HashMap<String, String>> {
    let kept: Value = serde_json::from_str(&fs::read_to_string(list).ok()?).ok()?;
    let ids = kept["ids"].as_object().filter(|_| kept["calls"] == known)?;
    Some(
        ids.iter()
            .filter_map(|(name, id)| Some((name.clone(), id.as_str()?.to_owned())))
            .collect(),
    )
}
