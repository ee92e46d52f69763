use bitpacking::{BitPacker, BitPacker4x};

use super::bm25::{Impact, Saturation};
use super::lengths::Lengths;
use super::posting::Posting;
use crate::structures::segment::u32_at;

/// The number of postings of a full block, as the bit packer requires.
pub(super) const BLOCK: usize = BitPacker4x::BLOCK_LEN;

/// Bytes of a [`Head`] in a segment.
pub(super) const HEAD_BYTES: usize = 28;

/// The properties of a block that need no unpacking.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    pub(super) first: u32,
    pub(super) last: u32,
    /// The minimum count, which is subtracted from the packed counts.
    count_min: u32,
    impact: Impact,
    length: u8,
    slot_bits: u8,
    count_bits: u8,
}

/// Up to [`BLOCK`] postings, ascending by slot: gaps between slots and counts in as many bits as
/// the largest needs (Lemire and Boytsov 2015). A partial block is padded with gaps of 0.
#[derive(Debug, Clone)]
pub(super) struct Block {
    packed: Box<[u8]>,
    head: Head,
}

/// A borrowed block, in memory or in a segment.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockRef<'a> {
    packed: &'a [u8],
    head: Head,
}

impl Head {
    fn packed_bytes(self) -> usize {
        BitPacker4x::compressed_block_size(self.slot_bits)
            + BitPacker4x::compressed_block_size(self.count_bits)
    }

    pub(super) fn len(self) -> usize {
        usize::from(self.length)
    }
}

impl Block {
    /// Packs between one and [`BLOCK`] postings; `lengths` has the length of each passage, by slot.
    pub(super) fn of(postings: &[Posting], lengths: Lengths<'_>) -> Self {
        let packer = BitPacker4x::new();
        let postings = &postings[..postings.len().min(BLOCK)];
        let first = postings.first().copied().unwrap_or_default();
        let last = postings.last().copied().unwrap_or_default();
        let count_min = postings
            .iter()
            .map(|posting| posting.count)
            .min()
            .unwrap_or_default();
        let (mut slots, mut counts) = ([last.slot; BLOCK], [0; BLOCK]);
        for (posting, (slot, count)) in postings.iter().zip(slots.iter_mut().zip(&mut counts)) {
            (*slot, *count) = (posting.slot, posting.count - count_min);
        }
        let slot_bits = packer.num_bits_sorted(first.slot, &slots);
        let count_bits = packer.num_bits(&counts);
        let slot_bytes = BitPacker4x::compressed_block_size(slot_bits);
        let mut packed = vec![0; slot_bytes + BitPacker4x::compressed_block_size(count_bits)];
        packer.compress_sorted(first.slot, &slots, &mut packed, slot_bits);
        packer.compress(&counts, &mut packed[slot_bytes..], count_bits);
        let head = Head {
            first: first.slot,
            last: last.slot,
            count_min,
            impact: Impact::of(postings, lengths),
            length: postings.len() as u8,
            slot_bits,
            count_bits,
        };
        Block {
            packed: packed.into(),
            head,
        }
    }

    pub(super) fn get(&self) -> BlockRef<'_> {
        BlockRef {
            packed: &self.packed,
            head: self.head,
        }
    }

    pub(super) fn first(&self) -> u32 {
        self.head.first
    }

    pub(super) fn last(&self) -> u32 {
        self.head.last
    }

    pub(super) fn len(&self) -> usize {
        self.head.len()
    }

    /// Returns the bytes that it uses on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        self.packed.len()
    }

    /// Appends the head in the format of a segment, with the position of the packed data.
    pub(super) fn write_head(&self, packed_at: u32, bytes: &mut Vec<u8>) {
        let Head {
            first,
            last,
            count_min,
            impact,
            length,
            slot_bits,
            count_bits,
        } = self.head;
        let [low, high] = impact.words();
        let bits = u32::from_ne_bytes([length, slot_bits, count_bits, 0]);
        bytes.extend(
            [first, last, count_min, low, high, packed_at, bits]
                .into_iter()
                .flat_map(u32::to_ne_bytes),
        );
    }

    pub(super) fn packed(&self) -> &[u8] {
        &self.packed
    }
}

impl<'a> BlockRef<'a> {
    /// Reads the block with this head from `packed`; `None` if the bytes are not a valid block.
    pub(super) fn read(head: &[u8], packed: &'a [u8]) -> Option<Self> {
        let [length, slot_bits, count_bits, _] = u32_at(head, 6).to_ne_bytes();
        let impact = Impact::of_words([u32_at(head, 3), u32_at(head, 4)]);
        let (first, last, count_min) = (u32_at(head, 0), u32_at(head, 1), u32_at(head, 2));
        let head_read = Head {
            first,
            last,
            count_min,
            impact,
            length,
            slot_bits,
            count_bits,
        };
        let is_block =
            slot_bits <= 32 && count_bits <= 32 && usize::from(length) <= BLOCK && first <= last;
        let start = u32_at(head, 5) as usize;
        let packed = packed.get(
            start
                ..start
                    + if is_block {
                        head_read.packed_bytes()
                    } else {
                        return None;
                    },
        )?;
        Some(BlockRef {
            packed,
            head: head_read,
        })
    }

    pub(super) fn first(&self) -> u32 {
        self.head.first
    }

    pub(super) fn last(&self) -> u32 {
        self.head.last
    }

    pub(super) fn len(&self) -> usize {
        self.head.len()
    }

    /// True if any of its postings may be a mark.
    pub(super) fn has_marks(&self) -> bool {
        self.head.count_min == 0
    }

    /// Returns an upper bound of [`Saturation::score`] for its postings, except for rounding.
    pub(super) fn weight_max(&self, saturation: Saturation) -> f32 {
        self.head.impact.weight_max(saturation)
    }

    /// Unpacks the slots; those beyond its length repeat the last.
    pub(super) fn unpack_slots(&self, slots: &mut [u32; BLOCK]) {
        BitPacker4x::new().decompress_sorted(
            self.head.first,
            self.packed,
            slots,
            self.head.slot_bits,
        );
    }

    /// Unpacks the counts; those beyond its length are meaningless.
    pub(super) fn unpack_counts(&self, counts: &mut [u32; BLOCK]) {
        let Head {
            count_min,
            slot_bits,
            count_bits,
            ..
        } = self.head;
        if count_bits == 0 {
            counts.fill(count_min);
            return;
        }
        let start = BitPacker4x::compressed_block_size(slot_bits);
        BitPacker4x::new().decompress(&self.packed[start..], counts, count_bits);
        for count in counts {
            *count += count_min;
        }
    }

    /// Appends its postings.
    pub(super) fn unpack(&self, postings: &mut Vec<Posting>) {
        let (mut slots, mut counts) = ([0; BLOCK], [0; BLOCK]);
        self.unpack_slots(&mut slots);
        self.unpack_counts(&mut counts);
        let pairs = slots.into_iter().zip(counts).take(self.len());
        postings.extend(pairs.map(|(slot, count)| Posting { slot, count }));
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::btree_map;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_gives_back_what_was_packed(
            postings in btree_map(any::<u32>(), prop_oneof![0_u32..4, any::<u32>()], 1..=BLOCK),
        ) {
            let postings: Vec<Posting> = postings.into_iter().map(|(slot, count)| Posting { slot, count }).collect();
            let block = Block::of(&postings, Lengths::default());
            let mut head = Vec::new();
            block.write_head(0, &mut head);
            prop_assert_eq!(head.len(), HEAD_BYTES);
            let block = BlockRef::read(&head, block.packed()).unwrap();
            let mut unpacked = Vec::new();
            block.unpack(&mut unpacked);
            prop_assert_eq!(&unpacked, &postings);
            prop_assert_eq!((block.first(), block.last()), (postings[0].slot, postings[postings.len() - 1].slot));
            prop_assert_eq!(block.has_marks(), postings.iter().any(|posting| posting.count == 0));
        }
    }
}
