//! Temporary files of an encrypted store: they hold what people upload and import, and no disk shall
//! keep that in the clear.

use std::path::{Path, PathBuf};

use loci_keys::KeyFile;

use crate::settings::Settings;
use crate::store::StoreLocation;

/// A folder of the system whose files lie in memory.
const SYSTEM_FOLDER: &str = "/dev/shm";

/// Lets the temporary files of this process lie in memory, if the store is encrypted and the system
/// has a folder for that, as Linux has.
pub fn keep_temporary_files(settings: &Settings) {
    if folder_of(settings).is_some() {
        // Set once, before anything makes one.
        let _ = tempfile::env::override_temp_dir(Path::new(SYSTEM_FOLDER));
    }
}

/// Returns the folder in memory for files of an encrypted store that other processes read by their
/// path; the same each time. None for a store in the clear, and on systems without such a folder.
pub fn folder_of(settings: &Settings) -> Option<PathBuf> {
    let StoreLocation::Folder { folder, .. } = settings.store_for(&settings.data) else {
        return None;
    };
    let file = KeyFile::read(&folder).ok().flatten()?;
    let system = Path::new(SYSTEM_FOLDER);
    system
        .is_dir()
        .then(|| system.join(format!("loci-{}", file.key_name())))
}
