//! The tool `mempalace_add_drawer`: files a text verbatim.

use std::collections::BTreeMap;

use loci_core::{Error, Result, SaidBy, Scope, Visibility};
use loci_engine::{Call, FilingResult, Remember, SOURCE_FILE, check};
use loci_text::enrichment::kind_of;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::{ALREADY_EXISTS, NOUNS, collection, given, name, place_name};
use super::drawer_id::drawer_ids;
use super::record::ADDED_BY;
use crate::faults::Faults;
use crate::wire::pending;
use crate::{Hints, Reply, TypedTool};

/// The default of `added_by`.
const ADDED_BY_DEFAULT: &str = "mcp";
/// The kind of a drawer that the rules cannot classify.
const DRAWER: &str = "drawer";
/// Kinds of messages that are not kinds of drawers.
const KINDS_OF_TALK: [&str; 3] = ["other", "question", "task"];

pub struct AddDrawer;

/// File a text for good, word for word, not shortened or retold: a decision with its reason, words
/// that were said, a piece of code. The same text in the same place is filed once;
/// `mempalace_check_duplicate` finds it in other words. All of this space may read it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The person or project, or `global` (this and `room`: 1 to 128 characters, first and last a
    /// letter or digit, no / or \).
    wing: String,
    /// Its subject: backend, decisions, meetings.
    room: String,
    /// The text (at most 1 MiB). No secrets.
    content: String,
    /// A path, URL or name (at most 4 KiB). With a file's absolute path, `mempalace_sync` removes
    /// the drawer once the file is gone.
    source_file: Option<String>,
    /// Who files it.
    added_by: Option<String>,
}

/// The drawer that was filed.
#[derive(Serialize, JsonSchema)]
pub struct FiledDrawer {
    /// Always true.
    success: bool,
    /// The id of the drawer.
    drawer_id: String,
    /// Its wing.
    wing: String,
    /// Its room.
    room: String,
    /// `already_exists` if this text was in this place before and nothing was added.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}

impl TypedTool for AddDrawer {
    const NAME: &'static str = "mempalace_add_drawer";
    const TITLE: &'static str = "File a text";
    const SCOPE: Scope = Scope::Write;
    const HINTS: Hints = Hints::ADDS_ONCE;
    const OPERATION: &'static str = "memory:write";
    type Arguments = Arguments;
    type Output = FiledDrawer;

    fn faults(arguments: &Value) -> Vec<Error> {
        Faults::of(arguments)
            .check("wing", name)
            .check("room", name)
            .check("content", check::content)
            .optional(SOURCE_FILE, check::reference)
            .optional(ADDED_BY, check::name)
            .found()
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let wing = place_name("wing", &arguments.wing)?;
        let room = place_name("room", &arguments.room)?;
        let case_notice =
            call.listings()
                .differing_in_case(NOUNS, collection(&wing).as_deref(), Some(&room))?;
        let added_by = given(arguments.added_by).unwrap_or_else(|| ADDED_BY_DEFAULT.to_owned());
        let said = [
            (SOURCE_FILE, given(arguments.source_file)),
            (ADDED_BY, Some(added_by)),
        ];
        let attributes = said
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect();
        let (filed, notice) = file(call, [wing, room], &arguments.content, attributes)?;
        Ok(Reply::json(&filed, None)?
            .with_notice(notice)
            .with_notice(case_notice))
    }
}

/// Files a text in a wing and a room, with these attributes, unless it is there; returns the drawer
/// with a notice if it is not embedded yet.
///
/// # Errors
/// The errors of [`store_once`](loci_engine::Memories::store_once).
pub fn file(
    call: &Call<'_>,
    [wing, room]: [String; 2],
    content: &str,
    attributes: BTreeMap<String, String>,
) -> Result<(FiledDrawer, Option<String>)> {
    // Else the agent concluded it.
    let of_file = attributes.contains_key(SOURCE_FILE);
    let request = Remember {
        collection: collection(&wing),
        section: Some(room.clone()),
        attributes,
        visibility: Visibility::Common,
        said_by: of_file.then_some(SaidBy::File),
        ..Remember::new(content, kind(content))
    };
    let filed = call
        .memories()
        .store_once(&drawer_ids(&wing, &room, content), request)?;
    let (memory, reason, notice) = match filed {
        FilingResult::New(remembered) => (
            remembered.memory,
            None,
            pending("filed", remembered.embedding),
        ),
        FilingResult::Existing(memory) => (*memory, Some(ALREADY_EXISTS), None),
    };
    let drawer = FiledDrawer {
        success: true,
        drawer_id: memory.id.to_string(),
        wing,
        room,
        reason,
    };
    Ok((drawer, notice))
}

/// Returns the kind of a text.
fn kind(content: &str) -> &'static str {
    let kind = kind_of(content);
    if KINDS_OF_TALK.contains(&kind) || is_long_code(content) {
        DRAWER
    } else {
        kind
    }
}

/// Returns true if a text is mostly code, whose comments and strings would be misread as statements
/// of a person.
fn is_long_code(content: &str) -> bool {
    const LINES_JUDGED: usize = 200;
    const LINES_MIN: usize = 8;
    let (mut lines, mut code, mut is_fenced) = (0, 0, false);
    for line in content
        .lines()
        .filter(|line| !line.trim().is_empty())
        .take(LINES_JUDGED)
    {
        let is_fence = line.trim_start().starts_with("```");
        is_fenced ^= is_fence;
        lines += 1;
        let is_indented = line.starts_with("    ") || line.starts_with('\t');
        let has_end = line
            .trim_end()
            .ends_with(['{', '}', ';', '(', ')', '[', ']']);
        code += usize::from(is_fence || is_fenced || is_indented || has_end);
    }
    lines >= LINES_MIN && code * 2 > lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_filed_is_what_it_says_or_a_drawer() {
        let code = "fn main() {\n    // We decided to use Rust.\n    let a = 1;\n}\n".repeat(3);
        let fenced = format!(
            "We decided to use this:\n```python\n{}```\n",
            "x = decide()\ny\n".repeat(8)
        );
        let rows = [
            (
                "We decided to use PostgreSQL for the new service.",
                "decision",
            ),
            ("I prefer tea to coffee.", "preference"),
            ("What colour is the crane?", DRAWER),
            ("lorem", DRAWER),
            (&code, DRAWER),
            (&fenced, DRAWER),
        ];
        for (content, expected) in rows {
            assert_eq!(kind(content), expected, "{content:?}");
        }
        assert!(!is_long_code("a();\nb();\n"), "two lines are not long");
        assert!(
            !is_long_code(&"- one thing,\n- another one.\n".repeat(9)),
            "a list is no code"
        );
    }
}
