//! The web page of loci, on which people see what their agents know and set it right, and the same
//! operations as JSON under `/api/v1`.
//!
//! [`Page::router`] has a route for each view and each change. A view is a type that is shown as
//! HTML or as JSON; a change calls an operation of the engine, records it in the audit log, and can
//! be undone. The page knows no transport: a [`Gate`] tells who sends a request, and a [`Keeper`]
//! what the installation keeps outside of the store.
//!
//! HTML works without scripts; the scripts in `assets` add to it.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test may panic"))]

mod assets;
mod change;
mod encoding;
mod entrance;
mod events;
mod form;
mod gate;
mod guard;
mod keeper;
mod markdown;
mod metrics;
mod moment;
mod page;
mod parameters;
mod request;
mod router;
mod session;
mod size;
mod text;
mod transfer;
mod view;
#[allow(
    unused_qualifications,
    reason = "the description of the JSON interface is generated with them"
)]
mod views;
mod visitor;

pub use gate::Gate;
pub use keeper::{
    BackupKept, ClientSeen, HostFound, ImportCounts, ImportSaid, ImportWork, Keeper, Restored,
    Said, SettingShown, Task, TokenShown, Upload,
};
pub use metrics::Metrics;
pub use moment::Moment;
pub use page::Page;
