//! The arguments of `loci review`.

use clap::{Args, Subcommand};

use super::numbers;

#[derive(Subcommand)]
pub enum Review {
    /// List items that wait for your decision, the most pressing first
    ///
    /// Secrets in texts, texts that give agents orders, memories that came in files, contradictions,
    /// memories whose files are gone or changed, duplicates, and directives of authors whom you do not
    /// trust. It looks at what changed since the background of `loci mcp` and `loci serve` did, for at
    /// most ten seconds. Texts that give orders are not put before an agent by hooks and session starts while they
    /// wait.
    List(ReviewList),
    /// Accept items by their keys
    ///
    /// A text that gives orders may be put before agents, agents follow a memory that came in a file, the
    /// author of a directive is trusted, and of two memories the one of --keep replaces the other.
    Accept {
        /// The keys, as `list` prints them
        #[arg(value_name = "KEY", required = true)]
        keys: Vec<String>,
        /// Of two memories that contradict each other, or are the same: the id of the one that holds
        #[arg(long, value_name = "ID")]
        keep: Option<String>,
    },
    /// Dismiss items by their keys: they are not listed any more
    ///
    /// Nothing else changes, but for a text that gives orders: it may be put before agents then.
    Dismiss {
        /// The keys, as `list` prints them
        #[arg(value_name = "KEY", required = true)]
        keys: Vec<String>,
        /// List them again
        #[arg(long)]
        undo: bool,
    },
}

#[derive(Args)]
pub struct ReviewList {
    /// Only this kind: secret, order, arrived, contradiction, stale, duplicate or directive
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,
    /// The most items
    #[arg(long, value_name = "NUMBER", default_value_t = 50, value_parser = numbers::count, allow_negative_numbers = true)]
    pub limit: u32,
    /// The number of items to skip
    #[arg(long, value_name = "NUMBER", default_value_t = 0, value_parser = numbers::offset, allow_negative_numbers = true)]
    pub offset: u32,
}
