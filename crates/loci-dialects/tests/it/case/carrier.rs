//! The transport between a case and a dialect.

use std::sync::Arc;

use loci_core::Caller;
use loci_dialects::{Context, Dialect, Tool};
use loci_engine::Engine;
use loci_testkit::FixedClock;
use serde_json::{Map, Value};

/// The outcome of a call as a client sees it.
#[derive(Debug)]
pub struct Answer {
    /// The error code of a failure.
    pub code: Option<String>,
    /// The invalid argument of a failure.
    pub argument: Option<String>,
    /// The text, or the message of a failure.
    pub text: String,
    /// The second text, if there is one.
    pub further_text: Option<String>,
    /// The `structuredContent`; null for a failure.
    pub structured: Value,
    /// The notice.
    pub notice: Option<String>,
}

/// A transport from a caller to a dialect. Its errors are the transport's.
pub trait Carrier {
    /// Returns true if the transport supports such a caller.
    fn knows(&self, caller: &Caller) -> bool;

    /// Calls a tool.
    fn call(
        &self,
        dialect: &'static Dialect,
        tool: &'static Tool,
        caller: &Caller,
        arguments: Map<String, Value>,
    ) -> Result<Answer, String>;

    /// Reads a resource, if it exists.
    fn read(
        &self,
        dialect: &'static Dialect,
        caller: &Caller,
        uri: &str,
    ) -> Result<Option<String>, String>;

    /// Completes the values of an argument of a template.
    fn complete(
        &self,
        dialect: &'static Dialect,
        caller: &Caller,
        uri: &str,
        argument: &str,
        prefix: &str,
    ) -> Result<Option<Vec<String>>, String>;
}

/// Creates the carrier of a case for its engine and its clock.
pub type Maker = dyn Fn(&Arc<Engine>, &Arc<FixedClock>) -> Box<dyn Carrier>;

/// A carrier that calls the dialect directly.
pub struct Direct(pub Arc<Engine>);

impl Carrier for Direct {
    fn knows(&self, _caller: &Caller) -> bool {
        true
    }

    fn call(
        &self,
        dialect: &'static Dialect,
        tool: &'static Tool,
        caller: &Caller,
        arguments: Map<String, Value>,
    ) -> Result<Answer, String> {
        Ok(
            match dialect.call(
                tool,
                Context {
                    engine: &self.0,
                    caller,
                },
                arguments,
            ) {
                Ok(reply) => Answer {
                    code: None,
                    argument: None,
                    text: reply.text,
                    further_text: reply.further_text,
                    structured: reply.structured,
                    notice: reply.notice,
                },
                Err(error) => Answer {
                    code: Some(error.code.name().to_owned()),
                    argument: error.argument,
                    text: error.message,
                    further_text: None,
                    structured: Value::Null,
                    notice: None,
                },
            },
        )
    }

    fn read(
        &self,
        dialect: &'static Dialect,
        caller: &Caller,
        uri: &str,
    ) -> Result<Option<String>, String> {
        let resources = dialect
            .resources
            .as_ref()
            .ok_or("the dialect has no resources")?;
        resources
            .read(
                Context {
                    engine: &self.0,
                    caller,
                },
                uri,
            )
            .map_err(|error| error.message)
    }

    fn complete(
        &self,
        dialect: &'static Dialect,
        caller: &Caller,
        uri: &str,
        argument: &str,
        prefix: &str,
    ) -> Result<Option<Vec<String>>, String> {
        let resources = dialect
            .resources
            .as_ref()
            .ok_or("the dialect has no resources")?;
        let context = Context {
            engine: &self.0,
            caller,
        };
        resources
            .complete(context, uri, argument, prefix)
            .map_err(|error| error.message)
    }
}
