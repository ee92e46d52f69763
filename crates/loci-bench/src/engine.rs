//! `loci-bench engine`: measures searches in up to a million passages, without a model, against the
//! limits of the machine's memory.

mod measure;
pub mod synthetic;

use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use loci::exit::{Exit, Failure};
use loci::output::{Output, status_line};
use loci_core::{Batch, Change, Expect, Space, Store};
use loci_store_sqlite::{Options, SqliteStore};

use self::synthetic::Synthetic;
use super::client::loci_bench;
use crate::arguments::EngineBench;

/// The number of passages in one transaction.
const BATCH: usize = 5_000;
/// The file that marks a complete store.
const COMPLETE: &str = "complete";

pub fn run(options: &EngineBench, output: Output) -> Result<(), Failure> {
    let corpus = Synthetic::new(options.passages);
    let temporary = tempfile::tempdir()?;
    let folder = options.folder.as_deref().unwrap_or(temporary.path());
    let data = folder.join(format!("engine-{}", options.passages));
    if options.measure {
        return measure::run(&data, &corpus, output);
    }
    if cfg!(debug_assertions) {
        status_line(
            "note: this is a build for debugging; neither its times nor its bandwidth mean anything",
        );
    }
    if !data.join(COMPLETE).exists() {
        // An interrupted run leaves an incomplete store.
        let _ = std::fs::remove_dir_all(&data);
        status_line(format_args!("storing {} passages …", options.passages));
        let begun = Instant::now();
        file(&data, &corpus)?;
        std::fs::write(data.join(COMPLETE), "")?;
        status_line(format_args!(
            "stored in {:.1} s",
            begun.elapsed().as_secs_f64()
        ));
    }
    let mut child = loci_bench(&data)?;
    child
        .args([
            "engine",
            "--measure",
            "--passages",
            &options.passages.to_string(),
            "--folder",
        ])
        .arg(folder);
    if output.json {
        child.arg("--json");
    }
    if child.status()?.success() {
        Ok(())
    } else {
        Err(Failure::new(
            Exit::Failure,
            "the process that measures failed",
        ))
    }
}

/// Stores the corpus. The next batch is made while one is written.
fn file(data: &Path, corpus: &Synthetic) -> Result<(), Failure> {
    let store = SqliteStore::open(data, Options::default()).map_err(loci_core::Error::from)?;
    thread::scope(|scope| {
        let (made, batches) = mpsc::sync_channel(1);
        scope.spawn(move || {
            for begin in (0..corpus.passages()).step_by(BATCH) {
                let put = |index| {
                    let (memory, passage) = corpus.memory(index);
                    Change::Put {
                        memory: Box::new(memory),
                        passages: Some(vec![passage]),
                        expect: Expect::Absent,
                    }
                };
                let changes = (begin..corpus.passages().min(begin + BATCH))
                    .map(put)
                    .collect();
                if made.send(Batch::new(Space::default(), changes)).is_err() {
                    return;
                }
            }
        });
        batches
            .iter()
            .try_for_each(|batch| Ok(store.commit(batch)?))
    })
}
