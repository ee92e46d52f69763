//! Bytes that are sealed: files of any length in chunks, and messages of a socket.
//!
//! A sealed file is a random salt, from which and from the subkey it has a key of its own, and
//! chunks, each with a tag. The nonce of a chunk is its number and a mark of the last one, so that
//! a chunk which is cut off, moved or repeated does not open.

use std::io::{self, ErrorKind, Read, Write};

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use zeroize::Zeroizing;

use crate::key::{KEY_BYTES, SubKey, random};

/// Bytes of the salt of a file.
const SALT: usize = 32;
/// Bytes of a chunk, before it is sealed.
const CHUNK: usize = 64 << 10;
/// Bytes of the tag of a chunk.
pub(crate) const TAG: usize = 16;
/// Bytes of a nonce.
pub(crate) const NONCE: usize = 12;
/// Bytes that a sealed message or file has at least.
pub const SEALED_FROM: usize = SALT + TAG;

/// The cipher of one file, and the number of its next chunk.
struct Chunks {
    cipher: LessSafeKey,
    number: u64,
}

impl Chunks {
    fn new(key: &SubKey, salt: &[u8; SALT]) -> io::Result<Self> {
        Ok(Chunks {
            cipher: cipher(&key.salted(salt))?,
            number: 0,
        })
    }

    fn nonce(&mut self, is_last: bool) -> Nonce {
        let mut nonce = [0; NONCE];
        nonce[..8].copy_from_slice(&self.number.to_be_bytes());
        nonce[11] = u8::from(is_last);
        self.number += 1;
        Nonce::assume_unique_for_key(nonce)
    }

    fn seal(&mut self, chunk: &mut [u8], is_last: bool) -> io::Result<[u8; TAG]> {
        let nonce = self.nonce(is_last);
        let tag = self
            .cipher
            .seal_in_place_separate_tag(nonce, Aad::empty(), chunk)
            .map_err(|_| io::Error::other("a chunk cannot be sealed"))?;
        let mut bytes = [0; TAG];
        bytes.copy_from_slice(tag.as_ref());
        Ok(bytes)
    }

    fn open<'a>(&mut self, sealed: &'a mut [u8], is_last: bool) -> io::Result<&'a [u8]> {
        let nonce = self.nonce(is_last);
        let opened = self.cipher.open_in_place(nonce, Aad::empty(), sealed);
        opened.map(|opened| &*opened).map_err(|_| unsealable())
    }
}

/// The cipher with a key that is used for only one file or one wrapped key.
pub(crate) fn cipher(key: &[u8; KEY_BYTES]) -> io::Result<LessSafeKey> {
    let key = UnboundKey::new(&AES_256_GCM, key);
    key.map(LessSafeKey::new)
        .map_err(|_| io::Error::other("the cipher does not take the key"))
}

fn unsealable() -> io::Error {
    io::Error::new(
        ErrorKind::InvalidData,
        "it is damaged, or sealed with another key",
    )
}

/// Reads until the buffer is full or the source ends; returns the bytes read.
fn fill(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match from.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Calls `each` with the chunks of that size, the last of which may be shorter or empty, and whether
/// it is the last.
fn each_chunk(
    from: &mut impl Read,
    bytes: usize,
    mut each: impl FnMut(&mut [u8], bool) -> io::Result<()>,
) -> io::Result<()> {
    let mut chunk = Zeroizing::new(vec![0; bytes]);
    let mut next = Zeroizing::new(vec![0; bytes]);
    let mut filled = fill(from, &mut chunk)?;
    loop {
        let following = if filled < bytes {
            0
        } else {
            fill(from, &mut next)?
        };
        each(&mut chunk[..filled], following == 0)?;
        if following == 0 {
            return Ok(());
        }
        std::mem::swap(&mut chunk, &mut next);
        filled = following;
    }
}

/// Seals all that can be read.
///
/// # Errors
/// Reading or writing fails, or the system gives no random bytes.
pub fn seal_stream(key: &SubKey, from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let salt = random::<SALT>()?;
    to.write_all(&salt[..])?;
    let mut chunks = Chunks::new(key, &salt)?;
    each_chunk(from, CHUNK, |chunk, is_last| {
        let tag = chunks.seal(chunk, is_last)?;
        to.write_all(chunk)?;
        to.write_all(&tag)
    })
}

/// The bytes that are in a sealed file of this many bytes; none if that is no length of one.
pub fn opened_bytes(sealed: u64) -> Option<u64> {
    let chunks = sealed.checked_sub(SALT as u64)?;
    let count = chunks.div_ceil((CHUNK + TAG) as u64).max(1);
    chunks.checked_sub(count * TAG as u64)
}

/// Opens what [`seal_stream`] sealed.
///
/// # Errors
/// [`ErrorKind::InvalidData`] if it is damaged, cut off or sealed with another key; what was
/// written until then is worth nothing. Reading or writing fails.
pub fn open_stream(key: &SubKey, from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut salt = [0; SALT];
    if fill(from, &mut salt)? < SALT {
        return Err(unsealable());
    }
    let mut chunks = Chunks::new(key, &salt)?;
    each_chunk(from, CHUNK + TAG, |chunk, is_last| {
        to.write_all(chunks.open(chunk, is_last)?)
    })
}

/// Seals a message.
///
/// # Errors
/// The system gives no random bytes.
pub fn seal_bytes(key: &SubKey, message: &[u8]) -> io::Result<Vec<u8>> {
    let mut sealed = Vec::with_capacity(message.len() + SEALED_FROM);
    seal_stream(key, &mut &*message, &mut sealed)?;
    Ok(sealed)
}

/// Opens what [`seal_bytes`] sealed.
///
/// # Errors
/// As for [`open_stream`].
pub fn open_bytes(key: &SubKey, sealed: &[u8]) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut opened = Zeroizing::new(Vec::with_capacity(sealed.len()));
    open_stream(key, &mut &*sealed, &mut *opened)?;
    Ok(opened)
}

#[cfg(test)]
mod tests {
    use crate::DataKey;

    use super::*;

    #[test]
    fn what_was_sealed_opens_and_anything_else_does_not() {
        let key = DataKey::random().unwrap().subkey("test");
        for bytes in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK + 7] {
            let message: Vec<u8> = (0..bytes).map(|byte| byte as u8).collect();
            let sealed = seal_bytes(&key, &message).unwrap();
            assert_eq!(*open_bytes(&key, &sealed).unwrap(), message);
            assert_eq!(opened_bytes(sealed.len() as u64), Some(bytes as u64));
            assert_ne!(seal_bytes(&key, &message).unwrap(), sealed);
            let other = DataKey::random().unwrap().subkey("test");
            assert!(open_bytes(&other, &sealed).is_err());
            for cut in [0, SALT, sealed.len() - 1] {
                assert!(open_bytes(&key, &sealed[..cut]).is_err(), "{bytes} {cut}");
            }
            for place in [0, SALT, sealed.len() - 1] {
                let mut changed = sealed.clone();
                changed[place] ^= 1;
                assert!(open_bytes(&key, &changed).is_err(), "{bytes} {place}");
            }
        }
        let sealed = seal_bytes(&key, &vec![7; 3 * CHUNK]).unwrap();
        let chunk = |number: usize| {
            let begin = SALT + number * (CHUNK + TAG);
            sealed[begin..begin + CHUNK + TAG].to_vec()
        };
        let of = |chunks: &[usize]| {
            let mut bytes = sealed[..SALT].to_vec();
            bytes.extend(chunks.iter().flat_map(|number| chunk(*number)));
            open_bytes(&key, &bytes).is_ok()
        };
        assert!(of(&[0, 1, 2]));
        for moved in [&[0, 1][..], &[1, 0, 2], &[0, 0, 2], &[0, 1, 2, 2]] {
            assert!(!of(moved), "{moved:?}");
        }
    }
}
