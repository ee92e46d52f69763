//! Spans of calls, operations and their parts, for a subscriber of [`tracing`] that sends traces.
//!
//! Without such a subscriber a span costs one look at an atomic number. No span holds what a caller
//! wrote, or who it is.

use std::cell::Cell;

use loci_core::{Error, Result};
use tracing::Span;
use tracing::field::Empty;

use crate::observer::Outcome;

/// The target of all spans. No layer but that for traces takes it, so that the log stays as it is.
pub const TARGET: &str = "traces";

/// The most spans of parts in one operation; the others are counted.
const PARTS_MAX: u32 = 256;

thread_local! {
    /// The number of spans of parts in the operation of this thread; `None` outside of one.
    static PARTS: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Ends an operation of this thread, even if it panics.
struct OperationGuard;

impl Drop for OperationGuard {
    fn drop(&mut self) {
        PARTS.set(None);
    }
}

/// Runs an operation of a call in a span of that name, with a span for each of its parts.
///
/// # Errors
/// The error of the operation.
pub fn operation<T>(name: &str, run: impl FnOnce() -> Result<T>) -> Result<T> {
    let span = tracing::info_span!(
        target: TARGET,
        "operation",
        otel.name = name,
        otel.status_code = Empty,
        error.type = Empty,
        loci.spans_left_out = Empty,
    );
    if span.is_disabled() {
        return run();
    }
    let result = span.in_scope(|| {
        let _running = OperationGuard;
        PARTS.set(Some(0));
        let result = run();
        let left_out = PARTS.get().unwrap_or_default().saturating_sub(PARTS_MAX);
        if left_out > 0 {
            span.record("loci.spans_left_out", left_out);
        }
        result
    });
    end(&span, &result);
    result
}

/// Runs a part of an operation in the span that `make` returns. Outside of an operation, which is in
/// the background, and after [`PARTS_MAX`] parts, there is no span.
pub(crate) fn part<T>(make: impl FnOnce() -> Span, run: impl FnOnce() -> Result<T>) -> Result<T> {
    let Some(before) = PARTS.get() else {
        return run();
    };
    PARTS.set(Some(before.saturating_add(1)));
    if before >= PARTS_MAX {
        return run();
    }
    let span = make();
    let result = span.in_scope(run);
    end(&span, &result);
    result
}

/// Records the outcome of a span that has the fields `error.type` and `otel.status_code`.
pub fn end<T>(span: &Span, result: &Result<T>) {
    if let Err(error) = result {
        fail(span, error);
    }
}

fn fail(span: &Span, error: &Error) {
    span.record("error.type", Outcome(Some(error.code)).name());
    span.record("otel.status_code", "ERROR");
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};

    use super::*;

    /// Counts the spans of the target.
    struct Counting(Arc<AtomicU64>);

    impl Subscriber for Counting {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.target() == TARGET
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(self.0.fetch_add(1, Ordering::SeqCst) + 1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}
        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn event(&self, _: &Event<'_>) {}
        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}
    }

    fn a_part() -> Result<()> {
        part(|| tracing::info_span!(target: TARGET, "part"), || Ok(()))
    }

    #[test]
    fn parts_have_spans_in_an_operation_and_not_without_end() {
        let count = Arc::new(AtomicU64::new(0));
        tracing::subscriber::with_default(Counting(Arc::clone(&count)), || {
            a_part().unwrap();
            assert_eq!(count.load(Ordering::SeqCst), 0);
            operation("read", a_part).unwrap();
            assert_eq!(count.load(Ordering::SeqCst), 2);
            let many = || (0..1_000).try_for_each(|_| a_part());
            operation("read", many).unwrap();
            assert_eq!(count.load(Ordering::SeqCst), 2 + 1 + u64::from(PARTS_MAX));
            // An operation that panicked has ended.
            let panicking = || operation::<()>("read", || panic!("on purpose"));
            assert!(std::panic::catch_unwind(panicking).is_err());
            a_part().unwrap();
            assert_eq!(count.load(Ordering::SeqCst), 2 + 2 + u64::from(PARTS_MAX));
        });
        operation("read", a_part).unwrap();
        assert_eq!(PARTS.get(), None);
    }
}
