//! Figures for monitoring, in the text format of Prometheus
//! (<https://prometheus.io/docs/instrumenting/exposition_formats/>).
//!
//! The labels are names of dialects, tools, operations and error codes, of which there are few; no
//! label is what a caller wrote.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use loci_core::{AuditEntry, Error, IndexLoads, Result};
use loci_engine::{EmbeddedTexts, Engine, LeaseOutcome, LeasedWork, Observer, Outcome};
use prometheus::core::Collector;
use prometheus::{
    HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry,
    TEXT_FORMAT, TextEncoder,
};

use self::server::ServerGauges;

mod server;

/// The upper bounds of the buckets of durations, in seconds.
const SECONDS: [f64; 12] = [
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 30.0,
];

/// The figures of one process.
pub struct Metrics {
    registry: Registry,
    gauges: Gauges,
    server: ServerGauges,
    counters: Arc<Counters>,
}

/// The figures that are read when they are sent.
struct Gauges {
    memories: IntGauge,
    passages: IntGauge,
    disk_bytes: IntGauge,
    index_bytes: IntGauge,
    waiting: IntGauge,
    buffered: IntGauge,
    up: IntGauge,
    /// A counter that the store keeps.
    index_loads: IntCounterVec,
}

/// The figures that grow with what the engine does.
struct Counters {
    calls: HistogramVec,
    store_operations: HistogramVec,
    embeddings: HistogramVec,
    embedded_texts: IntCounterVec,
    sweep_steps: IntCounter,
    leases: IntCounterVec,
    redacted: IntCounterVec,
}

/// Makes figures and registers them.
struct MetricBuilder<'a>(&'a Registry);

impl MetricBuilder<'_> {
    fn register<T: Collector + Clone + 'static>(&self, made: prometheus::Result<T>) -> Result<T> {
        let made = made.map_err(faulty)?;
        self.0.register(Box::new(made.clone())).map_err(faulty)?;
        Ok(made)
    }

    fn gauge(&self, name: &str, help: &str) -> Result<IntGauge> {
        self.register(IntGauge::with_opts(Opts::new(name, help)))
    }

    fn gauges(&self, name: &str, help: &str, labels: &[&str]) -> Result<IntGaugeVec> {
        self.register(IntGaugeVec::new(Opts::new(name, help), labels))
    }

    fn counter(&self, name: &str, help: &str) -> Result<IntCounter> {
        self.register(IntCounter::new(name, help))
    }

    fn counters(&self, name: &str, help: &str, labels: &[&str]) -> Result<IntCounterVec> {
        self.register(IntCounterVec::new(Opts::new(name, help), labels))
    }

    fn durations(&self, name: &str, help: &str, labels: &[&str]) -> Result<HistogramVec> {
        let options = HistogramOpts::new(name, help).buckets(SECONDS.to_vec());
        self.register(HistogramVec::new(options, labels))
    }
}

impl Gauges {
    fn new(metrics: &MetricBuilder<'_>) -> Result<Self> {
        Ok(Gauges {
            memories: metrics.gauge("loci_memories", "Memories in all spaces.")?,
            passages: metrics.gauge("loci_passages", "Passages of memories in all spaces.")?,
            disk_bytes: metrics.gauge("loci_store_disk_bytes", "Bytes of the store on the disk.")?,
            index_bytes: metrics.gauge(
                "loci_index_memory_bytes",
                "Bytes of memory of the search index in this process; 0 while it is not loaded.",
            )?,
            waiting: metrics.gauge(
                "loci_embedding_queue_length",
                "Texts that wait for a vector of the current model.",
            )?,
            buffered: metrics.gauge(
                "loci_audit_buffer_length",
                "Audit entries and access counts that wait to be written.",
            )?,
            up: metrics.gauge(
                "loci_store_up",
                "1 if the store answered when these figures were read, else 0.",
            )?,
            index_loads: metrics.counters(
                "loci_index_loads_total",
                "Loads of the search index into this process by outcome: file (its file was mapped), \
                 tables (it was read from the tables), or failed.",
                &["outcome"],
            )?,
        })
    }

    /// Reads the figures of the store.
    fn read(&self, engine: &Engine) -> Result<()> {
        let size = engine.size()?;
        set(&self.memories, size.memories);
        set(&self.passages, size.passages);
        set(&self.disk_bytes, size.disk_bytes);
        set(&self.index_bytes, size.index_bytes);
        let IndexLoads {
            from_file,
            from_tables,
            failed,
        } = size.index_loads;
        for (outcome, count) in [
            ("file", from_file),
            ("tables", from_tables),
            ("failed", failed),
        ] {
            let counter = self.index_loads.with_label_values(&[outcome]);
            counter.inc_by(count.saturating_sub(counter.get()));
        }
        set(&self.waiting, engine.models().pending_embeddings()?);
        set(&self.buffered, engine.audit().buffered() as u64);
        Ok(())
    }
}

impl Counters {
    fn new(metrics: &MetricBuilder<'_>) -> Result<Self> {
        Ok(Counters {
            calls: metrics.durations(
                "loci_call_duration_seconds",
                "Duration of calls by dialect, tool and outcome (ok, or the code of the error).",
                &["dialect", "tool", "outcome"],
            )?,
            store_operations: metrics.durations(
                "loci_store_operation_duration_seconds",
                "Duration of operations of the store by operation and outcome.",
                &["operation", "outcome"],
            )?,
            embeddings: metrics.durations(
                "loci_embedding_duration_seconds",
                "Duration of embedding some texts together, by their kind (passages, or questions, of \
                 which repeated ones are in memory) and outcome.",
                &["texts", "outcome"],
            )?,
            embedded_texts: metrics.counters(
                "loci_embedded_texts_total",
                "Texts that a model embedded, by their kind.",
                &["texts"],
            )?,
            sweep_steps: metrics.counter(
                "loci_sweep_steps_total",
                "Steps of the removal of expired data: each is one record, or a part of a large memory.",
            )?,
            leases: metrics.counters(
                "loci_leases_total",
                "Requests for leases on background work by work and outcome: taken (or extended), \
                 refused (another process has it), lost (the same, and this process had it), released.",
                &["work", "outcome"],
            )?,
            redacted: metrics.counters(
                "loci_redacted_secrets_total",
                "Secrets that were removed from texts before they were stored, by kind.",
                &["kind"],
            )?,
        })
    }
}

impl Observer for Counters {
    fn call(&self, entry: &AuditEntry) {
        let failure = entry.failure.as_ref().map(|failure| failure.code);
        let labels = [
            entry.dialect.as_str(),
            entry.tool.as_str(),
            Outcome(failure).name(),
        ];
        let seconds = entry.duration_microseconds as f64 / 1e6;
        self.calls.with_label_values(&labels).observe(seconds);
    }

    fn store_operation(&self, operation: &'static str, took: Duration, outcome: Outcome) {
        let histogram = self
            .store_operations
            .with_label_values(&[operation, outcome.name()]);
        histogram.observe(took.as_secs_f64());
    }

    fn embedding(&self, texts: EmbeddedTexts, count: usize, took: Duration, outcome: Outcome) {
        let labels = [texts.name(), outcome.name()];
        let histogram = self.embeddings.with_label_values(&labels);
        histogram.observe(took.as_secs_f64());
        if outcome == Outcome(None) {
            let counter = self.embedded_texts.with_label_values(&[texts.name()]);
            counter.inc_by(count as u64);
        }
    }

    fn sweep(&self, steps: usize) {
        self.sweep_steps.inc_by(steps as u64);
    }

    fn lease(&self, work: LeasedWork, outcome: LeaseOutcome) {
        let labels = [work.name(), outcome.name()];
        self.leases.with_label_values(&labels).inc();
    }

    fn redaction(&self, kind: &str, count: u64) {
        self.redacted.with_label_values(&[kind]).inc_by(count);
    }
}

impl Metrics {
    /// Returns figures that are all 0.
    ///
    /// # Errors
    /// `internal` if two metrics have one name.
    pub fn new() -> Result<Arc<Self>> {
        let registry = Registry::new();
        let metrics = MetricBuilder(&registry);
        let (gauges, counters) = (Gauges::new(&metrics)?, Arc::new(Counters::new(&metrics)?));
        Ok(Arc::new(Metrics {
            registry,
            gauges,
            server: ServerGauges::default(),
            counters,
        }))
    }

    /// Returns what counts the work of an engine.
    pub fn observer(&self) -> Arc<dyn Observer> {
        Arc::<Counters>::clone(&self.counters)
    }

    /// Returns the route `/metrics` of this engine, without authentication: for a listener of its
    /// own.
    pub fn router(self: &Arc<Self>, engine: &Arc<Engine>) -> Router {
        Router::new()
            .route("/metrics", get(send))
            .with_state((Arc::clone(self), Arc::clone(engine)))
    }

    fn text(&self, engine: &Engine) -> Result<String> {
        // The counters are sent while the store is unavailable, too. A server that is away is not asked for
        // more, because calls wait for it longer than whoever reads figures.
        let answers = self.server.read(&self.registry, engine)?;
        let is_up = answers && self.gauges.read(engine).is_ok();
        self.gauges.up.set(i64::from(is_up));
        let encoder = TextEncoder::new();
        encoder
            .encode_to_string(&self.registry.gather())
            .map_err(faulty)
    }
}

fn set(gauge: &IntGauge, value: u64) {
    gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
}

fn faulty(error: prometheus::Error) -> Error {
    Error::internal(format!("a figure for monitoring is faulty: {error}"))
}

async fn send(State((metrics, engine)): State<(Arc<Metrics>, Arc<Engine>)>) -> Response {
    let text = tokio::task::spawn_blocking(move || metrics.text(&engine)).await;
    match text {
        Ok(Ok(text)) => ([(CONTENT_TYPE, TEXT_FORMAT)], text).into_response(),
        Ok(Err(error)) => {
            tracing::error!(
                error = error.chain(),
                "the figures for monitoring cannot be read"
            );
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
        Err(_panicked) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
