//! Lists and counts of what a caller may read.

pub mod browse;
pub mod counts;
pub mod languages;
pub mod list;
pub mod names;
pub mod status_counts;
