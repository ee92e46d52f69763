//! Endpoints that clients call themselves: metadata, a registration, tokens, a revocation. No
//! cookie counts here, so pages of any origin may ask.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, PRAGMA, RETRY_AFTER, WWW_AUTHENTICATE,
};
use http::{Extensions, StatusCode};
use loci_admission::Subject;
use loci_core::{Error, Result as CoreResult};
use serde_json::{Value, json};

use super::client::Client;
use super::grants::{Issued, registration_number};
use super::{Fields, OAuth, Refusal, SCOPES, scope_name};
use crate::admission::{rate_refusal, read_body_of_stranger, run_blocking, stranger};
use crate::form::Form;
use crate::looks::Looks;
use crate::page::Page;

/// Returns the authorization server of the page and its issuer.
pub(super) fn issuer<'a>(
    page: &'a Page,
    extensions: &Extensions,
) -> CoreResult<(&'a OAuth, String)> {
    let unknown = || {
        Error::not_found(
            "under which URL clients reach this server is not known; whoever runs it should set `public_url`, or name \
             its host and port in `allowed_hosts`",
        )
    };
    let oauth = page.authenticator().oauth().ok_or_else(|| {
        Error::not_found("this server lets no clients in; see `loci serve --oauth`")
    })?;
    let issuer = page
        .authenticator()
        .issuer(extensions)
        .ok_or_else(unknown)?;
    Ok((oauth, issuer))
}

/// Answers the metadata of the authorization server (RFC 8414).
pub(super) async fn metadata(State(page): State<Arc<Page>>, extensions: Extensions) -> Response {
    let (_, issuer) = match issuer(&page, &extensions) {
        Ok(found) => found,
        Err(error) => {
            return open(crate::failure::failure(
                &error,
                Form::Json,
                Looks::default(),
            ));
        }
    };
    let scopes: Vec<String> = SCOPES.into_iter().map(scope_name).collect();
    let document = json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"),
        "registration_endpoint": format!("{issuer}/register"),
        "revocation_endpoint": format!("{issuer}/revoke"),
        "scopes_supported": scopes,
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": true,
        "client_id_metadata_document_supported": true,
    });
    open(Json(document).into_response())
}

/// Registers a client (RFC 7591).
pub(super) async fn register(State(page): State<Arc<Page>>, request: Request) -> Response {
    let body = match body_of(&page, request).await {
        Ok((_, body)) => body,
        Err(refused) => return refused,
    };
    let registered = registration_number().and_then(|number| Client::register(&body, &number));
    match registered {
        Ok(client) => {
            let mut document = json!({
                "client_id": client.id,
                "redirect_uris": client.redirect_uris(),
                "grant_types": ["authorization_code", "refresh_token"],
                "response_types": ["code"],
                "token_endpoint_auth_method": "none",
            });
            if let Some(name) = client.name {
                document["client_name"] = Value::String(name);
            }
            open((StatusCode::CREATED, Json(document)).into_response())
        }
        Err(refusal) => refused(&refusal),
    }
}

/// Gives tokens for a code or a refresh token (RFC 6749, sections 4.1.3 and 6).
pub(super) async fn token(State(page): State<Arc<Page>>, request: Request) -> Response {
    let answer = async {
        let (sender, fields) = fields_of(&page, request).await?;
        let work = move |page: &Page| Ok(give_token(page, &fields));
        match run_blocking(&page, &sender, work).await {
            Ok(Ok(issued)) => Ok(issued),
            Ok(Err(refusal)) => Err(refused(&refusal)),
            Err(error) => Err(refused(&error.into())),
        }
    };
    match answer.await {
        Ok(issued) => {
            let document = json!({
                "access_token": issued.access_token,
                "token_type": "Bearer",
                "expires_in": issued.seconds,
                "refresh_token": issued.refresh_token,
                "scope": issued.scope,
            });
            let mut response = Json(document).into_response();
            response
                .headers_mut()
                .insert(PRAGMA, HeaderValue::from_static("no-cache"));
            open(response)
        }
        Err(refused) => refused,
    }
}

fn give_token(page: &Page, fields: &Fields) -> Result<Issued, Refusal> {
    let oauth = oauth_of(page)?;
    let engine = page.engine();
    let resource = fields.get("resource");
    match fields.need("grant_type")? {
        "authorization_code" => {
            let client_id = fields.need("client_id")?;
            let proof = (fields.need("redirect_uri")?, fields.need("code_verifier")?);
            oauth.redeem(engine, fields.need("code")?, client_id, proof, resource)
        }
        "refresh_token" => {
            let (secret, client_id) = (fields.need("refresh_token")?, fields.need("client_id")?);
            oauth.refresh(engine, secret, client_id, (fields.get("scope"), resource))
        }
        _ => Err(Refusal::new(
            "unsupported_grant_type",
            "`grant_type` must be `authorization_code` or `refresh_token`",
        )),
    }
}

/// Revokes a token (RFC 7009).
pub(super) async fn revoke(State(page): State<Arc<Page>>, request: Request) -> Response {
    let answer = async {
        let (sender, fields) = fields_of(&page, request).await?;
        let work = move |page: &Page| {
            let revoked = oauth_of(page).and_then(|oauth| {
                let (secret, client_id) = (fields.need("token")?, fields.get("client_id"));
                oauth.revoke(page.engine(), secret, client_id)
            });
            Ok(revoked)
        };
        match run_blocking(&page, &sender, work).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(refusal)) => Err(refused(&refusal)),
            Err(error) => Err(refused(&error.into())),
        }
    };
    match answer.await {
        Ok(()) => open(StatusCode::OK.into_response()),
        Err(refused) => refused,
    }
}

/// Tells a browser that pages of any origin may ask.
pub(super) async fn preflight() -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    headers.insert(
        ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static("GET, POST"),
    );
    headers.insert(
        ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static("content-type, accept, mcp-protocol-version"),
    );
    open(response)
}

fn oauth_of(page: &Page) -> Result<&OAuth, Refusal> {
    let oauth = page.authenticator().oauth();
    oauth.ok_or_else(|| Refusal::invalid_request("this server lets no clients in"))
}

/// Reads the body of a request within the limits of strangers.
async fn body_of(page: &Page, request: Request) -> Result<(Subject, Vec<u8>), Response> {
    let (parts, body) = request.into_parts();
    let sender = stranger(&parts.extensions);
    if let Some(limited) = rate_refusal(page, &sender, Form::Json, Looks::default()) {
        let wait = limited.headers().get(RETRY_AFTER).cloned();
        let refusal = Refusal::new("slow_down", "too many requests; try again later");
        let mut response = refused(&refusal);
        *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
        if let Some(wait) = wait {
            response.headers_mut().insert(RETRY_AFTER, wait);
        }
        return Err(response);
    }
    if parts.headers.contains_key(AUTHORIZATION) {
        let problem = "clients of this server have no secret: send `client_id` in the form, and no `Authorization`";
        return Err(refused(&Refusal::new("invalid_client", problem)));
    }
    let body = read_body_of_stranger(body).await;
    let body = body.map_err(|error| {
        let mut response = refused(&Refusal::invalid_request(error.message));
        if error.code == loci_core::ErrorCode::TooLarge {
            *response.status_mut() = StatusCode::PAYLOAD_TOO_LARGE;
        }
        response
    })?;
    Ok((sender, body))
}

/// Reads the form of a request.
async fn fields_of(page: &Page, request: Request) -> Result<(Subject, Fields), Response> {
    let is_form = is_form(request.headers());
    let (sender, body) = body_of(page, request).await?;
    if !is_form {
        let problem = "send a form (`application/x-www-form-urlencoded`)";
        return Err(refused(&Refusal::invalid_request(problem)));
    }
    let fields = Fields::parse(&body).map_err(|refusal| refused(&refusal))?;
    Ok((sender, fields))
}

fn is_form(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|kind| {
        kind.as_bytes()
            .starts_with(b"application/x-www-form-urlencoded")
    })
}

/// Returns a refusal as an answer (RFC 6749, section 5.2).
fn refused(refusal: &Refusal) -> Response {
    let status = match refusal.error {
        "invalid_client" => StatusCode::UNAUTHORIZED,
        "temporarily_unavailable" => StatusCode::SERVICE_UNAVAILABLE,
        "server_error" => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::BAD_REQUEST,
    };
    let body = json!({"error": refusal.error, "error_description": refusal.description});
    let mut response = (status, Json(body)).into_response();
    if status == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(
            WWW_AUTHENTICATE,
            HeaderValue::from_static("Basic realm=\"loci\""),
        );
    }
    open(response)
}

/// Lets pages of any origin read an answer.
fn open(mut response: Response) -> Response {
    response
        .headers_mut()
        .insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    response
}
