//! Error codes and the error type that is returned to the caller.

use std::sync::Arc;
use std::{fmt, mem};

/// A result whose error can be shown to the caller.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What keeps a store from its work, where that is known. It names nothing of the installation, so
/// that anyone may be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StoreFault {
    /// Its disk has no room for a write.
    DiskFull,
    /// It takes no writes, e.g. a standby.
    ReadOnly,
    /// Its server does not answer.
    Away,
}

impl StoreFault {
    /// Every fault.
    pub const ALL: [StoreFault; 3] = [StoreFault::DiskFull, StoreFault::ReadOnly, StoreFault::Away];

    /// Returns the fault in a few words.
    pub const fn reason(self) -> &'static str {
        match self {
            StoreFault::DiskFull => "the disk is full",
            StoreFault::ReadOnly => "the store can only be read",
            StoreFault::Away => "the store cannot be reached",
        }
    }

    /// Returns the beginning of the message of its error, by which it is known.
    const fn beginning(self) -> &'static str {
        match self {
            StoreFault::DiskFull => {
                "the disk is full: nothing was written; free some space and try again"
            }
            StoreFault::ReadOnly => "the store can only be read: nothing was written",
            StoreFault::Away => "the store cannot be reached",
        }
    }
}

/// The kind of failure. One table holds the wire name and the HTTP status of each code:
/// [`ErrorCode::name`] and [`ErrorCode::http_status`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    /// An argument is missing, unknown, of the wrong type or out of range.
    InvalidArgument,
    /// The named item does not exist, or the caller may not learn that it does.
    NotFound,
    /// The item changed in the meantime, or the same key was used for another request.
    Conflict,
    /// The caller did not authenticate, or its credentials are invalid.
    Unauthorized,
    /// The caller is authenticated but not permitted to do this.
    Forbidden,
    /// A text, a batch or an answer exceeds its limit.
    TooLarge,
    /// The caller sends too many requests.
    RateLimited,
    /// A required part (disk, model, lock) does not answer now; a later retry may succeed.
    Unavailable,
    /// The database is corrupt: it holds something that loci did not write. On the wire it is
    /// `unavailable`.
    Corrupt,
    /// An internal error of loci.
    Internal,
}

impl ErrorCode {
    /// Every code that has a name of its own on the wire, in the order of the documentation.
    pub const ALL: [ErrorCode; 9] = [
        ErrorCode::InvalidArgument,
        ErrorCode::NotFound,
        ErrorCode::Conflict,
        ErrorCode::Unauthorized,
        ErrorCode::Forbidden,
        ErrorCode::TooLarge,
        ErrorCode::RateLimited,
        ErrorCode::Unavailable,
        ErrorCode::Internal,
    ];

    /// Returns the code's name on the wire.
    pub const fn name(self) -> &'static str {
        self.row().0
    }

    /// Returns the corresponding HTTP status.
    pub const fn http_status(self) -> u16 {
        self.row().1
    }

    const fn row(self) -> (&'static str, u16) {
        match self {
            ErrorCode::InvalidArgument => ("invalid_argument", 400),
            ErrorCode::NotFound => ("not_found", 404),
            ErrorCode::Conflict => ("conflict", 409),
            ErrorCode::Unauthorized => ("unauthorized", 401),
            ErrorCode::Forbidden => ("forbidden", 403),
            ErrorCode::TooLarge => ("too_large", 413),
            ErrorCode::RateLimited => ("rate_limited", 429),
            ErrorCode::Unavailable | ErrorCode::Corrupt => ("unavailable", 503),
            ErrorCode::Internal => ("internal", 500),
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// An error as the caller sees it: a code for programs, a message for people and models.
///
/// The message says which argument or part failed, why, and how to fix it; it never holds the
/// content of a memory or a secret. Programs read the code and the argument, never the message; a
/// tool set that has its own names for a subject or a remedy puts them in by
/// [`with_subject`](Error::with_subject) and [`with_remedy`](Error::with_remedy).
///
/// ```
/// use loci_core::Error;
///
/// let error = Error::invalid("section", "must not be empty").renamed("section", "room");
/// assert_eq!(error.to_string(), "`room` must not be empty");
/// assert_eq!(error.argument.as_deref(), Some("room"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The kind of failure.
    pub code: ErrorCode,
    /// The problem and how to fix it. [`with_message`](Error::with_message) changes it.
    pub message: String,
    /// The invalid argument, with dots before the names of nested fields; `None` if no single
    /// argument is the cause.
    pub argument: Option<String>,
    /// The parts of the message; `None` if it has none that can be replaced.
    parts: Option<Box<Parts>>,
    /// The error that [caused](Error::caused_by) it.
    cause: Cause,
}

/// The error of another library that caused one of ours. Callers cannot see it, so it does not tell
/// errors apart.
#[derive(Debug, Clone, Default)]
struct Cause(Option<Arc<dyn std::error::Error + Send + Sync>>);

impl PartialEq for Cause {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Cause {}

/// A message in parts: `SUBJECT PROBLEM; REMEDY PURPOSE`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Parts {
    subject: Option<String>,
    problem: String,
    remedy: Option<String>,
    purpose: Option<String>,
}

impl Parts {
    fn message(&self) -> String {
        let mut message = match &self.subject {
            Some(subject) => format!("{subject} {}", self.problem),
            None => self.problem.clone(),
        };
        if let Some(remedy) = &self.remedy {
            message.push_str("; ");
            message.push_str(remedy);
        }
        if let Some(purpose) = &self.purpose {
            message.push(' ');
            message.push_str(purpose);
        }
        message
    }
}

impl Error {
    /// Creates an error with the given code.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Error {
            code,
            message: message.into(),
            argument: None,
            parts: None,
            cause: Cause::default(),
        }
    }

    /// Returns the error with the one that caused it, for the log: see [`chain`](Error::chain). The
    /// caller does not get it. Its text must hold neither the content of a memory nor a secret; an
    /// error that quotes what it could not parse is therefore left out.
    #[must_use]
    pub fn caused_by(self, cause: impl std::error::Error + Send + Sync + 'static) -> Self {
        Error {
            cause: Cause(Some(Arc::new(cause))),
            ..self
        }
    }

    /// Returns the message, and after it those of the errors that caused it, the first cause last,
    /// with a colon between two.
    pub fn chain(&self) -> String {
        let causes = std::iter::successors(std::error::Error::source(self), |error| error.source());
        causes.fold(self.message.clone(), |chain, cause| {
            format!("{chain}: {cause}")
        })
    }

    /// Creates an error whose message is the subject, e.g. an argument or a noun, and its problem.
    pub fn about(code: ErrorCode, subject: impl Into<String>, problem: impl fmt::Display) -> Self {
        Error::new(code, "").of_parts(Parts {
            subject: Some(subject.into()),
            problem: problem.to_string(),
            ..Parts::default()
        })
    }

    /// Creates an error for an invalid argument. The message starts with the argument's name.
    pub fn invalid(argument: &str, problem: impl fmt::Display) -> Self {
        Error::about_argument(ErrorCode::InvalidArgument, argument, problem)
    }

    /// Creates an error for an argument. The message starts with the argument's name.
    pub fn about_argument(code: ErrorCode, argument: &str, problem: impl fmt::Display) -> Self {
        Error::about(code, quoted(argument), problem).of_argument(argument)
    }

    /// Returns the error with its argument set.
    #[must_use]
    pub fn of_argument(self, argument: impl Into<String>) -> Self {
        Error {
            argument: Some(argument.into()),
            ..self
        }
    }

    /// Returns the error with another message. It has no subject and no remedy that could be
    /// replaced.
    #[must_use]
    pub fn with_message(self, message: impl Into<String>) -> Self {
        Error {
            message: message.into(),
            parts: None,
            ..self
        }
    }

    /// Returns the error with a remedy at the end of its message: the act that helps, e.g. `list
    /// the tunnels`, and its purpose, which may be empty.
    #[must_use]
    pub fn advising(mut self, remedy: &str, purpose: &str) -> Self {
        let parts = self.parts.take().map_or_else(
            || Parts {
                problem: mem::take(&mut self.message),
                ..Parts::default()
            },
            |parts| *parts,
        );
        self.of_parts(Parts {
            remedy: Some(remedy.to_owned()),
            purpose: (!purpose.is_empty()).then(|| purpose.to_owned()),
            ..parts
        })
    }

    /// Returns the error with the subject `to` in its message if the message has the subject
    /// `from`.
    #[must_use]
    pub fn with_subject(self, from: &str, to: &str) -> Self {
        let is_from = self.subject() == Some(from);
        if is_from {
            self.replacing(|parts| &mut parts.subject, to)
        } else {
            self
        }
    }

    /// Returns the error with another remedy in its message, if the message has a remedy.
    #[must_use]
    pub fn with_remedy(self, remedy: &str) -> Self {
        self.replacing(|parts| &mut parts.remedy, remedy)
    }

    /// Returns the error with the argument `to` if its argument is `from`, as for a tool set or a
    /// caller with another name for it.
    #[must_use]
    pub fn renamed(self, from: &str, to: &str) -> Self {
        if self.argument.as_deref() == Some(from) {
            self.with_subject(&quoted(from), &quoted(to))
                .of_argument(to)
        } else {
            self
        }
    }

    fn subject(&self) -> Option<&str> {
        self.parts.as_ref()?.subject.as_deref()
    }

    fn replacing(mut self, part: fn(&mut Parts) -> &mut Option<String>, text: &str) -> Self {
        let Some(mut parts) = self.parts.take() else {
            return self;
        };
        if let Some(part) = part(&mut parts) {
            text.clone_into(part);
        }
        self.of_parts(*parts)
    }

    fn of_parts(self, parts: Parts) -> Self {
        Error {
            message: parts.message(),
            parts: Some(Box::new(parts)),
            ..self
        }
    }

    /// Returns the message without its subject.
    pub fn problem(&self) -> String {
        match &self.parts {
            Some(parts) => Parts {
                subject: None,
                ..(**parts).clone()
            }
            .message(),
            None => self.message.clone(),
        }
    }

    /// Creates an error for an item that does not exist or that the caller may not know of.
    pub fn not_found(message: impl Into<String>) -> Self {
        Error::new(ErrorCode::NotFound, message)
    }

    /// Creates an error for a required part that does not answer now.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Error::new(ErrorCode::Unavailable, message)
    }

    /// Creates the error of a write for which the disk has no room.
    pub fn disk_full() -> Self {
        Error::unavailable(StoreFault::DiskFull.beginning())
    }

    /// Creates the error of a store with this fault; the details end with the remedy.
    pub fn of_store(fault: StoreFault, details: &str) -> Self {
        Error::unavailable(format!("{}; {details}", fault.beginning()))
    }

    /// Returns whether this is the error of a write for which the disk has no room, whatever follows
    /// its message, because what can be read is then read all the same.
    pub fn is_disk_full(&self) -> bool {
        self.store_fault() == Some(StoreFault::DiskFull)
    }

    /// Returns the fault of the store that this is the error of, if it is one.
    pub fn store_fault(&self) -> Option<StoreFault> {
        if self.code != ErrorCode::Unavailable {
            return None;
        }
        let mut faults = StoreFault::ALL.into_iter();
        faults.find(|fault| self.message.starts_with(fault.beginning()))
    }

    /// The database is corrupt.
    pub fn corrupt(message: impl Into<String>) -> Self {
        Error::new(ErrorCode::Corrupt, message)
    }

    /// Returns true if a part that is needed does not answer, a corrupt database among them: the
    /// failure is not one of the request.
    pub fn is_unavailable(&self) -> bool {
        matches!(self.code, ErrorCode::Unavailable | ErrorCode::Corrupt)
    }

    /// Creates an error for an internal fault.
    pub fn internal(message: impl Into<String>) -> Self {
        Error::new(ErrorCode::Internal, message)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause
            .0
            .as_ref()
            .map(|cause| &**cause as &(dyn std::error::Error + 'static))
    }
}

fn quoted(argument: &str) -> String {
    format!("`{argument}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_of_a_store_is_known_by_its_error() {
        for fault in StoreFault::ALL {
            let error = Error::of_store(fault, "PostgreSQL: no; make room");
            assert_eq!(error.store_fault(), Some(fault), "{error}");
            assert!(error.message.starts_with(fault.reason()), "{error}");
            assert_eq!(error.is_disk_full(), fault == StoreFault::DiskFull);
        }
        assert!(Error::disk_full().is_disk_full());
        assert_eq!(Error::unavailable("busy").store_fault(), None);
        assert_eq!(Error::internal("the disk is full").store_fault(), None);
    }

    #[test]
    fn code_names_are_unique() {
        let mut names: Vec<_> = ErrorCode::ALL.iter().map(|code| code.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ErrorCode::ALL.len());
    }

    #[test]
    fn a_cause_is_for_the_log_only() {
        let cause = || "x".parse::<u8>().unwrap_err();
        let error = Error::invalid("limit", "is no number");
        let caused = error
            .clone()
            .caused_by(Error::internal("it was read").caused_by(cause()));
        assert_eq!(caused, error, "the caller sees the same");
        assert_eq!(caused.to_string(), "`limit` is no number");
        let chain = "`limit` is no number: it was read: invalid digit found in string";
        assert_eq!(caused.chain(), chain);
        assert_eq!(
            caused.renamed("limit", "k").chain(),
            chain.replace("limit", "k"),
            "other words keep the cause"
        );
        assert_eq!(error.chain(), error.message);
    }

    #[test]
    fn a_subject_and_a_remedy_have_other_words_for_a_tool_set() {
        let error = Error::invalid("k", "must not be `k`").advising("ask help", "for more");
        assert_eq!(error.message, "`k` must not be `k`; ask help for more");
        assert_eq!(error.problem(), "must not be `k`; ask help for more");
        let renamed = error.renamed("k", "limit").with_remedy("call t");
        assert_eq!(
            (renamed.message.as_str(), renamed.argument.as_deref()),
            ("`limit` must not be `k`; call t for more", Some("limit"))
        );
        let whole = renamed
            .with_message("memory no")
            .with_subject("memory", "drawer");
        assert_eq!(
            (whole.message.as_str(), whole.problem().as_str()),
            ("memory no", "memory no")
        );
        let advised = Error::not_found("nothing there").advising("list all", "");
        assert_eq!(
            advised
                .with_remedy("see t")
                .with_subject("nothing", "room")
                .message,
            "nothing there; see t"
        );
        let record = Error::about(ErrorCode::Conflict, "memory", "`7` is gone");
        assert_eq!(record.clone().with_subject("fact", "drawer"), record);
        assert_eq!(record.clone().renamed("memory", "drawer"), record);
        assert_eq!(
            record.with_subject("memory", "drawer").message,
            "drawer `7` is gone"
        );
    }
}
