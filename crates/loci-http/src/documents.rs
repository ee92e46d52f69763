//! A client for public JSON documents, such as the keys of an identity provider.

use std::time::Duration;

use loci_core::{Error, ErrorCode, Result};
use serde::de::DeserializeOwned;
use ureq::http::{StatusCode, Uri, header};

use crate::client::is_loopback;

/// The URL of a document: an `https` URL, or an `http` one on this machine, without credentials and
/// without a fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentUrl {
    text: String,
    is_plain: bool,
    is_loopback: bool,
}

impl DocumentUrl {
    /// Parses a URL that `argument` names.
    ///
    /// # Errors
    /// `invalid_argument`, naming `argument`, if it is not such a URL.
    pub fn parse(argument: &str, url: &str) -> Result<Self> {
        let wrong = |problem| Error::invalid(argument, problem);
        let uri: Uri = url
            .parse()
            .map_err(|_| wrong("is no URL; give one such as `https://host.example/path`"))?;
        let authority = uri
            .authority()
            .ok_or_else(|| wrong("must begin with `https://`"))?;
        if authority.as_str().contains('@') || url.contains('#') {
            return Err(wrong("must hold no user name, no password and no `#`"));
        }
        if authority.host().is_empty() {
            return Err(wrong("names no host"));
        }
        let is_loopback = is_loopback(authority.host());
        match uri.scheme_str() {
            Some("https") => Ok(DocumentUrl {
                text: url.to_owned(),
                is_plain: false,
                is_loopback,
            }),
            Some("http") if is_loopback => Ok(DocumentUrl {
                text: url.to_owned(),
                is_plain: true,
                is_loopback,
            }),
            _ => Err(wrong(
                "must begin with `https://`; `http://` is for this machine alone (127.0.0.1, localhost)",
            )),
        }
    }

    /// Returns the URL as it was given.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns true for an `http` URL, which is on this machine.
    pub fn is_plain(&self) -> bool {
        self.is_plain
    }
}

/// Fetches JSON documents by GET, without redirects and retries.
pub struct Documents {
    agent: ureq::Agent,
    bytes_max: u64,
    timeout: Duration,
}

impl Documents {
    /// Returns a client for documents of at most `bytes_max` bytes. `timeout` is for one of them,
    /// from connecting to its last byte. Does not connect.
    pub fn new(bytes_max: u64, timeout: Duration) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("loci/", env!("CARGO_PKG_VERSION")))
            .timeout_global(Some(timeout));
        Documents {
            agent: config.build().new_agent(),
            bytes_max,
            timeout,
        }
    }

    /// Fetches the document at a URL.
    ///
    /// # Errors
    /// With the URL and the problem: `not_found` if the server has no such document (it answers 4xx
    /// but 429), else `unavailable`: it cannot be reached, answers with anything but 200, takes too
    /// long or sends too much, or the document is not JSON of that type.
    pub fn get<Document: DeserializeOwned>(&self, url: &DocumentUrl) -> Result<Document> {
        self.try_get(url)
            .map_err(|(code, problem)| Error::new(code, format!("{} {problem}", url.text)))
    }

    fn try_get<Document: DeserializeOwned>(
        &self,
        url: &DocumentUrl,
    ) -> Result<Document, (ErrorCode, String)> {
        let unavailable = |problem| (ErrorCode::Unavailable, problem);
        let failed = |error| unavailable(self.failed_transfer(&error));
        let mut request = self
            .agent
            .get(&url.text)
            .header(header::ACCEPT, "application/json");
        if url.is_loopback {
            request = request.config().proxy(None).build();
        }
        let mut response = request.call().map_err(failed)?;
        let status = response.status();
        if status != StatusCode::OK {
            let is_missing = status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS;
            let (code, what) = match status.as_u16() {
                300..=399 => (
                    ErrorCode::Unavailable,
                    "sends elsewhere, which is not followed",
                ),
                _ if is_missing => (ErrorCode::NotFound, "is not there"),
                _ => (ErrorCode::Unavailable, "is not to be had now"),
            };
            return Err((code, format!("{what} (HTTP {})", status.as_u16())));
        }
        let body = response
            .body_mut()
            .with_config()
            .limit(self.bytes_max)
            .read_to_vec()
            .map_err(failed)?;
        serde_json::from_slice(&body).map_err(|error| {
            // Without the parser's message, which may quote the document.
            unavailable(format!(
                "is no JSON as expected (line {} column {})",
                error.line(),
                error.column()
            ))
        })
    }

    fn failed_transfer(&self, error: &ureq::Error) -> String {
        match error {
            ureq::Error::Timeout(_) => format!("did not come within {:?}", self.timeout),
            ureq::Error::BodyExceedsLimit(_) => format!("has more than {} bytes", self.bytes_max),
            ureq::Error::HostNotFound => "has a host that is not known".to_owned(),
            error => format!("cannot be fetched ({error})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_for_this_machine() {
        let rows = [
            ("https://host.example/a?b=c", Some(false)),
            ("https://127.0.0.1/a", Some(false)),
            ("http://127.0.0.1:8080", Some(true)),
            ("http://[::1]:8080/", Some(true)),
            ("http://LocalHost/", Some(true)),
            ("http://host.example/", None),
            ("http://127.0.0.1.host.example/", None),
            ("http://10.0.0.1/", None),
            ("https://user@host.example/", None),
            ("https://127.0.0.1@host.example/", None),
            ("https://host.example/#a", None),
            ("ftp://host.example/", None),
            ("//host.example/", None),
            ("https:///a", None),
            ("/a", None),
            ("host.example", None),
            ("a b", None),
            ("", None),
        ];
        for (url, is_plain) in rows {
            let parsed = DocumentUrl::parse("issuer", url);
            assert_eq!(
                parsed.as_ref().ok().map(DocumentUrl::is_plain),
                is_plain,
                "{url}"
            );
            match parsed {
                Ok(parsed) => assert_eq!(parsed.as_str(), url),
                Err(error) => assert!(error.message.starts_with("`issuer` "), "{error}"),
            }
        }
    }
}
