//! The arguments of `loci consolidate`.

use clap::Args;

#[derive(Args)]
pub struct Consolidate {
    /// Change nothing, and say what would stand behind what
    #[arg(long)]
    pub dry_run: bool,
}
