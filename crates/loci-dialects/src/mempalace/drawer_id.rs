//! Ids of drawers, derived from their content, so that the same text in the same place has the same
//! id.

use loci_core::MemoryId;
use sha2::{Digest, Sha256};

/// The maximum bytes of a name in an id; with two names of this length, the id is within its limit.
const NAME_BYTES_MAX: usize = 232;
/// The bytes of the hash in an id, as two hexadecimal digits each.
const HASH_BYTES: usize = 12;

/// Returns the id of a drawer that was filed by hand: `drawer_<wing>_<room>_` and 24 hexadecimal
/// digits of the SHA-256 of wing, room and content, concatenated. `n` is 0, or the number of
/// earlier ids that another text had taken.
pub fn drawer_id(wing: &str, room: &str, content: &str, n: u32) -> MemoryId {
    drawer_ids(wing, room, content)(n)
}

/// Returns the same for any `n`, hashing the text once.
pub fn drawer_ids(wing: &str, room: &str, content: &str) -> impl Fn(u32) -> MemoryId {
    let hasher = Sha256::new()
        .chain_update(wing)
        .chain_update(room)
        .chain_update(content);
    move |n| {
        let mut hasher = hasher.clone();
        if n > 0 {
            // No text contains NUL.
            hasher.update(format!("\0{n}"));
        }
        id(wing, room, hasher)
    }
}

/// Returns the id of a part of a source file, in the same form. Its hash also covers the file and
/// the number of earlier parts with the same text and room. It never equals the id of a drawer that
/// was filed by hand.
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
