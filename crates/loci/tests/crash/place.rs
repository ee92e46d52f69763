//! The folders, commands and time budget of a test.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use loci_testkit::Random;
use loci_testkit::crash::{DiskLibrary, Fault};
use serde_json::Value;
use tempfile::TempDir;

use crate::scratch;

/// The dialects; the one of notes is the first.
pub const DIALECTS: [&str; 7] = [
    "vault",
    "mememory",
    "memory-mcp",
    "engram",
    "mempalace",
    "reference",
    "anthropic",
];

/// A folder for the data of `loci`, in memory if there is such a disk, since no test really cuts
/// the power.
pub struct Place {
    folder: TempDir,
    /// The number of memories from which the index is a file; `None` for the default.
    pub index_file_memories: Option<&'static str>,
    /// The embedding provider of the processes.
    pub provider: &'static str,
    /// True if its store was encrypted before anything was filed.
    pub is_encrypted: bool,
}

/// The key file of every encrypted store.
pub fn key_file() -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("crash.key");
    if !path.exists() {
        std::fs::write(&path, "the key of all crashes\n").unwrap();
    }
    path
}

impl Place {
    pub fn new() -> Self {
        Place {
            folder: scratch::folder(),
            index_file_memories: None,
            provider: "none",
            is_encrypted: false,
        }
    }

    /// The same with an encrypted store, which holds nothing yet.
    pub fn encrypted() -> Self {
        let place = Place {
            is_encrypted: true,
            ..Place::new()
        };
        place.succeed(&["encrypt", "--key-file", key_file().to_str().unwrap()]);
        place
    }

    /// Returns a place with a copy of these files.
    pub fn copy(&self) -> Self {
        let place = Place {
            is_encrypted: self.is_encrypted,
            ..Place::new()
        };
        copy(&self.watched(), &place.watched());
        place
    }

    /// Returns the folder that the disk library watches, in which the data folder is made.
    pub fn watched(&self) -> PathBuf {
        let path = self.folder.path().canonicalize().unwrap().join("watched");
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    pub fn data(&self) -> PathBuf {
        self.watched().join("data")
    }

    pub fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_loci"));
        let is_ours = |name: &str| name.starts_with("LOCI_") || name.starts_with("XDG_");
        let kept = std::env::vars_os().filter(|(name, _)| !is_ours(&name.to_string_lossy()));
        command
            .args(arguments)
            .env_clear()
            .envs(kept)
            .env("HOME", self.folder.path())
            .env("LOCI_DATA", self.data());
        command
            .env("LOCI_EMBEDDING_PROVIDER", self.provider)
            .env("LOCI_ENCRYPTION_KEY_FILE", key_file())
            .env("LOCI_MAINTENANCE_SECONDS", "1");
        command.envs(
            self.index_file_memories
                .map(|memories| ("LOCI_INDEX_FILE_MEMORIES", memories)),
        );
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Returns a command like `command`, with the disk library preloaded.
    pub fn watched_command(
        &self,
        arguments: &[&str],
        library: &DiskLibrary,
        with_log: bool,
        fault: Option<&Fault>,
    ) -> Command {
        let log = self.log();
        library.on(
            self.command(arguments),
            &self.watched(),
            with_log.then_some(log.as_path()),
            fault,
        )
    }

    /// Runs a command that must succeed.
    pub fn succeed(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().unwrap();
        let (stdout, stderr) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        assert!(
            output.status.success(),
            "{arguments:?}: {}\n{stdout}{stderr}",
            output.status
        );
        stdout.into_owned()
    }

    /// Returns the problems that the doctor finds.
    pub fn problems(&self) -> Vec<String> {
        let output = self.command(&["--json", "doctor"]).output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let Some(rows) = report["checks"].as_array() else {
            return vec![format!(
                "the doctor says nothing: {}",
                String::from_utf8_lossy(&output.stderr)
            )];
        };
        let failed = rows.iter().filter(|row| row["verdict"] == "fail");
        failed
            .map(|row| format!("{}: {}", row["check"], row["text"]))
            .collect()
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let (path, to) = entry
            .map(|entry| (entry.path(), to.join(entry.file_name())))
            .unwrap();
        if path.is_dir() {
            std::fs::create_dir(&to).unwrap();
            copy(&path, &to);
        } else {
            std::fs::copy(path, to).unwrap();
        }
    }
}

/// The seed, unless the environment names another one.
const SEED: u64 = 2_026;

/// The time limit of a test, and its random numbers.
pub struct Budget {
    begun: Instant,
    limit: Duration,
    pub random: Random,
}

impl Budget {
    /// Prints the seed, which the output of a failed test shows.
    pub fn new(name: &str) -> Self {
        let number = |variable: &str| {
            std::env::var(variable)
                .ok()
                .map(|value| value.parse().unwrap())
        };
        let begun = Instant::now();
        // Fixed, so that a change does not pass or fail by chance; `LOCI_CRASH_SEED=$RANDOM` uses
        // another one.
        let seed: u64 = number("LOCI_CRASH_SEED").unwrap_or(SEED);
        println!("{name}: LOCI_CRASH_SEED={seed}");
        Budget {
            begun,
            limit: Duration::from_secs(number("LOCI_CRASH_SECONDS").unwrap_or(10)),
            random: Random::new(seed),
        }
    }

    /// Starts the time limit now.
    pub fn begin(&mut self) {
        self.begun = Instant::now();
    }

    pub fn is_over(&self) -> bool {
        self.begun.elapsed() >= self.limit
    }
}

/// Builds the library, or prints why it cannot.
pub fn library() -> Option<DiskLibrary> {
    DiskLibrary::build()
        .inspect_err(|problem| {
            let _ = writeln!(
                std::io::stderr(),
                "SKIPPED: no library can be put under a program here: {problem}"
            );
        })
        .ok()
}

/// Prints the work of a test, past the capture of the test harness.
pub fn report(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
