//! The SQLite store: one file that any number of threads and processes read and write at once.
//!
//! The database is the truth. One thread owns the connection that writes and puts the batches that
//! wait into one commit, hence one flush of the disk; a commit of nothing but what can be made
//! again from elsewhere, e.g. the index of notes, costs none. A small pool of connections reads.
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
//! let put = Change::Put {
//!     memory: Box::new(memory.clone()),
//!     passages: None,
//!     expect: Expect::Absent,
//! };
//! store.commit(Batch::new(memory.space.clone(), vec![put]))?;
//! assert_eq!(store.get(&memory.space, &memory.id)?, Some(memory));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test may panic"))]

mod connection;
mod failure;
mod index;
mod integrity;
mod key;
mod maintenance;
mod opening;
#[cfg(test)]
mod plans;
mod recrypt;
mod statements;
mod store;
mod store_files;
mod tables;
mod writer;

pub use index::segment::INDEX_FOLDER;
pub use integrity::rebuild::rebuild;
pub use integrity::salvage::salvage;
pub use loci_keys::Keys;
pub use opening::open::Options;
pub use opening::open_error::OpenError;
pub use opening::schema::VERSION as SCHEMA_VERSION;
pub use recrypt::recrypt;
pub use store::SqliteStore;
pub use store_files::SqliteFiles;
