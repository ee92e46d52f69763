//! The arguments of `loci backup` and `loci restore`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

#[derive(Args)]
pub struct Backup {
    /// The file, which must not be there yet
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
}

#[derive(Args)]
pub struct Restore {
    /// A file that `loci backup` wrote; or with a version the id of a memory, a fact or a tunnel, the name
    /// of a setting, or the path of a file of settings
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// The version to bring back, by its number in `loci history`
    #[arg(value_name = "VERSION", conflicts_with = "replace")]
    pub version: Option<u64>,
    /// Put it in the place of what is there, which moves into the folder of backups
    #[arg(long)]
    pub replace: bool,
}
