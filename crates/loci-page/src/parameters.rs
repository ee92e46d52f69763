//! The parameters of a request: those of its path and its query, and the fields of a form or of a
//! JSON object.

use axum::extract::RawPathParams;
use loci_core::{Error, Result};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The parameters of a request.
pub(crate) enum Parameters {
    /// Pairs of names and values, in which a name may be repeated.
    Pairs(Vec<(String, String)>),
    /// A JSON object, with the parameters of the path.
    Object(Map<String, Value>),
}

impl Parameters {
    /// Reads the parameters of a request with this path, query and body. The body is JSON if
    /// `is_json`, otherwise a form.
    ///
    /// # Errors
    /// `invalid_argument` if one of them is malformed.
    pub(crate) fn read(
        path: &RawPathParams,
        query: Option<&str>,
        body: &[u8],
        is_json: bool,
    ) -> Result<Self> {
        let of_path = path
            .iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        if is_json && !body.is_empty() {
            let mut object: Map<String, Value> = serde_json::from_slice(body).map_err(|error| {
                Error::invalid("body", format!("is not a JSON object: {error}"))
            })?;
            object.extend(of_path.map(|(name, value)| (name, Value::String(value))));
            return Ok(Parameters::Object(object));
        }
        let malformed = |error: serde_html_form::de::Error| {
            Error::invalid("query", format!("cannot be read: {error}"))
        };
        let mut pairs: Vec<(String, String)> =
            serde_html_form::from_str(query.unwrap_or_default()).map_err(malformed)?;
        let form: Vec<(String, String)> = serde_html_form::from_bytes(body).map_err(malformed)?;
        pairs.extend(form);
        // A parameter of the path cannot be replaced.
        let of_path: Vec<_> = of_path.collect();
        pairs.retain(|(name, _)| of_path.iter().all(|(of_path, _)| of_path != name));
        pairs.extend(of_path);
        Ok(Parameters::Pairs(pairs))
    }

    /// Returns the text of a parameter, if it is there once or more.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        match self {
            Parameters::Pairs(pairs) => pairs
                .iter()
                .find(|(key, _)| key == name)
                .map(|(_, value)| value.as_str()),
            Parameters::Object(object) => object.get(name)?.as_str(),
        }
    }

    /// Returns them as a value of this type. Empty texts of a form count as left out, unless their
    /// name is in `kept`.
    ///
    /// # Errors
    /// `invalid_argument` if a parameter is missing or has another type.
    pub(crate) fn of<Q: DeserializeOwned>(self, kept: &[&str]) -> Result<Q> {
        let wrong = |error: &dyn std::fmt::Display| {
            Error::invalid("parameters", format!("are not as expected: {error}"))
        };
        match self {
            Parameters::Pairs(mut pairs) => {
                pairs.retain(|(name, value)| !value.is_empty() || kept.contains(&name.as_str()));
                let text = serde_html_form::to_string(&pairs).map_err(|error| wrong(&error))?;
                serde_html_form::from_str(&text).map_err(|error| wrong(&error))
            }
            Parameters::Object(object) => {
                serde_json::from_value(Value::Object(object)).map_err(|error| wrong(&error))
            }
        }
    }
}
