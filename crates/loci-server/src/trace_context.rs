//! The spans of requests, and the trace contexts that clients send with them.

use http::request::Parts;
use loci_core::{Error, ErrorCode};
use loci_engine::traces::{self, TARGET};
use rmcp::model::ProtocolVersion;
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;
use tracing::Span;
use tracing::field::Empty;

use crate::client_calls::Transport;

/// Makes a span the child of the W3C trace context in `traceparent` and `tracestate`. Returns false
/// if `traceparent` is malformed.
pub type SetParent = fn(span: &Span, traceparent: &str, tracestate: Option<&str>) -> bool;

/// The names of the fields of a trace context, in the metadata of a request (SEP-414 of MCP) and
/// among the headers of HTTP.
const PARENT: &str = "traceparent";
const STATE: &str = "tracestate";

/// Returns the span of a request with this method, which may be a call of a tool, by
/// OpenTelemetry's conventions for MCP; disabled unless traces are sent. It holds no argument and
/// nothing about the caller.
pub(crate) fn span_of_request(
    set_parent: Option<SetParent>,
    dialect: &str,
    method: &'static str,
    tool: Option<&str>,
    transport: Transport,
    context: &RequestContext<RoleServer>,
) -> Span {
    let span = tracing::info_span!(
        target: TARGET,
        "request",
        otel.name = tool.map_or_else(|| method.to_owned(), |tool| format!("{method} {tool}")),
        otel.kind = "server",
        otel.status_code = Empty,
        error.type = Empty,
        mcp.method.name = method,
        mcp.protocol.version = Empty,
        gen_ai.operation.name = tool.map(|_| "execute_tool"),
        gen_ai.tool.name = tool,
        network.transport = match transport {
            Transport::Stdio => "pipe",
            Transport::Http => "tcp",
        },
        loci.dialect = dialect,
        loci.outcome = Empty,
    );
    if span.is_disabled() {
        return span;
    }
    // Anything else is text of the client.
    let known = |version: &ProtocolVersion| ProtocolVersion::KNOWN_VERSIONS.contains(version);
    if let Some(version) = context.protocol_version().filter(known) {
        span.record("mcp.protocol.version", version.as_str());
    }
    if let Some(set_parent) = set_parent {
        join(&span, set_parent, context);
    }
    span
}

/// Makes the span the child of the context in the metadata of the request, or else of that in the
/// headers. A malformed one is ignored.
fn join(span: &Span, set_parent: SetParent, context: &RequestContext<RoleServer>) {
    let meta = |name| context.meta.0.get(name).and_then(Value::as_str);
    if meta(PARENT).is_some_and(|parent| set_parent(span, parent, meta(STATE))) {
        return;
    }
    let Some(parts) = context.extensions.get::<Parts>() else {
        return;
    };
    let header = |name| {
        parts
            .headers
            .get(name)
            .and_then(|value| value.to_str().ok())
    };
    if let Some(parent) = header(PARENT) {
        set_parent(span, parent, header(STATE));
    }
}

/// Records the outcome of a request in its span.
pub(crate) fn record_outcome<T>(span: &Span, outcome: &Result<T, Error>) {
    if span.is_disabled() {
        return;
    }
    traces::end(span, outcome);
    let name = outcome
        .as_ref()
        .map_or_else(|error| ErrorCode::name(error.code), |_| "ok");
    span.record("loci.outcome", name);
}
