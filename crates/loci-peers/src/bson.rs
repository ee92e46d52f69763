//! Documents in BSON (<https://bsonspec.org/spec.html>), as `mongodump` writes them, read as the values
//! that their plain form in JSON has.

use std::io::{self, Read};

use data_encoding::HEXLOWER;
use jiff::Timestamp;
use serde_json::{Map, Number, Value};

/// The largest size of a document in bytes, which MongoDB keeps to 16 MiB.
const DOCUMENT_BYTES_MAX: usize = 48 << 20;
/// The smallest: its length and its end.
const DOCUMENT_BYTES_MIN: usize = 5;
/// The deepest nesting, which MongoDB keeps to 100.
const DEPTH_MAX: usize = 128;

/// Reads the next document of a file; `None` at its end.
///
/// # Errors
/// If the file cannot be read; `InvalidData` if it is cut or no BSON.
pub fn next(input: &mut impl Read) -> io::Result<Option<Map<String, Value>>> {
    let broken = || io::Error::new(io::ErrorKind::InvalidData, "it is cut, or no BSON");
    let mut length = [0; 4];
    let mut read = 0;
    while read < length.len() {
        match input.read(&mut length[read..])? {
            0 if read == 0 => return Ok(None),
            0 => return Err(broken()),
            count => read += count,
        }
    }
    let size = u32::from_le_bytes(length) as usize;
    if !(DOCUMENT_BYTES_MIN..=DOCUMENT_BYTES_MAX).contains(&size) {
        return Err(broken());
    }
    let mut document = length.to_vec();
    input
        .take((size - length.len()) as u64)
        .read_to_end(&mut document)?;
    let value = Reader(&document)
        .document(0)
        .filter(|_| document.len() == size);
    let document = value.ok_or_else(broken)?;
    Ok(Some(document.into_iter().collect()))
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn length(&mut self) -> Option<usize> {
        usize::try_from(i32::from_le_bytes(self.bytes()?)).ok()
    }

    /// Reads a text that ends with a zero.
    fn name(&mut self) -> Option<String> {
        let end = self.0.iter().position(|byte| *byte == 0)?;
        let name = self.take(end + 1)?;
        Some(String::from_utf8_lossy(&name[..end]).into_owned())
    }

    /// Reads a text that starts with its length, and ends with a zero.
    fn text(&mut self) -> Option<String> {
        let length = self.length()?;
        let text = self.take(length)?.split_last()?.1;
        String::from_utf8(text.to_vec()).ok()
    }

    fn document(&mut self, depth: usize) -> Option<Vec<(String, Value)>> {
        let length = self.length()?.checked_sub(4)?;
        let mut inner = Reader(self.take(length)?);
        if depth > DEPTH_MAX {
            return None;
        }
        let mut fields = Vec::new();
        loop {
            let [kind] = inner.bytes()?;
            if kind == 0 {
                return Some(fields);
            }
            let name = inner.name()?;
            fields.push((name, inner.value(kind, depth)?));
        }
    }

    fn value(&mut self, kind: u8, depth: usize) -> Option<Value> {
        Some(match kind {
            0x01 => Number::from_f64(f64::from_le_bytes(self.bytes()?))
                .map_or(Value::Null, Value::Number),
            0x02 | 0x0d | 0x0e => Value::String(self.text()?),
            0x03 => Value::Object(self.document(depth + 1)?.into_iter().collect()),
            0x04 => Value::Array(
                self.document(depth + 1)?
                    .into_iter()
                    .map(|(_, value)| value)
                    .collect(),
            ),
            // Bytes, e.g. an embedding, with their length and the kind of their content.
            0x05 => {
                let length = self.length()?;
                self.take(length.checked_add(1)?)?;
                Value::Null
            }
            0x06 | 0x0a | 0x7f | 0xff => Value::Null,
            0x07 => Value::String(HEXLOWER.encode(self.take(12)?)),
            0x08 => Value::Bool(self.bytes::<1>()? != [0]),
            0x09 => Timestamp::from_millisecond(i64::from_le_bytes(self.bytes()?))
                .map_or(Value::Null, |time| Value::String(time.to_string())),
            0x0b => {
                self.name()?;
                self.name()?;
                Value::Null
            }
            0x0c => {
                self.text()?;
                self.take(12)?;
                Value::Null
            }
            0x0f => {
                let length = self.length()?.checked_sub(4)?;
                self.take(length)?;
                Value::Null
            }
            0x10 => Value::from(i32::from_le_bytes(self.bytes()?)),
            0x11 => {
                self.take(8)?;
                Value::Null
            }
            0x12 => Value::from(i64::from_le_bytes(self.bytes()?)),
            0x13 => {
                self.take(16)?;
                Value::Null
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns a document of these fields, each a kind, a name and its bytes.
    fn document(fields: &[(u8, &str, &[u8])]) -> Vec<u8> {
        let mut inner = Vec::new();
        for (kind, name, bytes) in fields {
            inner.push(*kind);
            inner.extend(name.as_bytes());
            inner.push(0);
            inner.extend(*bytes);
        }
        inner.push(0);
        let length = u32::try_from(inner.len() + 4).unwrap();
        [&length.to_le_bytes()[..], &inner].concat()
    }

    #[test]
    fn documents_are_read_and_cut_ones_refused() {
        let inner = document(&[
            (0x02, "0", b"\x02\0\0\0a\0"),
            (0x10, "1", &7_i32.to_le_bytes()),
        ]);
        let whole = document(&[
            (0x07, "_id", &[0xab; 12]),
            (0x01, "importance", &0.5_f64.to_le_bytes()),
            (0x04, "tags", &inner),
            (0x05, "embedding", b"\x02\0\0\0\0xy"),
            (0x08, "is_deleted", &[1]),
            (0x09, "created_at", &1_795_827_738_150_i64.to_le_bytes()),
            (0x0a, "summary", b""),
            (0x12, "count", &(1_i64 << 40).to_le_bytes()),
        ]);
        let read = |bytes: &[u8]| next(&mut &bytes[..]);
        assert_eq!(
            Value::Object(read(&whole).unwrap().unwrap()),
            json!({
                "_id": "abababababababababababab", "importance": 0.5, "tags": ["a", 7], "embedding": null,
                "is_deleted": true, "created_at": "2026-11-28T01:02:18.15Z", "summary": null, "count": 1_099_511_627_776_i64,
            })
        );
        assert!(read(b"").unwrap().is_none());
        for length in 1..whole.len() {
            assert!(read(&whole[..length]).is_err(), "{length}");
        }
        let mut nested = document(&[]);
        for _ in 0..=DEPTH_MAX {
            nested = document(&[(0x03, "a", &nested)]);
        }
        assert!(read(&nested).is_err());
        assert!(read(&document(&[(0x44, "a", b"")])).is_err());
    }
}
