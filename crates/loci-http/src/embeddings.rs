//! A client of an embedding model behind an OpenAI-compatible endpoint.

use std::sync::OnceLock;
use std::time::Duration;

use loci_core::{Embedder, Error, ErrorCode, ModelId, Result, unit_vector};
use serde::{Deserialize, Serialize};

use crate::client::{Client, Service};

/// The largest size of a reply in bytes: over 4,000 vectors of 1,536 components as JSON.
const REPLY_BYTES_MAX: u64 = 64 << 20;
/// The text that [`HttpModel::probe`] embeds.
const PROBE_TEXT: &str = "dimension probe";

/// The prefix of fingerprints, before the model's name.
const PREFIX: &str = "http:";

/// Returns the suffix of the fingerprints of an endpoint's models.
fn suffix(base_url: &str) -> String {
    format!("@{}", base_url.trim_end_matches('/'))
}

/// The endpoint and its timeouts and retries. Not `Debug`, to keep the key secret.
#[derive(Clone)]
pub struct HttpModelOptions {
    /// The URL to which `/embeddings` is appended, e.g. `http://localhost:11434/v1`.
    pub base_url: String,
    /// The model's name as the endpoint knows it.
    pub model: String,
    /// Sent as a bearer token; never part of a message.
    pub key: Option<String>,
    /// The timeout of one request, from connecting to the last byte of the reply. Default 10 s.
    pub timeout: Duration,
    /// The number of retries if the endpoint cannot be reached, is overloaded (429) or fails (5xx).
    /// Default 2.
    pub retries: u32,
    /// The wait before the first retry; it doubles each time, up to 4 s, and up to half as much is
    /// added at random. A wait that the endpoint asks for takes precedence; one above 4 s ends the
    /// retries. Default 250 ms.
    pub backoff: Duration,
    /// The largest number of texts in one request. Default 64.
    pub texts_per_request_max: usize,
}

impl HttpModelOptions {
    /// Returns the defaults for a model at an endpoint.
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
    /// The name in `model`, as the endpoint knows it.
    name: String,
    texts_per_request_max: usize,
    client: Client,
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
    /// Double precision, so that a number beyond single precision is read as infinite and refused.
    embedding: Vec<f64>,
}

impl HttpModel {
    /// Returns a model at an endpoint. Does not connect.
    ///
    /// # Errors
    /// `invalid_argument`, naming the setting under `embedding`, if the address is not a plain
    /// `http` or `https` URL or holds credentials, if the model has no name, if the key is not
    /// printable ASCII, or if a limit is zero.
    pub fn new(options: HttpModelOptions) -> Result<Self> {
        if options.texts_per_request_max == 0 {
            return Err(Error::invalid("embedding", "needs a batch size above zero"));
        }
        let name = options.model.clone();
        let model = ModelId::new(format!("{PREFIX}{name}{}", suffix(&options.base_url)));
        let client = Client::new(Service {
            what: "embedding model",
            reply: "list of embeddings",
            section: "embedding",
            model: Some(options.model),
            base_url: options.base_url,
            path: "/embeddings",
            key: options.key,
            reply_bytes_max: REPLY_BYTES_MAX,
            refused: ErrorCode::Unavailable,
            timeout: options.timeout,
            call_timeout: Duration::MAX,
            retries: options.retries,
            backoff: options.backoff,
        })?;
        let texts_per_request_max = options.texts_per_request_max;
        Ok(HttpModel {
            model,
            name,
            texts_per_request_max,
            client,
            dimension: OnceLock::new(),
        })
    }

    /// Returns the endpoint's name of the model with this fingerprint, if the model is one of this
    /// endpoint.
    pub fn name_at<'a>(base_url: &str, model: &'a ModelId) -> Option<&'a str> {
        let name = model
            .as_str()
            .strip_prefix(PREFIX)?
            .strip_suffix(&suffix(base_url))?;
        (!name.is_empty()).then_some(name)
    }

    /// Embeds one text and returns the number of components of the model's vectors.
    ///
    /// # Errors
    /// As for [`embed`](Embedder::embed).
    pub fn probe(&self) -> Result<usize> {
        let vectors = self.embed(&[PROBE_TEXT])?;
        Ok(vectors.first().map_or(0, Vec::len))
    }

    /// Returns the vectors of a reply in the order of the texts.
    fn vectors(&self, reply: Reply, count: usize) -> Result<Vec<Vec<f32>>, String> {
        if reply.data.len() != count {
            return Err(format!(
                "gave {} embeddings for {count} texts",
                reply.data.len()
            ));
        }
        let mut vectors: Vec<Option<Vec<f32>>> = vec![None; count];
        for (position, vector) in reply.data.into_iter().enumerate() {
            let index = vector.index.unwrap_or(position);
            let Some(slot @ None) = vectors.get_mut(index) else {
                return Err(format!(
                    "gave the index {index} twice or beyond the {count} texts"
                ));
            };
            let Some(values) = unit_vector(
                vector
                    .embedding
                    .into_iter()
                    .map(|value| value as f32)
                    .collect(),
            ) else {
                return Err("gave an embedding that is empty, zero or not finite".to_owned());
            };
            *slot = Some(values);
        }
        let vectors: Vec<_> = vectors.into_iter().flatten().collect();
        let known = *self
            .dimension
            .get_or_init(|| vectors.first().map_or(0, Vec::len));
        if let Some(other) = vectors
            .iter()
            .map(Vec::len)
            .find(|&dimension| dimension != known)
        {
            let problem = format!("gave {other} components where it gave {known} before");
            return Err(format!(
                "{problem}; if another model serves there now, start loci again"
            ));
        }
        Ok(vectors)
    }
}

impl Embedder for HttpModel {
    fn model(&self) -> &ModelId {
        &self.model
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(self.texts_per_request_max) {
            let request = Request {
                model: &self.name,
                input: batch,
                encoding_format: "float",
            };
            vectors.extend(
                self.client
                    .post(&request, |reply| self.vectors(reply, batch.len()))?,
            );
        }
        Ok(vectors)
    }
}
