//! Lists in parts: how long a part is, and the cursor with which a program asks for the next one.
//!
//! A cursor names the place behind the last record of a part, e.g. its number in the order of filing,
//! and no number of records to skip. So a list shows each record once, though others are stored or
//! removed between two parts. It holds only for the list and the conditions that it was given for.

use data_encoding::BASE64URL_NOPAD;
use loci_core::{Error, Result};
use serde::Serialize;
use sha2::{Digest, Sha256};

/// The records of a part, if a request does not say.
const LIMIT: usize = 50;
/// The most records of a part.
const LIMIT_MAX: usize = 100;
/// The bytes of the hash that ties a cursor to its list.
const TIE_BYTES: usize = 6;

/// Returns the number of records that a part has.
///
/// # Errors
/// `invalid_argument` if it is not 1 to 100.
pub(crate) fn limit(requested: Option<usize>) -> Result<usize> {
    match requested {
        None => Ok(LIMIT),
        Some(limit @ 1..=LIMIT_MAX) => Ok(limit),
        Some(_) => Err(Error::invalid("limit", format!("must be 1 to {LIMIT_MAX}"))),
    }
}

/// Returns the cursor of a place in a list under these conditions.
pub(crate) fn cursor(list: &str, conditions: &impl Serialize, place: u64) -> String {
    encoded(list, conditions, &place.to_be_bytes())
}

/// Returns the cursor of a place in a list that is in the order of texts.
pub(crate) fn cursor_behind(list: &str, conditions: &impl Serialize, text: &str) -> String {
    encoded(list, conditions, text.as_bytes())
}

fn encoded(list: &str, conditions: &impl Serialize, place: &[u8]) -> String {
    BASE64URL_NOPAD.encode(&[&tie(list, conditions)[..], place].concat())
}

/// Returns the place of a cursor of this list under these conditions; `None` without a cursor.
///
/// # Errors
/// `invalid_argument` for any other cursor.
pub(crate) fn place(
    list: &str,
    conditions: &impl Serialize,
    cursor: Option<&str>,
) -> Result<Option<u64>> {
    decoded(list, conditions, cursor, |place| {
        Some(u64::from_be_bytes(place.try_into().ok()?))
    })
}

/// Returns the text behind which a list goes on that is in the order of texts; `None` without a cursor.
///
/// # Errors
/// `invalid_argument` for any other cursor.
pub(crate) fn place_behind(
    list: &str,
    conditions: &impl Serialize,
    cursor: Option<&str>,
) -> Result<Option<String>> {
    decoded(list, conditions, cursor, |place| {
        String::from_utf8(place.to_vec()).ok()
    })
}

fn decoded<P>(
    list: &str,
    conditions: &impl Serialize,
    cursor: Option<&str>,
    read: impl FnOnce(&[u8]) -> Option<P>,
) -> Result<Option<P>> {
    let Some(cursor) = cursor else {
        return Ok(None);
    };
    let bytes = BASE64URL_NOPAD.decode(cursor.as_bytes()).ok();
    let rest = bytes
        .as_deref()
        .and_then(|bytes| bytes.strip_prefix(&tie(list, conditions)));
    let place = rest.and_then(read);
    let problem = "is not one that this list gave under these conditions; send the other parameters as they were, or leave \
                   `cursor` out to start from the first record";
    place
        .map(Some)
        .ok_or_else(|| Error::invalid("cursor", problem))
}

/// Returns the hash of a list and its conditions.
fn tie(list: &str, conditions: &impl Serialize) -> [u8; TIE_BYTES] {
    let conditions = serde_json::to_string(conditions).unwrap_or_default();
    let hash = Sha256::new()
        .chain_update(list)
        .chain_update([0])
        .chain_update(conditions)
        .finalize();
    std::array::from_fn(|place| hash[place])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_leads_back_to_its_place_in_its_list_alone() {
        for at in [0, 1, 255, u64::MAX] {
            let given = cursor("memories", &("pottery", 1), at);
            let read = |list, conditions: &(&str, u8)| place(list, conditions, Some(&given));
            assert_eq!(read("memories", &("pottery", 1)), Ok(Some(at)));
            for wrong in [
                read("calls", &("pottery", 1)),
                read("memories", &("bread", 1)),
            ] {
                assert_eq!(wrong.unwrap_err().argument.as_deref(), Some("cursor"));
            }
        }
        for text in ["", "x", "50", "//", "AAAAAAAAAAAAAAAAAAA", "\u{e9}"] {
            let refused = place("memories", &1, Some(text)).unwrap_err();
            assert!(refused.message.contains("leave `cursor` out"), "{refused}");
        }
        assert_eq!(place("memories", &1, None), Ok(None));
    }

    #[test]
    fn a_cursor_of_a_text_leads_back_behind_it() {
        for text in ["", "kiln", "\u{f6}fen"] {
            let given = cursor_behind("entities", &"k", text);
            let read = |list, conditions| place_behind(list, &conditions, Some(&given));
            assert_eq!(read("entities", "k"), Ok(Some(text.to_owned())));
            assert!(read("decisions", "k").is_err() && read("entities", "x").is_err());
        }
        assert_eq!(place_behind("entities", &"k", None), Ok(None));
    }

    #[test]
    fn a_part_has_1_to_100_records() {
        assert_eq!(limit(None), Ok(50));
        assert_eq!(limit(Some(1)), Ok(1));
        assert_eq!(limit(Some(100)), Ok(100));
        assert!(limit(Some(0)).is_err());
        assert!(limit(Some(101)).is_err());
    }
}
