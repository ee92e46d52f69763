//! Signing in and out.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Request, State};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use http::header::{AUTHORIZATION, SET_COOKIE};
use http::{HeaderMap, HeaderValue, StatusCode, Uri};
use loci_admission::Subject;
use loci_core::{Error, ErrorCode, Result, SignInAttempt};
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde_json::json;

use crate::admission::{ask_provider, rate_refusal, read_body_of_stranger, stranger};
use crate::change::own_path;
use crate::cookies::{cookie_value, secure_attribute};
use crate::encoding::encoded;
use crate::failure::failure;
use crate::form::Form;
use crate::guard::{BaseUrl, FETCH_SITE, is_from_here};
use crate::looks::Looks;
use crate::page::Page;
use crate::request::{
    cookie, cookie_name, cookie_secret, credential_of, headers_of, see_other, session_of,
    with_cookie,
};
use crate::session::{Credential, is_same, new_secret};
use crate::text::{Language, Value};
use crate::view::Ui;

/// The path that leads to the provider.
const PROVIDER_PATH: &str = "/sign-in/provider";
/// The path to which the provider sends people back.
const RETURN_PATH: &str = "/signed-in";
/// The seconds that a person has for signing in at the provider.
const ATTEMPT_SECONDS: u64 = 600;

/// Returns the routes on which sessions start and end.
pub(crate) fn routes() -> Router<Arc<Page>> {
    Router::new()
        .route("/enter", get(open_code).post(sign_in_with_code))
        .route("/sign-in", get(sign_in_form).post(sign_in))
        .route(PROVIDER_PATH, get(sign_in_at_provider))
        .route(RETURN_PATH, get(signed_in))
        .route("/sign-out", post(sign_out))
        .route("/api/v1/codes", post(make_code))
}

#[derive(Deserialize)]
struct SignInForm {
    #[serde(default)]
    code: String,
    #[serde(default)]
    token: String,
    #[serde(default)]
    next: String,
}

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage<'a> {
    ui: &'a Ui,
    next: &'a str,
    problem: Option<&'a str>,
    provider: Option<&'a Provider>,
}

/// The provider in the page on which people sign in.
struct Provider {
    /// The host of the issuer.
    name: String,
    /// The path that leads there, and then to where the person wanted to go.
    path: String,
}

#[derive(Template)]
#[template(path = "signed_in.html")]
struct SignedInPage<'a> {
    ui: &'a Ui,
    next: &'a str,
}

#[derive(Template)]
#[template(path = "reload.html")]
struct ReloadPage<'a> {
    ui: &'a Ui,
    next: &'a str,
}

#[derive(Template)]
#[template(path = "continue.html")]
struct ContinuePage<'a> {
    ui: &'a Ui,
    /// Whose session it will be; `None` for callers without a name.
    name: Option<&'a str>,
    code: &'a str,
    next: &'a str,
}

fn sign_in_page(page: &Page, headers: &HeaderMap, next: &str, problem: Option<&str>) -> Response {
    let ui = Ui::of_stranger(Looks::of(headers));
    let next = own_path(next, "/");
    let provider = page.authenticator().provider().map(|provider| Provider {
        name: host_of(provider.issuer()),
        path: format!("{PROVIDER_PATH}?next={}", encoded(next)),
    });
    let page = SignInPage {
        ui: &ui,
        next,
        problem,
        provider: provider.as_ref(),
    };
    let status = if problem.is_some() {
        StatusCode::UNAUTHORIZED
    } else {
        StatusCode::OK
    };
    rendered(status, &page, Looks::of(headers))
}

fn rendered(status: StatusCode, page: &impl Template, looks: Looks) -> Response {
    match page.render() {
        Ok(html) => (status, Html(html)).into_response(),
        Err(error) => failure(&Error::internal(error.to_string()), Form::Html, looks),
    }
}

/// Returns the host of a URL, with its port.
fn host_of(url: &str) -> String {
    let host = url
        .parse()
        .ok()
        .and_then(|uri: Uri| uri.into_parts().authority);
    host.map_or_else(|| url.to_owned(), |host| host.to_string())
}

fn query_of(request: &Request) -> SignInForm {
    let query = request.uri().query().unwrap_or_default();
    serde_html_form::from_str(query).unwrap_or(SignInForm {
        code: String::new(),
        token: String::new(),
        next: String::new(),
    })
}

/// Opens the link of a code: starts its session, or asks first.
///
/// A page of another site can lead a browser here with a code of its own, so that its visitor would
/// go on as another user. So a session starts at once only if the person came from nowhere, as from
/// a terminal or a bookmark, or from this server; and no session that exists is replaced. Otherwise
/// a form asks, which is sent from here.
async fn open_code(
    State(page): State<Arc<Page>>,
    Extension(BaseUrl(base_url)): Extension<BaseUrl>,
    request: Request,
) -> Response {
    let sign_in = query_of(&request);
    let headers = request.headers();
    let looks = Looks::of(headers);
    let stranger = stranger(request.extensions());
    if let Some(refused) = rate_refusal(&page, &stranger, Form::Html, looks) {
        return refused;
    }
    let session = session_of(&page, headers, &base_url);
    let site = headers.get(FETCH_SITE).map(HeaderValue::as_bytes);
    if session.is_none() && matches!(site, Some(b"none" | b"same-origin")) {
        return redeem_code(&page, &base_url, headers, &sign_in);
    }
    let Some(credential) = page.sessions().credential_of_code(&sign_in.code) else {
        return used_code(&page, headers, &sign_in.next);
    };
    // Who is signed in so already goes on, and keeps the session.
    if session.is_some_and(|session| session.credential() == credential) {
        return see_other(own_path(&sign_in.next, "/"));
    }
    let code_headers = headers_of(&credential);
    let caller = page.authenticator().caller(&code_headers, &base_url, "/");
    match caller.await {
        Ok(caller) => {
            let ui = Ui::of_stranger(looks);
            let page = ContinuePage {
                name: caller.principal.subject.as_deref(),
                code: &sign_in.code,
                next: own_path(&sign_in.next, "/"),
                ui: &ui,
            };
            rendered(StatusCode::OK, &page, looks)
        }
        Err(error) => failure(&error, Form::Html, looks),
    }
}

/// Starts the session of a code that a person chose to go on with.
async fn sign_in_with_code(
    State(page): State<Arc<Page>>,
    Extension(BaseUrl(base_url)): Extension<BaseUrl>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let looks = Looks::of(&parts.headers);
    let refuse = |error: &Error| failure(error, Form::Html, looks);
    if let Some(refused) = rate_refusal(&page, &stranger(&parts.extensions), Form::Html, looks) {
        return refused;
    }
    if !is_from_here(&parts.headers, &base_url) {
        return refuse(&not_from_here());
    }
    let body = match read_body_of_stranger(body).await {
        Ok(body) => body,
        Err(error) => return refuse(&error),
    };
    match serde_html_form::from_bytes(&body) {
        Ok(sign_in) => redeem_code(&page, &base_url, &parts.headers, &sign_in),
        Err(error) => refuse(&Error::invalid("code", error.to_string())),
    }
}

/// Starts the session of a code.
fn redeem_code(page: &Page, base_url: &str, headers: &HeaderMap, sign_in: &SignInForm) -> Response {
    let secret = page.sessions().redeem(&sign_in.code);
    let cookie =
        secret.and_then(|secret| secret.map(|secret| cookie(base_url, &secret)).transpose());
    match cookie {
        Ok(None) => used_code(page, headers, &sign_in.next),
        Ok(Some(cookie)) => with_cookie(see_other(own_path(&sign_in.next, "/")), Some(cookie)),
        Err(error) => failure(&error, Form::Html, Looks::of(headers)),
    }
}

/// Answers a code that is good no more.
fn used_code(page: &Page, headers: &HeaderMap, next: &str) -> Response {
    let problem = Ui::of_stranger(Looks::of(headers)).t("sign-in-code-used");
    sign_in_page(page, headers, next, Some(&problem))
}

fn not_from_here() -> Error {
    Error::new(ErrorCode::Forbidden, "sign in from the page of this server")
}

async fn sign_in_form(State(page): State<Arc<Page>>, request: Request) -> Response {
    sign_in_page(&page, request.headers(), &query_of(&request).next, None)
}

/// Starts a session with a token that a person typed.
async fn sign_in(
    State(page): State<Arc<Page>>,
    Extension(BaseUrl(base_url)): Extension<BaseUrl>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let stranger = stranger(&parts.extensions);
    let headers = parts.headers;
    let looks = Looks::of(&headers);
    if let Some(refused) = rate_refusal(&page, &stranger, Form::Html, looks) {
        return refused;
    }
    // Otherwise a page of another origin could sign a visitor in as another user.
    if !is_from_here(&headers, &base_url) {
        return failure(&not_from_here(), Form::Html, looks);
    }
    let body = match read_body_of_stranger(body).await {
        Ok(body) => body,
        Err(error) => return failure(&error, Form::Html, looks),
    };
    let sign_in: SignInForm = match serde_html_form::from_bytes(&body) {
        Ok(sign_in) => sign_in,
        Err(error) => {
            let error = Error::invalid("token", error.to_string());
            return failure(&error, Form::Html, looks);
        }
    };
    let problem = match try_token(&page, &base_url, stranger, sign_in.token.trim()).await {
        Ok(cookie) => return with_cookie(see_other(own_path(&sign_in.next, "/")), Some(cookie)),
        Err(error) if error.code == ErrorCode::Unauthorized => {
            Ui::of_stranger(looks).t("sign-in-token-wrong")
        }
        Err(error) => error.message,
    };
    sign_in_page(&page, &headers, &sign_in.next, Some(&problem))
}

async fn try_token(
    page: &Page,
    base_url: &str,
    stranger: Subject,
    token: &str,
) -> Result<HeaderValue> {
    let credential = Credential::bearer(token);
    let invalid = || Error::invalid("token", "has characters that no token has");
    start_session(page, base_url, stranger, credential.ok_or_else(invalid)?).await
}

/// Starts a session if a token is valid, and returns its cookie.
async fn start_session(
    page: &Page,
    base_url: &str,
    stranger: Subject,
    credential: Credential,
) -> Result<HeaderValue> {
    let headers = headers_of(&credential);
    let caller = page.authenticator().caller(&headers, base_url, "/").await?;
    let subject = Subject::of(&caller, stranger);
    let (secret, _) = page.sessions().begin(subject, credential)?;
    cookie(base_url, &secret)
}

/// Returns the cookie that holds an attempt to sign in at the provider. It comes back with the
/// browser that the provider sends, which a cookie with `SameSite=Strict` does not.
fn attempt_cookie(base_url: &str, value: &str, seconds: u64) -> Result<HeaderValue> {
    let name = attempt_cookie_name(base_url);
    let secure = secure_attribute(base_url);
    HeaderValue::try_from(format!(
        "{name}={value}; HttpOnly; SameSite=Lax; Path={RETURN_PATH}; Max-Age={seconds}{secure}"
    ))
    .map_err(|error| {
        Error::internal("the cookie of the attempt to sign in cannot be written").caused_by(error)
    })
}

fn attempt_cookie_name(base_url: &str) -> String {
    format!("{}-sign-in", cookie_name(base_url))
}

fn attempt(base_url: &str, state: &str, verifier: &str) -> SignInAttempt {
    SignInAttempt {
        redirect_url: format!("{base_url}{RETURN_PATH}"),
        resource: base_url.to_owned(),
        state: state.to_owned(),
        verifier: verifier.to_owned(),
    }
}

/// Sends a person to the provider. The attempt is kept only by the browser, so that strangers
/// cannot evict it.
async fn sign_in_at_provider(
    State(page): State<Arc<Page>>,
    Extension(BaseUrl(base_url)): Extension<BaseUrl>,
    request: Request,
) -> Response {
    let next = query_of(&request).next;
    let stranger = stranger(request.extensions());
    if let Some(refused) = rate_refusal(&page, &stranger, Form::Html, Looks::of(request.headers()))
    {
        return refused;
    }
    let begun = async {
        let provider = page.authenticator().provider().ok_or_else(no_provider)?;
        let (state, verifier) = (new_secret()?, new_secret()?);
        let value = format!("{state}:{verifier}:{}", encoded(own_path(&next, "/")));
        let cookie = attempt_cookie(&base_url, &value, ATTEMPT_SECONDS)?;
        let attempt = attempt(&base_url, &state, &verifier);
        let url = ask_provider(&page, &stranger, move || {
            provider.authorization_url(&attempt)
        })
        .await?;
        Ok::<_, Error>((url, cookie))
    };
    match begun.await {
        Ok((url, cookie)) => with_cookie(see_other(&url), Some(cookie)),
        Err(error) => sign_in_page(&page, request.headers(), &next, Some(&error.message)),
    }
}

fn no_provider() -> Error {
    Error::not_found("this server has no provider to sign in at; see the setting `oidc.client_id`")
}

/// The reply of the provider, which the browser brings.
#[derive(Default, Deserialize)]
struct ProviderReply {
    code: Option<String>,
    state: Option<String>,
    error: Option<String>,
    iss: Option<String>,
}

/// Starts the session of a person who comes back from the provider.
async fn signed_in(
    State(page): State<Arc<Page>>,
    Extension(BaseUrl(base_url)): Extension<BaseUrl>,
    request: Request,
) -> Response {
    let headers = request.headers();
    let looks = Looks::of(headers);
    let kept = cookie_value(headers, &attempt_cookie_name(&base_url)).unwrap_or_default();
    let (secrets, next) = kept.rsplit_once(':').unwrap_or_default();
    let next = percent_decode_str(next).decode_utf8_lossy().into_owned();
    let query = request.uri().query().unwrap_or_default();
    let reply: ProviderReply = serde_html_form::from_str(query).unwrap_or_default();
    let ended = attempt_cookie(&base_url, "", 0).ok();
    let stranger = stranger(request.extensions());
    if let Some(refused) = rate_refusal(&page, &stranger, Form::Html, looks) {
        return refused;
    }
    let response = match redeem(&page, &base_url, stranger, secrets, reply, looks.language).await {
        // A redirect would still be one of the provider's, on which the browser leaves the cookie out.
        Ok(cookie) => {
            let ui = Ui::of_stranger(looks);
            let next = own_path(&next, "/");
            let page = SignedInPage { ui: &ui, next };
            with_cookie(rendered(StatusCode::OK, &page, looks), Some(cookie))
        }
        Err(error) => sign_in_page(&page, headers, &next, Some(&error.message)),
    };
    with_cookie(response, ended)
}

/// Returns a page that loads another one of this server, on which the browser sends the cookie of
/// its session again.
pub(crate) fn reload(next: &str, looks: Looks) -> Response {
    let ui = Ui::of_stranger(looks);
    let page = ReloadPage {
        ui: &ui,
        next: own_path(next, "/"),
    };
    rendered(StatusCode::OK, &page, looks)
}

/// Redeems the code of a reply, and returns the cookie of the session that starts with it.
async fn redeem(
    page: &Page,
    base_url: &str,
    stranger: Subject,
    secrets: &str,
    reply: ProviderReply,
    language: Language,
) -> Result<HeaderValue> {
    let refused = |name| Error::new(ErrorCode::Unauthorized, language.message(name, &[]));
    let provider = page.authenticator().provider().ok_or_else(no_provider)?;
    // A page of another origin could otherwise sign a visitor in as another user.
    let (state, verifier) = secrets
        .split_once(':')
        .filter(|(state, _)| reply.state.is_some_and(|sent| is_same(state, &sent)))
        .ok_or_else(|| refused("sign-in-attempt-unknown"))?;
    // RFC 9207: a reply of another issuer does not belong to this attempt.
    if reply.iss.is_some_and(|issuer| issuer != provider.issuer()) {
        return Err(refused("sign-in-attempt-unknown"));
    }
    if reply.error.as_deref() == Some("access_denied") {
        return Err(refused("sign-in-denied"));
    }
    let code = reply.code.ok_or_else(|| refused("sign-in-refused"))?;
    let attempt = attempt(base_url, state, verifier);
    let grant = ask_provider(page, &stranger, move || provider.redeem(&attempt, &code)).await?;
    let started = start_session(page, base_url, stranger, credential_of(grant)?).await;
    started.map_err(|error| match error.code {
        ErrorCode::Unauthorized => {
            let why = ("value", Value::Text(error.message));
            Error::new(
                error.code,
                language.message("sign-in-token-refused", &[why]),
            )
        }
        _ => error,
    })
}

/// Ends the session of a browser.
async fn sign_out(
    State(page): State<Arc<Page>>,
    Extension(BaseUrl(base_url)): Extension<BaseUrl>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let sent = read_body_of_stranger(body).await.unwrap_or_default();
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

/// Makes a code for the bearer of a token, with which a browser starts a session: `loci page` does
/// so.
async fn make_code(
    State(page): State<Arc<Page>>,
    Extension(BaseUrl(base_url)): Extension<BaseUrl>,
    request: Request,
) -> Response {
    let (stranger, headers) = (stranger(request.extensions()), request.headers());
    let made = async {
        // A browser sends no such header by itself, so no page of another origin can ask.
        if !headers.contains_key(AUTHORIZATION) && !page.authenticator().is_open() {
            return Err(Error::new(
                ErrorCode::Unauthorized,
                "send a token as `Authorization: Bearer TOKEN`",
            ));
        }
        let caller = page
            .authenticator()
            .caller(headers, &base_url, "/api/v1/codes")
            .await?;
        Ok(Subject::of(&caller, stranger))
    };
    let looks = Looks::of(headers);
    let subject = match made.await {
        Ok(subject) => subject,
        Err(error) => return failure(&error, Form::Json, looks),
    };
    if let Some(refused) = rate_refusal(&page, &subject, Form::Json, looks) {
        return refused;
    }
    match page.sign_in_path(subject, headers.get(AUTHORIZATION).cloned()) {
        Ok(path) => Json(json!({ "path": path })).into_response(),
        Err(error) => failure(&error, Form::Json, looks),
    }
}
