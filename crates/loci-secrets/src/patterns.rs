//! Finds all occurrences of many strings in a text.
//!
//! A library's automaton for these strings has some megabytes and takes 20 ms to build, which the
//! first call would wait for. Here each string is looked for by the three of its bytes that are the
//! rarest in texts, which takes 0.3 ms to prepare and reads texts faster.

use std::borrow::Cow;
use std::ops::Range;

use crate::work;

/// Bits of a hash of three bytes.
const HASH_BITS: u32 = 16;
/// Bits of one word of a set of hashes.
const WORD: usize = u64::BITS as usize;
const WORDS: usize = (1 << HASH_BITS) / WORD;

/// A set of hashes.
#[derive(Debug)]
struct Hashes(Box<[u64; WORDS]>);

impl Hashes {
    fn of(hashes: impl Iterator<Item = u16>) -> Self {
        let mut words = Box::new([0; WORDS]);
        for hash in hashes {
            words[usize::from(hash) / WORD] |= 1 << (usize::from(hash) % WORD);
        }
        Hashes(words)
    }

    #[inline]
    fn has(&self, hash: u16) -> bool {
        self.0[usize::from(hash) / WORD] >> (usize::from(hash) % WORD) & 1 != 0
    }
}

/// A string to look for, of 3 to 255 bytes, with its meaning.
#[derive(Debug)]
pub struct Pattern<T> {
    pub text: Cow<'static, str>,
    /// True if ASCII letters must have the same case.
    pub is_exact: bool,
    pub rule: T,
}

/// Strings to look for.
#[derive(Debug)]
pub struct Patterns<T> {
    rows: Vec<Pattern<T>>,
    /// The set of the hashes by which a pattern is found.
    hashes: Hashes,
    /// In the order of their hashes.
    candidates: Vec<Candidate>,
    /// The place of the first candidate of each hash that has some.
    firsts: Vec<u16>,
}

/// A pattern that has the three bytes of a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    hash: u16,
    number: u16,
    length: u8,
    /// The place of these bytes.
    place: u8,
    /// The place of one more byte, and the byte in lower case.
    probe: (u8, u8),
}

impl<T: Copy> Patterns<T> {
    /// Prepares the search for fewer than 65,536 patterns of 3 to 255 bytes. Others are left out.
    pub fn new(patterns: Vec<Pattern<T>>) -> Self {
        let common = Hashes::of(COMMON.windows(3).map(hash_of));
        let rows = (0..=u16::MAX).zip(&patterns);
        let candidates =
            rows.filter_map(|(number, row)| Candidate::of(number, row.text.as_bytes(), &common));
        let mut candidates: Vec<Candidate> = candidates.collect();
        candidates.sort_unstable();
        let hashes = Hashes::of(candidates.iter().map(|candidate| candidate.hash));
        let mut firsts = vec![0; 1 << HASH_BITS];
        for (place, candidate) in candidates.iter().enumerate().rev() {
            firsts[usize::from(candidate.hash)] = place as u16;
        }
        Patterns {
            rows: patterns,
            hashes,
            candidates,
            firsts,
        }
    }

    /// Calls `visit` with the rule and the place of each occurrence, in about their order.
    pub fn search(&self, text: &str, mut visit: impl FnMut(T, Range<usize>)) {
        let bytes = text.as_bytes();
        work::read(bytes.len());
        let mut look = |at: usize, four: u32| {
            let hash = hash(four);
            if self.hashes.has(hash) {
                self.compare(bytes, at, hash, &mut visit);
            }
        };
        for (at, window) in bytes.windows(4).enumerate() {
            if let [first, second, third, fourth] = *window {
                look(at, u32::from_le_bytes([first, second, third, fourth]));
            }
        }
        if let Some([first, second, third]) = bytes.last_chunk() {
            look(
                bytes.len() - 3,
                u32::from_le_bytes([*first, *second, *third, 0]),
            );
        }
    }

    /// Compares the candidates for three bytes with the text.
    #[inline(never)]
    fn compare(&self, bytes: &[u8], at: usize, hash: u16, visit: &mut impl FnMut(T, Range<usize>)) {
        let candidates = &self.candidates[usize::from(self.firsts[usize::from(hash)])..];
        for candidate in candidates
            .iter()
            .take_while(|candidate| candidate.hash == hash)
        {
            let Some(start) = at.checked_sub(usize::from(candidate.place)) else {
                continue;
            };
            let range = start..start + usize::from(candidate.length);
            let Some(found) = bytes.get(range.clone()) else {
                continue;
            };
            let (probe_at, probe) = candidate.probe;
            if found[usize::from(probe_at)].to_ascii_lowercase() != probe {
                continue;
            }
            let pattern = &self.rows[usize::from(candidate.number)];
            let is_there = if pattern.is_exact {
                found == pattern.text.as_bytes()
            } else {
                found.eq_ignore_ascii_case(pattern.text.as_bytes())
            };
            if is_there {
                visit(pattern.rule, range);
            }
        }
    }
}

impl Candidate {
    /// Returns the candidate for the three bytes of a pattern that are the rarest in texts.
    fn of(number: u16, pattern: &[u8], common: &Hashes) -> Option<Self> {
        let length = u8::try_from(pattern.len()).ok()?;
        let weight = |window: &[u8]| {
            let weights = window.iter().map(|byte| COMMONNESS[usize::from(*byte)]);
            weights.product::<u32>() * if common.has(hash_of(window)) { 100 } else { 1 }
        };
        let windows = (0..length).zip(pattern.windows(3));
        let (place, window) = windows.min_by_key(|(_, window)| weight(window))?;
        let probe_at = if place > 0 { 0 } else { length - 1 };
        Some(Candidate {
            hash: hash_of(window),
            number,
            length,
            place,
            probe: (
                probe_at,
                pattern[usize::from(probe_at)].to_ascii_lowercase(),
            ),
        })
    }
}

/// Parts of the names of secrets, which are common in the texts with such names: other patterns are
/// better found by other bytes.
const COMMON: &[u8] = b"password token secret key author credential cookie bearer access account";

/// Returns the hash of the first three of four bytes, the same for letters in either case.
#[inline]
fn hash(four: u32) -> u16 {
    const FOLD: u32 = 0x0020_2020;
    // The fourth byte is shifted out.
    const FACTOR: u32 = 0x9e37_79b1 << u8::BITS;
    ((four | FOLD).wrapping_mul(FACTOR) >> (u32::BITS - HASH_BITS)) as u16
}

/// Returns the hash of three bytes.
fn hash_of(window: &[u8]) -> u16 {
    hash(
        window
            .iter()
            .rev()
            .fold(0, |four, byte| four << u8::BITS | u32::from(*byte)),
    )
}

/// The rank of each byte by how common it is in texts and programs, with 1 for the rarest.
static COMMONNESS: [u32; 256] = {
    const LETTERS: &[u8; 26] = b"zqjxkvbywgpfmucdlhrsnioate";
    let (mut table, mut byte) = ([1; 256], 0);
    while byte < table.len() {
        table[byte] = match byte as u8 {
            b' ' => 60,
            b'\n' | b'"' | b'.' | b',' | b'0'..=b'9' => 8,
            b'A'..=b'Z' | b'=' | b':' | b'-' | b'_' | b'/' | b'(' | b')' | b'\'' => 4,
            // In scripts other than the Latin one, most letters start with the same byte.
            0xc0.. => 40,
            0x80..0xc0 => 6,
            _ => 1,
        };
        byte += 1;
    }
    let mut rank = 0;
    while rank < LETTERS.len() {
        table[LETTERS[rank] as usize] = 2 + rank as u32;
        rank += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn occurrences_of_all_patterns_are_found() {
        let patterns = [("abc", true), ("bcA", true), ("KEYS", false), ("éc", true)];
        let patterns = (0..).zip(patterns).map(|(rule, (text, is_exact))| Pattern {
            text: text.into(),
            is_exact,
            rule,
        });
        let patterns = Patterns::new(patterns.collect());
        for (text, expected) in [
            ("", vec![]),
            ("ab", vec![]),
            ("abcA", vec![(0, 0), (1, 1)]),
            ("kEyskeys", vec![(2, 0), (2, 4)]),
            ("éc.abc", vec![(3, 0), (0, 4)]),
            ("keyabckeyz", vec![(0, 3)]),
            ("aBc", vec![]),
        ] {
            let mut found = Vec::new();
            patterns.search(text, |rule, range| found.push((rule, range.start)));
            assert_eq!(found, expected, "{text}");
        }
    }
}
