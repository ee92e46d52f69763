//! The one door to a store: the setting `store` says which, and this module opens it. No other
//! module names a kind of store.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use loci_archive::files::create_private_folder;
use loci_core::{InspectionReport, OpenError, OpenFault, OpenStore, StoreFiles};
use loci_keys::{DataKey, Keys};
use loci_store_postgres::{PostgresStore, without_password};
use loci_store_sqlite::{Options, SqliteFiles, SqliteStore};
use serde::{Deserialize, Serialize};

use crate::exit::{Exit, Failure};
use crate::machine;

/// The shortest and the longest wait for a connection to a server. A hook, for which a session
/// waits, has a short [`StoreSettings::busy_timeout`].
const CONNECT_MIN: Duration = Duration::from_secs(1);
const CONNECT_MAX: Duration = Duration::from_secs(5);

/// Where a store is, and how it is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreSettings {
    /// The place of the store.
    pub place: StorePlace,
    /// The time to wait for a lock that another process holds.
    pub busy_timeout: Duration,
    /// From how many memories on the index is a file that processes share.
    pub index_file_memories: usize,
    /// The options of a store on a server.
    pub server: ServerSettings,
    /// The ways to the key of an encrypted store.
    pub keys: Keys,
}

/// The place of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StorePlace {
    /// The data folder.
    DataFolder,
    /// Another folder.
    Folder(PathBuf),
    /// The database of a PostgreSQL server with this URL, which has no password.
    Server(String),
}

/// The options of a store on a server.
#[derive(Clone, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a setting of its own"
)]
pub struct ServerSettings {
    /// The schema with the tables.
    pub schema: String,
    /// The most connections of this process.
    pub connections_max: usize,
    /// The seconds that a commit waits for its confirmation.
    pub commit_seconds: u64,
    /// Bytes of memory for the indexes of all spaces.
    pub index_bytes_max: usize,
    /// The password; none if the server asks for none.
    pub password: Option<String>,
    /// The file that the password was read from, if it was.
    pub password_file: Option<PathBuf>,
    /// True if the tables may be created and upgraded.
    pub migrates: bool,
    /// True if row security is turned on in the tables.
    pub row_security: bool,
    /// True if tables are distributed where the database has the extension Citus.
    pub distributes: bool,
    /// True if the work of a space connects to the worker of a cluster that has its rows.
    pub connects_to_workers: bool,
}

/// Without the password.
impl std::fmt::Debug for ServerSettings {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ServerSettings")
            .field("schema", &self.schema)
            .finish_non_exhaustive()
    }
}

impl StoreSettings {
    /// The store that these settings name, for a data folder.
    pub fn location(&self, data: &Path) -> StoreLocation {
        let folder = match &self.place {
            StorePlace::DataFolder => data.to_owned(),
            StorePlace::Folder(folder) => folder.clone(),
            StorePlace::Server(url) => {
                return StoreLocation::Server(self.server_options(url));
            }
        };
        StoreLocation::Folder {
            folder,
            options: Options {
                busy_timeout: self.busy_timeout,
                segment_min: self.index_file_memories,
                keys: self.keys.clone(),
            },
        }
    }

    /// Checks that the place can be opened with these settings, without a connection.
    ///
    /// # Errors
    /// `invalid_argument` about a setting, which never repeats a password.
    pub fn check(&self) -> loci_core::Result<()> {
        match &self.place {
            StorePlace::Server(url) => self.server_options(url).check(),
            StorePlace::DataFolder | StorePlace::Folder(_) => Ok(()),
        }
    }

    fn server_options(&self, url: &str) -> loci_store_postgres::Options {
        let ServerSettings {
            schema,
            connections_max,
            commit_seconds,
            index_bytes_max,
            password,
            password_file: _,
            migrates,
            row_security,
            distributes,
            connects_to_workers,
        } = self.server.clone();
        loci_store_postgres::Options {
            password,
            schema,
            connections_max,
            connect_timeout: self.busy_timeout.clamp(CONNECT_MIN, CONNECT_MAX),
            commit_timeout: Duration::from_secs(commit_seconds),
            index_bytes_max,
            migrates,
            row_security,
            distributes,
            connects_to_workers,
            ..loci_store_postgres::Options::new(url)
        }
    }
}

impl StorePlace {
    /// Reads the place of a store: the path of a folder, or a URL, whose password is returned apart.
    ///
    /// # Errors
    /// The problem in words, which do not repeat the value: a URL may hold a password.
    pub fn read(text: &str) -> Result<(Self, Option<String>), String> {
        match text.split_once("://") {
            Some(("postgres" | "postgresql", _)) => {
                let (url, password) = without_password(text);
                Ok((StorePlace::Server(url), password))
            }
            Some((scheme, _)) => Err(format!(
                "is a URL of the kind {scheme}://, which this loci cannot open; give the path of a folder, or the URL \
                 of a PostgreSQL server, postgres://USER@HOST/DATABASE"
            )),
            None => {
                let folder = std::path::absolute(text);
                let folder = folder.map_err(|error| format!("is not a path: {error}"))?;
                Ok((StorePlace::Folder(folder), None))
            }
        }
    }
}

/// Returns the place of a store as it may be shown: a URL has no password.
pub fn shown_place(text: &str) -> String {
    if text.contains("://") {
        without_password(text).0
    } else {
        text.to_owned()
    }
}

/// A store that can be opened.
pub enum StoreLocation {
    /// A store in a folder.
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The options with which it is opened.
        options: Options,
    },
    /// A store on a server.
    Server(loci_store_postgres::Options),
}

/// What tells a store from others on this machine, for processes to compare.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum StoreId {
    /// A store in this folder.
    Folder(PathBuf),
    /// A store on a server.
    Server {
        /// The URL, without its password.
        url: String,
        /// The schema with the tables.
        schema: String,
    },
}

impl StoreLocation {
    /// Returns what tells the store from others, however it is opened.
    pub fn id(&self) -> StoreId {
        match self {
            StoreLocation::Folder { folder, .. } => StoreId::Folder(folder.clone()),
            StoreLocation::Server(options) => StoreId::Server {
                url: without_password(&options.url).0,
                schema: options.schema.clone(),
            },
        }
    }

    /// Opens the store, which is made if it is not there. A server is connected to by the first
    /// call that needs it.
    ///
    /// # Errors
    /// The fault, with the remedy.
    pub fn open(&self) -> Result<Arc<dyn OpenStore>, OpenError> {
        Ok(match self {
            StoreLocation::Folder { folder, options } => {
                Arc::new(SqliteStore::open(folder, options.clone())?)
            }
            StoreLocation::Server(options) => {
                let store = PostgresStore::open(options.clone());
                Arc::new(store.map_err(|error| OpenError {
                    fault: OpenFault::Place,
                    message: error.message,
                })?)
            }
        })
    }

    /// Returns the version of the tables that this program reads and writes there.
    pub fn schema_version(&self) -> i64 {
        match self {
            StoreLocation::Folder { .. } => loci_store_sqlite::SCHEMA_VERSION,
            StoreLocation::Server(_) => loci_store_postgres::SCHEMA_VERSION,
        }
    }

    /// Returns whether a store is or was there; `true` where that is unknown, as for a server.
    pub fn holds_store(&self) -> bool {
        let StoreLocation::Folder { folder, .. } = self else {
            return true;
        };
        let files = files_in(folder, &Keys::default());
        let of_store = [files.database(), files.log(), files.restore_mark()];
        let is_there = |path: &PathBuf| path.try_exists().unwrap_or(true);
        of_store.iter().any(is_there) || files.was_opened()
    }

    /// Returns the same place for a command that must not make a store: a server without one says
    /// so at the first call.
    ///
    /// # Errors
    /// [`Exit::DataFolder`] if the folder has no store.
    pub fn existing(self) -> Result<Self, Failure> {
        if !self.holds_store() {
            return Err(self.absent());
        }
        Ok(match self {
            StoreLocation::Server(options) => StoreLocation::Server(loci_store_postgres::Options {
                creates: false,
                ..options
            }),
            folder @ StoreLocation::Folder { .. } => folder,
        })
    }

    /// The failure of a command that needs a store which is not there.
    fn absent(&self) -> Failure {
        let message = format!(
            "there is no loci in {}: name the folder of one with --data (LOCI_DATA); `loci add`, `loci serve` and a \
             connected agent (`loci connect`) make one",
            self.shown()
        );
        Failure::new(Exit::DataFolder, message)
    }

    /// Opens a store that does not open to be written for this fault, to be read as it is; says also
    /// whether a copy is read. One on a full disk is written once there is room.
    ///
    /// # Errors
    /// The fault, with the remedy.
    pub fn open_to_read(&self, fault: OpenFault) -> Result<(Arc<dyn OpenStore>, bool), OpenError> {
        match self {
            StoreLocation::Folder { folder, options } => {
                let store = match fault {
                    OpenFault::Full => SqliteStore::open_on_full_disk(folder, options.clone())?,
                    _ => SqliteStore::open_read_only(folder, options.clone())?,
                };
                let is_copied = store.copy().is_some();
                Ok((Arc::new(store), is_copied))
            }
            StoreLocation::Server(_) => Ok((self.open()?, false)),
        }
    }

    /// The files of the store.
    ///
    /// # Errors
    /// [`Exit::Usage`] if the store is not kept in files, with what to do instead.
    pub fn files(&self) -> Result<Box<dyn StoreFiles>, Failure> {
        match self {
            StoreLocation::Folder { folder, options } => Ok(files_in(folder, &options.keys)),
            StoreLocation::Server(options) => Err(Failure::new(
                Exit::Usage,
                format!(
                    "this works on the files of a store, and {} has none: use the tools of the server \
                     (docs/postgres.md)",
                    options.shown()
                ),
            )),
        }
    }

    /// Returns whether the store is on a server, which several machines may share.
    pub fn is_shared(&self) -> bool {
        matches!(self, StoreLocation::Server(_))
    }

    /// Returns the id of this machine in the store; empty for a store in a folder, which is on one.
    /// Makes the data folder, which holds the id, if it is not there.
    ///
    /// # Errors
    /// [`Exit::DataFolder`] if the data folder cannot be used.
    pub fn machine(&self, data: &Path) -> Result<String, Failure> {
        match self {
            StoreLocation::Folder { .. } => Ok(String::new()),
            StoreLocation::Server(_) => {
                create_private_folder(data).map_err(|error| {
                    let shown = data.display();
                    let message = format!("the data folder {shown} cannot be made: {error}");
                    Failure::new(Exit::DataFolder, message)
                })?;
                machine::id(data)
            }
        }
    }

    /// Where the store is, for people.
    pub fn shown(&self) -> String {
        match self {
            StoreLocation::Folder { folder, .. } => folder.display().to_string(),
            StoreLocation::Server(options) => options.shown(),
        }
    }
}

/// The files of a store in this folder, whether or not there is one.
pub fn files_in(folder: &Path, keys: &Keys) -> Box<dyn StoreFiles> {
    Box::new(SqliteFiles::new(folder).with_keys(keys.clone()))
}

/// Copies the database in a file into a new file, which is encrypted with the second key, or in the
/// clear without one. Checks the copy, which has all that was in the database.
///
/// # Errors
/// The fault, with the remedy; the copy is worth nothing then.
pub fn recrypt(
    database: (&Path, Option<&DataKey>),
    copy: (&Path, Option<&DataKey>),
) -> Result<InspectionReport, OpenError> {
    Ok(loci_store_sqlite::recrypt(database, copy)?)
}

/// The failure of a command whose store does not open.
pub fn open_failure(error: &OpenError) -> Failure {
    use loci_core::OpenFault::{
        Corrupt, Database, Full, InUse, Locked, Place, ReadOnly, Restoring,
    };
    let exit = match error.fault {
        Corrupt | Database => Exit::Database,
        Locked => Exit::Key,
        Full | InUse | ReadOnly | Restoring | Place => Exit::DataFolder,
    };
    Failure::new(exit, &error.message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_has_the_exit_code_of_its_kind() {
        for (fault, exit) in [
            (OpenFault::Corrupt, Exit::Database),
            (OpenFault::Database, Exit::Database),
            (OpenFault::ReadOnly, Exit::DataFolder),
            (OpenFault::InUse, Exit::DataFolder),
            (OpenFault::Locked, Exit::Key),
        ] {
            let message = "why".to_owned();
            let failure = open_failure(&OpenError { fault, message });
            assert_eq!((failure.exit, failure.message.as_str()), (exit, "why"));
        }
    }

    #[test]
    fn a_store_is_the_same_however_it_is_named_and_opened() {
        let data = Path::new("/data");
        let settings = |place: StorePlace, schema: &str| StoreSettings {
            place,
            busy_timeout: Duration::from_secs(schema.len() as u64),
            index_file_memories: schema.len(),
            server: ServerSettings {
                schema: schema.to_owned(),
                connections_max: 1,
                commit_seconds: 1,
                index_bytes_max: 1,
                password: Some(schema.to_owned()),
                password_file: None,
                migrates: true,
                row_security: false,
                distributes: true,
                connects_to_workers: true,
            },
            keys: Keys::default(),
        };
        let id = |place, schema| settings(place, schema).location(data).id();
        let folder = |path: &str| StorePlace::Folder(PathBuf::from(path));
        let server = |url: &str| StorePlace::Server(url.to_owned());
        // A schema is one of a server.
        let own = id(StorePlace::DataFolder, "loci");
        assert_eq!(own, id(folder("/data"), "other"));
        assert_ne!(own, id(folder("/other"), "loci"));
        let on_server = id(server("postgres://ann@host/loci"), "loci");
        assert_ne!(on_server, own);
        assert_ne!(on_server, id(server("postgres://ann@host/loci"), "other"));
        assert_ne!(on_server, id(server("postgres://ann@host/more"), "loci"));
        let sent = serde_json::to_string(&on_server).unwrap();
        assert_eq!(serde_json::from_str::<StoreId>(&sent).unwrap(), on_server);
    }

    #[test]
    fn a_place_is_a_folder_or_a_server() {
        let (folder, _) = StorePlace::read("s").unwrap();
        assert!(matches!(folder, StorePlace::Folder(folder) if folder.is_absolute()));
        let (server, password) = StorePlace::read("postgres://ann:secret@host/loci").unwrap();
        assert_eq!(
            server,
            StorePlace::Server("postgres://ann@host/loci".to_owned())
        );
        assert_eq!(password.as_deref(), Some("secret"));
        let refused = StorePlace::read("mysql://ann:secret@host/loci").unwrap_err();
        assert!(
            refused.contains("mysql://") && !refused.contains("secret"),
            "{refused}"
        );
    }
}
