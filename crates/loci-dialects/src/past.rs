//! The arguments by which a tool that reads tells what was known at a time.

use loci_core::{Error, Result, Timestamp};
use loci_engine::Call;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::window::time;

// The words are few, because every reading tool has them; a wrong time is refused with an example.
/// As of a day or moment.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct AsOf(String);

impl AsOf {
    /// The name of the argument.
    const NAME: &'static str = "as_of";

    /// Returns the time; `None` for now.
    ///
    /// # Errors
    /// `invalid_argument`, naming `as_of`, for a text that is no time.
    pub fn moment(call: &Call<'_>, given: Option<&AsOf>) -> Result<Option<Timestamp>> {
        moment(call, AsOf::NAME, given.map(|given| &*given.0))
    }

    /// Returns the words that named the time.
    pub fn words(&self) -> &str {
        &self.0
    }

    /// Returns the faults of the argument. Skips wrong types, which the schema reports.
    pub fn faults(arguments: &Value) -> Option<Error> {
        faults(AsOf::NAME, arguments)
    }
}

/// As known on a day or moment.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct KnownAt(String);

impl KnownAt {
    /// The name of the argument.
    const NAME: &'static str = "known_at";

    /// Returns the time; `None` for now.
    ///
    /// # Errors
    /// `invalid_argument`, naming `known_at`, for a text that is no time.
    pub fn moment(call: &Call<'_>, given: Option<&KnownAt>) -> Result<Option<Timestamp>> {
        moment(call, KnownAt::NAME, given.map(|given| &*given.0))
    }

    /// Returns the faults of the argument. Skips wrong types, which the schema reports.
    pub fn faults(arguments: &Value) -> Option<Error> {
        faults(KnownAt::NAME, arguments)
    }
}

/// Returns the time at which something was known: a day stands for its last moment, or for now if it
/// is today; `None` if it is blank.
fn moment(call: &Call<'_>, argument: &str, text: Option<&str>) -> Result<Option<Timestamp>> {
    let now = call.engine().now();
    let known = time(argument, text)?.map(|period| {
        if period.first <= now {
            period.last.min(now)
        } else {
            period.first
        }
    });
    Ok(known)
}

fn faults(argument: &str, arguments: &Value) -> Option<Error> {
    let text = arguments.get(argument).and_then(Value::as_str);
    time(argument, text).err()
}
