//! The nouns of loci and the seams between its parts.
//!
//! Everything here is plain data or a small trait. A dialect translates its words into these
//! nouns, the engine gives them meaning, and a store keeps them. The crate has no dependency:
//! no serialisation, no SQL, no clock, no protocol, so that none of these can leak into the
//! shape of a memory.

mod embedder;
mod error;
mod filter;
mod id;
pub mod limits;
mod memory;
mod passage;
mod principal;
mod search;
mod store;
mod time;
mod token;

pub use embedder::{Embedder, ModelId};
pub use error::{Error, ErrorCode, Result};
pub use filter::{CollectionFilter, Filter, Page, Superseded};
pub use id::{MemoryId, Space};
pub use memory::{Delivery, Memory, Place, Visibility};
pub use passage::{Passage, Term, Vector};
pub use principal::{Caller, Principal, Reader, Scope, Scopes};
pub use search::{Candidate, CandidateQuery, Candidates, QueryVector};
pub use store::{Batch, Change, Expect, Store, StoreSize, Tally};
pub use time::{Clock, Timestamp};
pub use token::{Token, TokenHash, TokenStore};
