//! Changes that people make on the page, and the way back from them.

use std::time::Duration;

use loci_core::Result;
use loci_engine::{Call, Engine};
use serde::Serialize;
use utoipa::ToSchema;

/// The time for which a change is examined before it is answered, because what a person just decided,
/// or took back, shows at once under *Review*.
const EXAMINED_FOR: Duration = Duration::from_millis(20);

/// Takes a change back; it may fail as the change itself.
pub(crate) type Undo = Box<dyn FnOnce(&Call<'_>) -> Result<()> + Send>;

/// The result of a change.
pub(crate) struct Change {
    /// The message that says so, with the number of records as `count`.
    pub(crate) message: &'static str,
    /// The number of records that changed.
    pub(crate) changed: u64,
    /// The records that did not change, and why.
    pub(crate) refused: Vec<Refusal>,
    /// The way back, if there is one.
    pub(crate) undo: Option<Undo>,
    /// The path of the view that shows the result.
    pub(crate) next: String,
}

impl Change {
    /// Returns a change of one record with a way back.
    pub(crate) fn one(message: &'static str, next: String, undo: Undo) -> Self {
        Change {
            message,
            changed: 1,
            refused: Vec::new(),
            undo: Some(undo),
            next,
        }
    }
}

/// The answer to a request for a change: the change, or a view that says why it was not made and
/// what a person can do.
pub(crate) enum Answer<V> {
    Changed(Change),
    Shown(V),
}

/// A record that a change did not reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Refused)]
pub(crate) struct Refusal {
    /// Its id.
    pub(crate) id: String,
    /// The reason, in a sentence.
    pub(crate) reason: String,
}

/// The result of a change, which is shown once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct Outcome {
    /// The message that says so.
    #[serde(skip)]
    pub(crate) message: &'static str,
    /// The number of records that changed.
    pub(crate) changed: u64,
    /// The records that did not change, and why.
    pub(crate) refused: Vec<Refusal>,
    /// The number by which the session can take it back.
    pub(crate) undo: Option<u64>,
}

/// Examines what a person changed for what there is to decide. The background does what is left.
pub(crate) fn examine(engine: &Engine) {
    if let Err(error) = engine.examine_changes_for(EXAMINED_FOR) {
        tracing::debug!(%error, "the background examines what a person changed");
    }
}

/// Returns a path that a request names as the next one; `otherwise` if it leads to another server.
pub(crate) fn own_path<'a>(next: &'a str, otherwise: &'a str) -> &'a str {
    // Browsers read a backslash as a slash, and drop ends of lines and tabs.
    let is_own = next.starts_with('/')
        && !next.starts_with("//")
        && !next.contains(['\\', '\r', '\n', '\t']);
    if is_own { next } else { otherwise }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_visitor_is_led_to_this_server_alone() {
        let rows = [
            ("/memory/a?b=c", "/memory/a?b=c"),
            ("//evil.example", "/"),
            ("/\\evil.example", "/"),
            ("/\t/evil.example", "/"),
            ("https://evil.example", "/"),
            ("", "/"),
        ];
        for (next, expected) in rows {
            assert_eq!(own_path(next, "/"), expected, "{next:?}");
        }
    }
}
