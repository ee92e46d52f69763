//! The observer that hears of each change of a settings file, so that the text before can be kept.

use std::path::Path;
use std::sync::OnceLock;

/// A change of a settings file that was made.
#[derive(Debug, Clone, Copy)]
pub struct FileChange<'a> {
    /// The path of the file, behind links.
    pub path: &'a Path,
    /// Its bytes before; `None` if it was not there.
    pub before: Option<&'a [u8]>,
    /// Its text after; `None` if it was removed.
    pub after: Option<&'a str>,
}

/// Hears of a change, after it was made.
pub type FileObserver = Box<dyn Fn(FileChange<'_>) + Send + Sync>;

static OBSERVER: OnceLock<FileObserver> = OnceLock::new();

/// Lets this observer hear of every change that this process makes of a file of settings: of a host, and
/// by [`replace_file`](crate::replace_file). Only the first call of a process has an effect.
pub fn observe_file_changes(observer: FileObserver) {
    _ = OBSERVER.set(observer);
}

/// Tells the observer of a change.
pub(crate) fn tell(change: FileChange<'_>) {
    if let Some(observer) = OBSERVER.get() {
        observer(change);
    }
}
