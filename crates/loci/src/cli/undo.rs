//! The arguments of `loci undo`.

use clap::Args;

#[derive(Args)]
pub struct Undo {
    /// The id of the import, as `loci import` printed it
    #[arg(value_name = "BATCH", required_unless_present = "list")]
    pub batch: Option<String>,
    /// List the imports that can be taken back, the last one first
    #[arg(long, conflicts_with_all = ["batch", "dry_run", "yes"])]
    pub list: bool,
    /// Change nothing, and count what would be removed, restored or kept
    #[arg(long)]
    pub dry_run: bool,
    /// Take it back without asking
    #[arg(long)]
    pub yes: bool,
}
