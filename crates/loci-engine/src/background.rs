//! Work in the background: embedding, enrichment and maintenance.

pub mod enrich;
pub mod maintain;
pub mod sweep_clock;
