//! Error codes and the error type that is returned to the caller.

use std::fmt;

/// A result whose error can be shown to the caller.
pub type Result<T, E = Error> = std::result::Result<T, E>;

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
/// content of a memory or a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The kind of failure.
    pub code: ErrorCode,
    /// The problem and how to fix it.
    pub message: String,
    /// The invalid argument, with dots before the names of nested fields; `None` if no single
    /// argument is the cause.
    pub argument: Option<String>,
}

impl Error {
    /// Creates an error with the given code.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Error {
            code,
            message: message.into(),
            argument: None,
        }
    }

    /// Creates an error for an invalid argument. The message begins with the argument's name.
    pub fn invalid(argument: &str, problem: impl fmt::Display) -> Self {
        Error::new(
            ErrorCode::InvalidArgument,
            format!("`{argument}` {problem}"),
        )
        .of_argument(argument)
    }

    /// Returns the error with its argument set.
    #[must_use]
    pub fn of_argument(self, argument: impl Into<String>) -> Self {
        Error {
            argument: Some(argument.into()),
            ..self
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

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_names_are_unique() {
        let mut names: Vec<_> = ErrorCode::ALL.iter().map(|code| code.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ErrorCode::ALL.len());
    }
}
