//! The recovery key, which a person writes down and types in again.

use std::{fmt, io};

use data_encoding::BASE32_NOPAD;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::key::random;

/// Random bytes of a recovery key; their letters fill whole groups.
const BYTES: usize = 20;
/// Letters of the random bytes, and letters of the checksum after them.
const LETTERS: usize = 32;
const CHECK_LETTERS: usize = 4;
/// Letters of a group.
const GROUP: usize = 4;

/// A random key of letters and digits in groups, with a checksum that finds a slip of the pen.
#[derive(Clone, PartialEq, Eq)]
pub struct RecoveryKey(Zeroizing<[u8; BYTES]>);

impl RecoveryKey {
    /// Makes a new one.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn random() -> io::Result<Self> {
        Ok(RecoveryKey(random()?))
    }

    /// Reads one as a person typed it: small letters, other groups, and 0, 1 and 8 for the letters
    /// that look like them are taken. None if it has the wrong length or checksum.
    pub fn parse(text: &str) -> Option<Self> {
        let letters: Zeroizing<String> = Zeroizing::new(
            text.chars()
                .filter(char::is_ascii_alphanumeric)
                .map(|letter| match letter.to_ascii_uppercase() {
                    '0' => 'O',
                    '1' => 'I',
                    '8' => 'B',
                    letter => letter,
                })
                .collect(),
        );
        if letters.len() != LETTERS + CHECK_LETTERS {
            return None;
        }
        let (letters, check) = letters.split_at(LETTERS);
        let bytes = Zeroizing::new(BASE32_NOPAD.decode(letters.as_bytes()).ok()?);
        let key = RecoveryKey(Zeroizing::new(bytes.as_slice().try_into().ok()?));
        (key.check() == check).then_some(key)
    }

    /// The key as groups of letters.
    pub fn letters(&self) -> Zeroizing<String> {
        let all = Zeroizing::new(BASE32_NOPAD.encode(&self.0[..]) + &self.check());
        let mut shown = Zeroizing::new(String::with_capacity(all.len() * 2));
        for (place, letter) in all.chars().enumerate() {
            if place > 0 && place % GROUP == 0 {
                shown.push('-');
            }
            shown.push(letter);
        }
        shown
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0[..]
    }

    fn check(&self) -> String {
        let digest = Sha256::digest(&self.0[..]);
        BASE32_NOPAD.encode(&digest)[..CHECK_LETTERS].to_owned()
    }
}

/// Without the key.
impl fmt::Debug for RecoveryKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("RecoveryKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_person_types_is_the_key_or_nothing() {
        let key = RecoveryKey::random().unwrap();
        let shown = key.letters();
        assert_eq!(shown.split('-').count(), 9);
        assert!(shown.split('-').all(|group| group.len() == GROUP));
        assert_eq!(RecoveryKey::parse(&shown), Some(key.clone()));
        let typed = shown.to_lowercase().replace('-', " ").replace('o', "0");
        assert_eq!(RecoveryKey::parse(&format!(" {typed}\n")), Some(key));
        for place in [0, 7, shown.len() - 1] {
            let mut letters: Vec<char> = shown.chars().collect();
            letters[place] = if letters[place] == 'A' { 'C' } else { 'A' };
            assert_eq!(
                RecoveryKey::parse(&letters.iter().collect::<String>()),
                None
            );
        }
        for wrong in ["", "ABCD", &shown[..shown.len() - 1]] {
            assert_eq!(RecoveryKey::parse(wrong), None);
        }
    }
}
