//! The commands, one file each.

pub mod add;
pub mod audit;
pub mod backup;
pub mod bench;
pub mod bootstrap;
pub mod completions;
pub mod config;
pub mod doctor;
pub mod export;
pub mod forget;
pub mod hook;
pub mod import;
pub mod list;
pub mod man;
pub mod mcp;
pub mod notices;
pub mod palace;
pub mod reference;
pub mod reindex;
pub mod restore;
pub mod search;
pub mod serve;
pub mod show;
pub mod stats;
pub mod token;
pub mod vault;
