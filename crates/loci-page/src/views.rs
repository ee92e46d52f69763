//! The views, each in its file, with the changes that are made from it.

mod admin;
mod as_agent;
mod calls;
mod errands;
mod explain;
mod history;
mod home;
mod insights;
mod map;
mod memories;
mod memory;
mod memory_tool;
mod next_session;
mod openapi;
mod palace;
mod people;
mod preview;
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
use serde::Serialize;
use serde::de::DeserializeOwned;

pub(crate) use self::admin::admit;
use crate::change::{Answer, Change};
use crate::form::API;
use crate::moved;
use crate::page::Page;
use crate::request::{self, Handler, RequestContext};
use crate::transfer::{self, Received};
use crate::view::View;

/// Returns the routes of the page for people.
pub(crate) fn page_routes() -> Router<Arc<Page>> {
    routes("")
        .route("/", view_route(home::view))
        .route("/history", view_route(history::view))
}

/// Returns the routes of the JSON interface.
pub(crate) fn api_routes() -> Router<Arc<Page>> {
    routes(API)
        .merge(interface())
        .route("/home", view_route(home::view))
}

/// Returns the routes that only the JSON interface has: its description, lists, errands.
fn interface() -> Router<Arc<Page>> {
    Router::new()
        .route("/", get(openapi::show))
        .route("/openapi.json", get(openapi::send))
        .route(
            "/memories",
            data_route(MethodFilter::GET, Scope::Read, memories::list).merge(data_route(
                MethodFilter::POST,
                Scope::Write,
                memories::store,
            )),
        )
        .route(
            "/memory-tool",
            data_route(MethodFilter::POST, Scope::Write, memory_tool::run),
        )
        .route(
            "/calls",
            data_route(MethodFilter::GET, Scope::Read, calls::list),
        )
        .route(
            "/entities",
            data_route(MethodFilter::GET, Scope::Read, timeline::list_entities),
        )
        .route(
            "/facts/list",
            data_route(MethodFilter::GET, Scope::Read, timeline::list_facts),
        )
        .route(
            "/search/hits",
            data_route(MethodFilter::GET, Scope::Read, search::hits::list),
        )
        .route(
            "/decisions",
            data_route(MethodFilter::GET, Scope::Read, review::list),
        )
        .route(
            "/people/{name}",
            data_route(MethodFilter::DELETE, Scope::Read, people::delete),
        )
        .route(
            "/backups",
            data_route(MethodFilter::GET, Scope::Read, errands::backups).merge(data_route(
                MethodFilter::POST,
                Scope::Read,
                errands::back_up,
            )),
        )
        .route("/hosts/{host}/connect", errand_route(errands::connect))
        .route(
            "/hosts/{host}/disconnect",
            errand_route(errands::disconnect),
        )
        .route("/hosts/{host}/check", errand_route(errands::check))
        .route("/tokens", errand_route(errands::make_token))
        .route("/tokens/{id}/revoke", errand_route(errands::revoke_token))
}

/// Returns the routes of the views and changes that are the same for HTML and for JSON, with the
/// routes that lead from former paths.
fn routes(prefix: &'static str) -> Router<Arc<Page>> {
    moved::routes(prefix)
        .route("/search", view_route(search::view))
        .route("/search/results", view_route(search::results::view))
        .route("/search/save", action_route(search::saved::save))
        .route("/search/unsave", action_route(search::saved::remove))
        .route("/facets", view_route(search::facets::view))
        .route("/explain", view_route(explain::view))
        .route("/search/agent", view_route(as_agent::view))
        .route("/browse", view_route(palace::view))
        .route("/browse/room", view_route(palace::room))
        .route("/browse/overview", view_route(map::view))
        .route("/browse/preview", view_route(preview::view))
        .route("/facts", view_route(timeline::view))
        .route("/facts/entities", view_route(timeline::entities))
        .route("/facts/add", action_route(timeline::add))
        .route("/facts/end", action_route(timeline::end))
        .route("/facts/correct", action_route(timeline::correct))
        .route("/home-backup", action_route(home::back_up))
        .route("/review", view_route(review::view))
        .route("/review/keep", action_route(review::keep))
        .route("/review/redact", action_route(review::redact))
        .route("/review/trust", action_route(review::trust))
        .route("/review/accept", action_route(review::accept))
        .route("/review/dismiss", action_route(review::dismiss))
        .route("/memory/{id}", view_route(memory::view))
        .route("/memory/{id}/edit", asking_route(memory::edit))
        .route("/memory/{id}/restore", action_route(memory::restore))
        .route("/memory/{id}/pin", action_route(memory::pin))
        .route("/memory/{id}/reveal", look_route(memory::reveal))
        .route("/selected/move", action_route(selected::move_to))
        .route("/selected/tag", action_route(selected::tag))
        .route("/selected/share", action_route(selected::share))
        .route("/selected/forget", action_route(selected::forget))
        .route("/selected/unforget", action_route(selected::unforget))
        .route("/selected/delete", action_route(selected::delete))
        .route(
            "/selected/export",
            file_route(selected::EXPORT_NAME, selected::export),
        )
        .route("/undo", action_route(undo::undo))
        .route("/next-session", view_route(next_session::view))
        .route(
            "/next-session/move",
            action_route(next_session::move_memory),
        )
        .route("/next-session/unpin", action_route(next_session::unpin))
        .route("/next-session/add", action_route(next_session::add))
        .route("/people", view_route(people::view))
        .route("/people/remove", command_route(people::remove))
        .route("/activity", view_route(recalls::view))
        .route("/activity/add", action_route(memories::add_missing))
        .route("/insights", view_route(insights::view))
        .merge(settings_routes())
}

/// Returns the routes of the view *Settings*, with its errands and files.
fn settings_routes() -> Router<Arc<Page>> {
    Router::new()
        .route("/settings", view_route(admin::shown))
        .route("/settings/data", view_route(admin::data))
        .route("/settings/access", view_route(admin::access))
        .route("/settings/model", view_route(admin::model))
        .route("/settings/all", view_route(admin::all_settings))
        .route("/settings/about", view_route(admin::about))
        .route("/settings/run", command_route(admin::run))
        .route(
            "/settings/import",
            upload_route(admin::admit, admin::import),
        )
        .route("/settings/import/run", command_route(admin::import_run))
        .route("/settings/import/undo", command_route(admin::import_undo))
        .route(
            "/settings/import/discard",
            action_route(admin::import_discard),
        )
        .route("/settings/all-users", action_route(admin::show_all_users))
        .route("/settings/restore", command_route(admin::restore))
        .route(
            "/settings/export",
            download_route(admin::EXPORT_NAME, admin::export),
        )
}

fn view_route<Q, V>(view: fn(&RequestContext<'_>, Q) -> Result<V>) -> MethodRouter<Arc<Page>>
where
    Q: DeserializeOwned + 'static,
    V: View,
{
    route(
        MethodFilter::GET,
        Scope::Read,
        request::handle_view(view, review::count),
    )
}

/// A change that is answered with a view.
fn command_route<Q, V>(view: fn(&RequestContext<'_>, Q) -> Result<V>) -> MethodRouter<Arc<Page>>
where
    Q: DeserializeOwned + 'static,
    V: View,
{
    route(
        MethodFilter::POST,
        Scope::Read,
        request::handle_view(view, review::count),
    )
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

/// A change that is answered with a view if a person has to be asked once more.
fn asking_route<Q, V>(
    change: fn(&RequestContext<'_>, Q) -> Result<Answer<V>>,
) -> MethodRouter<Arc<Page>>
where
    Q: DeserializeOwned + 'static,
    V: View,
{
    let handler = request::handle_asking_action(change, review::count);
    route(MethodFilter::POST, Scope::Write, handler)
}

/// A change of nothing but the audit log, which a reader may make.
fn look_route<Q>(change: fn(&RequestContext<'_>, Q) -> Result<Change>) -> MethodRouter<Arc<Page>>
where
    Q: DeserializeOwned + 'static,
{
    let handler = request::handle_action(change);
    route(MethodFilter::POST, Scope::Read, handler)
}

/// A file that is made of what a person selected.
fn file_route<Q>(
    name: &'static str,
    file: fn(&RequestContext<'_>, Q) -> Result<Vec<u8>>,
) -> MethodRouter<Arc<Page>>
where
    Q: DeserializeOwned + 'static,
{
    let handler = request::handle_file(name, file);
    route(MethodFilter::POST, Scope::Read, handler)
}

/// An answer for programs that no view shows.
fn data_route<Q, T>(
    method: MethodFilter,
    scope: Scope,
    answer: fn(&RequestContext<'_>, Q) -> Result<T>,
) -> MethodRouter<Arc<Page>>
where
    Q: DeserializeOwned + 'static,
    T: Serialize + 'static,
{
    route(method, scope, request::handle_data(answer))
}

/// An errand of the installation, for whom [`admin::admit`] admits.
fn errand_route<Q, T>(answer: fn(&RequestContext<'_>, Q) -> Result<T>) -> MethodRouter<Arc<Page>>
where
    Q: DeserializeOwned + 'static,
    T: Serialize + 'static,
{
    data_route(MethodFilter::POST, Scope::Read, answer)
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
    view: fn(&RequestContext<'_>, Received) -> Result<V>,
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
