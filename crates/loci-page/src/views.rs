//! The views, each in its file, with the changes that are made from it.

mod as_agent;
mod card;
mod keep;
mod map;
mod memory;
mod now;
mod openapi;
mod palace;
mod recalls;
mod review;
mod search;
mod selected;
mod time;
mod undo;

use std::io::Read;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::routing::{MethodFilter, MethodRouter, get, on, post};
use loci_core::{Caller, Result, Scope};
use serde::de::DeserializeOwned;

use crate::change::Change;
use crate::page::Page;
use crate::request::{self, Answer, Asked};
use crate::transfer;
use crate::view::View;

/// Returns the route of the description of the JSON interface.
pub(crate) fn description() -> Router<Arc<Page>> {
    Router::new().route("/openapi.json", get(openapi::send))
}

/// Returns the routes of all views and changes. They are the same for HTML and for JSON.
pub(crate) fn routes() -> Router<Arc<Page>> {
    Router::new()
        .route("/", show(now::view))
        .route("/now", show(now::view))
        .route("/search", show(search::view))
        .route("/search/agent", show(as_agent::view))
        .route("/palace", show(palace::view))
        .route("/palace/room", show(palace::room))
        .route("/palace/map", show(map::view))
        .route("/time", show(time::view))
        .route("/time/entities", show(time::entities))
        .route("/time/add", act(time::add))
        .route("/time/end", act(time::end))
        .route("/time/correct", act(time::correct))
        .route("/review", show(review::view))
        .route("/review/keep", act(review::keep))
        .route("/review/redact", act(review::redact))
        .route("/review/trust", act(review::trust))
        .route("/review/dismiss", act(review::dismiss))
        .route("/memory/{id}", show(memory::view))
        .route("/memory/{id}/edit", act(memory::edit))
        .route("/memory/{id}/pin", act(memory::pin))
        .route("/selected/move", act(selected::move_to))
        .route("/selected/tag", act(selected::tag))
        .route("/selected/share", act(selected::share))
        .route("/selected/forget", act(selected::forget))
        .route("/selected/unforget", act(selected::unforget))
        .route("/selected/delete", act(selected::delete))
        .route("/undo", act(undo::undo))
        .route("/recalls", show(recalls::view))
        .route("/keep", show(keep::view))
        .route("/keep/run", run(keep::run))
        .route("/keep/import", take(keep::admit, keep::import))
        .route("/keep/import/run", run(keep::import_run))
        .route("/keep/import/discard", act(keep::import_discard))
        .route("/keep/restore", run(keep::restore))
        .route("/keep/export", give(keep::EXPORT_NAME, keep::export))
}

fn show<Q, V>(view: fn(&Asked<'_>, Q) -> Result<V>) -> MethodRouter<Arc<Page>>
where
    Q: DeserializeOwned + 'static,
    V: View,
{
    answered(MethodFilter::GET, Scope::Read, request::show(view))
}

/// A change that is answered with a view.
fn run<Q, V>(view: fn(&Asked<'_>, Q) -> Result<V>) -> MethodRouter<Arc<Page>>
where
    Q: DeserializeOwned + 'static,
    V: View,
{
    answered(MethodFilter::POST, Scope::Read, request::show(view))
}

fn act<Q>(change: fn(&Asked<'_>, Q) -> Result<Change>) -> MethodRouter<Arc<Page>>
where
    Q: DeserializeOwned + 'static,
{
    answered(MethodFilter::POST, Scope::Write, request::act(change))
}

fn answered(methods: MethodFilter, scope: Scope, answer: Answer) -> MethodRouter<Arc<Page>> {
    on(
        methods,
        move |State(page): State<Arc<Page>>, request: Request| {
            request::respond(page, request, scope, answer)
        },
    )
}

/// A file that a person sends, answered with a view.
fn take<V: View>(
    admit: fn(&Caller) -> Result<()>,
    view: fn(&Asked<'_>, String) -> Result<V>,
) -> MethodRouter<Arc<Page>> {
    post(move |State(page): State<Arc<Page>>, request: Request| {
        transfer::take(page, request, admit, view)
    })
}

/// A file that a person takes.
fn give(
    name: &'static str,
    open: fn(&Asked<'_>) -> Result<Box<dyn Read + Send>>,
) -> MethodRouter<Arc<Page>> {
    get(move |State(page): State<Arc<Page>>, request: Request| {
        transfer::give(page, request, name, open)
    })
}
