//! The lock of a folder of notes: a file outside. It contains the process that holds the lock, and
//! a token that distinguishes this lock from every other one, on any machine.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use loci_core::{Error, NoteLock, Result};

use crate::read::reason;

/// The maximum time that a thread waits for the lock.
const PATIENCE: Duration = Duration::from_secs(30);
/// The number of threads of a process that wait that long. Further threads wait only while the lock
/// keeps changing hands: each takes a slot among the calls of the process, and calls that need no
/// note must get some too.
const PATIENT_MAX: usize = 16;
/// The time that further threads wait while no thread of this process gets the lock: longer than
/// the holder waits for a store that others write to, on a slow disk.
const HURRIED_PATIENCE: Duration = Duration::from_secs(10);
/// The pause between two polls of another process's lock.
const PAUSE: Duration = Duration::from_millis(5);
/// The content of the file while the lock is free.
const NOBODY: &[u8; 11] = b"          \n";

/// The number of hexadecimal digits of a token.
const TOKEN_DIGITS: usize = 16;

/// The file of a lock, and the threads of this process that wait for it.
pub(crate) struct LockFile {
    path: PathBuf,
    /// The token that is written to a file without one.
    token: Mutex<String>,
    patience: Duration,
    hurried_patience: Duration,
    turn: Arc<LockQueue>,
}

#[derive(Default)]
struct LockQueue {
    waiting: Mutex<WaitingThreads>,
    released: Condvar,
}

/// The waiting threads of this process.
#[derive(Default)]
struct WaitingThreads {
    count: usize,
    /// The time at which one thread last got the lock, or the first started to wait.
    since: Option<Instant>,
}

impl LockQueue {
    fn waiting(&self) -> MutexGuard<'_, WaitingThreads> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A held lock.
pub(crate) struct LockGuard {
    /// Emptied when the lock is released.
    file: Option<File>,
    turn: Arc<LockQueue>,
    /// The token of the lock.
    pub token: String,
    /// True if the previous holder did not release the lock.
    pub was_abandoned: bool,
}

impl LockFile {
    pub fn new(path: PathBuf) -> Self {
        LockFile {
            path,
            token: Mutex::new(random_token()),
            patience: PATIENCE,
            hurried_patience: HURRIED_PATIENCE,
            turn: Arc::default(),
        }
    }

    #[cfg(test)]
    pub fn with_patience(path: PathBuf, patience: Duration) -> Self {
        LockFile {
            patience,
            hurried_patience: patience,
            ..LockFile::new(path)
        }
    }

    /// Waits for the lock.
    ///
    /// # Errors
    /// `unavailable` if the file cannot be opened, or the lock is held for too long: 30 seconds, or
    /// 10 if 16 threads of this process already wait for it.
    pub fn lock(&self) -> Result<LockGuard> {
        let failed = |error: io::Error| {
            Error::unavailable(format!(
                "the lock of the notes cannot be taken: {}",
                reason(&error)
            ))
        };
        let mut file = open(&self.path).map_err(failed)?;
        let start = Instant::now();
        self.wait_for(&file, start).map_err(|error| match error {
            TryLockError::WouldBlock => self.busy(&mut file, start),
            TryLockError::Error(error) => failed(error),
        })?;
        let was_abandoned = !holder(&mut file).is_empty();
        // Only a hint for other processes: a full disk must not prevent reading.
        let _ = write(&mut file, format!("{:<10}\n", process::id()).as_bytes());
        let token = self.token_in(&mut file);
        Ok(LockGuard {
            file: Some(file),
            turn: Arc::clone(&self.turn),
            token,
            was_abandoned,
        })
    }

    /// Waits for the lock; `WouldBlock` if others hold it for too long.
    fn wait_for(&self, file: &File, start: Instant) -> Result<(), TryLockError> {
        let mut waiting = self.turn.waiting();
        if waiting.count == 0 {
            waiting.since = Some(start);
        }
        waiting.count += 1;
        let outcome = loop {
            let outcome = file.try_lock();
            let is_hurried = waiting.count > PATIENT_MAX
                && waiting
                    .since
                    .is_some_and(|since| since.elapsed() >= self.hurried_patience);
            if !matches!(outcome, Err(TryLockError::WouldBlock))
                || is_hurried
                || start.elapsed() >= self.patience
            {
                break outcome;
            }
            let waited = self.turn.released.wait_timeout(waiting, PAUSE);
            (waiting, _) = waited.unwrap_or_else(PoisonError::into_inner);
        };
        waiting.count -= 1;
        if outcome.is_ok() {
            waiting.since = Some(Instant::now());
        }
        outcome
    }

    /// Returns the token in the file, and writes one if it has none.
    fn token_in(&self, file: &mut File) -> String {
        let mut token = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = [0; TOKEN_DIGITS];
        let read = seek(file).and_then(|()| file.read_exact(&mut text));
        match str::from_utf8(&text)
            .ok()
            .filter(|text| read.is_ok() && is_token(text))
        {
            Some(found) => found.clone_into(&mut token),
            // If that fails, files that a crash of this process leaves cannot be recognised as its
            // own afterwards.
            None => {
                _ = seek(file)
                    .and_then(|()| writeln!(file, "{token}"))
                    .and_then(|()| file.sync_all());
            }
        }
        token.clone()
    }

    fn busy(&self, file: &mut File, start: Instant) -> Error {
        let who = match holder(file) {
            holder if holder.is_empty() => "another process".to_owned(),
            holder => format!("the process {holder}"),
        };
        let seconds = self
            .turn
            .waiting()
            .since
            .map_or(start, |since| since.min(start))
            .elapsed()
            .as_secs();
        Error::unavailable(format!(
            "the notes have been locked by {who} for {seconds} seconds; wait for it or end it, and repeat"
        ))
    }
}

impl NoteLock for LockGuard {}

impl Drop for LockGuard {
    fn drop(&mut self) {
        if let Some(mut file) = self.file.take() {
            let _ = write(&mut file, NOBODY);
        }
        self.turn.released.notify_one();
    }
}

/// Seeks to the token.
fn seek(file: &mut File) -> io::Result<()> {
    file.seek(SeekFrom::Start(NOBODY.len() as u64)).map(drop)
}

/// Returns a random token of 16 hexadecimal digits for a lock or a temporary file, which is
/// practically never repeated.
pub fn random_token() -> String {
    // The keys of the hasher are random in each process and thread, and differ each time.
    format!("{:016x}", RandomState::new().hash_one(process::id()))
}

/// True if the text could be a token.
pub(crate) fn is_token(text: &str) -> bool {
    text.len() == TOKEN_DIGITS
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'))
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        // The data folder of a store that lies elsewhere is made by the first that needs it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let Some(folder) = path.parent() else {
                return Err(error);
            };
            let mut folders = DirBuilder::new();
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut folders, 0o700);
            match folders.create(folder) {
                Err(made) if made.kind() != io::ErrorKind::AlreadyExists => Err(error),
                _ => options.open(path),
            }
        }
        opened => opened,
    }
}

/// Returns the process named in the file as the holder of the lock; empty if no process is.
fn holder(file: &mut File) -> String {
    let mut text = String::new();
    let read = file
        .rewind()
        .and_then(|()| file.take(NOBODY.len() as u64).read_to_string(&mut text));
    if read.is_err() {
        String::new()
    } else {
        text.trim().to_owned()
    }
}

fn write(file: &mut File, text: &[u8]) -> io::Result<()> {
    file.rewind()?;
    file.write_all(text)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use loci_core::ErrorCode;

    use super::*;

    #[test]
    fn one_at_a_time_holds_it() {
        let folder = tempfile::tempdir().unwrap();
        let lock = LockFile::new(folder.path().join("lock"));
        let held = lock.lock().unwrap();
        let (said, heard) = mpsc::channel();
        thread::scope(|scope| {
            for _ in 0..4 {
                let (lock, said) = (&lock, said.clone());
                scope.spawn(move || {
                    let held = lock.lock().unwrap();
                    said.send("taken").unwrap();
                    said.send("given back").unwrap();
                    drop(held);
                });
            }
            assert!(heard.try_recv().is_err());
            drop(held);
            for _ in 0..4 {
                assert_eq!(
                    (heard.recv().unwrap(), heard.recv().unwrap()),
                    ("taken", "given back")
                );
            }
        });
    }

    #[test]
    fn who_waits_too_long_hears_who_holds_it() {
        let folder = tempfile::tempdir().unwrap();
        let lock = LockFile::with_patience(folder.path().join("lock"), Duration::ZERO);
        let held = lock.lock().unwrap();
        let error = lock.lock().map(drop).unwrap_err();
        assert_eq!(error.code, ErrorCode::Unavailable);
        assert!(
            error
                .message
                .contains(&format!("the process {}", process::id())),
            "{error}"
        );
        drop(held);
        assert!(!lock.lock().unwrap().was_abandoned);
    }

    #[test]
    fn few_wait_for_long_and_the_rest_hears_soon_who_holds_it() {
        const THREADS: usize = PATIENT_MAX + 9;
        let folder = tempfile::tempdir().unwrap();
        let mut lock = LockFile::new(folder.path().join("lock"));
        lock.hurried_patience = Duration::from_millis(50);
        let held = lock.lock().unwrap();
        let (said, heard) = mpsc::channel();
        thread::scope(|scope| {
            for _ in 0..THREADS {
                let (lock, said) = (&lock, said.clone());
                scope.spawn(move || said.send(lock.lock().map(drop)).unwrap());
            }
            for _ in PATIENT_MAX..THREADS {
                let refused = heard.recv().unwrap().unwrap_err();
                assert!(
                    refused
                        .message
                        .contains(&format!("the process {}", process::id())),
                    "{refused}"
                );
            }
            // Further threads are refused immediately once the lock is held for long.
            while lock.turn.waiting().count < PATIENT_MAX {
                thread::yield_now();
            }
            assert_eq!(
                lock.lock().map(drop).unwrap_err().code,
                ErrorCode::Unavailable
            );
            drop(held);
            for _ in 0..PATIENT_MAX {
                heard.recv().unwrap().unwrap();
            }
        });
        assert_eq!(lock.turn.waiting().count, 0);
    }

    #[test]
    fn a_lock_that_was_not_let_go_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let lock = LockFile::new(folder.path().join("lock"));
        drop(lock.lock().unwrap());
        std::fs::write(&lock.path, "12345     \n").unwrap();
        assert!(lock.lock().unwrap().was_abandoned);
        assert!(!lock.lock().unwrap().was_abandoned);
    }

    #[test]
    fn a_lock_has_a_token_that_stays() {
        let folder = tempfile::tempdir().unwrap();
        let lock = |name: &str| LockFile::new(folder.path().join(name));
        let token = |lock: &LockFile| lock.lock().unwrap().token.clone();
        let first = lock("one");
        let one = token(&first);
        assert!(is_token(&one), "{one}");
        assert_eq!(
            (token(&first), token(&lock("one"))),
            (one.clone(), one.clone())
        );
        assert_ne!(token(&lock("other")), one);
        // A file that was emptied or overwritten gets its token back.
        for text in ["", "4711\n", "4711      \n0123456789abcdeX\n"] {
            std::fs::write(&first.path, text).unwrap();
            assert_eq!(
                (token(&first), token(&lock("one"))),
                (one.clone(), one.clone()),
                "{text:?}"
            );
        }
    }

    #[test]
    fn a_lock_in_no_folder_cannot_be_taken() {
        let folder = tempfile::tempdir().unwrap();
        let lock = LockFile::new(folder.path().join("none/none/lock"));
        let error = lock.lock().map(drop).unwrap_err();
        assert_eq!(error.code, ErrorCode::Unavailable);
    }

    #[cfg(unix)]
    #[test]
    fn the_file_is_its_owners_alone() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let lock = LockFile::new(folder.path().join("lock"));
        drop(lock.lock().unwrap());
        assert_eq!(
            std::fs::metadata(&lock.path).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
}
