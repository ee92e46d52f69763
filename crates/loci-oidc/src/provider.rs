//! Finds and fetches the keys of an issuer.

use loci_core::limits::NAME_CHARACTERS_MAX;
use loci_core::{Error, ErrorCode, Result};
use loci_http::{DocumentUrl, Documents};
use serde::Deserialize;

use crate::OidcOptions;
use crate::jwk::{JwkSet, KeySet};

/// The largest size of each document in bytes.
const DOCUMENT_BYTES_MAX: u64 = 256 << 10;

/// The server that publishes the configuration and the keys of an issuer.
pub(crate) struct Provider {
    issuer: DocumentUrl,
    documents: Documents,
}

/// The relevant members of the provider's configuration.
#[derive(Default, Deserialize)]
pub(crate) struct Configuration {
    issuer: String,
    jwks_uri: String,
    authorization_endpoint: Option<String>,
    token_endpoint: Option<String>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

impl Configuration {
    /// Checks that the configuration is that of this issuer.
    fn check_issuer(&self, issuer: &DocumentUrl) -> Result<(), String> {
        if self.issuer == issuer.as_str() {
            return Ok(());
        }
        let other: String = self.issuer.chars().take(NAME_CHARACTERS_MAX).collect();
        Err(format!(
            "it is that of the issuer {other:?}; give `oidc.issuer` exactly as it is there"
        ))
    }

    /// Returns the URL of the keys, if no third party can replace the keys.
    fn keys_url(&self, issuer: &DocumentUrl) -> Result<DocumentUrl, String> {
        checked_url("jwks_uri", &self.jwks_uri, issuer)
    }

    /// Returns true if a client sends its secret in the form instead of a header.
    pub(crate) fn takes_secrets_in_forms(&self) -> bool {
        // Without a list it is the header (OpenID Connect Discovery 1.0, section 3).
        self.token_endpoint_auth_methods_supported
            .as_ref()
            .is_some_and(|methods| !methods.iter().any(|method| method == "client_secret_basic"))
    }
}

/// Returns a URL of the configuration, if it is as safe as the issuer's.
fn checked_url(member: &str, url: &str, issuer: &DocumentUrl) -> Result<DocumentUrl, String> {
    let url = DocumentUrl::parse(member, url).map_err(|error| error.message)?;
    if url.is_plain() && !issuer.is_plain() {
        return Err(format!(
            "`{member}` must start with `https://`, as the issuer does"
        ));
    }
    Ok(url)
}

impl Provider {
    pub(crate) fn new(issuer: DocumentUrl, options: &OidcOptions) -> Self {
        Provider {
            issuer,
            documents: Documents::new(DOCUMENT_BYTES_MAX, options.timeout),
        }
    }

    /// Returns the issuer as it was given.
    pub(crate) fn issuer(&self) -> &str {
        self.issuer.as_str()
    }

    /// Fetches the keys. Takes at most the time of three documents.
    ///
    /// # Errors
    /// `unavailable`, or `not_found` if a document is missing, naming the document.
    pub(crate) fn fetch(&self) -> Result<KeySet> {
        let url = self.keys_url()?;
        KeySet::of(self.documents.get::<JwkSet>(&url)?)
            .map_err(|problem| Error::unavailable(format!("{} {problem}", url.as_str())))
    }

    fn keys_url(&self) -> Result<DocumentUrl> {
        let configuration = self.discover()?;
        let url = configuration.keys_url(&self.issuer);
        url.map_err(|problem| self.wrong(&problem))
    }

    /// Returns the configuration of the issuer, by OpenID Connect Discovery 1.0, section 4, or else by
    /// RFC 8414, section 3. Takes at most the time of two documents.
    ///
    /// # Errors
    /// `unavailable`, or `not_found` if there is no such document, naming it.
    pub(crate) fn discover(&self) -> Result<Configuration> {
        let [first, second] = configuration_urls(self.issuer());
        let configuration = match self.configuration(&first) {
            Err(missing) if missing.code == ErrorCode::NotFound => {
                self.configuration(&second).map_err(|error| {
                    Error::new(
                        error.code,
                        format!("{}, and {}", missing.message, error.message),
                    )
                })
            }
            other => other,
        }?;
        let checked = configuration.check_issuer(&self.issuer);
        checked.map_err(|problem| self.wrong(&problem))?;
        Ok(configuration)
    }

    /// Returns the URL at which people sign in.
    ///
    /// # Errors
    /// `unavailable` if the configuration has none that is safe.
    pub(crate) fn authorization_url(&self, configuration: &Configuration) -> Result<DocumentUrl> {
        let url = configuration.authorization_endpoint.as_deref();
        self.endpoint("authorization_endpoint", url)
    }

    /// Returns the URL at which codes are redeemed.
    ///
    /// # Errors
    /// `unavailable` if the configuration has none that is safe.
    pub(crate) fn token_url(&self, configuration: &Configuration) -> Result<DocumentUrl> {
        self.endpoint("token_endpoint", configuration.token_endpoint.as_deref())
    }

    fn endpoint(&self, member: &str, url: Option<&str>) -> Result<DocumentUrl> {
        let url = url
            .ok_or_else(|| format!("it names no `{member}`, so that people cannot sign in there"));
        url.and_then(|url| checked_url(member, url, &self.issuer))
            .map_err(|problem| self.wrong(&problem))
    }

    fn wrong(&self, problem: &str) -> Error {
        Error::unavailable(format!(
            "the identity provider's configuration of {}: {problem}",
            self.issuer()
        ))
    }

    pub(crate) fn documents(&self) -> &Documents {
        &self.documents
    }

    fn configuration(&self, url: &str) -> Result<Configuration> {
        self.documents.get(&DocumentUrl::parse("oidc.issuer", url)?)
    }
}

/// Returns the URLs of the configuration of an issuer, the likelier first.
fn configuration_urls(issuer: &str) -> [String; 2] {
    let issuer = issuer.trim_end_matches('/');
    let start = issuer.find("://").map_or(0, |scheme| scheme + 3);
    let (host, path) = issuer.split_at(
        issuer[start..]
            .find('/')
            .map_or(issuer.len(), |slash| start + slash),
    );
    [
        format!("{issuer}/.well-known/openid-configuration"),
        format!("{host}/.well-known/oauth-authorization-server{path}"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_well_known_part_comes_last_or_after_the_host() {
        let rows = [
            (
                "https://a.example",
                "https://a.example",
                "https://a.example",
                "",
            ),
            (
                "https://a.example/",
                "https://a.example",
                "https://a.example",
                "",
            ),
            (
                "http://[::1]:80/b/c/",
                "http://[::1]:80/b/c",
                "http://[::1]:80",
                "/b/c",
            ),
        ];
        for (issuer, base, host, path) in rows {
            let expected = [
                format!("{base}/.well-known/openid-configuration"),
                format!("{host}/.well-known/oauth-authorization-server{path}"),
            ];
            assert_eq!(configuration_urls(issuer), expected);
        }
    }

    #[test]
    fn keys_come_by_https_if_the_issuer_does() {
        let (remote, local) = ("https://a.example/b", "http://127.0.0.1:80");
        let rows = [
            (remote, remote, "https://a.example/keys?v=1", true),
            (remote, remote, "https://keys.example", true),
            (remote, remote, "http://a.example/keys", false),
            (remote, remote, "http://127.0.0.1/keys", false),
            (
                remote,
                "https://a.example/b/",
                "https://a.example/keys",
                false,
            ),
            (local, local, "http://127.0.0.1:81/keys", true),
            (local, local, "https://a.example/keys", true),
            (local, local, "http://a.example/keys", false),
        ];
        for (issuer, named, keys, is_good) in rows {
            let issuer = DocumentUrl::parse("issuer", issuer).unwrap();
            let configuration = Configuration {
                issuer: named.to_owned(),
                jwks_uri: keys.to_owned(),
                ..Configuration::default()
            };
            let checked = configuration.check_issuer(&issuer);
            let keys_url = checked.and_then(|()| configuration.keys_url(&issuer));
            assert_eq!(keys_url.is_ok(), is_good, "{keys}");
        }
    }
}
