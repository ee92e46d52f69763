//! `loci-bench server`: measures the PostgreSQL store beside SQLite's and beside a floor, the bare
//! statements on the same server, in one run.
//!
//! Machines differ and share their time with others, so read the ratios: what is compared is
//! measured in turn, a few calls of one kind before the other kind.

pub mod cluster;
mod floor;
mod places;
mod report;
mod searches;
mod writes;

use loci::exit::Failure;
use loci::output::{Output, status_line};

use self::places::Places;
use self::report::Comparison;

/// The memories of the spaces that are searched, beside the largest.
const SMALLER: [usize; 2] = [200, 10_000];

pub fn run(memories: usize, output: Output) -> Result<(), Failure> {
    if cfg!(debug_assertions) {
        status_line("note: this is a build for debugging; its times mean nothing");
    }
    let places = Places::new()?;
    let mut comparisons: Vec<Comparison> = Vec::new();
    status_line("writing …");
    comparisons.extend(writes::measure(&places)?);
    status_line("writing by one handle, searching by another …");
    comparisons.push(searches::of_what_another_wrote(&places)?);
    for size in SMALLER.into_iter().filter(|size| *size < memories) {
        comparisons.extend(searches::measure(&places, size)?);
    }
    comparisons.extend(searches::measure(&places, memories)?);
    report::print(&comparisons, output)
}
