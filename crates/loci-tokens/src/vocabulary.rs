//! The tokens and their ranks, from tables that the build script writes.

use crate::hash::{EMPTY, ENTRY_BYTES, RANK, SLOTS, place};

/// The bytes of all tokens, concatenated in the order of ranks.
static BYTES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/bytes"));
/// By rank, the end of the token in [`BYTES`].
static ENDS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/ends"));
/// By hash, the fingerprint and the rank of a token, or [`EMPTY`]; collisions use the next free slot.
static SLOT_VALUES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/slots"));

/// Returns the rank of the token with these bytes, if there is one. Tokens of lower rank are merged
/// first.
pub fn rank(bytes: &[u8]) -> Option<u32> {
    #[cfg(test)]
    tests::LOOKUPS.with(|lookups| lookups.set(lookups.get() + 1));
    let (mut slot, fingerprint) = place(bytes);
    loop {
        let value = number(SLOT_VALUES, slot).filter(|value| *value != EMPTY)?;
        let rank = value & RANK;
        if value == fingerprint | rank && token(rank) == Some(bytes) {
            return Some(rank);
        }
        slot = (slot + 1) % SLOTS;
    }
}

fn token(rank: u32) -> Option<&'static [u8]> {
    let rank = rank as usize;
    let start = rank
        .checked_sub(1)
        .map_or(Some(0), |before| number(ENDS, before))?;
    BYTES.get(start as usize..number(ENDS, rank)? as usize)
}

fn number(table: &[u8], index: usize) -> Option<u32> {
    let [low, middle, high]: [u8; ENTRY_BYTES] = *table.as_chunks().0.get(index)?;
    Some(u32::from_le_bytes([low, middle, high, 0]))
}

#[cfg(test)]
pub mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        /// The number of lookups of this thread.
        pub static LOOKUPS: Cell<usize> = const { Cell::new(0) };
    }

    #[test]
    fn every_token_is_found_under_its_rank() {
        let count = u32::try_from(ENDS.len() / ENTRY_BYTES).unwrap();
        assert_eq!(count, 199_998);
        for wanted in 0..count {
            assert_eq!(rank(token(wanted).unwrap()), Some(wanted));
        }
        assert_eq!(token(count), None);
    }

    #[test]
    fn every_byte_is_a_token_and_nothing_is_none() {
        for byte in 0..=u8::MAX {
            assert!(rank(&[byte]).is_some(), "{byte}");
        }
        for none in ["", "<|endoftext|>", "no token is as long as this"] {
            assert_eq!(rank(none.as_bytes()), None);
        }
    }
}
