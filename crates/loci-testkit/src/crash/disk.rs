//! The preloaded library between a program and its files.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

const SOURCE: &str = include_str!("disk.c");

/// The built library. It is deleted on drop, so it must outlive the start of each program.
#[derive(Debug)]
pub struct DiskLibrary {
    folder: TempDir,
}

/// A fault at chosen operations on files below the folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The operations that count: `*` for all but reads, or letters: `o` opens and creates, `w`
    /// writes, `t` truncates, `s` syncs, `r` renames, `l` links, `u` unlinks, `f` creates a folder,
    /// `R` reads.
    pub kinds: String,
    /// The first affected operation, counted from 1.
    pub first: u64,
    /// The number of affected operations from that one on.
    pub count: u64,
    /// The effect on them.
    pub action: Action,
}

/// The effect on an operation that a [`Fault`] affects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// The process is killed before the operation.
    KillBefore,
    /// The process is killed after the operation.
    KillAfter,
    /// It fails with this error number.
    Fail(i32),
    /// The first write writes only half of its data; other writes and operations fail with this
    /// error number.
    Short(i32),
}

impl DiskLibrary {
    /// Builds the library with the C compiler of the system.
    ///
    /// # Errors
    /// The message of the compiler, or the reason why it cannot run; also on systems other than
    /// Linux on two architectures, since system calls cannot be intercepted there.
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

    /// Preloads the library into a command, for the files below `folder`, which must be named by
    /// its real path. All processes with the same `log` record their operations there.
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
