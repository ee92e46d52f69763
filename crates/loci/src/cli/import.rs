//! The arguments of `loci import`.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueHint};
use loci_hosts::HOST_MEMORIES;
use loci_peers::Peer;

#[derive(Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub struct Import {
    /// The file, a zip archive of one file or of an export, the store of another memory system, or the
    /// folder of a host; `-` reads stdin
    #[arg(value_hint = ValueHint::AnyPath, required_unless_present = "detect")]
    pub file: Option<PathBuf>,
    /// The memory system whose store or export it is, or the host whose own memory it is; told by its
    /// content or place if it is left out
    #[arg(long, value_name = "KIND", value_parser = kinds())]
    pub from: Option<String>,
    /// The time zone of times that name none, e.g. Europe/Berlin; the one of this machine if it is left
    /// out
    #[arg(long, value_name = "ZONE")]
    pub zone: Option<String>,
    /// Only list the stores of other memory systems, and the own memory of hosts, on this machine
    #[arg(long, conflicts_with = "file")]
    pub detect: bool,
    /// Store again what was forgotten or wiped here, too
    #[arg(long)]
    pub again: bool,
    /// Let agents follow its memories for session starts at once; otherwise these wait until you accept
    /// them by `loci trust`
    #[arg(long)]
    pub follow: bool,
    /// Leave the embedding to the process that serves next
    #[arg(long)]
    pub no_wait: bool,
    /// Store nothing, and count what would be stored, is there already or is refused
    #[arg(long)]
    pub dry_run: bool,
}

/// The names of the memory systems and of the hosts.
fn kinds() -> PossibleValuesParser {
    let hosts = HOST_MEMORIES.iter().map(|memory| memory.name);
    PossibleValuesParser::new(Peer::ALL.map(Peer::name).into_iter().chain(hosts))
}
