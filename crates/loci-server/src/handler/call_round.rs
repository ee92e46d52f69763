//! A call of a tool, and the end of one of its rounds.

use loci_admission::Subject;
use loci_core::{Caller, Error};
use loci_dialects::apps::AppView;
use loci_dialects::{Reply, Tool};
use rmcp::model::InputRequiredResult;
use serde_json::{Map, Value};

/// A call as a request makes it.
#[derive(Clone)]
pub(super) struct ToolCall {
    pub(super) tool: &'static Tool,
    /// True if it is a tool of views.
    pub(super) is_of_views: bool,
    pub(super) caller: Caller,
    pub(super) subject: Subject,
    pub(super) arguments: Map<String, Value>,
    /// The view of the tool, for a client that shows it.
    pub(super) view: Option<&'static AppView>,
    /// The user whom the call names, if its tool set has an argument for it.
    pub(super) user: Option<String>,
}

/// The end of a call, or of its first round.
pub(super) enum CallEnd {
    /// The call is over.
    Done(Box<Result<Reply, Error>>),
    /// The client repeats it with an answer of its person.
    Asks(Box<InputRequiredResult>),
}

impl CallEnd {
    pub(super) fn done(outcome: Result<Reply, Error>) -> Self {
        CallEnd::Done(Box::new(outcome))
    }
}
