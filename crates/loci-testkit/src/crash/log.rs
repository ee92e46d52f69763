//! The log of the file operations of a program, in order.

use std::io;
use std::path::Path;

/// The size of the fixed part of an entry in `disk.c`.
const HEAD: usize = 52;
const MAGIC: u32 = 0x6b73_6964;

/// One operation, or a line of output of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// The process.
    pub process: u32,
    /// The kind of the operation.
    pub kind: OperationKind,
    /// The result of the system call; an error number if negative.
    pub result: i32,
    /// True if a fault affected it.
    pub is_fault: bool,
    /// The flags of renameat2(2), for a rename.
    pub flags: u16,
    /// The file, by its inode.
    pub file: u64,
    /// The file that had the new name before a rename; 0 if there was none.
    pub other: u64,
    /// The offset of a write, or the size after a truncation.
    pub offset: u64,
    /// Its path.
    pub path: String,
    /// The new path of operations with two paths.
    pub other_path: String,
    /// The written data or the output.
    pub data: Vec<u8>,
}

/// The kinds of [`Operation`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OperationKind {
    /// A file was opened; recorded only if it failed.
    Open,
    /// A file was created.
    Create,
    /// Bytes were written.
    Write,
    /// A file was truncated or extended.
    Truncate,
    /// A file or folder was flushed.
    Sync,
    /// A file was renamed, or two were exchanged.
    Rename,
    /// A hard link was created.
    Link,
    /// A name was removed.
    Unlink,
    /// A folder was created.
    Folder,
    /// Something was read; recorded only if it failed.
    Read,
    /// The program wrote a line to stdout.
    Reply,
}

/// Reads a log. An entry that a kill cut off ends it.
///
/// # Errors
/// If the file cannot be read or is not a log.
pub fn read_log(path: &Path) -> io::Result<Vec<Operation>> {
    let bytes = std::fs::read(path)?;
    let mut operations = Vec::new();
    let mut rest = bytes.as_slice();
    while rest.len() >= HEAD {
        let number =
            |at: usize| u32::from_le_bytes([rest[at], rest[at + 1], rest[at + 2], rest[at + 3]]);
        let wide = |at: usize| u64::from(number(at)) | u64::from(number(at + 4)) << 32;
        let damaged = || io::Error::other("the record of the disk cannot be read");
        if number(0) != MAGIC {
            return Err(damaged());
        }
        let lengths = [
            number(40) as usize,
            number(44) as usize,
            number(48) as usize,
        ];
        let Some(mut parts) = rest.get(HEAD..HEAD + lengths.iter().sum::<usize>()) else {
            break;
        };
        let mut part = |length| {
            let (part, others) = parts.split_at(length);
            parts = others;
            part.to_vec()
        };
        let [path, other_path, data] = lengths.map(&mut part);
        let text = |bytes| String::from_utf8(bytes).map_err(|_| damaged());
        operations.push(Operation {
            process: number(4),
            kind: kind(rest[12]).ok_or_else(damaged)?,
            result: number(8).cast_signed(),
            is_fault: rest[13] != 0,
            flags: u16::from_le_bytes([rest[14], rest[15]]),
            file: wide(16),
            other: wide(24),
            offset: wide(32),
            path: text(path)?,
            other_path: text(other_path)?,
            data,
        });
        rest = &rest[HEAD + lengths.iter().sum::<usize>()..];
    }
    Ok(operations)
}

fn kind(letter: u8) -> Option<OperationKind> {
    Some(match letter {
        b'o' => OperationKind::Open,
        b'c' => OperationKind::Create,
        b'w' => OperationKind::Write,
        b't' => OperationKind::Truncate,
        b's' => OperationKind::Sync,
        b'r' => OperationKind::Rename,
        b'l' => OperationKind::Link,
        b'u' => OperationKind::Unlink,
        b'f' => OperationKind::Folder,
        b'R' => OperationKind::Read,
        b'>' => OperationKind::Reply,
        _ => return None,
    })
}
