//! The common parts of all clients: send JSON to one address, read JSON back, and retry if that may
//! help.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{Duration, Instant};

use loci_core::limits::REFERENCE_BYTES_MAX;
use loci_core::{Error, ErrorCode, Result, check_name};
use serde::Serialize;
use serde::de::DeserializeOwned;
use ureq::http::uri::InvalidUri;
use ureq::http::{Response, StatusCode, Uri, header};

use crate::loopback::is_loopback;
use crate::sent::Observed;
use crate::trust;

/// The longest wait before a retry, without its random part. A service that asks for a longer one
/// is not called again.
const WAIT_MAX: Duration = Duration::from_secs(4);

/// A service, with its settings, timeouts and retries.
pub(crate) struct Service {
    /// The noun for it in messages, e.g. `embedding model`.
    pub(crate) what: &'static str,
    /// The noun for its reply in messages, e.g. `list of embeddings`.
    pub(crate) reply: &'static str,
    /// The section of its settings, which are `url` and `api_key`; with a model also `model` and
    /// `timeout_seconds`.
    pub(crate) section: &'static str,
    /// The model, as the service knows it, if there is a choice.
    pub(crate) model: Option<String>,
    /// The URL to which `path` is appended.
    pub(crate) base_url: String,
    /// The path, which starts with a slash.
    pub(crate) path: &'static str,
    /// Sent as a bearer token; never part of a message.
    pub(crate) key: Option<String>,
    /// The largest size of a reply in bytes.
    pub(crate) reply_bytes_max: u64,
    /// The error code of a call that the service refuses for now (429).
    pub(crate) refused: ErrorCode,
    /// The timeout of one try, from connecting to the last byte of the reply.
    pub(crate) timeout: Duration,
    /// The timeout of all tries of a call with the waits between them.
    pub(crate) call_timeout: Duration,
    /// The number of retries.
    pub(crate) retries: u32,
    /// The wait before the first retry.
    pub(crate) backoff: Duration,
}

/// A client of one service.
pub(crate) struct Client {
    service: Service,
    url: String,
    agent: ureq::Agent,
}

/// The failure of one try.
struct Failure {
    problem: String,
    code: ErrorCode,
    /// True if a retry may help.
    transient: bool,
    /// The wait that the service asks for.
    retry_after: Option<Duration>,
}

impl Client {
    /// Returns a client of a service. Does not connect.
    ///
    /// # Errors
    /// `invalid_argument`, naming the setting, if the address is not a plain `http` or `https` URL,
    /// is too long or holds credentials, if the model has no valid name, if the key cannot be sent,
    /// or if the timeout is zero.
    pub(crate) fn new(service: Service) -> Result<Self> {
        let base_url = service.base_url.trim_end_matches('/');
        let host = service.checked_host(base_url)?;
        if service
            .model
            .as_deref()
            .is_some_and(|model| check_name("model", model).is_err())
        {
            return Err(service.invalid("model", "must name a model of the endpoint"));
        }
        if base_url.len() > REFERENCE_BYTES_MAX {
            let problem = format!("must have at most {REFERENCE_BYTES_MAX} bytes");
            return Err(service.invalid("url", &problem));
        }
        if service.timeout.is_zero() {
            return Err(Error::invalid(
                service.section,
                "needs a timeout above zero",
            ));
        }
        if service
            .key
            .as_deref()
            .is_some_and(|key| key.chars().any(|c| c.is_control() || !c.is_ascii()))
        {
            return Err(service.invalid("api_key", "must be printable ASCII without line ends"));
        }
        let mut config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .tls_config(trust::tls_for(base_url))
            .middleware(Observed(service.section))
            .user_agent(concat!("loci/", env!("CARGO_PKG_VERSION")));
        if is_loopback(&host) {
            config = config.proxy(None);
        }
        Ok(Client {
            url: format!("{base_url}{}", service.path),
            agent: config.build().new_agent(),
            service,
        })
    }

    /// Sends a request and reads its reply, with retries while they may help. An error of `read`
    /// describes the mistake of the service, in words that follow its name, and contains nothing of
    /// the reply but numbers.
    ///
    /// # Errors
    /// `unavailable`, or the code that the service has for 429, with the service, the problem and
    /// the way out.
    pub(crate) fn post<Reply: DeserializeOwned, T>(
        &self,
        request: &impl Serialize,
        read: impl FnOnce(Reply) -> Result<T, String>,
    ) -> Result<T> {
        let start = Instant::now();
        let left = || self.service.call_timeout.saturating_sub(start.elapsed());
        let mut tries = 1;
        let failure = loop {
            match self.try_once(request, left()) {
                Ok(reply) => match read(reply) {
                    Ok(value) => return Ok(value),
                    Err(problem) => break Failure::lasting(problem),
                },
                Err(failure) => match self
                    .service
                    .wait_after(&failure, tries)
                    .filter(|&wait| wait < left())
                {
                    Some(wait) => pause(wait),
                    None => break failure,
                },
            }
            tries += 1;
        };
        let Service { what, model, .. } = &self.service;
        let model = model
            .as_deref()
            .map(|model| format!(" {model}"))
            .unwrap_or_default();
        let after = if tries > 1 {
            format!(" after {tries} tries")
        } else {
            String::new()
        };
        Err(Error::new(
            failure.code,
            format!(
                "the {what}{model} at {} {}{after}",
                self.url, failure.problem
            ),
        ))
    }

    fn try_once<Reply: DeserializeOwned>(
        &self,
        request: &impl Serialize,
        left: Duration,
    ) -> Result<Reply, Failure> {
        let timeout = self.service.timeout.min(left);
        let mut post = self
            .agent
            .post(&self.url)
            .config()
            .timeout_global(Some(timeout))
            .build();
        if let Some(key) = &self.service.key {
            post = post.header(header::AUTHORIZATION, format!("Bearer {key}"));
        }
        let mut response = post
            .send_json(request)
            .map_err(|error| self.failed_transfer(&error))?;
        if response.status() != StatusCode::OK {
            return Err(self.failed_status(&response));
        }
        let body = response
            .body_mut()
            .with_config()
            .limit(self.service.reply_bytes_max)
            .read_to_vec();
        let body = body.map_err(|error| self.failed_transfer(&error))?;
        let read = loci_json::from_slice(&body).map(|(reply, _)| reply);
        read.map_err(|error| {
            // Without the parser's message, which may quote the reply.
            let (line, column) = (error.line(), error.column());
            let problem = format!(
                "gave a reply that is no {} (line {line} column {column})",
                self.service.reply
            );
            Failure::lasting(problem)
        })
    }

    fn failed_transfer(&self, error: &ureq::Error) -> Failure {
        let Service {
            section,
            timeout,
            reply_bytes_max,
            ..
        } = &self.service;
        match error {
            ureq::Error::Timeout(_) => {
                let advice = match self.service.model {
                    Some(_) => format!(
                        "see whether it is overloaded, or raise `{section}.timeout_seconds`"
                    ),
                    None => "try later".to_owned(),
                };
                Failure::lasting(format!("did not answer within {timeout:?}; {advice}"))
            }
            ureq::Error::BodyExceedsLimit(_) => Failure::lasting(format!(
                "gave a reply of more than {reply_bytes_max} bytes; see whether this is its address"
            )),
            ureq::Error::HostNotFound => {
                Failure::passing(format!("has a host that is not known; see `{section}.url`"))
            }
            error if trust::is_distrust(error) => {
                Failure::lasting(format!("{} ({error})", trust::REMEDY))
            }
            error => Failure::passing(format!(
                "cannot be reached ({error}); see whether it runs, and `{section}.url`"
            )),
        }
    }

    fn failed_status<Body>(&self, response: &Response<Body>) -> Failure {
        let section = self.service.section;
        let has_model = self.service.model.is_some();
        let status = response.status();
        let advice = match status.as_u16() {
            300..=399 => format!(
                "sends elsewhere, which is not followed; set `{section}.url` to the final address"
            ),
            401 | 403 => format!("refused the key; see `{section}.api_key`"),
            404 if has_model => format!("is not there; see `{section}.url` and `{section}.model`"),
            404 => format!("is not there; see `{section}.url`"),
            413 => "finds the request too large; raise its limit".to_owned(),
            429 => "is asked too often; try later, or raise its rate limit".to_owned(),
            // Tavily's own codes.
            432 | 433 => format!("has no use left in the plan of `{section}.api_key`"),
            500.. if has_model => "failed; see its log".to_owned(),
            500.. => "failed; try later".to_owned(),
            _ if has_model => {
                format!("did not accept the request; see `{section}.model`, and its log")
            }
            _ => "did not accept the request; try a shorter one".to_owned(),
        };
        let retry_after = response
            .headers()
            .get(header::RETRY_AFTER)
            .and_then(|seconds| {
                // The other form, a date, would need the clocks of both machines to agree.
                Some(Duration::from_secs(seconds.to_str().ok()?.parse().ok()?))
            });
        let asks = retry_after
            .map(|wait| format!(", which asks for a wait of {wait:?}"))
            .unwrap_or_default();
        let is_refused = status == StatusCode::TOO_MANY_REQUESTS;
        Failure {
            problem: format!("{advice} (HTTP {}{asks})", status.as_u16()),
            code: if is_refused {
                self.service.refused
            } else {
                ErrorCode::Unavailable
            },
            transient: is_refused || status.is_server_error(),
            retry_after,
        }
    }
}

impl Service {
    /// Returns the host of a base URL to which a path can be appended, and which contains no
    /// secret.
    fn checked_host(&self, base_url: &str) -> Result<String> {
        let section = self.section;
        let remedy = format!("; set `{section}.api_key` instead");
        base_host(&format!("{section}.url"), base_url, self.path, &remedy)
    }

    /// Returns the error for a setting that cannot work.
    fn invalid(&self, setting: &str, problem: &str) -> Error {
        Error::invalid(&format!("{}.{setting}", self.section), problem)
    }

    /// Returns the wait before a retry: the one that the service asks for, or an exponential
    /// backoff; with jitter, so that processes that failed together do not retry together. `None`
    /// if a retry cannot help.
    fn wait_after(&self, failure: &Failure, tries: u32) -> Option<Duration> {
        if !failure.transient || tries > self.retries {
            return None;
        }
        let backoff = || {
            self.backoff
                .saturating_mul(1 << (tries - 1).min(16))
                .min(WAIT_MAX)
        };
        let wait = failure.retry_after.unwrap_or_else(backoff);
        let random = RandomState::new().build_hasher().finish() as f64 / u64::MAX as f64;
        (wait <= WAIT_MAX).then(|| wait.mul_f64(1.0 + random / 2.0))
    }
}

impl Failure {
    /// Returns a failure that a retry would meet again.
    fn lasting(problem: String) -> Self {
        Failure {
            problem,
            code: ErrorCode::Unavailable,
            transient: false,
            retry_after: None,
        }
    }

    /// Returns a failure that a retry may not meet.
    fn passing(problem: String) -> Self {
        Failure {
            transient: true,
            ..Failure::lasting(problem)
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a back-off waits for time itself"
)]
fn pause(wait: Duration) {
    std::thread::sleep(wait);
}

/// Returns the host of an `http` or `https` URL to which `path` can be appended, and which contains
/// no secret. `remedy` tells, after the problem, where a secret belongs.
///
/// # Errors
/// `invalid_argument`, naming `setting`, for another URL.
pub(crate) fn base_host(setting: &str, base_url: &str, path: &str, remedy: &str) -> Result<String> {
    let wrong = |problem: &str| Error::invalid(setting, problem);
    let uri: Uri = base_url.parse().map_err(|error: InvalidUri| {
        wrong("is no URL; give one such as `https://host.example/v1`").caused_by(error)
    })?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err(wrong("must start with `http://` or `https://`"));
    }
    if uri
        .authority()
        .is_some_and(|authority| authority.as_str().contains('@'))
    {
        let problem = format!("must not hold a user name or a password{remedy}");
        return Err(wrong(&problem));
    }
    if uri.query().is_some() || base_url.contains('#') {
        let problem = format!("must end before `?` and `#`; `{path}` is appended to it");
        return Err(wrong(&problem));
    }
    uri.host()
        .filter(|host| !host.is_empty())
        .map(str::to_owned)
        .ok_or_else(|| wrong("names no host"))
}
