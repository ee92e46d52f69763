use std::cmp::Ordering;

/// Bytes of a UUID as text.
const UUID_TEXT: usize = 36;
/// Bytes of text that fit into the place of a pointer and a length.
const SHORT: usize = 22;
/// Before which bytes of a UUID its text has a hyphen.
const HYPHENS: [usize; 4] = [4, 6, 8, 10];

/// The id of a memory in 24 bytes, with nothing on the heap for UUIDs and for short texts. One text
/// has one form, so that equal ids are equal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Id {
    /// A UUID in lower case with its hyphens.
    Uuid([u8; 16]),
    Short {
        length: u8,
        bytes: [u8; SHORT],
    },
    Long(Box<str>),
}

impl Id {
    pub(crate) fn new(text: &str) -> Self {
        if let Some(bytes) = parse_uuid(text.as_bytes()) {
            return Id::Uuid(bytes);
        }
        if text.len() > SHORT {
            return Id::Long(text.into());
        }
        let mut bytes = [0; SHORT];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        Id::Short {
            length: text.len() as u8,
            bytes,
        }
    }

    /// The id as it came in. `buffer` is room for it.
    pub(crate) fn text<'a>(&'a self, buffer: &'a mut [u8; UUID_TEXT]) -> &'a str {
        let bytes = match self {
            Id::Uuid(bytes) => {
                write_uuid(bytes, buffer);
                &buffer[..]
            }
            Id::Short { length, bytes } => &bytes[..usize::from(*length)],
            Id::Long(text) => return text,
        };
        // An id that was made from a text is one again.
        std::str::from_utf8(bytes).unwrap_or_default()
    }

    pub(crate) fn to_text(&self) -> String {
        self.text(&mut [0; UUID_TEXT]).to_owned()
    }

    /// Bytes on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        if let Id::Long(text) = self {
            text.len()
        } else {
            0
        }
    }
}

/// The order of the texts.
impl Ord for Id {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            // Hyphens stand at the same places, and hexadecimal digits are in the order of what
            // they mean.
            (Id::Uuid(left), Id::Uuid(right)) => left.cmp(right),
            _ => self
                .text(&mut [0; UUID_TEXT])
                .cmp(other.text(&mut [0; UUID_TEXT])),
        }
    }
}

impl PartialOrd for Id {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn parse_uuid(text: &[u8]) -> Option<[u8; 16]> {
    if text.len() != UUID_TEXT {
        return None;
    }
    let mut rest = text;
    let mut bytes = [0; 16];
    for (place, byte) in bytes.iter_mut().enumerate() {
        if HYPHENS.contains(&place) {
            rest = rest.strip_prefix(b"-")?;
        }
        let (digits, after) = rest.split_first_chunk::<2>()?;
        *byte = digit(digits[0])? << 4 | digit(digits[1])?;
        rest = after;
    }
    Some(bytes)
}

fn digit(character: u8) -> Option<u8> {
    match character {
        b'0'..=b'9' => Some(character - b'0'),
        b'a'..=b'f' => Some(character - b'a' + 10),
        _ => None,
    }
}

fn write_uuid(bytes: &[u8; 16], text: &mut [u8; UUID_TEXT]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut end = 0;
    for (place, byte) in bytes.iter().enumerate() {
        if HYPHENS.contains(&place) {
            text[end] = b'-';
            end += 1;
        }
        text[end] = DIGITS[usize::from(byte >> 4)];
        text[end + 1] = DIGITS[usize::from(byte & 15)];
        end += 2;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const UUID: &str = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";

    /// UUIDs, what nearly is one, and anything else.
    fn texts() -> impl Strategy<Value = String> {
        prop_oneof![UUID, "[0-9a-fA-F-]{36}", "[0-9a-f]{24}", ".{0,30}"]
    }

    proptest! {
        #[test]
        fn an_id_comes_back_and_keeps_its_order(left in texts(), right in texts()) {
            let (left_id, right_id) = (Id::new(&left), Id::new(&right));
            prop_assert_eq!(left_id.to_text(), left.clone());
            prop_assert_eq!(left_id.cmp(&right_id), left.cmp(&right));
            prop_assert_eq!(left_id == right_id, left == right);
        }

        #[test]
        fn uuids_need_no_heap(left in UUID, right in UUID) {
            prop_assert!(matches!(Id::new(&left), Id::Uuid(_)));
            prop_assert_eq!(Id::new(&left).cmp(&Id::new(&right)), left.cmp(&right));
        }
    }

    #[test]
    fn an_id_is_small() {
        assert_eq!(size_of::<Id>(), 24);
    }
}
