//! Figures for monitoring, in the text format of Prometheus
//! (<https://prometheus.io/docs/instrumenting/exposition_formats/>).
//!
//! The labels are names of dialects, tools and error codes, of which there are few; no label is
//! what a caller wrote.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use loci_core::{AuditEntry, Error, Result};
use loci_engine::{CallObserver, Engine};
use prometheus::{HistogramOpts, HistogramVec, IntGauge, Opts, Registry, TEXT_FORMAT, TextEncoder};

/// The upper bounds of the buckets of durations, in seconds.
const SECONDS: [f64; 12] = [
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 30.0,
];

/// The figures of one process.
pub struct Metrics {
    registry: Registry,
    calls: HistogramVec,
    memories: IntGauge,
    passages: IntGauge,
    disk_bytes: IntGauge,
    index_bytes: IntGauge,
    waiting: IntGauge,
    buffered: IntGauge,
    up: IntGauge,
}

impl Metrics {
    /// Returns figures that are all 0.
    ///
    /// # Errors
    /// `internal` if two of them have one name.
    pub fn new() -> Result<Arc<Self>> {
        let registry = Registry::new();
        let gauge = |name: &str, help: &str| {
            let gauge = IntGauge::with_opts(Opts::new(name, help)).map_err(faulty)?;
            registry.register(Box::new(gauge.clone())).map_err(faulty)?;
            Ok::<_, Error>(gauge)
        };
        let calls = HistogramOpts::new(
            "loci_call_duration_seconds",
            "Duration of calls by dialect, tool and outcome (ok, or the code of the error).",
        );
        let labels = ["dialect", "tool", "outcome"];
        let calls = HistogramVec::new(calls.buckets(SECONDS.to_vec()), &labels).map_err(faulty)?;
        registry.register(Box::new(calls.clone())).map_err(faulty)?;
        Ok(Arc::new(Metrics {
            calls,
            memories: gauge("loci_memories", "Memories in all spaces.")?,
            passages: gauge("loci_passages", "Passages of memories in all spaces.")?,
            disk_bytes: gauge("loci_store_disk_bytes", "Bytes of the store on the disk.")?,
            index_bytes: gauge(
                "loci_index_memory_bytes",
                "Bytes of memory of the search index in this process; 0 while it is not loaded.",
            )?,
            waiting: gauge(
                "loci_embedding_queue_length",
                "Texts that wait for a vector of the current model.",
            )?,
            buffered: gauge(
                "loci_audit_buffer_length",
                "Audit entries and access counts that wait to be written.",
            )?,
            up: gauge(
                "loci_store_up",
                "1 if the store answered when these figures were read, else 0.",
            )?,
            registry,
        }))
    }

    /// Returns what counts the calls of an engine.
    pub fn observer(self: &Arc<Self>) -> CallObserver {
        let metrics = Arc::clone(self);
        Arc::new(move |entry: &AuditEntry| {
            let outcome = entry
                .failure
                .as_ref()
                .map_or("ok", |failure| failure.code.name());
            let labels = [entry.dialect.as_str(), entry.tool.as_str(), outcome];
            let seconds = entry.duration_microseconds as f64 / 1e6;
            metrics.calls.with_label_values(&labels).observe(seconds);
        })
    }

    /// Returns the route `/metrics` of this engine, without authentication: for a listener of its
    /// own.
    pub fn router(self: &Arc<Self>, engine: &Arc<Engine>) -> Router {
        Router::new()
            .route("/metrics", get(send))
            .with_state((Arc::clone(self), Arc::clone(engine)))
    }

    /// Reads the figures of the store.
    fn look(&self, engine: &Engine) -> Result<()> {
        let size = engine.size()?;
        let set =
            |gauge: &IntGauge, value: u64| gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        set(&self.memories, size.memories);
        set(&self.passages, size.passages);
        set(&self.disk_bytes, size.disk_bytes);
        set(&self.index_bytes, size.index_bytes);
        set(&self.waiting, engine.models().pending_embeddings()?);
        set(&self.buffered, engine.audit().buffered() as u64);
        Ok(())
    }

    fn text(&self, engine: &Engine) -> Result<String> {
        // The counters are sent while the store is unavailable, too.
        let looked = self.look(engine);
        self.up.set(i64::from(looked.is_ok()));
        let encoder = TextEncoder::new();
        encoder
            .encode_to_string(&self.registry.gather())
            .map_err(faulty)
    }
}

fn faulty(error: prometheus::Error) -> Error {
    Error::internal(format!("a figure for monitoring is faulty: {error}"))
}

async fn send(State((metrics, engine)): State<(Arc<Metrics>, Arc<Engine>)>) -> Response {
    let text = tokio::task::spawn_blocking(move || metrics.text(&engine)).await;
    match text {
        Ok(Ok(text)) => ([(CONTENT_TYPE, TEXT_FORMAT)], text).into_response(),
        Ok(Err(error)) => {
            tracing::error!(%error, "the figures for monitoring cannot be read");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
        Err(_panicked) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
