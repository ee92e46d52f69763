//! Where tests have their folders.

use tempfile::TempDir;

/// A new folder; in memory, where there is such a disk with room in it, so that no test depends on
/// how busy the disk of the machine is: a flush takes no time there. Whether loci flushes what it
/// must is told by the power cuts of `tests/crash`, wherever the files are.
pub fn folder() -> TempDir {
    in_memory().unwrap_or_else(|| tempfile::tempdir().unwrap())
}

#[cfg(target_os = "linux")]
fn in_memory() -> Option<TempDir> {
    /// Bytes that have to be free: more than tests that run at once write.
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
