//! What remembering, recalling, updating and forgetting mean, for any caller and any store.
//!
//! One operation is one file under `ops`. Operations are shaped for an ideal client: they know
//! nothing of the dialects that ask, of protocols or of SQL. Everything blocks; the server calls
//! from threads made for that.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test may panic"))]

pub mod check;
mod engine;
mod ops;
pub mod tokens;

pub use engine::{Engine, SearchMode};
pub use ops::bootstrap::Bootstrap;
pub use ops::list::List;
pub use ops::maintain::Maintained;
pub use ops::recall::{Hit, Recall, Recalled, Signals};
pub use ops::remember::{Embedding, Remember, Remembered, Similar, SimilarQuery};
