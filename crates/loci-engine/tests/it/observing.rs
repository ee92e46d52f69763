//! Tests of what an observer sees.

use std::sync::Mutex;
use std::time::Duration;

use loci_core::Store;
use loci_engine::{EmbeddedTexts, LeaseOutcome, LeasedWork, Observer, Outcome, RedactionScope};

use super::redacting::{SECRET, bench_of};
use super::*;

/// Keeps what it sees, as lines.
#[derive(Default)]
struct Lines(Mutex<Vec<String>>);

impl Lines {
    fn push(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }

    /// Returns the lines that start with a word, and forgets all.
    fn take(&self, word: &str) -> Vec<String> {
        let lines = std::mem::take(&mut *self.0.lock().unwrap());
        let of_word = lines.into_iter().filter(|line| line.starts_with(word));
        of_word.collect()
    }
}

impl Observer for Lines {
    fn call(&self, entry: &AuditEntry) {
        self.push(format!("call {}", entry.tool));
    }

    fn store_operation(&self, operation: &'static str, _: Duration, outcome: Outcome) {
        self.push(format!("store {operation} {}", outcome.name()));
    }

    fn embedding(&self, texts: EmbeddedTexts, count: usize, _: Duration, outcome: Outcome) {
        self.push(format!("embed {} {count} {}", texts.name(), outcome.name()));
    }

    fn sweep(&self, steps: usize) {
        self.push(format!("sweep {steps}"));
    }

    fn lease(&self, work: LeasedWork, outcome: LeaseOutcome) {
        self.push(format!("lease {} {}", work.name(), outcome.name()));
    }

    fn redaction(&self, kind: &str, count: u64) {
        self.push(format!("redact {kind} {count}"));
    }
}

fn observed(engine: Engine) -> (Engine, Arc<Lines>) {
    let lines = Arc::new(Lines::default());
    (engine.with_observer(lines.clone()), lines)
}

fn recall(engine: &Engine, caller: &Caller) {
    let question = Recall::new("when is tea", 5, &|signals: &Signals| signals.relevance);
    engine.system(caller).search().recall(&question).unwrap();
}

#[test]
fn the_store_and_the_model_are_observed() {
    let (engine, lines) = observed(engine());
    let ann = caller("ann", &WRITER);
    let filed = engine
        .system(&ann)
        .memories()
        .remember(fact("tea is at four", Visibility::Private));
    filed.unwrap();
    assert!(
        lines
            .take("store commit")
            .contains(&"store commit ok".to_owned())
    );
    engine
        .system(&ann)
        .memories()
        .remember(fact("tea is at five", Visibility::Private))
        .unwrap();
    assert_eq!(lines.take("embed"), ["embed passages 1 ok"]);
    recall(&engine, &ann);
    assert_eq!(lines.take("embed"), ["embed questions 1 ok"]);
    engine.version(&ann.space).unwrap();
    assert_eq!(lines.take(""), ["store version ok"]);
}

#[test]
fn a_failure_has_its_code() {
    let (engine, lines) = observed(engine_with(Arc::new(FailingEmbedder::default())));
    recall(&engine, &caller("ann", &WRITER));
    assert_eq!(lines.take("embed"), ["embed questions 1 unavailable"]);
}

#[test]
fn secrets_are_counted_when_they_are_removed_from_what_is_stored() {
    let Bench { engine, .. } = bench_of(RedactionScope::Everything);
    let (engine, lines) = observed(engine);
    let ann = caller("ann", &WRITER);
    let content = format!("{SECRET} and {SECRET}");
    let filed = engine
        .system(&ann)
        .memories()
        .remember(fact(&content, Visibility::Private));
    filed.unwrap();
    assert_eq!(lines.take("redact"), ["redact word 2"]);
    engine
        .system(&ann)
        .conversations()
        .decide("door", SECRET, None)
        .unwrap();
    engine.redaction().redact_mined(SECRET);
    assert_eq!(lines.take("redact"), ["redact word 1"; 2]);
    // A question is not stored.
    engine.redaction().redact_written(SECRET);
    engine.redaction().redact(SECRET);
    assert!(lines.take("redact").is_empty());
}

#[test]
fn leases_and_sweeps_are_observed() {
    let Bench {
        engine,
        store,
        clock,
    } = bench();
    let (engine, lines) = observed(engine);
    for number in 0..200 {
        let expiring = Remember {
            ttl_seconds: Some(1),
            ..fact(&format!("number {number}"), Visibility::Common)
        };
        let filed = engine
            .system(&Caller::local())
            .memories()
            .remember(expiring);
        filed.unwrap();
    }
    clock.advance(1);
    let sweep = || {
        lines.take("");
        let swept = engine.background().sweep().unwrap();
        let seen = lines.0.lock().unwrap();
        let seen = seen.iter().filter(|line| !line.starts_with("store "));
        (swept, seen.cloned().collect::<Vec<_>>().join(", "))
    };
    let taken = "lease sweep taken, sweep 64";
    assert_eq!(sweep(), (64, taken.to_owned()));
    // Until the lease has to be extended, the store is not asked for it.
    assert_eq!(sweep(), (64, "sweep 64".to_owned()));
    let now = clock.advance(600);
    let name = "sweep in main";
    assert_eq!(
        store.lease(name, "other", now, now.plus_seconds(60)),
        Ok(true)
    );
    assert_eq!(sweep(), (0, "lease sweep lost".to_owned()));
    assert_eq!(sweep(), (0, "lease sweep refused".to_owned()));
    clock.advance(60);
    assert_eq!(sweep(), (64, taken.to_owned()));
    assert_eq!(sweep(), (8, "sweep 8".to_owned()));
    assert_eq!(sweep(), (0, "lease sweep released".to_owned()));
}
