//! Shares of what a server has only once: threads, memory for requests, places of listeners.
//!
//! The sender of a request is a [`Subject`]. A [`Pool`] hands out permits, and gives one subject only
//! a part, so that the others find room however many requests that one sends.
//! [`collect`] reads the body of a request within a share of memory and a deadline.
//! [`run_blocking`] runs what blocks, and holds a permit until it ends.
//! [`subject_to_evict`] says whose entry makes room in a full table.
//!
//! ```
//! use loci_admission::{Pool, Subject};
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let (greedy, other) = (Subject::network(None), Subject::User(Default::default(), "bob".into()));
//! let pool = Pool::new(4, 3);
//! let held: Vec<_> = std::iter::from_fn(|| pool.try_acquire(&greedy, 1)).collect();
//! assert_eq!(held.len(), 3);
//! assert!(pool.acquire(&other, 1).await.is_some());
//! # });
//! ```

mod blocking;
mod body;
mod eviction;
mod pool;
mod subject;

pub use blocking::run_blocking;
pub use body::{BodyError, BodyLimit, CollectedBody, collect};
pub use eviction::subject_to_evict;
pub use pool::{Permit, Pool, usual_share};
pub use subject::Subject;
