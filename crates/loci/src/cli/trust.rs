//! The arguments of `loci trust`.

use clap::Args;

#[derive(Args)]
pub struct Trust {
    /// The authors: subjects of tokens, or `anonymous` for callers without a token
    #[arg(value_name = "NAME")]
    pub authors: Vec<String>,
    /// Trust them no longer
    #[arg(long, requires = "authors")]
    pub remove: bool,
    /// List the memories that came in files, and that agents do not follow before you accept them
    #[arg(long)]
    pub waiting: bool,
    /// Accept these memories: agents follow them from now on
    #[arg(long, value_name = "ID")]
    pub accept: Vec<String>,
    /// Accept all memories that wait
    #[arg(long)]
    pub accept_all: bool,
    /// Who reads
    #[arg(long, value_name = "NAME", default_value = loci_core::LOCAL)]
    pub reader: String,
    /// The space of the reader
    #[arg(long, value_name = "NAME", default_value = "main")]
    pub space: String,
}
