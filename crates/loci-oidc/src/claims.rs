//! Reads the identity of the bearer from a token's claims (RFC 7519; RFC 9068).

use loci_core::characters::is_control;
use loci_core::{
    Identity, Principal, Scope, Scopes, Space, Timestamp, check_name, is_reserved_subject,
};
use serde_json::{Map, Value};

use crate::OidcOptions;
use crate::jws::Refusal;

type Claims = Map<String, Value>;

/// The largest length in bytes of the names that a refusal lists, so that it still fits into a
/// response's challenge.
const LISTED_BYTES_MAX: usize = 160;

/// Returns the identity in a token's claims, if they are valid now and for one of `resources`.
///
/// # Errors
/// The reason why they are not, in words that may stand in a challenge (RFC 6750, section 3).
pub(crate) fn identity(
    options: &OidcOptions,
    claims: &Claims,
    resources: &[String],
    now: Timestamp,
) -> Result<Identity, String> {
    if claims.get("iss").and_then(Value::as_str) != Some(options.issuer.as_str()) {
        return Err("the token is from another issuer".to_owned());
    }
    let expires_at = check_times(options, claims, now)?;
    check_audience(options, claims, resources)?;
    if is_id_token(claims) {
        return Err(
            "the token is an ID token, which says who logged in; send an access token".to_owned(),
        );
    }
    let space = match &options.space_claim {
        Some(path) => {
            let space = found(claims, path)
                .and_then(Value::as_str)
                .and_then(|name| Space::parse(path, name).ok());
            space.ok_or("the token names no space")?
        }
        None => Space::default(),
    };
    let subject = found(claims, &options.subject_claim)
        .and_then(Value::as_str)
        .filter(|subject| is_name(subject));
    let subject = subject.ok_or("the token names no subject")?;
    if let Some(local) = Principal::local().subject.filter(|local| local == subject) {
        return Err(format!(
            "the subject `{local}` is reserved for the person at the machine; log in as somebody else, or have the \
             server's setting oidc.subject_claim name another claim"
        ));
    }
    if is_reserved_subject(subject) {
        return Err(format!(
            "the subject `{subject}` stands for callers without a name; log in as another user, or have the server's \
             setting oidc.subject_claim name another claim"
        ));
    }
    let principal = Principal {
        subject: Some(subject.to_owned()),
        actor: actor(options, claims),
        scopes: scopes(options, claims),
    };
    Ok(Identity {
        space,
        principal,
        expires_at,
    })
}

/// Returns the expiry of the token, if it is valid now. Both include the leeway.
fn check_times(
    options: &OidcOptions,
    claims: &Claims,
    now: Timestamp,
) -> Result<Timestamp, Refusal> {
    let leeway = options.leeway.as_secs() as i64;
    let latest_start = now.plus_seconds(leeway);
    let expires_at = moment(claims, "exp")?
        .ok_or("the token has no end (`exp`)")?
        .plus_seconds(leeway);
    if expires_at <= now {
        return Err("the token has expired; get a new one");
    }
    for name in ["nbf", "iat"] {
        if moment(claims, name)?.is_some_and(|start| start > latest_start) {
            return Err(
                "the token does not hold yet; see whether the clocks of issuer and server agree",
            );
        }
    }
    Ok(expires_at)
}

/// Parses a time in seconds since 1970, which may have a fraction.
fn moment(claims: &Claims, name: &str) -> Result<Option<Timestamp>, Refusal> {
    const MICROSECONDS_PER_SECOND: f64 = 1e6;
    let Some(value) = claims.get(name) else {
        return Ok(None);
    };
    let seconds = value
        .as_f64()
        .ok_or("a time in the token (`exp`, `nbf`, `iat`) is no number")?;
    // The conversion saturates at the ends of the range.
    Ok(Some(Timestamp::from_microseconds(
        (seconds * MICROSECONDS_PER_SECOND) as i64,
    )))
}

fn check_audience(
    options: &OidcOptions,
    claims: &Claims,
    resources: &[String],
) -> Result<(), String> {
    if options.accepts_any_audience() {
        return Ok(());
    }
    let accepted = if options.audiences.is_empty() {
        resources
    } else {
        &options.audiences
    };
    let fits = |audience: &Value| {
        audience
            .as_str()
            .is_some_and(|name| accepted.iter().any(|other| other == name))
    };
    let is_ours = match claims.get("aud") {
        Some(Value::Array(audiences)) => audiences.iter().any(fits),
        Some(audience) => fits(audience),
        None => false,
    };
    if is_ours {
        return Ok(());
    }
    // Each name that ends with a slash is also listed without it.
    let names: Vec<&str> = resources
        .iter()
        .map(String::as_str)
        .filter(|name| !name.ends_with('/'))
        .collect();
    let names = names.join(" or ");
    let advice = if !options.audiences.is_empty() {
        "the server's setting oidc.audience decides for what it must be".to_owned()
    } else if names.is_empty() {
        "the server knows no URL of its own: its settings need public_url or oidc.audience"
            .to_owned()
    } else if names.len() > LISTED_BYTES_MAX {
        "ask for one for this server's URL".to_owned()
    } else {
        format!("ask for one for {names}")
    };
    Err(format!(
        "the token was issued for something else (`aud`); {advice}"
    ))
}

/// Returns true for an ID token, which OpenID Connect gives to a client at a login: by the claims
/// that only these have (OpenID Connect Core 1.0, section 2) or by the values that Keycloak and
/// Cognito write.
fn is_id_token(claims: &Claims) -> bool {
    let says = |name, value| {
        claims
            .get(name)
            .and_then(Value::as_str)
            .is_some_and(|v| v.eq_ignore_ascii_case(value))
    };
    ["nonce", "at_hash", "c_hash"]
        .iter()
        .any(|name| claims.contains_key(*name))
        || says("typ", "ID")
        || says("token_use", "id")
}

fn actor(options: &OidcOptions, claims: &Claims) -> Option<String> {
    let names = options
        .actor_claims
        .iter()
        .filter_map(|path| found(claims, path)?.as_str());
    names.map(str::to_owned).find(|name| is_name(name))
}

fn scopes(options: &OidcOptions, claims: &Claims) -> Scopes {
    let claim = match &options.scope_claim {
        Some(path) => found(claims, path),
        None => claims.get("scope").or_else(|| claims.get("scp")),
    };
    let Some(claim) = claim else {
        return options.default_scopes;
    };
    let names: Vec<&str> = match claim {
        Value::String(names) => names.split(' ').collect(),
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let ours = names
        .into_iter()
        .filter_map(|name| Scope::from_name(name.strip_prefix(&options.scope_prefix)?));
    Scopes::of(&ours.collect::<Vec<_>>())
}

/// Returns the claim of this name, or the value at a path with dots.
fn found<'a>(claims: &'a Claims, path: &str) -> Option<&'a Value> {
    claims.get(path).or_else(|| {
        let (first, rest) = path.split_once('.')?;
        rest.split('.')
            .try_fold(claims.get(first)?, |value, name| value.get(name))
    })
}

/// Returns true if a text can be a subject's name.
fn is_name(text: &str) -> bool {
    check_name("sub", text).is_ok() && !text.chars().any(is_control)
}
