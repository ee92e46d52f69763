//! Files and folders that only their owner may read, and durable names.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

/// Makes a new file that only its owner can access.
///
/// # Errors
/// It exists, or the folder cannot be written.
pub fn create_private(path: &Path) -> io::Result<File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Makes a folder that only its owner can access, and those above it. Leaves existing ones as they
/// are.
///
/// # Errors
/// The folder above cannot be written.
pub fn create_private_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}

/// Writes a file that only its owner can access, atomically, and replaces an existing one.
///
/// # Errors
/// The folder cannot be written.
pub fn write_privately(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = folder_of(path);
    draft_in(folder, bytes)?.persist(path)?;
    flush_folder(folder)
}

/// Writes a new file that only its owner can access, atomically: of several processes that do so at
/// once, one succeeds, and none sees a part of the file.
///
/// # Errors
/// `AlreadyExists` if it exists; the folder cannot be written.
pub fn write_new_privately(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = folder_of(path);
    draft_in(folder, bytes)?.persist_noclobber(path)?;
    flush_folder(folder)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("."))
}

/// Writes these bytes durably to a file that has no name of its own yet.
fn draft_in(folder: &Path, bytes: &[u8]) -> io::Result<NamedTempFile> {
    let mut draft = tempfile::Builder::new()
        .suffix(".draft")
        .tempfile_in(folder)?;
    draft.write_all(bytes)?;
    draft.as_file().sync_all()?;
    Ok(draft)
}

/// Makes new and changed names in a folder durable.
///
/// # Errors
/// The disk refuses.
pub fn flush_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}
