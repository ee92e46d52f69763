//! The arguments of `loci encrypt` and `loci decrypt`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

#[derive(Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub struct Encrypt {
    /// A file that opens the store; it is made if it is not there
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub key_file: Option<PathBuf>,
    /// A passphrase that opens it: asked for at the terminal, or `LOCI_PASSPHRASE`
    #[arg(long)]
    pub passphrase: bool,
    /// The keyring of the system opens it; the default, if there is one
    #[arg(long)]
    pub keyring: bool,
    /// Take a way to the key away
    #[arg(long, value_name = "WAY")]
    pub remove_way: Vec<RemovableWay>,
    /// Encrypt everything with a new key
    #[arg(long)]
    pub rotate: bool,
    /// Open the store with the recovery key (asked for, or `LOCI_RECOVERY_KEY`), to give it other ways
    #[arg(long, conflicts_with = "rotate")]
    pub recover: bool,
    /// Make another recovery key; the former one opens nothing any more
    #[arg(long)]
    pub new_recovery_key: bool,
    /// Seal the notes, so that loci alone reads them, or put them back into the clear
    #[arg(long, value_name = "HOW")]
    pub notes: Option<NotesForm>,
    /// Remove copies of the database that are in the clear from the data folder
    #[arg(long)]
    pub remove_copies: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RemovableWay {
    KeyFile,
    Passphrase,
    Keyring,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum NotesForm {
    /// Files that loci alone reads
    Sealed,
    /// Markdown files
    Clear,
}
