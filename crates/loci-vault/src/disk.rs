//! An open folder: every operation is relative to the opened folder, so that no symbolic link can
//! lead out of it.

#[cfg(not(unix))]
mod portable;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub(crate) use portable::{Folder, make_folder_at, wait_for_writers};
#[cfg(unix)]
pub(crate) use unix::{Folder, make_folder_at, wait_for_writers};

use std::fs::{File, Metadata};
use std::io;
use std::time::UNIX_EPOCH;

use loci_core::FileStamp;

/// Returns size and modification time, clamped to the range of a stamp. The last three digits of the
/// time also tell apart changes of the file after which a program restored its time, as `cp -p` and
/// some editors do.
pub(crate) fn stamp(metadata: &Metadata) -> FileStamp {
    let modified = modified_nanoseconds(metadata);
    FileStamp {
        bytes: metadata.len(),
        modified_nanoseconds: changed_nanoseconds(metadata)
            .map_or(modified, |changed| with_change(modified, changed)),
    }
}

/// Replaces the digits below a microsecond, which nothing else needs, by ones that follow from both
/// times.
fn with_change(modified: i64, changed: i64) -> i64 {
    const DIGITS: i64 = 1_000;
    /// 2^64 divided by the golden ratio, which spreads near numbers.
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    let below = modified.rem_euclid(DIGITS);
    let mixed = (changed.wrapping_add(below).cast_unsigned()).wrapping_mul(SPREAD) >> 32;
    (modified - below).saturating_add((mixed % DIGITS.cast_unsigned()).cast_signed())
}

/// Returns the time of the last change of the file or of its metadata, which no program sets;
/// `None` where the system has none.
#[cfg(unix)]
fn changed_nanoseconds(metadata: &Metadata) -> Option<i64> {
    use std::os::unix::fs::MetadataExt;
    let seconds = metadata.ctime().checked_mul(1_000_000_000)?;
    seconds.checked_add(metadata.ctime_nsec())
}

#[cfg(not(unix))]
const fn changed_nanoseconds(_: &Metadata) -> Option<i64> {
    None
}

/// Returns the modification time in nanoseconds since 1970, clamped to the range of a stamp.
pub(crate) fn modified_nanoseconds(metadata: &Metadata) -> i64 {
    let modified = metadata.modified().ok();
    modified.map_or(0, |modified| match modified.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => {
            i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |nanoseconds| -nanoseconds)
        }
    })
}

/// Returns an identifier of a folder: its device and inode where available, and its creation time,
/// since the inode of a deleted folder is reused.
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
    use super::*;

    #[test]
    fn a_change_shows_in_the_stamp_but_not_in_the_microsecond() {
        let modified = 1_767_225_600_123_456_789;
        let stamps = (0..64)
            .map(|change| with_change(modified, 1_767_225_600_000_000_000 + change * 4_000_000));
        let stamps: std::collections::BTreeSet<i64> = stamps.collect();
        assert!(stamps.len() > 50, "{}", stamps.len());
        let microseconds = |time: i64| time.div_euclid(1_000);
        assert!(
            stamps
                .iter()
                .all(|stamp| microseconds(*stamp) == microseconds(modified))
        );
        assert_eq!(with_change(-1, 5).div_euclid(1_000), -1);
        assert_eq!(
            with_change(i64::MIN, 5).div_euclid(1_000),
            i64::MIN.div_euclid(1_000)
        );
        assert_eq!(
            microseconds(with_change(i64::MAX, 5)),
            microseconds(i64::MAX)
        );
    }

    /// As an editor does that restores the time.
    #[test]
    fn an_edit_of_the_same_size_and_time_has_another_stamp() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.md");
        let written = |text: &str, time: Option<std::time::SystemTime>| {
            std::fs::write(&path, text).unwrap();
            let file = File::options().write(true).open(&path).unwrap();
            if let Some(time) = time {
                file.set_modified(time).unwrap();
            }
            file.metadata().unwrap()
        };
        let before = written("Tea at four.", None);
        // The clock of a file system is coarse.
        let mut after = before.clone();
        for _ in 0..1_000_000 {
            after = written("Tea at five.", before.modified().ok());
            if changed_nanoseconds(&after) != changed_nanoseconds(&before) {
                break;
            }
        }
        assert_eq!(modified_nanoseconds(&after), modified_nanoseconds(&before));
        let has_changes = changed_nanoseconds(&before).is_some();
        // One change in a thousand has the digits of another.
        let mut different = stamp(&after) != stamp(&before);
        for _ in 0..100_000 {
            if different || !has_changes {
                break;
            }
            different = stamp(&written("Tea at five.", before.modified().ok())) != stamp(&before);
        }
        assert_eq!(different, has_changes);
    }
}
