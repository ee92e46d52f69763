//! The library that stands between a program and its files.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

const SOURCE: &str = include_str!("disk.c");

/// The built library. It is gone when this is dropped, so it has to live longer than the start of
/// every program.
#[derive(Debug)]
pub struct DiskLibrary {
    folder: TempDir,
}

/// What happens at chosen operations on files below the folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Which operations count: `*` for all but reads, or letters: `o` opens and makes, `w` writes,
    /// `t` truncates, `s` syncs, `r` renames, `l` links, `u` unlinks, `f` makes a folder, `R`
    /// reads.
    pub kinds: String,
    /// The first operation that is met, counted from 1.
    pub first: u64,
    /// How many operations, from that one on, are met.
    pub count: u64,
    /// What happens to them.
    pub action: Action,
}

/// What happens to an operation that a [`Fault`] meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// The process is killed before it is done.
    KillBefore,
    /// The process is killed when it is done.
    KillAfter,
    /// It fails with this error number.
    Fail(i32),
    /// The first one writes half of what it should; the others, and whatever is no write, fail with
    /// this error number.
    Short(i32),
}

impl DiskLibrary {
    /// Builds the library with the C compiler of the system.
    ///
    /// # Errors
    /// What the compiler said, or why there is none: also where no system calls can be handed over
    /// (only Linux can, on two processors).
    pub fn build() -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let source = folder.path().join("disk.c");
        std::fs::write(&source, SOURCE).map_err(|error| error.to_string())?;
        let library = DiskLibrary { folder };
        let mut compiler = Command::new("cc");
        compiler
            .args([
                "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o",
            ])
            .arg(library.path())
            .arg(source);
        let output = compiler
            .output()
            .map_err(|error| format!("no C compiler: {error}"))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        let tried = library
            .on(Command::new("true"), Path::new("/"), None, None)
            .output();
        match tried {
            Ok(output) if output.status.success() => Ok(library),
            Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("disk.so")
    }

    /// Puts the library under a command: for the files below `folder`, which must be named by its
    /// real path. `log` is where operations are recorded, by all processes that are given the same
    /// one.
    pub fn on(
        &self,
        mut command: Command,
        folder: &Path,
        log: Option<&Path>,
        fault: Option<&Fault>,
    ) -> Command {
        command
            .env("LD_PRELOAD", self.path())
            .env("CRASH_FOLDER", folder);
        command.envs(log.map(|log| ("CRASH_LOG", OsString::from(log))));
        command.envs(fault.map(|fault| ("CRASH_FAULT", fault.to_string())));
        command
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (action, error) = match self.action {
            Action::KillBefore => ('b', 0),
            Action::KillAfter => ('a', 0),
            Action::Fail(error) => ('e', error),
            Action::Short(error) => ('s', error),
        };
        write!(
            formatter,
            "{}:{}:{}:{action}:{error}",
            self.kinds, self.first, self.count
        )
    }
}
