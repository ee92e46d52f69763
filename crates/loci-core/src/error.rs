//! One table of failure codes, and the error that carries them to the caller.

use std::fmt;

/// A result whose failure can be shown to the caller.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What kind of failure happened. The wire name and the HTTP status of each code stand in one
/// table, [`ErrorCode::name`] and [`ErrorCode::http_status`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    /// An argument is missing, unknown, of the wrong type or out of range.
    InvalidArgument,
    /// The thing named does not exist, or the caller may not know that it does.
    NotFound,
    /// The thing changed meanwhile, or the same key was used for something else.
    Conflict,
    /// The caller did not say who it is, or the proof does not hold.
    Unauthorized,
    /// The caller is known and may not do this.
    Forbidden,
    /// A text, a batch or an answer is beyond its limit.
    TooLarge,
    /// The caller asks too often.
    RateLimited,
    /// A part that is needed (disk, model, lock) does not answer now; trying later may help.
    Unavailable,
    /// The database is corrupt: it holds something that loci did not write. On the wire it is
    /// `unavailable`.
    Corrupt,
    /// A fault of loci itself.
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

    /// The code as it stands on the wire.
    pub const fn name(self) -> &'static str {
        self.row().0
    }

    /// The HTTP status that says the same.
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

/// A failure as the caller reads it: a code for programs, a sentence for people and models.
///
/// The message says what was wrong, with which argument, and what to do; it never holds the
/// content of a memory or a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The kind of failure.
    pub code: ErrorCode,
    /// What was wrong and what to do.
    pub message: String,
    /// The argument at fault, with dots before what is inside of another; none, if the fault is of
    /// no single one.
    pub argument: Option<String>,
}

impl Error {
    /// A failure of the given kind.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Error {
            code,
            message: message.into(),
            argument: None,
        }
    }

    /// An argument that cannot be taken. The message begins with the argument's name.
    pub fn invalid(argument: &str, problem: impl fmt::Display) -> Self {
        Error::new(
            ErrorCode::InvalidArgument,
            format!("`{argument}` {problem}"),
        )
        .of_argument(argument)
    }

    /// The failure, said of this argument.
    #[must_use]
    pub fn of_argument(self, argument: impl Into<String>) -> Self {
        Error {
            argument: Some(argument.into()),
            ..self
        }
    }

    /// No such thing, or none that the caller may know of.
    pub fn not_found(message: impl Into<String>) -> Self {
        Error::new(ErrorCode::NotFound, message)
    }

    /// A part that is needed does not answer now.
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

    /// A fault of loci itself.
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
