//! The parameters of a request: the ones in its path and its query, and the fields of a form or of
//! a JSON object.

use std::fmt;

use axum::extract::RawPathParams;
use loci_core::{Error, Result};
use serde::Deserializer;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use serde_path_to_error::Segment;

use crate::form::Form;

/// The field with the secret of a session, which is checked before the parameters are read.
pub(crate) const CSRF: &str = "csrf";
/// The name of all parameters together, in errors about no single one.
const WHOLE: &str = "parameters";

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
    /// `invalid_argument` if one is malformed.
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
            let (mut object, _) =
                loci_json::from_slice::<Map<String, Value>>(body).map_err(|error| {
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
    /// `invalid_argument` if a parameter is missing or has another type, or if a program sends one
    /// that there is not: its misspelled filter would otherwise find everything.
    pub(crate) fn of<Q: DeserializeOwned>(self, kept: &[&str], form: Form) -> Result<Q> {
        match self {
            Parameters::Pairs(mut pairs) => {
                pairs.retain(|(name, value)| !value.is_empty() || kept.contains(&name.as_str()));
                let text =
                    serde_html_form::to_string(&pairs).map_err(|error| wrong(WHOLE, &error))?;
                named(
                    serde_html_form::Deserializer::from_bytes(text.as_bytes()),
                    form,
                )
            }
            Parameters::Object(object) => named(Value::Object(object), form),
        }
    }
}

/// Reads a value, with errors that name the parameter.
fn named<'de, Q: DeserializeOwned, D>(parameters: D, form: Form) -> Result<Q>
where
    D: Deserializer<'de, Error: fmt::Display>,
{
    let mut unknown = None;
    let mut note = |path: serde_ignored::Path<'_>| {
        unknown.get_or_insert_with(|| path.to_string());
    };
    let parameters = serde_ignored::Deserializer::new(parameters, &mut note);
    let read = serde_path_to_error::deserialize(parameters).map_err(|error| {
        let path = error.path();
        match path.iter().next() {
            Some(Segment::Map { .. }) => wrong(&path.to_string(), error.inner()),
            _ => wrong(WHOLE, error.inner()),
        }
    })?;
    match unknown.filter(|name| form == Form::Json && name != CSRF) {
        None => Ok(read),
        Some(name) => Err(Error::invalid(
            &name,
            "is not a parameter of this path; /api/v1/openapi.json lists them",
        )),
    }
}

fn wrong(parameter: &str, problem: &dyn fmt::Display) -> Error {
    Error::invalid(parameter, format!("cannot be read: {problem}"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize, Debug, PartialEq)]
    struct ListQuery {
        #[serde(default)]
        kind: Vec<u8>,
        offset: usize,
        #[serde(default)]
        deep: BTreeMap<String, u8>,
    }

    fn pairs(pairs: &[(&str, &str)]) -> Parameters {
        let pairs = pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Parameters::Pairs(pairs.collect())
    }

    fn object(value: Value) -> Parameters {
        match value {
            Value::Object(object) => Parameters::Object(object),
            _ => panic!("an object"),
        }
    }

    #[test]
    fn an_error_names_its_parameter() {
        let rows = [
            (pairs(&[("offset", "-1")]), "`offset` "),
            (
                pairs(&[("offset", "1"), ("kind", "2"), ("kind", "x")]),
                "`kind[1]` ",
            ),
            (
                pairs(&[]),
                "`parameters` cannot be read: missing field `offset`",
            ),
            (object(serde_json::json!({"offset": "one"})), "`offset` "),
            (
                object(serde_json::json!({"offset": 1, "deep": {"a": 300}})),
                "`deep.a` ",
            ),
            (pairs(&[("offset", "1"), ("ofset", "2")]), "`ofset` is not"),
            (
                object(serde_json::json!({"offset": 1, "limit": 2})),
                "`limit` is not",
            ),
            (
                object(serde_json::json!({})),
                "`parameters` cannot be read: missing field `offset`",
            ),
        ];
        for (parameters, expected) in rows {
            let error = parameters.of::<ListQuery>(&[], Form::Json).unwrap_err();
            assert!(error.message.starts_with(expected), "{error}");
        }
        let read = pairs(&[("kind", "1"), ("kind", "2"), ("offset", "3")]).of(&[], Form::Json);
        let expected = ListQuery {
            kind: vec![1, 2],
            offset: 3,
            deep: BTreeMap::new(),
        };
        assert_eq!(read, Ok(expected));
        // Links that others made carry parameters of theirs.
        let read = pairs(&[("offset", "3"), ("utm_source", "mail")]).of(&[], Form::Html);
        assert_eq!(read.map(|read: ListQuery| read.offset), Ok(3));
        let read = pairs(&[("offset", "3"), ("csrf", "s")]).of(&[], Form::Json);
        assert_eq!(read.map(|read: ListQuery| read.offset), Ok(3));
    }
}
