//! The operations of the memory, such as remember, recall, update and forget, for any caller and
//! any store.
//!
//! Each operation is one file under `ops`. Operations are shaped for an ideal client: they do not
//! know about dialects, protocols or SQL. All of them block; the server calls them on dedicated
//! threads.
//!
//! ```
//! use std::sync::Arc;
//!
//! use loci_core::Caller;
//! use loci_engine::{Engine, Recall, Remember, SearchMode};
//! use loci_testkit::{FixedClock, HashingEmbedder, NaiveStore};
//!
//! let engine = Engine::new(
//!     Arc::new(NaiveStore::new()),
//!     Arc::new(HashingEmbedder::default()),
//!     Arc::new(FixedClock::default()),
//!     SearchMode::Hybrid,
//! );
//! let caller = Caller::local();
//! engine.remember(&caller, Remember::new("The kiln fires at 1240 degrees.", "fact"))?;
//! let found = engine.recall(
//!     &caller,
//!     &Recall::new("How hot is the kiln?", 5, &|signals| signals.relevance),
//! )?;
//! assert_eq!(found.hits[0].memory.content, "The kiln fires at 1240 degrees.");
//! # Ok::<(), loci_core::Error>(())
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test may panic"))]

mod audit;
mod authors;
mod background;
mod budget;
pub mod check;
mod contradiction;
mod engine;
mod enrichment;
mod excerpt;
mod models;
mod notes;
mod ops;
mod phases;
mod policy;
mod redaction;
pub mod sentences;
mod sweep_clock;
mod title;
pub mod tokens;

pub use authors::{Trust, author_of, notes_heading, owner_name, quoted, shown_name, writer_of};
pub use background::{Wakeup, catch_panic};
pub use budget::{ReplyBudget, Shown, TextPage};
pub use engine::{Engine, SearchMode};
pub use enrichment::kind_of;
pub use excerpt::Excerpt;
pub use loci_search::fusion::Weights;
pub use models::ModelState;
pub use notes::{NOTE_KIND, NoteStatus, Reconciled};
pub use ops::answers::CachedAnswer;
pub use ops::append_note::{AppendNote, Appended, KeyedNote};
pub use ops::bootstrap::Bootstrap;
pub use ops::browse::{Browse, Browsed};
pub use ops::bundle::{Bundle, BundleRequest, Bundled, LeftOut};
pub use ops::compare::Similar;
pub use ops::discard::Discard;
pub use ops::file::Filed;
pub use ops::file_source::{ReadSource, SOURCE_FILE, SourceFiled, SourceId, SourcePart};
pub use ops::find_duplicates::{Duplicates, passage_count};
pub use ops::fusion_input::FusionInput;
pub use ops::idempotency::{Answer, KeyedRequest};
pub use ops::import::{Import, Imported};
pub use ops::import_records::ImportReport;
pub use ops::knowledge_graph::{AddedFact, Facts, NewFact, name_key};
pub use ops::list::{List, Listed};
pub use ops::names::{Named, PlaceNouns};
pub use ops::page::{HitPage, PageRequest};
pub use ops::recall::{Hit, Recall, Recalled, Signals};
pub use ops::refile::{Refile, Refiled};
pub use ops::remember::{Embedding, Remember, Remembered, SimilarQuery};
pub use ops::room_graph::{Bridge, GENERAL_SECTION, MapCounts, Room, Step, Via};
pub use ops::secrets::{SecretHolder, StoredSecret};
pub use ops::session_start::{START_CHARACTERS, SessionStart, StartOverflow, short_id, start_line};
pub use ops::store_messages::{Conversation, Message, Role, StoredMessages};
pub use ops::sync::{Sync, Synced};
pub use ops::tunnels::Followed;
pub use phases::{Phase, Phases};
pub use policy::{FusionWeights, Policy, RankingWeights};
pub use redaction::RedactionScope;
pub use title::shown_title;
