//! The hash table of tokens, which the build script writes and the crate reads.

/// The number of slots, a power of two. Less than half are taken, so that a failed search ends
/// soon.
pub const SLOTS: usize = 1 << 19;
/// The value of a free slot.
pub const EMPTY: u32 = u32::MAX;

/// Returns the slot where the search for the bytes begins: FNV-1a, spread by Fibonacci hashing,
/// since the upper bits of FNV-1a hardly differ between short texts.
pub fn first_slot(bytes: &[u8]) -> usize {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    (hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - SLOTS.trailing_zeros())) as usize
}
