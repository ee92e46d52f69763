//! The folder of notes of an installation, and the lock files beside it.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use loci_core::Clock;
use loci_keys::KeyFile;
use loci_vault::{Seal, VaultFolder};

use crate::clock::SystemClock;
use crate::exit::{Exit, Failure};
use crate::settings::Settings;
use crate::store::StoreLocation;

/// The folder of notes, with the lock files of the processes that use it.
pub struct Vault {
    /// The folder.
    pub folder: PathBuf,
    /// Locked by a process that reads or writes the notes.
    lock: PathBuf,
    /// Locked by the process that watches the notes.
    pub watch_lock: PathBuf,
    /// The permissions of new files.
    file_mode: u32,
    /// The key of the notes, if they are sealed.
    seal: Option<Seal>,
    /// True if the notes of the store lie in the folder. The notes of a store that several machines
    /// share lie on one machine, which names its folder.
    pub is_kept: bool,
}

impl Vault {
    /// Returns the folder of notes for a data folder: the one of the settings if the data folder is
    /// theirs, otherwise the one within it. A store on a server has notes only where a folder is
    /// named.
    ///
    /// # Errors
    /// [`Exit::Usage`], if the data folder would lie in the folder of notes.
    pub fn of(settings: &Settings, data: &Path) -> Result<Self, Failure> {
        let named = settings.vault.clone().filter(|_| data == settings.data);
        let is_kept = named.is_some() || !settings.store_for(data).is_shared();
        let folder = named.unwrap_or_else(|| data.join("vault"));
        if real(data).starts_with(real(&folder)) {
            let message = format!(
                "the data folder {} lies in the folder of notes {}; keep the database out of what is synced: choose \
                 another with --vault or --data",
                data.display(),
                folder.display()
            );
            return Err(Failure::new(Exit::Usage, message));
        }
        let file_mode = settings.vault_file_mode;
        Ok(Vault {
            folder,
            lock: data.join("vault.lock"),
            watch_lock: data.join("vault-watch.lock"),
            file_mode,
            seal: seal_of(settings, data),
            is_kept,
        })
    }

    /// Returns the notes as files.
    pub fn notes(&self) -> VaultFolder {
        self.notes_by(Arc::new(SystemClock))
    }

    /// The same by another clock.
    pub fn notes_by(&self, clock: Arc<dyn Clock>) -> VaultFolder {
        VaultFolder::new(self.folder.clone(), self.lock.clone(), clock)
            .with_file_mode(self.file_mode)
            .with_seal(self.seal.clone())
    }

    /// The same with another form of the files.
    #[must_use]
    pub fn with_seal(self, seal: Seal) -> Self {
        Vault {
            seal: Some(seal),
            ..self
        }
    }
}

/// The key of the notes of a store that has or had them sealed. Without a way to it, opening the store says
/// so.
fn seal_of(settings: &Settings, data: &Path) -> Option<Seal> {
    let StoreLocation::Folder { folder, .. } = settings.store_for(data) else {
        return None;
    };
    let file = KeyFile::read(&folder).ok()??;
    let key = file
        .has_notes_key()
        .then(|| settings.store.keys.of(&folder))
        .and_then(Result::ok)??;
    let form = if file.seals_notes() {
        Seal::new
    } else {
        Seal::opening
    };
    key.notes_key().cloned().map(form)
}

/// Returns the path without links, as far as it exists.
pub fn real(path: &Path) -> PathBuf {
    let found = path
        .ancestors()
        .find_map(|ancestor| Some((ancestor, ancestor.canonicalize().ok()?)));
    let Some((ancestor, mut real)) = found else {
        return path.to_owned();
    };
    for part in path.strip_prefix(ancestor).unwrap_or(path).components() {
        match part {
            Component::ParentDir => {
                real.pop();
            }
            part => real.push(part),
        }
    }
    real
}
