//! A client for JSON documents, e.g. the keys of an identity provider.

use std::time::Duration;

use loci_core::{Error, ErrorCode, Result};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use ureq::http::uri::InvalidUri;
use ureq::http::{Response, StatusCode, Uri, header};
use ureq::unversioned::transport::DefaultConnector;
use ureq::{Body, RequestBuilder};

use crate::loopback::is_loopback;
use crate::public_addresses::PublicAddresses;
use crate::sent::Observed;
use crate::trust;

/// The longest error code of OAuth that is shown.
const OAUTH_ERROR_BYTES_MAX: usize = 64;

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
        let uri: Uri = url.parse().map_err(|error: InvalidUri| {
            wrong("is no URL; give one such as `https://host.example/path`").caused_by(error)
        })?;
        let authority = uri
            .authority()
            .ok_or_else(|| wrong("must start with `https://`"))?;
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
                "must start with `https://`; `http://` is for this machine alone (127.0.0.1, localhost)",
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

/// Fetches JSON documents, without redirects and retries.
pub struct Documents {
    agent: ureq::Agent,
    bytes_max: u64,
    timeout: Duration,
}

impl Documents {
    /// Returns a client for documents of at most `bytes_max` bytes. `timeout` is for one request,
    /// from connecting to its last byte. Does not connect.
    pub fn new(bytes_max: u64, timeout: Duration) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .tls_config(trust::tls())
            .middleware(Observed("oidc"))
            .user_agent(concat!("loci/", env!("CARGO_PKG_VERSION")))
            .timeout_global(Some(timeout));
        Documents {
            agent: config.build().new_agent(),
            bytes_max,
            timeout,
        }
    }

    /// Returns a client for documents whose URLs strangers choose: it connects only to public
    /// addresses, also where a name leads to others, and uses no proxy, which would look names up by
    /// itself.
    pub fn of_strangers(bytes_max: u64, timeout: Duration) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .https_only(true)
            .proxy(None)
            .max_idle_connections(0)
            .tls_config(trust::tls())
            .middleware(Observed("oauth"))
            .user_agent(concat!("loci/", env!("CARGO_PKG_VERSION")))
            .timeout_global(Some(timeout));
        let agent = ureq::Agent::with_parts(
            config.build(),
            DefaultConnector::default(),
            PublicAddresses::default(),
        );
        Documents {
            agent,
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

    /// Sends a form by POST, with an `Authorization` header if there is one, and returns the document
    /// of the reply.
    ///
    /// # Errors
    /// With the URL and the problem: `unauthorized` if the server refuses the form (it answers 4xx
    /// but 429), with the error code of OAuth if the reply has one (RFC 6749, section 5.2), else
    /// `unavailable` as for [`get`](Self::get). No part of the form is in it.
    pub fn post<Document: DeserializeOwned>(
        &self,
        url: &DocumentUrl,
        fields: &[(&str, &str)],
        authorization: Option<&str>,
    ) -> Result<Document> {
        self.try_post(url, fields, authorization)
            .map_err(|(code, problem)| Error::new(code, format!("{} {problem}", url.text)))
    }

    fn try_get<Document: DeserializeOwned>(
        &self,
        url: &DocumentUrl,
    ) -> Result<Document, (ErrorCode, String)> {
        let request = self
            .agent
            .get(&url.text)
            .header(header::ACCEPT, "application/json");
        let mut response = directed(request, url)
            .call()
            .map_err(|error| self.unavailable(&error))?;
        let status = response.status();
        if is_refusal(status) {
            let problem = format!("is not there (HTTP {})", status.as_u16());
            return Err((ErrorCode::NotFound, problem));
        }
        self.document(&mut response)
    }

    fn try_post<Document: DeserializeOwned>(
        &self,
        url: &DocumentUrl,
        fields: &[(&str, &str)],
        authorization: Option<&str>,
    ) -> Result<Document, (ErrorCode, String)> {
        let mut request = self
            .agent
            .post(&url.text)
            .header(header::ACCEPT, "application/json");
        if let Some(authorization) = authorization {
            request = request.header(header::AUTHORIZATION, authorization);
        }
        let mut response = directed(request, url)
            .send_form(fields.iter().copied())
            .map_err(|error| self.unavailable(&error))?;
        let status = response.status();
        if is_refusal(status) {
            let named = self
                .read::<Refusal>(&mut response)
                .ok()
                .and_then(Refusal::code);
            let problem = match named {
                Some(code) => format!("refused the request: {code} (HTTP {})", status.as_u16()),
                None => format!("refused the request (HTTP {})", status.as_u16()),
            };
            return Err((ErrorCode::Unauthorized, problem));
        }
        self.document(&mut response)
    }

    /// Reads the document of a reply that refuses nothing.
    fn document<Document: DeserializeOwned>(
        &self,
        response: &mut Response<Body>,
    ) -> Result<Document, (ErrorCode, String)> {
        let status = response.status();
        if status != StatusCode::OK {
            let what = if status.is_redirection() {
                "sends elsewhere, which is not followed"
            } else {
                "is not to be had now"
            };
            let problem = format!("{what} (HTTP {})", status.as_u16());
            return Err((ErrorCode::Unavailable, problem));
        }
        self.read(response)
    }

    fn read<Document: DeserializeOwned>(
        &self,
        response: &mut Response<Body>,
    ) -> Result<Document, (ErrorCode, String)> {
        let body = response
            .body_mut()
            .with_config()
            .limit(self.bytes_max)
            .read_to_vec()
            .map_err(|error| self.unavailable(&error))?;
        serde_json::from_slice(&body).map_err(|error| {
            // Without the parser's message, which may quote the document.
            let (line, column) = (error.line(), error.column());
            let problem = format!("is no JSON as expected (line {line} column {column})");
            (ErrorCode::Unavailable, problem)
        })
    }

    fn unavailable(&self, error: &ureq::Error) -> (ErrorCode, String) {
        (ErrorCode::Unavailable, self.failed_transfer(error))
    }

    fn failed_transfer(&self, error: &ureq::Error) -> String {
        match error {
            ureq::Error::Timeout(_) => format!("did not come within {:?}", self.timeout),
            ureq::Error::BodyExceedsLimit(_) => format!("has more than {} bytes", self.bytes_max),
            ureq::Error::HostNotFound => "has a host that is not known".to_owned(),
            error if trust::is_distrust(error) => trust::REMEDY.to_owned(),
            error => format!("cannot be fetched ({error})"),
        }
    }
}

/// The error of OAuth in a reply.
#[derive(Deserialize)]
struct Refusal {
    error: String,
}

impl Refusal {
    /// Returns the code if it has the form of one: its reader sees nothing else of a foreign reply.
    fn code(self) -> Option<String> {
        let is_code = self.error.len() <= OAUTH_ERROR_BYTES_MAX
            && self
                .error
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        Some(self.error).filter(|_| is_code)
    }
}

/// Returns true if the server answers that it does not do this.
fn is_refusal(status: StatusCode) -> bool {
    status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS
}

/// Leaves out the proxy on the way to this machine.
fn directed<Any>(request: RequestBuilder<Any>, url: &DocumentUrl) -> RequestBuilder<Any> {
    if url.is_loopback {
        request.config().proxy(None).build()
    } else {
        request
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
