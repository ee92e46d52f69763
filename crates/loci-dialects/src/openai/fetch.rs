//! The tool `fetch`: returns a memory by its id.

use std::collections::BTreeMap;

use loci_core::{Caller, Memory, Result, Scope};
use loci_engine::{Call, writer_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::record::{title, url};
use crate::wire::rfc3339;
use crate::{Hints, Reply, TypedTool};

pub struct Fetch;

/// Read a memory that `search` found, whole. Of a text that is too long for a reply the first part
/// comes, and `metadata.next_id` is the id that returns the next one.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The id of a result of `search`.
    id: String,
}

/// A memory.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Its id.
    id: String,
    /// Its title, or the first line of its text.
    title: String,
    /// Its text.
    text: String,
    /// Its address on the page of loci.
    url: String,
    /// What else is known of it: `type`, `project`, `tags`, `author` if that is not you,
    /// `created_at`, `updated_at`, and `next_id` if this is not the end of the text.
    metadata: BTreeMap<&'static str, String>,
}

impl TypedTool for Fetch {
    const NAME: &'static str = "fetch";
    const TITLE: &'static str = "Read a memory";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "memory:read";
    type Arguments = Arguments;
    type Output = Output;

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let (id, offset) = parts(&arguments.id);
        let id = call.memories().memory_id("id", id)?;
        let memory = call.memories().show(&id)?;
        let mut metadata = metadata(call.caller(), &memory);
        let (title, url) = (title(&memory), url(call, &memory.id));
        let page = call.engine().budgets().text_page(memory, offset, None)?;
        if let Some(next) = page.next_offset {
            metadata.insert("next_id", format!("{id}#{next}"));
        }
        let output = Output {
            id: arguments.id,
            title,
            text: page.memory.content,
            url,
            metadata,
        };
        Reply::json(&output, Some(1))
    }
}

/// Returns an id, and the offset in its text that stands after it, e.g. `0198c0de#25000`.
fn parts(id: &str) -> (&str, usize) {
    let parts = id.rsplit_once('#');
    parts
        .and_then(|(id, offset)| Some((id, offset.parse().ok()?)))
        .unwrap_or((id, 0))
}

fn metadata(reader: &Caller, memory: &Memory) -> BTreeMap<&'static str, String> {
    let tags = (!memory.tags.is_empty()).then(|| memory.tags.join(", "));
    let known = [
        ("type", Some(memory.kind.clone())),
        ("project", memory.location.collection.clone()),
        ("tags", tags),
        ("author", writer_of(reader, memory)),
        ("created_at", Some(rfc3339(memory.created_at))),
        ("updated_at", Some(rfc3339(memory.updated_at))),
    ];
    known
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}
