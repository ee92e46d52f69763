//! The tool `mempalace_diary_write`: writes an entry in an agent's diary.

use loci_core::limits::TAG_BYTES_MAX;
use loci_core::{Error, Memory, Result, Scope, Tier, Visibility};
use loci_engine::{Call, FilingResult, Remember, RememberResult, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::arguments::{ALREADY_EXISTS, collection, given, name, wing};
use super::drawer_id::drawer_ids;
use super::times::date;
use crate::faults::Faults;
use crate::wire::{offset8601, pending};
use crate::{Hints, Reply, TypedTool};

/// The room of every diary, and the kind of its entries.
pub const DIARY: &str = "diary";
/// The attribute with the subject of an entry.
pub const TOPIC: &str = "topic";
/// The topic of an entry if its writer gives none.
const TOPIC_DEFAULT: &str = "general";
/// The bytes of the hash in a tag.
const TAG_HASH_BYTES: usize = 8;
/// The attribute with the writing agent.
const AGENT: &str = "agent";

pub struct DiaryWrite;

/// Write in your diary for later sessions: what you did, learned and doubt. Each agent has its own,
/// which other searches do not show. AAAK (`mempalace_get_aaak_spec`) keeps it short.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Your name, the same each time (1 to 128 characters, in any case).
    agent_name: String,
    /// The text (at most 1 MiB). No secrets.
    entry: String,
    /// Its subject, in a word or two.
    topic: Option<String>,
    /// The wing to write it in, such as that of a project; your own, if left out.
    wing: Option<String>,
}

/// An entry to write.
pub struct DiaryEntry {
    pub agent: String,
    pub entry: String,
    pub topic: String,
    /// The wing; `None` for that of the agent.
    pub wing: Option<String>,
}

/// The entry that was written.
#[derive(Serialize, JsonSchema)]
pub struct WrittenEntry {
    /// Always true.
    success: bool,
    /// The id of the entry.
    entry_id: String,
    /// Your name.
    agent: String,
    /// Its subject.
    topic: String,
    /// When it was written.
    timestamp: String,
    /// `already_exists` if it was written before on this day and nothing was added.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}

/// Returns the wing of an agent's diary.
pub fn wing_of(agent: &str) -> String {
    let name = agent.trim().to_lowercase();
    format!("wing_{}", name.replace(char::is_whitespace, "_"))
}

/// Returns the tag of an agent's entries in other wings than its own one: that wing's name, or a hash
/// of a longer one than a tag may have.
pub fn tag_of(own_wing: &str) -> String {
    if own_wing.len() <= TAG_BYTES_MAX {
        return own_wing.to_owned();
    }
    let bytes = Sha256::digest(own_wing).into_iter().take(TAG_HASH_BYTES);
    let hash = bytes.fold(0_u64, |hash, byte| hash << 8 | u64::from(byte));
    format!("wing_{hash:016x}")
}

impl TypedTool for DiaryWrite {
    const NAME: &'static str = "mempalace_diary_write";
    const TITLE: &'static str = "Write in the diary";
    const SCOPE: Scope = Scope::Write;
    const HINTS: Hints = Hints::ADDS;
    const OPERATION: &'static str = "memory:write";
    type Arguments = Arguments;
    type Output = WrittenEntry;

    fn faults(arguments: &Value) -> Vec<Error> {
        Faults::of(arguments)
            .check("agent_name", name)
            .check("entry", check::content)
            .optional("topic", name)
            .optional("wing", name)
            .found()
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let entry = DiaryEntry {
            agent: arguments.agent_name.trim().to_owned(),
            entry: arguments.entry,
            topic: given(arguments.topic).unwrap_or_else(|| TOPIC_DEFAULT.to_owned()),
            wing: given(arguments.wing),
        };
        let (agent, request) = requested(entry);
        let RememberResult {
            memory, embedding, ..
        } = call.memories().remember(request)?;
        let written = WrittenEntry::of(agent, &memory, None);
        Ok(Reply::json(&written, None)?.with_notice(pending("written", embedding)))
    }
}

/// Returns the agent, and the entry as a memory to store.
fn requested(entry: DiaryEntry) -> (String, Remember) {
    let DiaryEntry {
        agent,
        entry,
        topic,
        wing,
    } = entry;
    let own = wing_of(&agent);
    let wing = wing.unwrap_or_else(|| own.clone());
    let said = [(AGENT, agent.clone()), (TOPIC, topic)];
    let request = Remember {
        tags: (wing != own).then(|| tag_of(&own)).into_iter().collect(),
        collection: collection(&wing),
        tier: Tier::Unlisted,
        // Others can read it; only its writer can change it.
        visibility: Visibility::Shared,
        attributes: said.map(|(name, value)| (name.to_owned(), value)).into(),
        ..Remember::new(entry, DIARY)
    };
    (agent, request)
}

/// Writes an entry unless it was written in this wing on this day (UTC), as when a call is repeated;
/// returns it with a notice if it is not embedded yet.
///
/// # Errors
/// The errors of [`store_once`](loci_engine::Memories::store_once).
pub fn write_once(call: &Call<'_>, entry: DiaryEntry) -> Result<(WrittenEntry, Option<String>)> {
    let (agent, request) = requested(entry);
    let day = date(call.engine().now());
    let wing = wing(request.collection.clone());
    let of_the_day = format!("{day}\n{}", request.content);
    let ids = drawer_ids(&wing, DIARY, &of_the_day);
    Ok(match call.memories().store_once(&ids, request)? {
        FilingResult::New(remembered) => (
            WrittenEntry::of(agent, &remembered.memory, None),
            pending("written", remembered.embedding),
        ),
        FilingResult::Existing(memory) => {
            (WrittenEntry::of(agent, &memory, Some(ALREADY_EXISTS)), None)
        }
    })
}

impl WrittenEntry {
    fn of(agent: String, memory: &Memory, reason: Option<&'static str>) -> Self {
        WrittenEntry {
            success: true,
            entry_id: memory.id.to_string(),
            agent,
            // As it is stored, without secrets.
            topic: memory.attributes.get(TOPIC).cloned().unwrap_or_default(),
            timestamp: offset8601(memory.created_at),
            reason,
        }
    }
}
