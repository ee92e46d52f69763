//! Who has a store open: each holds a lock, shared with the others, for as long as it does. Who
//! needs the folder to itself asks for the whole lock. It ends with its process, however that ends.

use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::opening::folder;
use crate::opening::open_error::{DATABASE, OpenError};

pub(crate) const LOCK: &str = "open.lock";

/// The lock on the folder of a store that no process has open, and that none opens while this
/// lives.
#[derive(Debug)]
#[expect(dead_code, reason = "held, not read")]
pub struct ExclusiveLock {
    presence: File,
    /// Keeps out what knows nothing of the other: loci before schema 7, and other programs. It ends
    /// early if this process closes another opening of the file.
    database: Option<File>,
}

/// Takes the shared lock of an open store, until the file is dropped. Waits that long for a process
/// that has the folder for itself.
pub(crate) fn lock_shared(folder: &Path, limit: Duration) -> Result<File, OpenError> {
    let path = folder.join(LOCK);
    let lock = folder::create_file(&path).map_err(|error| OpenError::from_io(&error, &path))?;
    wait_for(|| lock.try_lock_shared(), limit, &path)?;
    Ok(lock)
}

/// Waits for a file lock, which ends with the file.
#[expect(
    clippy::disallowed_methods,
    reason = "no system offers to wait for a file lock with a limit, so we poll"
)]
pub(crate) fn wait_for(
    try_lock: impl Fn() -> Result<(), TryLockError>,
    limit: Duration,
    path: &Path,
) -> Result<(), OpenError> {
    const PAUSE: Duration = Duration::from_millis(10);
    let start = Instant::now();
    loop {
        match try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if start.elapsed() < limit => thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => {
                return Err(OpenError::Busy {
                    path: path.to_owned(),
                });
            }
            Err(TryLockError::Error(error)) => return Err(OpenError::from_io(&error, path)),
        }
    }
}

/// Takes the folder, which is made if it is not there, only for its owner. Does not wait: who has a
/// store open may have it open for days.
pub(crate) fn lock_exclusive(folder: &Path) -> Result<ExclusiveLock, OpenError> {
    let folder = folder::prepare(folder)?;
    let path = folder.join(LOCK);
    let lock = folder::create_file(&path).map_err(|error| OpenError::from_io(&error, &path))?;
    match lock.try_lock() {
        Ok(()) => match lock_database(&folder.join(DATABASE)) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Err(OpenError::InUse { folder }),
            database => Ok(ExclusiveLock {
                presence: lock,
                database: database.unwrap_or_default(),
            }),
        },
        Err(TryLockError::WouldBlock) => Err(OpenError::InUse { folder }),
        Err(TryLockError::Error(error)) => Err(OpenError::from_io(&error, &path)),
    }
}

/// Takes the lock on the database that every connection of SQLite shares in, if the file is there.
/// SQLite itself is not asked for it: it would recover the log. No other code of this process has
/// the file open, whose lock would end unnoticed.
#[cfg(unix)]
fn lock_database(database: &Path) -> io::Result<Option<File>> {
    use rustix::fs::{FlockOperation::NonBlockingLockExclusive, fcntl_lock};
    if !database.exists() {
        return Ok(None);
    }
    let file = File::options().read(true).write(true).open(database)?;
    match fcntl_lock(&file, NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        // The one or the other, by system.
        Err(rustix::io::Errno::ACCESS | rustix::io::Errno::AGAIN) => {
            Err(ErrorKind::WouldBlock.into())
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(unix))]
fn lock_database(_database: &Path) -> io::Result<Option<File>> {
    Ok(None)
}

#[cfg(test)]
mod tests {
    use crate::{Options, SqliteStore};

    use super::*;

    #[test]
    fn a_folder_is_somebodys_alone_or_everybodys() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options {
            busy_timeout: Duration::from_millis(20),
            ..Options::default()
        };
        let open = || SqliteStore::open(folder.path(), options.clone());
        let alone = || lock_exclusive(folder.path());
        let (first, second) = (open().unwrap(), open().unwrap());
        drop(first);
        let refused = alone().unwrap_err();
        assert!(matches!(refused, OpenError::InUse { .. }), "{refused}");
        drop(second);
        let lock = alone().unwrap();
        assert!(matches!(alone().unwrap_err(), OpenError::InUse { .. }));
        let refused = open().unwrap_err();
        assert!(matches!(refused, OpenError::Busy { .. }), "{refused}");
        drop(lock);
        open().unwrap();
    }

    #[test]
    fn who_opens_waits_for_who_is_alone() {
        let folder = tempfile::tempdir().unwrap();
        let lock = lock_exclusive(folder.path()).unwrap();
        thread::scope(|scope| {
            let opened =
                scope.spawn(|| SqliteStore::open(folder.path(), Options::default()).map(drop));
            drop(lock);
            assert_eq!(opened.join().unwrap(), Ok(()));
        });
    }
}
