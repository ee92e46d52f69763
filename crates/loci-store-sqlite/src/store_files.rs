//! The files of a store in SQLite, for commands that work on them while it is closed.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use loci_core::{
    FilesLock, Holder, InspectionReport, OpenFault, RebuildReport, Result, SalvageReport,
    StoreFiles, Timestamp, VisitRecord,
};
use loci_keys::Keys;

use crate::index::segment::INDEX_FOLDER;
use crate::integrity::rebuild::rebuild;
use crate::integrity::salvage::salvage;
use crate::key::StoreKey;
use crate::opening::copies::RESTORE_MARK;
use crate::opening::files::log_of;
use crate::opening::open::Options;
use crate::opening::open_error::{DATABASE, OpenError};
use crate::opening::presence::ExclusiveLock;
use crate::opening::{backup, folder, holders, presence};
use crate::store::SqliteStore;

/// The first bytes of a database that is not encrypted.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// The files of the store in a folder.
#[derive(Debug, Clone)]
pub struct SqliteFiles {
    folder: PathBuf,
    keys: Keys,
}

impl SqliteFiles {
    /// The files in this folder, which may be missing.
    pub fn new(folder: &Path) -> Self {
        SqliteFiles {
            folder: folder.to_owned(),
            keys: Keys::default(),
        }
    }

    /// The same, with the ways to the key of an encrypted store.
    #[must_use]
    pub fn with_keys(self, keys: Keys) -> Self {
        SqliteFiles { keys, ..self }
    }

    /// The key of a database: that of the folder that it lies in, or of the store itself. None for
    /// one that is not encrypted.
    fn key_of(&self, database: &Path) -> Result<Option<StoreKey>, OpenError> {
        let mut head = Vec::new();
        File::open(database)
            .and_then(|file| file.take(MAGIC.len() as u64).read_to_end(&mut head))
            .map_err(|error| OpenError::from_io(&error, database))?;
        if head == MAGIC {
            return Ok(None);
        }
        match StoreKey::beside(&self.keys, database)? {
            Some(key) => Ok(Some(key)),
            None => StoreKey::of(&self.keys, &self.folder),
        }
    }

    fn beside(&self, suffix: &str) -> PathBuf {
        self.folder.join(format!("{DATABASE}{suffix}"))
    }
}

impl FilesLock for ExclusiveLock {}

impl StoreFiles for SqliteFiles {
    fn folder(&self) -> &Path {
        &self.folder
    }

    fn database(&self) -> PathBuf {
        self.folder.join(DATABASE)
    }

    fn log(&self) -> PathBuf {
        log_of(&self.database())
    }

    fn state(&self) -> Vec<PathBuf> {
        ["", "-wal", "-shm", "-journal"]
            .map(|suffix| self.beside(suffix))
            .to_vec()
    }

    fn caches(&self) -> Vec<PathBuf> {
        vec![self.folder.join(INDEX_FOLDER)]
    }

    fn restore_mark(&self) -> PathBuf {
        self.folder.join(RESTORE_MARK)
    }

    fn file_system(&self) -> Option<String> {
        folder::file_system(&self.folder)
    }

    fn lock_exclusive(&self) -> Result<Box<dyn FilesLock>, loci_core::OpenError> {
        Ok(Box::new(presence::lock_exclusive(&self.folder)?))
    }

    fn was_opened(&self) -> bool {
        self.folder.join(presence::LOCK).exists()
    }

    fn holders(&self) -> Vec<Holder> {
        holders::holders(&self.folder)
    }

    fn is_corrupt(&self) -> bool {
        let options = Options {
            keys: self.keys.clone(),
            ..Options::default()
        };
        let opened = || SqliteStore::open(&self.folder, options.clone());
        self.database().exists()
            && matches!(
                opened(),
                Err(OpenError::NotADatabase { .. } | OpenError::Damaged { .. })
            )
    }

    fn inspect(&self, copy: &Path) -> Result<InspectionReport, loci_core::OpenError> {
        Ok(backup::inspect(copy, self.key_of(copy)?)?)
    }

    fn salvage(&self, now: Timestamp, visit: &mut VisitRecord<'_>) -> Result<SalvageReport> {
        salvage(&self.database(), &self.keys, now, visit)
    }

    fn rebuild(&self, fresh: &Path, now: Timestamp) -> Result<RebuildReport> {
        rebuild(&self.database(), &self.keys, fresh, now)
    }
}

impl From<OpenError> for loci_core::OpenError {
    fn from(error: OpenError) -> Self {
        let fault = match &error {
            OpenError::InUse { .. } => OpenFault::InUse,
            OpenError::ReadOnly { .. } => OpenFault::ReadOnly,
            OpenError::Full { .. } => OpenFault::Full,
            OpenError::Restoring { .. } => OpenFault::Restoring,
            OpenError::Locked { .. } => OpenFault::Locked,
            OpenError::NotADatabase { .. } | OpenError::Damaged { .. } => OpenFault::Corrupt,
            OpenError::Newer { .. }
            | OpenError::NewerAnalysis { .. }
            | OpenError::LogAlone { .. }
            | OpenError::ForeignLog { .. }
            | OpenError::Upgrade { .. } => OpenFault::Database,
            _ => OpenFault::Place,
        };
        loci_core::OpenError {
            fault,
            message: error.to_string(),
        }
    }
}
