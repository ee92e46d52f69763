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

/// Returns size and modification time, clamped to the range of a stamp.
pub(crate) fn stamp(metadata: &Metadata) -> FileStamp {
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
