//! The arguments of `loci space`.

use clap::Subcommand;

#[derive(Subcommand)]
pub enum SpaceCommand {
    /// Print the server that has a space, and whether it shares its part of the tables
    Show {
        /// The space, e.g. `main`
        #[arg(value_name = "SPACE")]
        space: String,
    },
    /// Give a space a part of the tables to itself, so that it can be moved without others
    ///
    /// Agents go on reading. Writes to the former part wait until it is copied, and are refused
    /// after ten seconds.
    Isolate {
        /// The space, e.g. `main`
        #[arg(value_name = "SPACE")]
        space: String,
    },
    /// Move a space to another server of the cluster
    ///
    /// The spaces that share its part of the tables move along, unless it was isolated before.
    /// Agents go on reading and writing, and wait for a moment at the end.
    Move {
        /// The space, e.g. `main`
        #[arg(value_name = "SPACE")]
        space: String,
        /// The server, as `loci space show` names them
        #[arg(value_name = "HOST:PORT")]
        worker: String,
        /// Let writes wait until it is copied, as `isolate` does; for servers without `wal_level =
        /// logical`
        #[arg(long)]
        block_writes: bool,
    },
}
