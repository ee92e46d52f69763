//! Signs people in at the provider: the authorization code grant with PKCE (RFC 6749, section 4.1; RFC
//! 7636), as a client that the operator of this server registered there.
//!
//! The ID token is not read. The access token says who signed in, and the verifier judges it as it
//! judges that of any other client.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use loci_core::{Error, Result, SignInAttempt, SignInGrant, SignInProvider};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use ring::digest::{SHA256, digest};
use serde::Deserialize;

use crate::options::{OidcClient, OidcOptions};
use crate::provider::Provider;

/// The characters that are encoded: all but the unreserved ones (RFC 3986, section 2.3).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The provider of [`OidcOptions::issuer`] as people sign in there.
pub struct OidcSignIn {
    options: OidcOptions,
    client: OidcClient,
    provider: Provider,
}

/// The relevant members of the reply of the token endpoint.
#[derive(Deserialize)]
struct TokenReply {
    access_token: String,
    token_type: String,
    refresh_token: Option<String>,
}

impl OidcSignIn {
    /// Returns the provider of these options; `None` if they have no client. Does not connect.
    ///
    /// # Errors
    /// `invalid_argument`, naming the setting under `oidc`, if a setting is invalid.
    pub fn new(options: OidcOptions) -> Result<Option<Self>> {
        let Some(client) = options.client.clone() else {
            return Ok(None);
        };
        let provider = Provider::new(options.checked_issuer()?, &options);
        Ok(Some(OidcSignIn {
            options,
            client,
            provider,
        }))
    }

    /// Asks the provider where people sign in. Takes at most the time of two documents.
    ///
    /// # Errors
    /// `unavailable` or `not_found`, naming the document of the provider and its problem.
    pub fn probe(&self) -> Result<()> {
        let configuration = self.provider.discover()?;
        self.provider.authorization_url(&configuration)?;
        self.provider.token_url(&configuration).map(drop)
    }

    fn granted(&self, fields: &[(&str, &str)]) -> Result<SignInGrant> {
        let configuration = self.provider.discover()?;
        let url = self.provider.token_url(&configuration)?;
        let mut fields = fields.to_vec();
        let mut authorization = None;
        match &self.client.secret {
            Some(secret) if !configuration.takes_secrets_in_forms() => {
                authorization = Some(basic(&self.client.id, secret));
            }
            Some(secret) => {
                fields.push(("client_id", &self.client.id));
                fields.push(("client_secret", secret));
            }
            None => fields.push(("client_id", &self.client.id)),
        }
        let documents = self.provider.documents();
        let granted: TokenReply = documents.post(&url, &fields, authorization.as_deref())?;
        if !granted.token_type.eq_ignore_ascii_case("bearer") {
            return Err(Error::unavailable(format!(
                "{} gives no bearer tokens",
                url.as_str()
            )));
        }
        Ok(SignInGrant {
            access_token: granted.access_token,
            refresh_token: granted.refresh_token,
        })
    }

    /// Returns the parameters that say for whom the token shall be valid.
    fn target<'a>(&'a self, attempt: &'a SignInAttempt) -> Vec<(&'static str, &'a str)> {
        if self.options.accepts_any_audience() {
            return Vec::new();
        }
        match self.options.audiences.first() {
            // Not every provider takes the parameter of RFC 8707; more providers take this one.
            Some(audience) if !audience.contains("://") => vec![("audience", audience)],
            Some(audience) => vec![("audience", audience), ("resource", audience)],
            None => vec![("resource", &attempt.resource)],
        }
    }
}

impl SignInProvider for OidcSignIn {
    fn issuer(&self) -> &str {
        self.provider.issuer()
    }

    fn authorization_url(&self, attempt: &SignInAttempt) -> Result<String> {
        let configuration = self.provider.discover()?;
        let url = self.provider.authorization_url(&configuration)?;
        let hash = digest(&SHA256, attempt.verifier.as_bytes());
        let challenge = URL_SAFE_NO_PAD.encode(hash);
        let scope = self.options.scopes_to_ask_for(&self.client);
        let mut parameters = vec![
            ("response_type", "code"),
            ("client_id", &self.client.id),
            ("redirect_uri", &attempt.redirect_url),
            ("scope", &scope),
            ("state", &attempt.state),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ];
        parameters.extend(self.target(attempt));
        let mut text = url.as_str().to_owned();
        let mut separator = if text.contains('?') { '&' } else { '?' };
        for (name, value) in parameters {
            // Writing to a `String` cannot fail.
            let _ = write!(text, "{separator}{name}={}", encoded(value));
            separator = '&';
        }
        Ok(text)
    }

    fn redeem(&self, attempt: &SignInAttempt, code: &str) -> Result<SignInGrant> {
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &attempt.redirect_url),
            ("code_verifier", &attempt.verifier),
        ];
        fields.extend(self.target(attempt));
        self.granted(&fields)
    }

    fn renew(&self, refresh_token: &str) -> Result<SignInGrant> {
        self.granted(&[
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh_token),
        ])
    }
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// Returns the value of a header that names the client with its secret (RFC 6749, section 2.3.1).
fn basic(id: &str, secret: &str) -> String {
    let pair = format!("{}:{}", encoded(id), encoded(secret));
    format!("Basic {}", STANDARD.encode(pair))
}
