//! The page on which a person says whether a client may come in.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Request, State};
use axum::response::{Html, IntoResponse, Response};
use http::StatusCode;
use http::header::AUTHORIZATION;
use http::request::Parts;
use loci_core::{Error, ErrorCode, Scope, Scopes, Token};

use super::client::{Client, destination};
use super::endpoints::issuer;
use super::grants::{Approval, is_challenge};
use super::{Fields, OAuth, Refusal};
use crate::admission::{ask_provider, read_body, run_blocking, stranger};
use crate::encoding::encoded;
use crate::failure::failure;
use crate::form::Form;
use crate::guard::{BaseUrl, FETCH_SITE, FormTarget};
use crate::looks::Looks;
use crate::page::Page;
use crate::parameters::CSRF;
use crate::request::{AuthenticatedRequest, check_origin, see_other, session_of};
use crate::request_user::RequestUser;
use crate::sign_in::reload;
use crate::text::Value;
use crate::view::Ui;

/// The longest `state` of a client, which comes back in an address.
const STATE_BYTES_MAX: usize = 1_024;
/// The parameters that the consent page hands on from the request to the decision.
const HANDED_ON: [&str; 9] = [
    "response_type",
    "response_mode",
    "client_id",
    "redirect_uri",
    "state",
    "scope",
    "code_challenge",
    "code_challenge_method",
    "resource",
];

#[derive(Template)]
#[template(path = "consent.html")]
struct ConsentPage<'a> {
    ui: &'a Ui,
    csrf: &'a str,
    /// The name that the client gives itself.
    name: Option<&'a str>,
    /// The host that the answer goes to.
    host: &'a str,
    /// True if that is the device of the person.
    is_on_device: bool,
    /// The host of the document that the client has of itself.
    document: Option<&'a str>,
    user: &'a str,
    resource: &'a str,
    can_read: bool,
    can_write: bool,
    /// The parameters of the request, with their values.
    fields: Vec<(&'static str, &'a str)>,
}

/// A request of a client, whose redirect URI is one of its own.
struct ClientRequest {
    client: Client,
    redirect_uri: String,
    state: Option<String>,
    issuer: String,
}

/// A request of a client that can be allowed.
struct CheckedRequest {
    challenge: String,
    resource: String,
    scopes: Scopes,
    parent: Token,
}

/// Asks the person who is signed in.
pub(super) async fn ask(State(page): State<Arc<Page>>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    if let Some(again) = from_elsewhere(&page, &parts) {
        return again;
    }
    let visitor = match signed_in(&page, &parts).await {
        Ok((visitor, _)) => visitor,
        Err(refused) => return refused,
    };
    let query = parts.uri.query().unwrap_or_default();
    let fields = match Fields::parse(query.as_bytes()) {
        Ok(fields) => fields,
        Err(refusal) => return told(&refusal, &visitor),
    };
    let asked = match asked(&page, &parts, &fields).await {
        Ok(asked) => asked,
        Err(refusal) => return told(&refusal, &visitor),
    };
    let request = checked(&page, &fields, &asked.issuer, &visitor).await;
    let (fields, request) = match request {
        Ok(request) => (fields, request),
        Err(refusal) => return sent_back(&asked, &refused_parameters(&refusal)),
    };
    let (host, is_on_device) = destination(&asked.redirect_uri);
    let document = asked.client.document_host();
    let ui = Ui::of_stranger(visitor.looks);
    let session = visitor.session.as_ref();
    let shown = ConsentPage {
        ui: &ui,
        csrf: session.map_or("", |session| session.csrf()),
        name: asked.client.name.as_deref(),
        host: &host,
        is_on_device,
        document: document.as_deref(),
        user: &request.parent.subject,
        resource: &request.resource,
        can_read: has(request.scopes, Scope::Read),
        can_write: has(request.scopes, Scope::Write),
        fields: HANDED_ON
            .iter()
            .filter_map(|name| Some((*name, fields.get(name)?)))
            .collect(),
    };
    let mut response = match shown.render() {
        Ok(html) => (StatusCode::OK, Html(html)).into_response(),
        Err(error) => {
            let error = Error::internal(error.to_string());
            failure(&error, Form::Html, visitor.looks)
        }
    };
    // A browser follows the answer of the form only where the policy of the page lets it.
    response
        .extensions_mut()
        .insert(FormTarget(origin_of(&asked.redirect_uri)));
    response
}

/// Does what the person decided, and sends the browser back to the client.
pub(super) async fn decide(State(page): State<Arc<Page>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let (visitor, base_url) = match signed_in(&page, &parts).await {
        Ok(found) => found,
        Err(refused) => return refused,
    };
    let refuse = |error: &Error| failure(error, Form::Html, visitor.looks);
    let read = read_body(&page, &visitor.subject, &parts.headers, body).await;
    let (body, _share) = match read {
        Ok(read) => read,
        Err(error) => return refuse(&error),
    };
    let fields = match Fields::parse(&body) {
        Ok(fields) => fields,
        Err(refusal) => return told(&refusal, &visitor),
    };
    if let Err(error) = check_origin(&visitor, &parts.headers, &base_url, fields.get(CSRF)) {
        return refuse(&error);
    }
    let asked = match asked(&page, &parts, &fields).await {
        Ok(asked) => asked,
        Err(refusal) => return told(&refusal, &visitor),
    };
    if fields.get("decision") != Some("allow") {
        let refusal = Refusal::new("access_denied", "the person did not allow it");
        return sent_back(&asked, &refused_parameters(&refusal));
    }
    let request = match checked(&page, &fields, &asked.issuer, &visitor).await {
        Ok(request) => request,
        Err(refusal) => return sent_back(&asked, &refused_parameters(&refusal)),
    };
    let (client, redirect_uri) = (asked.client.clone(), asked.redirect_uri.clone());
    let work = move |page: &Page| {
        let approval = Approval {
            client: &client,
            redirect_uri,
            challenge: request.challenge,
            resource: request.resource,
            scopes: request.scopes,
            parent: &request.parent,
        };
        let approved = page
            .authenticator()
            .oauth()
            .ok_or_else(|| Refusal::new("access_denied", "this server lets no clients in"))
            .and_then(|oauth| oauth.approve(page.engine(), &approval));
        Ok(approved)
    };
    let approved = run_blocking(&page, &visitor.subject, work).await;
    match approved.unwrap_or_else(|error| Err(error.into())) {
        Ok(code) => sent_back(&asked, &[("code", &code)]),
        Err(refusal) => sent_back(&asked, &refused_parameters(&refusal)),
    }
}

fn has(scopes: Scopes, scope: Scope) -> bool {
    scopes.iter().any(|had| had == scope)
}

/// Answers a browser that another site sent here without its cookie, which is for requests from
/// here only: with a page that loads this one once more, from here.
fn from_elsewhere(page: &Page, parts: &Parts) -> Option<Response> {
    let site = parts.headers.get(FETCH_SITE)?.as_bytes();
    let BaseUrl(base_url) = parts.extensions.get()?;
    let is_known = session_of(page, &parts.headers, base_url).is_some();
    if is_known || !matches!(site, b"cross-site" | b"same-site") {
        return None;
    }
    let path = parts.uri.path_and_query()?.as_str();
    Some(reload(path, Looks::of(&parts.headers)))
}

/// Returns who is signed in on the page, or the answer that leads there. A token in a header is no
/// person.
async fn signed_in(
    page: &Arc<Page>,
    parts: &Parts,
) -> Result<(Arc<RequestUser>, String), Response> {
    if parts.headers.contains_key(AUTHORIZATION) {
        let message = "a person decides this in a browser, signed in on the page, and no program with a token";
        let error = Error::new(ErrorCode::Forbidden, message);
        return Err(failure(&error, Form::Html, Looks::of(&parts.headers)));
    }
    let AuthenticatedRequest {
        visitor, base_url, ..
    } = AuthenticatedRequest::of(page, parts).await?;
    if visitor.session.is_none() {
        let error = Error::new(ErrorCode::Unauthorized, "sign in on the page first");
        return Err(failure(&error, Form::Html, visitor.looks));
    }
    Ok((visitor, base_url))
}

/// Finds the client of a request, and whether the browser may be sent back to it.
async fn asked(page: &Arc<Page>, parts: &Parts, fields: &Fields) -> Result<ClientRequest, Refusal> {
    let (_, issuer) =
        issuer(page, &parts.extensions).map_err(|error| Refusal::invalid_request(error.message))?;
    let id = fields.need("client_id")?.to_owned();
    let shared = Arc::clone(page);
    // A document of a client comes from elsewhere; a few are waited for at a time.
    let sender = stranger(&parts.extensions);
    let found = ask_provider(page, &sender, move || {
        let none = || Refusal::invalid_request("this server lets no clients in");
        let oauth = shared.authenticator().oauth().ok_or_else(none);
        Ok(oauth.and_then(|oauth| oauth.client(&id)))
    });
    let client = found.await??;
    let redirect_uri = client.redirect_uri(fields.get("redirect_uri"))?;
    let state = fields.get("state");
    if state.is_some_and(|state| state.len() > STATE_BYTES_MAX) {
        let problem = format!("`state` is longer than {STATE_BYTES_MAX} bytes");
        return Err(Refusal::invalid_request(problem));
    }
    Ok(ClientRequest {
        client,
        redirect_uri,
        state: state.map(str::to_owned),
        issuer,
    })
}

/// Checks what else a request says.
async fn checked(
    page: &Arc<Page>,
    fields: &Fields,
    issuer: &str,
    visitor: &RequestUser,
) -> Result<CheckedRequest, Refusal> {
    if fields.need("response_type")? != "code" {
        let problem = "`response_type` must be `code`";
        return Err(Refusal::new("unsupported_response_type", problem));
    }
    if fields
        .get("response_mode")
        .is_some_and(|mode| mode != "query")
    {
        return Err(Refusal::invalid_request("`response_mode` must be `query`"));
    }
    if fields.get("request").is_some() || fields.get("request_uri").is_some() {
        let problem = "`request` and `request_uri` are not taken; send the parameters themselves";
        return Err(Refusal::new("request_not_supported", problem));
    }
    let challenge = fields.need("code_challenge")?;
    if fields.get("code_challenge_method") != Some("S256") || !is_challenge(challenge) {
        let problem = "`code_challenge_method` must be `S256`, and `code_challenge` 43 characters of base64url (RFC 7636)";
        return Err(Refusal::invalid_request(problem));
    }
    let none = || Refusal::invalid_request("this server lets no clients in");
    let oauth = page.authenticator().oauth().ok_or_else(none)?;
    let named = fields.get("resource").unwrap_or(issuer);
    let resource = oauth.resource(issuer, named).ok_or_else(|| {
        let problem = format!(
            "`resource` must be {issuer}, or one of its endpoints, e.g. {issuer}/mcp/mememory"
        );
        Refusal::new("invalid_target", problem)
    })?;
    let scopes = OAuth::scopes(fields.get("scope"), visitor.caller.principal.scopes)?;
    let bearer = visitor.session.as_ref().and_then(|session| {
        let header = session.credential().header?;
        Some(header.to_str().ok()?.strip_prefix("Bearer ")?.to_owned())
    });
    let look_up = move |page: &Page| {
        let oauth = page.authenticator().oauth();
        Ok(match (oauth, bearer) {
            (Some(oauth), Some(bearer)) => oauth.parent(&bearer),
            _ => Ok(None),
        })
    };
    let parent = run_blocking(page, &visitor.subject, look_up).await??;
    let parent = parent.ok_or_else(|| {
        let problem = "sign in with a token of this server (`loci token create`) or by `loci page`, and not with one \
                       that a client has";
        Refusal::new("access_denied", problem)
    })?;
    Ok(CheckedRequest {
        challenge: challenge.to_owned(),
        resource,
        scopes,
        parent,
    })
}

/// Tells the person what is wrong, where the browser cannot be sent back to the client.
fn told(refusal: &Refusal, visitor: &RequestUser) -> Response {
    let why = ("value", Value::Text(refusal.description.clone()));
    let message = visitor.looks.language.message("consent-refused", &[why]);
    let code = match refusal.error {
        "temporarily_unavailable" => ErrorCode::Unavailable,
        _ => ErrorCode::InvalidArgument,
    };
    failure(&Error::new(code, message), Form::Html, visitor.looks)
}

fn refused_parameters(refusal: &Refusal) -> [(&'static str, &str); 2] {
    [
        ("error", refusal.error),
        ("error_description", &refusal.description),
    ]
}

/// Sends the browser back to the client, with these parameters, the `state` that the client gave,
/// and the issuer (RFC 9207).
fn sent_back(asked: &ClientRequest, parameters: &[(&str, &str)]) -> Response {
    let state = asked.state.as_deref().map(|state| ("state", state));
    let issuer = [("iss", asked.issuer.as_str())];
    let all = parameters.iter().copied().chain(state).chain(issuer);
    let pairs: Vec<String> = all
        .map(|(name, value)| format!("{name}={}", encoded(&plain(name, value))))
        .collect();
    let mark = if asked.redirect_uri.contains('?') {
        '&'
    } else {
        '?'
    };
    see_other(&format!("{}{mark}{}", asked.redirect_uri, pairs.join("&")))
}

/// Returns a value without what a description must not have (RFC 6749, section 4.1.2.1).
fn plain(name: &str, value: &str) -> String {
    if name != "error_description" {
        return value.to_owned();
    }
    let is_allowed = |character: &char| matches!(character, ' '..='!' | '#'..='[' | ']'..='~');
    value
        .chars()
        .map(|character| {
            if is_allowed(&character) {
                character
            } else {
                '\''
            }
        })
        .collect()
}

/// Returns the origin of a redirect URI as a policy names it. An IPv6 address cannot be named there,
/// only its scheme.
fn origin_of(redirect_uri: &str) -> String {
    let authority = redirect_uri
        .split_once("://")
        .map(|(scheme, rest)| (scheme, rest.split(['/', '?']).next().unwrap_or_default()));
    match authority {
        Some((scheme, authority)) if authority.starts_with('[') => format!("{scheme}:"),
        Some((scheme, authority)) => format!("{scheme}://{authority}"),
        None => "'none'".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_names_where_the_browser_goes() {
        let rows = [
            ("https://claude.ai/api/callback", "https://claude.ai"),
            ("http://127.0.0.1:33418?a=b", "http://127.0.0.1:33418"),
            ("http://[::1]:9/callback", "http:"),
        ];
        for (uri, expected) in rows {
            assert_eq!(origin_of(uri), expected, "{uri}");
        }
    }
}
