//! The arguments of `loci undo` and `loci consolidate`.

use clap::Args;

#[derive(Args)]
pub struct Undo {
    /// An import, as `loci import` printed it, or a change, as `loci history` names it
    #[arg(value_name = "ID")]
    pub batch: Option<String>,
    /// List the imports that can be taken back, the last one first
    #[arg(long, conflicts_with_all = ["batch", "session", "client", "by", "token", "since", "dry_run", "yes"])]
    pub list: bool,
    /// Take back what was changed in this session of a program
    #[arg(long, value_name = "SESSION", conflicts_with = "batch")]
    pub session: Option<String>,
    /// Take back what this program changed
    #[arg(long, value_name = "PROGRAM", conflicts_with = "batch")]
    pub client: Option<String>,
    /// Take back what this user changed; `local` is the person at this machine
    #[arg(long, value_name = "USER", conflicts_with = "batch")]
    pub by: Option<String>,
    /// Take back what was changed with the token of this id
    #[arg(long, value_name = "ID", conflicts_with = "batch")]
    pub token: Option<String>,
    /// Only changes since then: 2026-01-31, 2026-01-31T12:00:00Z, or a time ago such as 2h
    #[arg(long, value_name = "TIME", conflicts_with = "batch")]
    pub since: Option<String>,
    /// Change nothing, and say what would be removed, restored or kept
    #[arg(long)]
    pub dry_run: bool,
    /// Take it back without asking
    #[arg(long)]
    pub yes: bool,
}

#[derive(Args)]
pub struct Consolidate {
    /// Change nothing, and say what would stand behind what
    #[arg(long)]
    pub dry_run: bool,
}
