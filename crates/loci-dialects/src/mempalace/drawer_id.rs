//! Ids of drawers: they follow from what is filed, so that the same text in the same place has the
//! same id.

use loci_core::MemoryId;
use sha2::{Digest, Sha256};

/// Bytes of a name that an id holds; with two of the longest it is still as short as ids must be.
const NAME_BYTES_MAX: usize = 232;
/// Bytes of the hash that an id holds, as two hexadecimal digits each.
const HASH_BYTES: usize = 12;

/// The id of what somebody filed by hand: `drawer_<wing>_<room>_` and 24 hexadecimal digits of the
/// SHA-256 of wing, room and content in a row. `n` is 0, or counts the ids before that had another
/// text by then.
pub fn drawer_id(wing: &str, room: &str, content: &str, n: u32) -> MemoryId {
    drawer_ids(wing, room, content)(n)
}

/// The same for any `n`; the text is hashed once.
pub fn drawer_ids(wing: &str, room: &str, content: &str) -> impl Fn(u32) -> MemoryId {
    let hasher = Sha256::new()
        .chain_update(wing)
        .chain_update(room)
        .chain_update(content);
    move |n| {
        let mut hasher = hasher.clone();
        if n > 0 {
            // No text holds NUL.
            hasher.update(format!("\0{n}"));
        }
        id(wing, room, hasher)
    }
}

/// The id of what was read of a file: in the same form, of a hash that covers the file, too, and
/// how many parts of it before this one have the same text and room. No drawer that was filed by
/// hand has it.
pub fn mined_drawer_id(
    wing: &str,
    room: &str,
    source_file: &str,
    content: &str,
    occurrence: u64,
) -> MemoryId {
    let mut hasher = Sha256::new();
    for part in [wing, room, source_file, content, &occurrence.to_string()] {
        hasher.update(part);
        hasher.update([0]);
    }
    id(wing, room, hasher)
}

fn id(wing: &str, room: &str, hasher: Sha256) -> MemoryId {
    let name = |name: &str| name[..name.floor_char_boundary(NAME_BYTES_MAX)].replace(' ', "_");
    let bytes = hasher.finalize().into_iter().take(HASH_BYTES);
    let hash = bytes.fold(0_u128, |hash, byte| hash << 8 | u128::from(byte));
    MemoryId::new(format!("drawer_{}_{}_{hash:024x}", name(wing), name(room)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_follows_from_place_and_text() {
        // printf 'my projectbackendtext' | sha256sum
        assert_eq!(
            drawer_id("my project", "backend", "text", 0).as_str(),
            "drawer_my_project_backend_24f4d977972e807c2468608c"
        );
        let ids = [
            drawer_id("my project", "backend", "text", 0),
            drawer_id("my project", "backend", "text", 1),
            drawer_id("my project", "backend", "text", 2),
            drawer_id("my project", "backend", "text1", 0),
            drawer_id("my project", "frontend", "text", 0),
            drawer_id("my", "projectbackend", "text", 0),
            mined_drawer_id("my project", "backend", "a.rs", "text", 0),
            mined_drawer_id("my project", "backend", "b.rs", "text", 0),
            mined_drawer_id("my project", "backend", "a.rs", "text", 1),
            mined_drawer_id("my project", "backend", "a.rstext", "", 0),
        ];
        let distinct: std::collections::HashSet<_> = ids.iter().collect();
        assert_eq!(distinct.len(), ids.len(), "{ids:?}");
    }

    #[test]
    fn the_longest_names_have_ids_that_callers_can_name() {
        let longest = "\u{10330}".repeat(128);
        for id in [
            drawer_id(&longest, &longest, "text", 7),
            mined_drawer_id(&longest, &longest, "a", "text", u64::MAX),
        ] {
            assert_eq!(MemoryId::parse("drawer_id", id.as_str()), Ok(id.clone()));
        }
    }
}
