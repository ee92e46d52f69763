//! The routes of the page.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::{Extension, Router};
use http::StatusCode;
use loci_core::{Error, ErrorCode};

use crate::failure::{failure, failure_to};
use crate::form::{API, Form};
use crate::guard::BaseUrl;
use crate::looks::Looks;
use crate::page::Page;
use crate::request::{AuthenticatedRequest, requested_path, session_of};
use crate::{assets, events, guard, looks_form, oauth, sign_in, views};

impl Page {
    /// Returns the routes of the page. A server puts them behind the layer that tells an [`Authenticator`](crate::Authenticator)
    /// where a request came from.
    pub fn router(self: &Arc<Self>) -> Router {
        let oauth = match self.authenticator().oauth() {
            Some(_) => oauth::routes(),
            None => Router::new(),
        };
        Router::new()
            .merge(oauth)
            .merge(views::page_routes())
            .nest(API, views::api_routes().merge(events::routes()))
            .merge(sign_in::routes())
            .merge(looks_form::routes())
            .merge(events::routes())
            .merge(assets::routes())
            .method_not_allowed_fallback(refuse_method)
            .layer(from_fn_with_state(Arc::clone(self), guard::guard))
            .with_state(Arc::clone(self))
    }

    /// Returns the route of every path that nothing is at, for people: a page that says so.
    pub fn router_of_unknown_paths(self: &Arc<Self>) -> Router {
        Router::new()
            .fallback(refuse_path)
            .layer(from_fn_with_state(Arc::clone(self), guard::guard))
            .with_state(Arc::clone(self))
    }
}

/// Answers with an error, and keeps the bar for one whose browser has a session. No session starts
/// here, because anybody can ask for paths that there are not.
async fn refuse(page: &Arc<Page>, form: Form, request: Request, error: &Error) -> Response {
    let path = requested_path(&request);
    let looks = Looks::of(request.headers());
    let (parts, _) = request.into_parts();
    let base_url = parts.extensions.get::<BaseUrl>();
    let session = base_url.and_then(|BaseUrl(url)| session_of(page, &parts.headers, url));
    if session.is_some()
        && let Ok(known) = AuthenticatedRequest::of(page, &parts).await
    {
        let open = page.open_count(&known.visitor.caller);
        return failure_to(&known.visitor, error, form, (path, open));
    }
    failure(error, form, looks)
}

async fn refuse_method(
    State(page): State<Arc<Page>>,
    Extension(form): Extension<Form>,
    request: Request,
) -> Response {
    // Without the method, because a client may have put its token there.
    let message = "this path does not take the method; /api/v1/openapi.json says what it takes";
    let error = Error::new(ErrorCode::InvalidArgument, message);
    let mut refused = refuse(&page, form, request, &error).await;
    *refused.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
    refused
}

async fn refuse_path(
    State(page): State<Arc<Page>>,
    Extension(form): Extension<Form>,
    request: Request,
) -> Response {
    let error = Error::not_found("there is no page at this address");
    refuse(&page, form, request, &error).await
}
