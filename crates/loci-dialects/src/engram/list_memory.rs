//! The tool `list_memory`: lists the latest memories of one scope.

use loci_core::limits::TAGS_MAX;
use loci_core::{Error, Result, Scope, Tier};
use loci_engine::{Call, FittedMemory, List, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::arguments::{CREATED, NOUNS, count, memory_scope, of_file, only};
use super::record::Record;
use crate::faults::Faults;
use crate::past::AsOf;
use crate::wire::{Count, both, left_out};
use crate::{Hints, Reply, TypedTool};

/// The bytes of the hash in a cursor.
const BINDING_BYTES: usize = 6;
/// The default of `limit`.
const LIMIT_DEFAULT: usize = 20;

pub struct ListMemory;

/// Show the latest memories of one scope, last changed first, without a question. Call it once when
/// a session starts, to know what holds there. Discoveries are never among them.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The scope to show, exactly as it was given on storing; `global` for what is filed under
    /// none.
    scope: String,
    /// The maximum number of memories: 20 if left out, at most 100.
    limit: Option<Count>,
    /// Only memories with all of these tags.
    #[serde(default)]
    #[schemars(length(max = TAGS_MAX))]
    tags: Vec<String>,
    /// Only what was first stored on this day (YYYY-MM-DD, UTC) or at this moment (RFC 3339), or
    /// later.
    created_after: Option<String>,
    /// Only what was first stored before this day or moment.
    created_before: Option<String>,
    /// Only what was read from this file: its absolute path.
    source_file: Option<String>,
    as_of: Option<AsOf>,
    /// The `next_cursor` of the page before, with the same scope and conditions.
    cursor: Option<String>,
    /// Tokens of the reply: 25,000 if left out, unless the installation says otherwise.
    budget_tokens: Option<Count>,
}

/// The memories of the scope.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The memories, last changed first.
    memories: Vec<Record>,
    /// The cursor of the next page; absent if these were the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// A cursor: the number of memories that earlier pages showed, bound to what was asked for.
struct Cursor {
    binding: String,
}

impl Cursor {
    fn of(arguments: &Arguments) -> Self {
        let asked = [
            Some(&arguments.scope),
            arguments.created_after.as_ref(),
            arguments.created_before.as_ref(),
            arguments.source_file.as_ref(),
        ];
        let mut binding = serde_json::json!([asked, arguments.tags]).to_string();
        // The end of today is another moment for the next page, so the words count.
        if let Some(as_of) = &arguments.as_of {
            binding.push_str(as_of.words());
        }
        let bytes = Sha256::digest(binding).into_iter().take(BINDING_BYTES);
        let hash = bytes.fold(0_u64, |hash, byte| hash << 8 | u64::from(byte));
        Cursor {
            binding: format!("{hash:012x}"),
        }
    }

    fn at(&self, offset: usize) -> String {
        format!("{}.{offset}", self.binding)
    }

    /// Returns the offset of a cursor.
    ///
    /// # Errors
    /// `invalid_argument` for a cursor of another list.
    fn offset(&self, cursor: &str) -> Result<usize> {
        let number = cursor.trim().split_once('.');
        let offset = number.filter(|(binding, _)| *binding == self.binding);
        let offset = offset.and_then(|(_, offset)| offset.parse().ok());
        offset.ok_or_else(|| {
            let problem = "is not one that this list gave to you; ask again without it";
            Error::invalid("cursor", problem)
        })
    }
}

impl TypedTool for ListMemory {
    const NAME: &'static str = "list_memory";
    const TITLE: &'static str = "List memories";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "memory:read";
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("since", "created_after"), ("before", "created_before")];
    type Arguments = Arguments;
    type Output = Output;

    fn faults(arguments: &Value) -> Vec<Error> {
        Faults::of(arguments)
            .check("scope", memory_scope("search_discovery"))
            .items("tags", TAGS_MAX, check::tag)
            .and(CREATED.faults(arguments))
            .and(AsOf::faults(arguments))
            .optional("source_file", check::reference)
            .found()
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let cursor = Cursor::of(&arguments);
        let given = arguments.cursor.filter(|cursor| !cursor.trim().is_empty());
        let offset = given.map_or(Ok(0), |given| cursor.offset(&given))?;
        let scope = only(arguments.scope);
        let named = call
            .listings()
            .named(NOUNS, &[Tier::LongTerm], scope, Vec::new())?;
        let facets = CREATED.facets(
            arguments.created_after.as_deref(),
            arguments.created_before.as_deref(),
        )?;
        let request = List {
            collections: named.collections,
            sections: Vec::new(),
            kinds: Vec::new(),
            tags: arguments.tags,
            delivery: None,
            facets: of_file(call, arguments.source_file, facets),
            offset,
            limit: count(arguments.limit, LIMIT_DEFAULT),
            as_of: AsOf::moment(call, arguments.as_of.as_ref())?,
        };
        let tokens = arguments.budget_tokens.map(|count| count.0);
        let listed = call.listings().list_within(request.clone(), tokens)?;
        let next = offset + listed.shown.len();
        let following = List {
            offset: next,
            limit: 1,
            ..request
        };
        let next_cursor = if call.listings().list(following)?.is_empty() {
            None
        } else {
            Some(cursor.at(next))
        };
        let notice = left_out(
            listed.shown.len(),
            listed.left_out,
            "give `next_cursor` for the others",
        );
        let record = |shown: FittedMemory| Record::shown(shown.memory, shown.length);
        let memories: Vec<Record> = listed.shown.into_iter().map(record).collect();
        let results = memories.len() as u64;
        let output = Output {
            memories,
            next_cursor,
        };
        Ok(Reply::json(&output, Some(results))?.with_notice(both(named.notice, notice)))
    }
}
