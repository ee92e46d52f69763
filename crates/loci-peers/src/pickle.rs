//! The points of Qdrant's local store, which are pickles (protocol 4 of
//! <https://docs.python.org/3/library/pickletools.html>).
//!
//! A pickle is a program, and running it runs the will of its writer. Nothing is run here: this
//! reads the few instructions that build texts, numbers, lists and objects; an object of a class is
//! its dictionary, whatever the class is, and every other instruction ends the reading.

use std::cell::Cell;
use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};

/// The largest number of values of a point, beyond which it is no point of a memory.
const VALUES_MAX: usize = 1 << 20;
/// The largest number of bytes that repeated texts of a point take together.
const COPIED_BYTES_MAX: usize = 64 << 20;
/// The deepest nesting of a value that is read: that of a text is 1.
pub const DEPTH_MAX: usize = 64;

/// A value on the stack of the reader.
#[derive(Clone)]
enum Item {
    Value(Value),
    /// A set, a tuple, a class or bytes, of which nothing is needed.
    Other,
    Mark,
}

/// Reads a point: the dictionary of its object. `None` if it holds an instruction that points do not
/// have, or is cut.
pub fn point(bytes: &[u8]) -> Option<Map<String, Value>> {
    match Reader::new(bytes).run()? {
        Value::Object(point) => Some(point),
        _ => None,
    }
}

/// Reads a text.
pub fn text(bytes: &[u8]) -> Option<String> {
    match Reader::new(bytes).run()? {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    stack: Vec<Item>,
    memo: BTreeMap<u64, Item>,
    count: usize,
    copied_bytes: Cell<usize>,
}

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Reader {
            bytes,
            stack: Vec::new(),
            memo: BTreeMap::new(),
            count: 0,
            copied_bytes: Cell::new(0),
        }
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        Some(taken)
    }

    /// Takes a number of that many bytes, the lowest first.
    fn number(&mut self, bytes: usize) -> Option<u64> {
        let taken = self.take(bytes)?;
        Some(
            taken
                .iter()
                .rev()
                .fold(0, |number, byte| number << 8 | u64::from(*byte)),
        )
    }

    fn push(&mut self, value: Value) {
        self.stack.push(Item::Value(value));
    }

    fn push_text(&mut self, length: u64) -> Option<()> {
        let bytes = self.take(usize::try_from(length).ok()?)?;
        // A lone surrogate, which Python can write, becomes the replacement character.
        self.push(Value::String(String::from_utf8_lossy(bytes).into_owned()));
        Some(())
    }

    fn pop(&mut self) -> Option<Value> {
        match self.stack.pop()? {
            Item::Value(value) => Some(value),
            Item::Other => Some(Value::Null),
            Item::Mark => None,
        }
    }

    /// Takes all values down to the last mark.
    fn since_mark(&mut self) -> Option<Vec<Value>> {
        let mark = self
            .stack
            .iter()
            .rposition(|item| matches!(item, Item::Mark))?;
        let items = self.stack.split_off(mark + 1);
        self.stack.pop();
        Some(
            items
                .into_iter()
                .map(|item| match item {
                    Item::Value(value) => value,
                    Item::Other | Item::Mark => Value::Null,
                })
                .collect(),
        )
    }

    fn top(&mut self) -> Option<&mut Value> {
        match self.stack.last_mut()? {
            Item::Value(value) => Some(value),
            Item::Other | Item::Mark => None,
        }
    }

    fn set(&mut self, pairs: Vec<Value>) -> Option<()> {
        let Some(Value::Object(object)) = self.top() else {
            return matches!(self.stack.last(), Some(Item::Other)).then_some(());
        };
        let mut pairs = pairs.into_iter();
        while let (Some(key), Some(value)) = (pairs.next(), pairs.next()) {
            let key = match key {
                Value::String(key) => key,
                other => other.to_string(),
            };
            object.insert(key, value);
        }
        Some(())
    }

    fn append(&mut self, values: Vec<Value>) -> Option<()> {
        match self.top()? {
            Value::Array(list) => list.extend(values),
            _ => return None,
        }
        Some(())
    }

    /// Returns a copy of a text or a number. Points repeat nothing else, and a list that holds itself
    /// twice, again and again, would fill the memory.
    fn copied(&self, item: &Item) -> Option<Item> {
        let text = match item {
            Item::Value(Value::Array(_) | Value::Object(_)) | Item::Other => {
                return Some(Item::Other);
            }
            Item::Value(Value::String(text)) => text.len(),
            Item::Value(_) => 0,
            Item::Mark => return None,
        };
        let copied = self.copied_bytes.get() + text;
        self.copied_bytes.set(copied);
        (copied <= COPIED_BYTES_MAX).then(|| item.clone())
    }

    /// Builds an object of a class: its dictionary.
    fn build(&mut self) -> Option<()> {
        let state = self.pop()?;
        self.stack.pop()?;
        // Pydantic keeps the fields one level down.
        let fields = match state {
            Value::Object(mut state) => state.remove("__dict__").unwrap_or(Value::Object(state)),
            other => other,
        };
        self.push(fields);
        Some(())
    }

    fn run(&mut self) -> Option<Value> {
        loop {
            self.count += 1;
            if self.count > VALUES_MAX {
                return None;
            }
            let [code] = self.take(1)? else { return None };
            match *code {
                0x80 => drop(self.take(1)?),
                0x95 => drop(self.take(8)?),
                b'.' => {
                    let value = self.pop()?;
                    return (depth(&value) <= DEPTH_MAX).then_some(value);
                }
                b'N' => self.push(Value::Null),
                0x88 => self.push(Value::Bool(true)),
                0x89 => self.push(Value::Bool(false)),
                code @ (b'K' | b'M' | b'J' | 0x8a | b'G') => {
                    let number = self.any_number(code)?;
                    self.stack.push(Item::Value(Value::Number(number)));
                }
                0x8c => {
                    let length = self.number(1)?;
                    self.push_text(length)?;
                }
                b'X' => {
                    let length = self.number(4)?;
                    self.push_text(length)?;
                }
                0x8d => {
                    let length = self.number(8)?;
                    self.push_text(length)?;
                }
                b'}' => self.push(Value::Object(Map::new())),
                b']' => self.push(Value::Array(Vec::new())),
                b'(' => self.stack.push(Item::Mark),
                b')' | 0x8f => self.stack.push(Item::Other),
                0x93 => {
                    // The names of a module and of a class: which they are changes nothing.
                    self.pop()?;
                    self.pop()?;
                    self.stack.push(Item::Other);
                }
                0x81 => {
                    self.stack.pop()?;
                    self.stack.pop()?;
                    self.stack.push(Item::Other);
                }
                b'b' => self.build()?,
                other => self.change(other)?,
            }
        }
    }

    /// Follows an instruction that changes the values so far: lists, dictionaries, the memo.
    fn change(&mut self, code: u8) -> Option<()> {
        match code {
            0x94 => {
                let place = self.memo.len() as u64;
                let item = self.copied(self.stack.last()?)?;
                self.memo.insert(place, item);
            }
            b'q' | b'r' => {
                let place = self.number(if code == b'q' { 1 } else { 4 })?;
                let item = self.copied(self.stack.last()?)?;
                self.memo.insert(place, item);
            }
            b'h' | b'j' => {
                let place = self.number(if code == b'h' { 1 } else { 4 })?;
                let item = self.copied(self.memo.get(&place)?)?;
                self.stack.push(item);
            }
            b's' => {
                let (value, key) = (self.pop()?, self.pop()?);
                self.set(vec![key, value])?;
            }
            b'u' => {
                let pairs = self.since_mark()?;
                self.set(pairs)?;
            }
            b'a' => {
                let value = self.pop()?;
                self.append(vec![value])?;
            }
            b'e' => {
                let values = self.since_mark()?;
                self.append(values)?;
            }
            // The items of a set, of which nothing is needed.
            0x90 => drop(self.since_mark()?),
            b't' => {
                self.since_mark()?;
                self.stack.push(Item::Other);
            }
            0x85..=0x87 => {
                for _ in 0x85..=code {
                    self.stack.pop()?;
                }
                self.stack.push(Item::Other);
            }
            _ => return None,
        }
        Some(())
    }

    fn any_number(&mut self, code: u8) -> Option<Number> {
        Some(match code {
            b'K' => Number::from(self.number(1)?),
            b'M' => Number::from(self.number(2)?),
            b'J' => Number::from(i32::from_le_bytes(self.take(4)?.try_into().ok()?)),
            b'G' => Number::from_f64(f64::from_be_bytes(self.take(8)?.try_into().ok()?))?,
            _ => {
                let length = usize::try_from(self.number(1)?).ok()?;
                let bytes = self.take(length)?;
                let mut number = [if bytes.last()? & 0x80 == 0 { 0 } else { 0xff }; 8];
                number.get_mut(..length)?.copy_from_slice(bytes);
                Number::from(i64::from_le_bytes(number))
            }
        })
    }
}

fn depth(value: &Value) -> usize {
    let mut level: Vec<&Value> = vec![value];
    for depth in 1..=DEPTH_MAX {
        let below: Vec<&Value> = level
            .iter()
            .flat_map(|value| match value {
                Value::Array(values) => values.iter().collect::<Vec<_>>(),
                Value::Object(object) => object.values().collect(),
                _ => Vec::new(),
            })
            .collect();
        if below.is_empty() {
            return depth;
        }
        level = below;
    }
    DEPTH_MAX + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_and_nothing_is_run() {
        // `pickle.dumps({"a": [1, "b", None], "c": {"d": 1.5}}, protocol=4)`
        let dictionary = b"\x80\x04\x95\x25\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x01a\x94]\x94(K\x01\x8c\x01b\x94Ne\x8c\x01c\x94}\x94\x8c\x01d\x94G?\xf8\x00\x00\x00\x00\x00\x00su.";
        assert_eq!(
            Value::Object(point(dictionary).unwrap()),
            serde_json::json!({"a": [1, "b", null], "c": {"d": 1.5}})
        );
        for length in 0..dictionary.len() {
            assert!(point(&dictionary[..length]).is_none(), "{length}");
        }
        // A call of a function is an instruction that no point has.
        assert!(point(b"\x80\x04\x8c\x02os\x8c\x06getcwd\x93)R.").is_none());
        assert_eq!(text(b"\x80\x04\x8c\x01a\x94."), Some("a".to_owned()));
        assert_eq!(text(b"\x80\x04\x8a\x02\xff\xff."), Some("-1".to_owned()));
    }

    #[test]
    fn a_value_that_nests_too_deeply_is_none() {
        let nested = |depth: usize| {
            let mut bytes = vec![0x80, 4];
            bytes.extend(vec![b']'; depth]);
            bytes.extend(vec![b'a'; depth - 1]);
            bytes.push(b'.');
            bytes
        };
        let read = |depth| Reader::new(&nested(depth)).run().is_some();
        // A list that is put into a list twice, thirty times over, stays small.
        let mut doubled = vec![0x80, 4, b']', 0x94];
        for place in 0..30 {
            doubled.extend([b']', 0x94, b'(', b'h', place, b'h', place, b'e']);
        }
        doubled.push(b'.');
        let whole = Reader::new(&doubled).run().unwrap();
        assert_eq!(whole, serde_json::json!([null, null]));
        assert!(read(DEPTH_MAX));
        assert!(!read(DEPTH_MAX + 1));
    }
}
