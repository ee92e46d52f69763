//! An open folder: every operation is relative to the opened folder, so that no symbolic link can
//! lead elsewhere.

#[cfg(not(unix))]
mod portable;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub(crate) use portable::make_folder_at;
#[cfg(not(unix))]
pub use portable::{Folder, wait_for_writers};
#[cfg(unix)]
pub(crate) use unix::make_folder_at;
#[cfg(unix)]
pub use unix::{Folder, wait_for_writers};

use std::fs::{File, Metadata};
use std::io;
use std::time::UNIX_EPOCH;

use loci_core::FileStamp;

/// Returns size and modification time, clamped to the range of a stamp. Where the system has a time
/// of change, the digits of the time below a microsecond follow from it, so that an edit whose time a
/// program restores, e.g. `cp -p` or an editor, has another stamp than the text before it (but for
/// one edit in a thousand). Nothing else needs these digits.
pub(crate) fn stamp(metadata: &Metadata) -> FileStamp {
    let written = written_stamp(metadata);
    FileStamp {
        modified_nanoseconds: changed(metadata).map_or(written.modified_nanoseconds, |changed| {
            with_change(written.modified_nanoseconds, changed)
        }),
        ..written
    }
}

/// Returns size and modification time only, clamped to the range of a stamp. Unlike [`stamp`], it
/// stays the same when a file gets another name or other permissions.
pub(crate) fn written_stamp(metadata: &Metadata) -> FileStamp {
    let modified = metadata.modified().ok();
    let nanoseconds = modified.map_or(0, |modified| match modified.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => {
            i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |nanoseconds| -nanoseconds)
        }
    });
    FileStamp {
        bytes: metadata.len(),
        modified_nanoseconds: nanoseconds,
    }
}

/// True if both stamps have the same size and, to the microsecond, the same modification time.
pub(crate) fn is_as_written(one: FileStamp, other: FileStamp) -> bool {
    let microseconds = |stamp: FileStamp| stamp.modified_nanoseconds.div_euclid(NANOSECONDS);
    one.bytes == other.bytes && microseconds(one) == microseconds(other)
}

/// The nanoseconds of a microsecond.
const NANOSECONDS: i64 = 1_000;

/// Replaces the digits below a microsecond by ones that follow from both times, within the range of
/// the type.
fn with_change(modified: i64, (seconds, nanoseconds): (i64, i64)) -> i64 {
    /// 2^64 divided by the golden ratio, which spreads near numbers.
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    let spread = |mixed: u64, time: i64| {
        let mixed = (mixed ^ time.cast_unsigned()).wrapping_mul(SPREAD);
        mixed ^ mixed >> 32
    };
    let mixed = [modified, seconds, nanoseconds].into_iter().fold(0, spread);
    let digits = (mixed % NANOSECONDS.cast_unsigned()).cast_signed();
    let microseconds = modified.div_euclid(NANOSECONDS);
    (microseconds.saturating_mul(NANOSECONDS)).saturating_add(digits)
}

/// Returns the seconds and nanoseconds since 1970 of the last change of the file or of its metadata,
/// which no program sets; `None` where the system has none.
#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems have no such time")]
fn changed(metadata: &Metadata) -> Option<(i64, i64)> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.ctime(), metadata.ctime_nsec()))
}

#[cfg(not(unix))]
const fn changed(_: &Metadata) -> Option<(i64, i64)> {
    None
}

/// What tells a file, and one state of its content, from others, as far as the system does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileState {
    /// The device and the inode; 0 where the system has none.
    pub inode: (u64, u64),
    bytes: u64,
    /// The seconds and nanoseconds since 1970 of the last write.
    modified: (i64, i64),
}

impl From<&Metadata> for FileState {
    fn from(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            FileState {
                inode: (metadata.dev(), metadata.ino()),
                bytes: metadata.len(),
                modified: (metadata.mtime(), metadata.mtime_nsec()),
            }
        }
        #[cfg(not(unix))]
        {
            FileState {
                inode: (0, 0),
                bytes: metadata.len(),
                modified: (0, written_stamp(metadata).modified_nanoseconds),
            }
        }
    }
}

/// Returns an identifier of a folder: its device and inode where available, and its creation time,
/// because the inode of a deleted folder is reused.
pub(crate) fn identity(metadata: &Metadata) -> String {
    let made = metadata
        .created()
        .ok()
        .and_then(|made| made.duration_since(UNIX_EPOCH).ok());
    let made = made
        .map(|made| made.as_nanos().to_string())
        .unwrap_or_default();
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        format!("{}:{}:{made}", metadata.dev(), metadata.ino())
    }
    #[cfg(not(unix))]
    made
}

/// True if an open file still has a name, or has one again.
pub(crate) fn has_name(metadata: &Metadata) -> bool {
    #[cfg(unix)]
    {
        std::os::unix::fs::MetadataExt::nlink(metadata) > 0
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        false
    }
}

/// Makes a file durable.
pub(crate) fn flush(file: &File) -> io::Result<()> {
    #[cfg(test)]
    testing::FLUSHES.with(|flushes| flushes.set(flushes.get() + 1));
    file.sync_all()
}

#[cfg(test)]
pub(crate) mod testing {
    use std::cell::Cell;

    thread_local! {
        /// The number of flushes of this thread.
        pub static FLUSHES: Cell<usize> = const { Cell::new(0) };
        /// True if the file system should lack optional operations.
        pub static IS_PLAIN: Cell<bool> = const { Cell::new(false) };
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_change_shows_in_the_stamp_but_not_in_the_microsecond() {
        let microseconds = |time: i64| time.div_euclid(NANOSECONDS);
        for modified in [1_767_225_600_123_456_789, 0, -1, i64::MAX] {
            for step in [1, 4_000_000, 10_000_000] {
                let changes =
                    (0..64).map(|change| with_change(modified, (1_767_225_600, change * step)));
                let changes: BTreeSet<i64> = changes.collect();
                assert!(modified == i64::MAX || changes.len() > 50, "{changes:?}");
                assert!(
                    changes
                        .iter()
                        .all(|stamp| microseconds(*stamp) == microseconds(modified))
                );
            }
        }
        let extremes = [i64::MIN, -1, 0, i64::MAX];
        for (modified, seconds) in extremes
            .iter()
            .flat_map(|modified| extremes.map(|seconds| (*modified, seconds)))
        {
            let stamp = with_change(modified, (seconds, seconds));
            assert!(stamp.abs_diff(modified) < 1_000, "{modified} {stamp}");
            assert_eq!(stamp, with_change(modified, (seconds, seconds)));
        }
    }

    #[test]
    fn another_name_or_mode_is_no_other_text() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("a.md"), folder.path().join("b.md"));
        std::fs::write(&path, "Tea at four.").unwrap();
        let before = std::fs::metadata(&path).unwrap();
        std::fs::rename(&path, &other).unwrap();
        let mut permissions = before.permissions();
        permissions.set_readonly(true);
        std::fs::set_permissions(&other, permissions).unwrap();
        let after = std::fs::metadata(&other).unwrap();
        assert_eq!(written_stamp(&after), written_stamp(&before));
        assert!(is_as_written(stamp(&after), stamp(&before)));
        let larger = FileStamp {
            bytes: before.len() + 1,
            ..stamp(&before)
        };
        assert!(!is_as_written(larger, stamp(&before)));
    }
}
