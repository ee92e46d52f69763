//! `loci notices`: the licences of loci and of what its binary contains.

use crate::exit::Failure;
use crate::output::print;

/// The notices of loci, its model and its vocabulary.
const OWN: &str = include_str!("../../../../NOTICE");
/// The notices of the crates, from `cargo xtask notices`.
const OF_OTHERS: &str = include_str!("../../../../THIRD-PARTY-NOTICES.txt");

pub fn run() -> Result<(), Failure> {
    Ok(print(format_args!("{OWN}\n{OF_OTHERS}"))?)
}
