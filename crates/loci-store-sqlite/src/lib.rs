//! The SQLite store: one file that any number of threads and processes read and write at once.
//!
//! The database is the truth. One thread owns the connection that writes and puts the batches that
//! wait into one commit, hence one flush of the disk; a commit of nothing but what can be made
//! again from elsewhere, such as the index of notes, costs none. A small pool of connections reads.
//! For search a process keeps an index in memory, which it loads at the first search and then keeps
//! current by following the `change` table.
//!
//! Never here: what a memory means, which dialect asks, how results are ranked.
//!
//! ```
//! use loci_core::{Batch, Change, Expect, Memory, MemoryId, Space, Store, Timestamp};
//! use loci_store_sqlite::{Options, SqliteStore};
//!
//! let folder = tempfile::tempdir()?;
//! let store = SqliteStore::open(folder.path(), Options::default())?;
//! let memory = Memory::new(
//!     Space::default(),
//!     MemoryId::new("tea-1"),
//!     "Tea is at four.",
//!     "fact",
//!     Timestamp::from_microseconds(0),
//! );
//! store.commit(Batch {
//!     space: memory.space.clone(),
//!     changes: vec![Change::Put {
//!         memory: Box::new(memory.clone()),
//!         passages: None,
//!         expect: Expect::Absent,
//!     }],
//! })?;
//! assert_eq!(store.get(&memory.space, &memory.id)?, Some(memory));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test may panic"))]

mod answers;
mod archive;
mod audit;
mod backup;
mod cache;
mod checksum;
mod codec;
mod connection;
mod counts;
mod decisions;
mod doctor;
mod facts;
mod failure;
mod files;
mod filter_sql;
mod folder;
mod holders;
mod identity;
mod import_record;
mod jobs;
mod keyed_answers;
mod load;
mod mounts;
mod note_files;
mod open;
mod opened;
#[cfg(test)]
mod plans;
mod presence;
mod read;
mod read_only;
mod reanalysis;
mod remove;
mod repair;
mod row;
mod salvage;
mod schema;
mod segment;
mod settings;
mod source_files;
mod store;
mod store_files;
mod tables;
mod tokens;
mod tunnels;
mod write;
mod writer;

pub use open::{OpenError, Options};
pub use salvage::{rebuild, salvage};
pub use segment::INDEX_FOLDER;
pub use store::SqliteStore;
pub use store_files::SqliteFiles;
