//! A client for public files, e.g. the weights of a model.

use std::io::{self, Read, Write};
use std::time::Duration;

use loci_core::{Error, Result};
use ureq::http::uri::InvalidUri;
use ureq::http::{StatusCode, Uri};

use crate::loopback::is_loopback;
use crate::sent::Observed;
use crate::trust;

/// The timeout of connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// The number of redirects that are followed, because publishers often redirect to the storage of
/// the file.
const REDIRECTS_MAX: u32 = 5;

/// Fetches files by GET. The caller checks the content, e.g. by a checksum.
pub struct Downloads {
    agent: ureq::Agent,
    timeout: Duration,
}

impl Downloads {
    /// Returns a client. `timeout` is for one file, from connecting to its last byte. Does not
    /// connect.
    pub fn new(timeout: Duration) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(REDIRECTS_MAX)
            .tls_config(trust::tls())
            .middleware(Observed("model"))
            .user_agent(concat!("loci/", env!("CARGO_PKG_VERSION")))
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_global(Some(timeout));
        Downloads {
            agent: config.build().new_agent(),
            timeout,
        }
    }

    /// Writes the file at an `http` or `https` URL, of at most `bytes_max` bytes; returns its size.
    /// After a failure a part may be written.
    ///
    /// # Errors
    /// With the URL and the problem: `invalid_argument` if it is not such a URL or holds
    /// credentials, `not_found` if the server has no such file, else `unavailable`: it cannot be
    /// reached, answers with anything but 200, takes too long, sends too much, or the bytes cannot
    /// be written.
    pub fn fetch(&self, url: &str, bytes_max: u64, into: &mut dyn Write) -> Result<u64> {
        let invalid = |problem: &str| Error::invalid("url", format_args!("{problem} ({url})"));
        let uri: Uri = url.parse().map_err(|error: InvalidUri| {
            invalid("is not a URL; give one such as https://host.example/file").caused_by(error)
        })?;
        let authority = uri.authority().ok_or_else(|| invalid("names no host"))?;
        if authority.as_str().contains('@') {
            return Err(Error::invalid(
                "url",
                "must hold no user name and no password",
            ));
        }
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(invalid("must start with `https://` or `http://`"));
        }
        let unavailable = |problem: String| Error::unavailable(format!("{url} {problem}"));
        let mut request = self.agent.get(url);
        if is_loopback(authority.host()) {
            request = request.config().proxy(None).build();
        }
        let mut response = request
            .call()
            .map_err(|error| unavailable(self.failed(&error)))?;
        let status = response.status();
        if status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS {
            return Err(Error::not_found(format!(
                "{url} is not there (HTTP {})",
                status.as_u16()
            )));
        }
        if status != StatusCode::OK {
            return Err(unavailable(format!(
                "cannot be fetched now (HTTP {})",
                status.as_u16()
            )));
        }
        // One more byte distinguishes a file that is too large from one that just fits.
        let mut body = response
            .body_mut()
            .as_reader()
            .take(bytes_max.saturating_add(1));
        let bytes = io::copy(&mut body, into)
            .map_err(|error| unavailable(format!("was not fetched whole ({error})")))?;
        if bytes > bytes_max {
            return Err(unavailable(format!("has more than {bytes_max} bytes")));
        }
        Ok(bytes)
    }

    fn failed(&self, error: &ureq::Error) -> String {
        match error {
            ureq::Error::Timeout(_) => format!("did not come within {:?}", self.timeout),
            ureq::Error::HostNotFound => "has a host that is not known".to_owned(),
            error if trust::is_distrust(error) => trust::REMEDY.to_owned(),
            error => format!("cannot be fetched ({error})"),
        }
    }
}
