//! Watches a folder of notes for changes, in one process at a time.

mod debouncer;
mod events;

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};
use std::{fs, io};

use loci_core::file_system;
use notify::{Config, RecommendedWatcher, RecursiveMode, Watcher};

use debouncer::{Debouncer, Wake};

/// The time after which a process tries the lock again, the folder is looked up at its path, and a
/// change is assumed if there are no file system events.
const TICK: Duration = Duration::from_secs(1);
/// The holder of the lock updates a heartbeat every [`TICK`]; a holder without one for this long is
/// suspended, and other processes do not rely on it.
const SILENCE_MAX: Duration = Duration::from_secs(3);

/// The reports of a [`FolderWatch`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchEvent {
    /// Something may have changed, and this process watches, or the process that watches has no
    /// heartbeat.
    Changed,
    /// Another process watches.
    ByAnother,
}

/// Watches a folder of notes, on its own thread, until it is dropped.
///
/// Of all processes (and watches of one process) that name the same lock file, one watches. It
/// reports [`WatchEvent::Changed`] once at the beginning, for earlier changes, and then soon after
/// notes or folders were created, written, renamed or removed. Changes are debounced: it reports
/// after 150 ms without another change, at the latest 500 ms after the first. The others report
/// [`WatchEvent::ByAnother`] once, and the next process takes over within about a second. A suspended
/// process (Ctrl-Z) keeps the lock and does not watch: some seconds later each of the others
/// reports [`WatchEvent::Changed`] every second, and [`WatchEvent::ByAnother`] once it resumes.
///
/// A report only means that the folder should be scanned: renaming any visible file reports too,
/// and so does everything that may have lost events. Reading notes reports nothing, and neither do
/// changes of files and in folders whose names start with a dot. If a folder gives no events,
/// because it is on a file system that other machines change too or because the system's limit of
/// watches is reached, a change is reported every second.
///
/// The folder need not exist: it is looked up every second.
///
/// ```
/// use std::sync::mpsc::channel;
///
/// use loci_vault::{FolderWatch, WatchEvent};
///
/// # fn main() -> std::io::Result<()> {
/// let (notes, data) = (tempfile::tempdir()?, tempfile::tempdir()?);
/// let (sender, reports) = channel();
/// // The report only wakes another thread, because reports wait for it.
/// let report = move |watched| {
///     let _ = sender.send(watched);
/// };
/// let watch = FolderWatch::start(notes.path().into(), data.path().join("lock"), report)?;
/// // The first report is for changes before the watch.
/// assert_eq!(reports.recv(), Ok(WatchEvent::Changed));
///
/// std::fs::write(notes.path().join("tea.md"), "At four.")?;
/// assert_eq!(reports.recv(), Ok(WatchEvent::Changed));
/// drop(watch); // Stops watching, and lets another process do so.
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct FolderWatch {
    debouncer: Arc<Debouncer>,
    thread: Option<JoinHandle<()>>,
}

impl FolderWatch {
    /// Starts to watch the folder `root`, or to wait until this process may. `lock_file` is created
    /// if it is missing, for this user only; it must be outside the folder. `report` is called on
    /// the thread of the watch and blocks further reports while it runs, so it should only notify
    /// another thread.
    ///
    /// # Errors
    /// The lock file cannot be created or locked, or the thread not started.
    pub fn start(
        root: PathBuf,
        lock_file: PathBuf,
        report: impl Fn(WatchEvent) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        Self::start_with(root, lock_file, report, false)
    }

    /// Like [`start`](Self::start), with a report every second instead of file system events.
    ///
    /// # Errors
    /// As for `start`.
    pub fn start_polling(
        root: PathBuf,
        lock_file: PathBuf,
        report: impl Fn(WatchEvent) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        Self::start_with(root, lock_file, report, true)
    }

    fn start_with(
        root: PathBuf,
        lock_file: PathBuf,
        report: impl Fn(WatchEvent) + Send + Sync + 'static,
        ignores_events: bool,
    ) -> io::Result<Self> {
        let lock = open_lock_file(&lock_file)?;
        let is_locked = try_lock(&lock)?;
        if is_locked {
            stamp(&lock);
        }
        let debouncer = Arc::new(Debouncer::default());
        let mut worker = Worker {
            root,
            report,
            ignores_events,
            debouncer: Arc::clone(&debouncer),
            said: None,
        };
        let thread = thread::Builder::new()
            .name("vault-watch".to_owned())
            .spawn(move || worker.run(&lock, is_locked))?;
        Ok(Self {
            debouncer,
            thread: Some(thread),
        })
    }

    /// Lets another process watch, because this one cannot process changes. If no other process has
    /// started some seconds later, this one watches again, and reports that.
    pub fn give_up(&self) {
        self.debouncer.give_up();
    }
}

impl Drop for FolderWatch {
    /// Ends the watch and releases the lock. Waits for a report that is under way.
    fn drop(&mut self) {
        self.debouncer.stop();
        // A report that drops its own watch would wait for itself.
        if let Some(thread) = self
            .thread
            .take_if(|thread| thread.thread().id() != thread::current().id())
        {
            // It panics only if a report does, which has logged the panic itself.
            let _ = thread.join();
        }
    }
}

/// True if some process watches, according to the lock file of its [`FolderWatch`]; a suspended
/// process does not count.
pub fn is_watched(lock_file: &Path) -> bool {
    // Shared, so that two processes that check simultaneously do not take each other for the
    // watcher.
    File::open(lock_file).is_ok_and(|lock| {
        matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)) && is_stamped(&lock)
    })
}

/// Updates the heartbeat of the holder of the lock. It is not flushed; if it fails, other processes
/// scan the folder themselves.
fn stamp(lock: &File) {
    #[expect(
        clippy::disallowed_methods,
        reason = "processes tell each other by it how old a stamp is, nothing else"
    )]
    let now = SystemTime::now();
    if let Err(error) = lock.set_modified(now) {
        tracing::debug!(%error, "cannot say that this process watches the notes");
    }
}

/// True if the holder of the lock has updated its heartbeat recently.
fn is_stamped(lock: &File) -> bool {
    let stamped = lock.metadata().and_then(|metadata| metadata.modified());
    // The distance from now in either direction: a clock that is set back must not make a stamp
    // valid for hours.
    let age = stamped.map(|stamped| stamped.elapsed().unwrap_or_else(|ahead| ahead.duration()));
    age.is_ok_and(|age| age < SILENCE_MAX)
}

fn open_lock_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Returns true if this process now holds the lock.
fn try_lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// The thread of a [`FolderWatch`].
struct Worker<R> {
    root: PathBuf,
    report: R,
    ignores_events: bool,
    debouncer: Arc<Debouncer>,
    /// True if the last log message reported that there are no events.
    said: Option<bool>,
}

/// The folder at the path, and the watcher of its changes.
struct View {
    identity: Option<Identity>,
    /// Adds changes to the debouncer while it lives. `None` without a folder, or if the folder gives no events.
    watcher: Option<RecommendedWatcher>,
}

impl<R: Fn(WatchEvent)> Worker<R> {
    fn run(&mut self, lock: &File, mut is_locked: bool) {
        while is_locked || self.wait_for(lock) {
            if !self.watch(lock) {
                return;
            }
            is_locked = lock.unlock().is_err();
            // For longer than other processes wait before they retry.
            if !self.pause(2 * TICK) {
                return;
            }
        }
    }

    /// Waits for this time and ignores changes. Returns false if the watch must end before.
    fn pause(&self, length: Duration) -> bool {
        let until = Instant::now() + length;
        loop {
            match self.debouncer.wait(until) {
                Wake::Stop => return false,
                Wake::Time => return true,
                Wake::GiveUp | Wake::Changed(_) => {}
            }
        }
    }

    /// Watches until the end, or until this process gives up, when it returns true.
    fn watch(&mut self, lock: &File) -> bool {
        stamp(lock);
        // Watching starts before the report, so that changes between the two are noticed.
        let mut view = self.view();
        (self.report)(WatchEvent::Changed);
        let mut next_tick = Instant::now() + TICK;
        loop {
            let (is_changed, is_another) = match self.debouncer.wait(next_tick) {
                Wake::Stop => return false,
                Wake::GiveUp => return true,
                Wake::Changed(events::Change::Notes) => (true, false),
                Wake::Changed(events::Change::Folders) => (true, true),
                Wake::Time => {
                    stamp(lock);
                    next_tick = Instant::now() + TICK;
                    let is_another = identity(&self.root) != view.identity;
                    (is_another || view.polls(), is_another)
                }
            };
            if is_another {
                view = self.view();
            }
            if is_changed {
                (self.report)(WatchEvent::Changed);
            }
        }
    }

    /// Waits until this process has the lock. Returns false if the watch must end before.
    fn wait_for(&self, lock: &File) -> bool {
        let (mut is_told, mut is_kept) = (false, false);
        loop {
            match try_lock(lock) {
                Ok(true) => return true,
                Ok(false) => {
                    let was_kept = std::mem::replace(&mut is_kept, is_stamped(lock));
                    if !is_kept {
                        (self.report)(WatchEvent::Changed);
                    } else if !was_kept {
                        (self.report)(WatchEvent::ByAnother);
                    }
                }
                Err(error) if is_told => {
                    tracing::debug!(%error, "the lock of the folder's watcher still fails");
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot lock the file that says which process watches the folder of notes");
                    is_told = true;
                }
            }
            if !self.pause(TICK) {
                return false;
            }
        }
    }

    fn view(&mut self) -> View {
        let identity = identity(&self.root);
        let watcher = identity.map(|_| self.watcher());
        if let Some(watcher) = &watcher
            && self.said.replace(watcher.is_err()) != Some(watcher.is_err())
        {
            let folder = self.root.display();
            match watcher {
                Ok(_) => tracing::info!(%folder, "watches the notes by events of the file system"),
                Err(reason) => {
                    tracing::info!(%folder, %reason, "looks for changed notes every second");
                }
            }
        }
        View {
            identity,
            watcher: watcher.and_then(Result::ok),
        }
    }

    /// Returns a watcher of all visible folders, or the reason why it cannot be made.
    fn watcher(&self) -> Result<RecommendedWatcher, String> {
        if self.ignores_events {
            return Err("polling was asked for".to_owned());
        }
        // Some systems report the paths of events with symbolic links resolved.
        let root = self
            .root
            .canonicalize()
            .map_err(|error| error.to_string())?;
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        if let Some(kind) =
            file_system::kind(&mounts, &root).filter(|kind| file_system::lacks_events(kind))
        {
            return Err(format!(
                "others can change a file system of the kind {kind} without an event"
            ));
        }
        let (debouncer, top) = (Arc::clone(&self.debouncer), root.clone());
        let add = move |event: notify::Result<notify::Event>| {
            if let Some(change) = events::change(&top, &event) {
                debouncer.add(change);
            }
        };
        let watched = RecommendedWatcher::new(add, Config::default().with_follow_symlinks(false))
            .and_then(|mut watcher| watch_folders(&mut watcher, &root).map(|()| watcher));
        watched.map_err(|error| error.to_string())
    }
}

impl View {
    /// True if changes must be assumed.
    fn polls(&self) -> bool {
        self.identity.is_some() && self.watcher.is_none()
    }
}

/// Watches the folder and its subfolders. On systems without recursive watches, each folder is
/// watched separately: [`notify`] itself would also watch hidden ones, and give up at the first
/// unreadable one.
fn watch_folders(watcher: &mut impl Watcher, root: &Path) -> notify::Result<()> {
    if !cfg!(any(target_os = "linux", target_os = "android")) {
        return watcher.watch(root, RecursiveMode::Recursive);
    }
    watcher.watch(root, RecursiveMode::NonRecursive)?;
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if events::is_hidden(&entry.file_name())
                || !entry.file_type().is_ok_and(|kind| kind.is_dir())
            {
                continue;
            }
            match watcher.watch(&entry.path(), RecursiveMode::NonRecursive) {
                Ok(()) => folders.push(entry.path()),
                Err(error) if is_out_of_reach(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

/// True if a folder was just removed or may not be read: its notes cannot be read either.
fn is_out_of_reach(error: &notify::Error) -> bool {
    match &error.kind {
        notify::ErrorKind::PathNotFound => true,
        notify::ErrorKind::Io(error) => {
            matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
            )
        }
        _ => false,
    }
}

/// Distinguishes the folder at a path from a replacement: device and inode.
#[cfg(unix)]
type Identity = (u64, u64);
/// Distinguishes the folder at a path from a replacement: its creation time, if known.
#[cfg(not(unix))]
type Identity = Option<SystemTime>;

/// Returns the identity of the folder at the path; `None` if it does not exist.
fn identity(path: &Path) -> Option<Identity> {
    let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_dir)?;
    #[cfg(unix)]
    return Some((
        std::os::unix::fs::MetadataExt::dev(&metadata),
        std::os::unix::fs::MetadataExt::ino(&metadata),
    ));
    #[cfg(not(unix))]
    return Some(metadata.created().ok());
}
