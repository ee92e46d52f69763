//! What every operation asks of its arguments and callers. `argument` is the name that the caller
//! knows the value by.

use loci_core::limits::{CONTENT_BYTES_MAX, NAME_CHARACTERS_MAX, QUERY_BYTES_MAX, TAG_BYTES_MAX, TAGS_MAX};
use loci_core::{Caller, Error, ErrorCode, Result, Scope};

/// Content: not blank, no NUL, at most 1 MiB.
///
/// # Errors
/// `invalid_argument`, or `too_large` beyond the bytes, naming `argument`.
pub fn content(argument: &str, text: &str) -> Result<()> {
    self::text(argument, text, CONTENT_BYTES_MAX)
}

/// A query: not blank, no NUL, at most 64 KiB.
///
/// # Errors
/// `invalid_argument`, or `too_large` beyond the bytes, naming `argument`.
pub fn query(argument: &str, text: &str) -> Result<()> {
    self::text(argument, text, QUERY_BYTES_MAX)
}

/// A name: 1 to 256 characters, not blank, without control characters.
///
/// # Errors
/// `invalid_argument`, naming `argument`.
pub fn name(argument: &str, name: &str) -> Result<()> {
    if name.trim().is_empty() {
        return Err(Error::invalid(argument, "must not be blank; give a name"));
    }
    if name.chars().count() > NAME_CHARACTERS_MAX {
        return Err(Error::invalid(argument, format!("must have at most {NAME_CHARACTERS_MAX} characters")));
    }
    if name.chars().any(char::is_control) {
        return Err(Error::invalid(argument, "must not hold control characters"));
    }
    Ok(())
}

/// Tags: at most 128, each 1 to 128 bytes, not blank, without control characters.
///
/// # Errors
/// `invalid_argument`, naming `argument`.
pub fn tags(argument: &str, tags: &[String]) -> Result<()> {
    if tags.len() > TAGS_MAX {
        return Err(Error::invalid(argument, format!("must hold at most {TAGS_MAX} tags, not {}", tags.len())));
    }
    for tag in tags {
        if tag.trim().is_empty() || tag.len() > TAG_BYTES_MAX || tag.chars().any(char::is_control) {
            let problem =
                format!("must hold tags of 1 to {TAG_BYTES_MAX} bytes, not blank, without control characters");
            return Err(Error::invalid(argument, problem));
        }
    }
    Ok(())
}

/// The name under which the caller owns what is kept for one user alone.
///
/// # Errors
/// `forbidden` to an anonymous caller.
pub(crate) fn subject(caller: &Caller) -> Result<&str> {
    let message = "this is kept for one user alone, and the caller has no name; give a token or a user";
    caller.principal.subject.as_deref().ok_or_else(|| Error::new(ErrorCode::Forbidden, message))
}

/// As [`subject`], for what deletes.
///
/// # Errors
/// `forbidden` to an anonymous caller or without the scope `write`.
pub(crate) fn deleting_subject(caller: &Caller) -> Result<&str> {
    if !caller.principal.scopes.allow(Scope::Write) {
        return Err(Error::new(ErrorCode::Forbidden, "deleting needs a token with the scope `write`"));
    }
    subject(caller)
}

fn text(argument: &str, text: &str, bytes_max: usize) -> Result<()> {
    if text.len() > bytes_max {
        let message = format!("`{argument}` has {} bytes; at most {bytes_max} are accepted; split it", text.len());
        return Err(Error::new(ErrorCode::TooLarge, message));
    }
    if text.contains('\0') {
        return Err(Error::invalid(argument, "must not hold the NUL character (U+0000)"));
    }
    if text.trim().is_empty() {
        return Err(Error::invalid(argument, "must not be empty or blank"));
    }
    Ok(())
}
