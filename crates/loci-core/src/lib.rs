//! The core data types and traits of loci.
//!
//! Everything here is plain data or a small trait. A dialect translates its requests into these
//! types, the engine implements their meaning, and a store keeps them. The crate has no dependency:
//! no serialization, no SQL, no clock and no protocol, so that no such detail leaks into the data
//! model.
//!
//! ```
//! use loci_core::{Memory, MemoryId, Space, Timestamp};
//!
//! let memory = Memory::new(
//!     Space::default(),
//!     MemoryId::new("tea-1"),
//!     "Tea is at four.",
//!     "fact",
//!     Timestamp::from_microseconds(0),
//! );
//! assert!(memory.is_live(Timestamp::from_microseconds(1)));
//! ```

mod archive;
mod audit;
mod cache;
pub mod characters;
mod check;
mod citation;
mod daily;
mod decision;
mod embedder;
mod enricher;
mod error;
mod facet_counts;
mod fact;
pub mod file_system;
mod filter;
mod id;
mod idempotency;
mod identity;
mod job;
pub mod limits;
mod maintenance;
mod memory;
mod names;
mod note;
mod open_item;
mod passage;
mod placement;
mod principal;
mod provenance;
mod record_version;
mod redactor;
mod reranker;
mod search;
mod server_figures;
mod setting;
mod source_file;
mod store;
mod store_files;
mod store_layer;
mod sweep_clock;
mod time;
mod token;
mod tokens;
mod tombstone;
mod unit_vector;
mod version;
mod web;

pub use archive::{ArchiveStore, Archived, Record};
pub use audit::{
    AuditEntry, AuditFailure, AuditQuery, AuditRecord, AuditStore, COMMAND_LINE, RecordVerb,
};
pub use cache::{CacheEntry, CacheStore};
pub use check::{check_name, check_text, check_texts};
pub use citation::{Citation, CitationKind};
pub use daily::{DailyCount, DailyQuery, HOOKS, TIME_BUCKETS, bucket_end, day_of, start_of_day};
pub use decision::{Decision, DecisionStore};
pub use embedder::{CosineScale, Embedder, FormerModels, ModelId};
pub use enricher::{Enricher, Enrichment, MEMORY_KINDS};
pub use error::{Error, ErrorCode, Result, StoreFault};
pub use facet_counts::FacetCounts;
pub use fact::{
    Direction, Entity, EntityQuery, Fact, FactCounts, FactPlace, FactQuery, FactStore, Name,
    Period, Tunnel, TunnelEnd, TunnelStore,
};
pub use filter::{CollectionFilter, Filter, Forgotten, OwnerFilter, Page, Superseded};
pub use id::{MemoryId, Space};
pub use idempotency::{IdempotencyStore, IdempotentReply};
pub use identity::{
    Identity, SCOPE_PREFIX, SignInAttempt, SignInGrant, SignInProvider, TokenVerifier,
};
pub use job::{FailedJob, Job, JobCounts, JobOutcome, JobStore, check_lease, lease_end_max};
pub use maintenance::{
    CheckOutcome, Maintenance, OpenStore, Problem, ProblemKind, ReindexCounts, Repair, RepairStep,
    ServerCheck, Snapshot, on_no_cluster,
};
pub use memory::{
    ANONYMOUS, Access, Delivery, EnrichmentStatus, Link, Location, Memory, Relation, SPEAKER,
    STANDS_BEHIND, SUMMARY_OF, Thread, Tier, UNREVIEWED, Visibility,
};
pub use note::{
    ContentHash, CreateOutcome, FRONTMATTER, FileProblem, FileProblemKind, FileSnapshot, FileStamp,
    FolderScan, NOTE_STANDING, Note, NoteContent, NoteFile, NoteFolder, NoteLock, NoteState,
    NoteStore,
};
pub use open_item::{Examined, ExaminedUntil, OpenItem, OpenItemStore, ToExamine};
pub use passage::{Passage, Term, Vector};
pub use placement::{Placement, Transfer};
pub use principal::{
    Caller, LOCAL, Ownership, Principal, Reader, Scope, Scopes, is_pseudonym, is_reserved_subject,
    pseudonym,
};
pub use provenance::{Provenance, SaidBy};
pub use record_version::{RecordKind, RecordState, RecordVersion, SettingState};
pub use redactor::{RedactedText, Redactions, Redactor, RemovedSecret};
pub use reranker::Reranker;
pub use search::{
    Candidate, CandidateQuery, Candidates, Hubness, MARKS_MAX, NEIGHBOUR_DISTANCE_MAX, Nearest,
    QueryVector, ThreadPosition, ThreadScore,
};
pub use server_figures::{
    ConnectionFigures, ReplicationFigures, ServerFigures, SpaceClass, SpaceIndexFigures,
};
pub use setting::SettingStore;
pub use source_file::{
    HOST_MEMORY, LINES, SOURCE_FILE, SOURCE_MACHINE, SOURCE_PATH, SourceFile, SourceState,
    SourceStore, SourceTree,
};
pub use store::{
    AccessIncrement, Batch, Change, Condition, Expect, FilingOrder, IndexLoads, LocationCount,
    Partition, SoftDeleted, SortKey, Sorting, StatusCount, Store, StoreSize, Sweep, WipeCounts,
    Work, nearest_by_parts,
};
pub use store_files::{
    FilesLock, Holder, InspectionReport, OpenError, OpenFault, RebuildReport, SalvageReport,
    StoreFiles, VisitRecord,
};
pub use store_layer::StoreLayer;
pub use sweep_clock::{ClockJump, SweepClock};
pub use time::{Clock, Timestamp};
pub use token::{ClientGrant, CodeBinding, Token, TokenHash, TokenStore};
pub use tokens::TokenCounter;
pub use tombstone::{KeyedHash, Salt, Tombstone, TombstoneStore};
pub use unit_vector::unit_vector;
pub use version::{ChangeMark, ChangeQuery, Properties, Version, VersionStore};
pub use web::{WebPage, WebSearch};
