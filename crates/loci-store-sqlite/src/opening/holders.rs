//! The processes that have the files of a store open, and the processes that hold a lock by which
//! others cannot write.
//!
//! Linux tells this of every process that the user may look into; elsewhere nothing is known. No
//! file is opened to find it out: closing it again would end the locks that SQLite holds on it in
//! this process.

use std::path::Path;

use loci_core::Holder;

/// The other processes that have the store in the folder open, in the order of their numbers. Empty
/// where the system does not tell.
#[cfg(target_os = "linux")]
pub(crate) fn holders(folder: &Path) -> Vec<Holder> {
    use std::fs;
    let files = linux::lock_files(folder);
    let names = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name());
    let numbers = names.filter_map(|name| name.to_str()?.parse().ok());
    let mut holders: Vec<_> = numbers
        .filter(|process| *process != std::process::id())
        .filter_map(|process| linux::holder(process, &files))
        .collect();
    holders.sort_unstable_by_key(|holder| holder.process);
    holders
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn holders(_folder: &Path) -> Vec<Holder> {
    Vec::new()
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::os::unix::fs::MetadataExt;
    use std::path::{Path, PathBuf};

    use super::Holder;
    use crate::opening::open_error::{DATABASE, LOCK};
    use crate::opening::presence;

    /// The byte of the shared memory beside the log that SQLite locks for a write.
    const WRITE_LOCK: u64 = 120;

    /// A file by its device and inode, with the bytes of which a lock keeps others out.
    pub(super) struct LockFile {
        identity: (u64, u64),
        first: u64,
        last: u64,
    }

    /// The files of a store that its processes lock.
    pub(super) fn lock_files(folder: &Path) -> Vec<LockFile> {
        let whole = (0, u64::MAX);
        let files = [
            (DATABASE.to_owned(), whole),
            (format!("{DATABASE}-shm"), (WRITE_LOCK, WRITE_LOCK)),
            (presence::LOCK.to_owned(), whole),
            (LOCK.to_owned(), whole),
        ];
        let found = files.into_iter().filter_map(|(name, (first, last))| {
            Some(LockFile {
                identity: identity(&folder.join(name))?,
                first,
                last,
            })
        });
        found.collect()
    }

    /// The process, if it has one of the files open.
    pub(super) fn holder(process: u32, files: &[LockFile]) -> Option<Holder> {
        let folder = PathBuf::from(format!("/proc/{process}"));
        let (mut has_open, mut keeps_others_out) = (false, false);
        for opened in fs::read_dir(folder.join("fd")).ok()?.flatten() {
            let Some(identity) = identity(&opened.path()) else {
                continue;
            };
            let Some(file) = files.iter().find(|file| file.identity == identity) else {
                continue;
            };
            has_open = true;
            let locks = fs::read_to_string(folder.join("fdinfo").join(opened.file_name()))
                .unwrap_or_default();
            keeps_others_out |= locks
                .lines()
                .any(|line| locks_exclusively(line, file.first, file.last));
        }
        let command = || {
            fs::read_to_string(folder.join("comm"))
                .unwrap_or_default()
                .trim_end()
                .to_owned()
        };
        has_open.then(|| Holder {
            process,
            command: command(),
            keeps_others_out,
        })
    }

    fn identity(path: &Path) -> Option<(u64, u64)> {
        path.metadata()
            .ok()
            .map(|metadata| (metadata.dev(), metadata.ino()))
    }

    /// Returns whether a line about an open file tells of an exclusive lock on one of these bytes,
    /// e.g. `lock: 1: POSIX  ADVISORY  WRITE 11847 fe:00:10010685 120 120`.
    pub(super) fn locks_exclusively(line: &str, first: u64, last: u64) -> bool {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["lock:", _, _, _, "WRITE", _, _, start, end] = words[..] else {
            return false;
        };
        let end = if end == "EOF" {
            Ok(u64::MAX)
        } else {
            end.parse()
        };
        matches!((start.parse::<u64>(), end), (Ok(start), Ok(end)) if start <= last && end >= first)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::linux::locks_exclusively;
    use super::*;

    #[test]
    fn an_exclusive_lock_on_the_bytes_is_told_from_others() {
        let rows = [
            (
                "lock:\t1: POSIX  ADVISORY  WRITE 11847 fe:00:10010685 120 120",
                true,
            ),
            ("lock:\t12: FLOCK  ADVISORY  WRITE 1 fe:00:1 0 EOF", true),
            ("lock:\t1: POSIX  ADVISORY  WRITE 1 fe:00:1 100 119", false),
            ("lock:\t1: POSIX  ADVISORY  WRITE 1 fe:00:1 121 EOF", false),
            ("lock:\t1: POSIX  ADVISORY  READ 1 fe:00:1 120 120", false),
            ("pos:\t0", false),
            ("lock:\t1: POSIX  ADVISORY  WRITE 1 fe:00:1 x 120", false),
            ("", false),
        ];
        for (line, expected) in rows {
            assert_eq!(locks_exclusively(line, 120, 120), expected, "{line}");
        }
    }

    #[test]
    fn a_name_of_a_program_shows_no_control_characters() {
        let holder = Holder {
            process: 7,
            command: "a\u{1b}[2J".to_owned(),
            keeps_others_out: true,
        };
        assert_eq!(holder.to_string(), "a\\u{1b}[2J (process 7)");
    }
}
