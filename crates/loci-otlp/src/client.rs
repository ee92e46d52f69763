//! The HTTP client that sends batches of spans.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use http::{Request, Response};
use loci_core::Result;
use loci_http::Posts;
use opentelemetry_http::{Bytes, HttpClient, HttpError};

/// The path of traces in OTLP over HTTP.
const PATH: &str = "/v1/traces";
/// The longest reply of a collector.
const REPLY_BYTES_MAX: u64 = 64 << 10;

/// Sends batches to one collector. Logs the first failure, and the first success after it.
#[derive(Debug)]
pub(crate) struct Client {
    posts: Posts,
    is_failing: AtomicBool,
}

impl Client {
    /// Returns a client for the collector at this base URL.
    ///
    /// # Errors
    /// `invalid_argument`, naming the setting, if it is not a plain `http` or `https` URL.
    pub(crate) fn new(setting: &str, endpoint: &str, timeout: Duration) -> Result<Self> {
        Ok(Client {
            posts: Posts::new(setting, endpoint, PATH, REPLY_BYTES_MAX, timeout)?,
            is_failing: AtomicBool::new(false),
        })
    }

    /// Returns the URL to which it sends.
    pub(crate) fn url(&self) -> &str {
        self.posts.url()
    }

    fn note(&self, problem: Option<&str>) {
        let was_failing = self.is_failing.swap(problem.is_some(), Ordering::Relaxed);
        let url = self.url();
        match problem {
            Some(problem) if !was_failing => tracing::warn!(
                "the collector of traces at {url} {problem}; traces are lost until it takes them"
            ),
            None if was_failing => {
                tracing::info!("the collector of traces at {url} takes them again");
            }
            _ => {}
        }
    }
}

#[async_trait]
impl HttpClient for Client {
    /// Blocks the thread of the exporter, which does nothing else.
    async fn send_bytes(
        &self,
        request: Request<Bytes>,
    ) -> std::result::Result<Response<Bytes>, HttpError> {
        match self.posts.send(request.headers(), request.body()) {
            Ok(response) => {
                let status = response.status();
                let problem = format!("refused them (HTTP {})", status.as_u16());
                self.note((!status.is_success()).then_some(&*problem));
                Ok(response.map(Bytes::from))
            }
            Err(problem) => {
                self.note(Some(&problem));
                Err(problem.into())
            }
        }
    }
}
