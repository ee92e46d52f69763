//! JSON objects in the form that tokens require.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// An object without duplicate names, so that no other parser reads a different value from it (RFC
/// 7515, section 4; RFC 7519, section 4).
pub(crate) struct Object(Map<String, Value>);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor)
    }
}

struct ObjectVisitor;

impl<'de> Visitor<'de> for ObjectVisitor {
    type Value = Object;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Object, A::Error> {
        let mut object = Map::new();
        while let Some((name, value)) = entries.next_entry()? {
            if object.insert(name, value).is_some() {
                return Err(A::Error::custom("a name occurs twice"));
            }
        }
        Ok(Object(object))
    }
}

/// Decodes base64url without padding (RFC 7515, section 2); `None` if the text is not in that form.
pub(crate) fn bytes(base64url: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(base64url).ok()
}

/// Decodes the object in a part of a token; `None` if it is not one.
pub(crate) fn object(base64url: &str) -> Option<Map<String, Value>> {
    serde_json::from_slice(&bytes(base64url)?)
        .ok()
        .map(|Object(object)| object)
}
