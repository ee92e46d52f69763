//! A client that sends bytes to one path of a service, e.g. traces to a collector.

use std::time::Duration;

use loci_core::Result;
use ureq::http::{HeaderMap, HeaderValue, Response, header};

use crate::client::base_host;
use crate::loopback::is_loopback;
use crate::sent::Observed;
use crate::trust;

/// Sends bytes by POST to one URL, without redirects and retries.
#[derive(Debug)]
pub struct Posts {
    agent: ureq::Agent,
    url: String,
    reply_bytes_max: u64,
    timeout: Duration,
}

impl Posts {
    /// Returns a client that sends to `path`, which starts with a slash, under a base URL that the
    /// setting `setting` names. `timeout` is for one request, from connecting to the last byte of
    /// the reply, of which `reply_bytes_max` bytes are read at most. Does not connect.
    ///
    /// # Errors
    /// `invalid_argument`, naming the setting, if it is not a plain `http` or `https` URL, or holds
    /// credentials.
    pub fn new(
        setting: &str,
        base_url: &str,
        path: &str,
        reply_bytes_max: u64,
        timeout: Duration,
    ) -> Result<Self> {
        let base_url = base_url.trim_end_matches('/');
        let host = base_host(setting, base_url, path, "")?;
        let mut config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .tls_config(trust::tls_for(base_url))
            .middleware(Observed("otlp"))
            .timeout_global(Some(timeout));
        if is_loopback(&host) {
            config = config.proxy(None);
        }
        Ok(Posts {
            agent: config.build().new_agent(),
            url: format!("{base_url}{path}"),
            reply_bytes_max,
            timeout,
        })
    }

    /// Returns the URL to which this sends.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Sends a body with these headers, among which that of the client is replaced by loci's own,
    /// and returns the reply, whatever its status is.
    ///
    /// # Errors
    /// The problem, in words that follow the URL: the service cannot be reached, takes too long or
    /// replies with too much.
    pub fn send(
        &self,
        headers: &HeaderMap,
        body: &[u8],
    ) -> std::result::Result<Response<Vec<u8>>, String> {
        let mut post = self.agent.post(&self.url);
        if let Some(of_request) = post.headers_mut() {
            of_request.clone_from(headers);
            of_request.insert(
                header::USER_AGENT,
                HeaderValue::from_static(concat!("loci/", env!("CARGO_PKG_VERSION"))),
            );
        }
        let response = post.send(body).map_err(|error| self.failed(&error))?;
        let (parts, mut body) = response.into_parts();
        let body = body.with_config().limit(self.reply_bytes_max).read_to_vec();
        let body = body.map_err(|error| self.failed(&error))?;
        Ok(Response::from_parts(parts, body))
    }

    fn failed(&self, error: &ureq::Error) -> String {
        match error {
            ureq::Error::Timeout(_) => format!("did not answer within {:?}", self.timeout),
            ureq::Error::BodyExceedsLimit(_) => {
                format!("gave a reply of more than {} bytes", self.reply_bytes_max)
            }
            ureq::Error::HostNotFound => "has a host that is not known".to_owned(),
            error if trust::is_distrust(error) => trust::REMEDY.to_owned(),
            error => format!("cannot be reached ({error})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_plain() {
        let rows = [
            (
                "http://127.0.0.1:4318",
                Some("http://127.0.0.1:4318/v1/traces"),
            ),
            (
                "https://host.example/a/",
                Some("https://host.example/a/v1/traces"),
            ),
            ("https://user@host.example", None),
            ("https://host.example/?a=b", None),
            ("https://host.example/#a", None),
            ("ftp://host.example", None),
            ("host.example:4318", None),
            ("/a", None),
            ("", None),
        ];
        for (url, expected) in rows {
            let posts = Posts::new(
                "otlp_endpoint",
                url,
                "/v1/traces",
                1,
                Duration::from_secs(1),
            );
            assert_eq!(posts.as_ref().ok().map(Posts::url), expected, "{url}");
            if let Err(error) = posts {
                assert!(error.message.starts_with("`otlp_endpoint` "), "{error}");
            }
        }
    }
}
