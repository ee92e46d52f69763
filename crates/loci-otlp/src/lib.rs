//! Sends spans of [`tracing`] to a collector of traces, as OTLP over HTTP (protobuf).
//!
//! [`Traces::start`] starts a thread of its own that sends batches; [`Traces::layer`] joins it to
//! the subscriber of the process. No call waits for it: spans beyond a bounded queue are dropped,
//! and a collector that does not answer is logged once. [`set_parent`] makes a span the child of a
//! trace context that came from elsewhere.
//!
//! This crate does not depend on the meaning of the spans, on MCP or on settings.
//!
//! ```
//! use loci_otlp::Traces;
//!
//! let refused = Traces::start("otlp_endpoint", "collector.example:4318").err();
//! assert_eq!(refused.and_then(|error| error.argument).as_deref(), Some("otlp_endpoint"));
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test may panic"))]

mod client;
mod parent;

use std::time::Duration;

use loci_core::{Error, Result};
use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::registry::LookupSpan;

pub use parent::set_parent;

use client::Client;

/// The longest wait for the reply of the collector to a batch.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The name under which the spans appear.
const SERVICE: &str = "loci";

/// Checks the base URL of a collector, which the setting `setting` names.
///
/// # Errors
/// As for [`Traces::start`].
pub fn check_endpoint(setting: &str, endpoint: &str) -> Result<()> {
    Client::new(setting, endpoint, TIMEOUT).map(drop)
}

/// The traces of this process, which a thread sends to a collector.
pub struct Traces {
    provider: SdkTracerProvider,
}

impl Traces {
    /// Starts to send spans to the collector at a base URL that the setting `setting` names, e.g.
    /// `http://127.0.0.1:4318`, under the path `/v1/traces`. Does not connect before there are
    /// spans.
    ///
    /// # Errors
    /// `invalid_argument`, naming the setting, if the URL is not a plain `http` or `https` URL.
    pub fn start(setting: &str, endpoint: &str) -> Result<Self> {
        let client = Client::new(setting, endpoint, TIMEOUT)?;
        let exporter = SpanExporter::builder()
            .with_http()
            .with_endpoint(client.url())
            .with_protocol(Protocol::HttpBinary)
            .with_timeout(TIMEOUT)
            .with_http_client(client)
            .build()
            .map_err(|error| Error::invalid(setting, format!("cannot be used: {error}")))?;
        let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
        let resource = Resource::builder()
            .with_service_name(SERVICE)
            .with_attribute(version)
            .build();
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource)
            .build();
        Ok(Traces { provider })
    }

    /// Returns the layer that takes the spans of this target, and nothing else: no event becomes
    /// part of a trace.
    pub fn layer<S>(&self, target: &'static str) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer(SERVICE))
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_level(false)
            .with_tracked_inactivity(false)
            .with_context_activation(false)
            .with_filter(Targets::new().with_target(target, LevelFilter::TRACE))
    }

    /// Sends the spans that wait, and ends. Waits at most for `wait`; later spans are dropped.
    pub fn end(&self, wait: Duration) {
        // A collector that does not answer was logged.
        let _ = self.provider.shutdown_with_timeout(wait);
    }
}
