//! The arguments of `loci history` and `loci diff`.

use clap::Args;

#[derive(Args)]
pub struct History {
    /// The id of a memory, a fact or a tunnel, the name of a setting, the path of a file of settings, or
    /// `settings`; without one, the last changes of all are listed
    pub id: Option<String>,
    /// The most versions or changes that are listed
    #[arg(long, value_name = "NUMBER", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub limit: u32,
}

#[derive(Args)]
pub struct Diff {
    /// The id of the memory, the fact or the tunnel, the name of the setting, or the path of its file
    pub id: String,
    /// The version to compare from, by its number in `loci history` [default: the one before the last]
    #[arg(value_name = "VERSION")]
    pub from: Option<u64>,
    /// The version to compare it with [default: what it is now]
    #[arg(value_name = "VERSION")]
    pub to: Option<u64>,
}
