//! A model behind an OpenAI-compatible endpoint.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;
use std::time::Duration;

use loci_core::{Embedder, Error, ModelId, Result};
use serde::{Deserialize, Serialize};
use ureq::http::{StatusCode, Uri};

use crate::unit_vector::unit_vector;

/// Bytes of one reply: over 4,000 vectors of 1,536 components as JSON.
const REPLY_BYTES_MAX: u64 = 64 << 20;
/// The longest wait before another try.
const BACKOFF_MAX: Duration = Duration::from_secs(4);
/// The text that [`HttpModel::probe`] embeds.
const PROBE_TEXT: &str = "dimension probe";

/// Where the endpoint is and how patient to be with it. Not `Debug`, for the key's sake.
#[derive(Clone)]
pub struct HttpModelOptions {
    /// What `/embeddings` is appended to, such as `http://localhost:11434/v1`.
    pub base_url: String,
    /// The model's name as the endpoint knows it.
    pub model: String,
    /// Sent as a bearer token; never part of a message.
    pub key: Option<String>,
    /// For one request, from connecting to the last byte of the reply. Default 10 s.
    pub timeout: Duration,
    /// Further tries when the endpoint cannot be reached, is overloaded (429) or fails (5xx).
    /// Default 2.
    pub retries: u32,
    /// The wait before the first further try; it doubles each time, up to 4 s, and up to half
    /// of it is added at random. Default 250 ms.
    pub backoff: Duration,
    /// Texts in one request. Default 64.
    pub texts_per_request_max: usize,
}

impl HttpModelOptions {
    /// The defaults for a model at an endpoint.
    pub fn new(base_url: impl Into<String>, model: impl Into<String>) -> Self {
        HttpModelOptions {
            base_url: base_url.into(),
            model: model.into(),
            key: None,
            timeout: Duration::from_secs(10),
            retries: 2,
            backoff: Duration::from_millis(250),
            texts_per_request_max: 64,
        }
    }
}

/// A model behind an OpenAI-compatible endpoint (`POST {base_url}/embeddings`): Ollama, vLLM,
/// OpenAI and many others.
///
/// A request is tried `1 + retries` times, so a call takes at most that many timeouts and waits
/// for each `texts_per_request_max` texts. The first reply fixes the dimension; a later reply
/// of another one is refused.
pub struct HttpModel {
    model: ModelId,
    options: HttpModelOptions,
    url: String,
    agent: ureq::Agent,
    dimension: OnceLock<usize>,
}

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    input: &'a [&'a str],
    encoding_format: &'static str,
}

#[derive(Deserialize)]
struct Reply {
    data: Vec<ReplyVector>,
}

#[derive(Deserialize)]
struct ReplyVector {
    index: Option<usize>,
    /// Doubles, so that a number beyond single precision reads as infinite and is refused as such.
    embedding: Vec<f64>,
}

/// Why one try failed, and whether another may help.
struct Failure {
    problem: String,
    transient: bool,
}

impl HttpModel {
    /// A model at an endpoint. Connects to nothing.
    ///
    /// # Errors
    /// `invalid_argument` if the address is no plain `http` or `https` URL or holds
    /// credentials, if the model has no name, or if a limit is zero.
    pub fn new(options: HttpModelOptions) -> Result<Self> {
        let base_url = options.base_url.trim_end_matches('/');
        let host = checked_host(base_url)?;
        if options.model.trim().is_empty() {
            return Err(Error::invalid("embedding.model", "must name a model of the endpoint"));
        }
        if options.texts_per_request_max == 0 || options.timeout.is_zero() {
            return Err(Error::invalid("embedding", "needs a timeout and a batch size above zero"));
        }
        if options.key.as_deref().is_some_and(|key| key.chars().any(|c| c.is_control() || !c.is_ascii())) {
            return Err(Error::invalid("embedding.api_key", "must be printable ASCII without line ends"));
        }
        let mut config = ureq::Agent::config_builder()
            .timeout_global(Some(options.timeout))
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("loci/", env!("CARGO_PKG_VERSION")));
        if is_loopback(&host) {
            config = config.proxy(None);
        }
        Ok(HttpModel {
            model: ModelId::new(format!("http:{}@{base_url}", options.model)),
            url: format!("{base_url}/embeddings"),
            agent: config.build().new_agent(),
            dimension: OnceLock::new(),
            options,
        })
    }

    /// Embeds one text and returns the number of components of the model's vectors.
    ///
    /// # Errors
    /// As for [`embed`](Embedder::embed).
    pub fn probe(&self) -> Result<usize> {
        let vectors = self.embed(&[PROBE_TEXT])?;
        Ok(vectors.first().map_or(0, Vec::len))
    }

    /// One request, tried again while that may help.
    fn embed_batch(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let mut tries = 0;
        loop {
            match self.try_once(texts) {
                Ok(vectors) => return Ok(vectors),
                Err(failure) if failure.transient && tries < self.options.retries => {
                    self.back_off(tries);
                    tries += 1;
                }
                Err(failure) => {
                    let (model, url) = (&self.options.model, &self.url);
                    let after = if tries > 0 { format!(" after {} tries", tries + 1) } else { String::new() };
                    let message = format!("the embedding model {model} at {url} {}{after}", failure.problem);
                    return Err(Error::unavailable(message));
                }
            }
        }
    }

    fn try_once(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, Failure> {
        let request = Request { model: &self.options.model, input: texts, encoding_format: "float" };
        let mut post = self.agent.post(&self.url);
        if let Some(key) = &self.options.key {
            post = post.header("authorization", format!("Bearer {key}"));
        }
        let mut response = post.send_json(&request).map_err(|error| self.failed_transfer(&error))?;
        if response.status() != StatusCode::OK {
            return Err(failed_status(response.status()));
        }
        let body = response.body_mut().with_config().limit(REPLY_BYTES_MAX).read_to_vec();
        let body = body.map_err(|error| self.failed_transfer(&error))?;
        let reply = serde_json::from_slice(&body).map_err(|error| {
            // Without the parser's own words, which may quote the reply.
            let place = format!("line {} column {}", error.line(), error.column());
            bad_reply(format!("gave a reply that is no list of embeddings ({place})"))
        })?;
        self.vectors(reply, texts.len())
    }

    /// The vectors of a reply in the order of the texts.
    fn vectors(&self, reply: Reply, count: usize) -> Result<Vec<Vec<f32>>, Failure> {
        if reply.data.len() != count {
            return Err(bad_reply(format!("gave {} embeddings for {count} texts", reply.data.len())));
        }
        let mut vectors: Vec<Option<Vec<f32>>> = vec![None; count];
        for (position, vector) in reply.data.into_iter().enumerate() {
            let index = vector.index.unwrap_or(position);
            let Some(slot @ None) = vectors.get_mut(index) else {
                return Err(bad_reply(format!("gave the index {index} twice or beyond the {count} texts")));
            };
            let Some(values) = unit_vector(vector.embedding.into_iter().map(|value| value as f32).collect()) else {
                return Err(bad_reply("gave an embedding that is empty, zero or not finite".to_owned()));
            };
            *slot = Some(values);
        }
        let vectors: Vec<_> = vectors.into_iter().flatten().collect();
        let known = *self.dimension.get_or_init(|| vectors.first().map_or(0, Vec::len));
        if let Some(other) = vectors.iter().map(Vec::len).find(|&dimension| dimension != known) {
            let problem = format!("gave {other} components where it gave {known} before");
            return Err(bad_reply(format!("{problem}; if another model serves there now, start loci again")));
        }
        Ok(vectors)
    }

    fn failed_transfer(&self, error: &ureq::Error) -> Failure {
        let (problem, transient) = match error {
            ureq::Error::Timeout(_) => {
                let problem = format!("did not answer within {:?}", self.options.timeout);
                (format!("{problem}; see whether it is overloaded, or raise `embedding.timeout_seconds`"), false)
            }
            ureq::Error::BodyExceedsLimit(_) => {
                (format!("gave a reply of more than {REPLY_BYTES_MAX} bytes; see whether this is its address"), false)
            }
            ureq::Error::HostNotFound => ("has a host that is not known; see `embedding.url`".to_owned(), true),
            error => (format!("cannot be reached ({error}); see whether it runs, and `embedding.url`"), true),
        };
        Failure { problem, transient }
    }

    /// Waits before another try: exponentially longer, with jitter so that processes which
    /// failed together do not come back together.
    #[expect(clippy::disallowed_methods, reason = "a back-off waits for time itself")]
    fn back_off(&self, tries: u32) {
        let wait = self.options.backoff.saturating_mul(1 << tries.min(16)).min(BACKOFF_MAX);
        let random = RandomState::new().build_hasher().finish() as f64 / u64::MAX as f64;
        std::thread::sleep(wait.mul_f64(1.0 + random / 2.0));
    }
}

impl Embedder for HttpModel {
    fn model(&self) -> &ModelId {
        &self.model
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(self.options.texts_per_request_max) {
            vectors.extend(self.embed_batch(batch)?);
        }
        Ok(vectors)
    }
}

fn bad_reply(problem: String) -> Failure {
    Failure { problem, transient: false }
}

fn failed_status(status: StatusCode) -> Failure {
    let advice = match status.as_u16() {
        401 | 403 => "refused the key; see `embedding.api_key`",
        404 => "is not there; see `embedding.url` and `embedding.model`",
        413 => "finds the request too large; raise its limit",
        429 => "is asked too often; try later, or raise its rate limit",
        300..=399 => "sends elsewhere, which is not followed; set `embedding.url` to the final address",
        500.. => "failed; see its log",
        _ => "did not accept the request; see `embedding.model`, and its log",
    };
    let transient = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
    Failure { problem: format!("{advice} (HTTP {})", status.as_u16()), transient }
}

/// The host of a base URL that can have a path appended and be shown to anyone.
fn checked_host(base_url: &str) -> Result<String> {
    let wrong = |problem: &str| Error::invalid("embedding.url", problem);
    let uri: Uri = base_url.parse().map_err(|_| wrong("is no URL; give one such as `http://localhost:11434/v1`"))?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err(wrong("must begin with `http://` or `https://`"));
    }
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err(wrong("must not hold a user name or a password; set `embedding.api_key` instead"));
    }
    if uri.query().is_some() || base_url.contains('#') {
        return Err(wrong("must end before `?` and `#`; `/embeddings` is appended to it"));
    }
    uri.host().filter(|host| !host.is_empty()).map(str::to_owned).ok_or_else(|| wrong("names no host"))
}

/// Whether a host is this machine, which no proxy can reach.
fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}
