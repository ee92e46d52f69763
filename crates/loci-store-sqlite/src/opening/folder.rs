//! The folder of a store: that it exists, is ours and can hold a database.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use loci_core::file_system;

use crate::opening::open_error::OpenError;

/// Makes the folder if it is not there, only for its owner, checks it, and returns its real path.
pub(crate) fn prepare(folder: &Path) -> Result<PathBuf, OpenError> {
    if folder.is_file() {
        let folder = folder.to_owned();
        return Err(OpenError::NotAFolder { folder });
    }
    create(folder).map_err(|error| OpenError::from_io(&error, folder))?;
    let real = fs::canonicalize(folder).map_err(|error| OpenError::from_io(&error, folder))?;
    check_owner(&real)?;
    check_file_system(&real)?;
    Ok(real)
}

/// Makes a folder only for its owner, if it is not there.
pub(crate) fn create(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Makes an empty file only for its owner, or opens the one that is there.
pub(crate) fn create_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Makes a change of names in the folder durable.
pub(crate) fn flush(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

#[cfg(unix)]
fn check_owner(folder: &Path) -> Result<(), OpenError> {
    use std::os::unix::fs::MetadataExt;
    let metadata = fs::metadata(folder).map_err(|error| OpenError::from_io(&error, folder))?;
    if metadata.uid() == rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    Err(OpenError::NotOwner {
        folder: folder.to_owned(),
        uid: metadata.uid(),
    })
}

#[cfg(not(unix))]
fn check_owner(_folder: &Path) -> Result<(), OpenError> {
    Ok(())
}

/// Returns the kind of the file system that a folder is on, as Linux names it; `None` if that is
/// unknown, as on other systems.
pub fn file_system(folder: &Path) -> Option<String> {
    let mountinfo = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let folder = fs::canonicalize(folder).ok()?;
    file_system::kind(&mountinfo, &folder).map(str::to_owned)
}

fn check_file_system(folder: &Path) -> Result<(), OpenError> {
    match file_system(folder) {
        Some(kind) if file_system::is_network(&kind) => Err(OpenError::NetworkFileSystem {
            folder: folder.to_owned(),
            kind,
        }),
        _ => Ok(()),
    }
}
