//! Tells a browser when the memories in its space change (server-sent events).

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use futures_util::stream::{self, Stream};
use http::HeaderMap;
use http::StatusCode;
use http::header::AUTHORIZATION;
use loci_admission::{Permit, Subject};
use loci_core::Space;

use crate::admission::{rate_refusal, run_blocking, stranger};
use crate::failure::failure;
use crate::form::Form;
use crate::guard::BaseUrl;
use crate::looks::Looks;
use crate::page::Page;
use crate::request::{authenticate_session, headers_of, session_of};
use crate::views::admit;

/// The time between two looks at the version of a space.
const INTERVAL: Duration = Duration::from_millis(500);

pub(crate) fn routes() -> Router<Arc<Page>> {
    Router::new().route("/events", get(listen))
}

/// The percent of a backup that is made.
const DONE: u64 = 100;

struct Listener {
    page: Arc<Page>,
    space: Space,
    headers: HeaderMap,
    base_url: String,
    version: Option<(u64, u64)>,
    /// True if it may know of backups.
    may_keep: bool,
    backup: Option<u64>,
    subject: Subject,
    _place: Permit,
}

/// Tells of changes in the space: an event `change` for each look, a second apart, that finds a memory
/// changed or a call made. The data is always `memories`; a program reads again what it shows. For those who may
/// make backups, an event `backup` has the percent that is written of one that somebody waits for on the page.
#[utoipa::path(get, path = "/events", operation_id = "events", responses((status = OK, content_type = "text/event-stream", body = String, description = "Server-sent events, until the server ends or the token is not valid any more")))]
pub(crate) async fn listen(
    State(page): State<Arc<Page>>,
    Extension(BaseUrl(base_url)): Extension<BaseUrl>,
    request: Request,
) -> Response {
    let stranger = stranger(request.extensions());
    let session = session_of(&page, request.headers(), &base_url);
    let (admitted, credential) = if let Some(session) = session {
        let admitted = authenticate_session(&page, &session, &base_url, "/events", &stranger).await;
        (admitted, session.credential())
    } else {
        let credential = request.headers().get(AUTHORIZATION).cloned().into();
        let headers = headers_of(&credential);
        let admitted = page
            .authenticator()
            .caller(&headers, &base_url, "/events")
            .await;
        (admitted, credential)
    };
    let caller = match admitted {
        Ok(caller) => caller,
        Err(error) => return failure(&error, Form::Json, Looks::of(request.headers())),
    };
    let headers = headers_of(&credential);
    let subject = Subject::of(&caller, stranger);
    if let Some(refused) = rate_refusal(&page, &subject, Form::Json, Looks::of(request.headers())) {
        return refused;
    }
    let Some(place) = page.listeners().try_acquire(&subject, 1) else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    let listener = Listener {
        page,
        may_keep: admit(&caller).is_ok(),
        backup: None,
        space: caller.space,
        headers,
        base_url,
        version: None,
        subject,
        _place: place,
    };
    Sse::new(changes(listener))
        .keep_alive(KeepAlive::default())
        .into_response()
}

/// Returns an event for each change that a poll notices. Ends when the server shuts down, or the
/// token of the listener is not valid any more.
fn changes(listener: Listener) -> impl Stream<Item = Result<Event, Infallible>> {
    stream::unfold(listener, |mut listener| async move {
        let mut closing = listener.page.closing();
        loop {
            tokio::select! {
                _ = closing.wait_for(|closing| *closing) => return None,
                () = tokio::time::sleep(INTERVAL) => {}
            }
            let (space, may_keep) = (listener.space.clone(), listener.may_keep);
            let read = run_blocking(&listener.page, &listener.subject, move |page| {
                let engine = page.engine();
                let version = (engine.version(&space)?, engine.audit().calls_today(&space)?);
                let backup = page.backup_percent().filter(|_| may_keep);
                Ok((version, backup))
            });
            let read = read.await.ok();
            if let Some((_, backup)) = read
                && backup != listener.backup
            {
                listener.backup = backup;
                let percent = backup.unwrap_or(DONE).to_string();
                let event = Event::default().event("backup").data(percent);
                return Some((Ok(event), listener));
            }
            let known = read.map(|(version, _)| version);
            if known.is_none() || known == listener.version {
                continue;
            }
            let path = "/events";
            let admitted =
                listener
                    .page
                    .authenticator()
                    .caller(&listener.headers, &listener.base_url, path);
            if admitted.await.is_err() {
                return None;
            }
            // The first one stands for what changed since the page was loaded.
            listener.version = known;
            // A browser drops an event without data.
            let event = Event::default().event("change").data("memories");
            return Some((Ok(event), listener));
        }
    })
}
