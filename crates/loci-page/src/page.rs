//! The page of one server: what its requests share.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use http::HeaderValue;
use loci_admission::{Pool, Subject};
use loci_core::{Caller, Result, Space};
use loci_engine::Engine;
use tokio::sync::watch;

use crate::session::BrowserSessions;
use crate::{Authenticator, CommandOutput, Installation, Task};

/// The most requests of browsers that work at a time, so that agents' calls are not delayed, and of
/// one subject.
const REQUESTS_MAX: (usize, usize) = (4, 3);
/// The most waits for the provider at a time, which strangers cause, and from one network.
const SIGN_INS_MAX: (usize, usize) = (4, 2);
/// The most whole files that come or go at a time, and of one subject.
const TRANSFERS_MAX: (usize, usize) = (4, 1);
/// The time for which a model that was tried counts as it was: a try loads it, and takes a moment.
const MODEL_TRIED_FOR: Duration = Duration::from_mins(1);
/// The time for which a count of what is open stands in the bar: much less than a minute.
const COUNTED_FOR: Duration = Duration::from_secs(10);
/// The most visitors whose counts are kept.
const COUNTED_MAX: usize = 1_000;
/// The most browsers that are told of changes at a time, and of one subject.
const LISTENERS_MAX: (usize, usize) = (64, 16);

/// The page of one server.
pub struct Page {
    engine: Arc<Engine>,
    authenticator: Arc<dyn Authenticator>,
    installation: Arc<dyn Installation>,
    sessions: BrowserSessions,
    requests: Pool,
    sign_ins: Pool,
    transfers: Pool,
    listeners: Pool,
    bodies: Arc<Pool>,
    closing: watch::Sender<bool>,
    /// When the model was last tried, and its problem.
    model_tried: Mutex<Option<(Instant, Option<String>)>>,
    /// The number of items that each visitor has to decide, and the time of the count.
    open_counts: Mutex<HashMap<Visitor, (Instant, usize)>>,
    /// When texts were first seen to wait for the model, and how many waited most.
    reading: Mutex<Option<(Instant, u64)>>,
    /// The number of backups that people wait for.
    backing_up: AtomicUsize,
}

/// The progress of the model in reading the texts that wait.
pub(crate) struct Reading {
    /// The share that is read, in percent.
    pub(crate) percent: u64,
    /// About how many minutes the rest takes; `None` as long as nothing was read.
    pub(crate) minutes_left: Option<u64>,
}

/// Who sees the same items as open: a space, a user, and whether the user sees what others keep
/// private.
type Visitor = (Space, Option<String>, bool);

impl Page {
    /// Returns a page of this engine, whose requests share `bodies`, in bytes, with the rest of the
    /// server. Starts nothing, and reads nothing.
    pub fn new(
        engine: Arc<Engine>,
        authenticator: Arc<dyn Authenticator>,
        installation: Arc<dyn Installation>,
        bodies: Arc<Pool>,
    ) -> Arc<Self> {
        let pool = |(all, each)| Pool::new(all, each);
        Arc::new(Page {
            engine,
            authenticator,
            installation,
            sessions: BrowserSessions::default(),
            requests: pool(REQUESTS_MAX),
            sign_ins: pool(SIGN_INS_MAX),
            transfers: pool(TRANSFERS_MAX),
            listeners: pool(LISTENERS_MAX),
            bodies,
            closing: watch::channel(false).0,
            model_tried: Mutex::new(None),
            open_counts: Mutex::default(),
            reading: Mutex::default(),
            backing_up: AtomicUsize::new(0),
        })
    }

    /// Returns the path, with a code that is good once and for a minute, which starts a session
    /// with this `Authorization` header.
    ///
    /// # Errors
    /// `unavailable` if the system gives no randomness.
    pub fn sign_in_path(
        &self,
        subject: Subject,
        credential: Option<HeaderValue>,
    ) -> Result<String> {
        let code = self.sessions.code(subject, credential)?;
        Ok(format!("/enter?code={code}"))
    }

    /// Ends the streams that tell browsers of changes, so that a server can shut down.
    pub fn close(&self) {
        self.closing.send_replace(true);
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    pub(crate) fn authenticator(&self) -> &dyn Authenticator {
        &*self.authenticator
    }

    pub(crate) fn installation(&self) -> &dyn Installation {
        &*self.installation
    }

    pub(crate) fn sessions(&self) -> &BrowserSessions {
        &self.sessions
    }

    pub(crate) fn requests(&self) -> &Pool {
        &self.requests
    }

    pub(crate) fn sign_ins(&self) -> &Pool {
        &self.sign_ins
    }

    pub(crate) fn bodies(&self) -> &Pool {
        &self.bodies
    }

    /// Returns the [problem](loci_engine::Models::model_problem) of the model, as of a minute ago
    /// at most.
    pub(crate) fn model_problem(&self) -> Option<String> {
        let mut tried = self
            .model_tried
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match &*tried {
            Some((at, problem)) if at.elapsed() < MODEL_TRIED_FOR => problem.clone(),
            _ => {
                let problem = self.engine.models().model_problem();
                *tried = Some((Instant::now(), problem.clone()));
                problem
            }
        }
    }

    /// Returns how far the model has read, of what this page saw wait, when this many texts wait.
    pub(crate) fn reading(&self, waiting: u64) -> Reading {
        let mut reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting == 0 {
            *reading = None;
            return Reading {
                percent: 100,
                minutes_left: Some(0),
            };
        }
        let (begun, most) = match *reading {
            Some((begun, most)) if waiting <= most => (begun, most),
            // More has come, so the rate is measured again.
            _ => (Instant::now(), waiting),
        };
        *reading = Some((begun, most));
        read_of(most, waiting, begun.elapsed())
    }

    /// Runs a command of the installation, during which [`Page::backup_percent`] tells of a backup.
    ///
    /// # Errors
    /// `unavailable` if it cannot be started.
    pub(crate) fn run(&self, task: &Task) -> Result<CommandOutput> {
        if *task != Task::BackUp {
            return self.installation.run(task);
        }
        self.backing_up.fetch_add(1, Ordering::Relaxed);
        let said = self.installation.run(task);
        self.backing_up.fetch_sub(1, Ordering::Relaxed);
        said
    }

    /// Returns how far a backup is that people wait for, in percent; `None` if they wait for none. It
    /// writes a copy of the store, and then an archive with this copy and the notes.
    pub(crate) fn backup_percent(&self) -> Option<u64> {
        if self.backing_up.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let store = self.engine.disk_bytes().unwrap_or(0);
        let written = self.installation.backup_draft_bytes();
        Some(percent_of(written, store * 2))
    }

    /// Returns how much a visitor has to decide, as of a few seconds ago at most; `None` if that has
    /// to be counted.
    pub(crate) fn open_count(&self, caller: &Caller) -> Option<usize> {
        let counts = self.open_counts();
        let (at, count) = counts.get(&visitor(caller))?;
        (at.elapsed() < COUNTED_FOR).then_some(*count)
    }

    /// Keeps how much a visitor has to decide.
    pub(crate) fn keep_open_count(&self, caller: &Caller, count: usize) {
        let mut counts = self.open_counts();
        if counts.len() >= COUNTED_MAX {
            counts.clear();
        }
        counts.insert(visitor(caller), (Instant::now(), count));
    }

    /// Has everything that is open counted again, because a request changed something.
    pub(crate) fn forget_open_counts(&self) {
        self.open_counts().clear();
    }

    fn open_counts(&self) -> MutexGuard<'_, HashMap<Visitor, (Instant, usize)>> {
        self.open_counts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the permits of whole files that come or go.
    pub(crate) fn transfers(&self) -> &Pool {
        &self.transfers
    }

    pub(crate) fn listeners(&self) -> &Pool {
        &self.listeners
    }

    /// Returns a receiver that changes when the server shuts down.
    pub(crate) fn closing(&self) -> watch::Receiver<bool> {
        self.closing.subscribe()
    }
}

fn visitor(caller: &Caller) -> Visitor {
    let subject = caller.principal.subject.clone();
    (caller.space.clone(), subject, caller.all_users)
}

/// Returns the share of what is to be written that is, below 100 percent, since the end is told otherwise.
fn percent_of(written: u64, all: u64) -> u64 {
    let percent = u128::from(written) * 100 / u128::from(all.max(1));
    u64::try_from(percent).unwrap_or(99).min(99)
}

/// Returns how far the model is when so many of the texts wait after a time.
fn read_of(most: u64, waiting: u64, after: Duration) -> Reading {
    let read = most.saturating_sub(waiting);
    let millis = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
    let left = (read > 0).then(|| waiting.saturating_mul(millis) / read);
    Reading {
        percent: (read * 100).checked_div(most).unwrap_or(100),
        minutes_left: left.map(|left| left.div_ceil(60_000).max(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backup_is_not_done_before_its_end() {
        let rows = [
            (0, 0, 0),
            (0, 9, 0),
            (5, 10, 50),
            (10, 10, 99),
            (30, 10, 99),
        ];
        for (written, all, percent) in rows {
            assert_eq!(percent_of(written, all), percent, "{written} of {all}");
        }
        assert_eq!(percent_of(u64::MAX, 1), 99);
    }

    #[test]
    fn the_time_that_reading_takes_follows_from_what_was_read() {
        let of = |most, waiting, seconds| {
            let reading = read_of(most, waiting, Duration::from_secs(seconds));
            (reading.percent, reading.minutes_left)
        };
        assert_eq!(of(100, 100, 30), (0, None));
        assert_eq!(of(100, 80, 30), (20, Some(2)));
        assert_eq!(of(100, 99, 1), (1, Some(2)));
        assert_eq!(of(1_000, 1, 60), (99, Some(1)));
    }
}
