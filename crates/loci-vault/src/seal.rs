//! Sealed notes: files that no other program reads.
//!
//! A sealed file is a line that says so, and the bytes of the note as `loci-keys` seals them. In a
//! folder with a key, sealed files and files in the clear are read alike; hashes are of the bytes
//! within, so that a note which is sealed again has not changed.

use std::borrow::Cow;
use std::io;
use std::sync::Arc;

use loci_keys::{SEALED_FROM, SubKey, open_bytes, seal_bytes};

/// The first bytes of a sealed file: a line for people, and a byte that no text has.
const MAGIC: &[u8] = b"a note that loci has sealed (loci encrypt --notes)\n\xff";
/// Bytes by which a sealed file is known.
pub(crate) const HEAD_BYTES: u64 = MAGIC.len() as u64;
/// Bytes that a sealed file has more than the note, at most: a tag for every 64 KiB is among them.
pub(crate) const MORE_BYTES_MAX: u64 = 4 << 10;

/// The key of a folder's notes.
#[derive(Debug, Clone)]
pub struct Seal(Arc<Sealing>);

#[derive(Debug)]
struct Sealing {
    key: SubKey,
    is_written: bool,
}

impl Seal {
    /// Seals the files that are written.
    pub fn new(key: SubKey) -> Self {
        Seal::with(key, true)
    }

    /// Opens sealed files, and writes files in the clear.
    pub fn opening(key: SubKey) -> Self {
        Seal::with(key, false)
    }

    fn with(key: SubKey, is_written: bool) -> Self {
        Seal(Arc::new(Sealing { key, is_written }))
    }
}

/// Returns whether a file with these bytes is sealed.
pub(crate) fn is_sealed(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Returns whether files are written sealed.
pub(crate) fn is_written(seal: Option<&Seal>) -> bool {
    seal.is_some_and(|seal| seal.0.is_written)
}

/// The bytes to write for these bytes of a note. Bytes that are sealed stay as they are.
pub(crate) fn sealed<'b>(seal: Option<&Seal>, bytes: &'b [u8]) -> io::Result<Cow<'b, [u8]>> {
    match seal.filter(|seal| seal.0.is_written && !is_sealed(bytes)) {
        None => Ok(bytes.into()),
        Some(seal) => {
            let mut file = Vec::with_capacity(MAGIC.len() + SEALED_FROM + bytes.len());
            file.extend(MAGIC);
            file.extend(seal_bytes(&seal.0.key, bytes)?);
            Ok(file.into())
        }
    }
}

/// The bytes of a note in a file with these bytes; what cannot be opened stays as it is.
pub(crate) fn opened(seal: Option<&Seal>, bytes: Vec<u8>) -> Vec<u8> {
    let Some(sealed) = bytes.strip_prefix(MAGIC) else {
        return bytes;
    };
    match seal.map(|seal| open_bytes(&seal.0.key, sealed)) {
        Some(Ok(opened)) => opened.to_vec(),
        _ => bytes,
    }
}
