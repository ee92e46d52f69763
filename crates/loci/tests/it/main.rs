//! The built `loci`, as a user runs it: arguments in, exit code and output out.

#![allow(clippy::unwrap_used, reason = "a test that fails may panic")]

mod absence;
mod acknowledged;
mod all_users;
mod archive;
mod audit;
mod backup;
mod client_grants;
mod commands;
#[cfg(unix)]
mod connect;
mod consolidating;
mod doctor;
mod encrypted;
#[cfg(target_os = "linux")]
mod encrypted_files;
mod faults;
mod figures;
mod forgetting;
#[cfg(target_os = "linux")]
mod full_disk;
mod history;
mod host_memories;
mod import;
mod models;
mod page_import;
#[cfg(unix)]
mod palace;
mod peer_promises;
mod peers;
mod postgres;
mod program;
mod prompts;
#[cfg(target_os = "linux")]
mod read_only;
mod reference;
mod remains;
mod replay;
mod reranking;
mod review;
mod scratch;
mod sealed_notes;
mod secrets;
mod servers;
mod settings;
mod settings_history;
#[cfg(unix)]
mod terminal;
mod zipped;

/// The program that the tests start.
const PROGRAM: &str = env!("CARGO_BIN_EXE_loci");
