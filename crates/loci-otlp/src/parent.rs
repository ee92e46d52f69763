//! The trace context of W3C (<https://www.w3.org/TR/trace-context/>), which a caller sends along.

use opentelemetry::propagation::{Extractor, TextMapPropagator};
use opentelemetry::trace::TraceContextExt;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// The longest `tracestate` that is passed on, which the specification asks for; a longer one is
/// ignored.
const STATE_BYTES_MAX: usize = 512;

/// The two fields of a trace context.
struct Fields<'a> {
    parent: &'a str,
    state: Option<&'a str>,
}

impl Extractor for Fields<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        match key {
            "traceparent" => Some(self.parent),
            "tracestate" => self.state,
            _ => None,
        }
    }

    fn keys(&self) -> Vec<&str> {
        vec!["traceparent", "tracestate"]
    }
}

/// Returns true if a `traceparent` has the form of its specification, of which the library checks
/// less.
fn is_well_formed(parent: &str) -> bool {
    let bytes = parent.as_bytes();
    let is_hexadecimal = |digits: &[u8]| {
        let is_digit = |digit: &u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
        digits.iter().all(is_digit)
    };
    let fields: Vec<&[u8]> = bytes.split(|byte| *byte == b'-').collect();
    let [version, trace, span, flags, more @ ..] = fields.as_slice() else {
        return false;
    };
    // Only a later version may have more fields.
    (more.is_empty() || *version != b"00")
        && [(version, 2), (trace, 32), (span, 16), (flags, 2)]
            .iter()
            .all(|(field, length)| field.len() == *length && is_hexadecimal(field))
}

/// Makes a span, which nothing has entered yet, the child of the span that `traceparent` names, with
/// its `tracestate`. Returns false, and leaves the span as it is, if `traceparent` is malformed.
pub fn set_parent(span: &Span, traceparent: &str, tracestate: Option<&str>) -> bool {
    if !is_well_formed(traceparent) {
        return false;
    }
    let fields = Fields {
        parent: traceparent,
        state: tracestate.filter(|state| state.len() <= STATE_BYTES_MAX),
    };
    let context = TraceContextPropagator::new().extract(&fields);
    let is_valid = context.span().span_context().is_valid();
    is_valid && span.set_parent(context).is_ok()
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::prelude::*;

    use super::*;
    use crate::Traces;

    #[test]
    fn a_span_takes_a_valid_parent_alone() {
        const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
        let traces = Traces::start("otlp_endpoint", "http://127.0.0.1:9").unwrap();
        let subscriber = tracing_subscriber::registry().with(traces.layer("traces"));
        tracing::subscriber::with_default(subscriber, || {
            let rows = [
                (format!("00-{TRACE}-b7ad6b7169203331-00"), true),
                // A later version may have more fields.
                (format!("01-{TRACE}-b7ad6b7169203331-00-more"), true),
                (format!("ff-{TRACE}-b7ad6b7169203331-00"), false),
                (format!("00-{TRACE}-0000000000000000-00"), false),
                (format!("00-{TRACE}-b7ad6b7169203331"), false),
                (format!("00-{TRACE}-b7ad6b7169203331-00-more"), false),
                (
                    format!("00-{}-b7ad6b7169203331-00", TRACE.to_uppercase()),
                    false,
                ),
                (format!("00-{}-b7ad6b7169203331-00", &TRACE[1..]), false),
                (String::new(), false),
            ];
            for (parent, is_valid) in rows {
                let span = tracing::info_span!(target: "traces", "span");
                let state = "x".repeat(STATE_BYTES_MAX + 1);
                assert_eq!(
                    set_parent(&span, &parent, Some(&state)),
                    is_valid,
                    "{parent}"
                );
                let trace = span.context().span().span_context().trace_id();
                assert_eq!(trace.to_string() == TRACE, is_valid, "{parent}");
            }
            // Nothing else becomes a part of a trace.
            assert!(tracing::info_span!(target: "loci", "span").is_disabled());
            assert!(!set_parent(
                &Span::none(),
                &format!("00-{TRACE}-b7ad6b7169203331-01"),
                None
            ));
        });
        traces.end(std::time::Duration::from_millis(1));
    }
}
