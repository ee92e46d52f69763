//! The views, each in its file, with the changes that are made from it.

mod activity;
mod admin;
mod as_agent;
mod card;
mod explain;
mod map;
mod memory;
mod openapi;
mod palace;
mod recalls;
mod review;
mod search;
mod selected;
mod timeline;
mod undo;

use std::io::Read;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::routing::{MethodFilter, MethodRouter, get, on, post};
use loci_core::{Caller, Result, Scope};
use serde::de::DeserializeOwned;

pub(crate) use self::card::memory_path;
use crate::change::Change;
use crate::page::Page;
use crate::request::{self, Handler, RequestContext};
use crate::transfer;
use crate::view::View;

/// Returns the route of the description of the JSON interface.
pub(crate) fn description() -> Router<Arc<Page>> {
    Router::new().route("/openapi.json", get(openapi::send))
}

/// Returns the routes of all views and changes. They are the same for HTML and for JSON.
pub(crate) fn routes() -> Router<Arc<Page>> {
    Router::new()
        .route("/", view_route(activity::view))
        .route("/now", view_route(activity::view))
        .route("/search", view_route(search::view))
        .route("/explain", view_route(explain::view))
        .route("/search/agent", view_route(as_agent::view))
        .route("/palace", view_route(palace::view))
        .route("/palace/room", view_route(palace::room))
        .route("/palace/map", view_route(map::view))
        .route("/time", view_route(timeline::view))
        .route("/time/entities", view_route(timeline::entities))
        .route("/time/add", action_route(timeline::add))
        .route("/time/end", action_route(timeline::end))
        .route("/time/correct", action_route(timeline::correct))
        .route("/review", view_route(review::view))
        .route("/review/keep", action_route(review::keep))
        .route("/review/redact", action_route(review::redact))
        .route("/review/trust", action_route(review::trust))
        .route("/review/accept", action_route(review::accept))
        .route("/review/dismiss", action_route(review::dismiss))
        .route("/memory/{id}", view_route(memory::view))
        .route("/memory/{id}/edit", action_route(memory::edit))
        .route("/memory/{id}/pin", action_route(memory::pin))
        .route("/selected/move", action_route(selected::move_to))
        .route("/selected/tag", action_route(selected::tag))
        .route("/selected/share", action_route(selected::share))
        .route("/selected/forget", action_route(selected::forget))
        .route("/selected/unforget", action_route(selected::unforget))
        .route("/selected/delete", action_route(selected::delete))
        .route("/undo", action_route(undo::undo))
        .route("/recalls", view_route(recalls::view))
        .route("/keep", view_route(admin::view))
        .route("/keep/run", command_route(admin::run))
        .route("/keep/import", upload_route(admin::admit, admin::import))
        .route("/keep/import/run", command_route(admin::import_run))
        .route("/keep/import/discard", action_route(admin::import_discard))
        .route("/keep/all-users", action_route(admin::show_all_users))
        .route("/keep/restore", command_route(admin::restore))
        .route(
            "/keep/export",
            download_route(admin::EXPORT_NAME, admin::export),
        )
}

fn view_route<Q, V>(view: fn(&RequestContext<'_>, Q) -> Result<V>) -> MethodRouter<Arc<Page>>
where
    Q: DeserializeOwned + 'static,
    V: View,
{
    route(MethodFilter::GET, Scope::Read, request::handle_view(view))
}

/// A change that is answered with a view.
fn command_route<Q, V>(view: fn(&RequestContext<'_>, Q) -> Result<V>) -> MethodRouter<Arc<Page>>
where
    Q: DeserializeOwned + 'static,
    V: View,
{
    route(MethodFilter::POST, Scope::Read, request::handle_view(view))
}

fn action_route<Q>(change: fn(&RequestContext<'_>, Q) -> Result<Change>) -> MethodRouter<Arc<Page>>
where
    Q: DeserializeOwned + 'static,
{
    route(
        MethodFilter::POST,
        Scope::Write,
        request::handle_action(change),
    )
}

fn route(methods: MethodFilter, scope: Scope, handler: Handler) -> MethodRouter<Arc<Page>> {
    on(
        methods,
        move |State(page): State<Arc<Page>>, request: Request| {
            request::respond(page, request, scope, handler)
        },
    )
}

/// A file that a person sends, answered with a view.
fn upload_route<V: View>(
    admit: fn(&Caller) -> Result<()>,
    view: fn(&RequestContext<'_>, String) -> Result<V>,
) -> MethodRouter<Arc<Page>> {
    post(move |State(page): State<Arc<Page>>, request: Request| {
        transfer::receive_upload(page, request, admit, view)
    })
}

/// A file that a person takes.
fn download_route(
    name: &'static str,
    open: fn(&RequestContext<'_>) -> Result<Box<dyn Read + Send>>,
) -> MethodRouter<Arc<Page>> {
    get(move |State(page): State<Arc<Page>>, request: Request| {
        transfer::send_download(page, request, name, open)
    })
}
