//! The hash table of tokens, which the build script writes and the crate reads.

/// The number of slots, a power of two. Three of four are taken, so that a search passes slots of
/// other tokens, which lie beside each other; the fingerprints tell nearly all of these apart.
pub const SLOTS: usize = 1 << 18;
/// The number of bytes of an entry in each table.
pub const ENTRY_BYTES: usize = 3;
/// The value of a free slot.
pub const EMPTY: u32 = (1 << (8 * ENTRY_BYTES)) - 1;
/// The bits of a slot that hold the rank of its token; no rank sets all bits. The other bits hold
/// the fingerprint of the token.
pub const RANK: u32 = (1 << 18) - 1;

/// Returns the slot where the search for the bytes starts, and their fingerprint: FNV-1a, spread by
/// Fibonacci hashing, because the upper bits of FNV-1a hardly differ between short texts.
pub fn place(bytes: &[u8]) -> (usize, u32) {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let spread = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let slot = spread >> (u64::BITS - SLOTS.trailing_zeros());
    (slot as usize, (spread >> 16) as u32 & EMPTY & !RANK)
}
