//! The web page of loci, on which people see what their agents know and set it right, and the same
//! operations as JSON under `/api/v1`.
//!
//! [`Page::router`] has a route for each view and each change. A view is a type that is shown as
//! HTML or as JSON; a change calls an operation of the engine, records it in the audit log, and can
//! be undone. The page knows no transport: an [`Authenticator`] tells who sends a
//! request, and an [`Installation`] has what is kept outside of the store.
//!
//! HTML works without scripts; the scripts in `assets` add to it.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test may panic"))]

mod admission;
mod assets;
mod authenticator;
mod card;
mod change;
mod charts;
mod conversation;
mod cookies;
mod encoding;
mod events;
mod excerpt;
mod explanation;
mod failure;
mod form;
mod guard;
mod icons;
mod installation;
pub mod line_diff;
mod looks;
mod looks_form;
mod markdown;
mod metrics;
mod moved;
mod oauth;
mod page;
mod paging;
mod parameters;
mod plots;
mod projects;
mod request;
mod request_user;
mod router;
mod session;
mod sign_in;
mod size;
mod text;
mod transfer;
mod treemap;
mod utc_timestamp;
mod view;
#[allow(
    unused_qualifications,
    reason = "the description of the JSON interface is generated with them"
)]
mod views;
mod words;

pub use authenticator::Authenticator;
pub use conversation::conversation_page;
pub use explanation::{ExplanationQuery, MemoryExplanation};
pub use installation::{
    BackupFile, ClientActivity, CommandOutput, HostStatus, ImportCounts, ImportReport,
    ImportSample, ImportSource, ImportWork, Installation, RestoreReport, SearchModel, SentRequests,
    SettingValue, Storage, StoragePart, StoredLanguage, Task, TokenDetails, Upload,
};
pub use metrics::Metrics;
pub use oauth::{ClientDocuments, OAuth};
pub use page::Page;
pub use utc_timestamp::UtcTimestamp;
