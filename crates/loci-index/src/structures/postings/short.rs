//! Encodes a few postings as bytes: most need three or four.

use super::posting::Posting;

const PAYLOAD_BITS: u32 = 7;
const MORE: u8 = 1 << PAYLOAD_BITS;

/// Appends a posting to the bytes of those before it, the last of which had the slot `previous`; 0
/// for the first. The lowest bit of the gap is set if a count other than 1 follows.
pub(super) fn write(bytes: &mut Vec<u8>, previous: u32, posting: Posting) {
    let gap = u64::from(posting.slot - previous);
    write_number(bytes, gap << 1 | u64::from(posting.count != 1));
    if posting.count != 1 {
        write_number(bytes, u64::from(posting.count));
    }
}

fn write_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= u64::from(MORE) {
        bytes.push(number as u8 | MORE);
        number >>= PAYLOAD_BITS;
    }
    bytes.push(number as u8);
}

/// Returns the encoding of all the postings.
pub(super) fn written(postings: &[Posting]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut previous = 0;
    for posting in postings {
        write(&mut bytes, previous, *posting);
        previous = posting.slot;
    }
    bytes
}

/// Decodes the postings of these bytes.
pub(super) fn read(bytes: &[u8]) -> Reader<'_> {
    Reader {
        rest: bytes,
        previous: 0,
    }
}

pub(super) struct Reader<'a> {
    rest: &'a [u8],
    previous: u32,
}

impl Reader<'_> {
    fn number(&mut self) -> Option<u64> {
        let (mut number, mut shift) = (0, 0);
        loop {
            let (byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            number |= u64::from(byte & !MORE) << shift;
            if byte & MORE == 0 {
                return Some(number);
            }
            shift += PAYLOAD_BITS;
        }
    }
}

impl Iterator for Reader<'_> {
    type Item = Posting;

    fn next(&mut self) -> Option<Posting> {
        let number = self.number()?;
        let count = if number & 1 == 0 {
            1
        } else {
            self.number()? as u32
        };
        self.previous += (number >> 1) as u32;
        Some(Posting {
            slot: self.previous,
            count,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::btree_map;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_reads_what_was_written(postings in btree_map(any::<u32>(), prop_oneof![0_u32..4, any::<u32>()], 0..50)) {
            let postings: Vec<Posting> = postings.into_iter().map(|(slot, count)| Posting { slot, count }).collect();
            prop_assert_eq!(read(&written(&postings)).collect::<Vec<_>>(), postings);
        }
    }
}
