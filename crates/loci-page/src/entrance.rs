//! Signing in and out.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Request, State};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use http::header::{AUTHORIZATION, SET_COOKIE};
use http::{HeaderMap, HeaderValue, StatusCode};
use loci_core::{Error, ErrorCode, Result};
use serde::Deserialize;
use serde_json::json;

use crate::change::own_path;
use crate::form::Form;
use crate::guard::{BaseUrl, is_from_here};
use crate::page::Page;
use crate::request::{
    cookie, cookie_secret, failure, language_of, read, see_other, session_of, with_cookie,
};
use crate::view::Ui;

/// Returns the routes on which sessions begin and end.
pub(crate) fn routes() -> Router<Arc<Page>> {
    Router::new()
        .route("/enter", get(enter))
        .route("/sign-in", get(form).post(sign_in))
        .route("/sign-out", post(sign_out))
        .route("/api/v1/codes", post(make_code))
}

#[derive(Deserialize)]
struct Entrance {
    #[serde(default)]
    code: String,
    #[serde(default)]
    token: String,
    #[serde(default)]
    next: String,
}

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignIn<'a> {
    ui: &'a Ui,
    next: &'a str,
    problem: Option<&'a str>,
}

fn sign_in_page(headers: &HeaderMap, next: &str, problem: Option<&str>) -> Response {
    let ui = Ui::of_stranger(language_of(headers));
    let page = SignIn {
        ui: &ui,
        next: own_path(next, "/"),
        problem,
    };
    let status = if problem.is_some() {
        StatusCode::UNAUTHORIZED
    } else {
        StatusCode::OK
    };
    match page.render() {
        Ok(html) => (status, Html(html)).into_response(),
        Err(error) => failure(
            &Error::internal(error.to_string()),
            Form::Html,
            language_of(headers),
        ),
    }
}

fn query_of(request: &Request) -> Entrance {
    let query = request.uri().query().unwrap_or_default();
    serde_html_form::from_str(query).unwrap_or(Entrance {
        code: String::new(),
        token: String::new(),
        next: String::new(),
    })
}

/// Begins a session with a code.
async fn enter(
    State(page): State<Arc<Page>>,
    Extension(BaseUrl(base_url)): Extension<BaseUrl>,
    request: Request,
) -> Response {
    let entrance = query_of(&request);
    let begun = page.sessions().redeem(&entrance.code);
    let begun =
        begun.and_then(|secret| secret.map(|secret| cookie(&base_url, &secret)).transpose());
    match begun {
        Ok(None) => {
            let ui = Ui::of_stranger(language_of(request.headers()));
            let problem = ui.t("sign-in-code-used");
            sign_in_page(request.headers(), &entrance.next, Some(&problem))
        }
        Ok(Some(cookie)) => with_cookie(see_other(own_path(&entrance.next, "/")), Some(cookie)),
        Err(error) => failure(&error, Form::Html, language_of(request.headers())),
    }
}

fn begin(page: &Page, base_url: &str, credential: Option<HeaderValue>) -> Result<HeaderValue> {
    let (secret, _) = page.sessions().begin(credential)?;
    cookie(base_url, &secret)
}

async fn form(request: Request) -> Response {
    sign_in_page(request.headers(), &query_of(&request).next, None)
}

/// Begins a session with a token that a person typed.
async fn sign_in(
    State(page): State<Arc<Page>>,
    Extension(BaseUrl(base_url)): Extension<BaseUrl>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let headers = parts.headers;
    let language = language_of(&headers);
    // Otherwise a page of another origin could sign a visitor in as another user.
    if !is_from_here(&headers, &base_url) {
        let message = "sign in from the page of this server";
        return failure(
            &Error::new(ErrorCode::Forbidden, message),
            Form::Html,
            language,
        );
    }
    let body = match read(body).await {
        Ok(body) => body,
        Err(error) => return failure(&error, Form::Html, language),
    };
    let entrance: Entrance = match serde_html_form::from_bytes(&body) {
        Ok(entrance) => entrance,
        Err(error) => {
            let error = Error::invalid("token", error.to_string());
            return failure(&error, Form::Html, language);
        }
    };
    let problem = match try_token(&page, &base_url, entrance.token.trim()).await {
        Ok(cookie) => return with_cookie(see_other(own_path(&entrance.next, "/")), Some(cookie)),
        Err(error) => error.message,
    };
    sign_in_page(&headers, &entrance.next, Some(&problem))
}

async fn try_token(page: &Page, base_url: &str, token: &str) -> Result<HeaderValue> {
    let invalid = |_| Error::invalid("token", "has characters that no token has");
    let mut credential = HeaderValue::try_from(format!("Bearer {token}")).map_err(invalid)?;
    credential.set_sensitive(true);
    let mut headers = HeaderMap::new();
    headers.insert(AUTHORIZATION, credential.clone());
    page.gate().caller(&headers, base_url, "/").await?;
    begin(page, base_url, Some(credential))
}

/// Ends the session of a browser.
async fn sign_out(
    State(page): State<Arc<Page>>,
    Extension(BaseUrl(base_url)): Extension<BaseUrl>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let sent = read(body).await.unwrap_or_default();
    let pairs: Vec<(String, String)> = serde_html_form::from_bytes(&sent).unwrap_or_default();
    let csrf = pairs.iter().find(|(name, _)| name == "csrf");
    let is_own = session_of(&page, &parts.headers, &base_url)
        .zip(csrf)
        .is_some_and(|(session, (_, csrf))| session.is_csrf(csrf));
    if !is_own || !is_from_here(&parts.headers, &base_url) {
        return see_other("/");
    }
    if let Some(secret) = cookie_secret(&parts.headers, &base_url) {
        page.sessions().end(&secret);
    }
    let mut response = see_other("/sign-in");
    if let Ok(cookie) = cookie(&base_url, "; Max-Age=0") {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    response
}

/// Makes a code for the bearer of a token, with which a browser begins a session: `loci page` does
/// so.
async fn make_code(
    State(page): State<Arc<Page>>,
    Extension(BaseUrl(base_url)): Extension<BaseUrl>,
    headers: HeaderMap,
) -> Response {
    let made = async {
        // A browser sends no such header by itself, so no page of another origin can ask.
        let credential = headers.get(AUTHORIZATION).cloned();
        if credential.is_none() && !page.gate().is_open() {
            return Err(Error::new(
                ErrorCode::Unauthorized,
                "send a token as `Authorization: Bearer TOKEN`",
            ));
        }
        page.gate()
            .caller(&headers, &base_url, "/api/v1/codes")
            .await?;
        page.entrance_path(credential)
    };
    match made.await {
        Ok(path) => Json(json!({ "path": path })).into_response(),
        Err(error) => failure(&error, Form::Json, language_of(&headers)),
    }
}
