//! Search by words and by meaning, and comparisons of texts.

pub mod compare;
pub mod find_duplicates;
pub mod fusion_input;
pub mod page;
pub mod ready;
pub mod recall;
pub mod recall_within;
pub mod repeats;
pub mod search_web;
