//! The data that an installation keeps outside of its store, as the page shows it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;

use loci_core::{Caller, Result, Timestamp};
use loci_engine::Engine;
use serde::{Deserialize, Serialize};
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

/// Requests that this machine sent to another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct SentRequests {
    /// The section of the settings that they belong to, e.g. `llm`.
    pub purpose: String,
    /// The host that they went to.
    pub host: String,
    /// Their number in the last 30 days.
    pub requests: u64,
    /// The last day with one, in UTC.
    pub last_day: String,
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
    /// True if it has hooks that can call loci.
    pub takes_hooks: bool,
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
    /// The environment variable that sets it.
    pub variable: &'static str,
    /// True if it has its default.
    pub is_default: bool,
}

/// A part of what an installation keeps on the disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = StoragePart)]
pub struct StoragePart {
    /// `database`, `index`, `notes`, `backups`, `models` or `other`.
    pub name: &'static str,
    /// Its bytes.
    pub bytes: u64,
}

/// The space that an installation takes on the disk.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Storage {
    /// The parts that are there, the largest first.
    pub parts: Vec<StoragePart>,
    /// The free bytes of the disk, if they are known.
    pub free: Option<u64>,
}

/// A language of the stored texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct StoredLanguage {
    /// Its code, such as `de`.
    pub code: String,
    /// The number of its texts among the texts that were looked at.
    pub texts: usize,
    /// True if the model knows it; `None` if the model is not of the catalogue.
    pub is_known: Option<bool>,
}

/// The model that finds memories by their meaning.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct SearchModel {
    /// Its name; `None` if memories are found by words only.
    pub name: Option<String>,
    /// The languages of the stored texts, the most frequent first.
    pub languages: Vec<StoredLanguage>,
    /// Why another model would be better, in a sentence.
    pub offer: Option<String>,
    /// The commands that install and choose the other model.
    pub commands: Vec<String>,
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
    /// The client that got it by OAuth and renews it, if one did.
    pub client: Option<String>,
    /// The time at which it was made.
    pub created_at: UtcTimestamp,
    /// The time at which it expires; for one that a client renews, until when it can.
    pub expires_at: Option<UtcTimestamp>,
    /// True if it was revoked or has expired.
    pub is_over: bool,
}

/// A command of loci that a person starts on the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Task {
    /// Connects the host of this name.
    Connect {
        /// The name of the host.
        host: &'static str,
        /// The dialect that it gets; the one that it has, or else the usual one, if it is `None`.
        dialect: Option<&'static str>,
        /// True to have its hooks call loci as well.
        hooks: bool,
    },
    /// Takes the hooks of loci out of the settings of this host.
    RemoveHooks(&'static str),
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
    /// Takes the import with this batch back.
    UndoImport(String),
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

/// What a person says of a file to import.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportSource {
    /// The memory system whose store or export it is, of [`Installation::import_systems`]; `None` if
    /// the content tells.
    pub system: Option<&'static str>,
    /// The time zone of times that name none; `None` for the one of this machine.
    pub zone: Option<String>,
}

/// The counts of an import, or of a dry run of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct ImportCounts {
    /// The records that are stored; in a dry run, the ones that would be.
    pub stored: u64,
    /// The records that are there already.
    pub present: u64,
    /// The records that are refused.
    pub refused: u64,
    /// The records of what was forgotten, which stay forgotten.
    pub forgotten: u64,
    /// The files of notes that are written; in a dry run, the ones that would be.
    pub note_files: u64,
    /// The memories whose texts changed in the other system since, and are replaced; in a dry run,
    /// the ones that would be.
    pub updated: u64,
    /// The links between places that are stored; in a dry run, the ones that would be.
    pub tunnels: u64,
}

/// A memory of a file, as a dry run shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ImportSample {
    /// The beginning of its text, without secrets.
    pub content: String,
    /// Its project.
    pub project: Option<String>,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The time at which it was first stored, if the file says so.
    pub created_at: Option<String>,
}

/// The outcome of an import, or of a dry run of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = ImportSaid)]
pub struct ImportReport {
    /// The counts; `None` if the file cannot be imported at all.
    pub counts: Option<ImportCounts>,
    /// The memory system that it is from; `None` if it is a list or an export of loci.
    pub system: Option<String>,
    /// What is left out, by the reason.
    pub left_out: BTreeMap<String, u64>,
    /// The first memories, in a dry run.
    pub samples: Vec<ImportSample>,
    /// The id by which the import is taken back; `None` if it brought nothing.
    pub batch: Option<String>,
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
    /// Returns the name that people know of a host, by the name that it gives itself; `None` for another
    /// program.
    fn app_title(&self, program: &str) -> Option<&'static str>;

    /// Returns the hosts that are found on this machine.
    fn hosts(&self) -> Vec<HostStatus>;

    /// Returns the settings in effect.
    fn settings(&self) -> Vec<SettingValue>;

    /// Returns the tokens of the store, oldest first.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn tokens(&self) -> Result<Vec<TokenDetails>>;

    /// Removes every token of this subject, and returns their number.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be written.
    fn remove_tokens(&self, subject: &str) -> Result<u64>;

    /// Returns what hooks add to a prompt in sessions of this wing of the caller; `None` if it is
    /// nothing. No session counts as shown it.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn at_prompt(
        &self,
        engine: &Engine,
        caller: &Caller,
        wing: &str,
        prompt: &str,
    ) -> Result<Option<String>>;

    /// Runs a command of loci to its end.
    ///
    /// # Errors
    /// `unavailable` if it cannot be started.
    fn run(&self, task: &Task) -> Result<CommandOutput>;

    /// Makes a file for an upload of about this many bytes, which a browser calls so, and removes the
    /// files of earlier uploads.
    ///
    /// # Errors
    /// `unavailable` if there is no room for it, or it cannot be made.
    fn begin_upload(&self, bytes: u64, file_name: Option<&str>) -> Result<Upload>;

    /// Removes the file of an upload, if it is there.
    ///
    /// # Errors
    /// `invalid_argument` for another name than that of an upload; `unavailable` if it cannot be
    /// removed.
    fn discard_upload(&self, name: &str) -> Result<()>;

    /// Returns the names of the memory systems whose stores and exports an import reads.
    fn import_systems(&self) -> Vec<&'static str>;

    /// Imports an uploaded file, and removes it; a file that is only counted is kept if it can be
    /// imported.
    ///
    /// # Errors
    /// `invalid_argument` for another name than that of an upload; `not_found` if its file was
    /// removed; `unavailable` if the command cannot be started.
    fn import(&self, name: &str, source: &ImportSource, work: ImportWork) -> Result<ImportReport>;

    /// Starts an export of the whole store, and returns its bytes. Reading fails if the export
    /// does, so that nothing that is cut off looks whole.
    ///
    /// # Errors
    /// `unavailable` if the command cannot be started.
    fn export(&self) -> Result<Box<dyn Read + Send>>;

    /// Returns the clients that called tools on this machine, the last one first.
    fn clients(&self) -> Vec<ClientActivity>;

    /// Returns the requests to other machines of the last 30 days, by purpose and host.
    fn sent_requests(&self) -> Vec<SentRequests>;

    /// Returns the version of the tables of the store.
    fn schema_version(&self) -> i64;

    /// Returns the place of the store, as a person would write it, without a password.
    fn place(&self) -> String;

    /// Returns the known backups, the last one first.
    fn backups(&self) -> Vec<BackupFile>;

    /// Returns the bytes that backups which are being made have so far.
    fn backup_draft_bytes(&self) -> u64;

    /// Returns the space that it takes on the disk.
    fn storage(&self) -> Storage;

    /// Returns the command that makes a backup under a new name, as a shell takes it.
    fn backup_command(&self) -> String;

    /// Returns the model of searches, and the languages of some of the stored texts.
    fn search_model(&self) -> SearchModel;

    /// Returns the version of the program.
    fn version(&self) -> &'static str;

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

impl SentRequests {
    /// Returns the number of requests for a purpose to a host, the last one at this time.
    pub fn new(purpose: String, host: String, requests: u64, last_at: Timestamp) -> Self {
        SentRequests {
            purpose,
            host,
            requests,
            last_day: UtcTimestamp(last_at).day(),
        }
    }

    /// Returns the message that says what they are for.
    pub(crate) fn label(&self) -> &'static str {
        match self.purpose.as_str() {
            "embedding" => "sent-embedding",
            "llm" => "sent-llm",
            "web_search" => "sent-web-search",
            "otlp" => "sent-otlp",
            "oidc" => "sent-oidc",
            "oauth" => "sent-oauth",
            "model" => "sent-model",
            _ => "sent-other",
        }
    }
}

impl HostStatus {
    /// Returns true if it is connected for this dialect.
    pub(crate) fn is_of(&self, dialect: &str) -> bool {
        self.dialect.as_deref() == Some(dialect)
    }

    /// Returns true if it has loci as a server of its own, for a dialect that can be chosen.
    pub(crate) fn has_server(&self) -> bool {
        let dialect = self.dialect.as_deref();
        dialect.is_some_and(|dialect| loci_dialects::dialect(dialect).is_some())
    }
}

impl StoragePart {
    /// Returns its size as people read it.
    pub(crate) fn size(&self) -> String {
        shown_bytes(self.bytes)
    }

    /// Returns the message of its name.
    pub(crate) fn label(&self) -> String {
        format!("storage-{}", self.name)
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
