//! Tests with generated texts: secrets that must be found, and texts that must stay.

mod evaluation;
mod forms;

mod generator;
mod keys;
mod properties;
