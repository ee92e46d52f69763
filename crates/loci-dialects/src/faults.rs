//! The errors of arguments that a tool finds before it calls the engine.
//!
//! The errors of an operation name its own fields, e.g. `content`. A tool whose argument has another
//! name, or a rule of its own, checks it here, so that the error names what the caller sent.

use loci_core::{Error, Result};
use serde_json::Value;

/// Collects the errors of arguments, in the order of the checks. Skips missing values and wrong
/// types, which the schema reports.
pub struct Faults<'a> {
    arguments: &'a Value,
    found: Vec<Error>,
}

impl<'a> Faults<'a> {
    /// Starts without errors for these arguments.
    pub fn of(arguments: &'a Value) -> Self {
        Faults {
            arguments,
            found: Vec::new(),
        }
    }

    /// Checks an argument by a rule, which gets its name and its text.
    pub fn check(mut self, name: &str, rule: impl Fn(&str, &str) -> Result<()>) -> Self {
        if let Some(text) = self.arguments.get(name).and_then(Value::as_str) {
            self.found.extend(rule(name, text).err());
        }
        self
    }

    /// Checks an argument that may be blank.
    pub fn optional(self, name: &str, rule: impl Fn(&str, &str) -> Result<()>) -> Self {
        self.check(name, |name, text| {
            if text.trim().is_empty() {
                Ok(())
            } else {
                rule(name, text)
            }
        })
    }

    /// Checks the first `items_max` items of an array by a rule, e.g. as `tags.0`.
    pub fn items(
        mut self,
        name: &str,
        items_max: usize,
        rule: impl Fn(&str, &str) -> Result<()>,
    ) -> Self {
        let items = items(self.arguments, name, items_max);
        let fault = |(name, item): (String, &Value)| rule(&name, item.as_str()?).err();
        self.found.extend(items.filter_map(fault));
        self
    }

    /// Adds errors that were found elsewhere.
    pub fn and(mut self, faults: impl IntoIterator<Item = Error>) -> Self {
        self.found.extend(faults);
        self
    }

    /// Returns all errors.
    pub fn found(self) -> Vec<Error> {
        self.found
    }
}

/// Returns the first `items_max` items of an array, each with its name, e.g. `citations.0`.
pub fn items<'a>(
    arguments: &'a Value,
    name: &str,
    items_max: usize,
) -> impl Iterator<Item = (String, &'a Value)> {
    let items = arguments.get(name).and_then(Value::as_array);
    let items = items.into_iter().flatten().take(items_max).enumerate();
    items.map(move |(index, item)| (format!("{name}.{index}"), item))
}
