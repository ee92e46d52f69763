//! The settings of an OpenID provider.

use std::fmt;
use std::time::Duration;

use loci_core::{Error, Result, Scope, Scopes};
use loci_http::DocumentUrl;

/// The audience that disables the check of `aud`.
const ANY_AUDIENCE: &str = "any";
const LEEWAY_MAX: Duration = Duration::from_mins(10);
const TIMEOUT_MAX: Duration = Duration::from_mins(1);
/// The longest time for which a withdrawn key is still accepted, if the provider answers.
const REFRESH_MAX: Duration = Duration::from_hours(24);

/// The issuer of accepted tokens, and the claims that are read from them.
///
/// If a setting names a claim, `realm_access.roles` is the claim with this very name, or else the
/// member `roles` of the claim `realm_access`.
#[derive(Debug, Clone)]
pub struct OidcOptions {
    /// The issuer's identifier: an `https` URL, or an `http` one on this machine. It is compared
    /// byte by byte with the values in the provider's configuration and in each token.
    pub issuer: String,
    /// The accepted audiences, of which the token's `aud` must have one. If empty, it must have one
    /// of the names of the called resource. `any` by itself disables the check: then every token of the
    /// issuer is accepted, also one that a user gave to another service, and the operator of that
    /// service can act as the user. Default empty.
    pub audiences: Vec<String>,
    /// The claim with the bearer's name, a string. Default `sub`.
    pub subject_claim: String,
    /// The claims with a name for people, of which the first that is a valid name counts. Default
    /// `email`, then `preferred_username`.
    pub actor_claims: Vec<String>,
    /// The claim with the scopes: a string with spaces between them, or an array. `None`, the
    /// default, is `scope`, or else `scp`.
    pub scope_claim: Option<String>,
    /// The prefix of `read`, `write` and `admin` in the claim. Default `memory:`.
    pub scope_prefix: String,
    /// The scopes of a token without such a claim; a token with the claim has only the scopes that
    /// it names. A claim that the issuer leaves out for users without rights (often roles) needs an
    /// empty set here. Default read and write.
    pub default_scopes: Scopes,
    /// The claim with the space, which each token must have then. With `None`, the default, all
    /// tokens open the default space.
    pub space_claim: Option<String>,
    /// The client by which people sign in on the page; `None`, the default, if they cannot.
    pub client: Option<OidcClient>,
    /// The accepted types of tokens, as in `typ` of the header; letter case and a prefix
    /// `application/` do not count, and a token without a type counts as `JWT`. Default `at+jwt`
    /// (RFC 9068) and `JWT`.
    ///
    /// An ID token is usually a `JWT`, too. It is refused for a claim that only ID tokens have
    /// (`nonce`, `at_hash`, `c_hash`; `typ` and `token_use` as some issuers write them), but it may
    /// have none of these, and is then accepted as an access token if its audience, the client's
    /// own id, is accepted. If that id is one of the audiences, or `any` is, accept only `at+jwt`.
    pub token_types: Vec<String>,
    /// The largest difference between the clocks of the issuer and of this machine, in whole
    /// seconds. Default 60 s, at most 10 minutes.
    pub leeway: Duration,
    /// The timeout of each document of the provider, from connecting to its last byte. Default 5 s,
    /// at most a minute.
    pub timeout: Duration,
    /// The time between two fetches of the keys in the background, if the first succeeds. Default
    /// 10 minutes, at least a second, at most a day.
    pub refresh: Duration,
    /// The wait before the next such fetch after a failure; it doubles each time, up to a minute or
    /// [`refresh`](Self::refresh), whichever is less. Default 1 s.
    pub backoff: Duration,
}

/// This server as a client of the provider, where its operator registered it.
#[derive(Clone)]
pub struct OidcClient {
    /// The client's identifier.
    pub id: String,
    /// The client's secret, if the provider gave it one. A public client proves only by PKCE that
    /// it started the attempt.
    pub secret: Option<String>,
    /// The scopes to ask for; if empty, `openid` and, unless [`OidcOptions::scope_claim`] is set,
    /// `read` and `write` with [`OidcOptions::scope_prefix`].
    pub scopes: Vec<String>,
}

impl OidcClient {
    fn check(&self) -> Result<()> {
        if self.id.trim().is_empty() {
            return Err(Error::invalid("oidc.client_id", "must not be blank"));
        }
        let is_scope = |scope: &String| !scope.is_empty() && has_scope_characters(scope);
        if !self.scopes.iter().all(is_scope) {
            let problem = "must have scopes of printable ASCII without spaces and quotes";
            return Err(Error::invalid("oidc.client_scopes", problem));
        }
        Ok(())
    }
}

// Without the secret.
impl fmt::Debug for OidcClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("OidcClient");
        shown.field("id", &self.id).field("scopes", &self.scopes);
        shown.finish_non_exhaustive()
    }
}

impl OidcOptions {
    /// Returns the defaults for an issuer.
    pub fn new(issuer: impl Into<String>) -> Self {
        OidcOptions {
            issuer: issuer.into(),
            audiences: Vec::new(),
            subject_claim: "sub".to_owned(),
            actor_claims: ["email", "preferred_username"].map(str::to_owned).into(),
            scope_claim: None,
            scope_prefix: "memory:".to_owned(),
            default_scopes: Scopes::of(&[Scope::Read, Scope::Write]),
            space_claim: None,
            client: None,
            token_types: ["at+jwt", "JWT"].map(str::to_owned).into(),
            leeway: Duration::from_mins(1),
            timeout: Duration::from_secs(5),
            refresh: Duration::from_mins(10),
            backoff: Duration::from_secs(1),
        }
    }

    /// Returns the scopes that a person who signs in asks for, with spaces between them.
    pub(crate) fn scopes_to_ask_for(&self, client: &OidcClient) -> String {
        if !client.scopes.is_empty() {
            return client.scopes.join(" ");
        }
        let mut scopes = "openid".to_owned();
        if self.scope_claim.is_none() {
            for scope in [Scope::Read, Scope::Write] {
                scopes.push(' ');
                scopes.push_str(&self.scope_prefix);
                scopes.push_str(scope.name());
            }
        }
        scopes
    }

    /// Returns true if tokens for every audience are accepted.
    pub(crate) fn accepts_any_audience(&self) -> bool {
        self.audiences == [ANY_AUDIENCE]
    }

    /// Checks all settings and returns the issuer.
    ///
    /// # Errors
    /// `invalid_argument`, naming the setting under `oidc`.
    pub(crate) fn checked_issuer(&self) -> Result<DocumentUrl> {
        let issuer = DocumentUrl::parse("oidc.issuer", &self.issuer)?;
        if self.issuer.contains('?') {
            return Err(Error::invalid("oidc.issuer", "must end before `?`"));
        }
        let lists = [
            ("oidc.audience", &self.audiences),
            ("oidc.actor_claims", &self.actor_claims),
            ("oidc.token_types", &self.token_types),
        ];
        for (setting, list) in lists {
            if list.iter().any(|entry| entry.trim().is_empty()) {
                return Err(Error::invalid(setting, "must have no blank entries"));
            }
        }
        if self
            .audiences
            .iter()
            .any(|audience| audience == ANY_AUDIENCE)
            && !self.accepts_any_audience()
        {
            return Err(Error::invalid(
                "oidc.audience",
                "must be `any` alone, or only audiences",
            ));
        }
        if self.token_types.is_empty() {
            return Err(Error::invalid(
                "oidc.token_types",
                "must name a type of token, such as `at+jwt`",
            ));
        }
        let claims = [
            ("oidc.subject_claim", Some(&self.subject_claim)),
            ("oidc.scope_claim", self.scope_claim.as_ref()),
            ("oidc.space_claim", self.space_claim.as_ref()),
        ];
        for (setting, claim) in claims {
            if claim.is_some_and(|claim| claim.trim().is_empty()) {
                return Err(Error::invalid(setting, "must name a claim"));
            }
        }
        if let Some(client) = &self.client {
            client.check()?;
        }
        if !has_scope_characters(&self.scope_prefix) {
            return Err(Error::invalid(
                "oidc.scope_prefix",
                "must be printable ASCII without spaces and quotes",
            ));
        }
        if !(Duration::from_secs(1)..=REFRESH_MAX).contains(&self.refresh) {
            return Err(Error::invalid(
                "oidc.refresh_seconds",
                "must be from a second to a day",
            ));
        }
        if self.leeway > LEEWAY_MAX
            || self.timeout.is_zero()
            || self.timeout > TIMEOUT_MAX
            || self.backoff.is_zero()
        {
            let problem = "needs a leeway up to 10 minutes, a timeout up to a minute, and a backoff above zero";
            return Err(Error::invalid("oidc", problem));
        }
        Ok(issuer)
    }
}

/// Returns true if a scope may have these characters (RFC 6749, section 3.3).
fn has_scope_characters(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\'))
}
