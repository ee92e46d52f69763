//! Ids in the format of the original: BSON's `ObjectId`.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use loci_core::{MemoryId, Timestamp};

/// The part of the ids that is unique to this process.
struct Process {
    /// Five random bytes.
    name: u64,
    /// A counter with a random start; only its lowest three bytes are used.
    counter: AtomicU32,
}

static PROCESS: LazyLock<Process> = LazyLock::new(|| {
    // The standard library seeds its hashers with system randomness.
    let random = RandomState::new().build_hasher().finish();
    Process {
        name: random >> 24,
        counter: AtomicU32::new(random as u32),
    }
});

/// Creates an id: 24 hexadecimal digits for four bytes of seconds since 1970, five random bytes of
/// the process, and three bytes of a counter. Unique as long as a process creates fewer than 2^24
/// ids per second.
pub fn mint(now: Timestamp) -> MemoryId {
    let seconds = now.microseconds().div_euclid(1_000_000) as u32;
    let count = PROCESS.counter.fetch_add(1, Ordering::Relaxed) & 0x00ff_ffff;
    MemoryId::new(format!("{seconds:08x}{:010x}{count:06x}", PROCESS.name))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn at(seconds: i64) -> String {
        mint(Timestamp::from_microseconds(seconds * 1_000_000)).to_string()
    }

    #[test]
    fn an_id_is_time_process_and_counter() {
        for seconds in [0, 1, 1_742_034_600, i64::from(u32::MAX)] {
            let (first, second) = (at(seconds), at(seconds));
            assert!(
                first.len() == 24
                    && first
                        .bytes()
                        .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')),
                "{first}"
            );
            assert_eq!(first[..8], format!("{seconds:08x}"));
            assert_eq!(first[8..18], second[8..18], "one process");
        }
        assert_eq!(
            mint(Timestamp::from_microseconds(1_999_999)).as_str()[..8],
            *"00000001"
        );
    }

    #[test]
    fn moments_that_four_bytes_do_not_hold_wrap() {
        for seconds in [-1, 1 << 32, i64::MAX / 1_000_000, i64::MIN / 1_000_000] {
            assert_eq!(at(seconds).len(), 24);
        }
        assert_eq!(
            mint(Timestamp::from_microseconds(-1)).as_str()[..8],
            *"ffffffff"
        );
    }

    #[test]
    fn ids_of_one_second_are_unique_in_all_threads() {
        const THREADS: usize = 4;
        const IDS: usize = 10_000;
        let minted: Vec<String> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS)
                .map(|_| scope.spawn(|| (0..IDS).map(|_| at(1)).collect::<Vec<_>>()))
                .collect();
            threads
                .into_iter()
                .flat_map(|thread| thread.join().unwrap())
                .collect()
        });
        assert_eq!(minted.iter().collect::<HashSet<_>>().len(), THREADS * IDS);
    }
}
