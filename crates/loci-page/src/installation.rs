//! The data that an installation keeps outside of its store, as the page shows it.

use std::fs::File;
use std::io::Read;

use loci_core::{Result, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

use crate::size::shown_bytes;
use crate::utc_timestamp::UtcTimestamp;

/// A client that called a tool on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = ClientSeen)]
pub struct ClientActivity {
    /// The name that it gave itself, if it gave one.
    pub client: Option<String>,
    /// The dialect that it called.
    pub dialect: String,
    /// The transport that it called over.
    pub transport: String,
    /// The time of its last recorded call.
    pub called_at: UtcTimestamp,
}

/// A backup that the installation made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = BackupKept)]
pub struct BackupFile {
    /// The name of the file.
    pub name: String,
    /// The time at which it was made.
    pub made_at: UtcTimestamp,
    /// Its bytes.
    pub bytes: u64,
}

/// A host on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = HostFound)]
pub struct HostStatus {
    /// The name by which commands know it.
    pub name: &'static str,
    /// The name that people know.
    pub title: &'static str,
    /// The dialect for which it is connected, if it is.
    pub dialect: Option<String>,
    /// Why its connection is unknown, if it is.
    pub problem: Option<String>,
    /// True if its hooks call loci.
    pub has_hooks: bool,
    /// The time of its last recorded call.
    pub called_at: Option<UtcTimestamp>,
}

/// A setting with its value, without secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = SettingShown)]
pub struct SettingValue {
    /// Its name.
    pub key: &'static str,
    /// Its value, if it has one.
    pub value: Option<String>,
    /// Where the value comes from.
    pub origin: String,
}

/// A token, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = TokenShown)]
pub struct TokenDetails {
    /// Its public id.
    pub id: String,
    /// Whom it lets in.
    pub subject: String,
    /// The space that it opens.
    pub space: String,
    /// Its scopes.
    pub scopes: Vec<&'static str>,
    /// The time at which it was made.
    pub created_at: UtcTimestamp,
    /// The time at which it expires.
    pub expires_at: Option<UtcTimestamp>,
    /// True if it was revoked or has expired.
    pub is_over: bool,
}

/// A command of loci that a person starts on the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Task {
    /// Connects the host of this name.
    Connect(&'static str),
    /// Takes the connection back.
    Disconnect(&'static str),
    /// Asks the host whether it is connected.
    CheckHost(&'static str),
    /// Writes a backup into the data folder.
    BackUp,
    /// Checks the installation.
    Examine,
    /// Makes a token for a subject with these scopes.
    MakeToken {
        /// Whom it lets in.
        subject: String,
        /// The names of its scopes.
        scopes: Vec<&'static str>,
    },
    /// Revokes the token with this id.
    RevokeToken(String),
}

/// The output of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Utterance)]
pub struct CommandOutput {
    /// True if it did all that it was asked for.
    pub succeeded: bool,
    /// Its words.
    pub text: String,
}

/// An empty file in the data folder, for what a person uploads.
#[derive(Debug)]
pub struct Upload {
    /// Its name: hexadecimal digits that cannot be guessed.
    pub name: String,
    /// The file, which only the user of the installation can read.
    pub file: File,
}

/// The work on an uploaded file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportWork {
    /// Only counts what an import would do.
    Count,
    /// Imports what was not forgotten here.
    Import,
    /// Imports also what was forgotten or wiped here.
    ImportForgottenToo,
}

/// The counts of an import, or of a dry run of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct ImportCounts {
    /// The records that are stored; in a dry run, those that would be.
    pub stored: u64,
    /// The records that are there already.
    pub present: u64,
    /// The records that are refused.
    pub refused: u64,
    /// The records of what was forgotten, which stay forgotten.
    pub forgotten: u64,
    /// The files of notes that are written; in a dry run, those that would be.
    pub note_files: u64,
}

/// The outcome of an import, or of a dry run of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = ImportSaid)]
pub struct ImportReport {
    /// The counts; `None` if the file cannot be imported at all.
    pub counts: Option<ImportCounts>,
    /// The words about what is refused, or why the file cannot be imported.
    pub said: CommandOutput,
}

/// A backup that was restored into a new folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Restored)]
pub struct RestoreReport {
    /// The words of the command, which say why if it failed.
    pub said: CommandOutput,
    /// The folder; `None` if it failed.
    pub folder: Option<String>,
    /// The command that serves the folder beside this server; `None` if it failed.
    pub look: Option<String>,
    /// The command that puts the backup in the place of the store, after every loci was stopped;
    /// `None` if it failed, or the store is on a server, which takes a backup into an empty schema
    /// alone.
    pub replace: Option<String>,
}

/// Tells what an installation keeps outside of its store.
pub trait Installation: Send + Sync {
    /// Returns the hosts that are found on this machine.
    fn hosts(&self) -> Vec<HostStatus>;

    /// Returns the settings in effect.
    fn settings(&self) -> Vec<SettingValue>;

    /// Returns the tokens of the store, oldest first.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn tokens(&self) -> Result<Vec<TokenDetails>>;

    /// Runs a command of loci to its end.
    ///
    /// # Errors
    /// `unavailable` if it cannot be started.
    fn run(&self, task: &Task) -> Result<CommandOutput>;

    /// Makes a file for an upload of about this many bytes, and removes those of earlier uploads.
    ///
    /// # Errors
    /// `unavailable` if there is no room for it, or it cannot be made.
    fn begin_upload(&self, bytes: u64) -> Result<Upload>;

    /// Removes the file of an upload, if it is there.
    ///
    /// # Errors
    /// `invalid_argument` for another name than that of an upload; `unavailable` if it cannot be
    /// removed.
    fn discard_upload(&self, name: &str) -> Result<()>;

    /// Imports an uploaded file, and removes it; a file that is only counted is kept if it can be
    /// imported.
    ///
    /// # Errors
    /// `invalid_argument` for another name than that of an upload; `not_found` if its file was
    /// removed; `unavailable` if the command cannot be started.
    fn import(&self, name: &str, work: ImportWork) -> Result<ImportReport>;

    /// Starts an export of the whole store, and returns its bytes. Reading fails if the export
    /// does, so that nothing that is cut off looks whole.
    ///
    /// # Errors
    /// `unavailable` if the command cannot be started.
    fn export(&self) -> Result<Box<dyn Read + Send>>;

    /// Returns the clients that called tools on this machine, the last one first.
    fn clients(&self) -> Vec<ClientActivity>;

    /// Returns the place of the store, as a person would write it, without a password.
    fn place(&self) -> String;

    /// Returns the known backups, the last one first.
    fn backups(&self) -> Vec<BackupFile>;

    /// Restores the backup with this name into a new folder, which checks it wholly. The store of
    /// this installation stays as it is.
    ///
    /// # Errors
    /// `not_found` if there is no such backup; `unavailable` if the folder cannot be made, or the
    /// command cannot be started.
    fn restore(&self, name: &str) -> Result<RestoreReport>;
}

impl ClientActivity {
    /// Returns a client that called at this time.
    pub fn new(
        client: Option<String>,
        dialect: String,
        transport: String,
        called_at: Timestamp,
    ) -> Self {
        ClientActivity {
            client,
            dialect,
            transport,
            called_at: UtcTimestamp(called_at),
        }
    }
}

impl BackupFile {
    /// Returns a backup that was made at this time.
    pub fn new(name: String, made_at: Timestamp, bytes: u64) -> Self {
        BackupFile {
            name,
            made_at: UtcTimestamp(made_at),
            bytes,
        }
    }

    /// Returns its size as people read it.
    pub(crate) fn size(&self) -> String {
        shown_bytes(self.bytes)
    }
}
