//! The outcome of an edit of a settings file, or the reason why it is not edited.

use std::io;
use std::path::{Path, PathBuf};

/// The reason why a file is not changed that other programs change at the same time.
pub const OVERTAKEN: &str =
    "another program keeps writing it; end that program, and run the command again";

/// The outcome of a change of a settings file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EditResult {
    /// True if the file was written or removed.
    pub has_changed: bool,
    /// True if there was no file before.
    pub is_made: bool,
    /// True if the file was removed.
    pub is_removed: bool,
    /// The copy of the old file, if there was one and it has changed.
    pub backup: Option<PathBuf>,
    /// The files beside it with text that another program wrote in the instant of a change, and that
    /// the file does not have.
    pub kept: Vec<PathBuf>,
}

/// The reason why a settings file is not changed.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The file has no place for the change, or may not be written.
    #[error("{} is not changed: {problem}", .file.display())]
    Refused {
        /// The file, as it was named.
        file: PathBuf,
        /// The reason.
        problem: String,
    },
    /// The system failed.
    #[error("{} cannot be {step}: {error}", .file.display())]
    Failed {
        /// The file, as it was named.
        file: PathBuf,
        /// The participle of the step that failed, e.g. `read`.
        step: &'static str,
        /// The reason.
        #[source]
        error: io::Error,
    },
}

/// Makes failures of a step with that file.
pub fn failed(file: &Path) -> impl Fn(&'static str, io::Error) -> EditError {
    let file = file.to_owned();
    move |step, error| EditError::Failed {
        file: file.clone(),
        step,
        error,
    }
}

/// Makes refusals of that file.
pub fn refused(file: &Path) -> impl Fn(String) -> EditError {
    let file = file.to_owned();
    move |problem| EditError::Refused {
        file: file.clone(),
        problem,
    }
}
