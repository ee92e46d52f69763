//! The permissions that other users of this machine have for the data folder.

use std::path::Path;

use crate::exit::Failure;

/// Checks that a server may use the data folder; warns if others on this machine may read it.
///
/// # Errors
/// [`Exit::DataFolder`](crate::exit::Exit::DataFolder) if others may write into it, or into a file
/// in it: a user who can write the database can act as any caller.
#[cfg(unix)]
pub fn check(data: &Path) -> Result<(), Failure> {
    use std::os::unix::fs::PermissionsExt;

    use crate::commands::doctor::open_to_others;
    use crate::exit::Exit;
    use crate::output::status_line;

    /// Permission bits of the group and of all others.
    const WRITE: u32 = 0o022;
    const READ_OR_ENTER: u32 = 0o055;
    let data = &data.canonicalize().unwrap_or_else(|_| data.to_owned());
    let mode = |path: &Path| {
        path.symlink_metadata()
            .map_or(0, |metadata| metadata.permissions().mode())
    };
    let folder_mode = mode(data);
    // A file in its place is told when the store is opened.
    if folder_mode & (WRITE | READ_OR_ENTER) == 0 || !data.is_dir() {
        return Ok(());
    }
    let exposed = open_to_others(data);
    if let Some((path, right)) = exposed.iter().find(|(path, _)| mode(path) & WRITE != 0) {
        let shown = path.display();
        let message = format!(
            "others on this machine may write {shown}, and what it serves; take that from them: chmod {right:o} \
             '{shown}' (`loci doctor --fix` does it for all files)"
        );
        return Err(Failure::new(Exit::DataFolder, message));
    }
    let shown = data.display();
    status_line(format_args!(
        "warning: others on this machine may read {shown}; chmod 700 '{shown}' keeps it to yourself"
    ));
    Ok(())
}

#[cfg(not(unix))]
pub fn check(_data: &Path) -> Result<(), Failure> {
    Ok(())
}
