//! The operations of the memory, e.g. remember, recall, update and forget, for any caller and any
//! store.
//!
//! Each operation is one file, in the folder of its subject. Operations are shaped for an ideal
//! client: they do not know about dialects, protocols or SQL. All operations block; the server
//! calls them on dedicated threads.
//!
//! Whoever acts for a person or an agent enters through [`Engine::call`], which hands out the parts
//! with the operations and logs the call (see [`Call`]):
//!
//! ```
//! use std::sync::Arc;
//!
//! use loci_core::{Caller, Scope};
//! use loci_engine::{CallInfo, Effect, Engine, Recall, Remember, SearchMode};
//! use loci_testkit::{FixedClock, HashingEmbedder, NaiveStore};
//!
//! let engine = Engine::new(
//!     Arc::new(NaiveStore::new()),
//!     Arc::new(HashingEmbedder::default()),
//!     Arc::new(FixedClock::default()),
//!     SearchMode::Hybrid,
//! );
//! let scopes = [Scope::Read, Scope::Write];
//! let info = CallInfo::new("example", "note", "memory:write", Effect::Write, &scopes);
//! let found = engine.call(Caller::local(), info, |call| {
//!     call.memories().remember(Remember::new("The kiln fires at 1240 degrees.", "fact"))?;
//!     call.search().recall(&Recall::new("How hot is the kiln?", 5, &|signals| signals.relevance))
//! })?;
//! assert_eq!(found.hits[0].memory.content, "The kiln fires at 1240 degrees.");
//! # Ok::<(), loci_core::Error>(())
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test may panic"))]

mod access;
mod actor;
mod audit;
mod authors;
mod background;
mod budget;
mod call;
mod certainty;
mod changes;
pub mod check;
mod consolidation;
mod context;
mod conversations;
mod engine;
mod graph;
mod held_back;
mod idempotency;
mod imports;
mod leases;
mod listings;
mod locks;
mod memories;
mod memory_files;
mod models;
mod nodes;
mod notes;
mod observed;
mod observer;
mod open_items;
mod orders;
mod person;
mod phases;
mod policy;
mod quantisation;
mod redaction;
mod search;
mod secrets;
mod settings;
mod sources;
mod title;
pub mod tokens;
mod tombstones;
pub mod traces;
mod trail;
mod wakeup;
mod wipe;

pub use audit::Audit;
pub use authors::{
    FactAuthor, IDENTITY, Trust, author_of, notes_heading, owner_name, quoted, shown_name,
    writer_of,
};
pub use background::Background;
pub use background::workers::{START_PAUSE, Workers};
pub use budget::Budgets;
pub use budget::excerpt::Excerpt;
pub use budget::{FittedMemory, ReplyBudget, TextPage};
pub use call::{Call, CallInfo, Effect, Parts, System, WIPE, denial};
pub use certainty::Certainty;
pub use changes::taken_back::{
    ChangedRecord, ChangesMeant, RecordOutcome, StandingMemory, TakenBack, TakenRecord,
};
pub use changes::{Changes, ChangesOfCall};
pub use consolidation::{CONSOLIDATE, Consolidation, ConsolidationReport, StoodBehind};
pub use context::Context;
pub use context::bootstrap::{Bootstrap, BootstrapItem};
pub use context::bundle::BundleRequest;
pub use context::draft::{Bundle, BundleMemory, LeftOut};
pub use context::order::BootstrapPlace;
pub use context::pinned::{DeliveryCounts, PINNED, is_pinned};
pub use context::session_start::{
    START_CHARACTERS, SessionStart, StartOverflow, short_id, start_line,
};
pub use conversations::Conversations;
pub use conversations::answers::CachedAnswer;
pub use conversations::store_messages::{Conversation, Message, Role, StoredMessages};
pub use engine::{Engine, SearchMode};
pub use graph::Graph;
pub use graph::history::{KeptState, record_label};
pub use graph::knowledge_graph::{AddedFact, Facts, NewFact, is_retracted, name_key};
pub use graph::room_graph::{Bridge, GENERAL_SECTION, MapCounts, Room, RoomLink, Step};
pub use graph::tunnels::TunnelConnection;
pub use held_back::{HELD_BACK, HeldBack};
pub use idempotency::Idempotency;
pub use idempotency::{Answer, KeyedRequest};
pub use imports::Imports;
pub use imports::batch::{BatchInfo, ImportBatch, is_note_of_import};
pub use imports::import::{Import, ImportOutcome};
pub use imports::import_records::ImportReport;
pub use imports::stored_vectors::StoredVectors;
pub use imports::undo::UndoReport;
pub use listings::Listings;
pub use listings::browse::{Browse, BrowsePage};
pub use listings::facets::Facets;
pub use listings::list::{List, ListPage};
pub use listings::names::{LocationNouns, ResolvedLocations};
pub use listings::unsearched::UnsearchedMemories;
pub use memories::Memories;
pub use memories::conflict_resolution::ConflictResolution;
pub use memories::discard::Discard;
pub use memories::forget::{DeletionPreview, ForgetReport};
pub use memories::forget_softly::UnforgetReport;
pub use memories::forget_source::SourceDrawers;
pub use memories::forget_where::{ForgetConditions, MarkCounts, MatchSummary};
pub use memories::history::{ChangeNote, MemoryState};
pub use memories::lift::LiftReport;
pub use memories::refile::{Refile, RefileResult};
pub use memories::remember::{Embedding, Remember, RememberResult, SimilarQuery};
pub use memories::remember_keyed::KeyedRemember;
pub use memories::store_once::FilingResult;
pub use memory_files::{FileTree, MemoryFile, MemoryFiles};
pub use models::ModelState;
pub use models::Models;
pub use nodes::{NODE_KIND, NewNode, Node, NodeGraph, NodeTexts, Nodes};
pub use notes::Notes;
pub use notes::append_note::{AppendNote, AppendOutcome, KeyedNote};
pub use notes::{NOTE_KIND, NoteStatus, ReconciliationReport, SetAside};
pub use observer::{EmbeddedTexts, LeaseOutcome, LeasedWork, Observer, Outcome};
pub use open_items::{ItemKind, OpenItems, item_key};
pub use orders::orders_in;
pub use person::PersonData;
pub use phases::{Phase, Phases};
pub use policy::{FusionWeights, HelperLanguage, Policy, RankingWeights};
pub use redaction::Redaction;
pub use redaction::RedactionScope;
pub use search::Search;
pub use search::as_of::PastHit;
pub use search::compare::SimilarMemory;
pub use search::explain::{Cause, ExplainRequest, Explanation, Placement};
pub use search::find_duplicates::{Duplicates, passage_count};
pub use search::fusion::Weights;
pub use search::fusion_input::FusionInput;
pub use search::page::{HitPage, PageRequest};
pub use search::pairs::{Pair, PairRelation, Pairs};
pub use search::prompt_floors;
pub use search::recall::{Hit, Recall, RecallResults};
pub use search::signals::Signals;
pub use search::strength::{
    STRENGTH_MIN, StrengthFeatures, StrengthFunction, StrengthWeights, is_weak, match_grade,
};
pub use secrets::Secrets;
pub use secrets::{HeldSecrets, SecretHolder, StoredSecret};
pub use settings::{Settings, SettingsDraft};
pub use sources::Sources;
pub use sources::file_source::{ReadSource, SOURCE_FILE, SourceCounts, SourceId, SourcePart};
pub use sources::stale::{StaleMemory, Staleness};
pub use sources::sync::{Sync, SyncReport};
pub use title::shown_title;
pub use wakeup::{Wakeup, catch_panic};
