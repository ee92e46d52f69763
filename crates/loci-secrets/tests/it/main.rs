//! Secrets that are found and texts that are left, as a generator makes them.

mod evaluation;
mod generator;
mod properties;
