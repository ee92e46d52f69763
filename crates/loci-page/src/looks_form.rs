//! The form in which a person chooses the looks of the page.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::post;
use axum::{Extension, Router};
use loci_core::{Error, ErrorCode};

use crate::admission::{rate_refusal, read_body_of_stranger, stranger};
use crate::change::own_path;
use crate::failure::failure;
use crate::form::Form;
use crate::guard::{BaseUrl, is_from_here};
use crate::looks::{Looks, LooksChoice};
use crate::page::Page;
use crate::request::{see_other, with_cookie};

/// Returns the route on which looks are chosen.
pub(crate) fn routes() -> Router<Arc<Page>> {
    Router::new().route("/looks", post(choose))
}

async fn choose(
    State(page): State<Arc<Page>>,
    Extension(BaseUrl(base_url)): Extension<BaseUrl>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let looks = Looks::of(&parts.headers);
    if let Some(refused) = rate_refusal(&page, &stranger(&parts.extensions), Form::Html, looks) {
        return refused;
    }
    if !is_from_here(&parts.headers, &base_url) {
        let message = "choose the looks on the page of this server";
        let error = Error::new(ErrorCode::Forbidden, message);
        return failure(&error, Form::Html, looks);
    }
    let body = match read_body_of_stranger(body).await {
        Ok(body) => body,
        Err(error) => return failure(&error, Form::Html, looks),
    };
    let choice: LooksChoice = serde_html_form::from_bytes(&body).unwrap_or_default();
    let cookie = looks.with(&choice).cookie(&base_url);
    with_cookie(see_other(own_path(&choice.next, "/")), cookie)
}
