//! The tool `memory_append`: writes a note.

use loci_core::limits::TAGS_MAX;
use loci_core::{Error, Memory, Result, Scope};
use loci_engine::{AppendNote, AppendOutcome, Call, Embedding, KeyedNote, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::record::{ACTIVE, kept};
use crate::faults::Faults;
use crate::wire::rfc3339;
use crate::{Hints, Reply, TypedTool};

pub struct MemoryAppend;

/// Write a note: a new Markdown file that people and later sessions find. Put one subject into a
/// note, with the reason and whatever makes it clear without this conversation; `#tags` and
/// `[[links to other notes]]` in the text count. Nothing that was there changes: a title may be
/// used again.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The subject of the note, in a few words (1 to 256 characters); its file is named after it.
    title: String,
    /// The text, in Markdown (at most 1 MiB). It is kept as given, but for the ends of its lines.
    body: String,
    /// Labels, at most 128 of 128 bytes; searches find it by them, too.
    #[serde(default)]
    #[schemars(length(max = TAGS_MAX))]
    tags: Vec<String>,
    /// A name of yours for this call (1 to 256 characters), new for each note: repeated with the
    /// same arguments within a day, it writes nothing and says what was answered first, even if the
    /// note was forgotten since.
    idempotency_key: Option<String>,
}

/// The note that was written.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The id of the note.
    id: String,
    /// Its title.
    title: String,
    /// Always `active`.
    status: &'static str,
    /// When it was written.
    created_at: String,
    /// A note that has the same title and text. Both are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicate_of: Option<String>,
}

impl Output {
    fn of(memory: &Memory, title: &str) -> Self {
        Output {
            id: memory.id.to_string(),
            // The stored title: secrets may have been removed from it.
            title: memory.title.as_deref().unwrap_or(title).to_owned(),
            status: ACTIVE,
            created_at: rfc3339(memory.created_at),
            duplicate_of: None,
        }
    }
}

impl TypedTool for MemoryAppend {
    const NAME: &'static str = "memory_append";
    const TITLE: &'static str = "Write a note";
    const SCOPE: Scope = Scope::Write;
    const HINTS: Hints = Hints::ADDS;
    const OPERATION: &'static str = "memory:write";
    const ALIASES: &'static [(&'static str, &'static str)] = &[("content", "body")];
    type Arguments = Arguments;
    type Output = Output;

    fn faults(arguments: &Value) -> Vec<Error> {
        Faults::of(arguments)
            .check("title", check::name)
            .check("body", check::content)
            .check("idempotency_key", check::name)
            .items("tags", TAGS_MAX, check::tag)
            .found()
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let Arguments {
            title,
            body,
            tags,
            idempotency_key,
        } = arguments;
        let answer = |memory: &Memory| crate::tool::to_value(&Output::of(memory, &title));
        let compared = |memory: &Memory| {
            let duplicate_of = call.search().duplicate_of(memory).map(|id| id.to_string());
            crate::tool::to_value(&Output {
                duplicate_of,
                ..Output::of(memory, &title)
            })
        };
        let written = |memory: &Memory| answer(memory).unwrap_or_default().to_string();
        let keyed = idempotency_key.as_deref().map(|key| KeyedNote {
            operation: MemoryAppend::NAME,
            key,
            answer: &written,
        });
        let note = AppendNote {
            title: title.clone(),
            body,
            tags,
            keyed,
        };
        match call.notes().append(note)? {
            AppendOutcome::New(memory, embedding) => {
                let pending = match embedding {
                    Embedding::Done => None,
                    Embedding::Pending(reason) => {
                        Some(format!("written, not found by its meaning yet: {reason}"))
                    }
                };
                Ok(Reply::json(&compared(&memory)?, None)?.with_notice(pending))
            }
            AppendOutcome::Unindexed(memory, reason) => {
                let notice = format!(
                    "written, and found later, since the index cannot be written now: {reason}"
                );
                Ok(Reply::json(&compared(&memory)?, None)?.with_notice(Some(notice)))
            }
            AppendOutcome::Before(answer) => Reply::json(&kept::<Value>(&answer)?, None),
        }
    }
}
