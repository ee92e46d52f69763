//! Parses JSON-RPC messages from arbitrary bytes and refuses invalid ones with an error reply.

use std::fmt;

use axum::body::Bytes;
use loci_core::limits::{BATCH_REQUESTS_MAX, REQUEST_NESTING_MAX, REQUEST_VALUES_MAX};
use loci_json::End;
use rmcp::model::{ClientJsonRpcMessage, ErrorCode, RequestId};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use serde_json::error::Category;

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// One line or one body from a client, with the number of its values, which is counted once for
/// the budget of requests and for the limit on values.
pub(crate) struct Text<B> {
    pub bytes: B,
    values: usize,
}

impl<B: AsRef<[u8]>> Text<B> {
    pub(crate) fn of(bytes: B) -> Self {
        let values = values_in(bytes.as_ref());
        Text { bytes, values }
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.as_ref().len()
    }

    /// Returns an upper bound of the number of values, including the keys of objects.
    pub(crate) fn values(&self) -> usize {
        self.values
    }
}

/// The content of one line or one body from a client.
pub(crate) enum ClientInput {
    /// One message, and its text as valid JSON if it had to be repaired.
    Message(Box<ClientJsonRpcMessage>, Option<Vec<u8>>),
    /// The elements of a batch, not read as messages yet. There is at least one.
    Batch(Vec<Value>),
}

/// The refusal of bytes that are not a valid message.
#[derive(Debug)]
pub(crate) struct Refusal {
    id: Value,
    code: ErrorCode,
    message: String,
}

impl Refusal {
    pub(crate) fn new(id: Option<RequestId>, code: ErrorCode, message: impl Into<String>) -> Self {
        Refusal {
            id: id.map_or(Value::Null, RequestId::into_json_value),
            code,
            message: message.into(),
        }
    }

    /// Returns the refusal of a text beyond its limit, of which `beginning` was kept.
    pub(crate) fn too_long(beginning: &[u8], bytes_max: usize) -> Self {
        let id = recover_id(&String::from_utf8_lossy(beginning), values_in(beginning));
        let message = format!("the message is longer than {bytes_max} bytes; send less at a time");
        Refusal {
            id: as_id(id),
            code: ErrorCode::INVALID_REQUEST,
            message,
        }
    }

    /// Returns the refusal of a batch where batches are not served.
    pub(crate) fn batch_not_served() -> Self {
        let message =
            "batches exist only in protocol revision 2025-03-26; send one message at a time";
        Refusal::new(None, ErrorCode::INVALID_REQUEST, message)
    }

    /// Converts the refusal into an error reply. A missing id becomes `null`, as JSON-RPC requires;
    /// the SDK would omit it.
    pub(crate) fn into_json(self) -> Value {
        serde_json::json!({"jsonrpc": "2.0", "id": self.id, "error": {"code": self.code.0, "message": self.message}})
    }

    /// Returns the error reply as JSON text.
    pub(crate) fn into_bytes(self) -> Bytes {
        Bytes::from(self.into_json().to_string())
    }
}

/// Returns the text without a byte order mark.
pub(crate) fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes
        .strip_prefix(BYTE_ORDER_MARK.as_bytes())
        .unwrap_or(bytes)
}

/// Reads one message or one batch. A valid text is parsed here and nowhere else in loci: every
/// check takes the result. An invalid one is repaired and parsed again, because clients send e.g.
/// half of a surrogate pair where they cut a text; one that cannot be repaired is searched once more,
/// for its id.
///
/// # Errors
/// The error reply to send, with the request's id if it can still be read: -32700 for invalid JSON,
/// -32600 for JSON that is not a message.
pub(crate) fn read(text: &Text<impl AsRef<[u8]>>) -> Result<ClientInput, Refusal> {
    let (bytes, values) = (without_mark(text.bytes.as_ref()), text.values);
    let refusal = match read_valid(bytes, values) {
        Err(refusal) if refusal.code == ErrorCode::PARSE_ERROR => refusal,
        outcome => return outcome,
    };
    let Some(repair) = loci_json::repair(bytes, End::Whole) else {
        return Err(refusal);
    };
    Ok(match read_valid(&repair.text, values)? {
        ClientInput::Message(message, _) => ClientInput::Message(message, Some(repair.text)),
        batch @ ClientInput::Batch(_) => batch,
    })
}

/// Reads one message or one batch that is valid JSON.
fn read_valid(bytes: &[u8], values: usize) -> Result<ClientInput, Refusal> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        let id = recover_id(&String::from_utf8_lossy(bytes), values);
        let message = "the message is not valid UTF-8".to_owned();
        return Err(Refusal {
            id: as_id(id),
            code: ErrorCode::PARSE_ERROR,
            message,
        });
    };
    if values > REQUEST_VALUES_MAX {
        let message =
            format!("the message has more than {REQUEST_VALUES_MAX} values; send less at a time");
        return Err(Refusal::new(None, ErrorCode::INVALID_REQUEST, message));
    }
    if text.trim_start().starts_with('[') {
        return read_batch(text, values);
    }
    match serde_json::from_str(text) {
        Ok(message) => Ok(ClientInput::Message(Box::new(message), None)),
        Err(error) => Err(refuse(text, values, &error)),
    }
}

/// Returns an upper bound of the number of values in a JSON text, including the keys of objects,
/// without parsing it.
fn values_in(text: &[u8]) -> usize {
    let (mut values, mut in_string, mut escaped) = (1, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b',' | b':' | b'[' | b'{' if !in_string => values += 1,
            _ => {}
        }
    }
    values
}

fn read_batch(text: &str, values: usize) -> Result<ClientInput, Refusal> {
    let elements: Vec<Value> =
        serde_json::from_str(text).map_err(|error| refuse(text, values, &error))?;
    if elements.is_empty() {
        return Err(Refusal::new(
            None,
            ErrorCode::INVALID_REQUEST,
            "the batch is empty",
        ));
    }
    if elements.len() > BATCH_REQUESTS_MAX {
        let message = format!(
            "the batch has {} messages; at most {BATCH_REQUESTS_MAX} are read",
            elements.len()
        );
        return Err(Refusal::new(None, ErrorCode::INVALID_REQUEST, message));
    }
    Ok(ClientInput::Batch(elements))
}

/// Reads one element of a batch.
///
/// # Errors
/// The error reply to put in its place.
pub(crate) fn read_element(element: &Value) -> Result<ClientJsonRpcMessage, Refusal> {
    ClientJsonRpcMessage::deserialize(element)
        .map_err(|_| no_message(element.get("id").cloned().unwrap_or_default()))
}

const NO_MESSAGE: &str = "this is no JSON-RPC 2.0 message: it needs `jsonrpc`: \"2.0\", a `method`, and, to be answered, a string or integer `id`";

const ID_TOO_LARGE: &str = "an integer `id` must fit in 64 bits with a sign, so be at most 9223372036854775807; use a smaller one, or a string";

/// Returns the refusal of JSON that is not a message.
fn no_message(id: Value) -> Refusal {
    let message = if is_too_large(&id) {
        ID_TOO_LARGE
    } else {
        NO_MESSAGE
    };
    Refusal {
        id: as_id(id),
        code: ErrorCode::INVALID_REQUEST,
        message: message.to_owned(),
    }
}

/// Returns the value if it is valid as the id of a reply, else null. An integer is echoed even if
/// it is too large to be served.
fn as_id(value: Value) -> Value {
    if value.is_string() || value.is_i64() || value.is_u64() {
        value
    } else {
        Value::Null
    }
}

/// True if the id is an integer beyond the SDK's range. Beyond 64 bits, an integer is parsed as the
/// nearest floating-point number.
fn is_too_large(id: &Value) -> bool {
    !id.is_i64()
        && id
            .as_f64()
            .is_some_and(|number| number.abs() >= TWO_TO_THE_63)
}

const TWO_TO_THE_63: f64 = 9_223_372_036_854_775_808.0;

fn refuse(text: &str, values: usize, error: &serde_json::Error) -> Refusal {
    let id = recover_id(text, values);
    match error.classify() {
        Category::Data => no_message(id),
        Category::Syntax | Category::Eof | Category::Io => {
            let message = format!(
                "the message cannot be read as JSON of at most {REQUEST_NESTING_MAX} levels: {error}"
            );
            Refusal {
                id: as_id(id),
                code: ErrorCode::PARSE_ERROR,
                message,
            }
        }
    }
}

/// Returns the id of a message that cannot be parsed as a whole: skips everything else without
/// parsing it (at any depth, with any escapes), and keeps an id that comes before the error.
fn recover_id(text: &str, values: usize) -> Value {
    let mut seeker = IdSeeker::default();
    if values > REQUEST_VALUES_MAX {
        // The id itself may contain all of the values.
        return seeker.id;
    }
    // The text is known to be invalid; the position of the error does not matter here.
    let _ = serde_json::Deserializer::from_str(text).deserialize_map(&mut seeker);
    seeker.id
}

#[derive(Default)]
struct IdSeeker {
    id: Value,
}

impl<'de> Visitor<'de> for &mut IdSeeker {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == "id" {
                self.id = map.next_value()?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal_of(bytes: &[u8]) -> (Value, i32) {
        match read(&Text::of(bytes)) {
            Ok(_) => panic!("{} was read", String::from_utf8_lossy(bytes)),
            Err(refusal) => (refusal.id, refusal.code.0),
        }
    }

    #[test]
    fn faulty_messages_keep_their_id() {
        let deep = format!(
            r#"{{"id":7,"method":"x","params":{}1{}}}"#,
            "[".repeat(20_000),
            "]".repeat(20_000)
        );
        let rows: [(&[u8], Option<u64>, i32); 12] = [
            (
                br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":tea}}"#,
                Some(7),
                -32700,
            ),
            (
                b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"\xff\xfe\"",
                Some(7),
                -32700,
            ),
            (deep.as_bytes(), Some(7), -32600),
            (
                br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"#,
                Some(7),
                -32700,
            ),
            (
                br#"{"jsonrpc":"1.0","id":7,"method":"tools/list"}"#,
                Some(7),
                -32600,
            ),
            (br#"{"jsonrpc":"2.0","id":7}"#, Some(7), -32600),
            (
                br#"{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}"#,
                None,
                -32600,
            ),
            (
                br#"{"jsonrpc":"2.0","id":9223372036854775808,"method":"ping"}"#,
                Some(1 << 63),
                -32600,
            ),
            (
                br#"{"jsonrpc":"2.0","id":18446744073709551616,"method":"ping"}"#,
                None,
                -32600,
            ),
            (
                br#"{"jsonrpc":"2.0","id":[7],"method":"ping"}"#,
                None,
                -32600,
            ),
            (b"hello", None, -32700),
            (b"[]", None, -32600),
        ];
        for (bytes, id, code) in rows {
            let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(80)]).into_owned();
            assert_eq!(
                refusal_of(bytes),
                (id.map_or(Value::Null, Value::from), code),
                "{shown}"
            );
        }
    }

    #[test]
    fn a_message_with_a_wrong_character_is_read() {
        let call = |value: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"say","arguments":{{"text":{value}}}}}}}"#
            )
        };
        let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
        for (value, expected) in [
            (r#""Tea \ud83d""#, Value::from("Tea \u{fffd}")),
            ("\"Tea\tat four\"", Value::from("Tea\tat four")),
            ("NaN", Value::Null),
            (r#"["Tea",]"#, serde_json::json!(["Tea"])),
        ] {
            let text = call(value);
            let Ok(ClientInput::Message(message, Some(repaired))) = read(&Text::of(&text)) else {
                panic!("{text} was not repaired");
            };
            assert!(matches!(*message, ClientJsonRpcMessage::Request(_)));
            let repaired: Value = serde_json::from_slice(&repaired).unwrap();
            assert_eq!(repaired["params"]["arguments"]["text"], expected);
        }
        assert!(read(&Text::of(call(&deep))).is_ok());
        let batch = format!("[{}]", call(r#""\udc00""#));
        assert!(matches!(read(&Text::of(batch)), Ok(ClientInput::Batch(_))));
    }

    #[test]
    fn values_are_counted_without_being_made() {
        let rows = [
            ("1", 1),
            ("[]", 2),
            ("[1,2]", 3),
            (r#"{"a":1,"b":[2]}"#, 6),
            (r#"["[,:{\\",", "a\"[["]"#, 3),
        ];
        for (text, values) in rows {
            assert_eq!(values_in(text.as_bytes()), values, "{text}");
        }
        let message = |values: usize| {
            let list = vec!["0"; values - 11].join(",");
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"x","params":{{"a":[{list}]}}}}"#)
        };
        assert_eq!(
            values_in(message(REQUEST_VALUES_MAX).as_bytes()),
            REQUEST_VALUES_MAX
        );
        assert!(read(&Text::of(message(REQUEST_VALUES_MAX))).is_ok());
        assert_eq!(
            refusal_of(message(REQUEST_VALUES_MAX + 1).as_bytes()),
            (Value::Null, -32600)
        );
        let as_id = format!(r#"{{"id":[{}"#, vec!["0"; REQUEST_VALUES_MAX].join(","));
        assert_eq!(recover_id(&as_id, values_in(as_id.as_bytes())), Value::Null);
    }

    #[test]
    fn a_byte_order_mark_is_skipped() {
        let text = "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
        assert!(read(&Text::of(text)).is_ok());
    }

    #[test]
    fn a_batch_beyond_the_limit_is_refused() {
        let one = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        let batch = format!("[{}]", vec![one; BATCH_REQUESTS_MAX + 1].join(","));
        assert_eq!(refusal_of(batch.as_bytes()), (Value::Null, -32600));
    }

    #[test]
    fn an_id_that_is_too_large_is_said_to_be() {
        for (id, too_large) in [
            ("9223372036854775808", true),
            ("18446744073709551616", true),
            ("-9223372036854775809", true),
            ("1.5", false),
            ("null", false),
        ] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
            let alone = read(&Text::of(&text))
                .err()
                .unwrap_or_else(|| panic!("{id}"))
                .message;
            let in_batch = read_element(&serde_json::from_str(&text).unwrap())
                .err()
                .unwrap()
                .message;
            let expected = if too_large { ID_TOO_LARGE } else { NO_MESSAGE };
            assert_eq!(
                (alone.as_str(), in_batch.as_str()),
                (expected, expected),
                "{id}"
            );
        }
    }
}
