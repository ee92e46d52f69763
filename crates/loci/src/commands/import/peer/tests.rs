use std::path::PathBuf;
use std::sync::Arc;

use loci_core::Caller;
use loci_engine::{Engine, SearchMode};
use loci_peers::PeerMemory;
use loci_testkit::{FixedClock, HashingEmbedder, NaiveStore};

use super::*;

#[test]
fn what_is_read_and_not_stored_yet_is_bounded_by_its_bytes() {
    let embedder = Arc::new(HashingEmbedder::default());
    let (store, clock) = (Arc::new(NaiveStore::new()), Arc::new(FixedClock::default()));
    let engine = Engine::new(store, embedder, clock, SearchMode::Words);
    let system = engine.system(&Caller::local());
    let arguments = cli::Import {
        file: Some(PathBuf::from("memory.jsonl")),
        from: None,
        zone: None,
        detect: false,
        again: false,
        follow: false,
        no_wait: true,
        dry_run: true,
    };
    let batch = system
        .imports()
        .begin_batch("server-memory", "memory.jsonl");
    let mut intake = Intake::new(&system, Peer::ServerMemory, &arguments, &batch);
    let text = "tide table of the harbour ".repeat(10_000);
    let (mut most, mut read) = (0, 0);
    while read < 3 * IMPORT_BATCH_BYTES {
        let memory = PeerMemory::new(read.to_string(), text.clone());
        intake.take(PeerRecord::Memory(Box::new(memory))).unwrap();
        read += text.len();
        let texts = intake.waiting.iter().map(|waiting| match &waiting.record {
            Record::Memory(memory) => memory.content.len(),
            _ => 0,
        });
        most = most.max(texts.sum::<usize>());
    }
    assert!(
        most < IMPORT_BATCH_BYTES && most + text.len() >= IMPORT_BATCH_BYTES,
        "{most} bytes waited"
    );
    intake.finish().unwrap();
    assert_eq!((intake.waiting.len(), intake.bytes), (0, 0));
    assert_eq!(intake.report.stored as usize, read / text.len());
}
