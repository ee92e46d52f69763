//! A store on a PostgreSQL server, for teams whose agents run on several machines.
//!
//! One transaction at a time writes in a space, under the lock of the row of the space; batches that
//! wait for it share a transaction. Searches use an index of the space in the memory of this
//! process, which one look at a change log keeps current. The store needs no extension, no stored
//! procedure and no state of a session, so that it works behind a pooler; every statement on a
//! caller's path concerns one space (`docs/adr/0048-a-store-on-a-server.md`), so that Citus may
//! distribute the tables (`docs/adr/0117-a-store-on-citus.md`).
//!
//! ```no_run
//! use loci_core::{Space, Store};
//! use loci_store_postgres::{Options, PostgresStore};
//!
//! let store = PostgresStore::open(Options::new("postgres://loci@localhost/loci"))?;
//! assert_eq!(store.version(&Space::parse("space", "new")?)?, 0);
//! # Ok::<(), loci_core::Error>(())
//! ```

mod archive;
mod audit;
mod batch;
mod cache_entries;
mod check;
mod citus;
mod cluster_checks;
mod counts;
mod daily;
mod decisions;
mod definitions;
mod distribution;
mod facts;
mod failure;
mod figures;
mod filter;
mod group;
mod hosts;
mod in_order;
mod indexes;
mod jobs;
mod maintenance;
mod memories;
mod migration_lock;
mod migrations;
mod notes;
mod open_items;
mod options;
mod pending;
mod placement;
mod pool;
mod pooler;
mod random;
mod read;
mod record_versions;
mod removal;
mod repair;
mod replies;
mod row;
mod row_security;
mod rules;
mod schema;
mod scope;
mod server;
mod server_checks;
mod session;
mod settings;
mod shared_state;
mod source_files;
mod store;
mod tls;
mod tokens;
mod tombstones;
mod transaction;
mod tunnels;
mod value;
mod vectors;
mod versions;
mod workers;
mod writability;
mod write;

pub use migrations::VERSION as SCHEMA_VERSION;
pub use options::{Observer, Options, without_password};
pub use store::PostgresStore;
