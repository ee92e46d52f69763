//! The background work of a server: that of the engine, reading the rest of transcripts, and reading
//! the notes that people changed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use loci_core::Caller;
use loci_engine::{START_PAUSE, Wakeup, Workers};
use loci_ingest::conversation;
use loci_vault::{FolderWatch, WatchEvent};

use crate::settings::Settings;
use crate::wiring::Parts;

/// The background work. Dropping it waits for the rounds that run, up to a limit, so that dropping
/// the engine afterwards closes the store.
pub struct Background {
    /// Rings when a note may have changed; `None` if nothing is watched.
    watch: Option<Arc<FolderWatch>>,
    workers: Workers,
}

impl Drop for Background {
    fn drop(&mut self) {
        self.workers.stop();
        drop(self.watch.take());
    }
}

impl Background {
    /// Starts the threads.
    pub fn start(parts: &Parts, settings: &Settings) -> Self {
        let interval = settings.maintenance;
        let mut workers = Workers::start(&parts.engine, interval, settings.flush);
        let reading = Arc::clone(&parts.engine);
        workers.spawn(
            "reading transcripts",
            &Arc::default(),
            START_PAUSE,
            move || {
                Ok(
                    if conversation::read_on(&reading.system(&loci_ingest::caller()))? > 0 {
                        Duration::ZERO
                    } else {
                        interval
                    },
                )
            },
        );
        let mut watch = None;
        let system = parts.system();
        let notes = system.notes();
        if let Some(changed) = notes.wakeup() {
            let looks = Arc::<AtomicBool>::default();
            notes.begin();
            watch = self::watch(parts, &looks, Arc::clone(changed)).map(Arc::new);
            let watching = watch.as_ref().map_or_else(Weak::new, Arc::downgrade);
            let engine = Arc::clone(&parts.engine);
            workers.spawn("reading notes", changed, interval, move || {
                let system = engine.system(&Caller::local());
                // One process watches the notes, and reads them for all.
                if !looks.load(Ordering::SeqCst) {
                    system.notes().kept_by_another();
                } else if let Err(error) = system.notes().reconcile() {
                    // Another process may be able to, such as a newer loci that has upgraded the
                    // database.
                    watching.upgrade().inspect(|watch| watch.give_up());
                    return Err(error);
                }
                Ok(interval)
            });
        }
        Background { watch, workers }
    }

    /// Ends the work under leases when the process was asked to end, as
    /// [`Workers::end_rounds`] does.
    pub fn end_rounds(&mut self) {
        self.workers.end_rounds();
    }
}

/// Watches the notes, or waits until no other process does. `looks` becomes true if this process is
/// to read them.
fn watch(parts: &Parts, looks: &Arc<AtomicBool>, changed: Arc<Wakeup>) -> Option<FolderWatch> {
    let report = {
        let (looks, changed) = (Arc::clone(looks), Arc::clone(&changed));
        move |watched| {
            looks.store(watched == WatchEvent::Changed, Ordering::SeqCst);
            changed.ring();
        }
    };
    let vault = &parts.vault;
    let watch = FolderWatch::start(vault.folder.clone(), vault.watch_lock.clone(), report);
    let without = |error: &std::io::Error| {
        tracing::warn!(%error, "the notes cannot be watched: what people change is seen at every interval of maintenance");
        looks.store(true, Ordering::SeqCst);
        changed.ring();
    };
    watch.inspect_err(without).ok()
}
