//! A signed token in its compact form (RFC 7515, section 7.1).

use loci_core::limits::TOKEN_BYTES_MAX;
use serde_json::Value;

use crate::algorithm::Algorithm;
use crate::json;

/// The reason why a token is refused, as a sentence.
pub(crate) type Refusal = &'static str;

const MALFORMED: Refusal = "the token has not the form of a signed JSON Web Token";

/// A token whose signature is not checked yet.
pub(crate) struct Jws<'a> {
    /// The whole token.
    pub(crate) token: &'a str,
    /// The signed part.
    pub(crate) message: &'a [u8],
    /// The claims, still encoded.
    pub(crate) payload: &'a str,
    pub(crate) signature: Vec<u8>,
    pub(crate) algorithm: Algorithm,
    /// The name of the key that signed it.
    pub(crate) key_id: Option<String>,
}

impl<'a> Jws<'a> {
    /// Parses a token, and checks that its header is acceptable and its type is one of these.
    ///
    /// # Errors
    /// The reason why it is refused.
    pub(crate) fn parse(token: &'a str, types: &[String]) -> Result<Self, Refusal> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err("the token is longer than any that is accepted");
        }
        let (message, signature) = token.rsplit_once('.').ok_or(MALFORMED)?;
        // A further dot would be in the payload, which is not base64url then.
        let (header, payload) = message.split_once('.').ok_or(MALFORMED)?;
        let signature = json::bytes(signature).ok_or(MALFORMED)?;
        let header = json::object(header).ok_or(MALFORMED)?;
        if header.contains_key("crit") {
            return Err("the token asks for extensions (`crit`) that are not known here");
        }
        let algorithm = header
            .get("alg")
            .and_then(Value::as_str)
            .and_then(Algorithm::from_name);
        let algorithm = algorithm.ok_or("the token is not signed by RS256, ES256 or EdDSA")?;
        let kind = media_type(text(header.get("typ"))?.unwrap_or("JWT"));
        if !types
            .iter()
            .any(|accepted| media_type(accepted).eq_ignore_ascii_case(kind))
        {
            return Err(
                "the token is of a type (`typ`) that is not accepted; send an access token",
            );
        }
        let key_id = text(header.get("kid"))?.map(str::to_owned);
        Ok(Jws {
            token,
            message: message.as_bytes(),
            payload,
            signature,
            algorithm,
            key_id,
        })
    }
}

/// Returns an optional string.
fn text(value: Option<&Value>) -> Result<Option<&str>, Refusal> {
    value
        .map(|value| value.as_str().ok_or(MALFORMED))
        .transpose()
}

/// Returns a media type without the prefix that headers may leave out (RFC 7515, section 4.1.9).
fn media_type(name: &str) -> &str {
    const PREFIX: &str = "application/";
    match name.get(..PREFIX.len()) {
        Some(start) if start.eq_ignore_ascii_case(PREFIX) => &name[PREFIX.len()..],
        _ => name,
    }
}
