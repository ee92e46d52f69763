//! The temporary folders of tests.

use tempfile::TempDir;

/// Returns a new folder; in memory, if there is such a disk with enough space, so that a busy disk
/// does not slow the tests down: a flush takes no time there. The power cuts of `tests/crash` check
/// that loci flushes its files, on any disk.
pub fn folder() -> TempDir {
    in_memory().unwrap_or_else(|| tempfile::tempdir().unwrap())
}

#[cfg(target_os = "linux")]
fn in_memory() -> Option<TempDir> {
    /// The free bytes that are needed: more than concurrent tests write.
    const ROOM: u64 = 1 << 30;
    let memory = "/dev/shm";
    let space = rustix::fs::statvfs(memory).ok()?;
    let has_room = space.f_bavail.saturating_mul(space.f_frsize) >= ROOM;
    has_room
        .then(|| tempfile::tempdir_in(memory).ok())
        .flatten()
}

#[cfg(not(target_os = "linux"))]
fn in_memory() -> Option<TempDir> {
    None
}
