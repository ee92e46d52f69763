//! The tool `mempalace_update_drawer`: changes the text or place of a drawer.

use loci_core::{ANONYMOUS, Caller, Error, ErrorCode, Memory, Result, Scope};
use loci_engine::{Call, IDENTITY, Refile, RefileResult, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::{NOUNS, collection, drawer_id, given, name};
use super::record::{drawer, in_words};
use crate::faults::Faults;
use crate::wire::{Replaced, pending};
use crate::{Hints, Reply, TypedTool};

pub struct UpdateDrawer;

/// Change the text, wing or room of a drawer. What you leave out stays, and so does the id. Of a
/// diary entry only the text can change.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its id.
    drawer_id: String,
    /// The new text, whole (at most 1 MiB).
    content: Option<String>,
    /// Its new wing (this and `room`: 1 to 128 characters, first and last a letter or digit, no /
    /// or \).
    wing: Option<String>,
    /// Its new room.
    room: Option<String>,
}

/// The result of the change.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Always true.
    success: bool,
    /// The id of the drawer.
    drawer_id: String,
    /// The fields among `content`, `wing` and `room` that changed.
    updated_fields: Vec<&'static str>,
    /// The text that the new one replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    replaced: Option<Replaced>,
}

impl TypedTool for UpdateDrawer {
    const NAME: &'static str = "mempalace_update_drawer";
    const TITLE: &'static str = "Change a drawer";
    const SCOPE: Scope = Scope::Write;
    // The reply reveals the difference to the earlier state.
    const FURTHER_SCOPES: &'static [Scope] = &[Scope::Read];
    const HINTS: Hints = Hints::REPLACES;
    const OPERATION: &'static str = "memory:write";
    type Arguments = Arguments;
    type Output = Output;

    fn faults(arguments: &Value) -> Vec<Error> {
        Faults::of(arguments)
            .check("drawer_id", drawer_id)
            .check("content", check::content)
            .optional("wing", name)
            .optional("room", name)
            .found()
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let Arguments {
            drawer_id,
            content,
            wing,
            room,
        } = arguments;
        let id = call.memories().memory_id("drawer_id", &drawer_id)?;
        let before = drawer(call, &id)?;
        let (wing, room) = (given(wing).map(collection), given(room));
        if room.as_deref() == Some(IDENTITY) && before.location.section != IDENTITY {
            check_identity(call.caller(), &before)?;
        }
        let place = before.location;
        let moved_to = wing.clone().unwrap_or(place.collection);
        let case_notice =
            call.listings()
                .differing_in_case(NOUNS, moved_to.as_deref(), room.as_deref())?;
        let change = Refile {
            content,
            collection: wing,
            section: room,
            ..Refile::default()
        };
        let refiled = call.memories().refile(&id, change).map_err(in_words(&id))?;
        let RefileResult {
            memory,
            changed,
            embedding,
        } = refiled;
        let replaced = changed
            .content
            .as_ref()
            .and_then(|_| call.memories().replaced_by(&memory));
        let changed = [
            ("content", changed.content.is_some()),
            ("wing", changed.collection.is_some()),
            ("room", changed.section.is_some()),
        ];
        let updated_fields = changed
            .into_iter()
            .filter_map(|(name, is_changed)| is_changed.then_some(name))
            .collect();
        let output = Output {
            success: true,
            drawer_id: id.to_string(),
            updated_fields,
            replaced: replaced.as_ref().map(Replaced::of_version),
        };
        Ok(Reply::json(&output, None)?
            .with_notice(pending("changed", embedding))
            .with_notice(case_notice))
    }
}

/// Checks a move to the identity room, with which every session starts: no caller may turn the text
/// of another author into a directive.
///
/// # Errors
/// `forbidden` if the caller neither wrote the text nor has the scope `admin`.
fn check_identity(caller: &Caller, drawer: &Memory) -> Result<()> {
    let name = caller.principal.subject.as_deref().unwrap_or(ANONYMOUS);
    if name == drawer.writer() || caller.principal.scopes.allow(Scope::Admin) {
        return Ok(());
    }
    let message = format!(
        "`room` cannot be `{IDENTITY}`, with which every session starts, for a text of another author"
    );
    Err(Error::new(ErrorCode::Forbidden, message).of_argument("room"))
}
