//! Checks of the arguments and callers of operations. `argument` is the name under which the caller
//! knows the value.

mod record;

use loci_core::limits::{
    CITATIONS_MAX, CITED_CONTENT_BYTES_MAX, CONTENT_BYTES_MAX, EXCERPT_BYTES_MAX, QUERY_BYTES_MAX,
    REFERENCE_BYTES_MAX, TAG_BYTES_MAX, TAGS_MAX,
};
use loci_core::{Citation, Error, ErrorCode, MemoryId, Result, check_text};
use uuid::Uuid;
use uuid::fmt::Hyphenated;

pub use loci_core::check_name as name;
pub(crate) use record::record;

/// Checks content: not blank, no NUL, at most 1 MiB.
///
/// # Errors
/// `invalid_argument`, or `too_large` beyond the bytes, naming `argument`.
pub fn content(argument: &str, text: &str) -> Result<()> {
    self::text(argument, text, CONTENT_BYTES_MAX)
}

/// Checks the content of a memory with these citations: as [`content`], and at most 64 KiB if there
/// are any.
///
/// # Errors
/// As for [`content`].
pub fn cited_content(argument: &str, text: &str, citations: &[Citation]) -> Result<()> {
    let bytes_max = if citations.is_empty() {
        CONTENT_BYTES_MAX
    } else {
        CITED_CONTENT_BYTES_MAX
    };
    self::text(argument, text, bytes_max)
}

/// Checks a query: not blank, no NUL, at most 64 KiB.
///
/// # Errors
/// `invalid_argument`, or `too_large` beyond the bytes, naming `argument`.
pub fn query(argument: &str, text: &str) -> Result<()> {
    self::text(argument, text, QUERY_BYTES_MAX)
}

/// Checks tags: at most 128, each 1 to 128 bytes, not blank, without control characters.
///
/// # Errors
/// `invalid_argument`, naming `argument`.
pub fn tags(argument: &str, tags: &[String]) -> Result<()> {
    if tags.len() > TAGS_MAX {
        return Err(Error::invalid(
            argument,
            format!("must hold at most {TAGS_MAX} tags, not {}", tags.len()),
        ));
    }
    for (index, tag) in tags.iter().enumerate() {
        self::tag(&format!("{argument}.{index}"), tag)?;
    }
    Ok(())
}

/// Checks a tag: 1 to 128 bytes, not blank, without control characters.
///
/// # Errors
/// `invalid_argument`, naming `argument`.
pub fn tag(argument: &str, tag: &str) -> Result<()> {
    if tag.trim().is_empty() || tag.len() > TAG_BYTES_MAX || tag.chars().any(char::is_control) {
        let problem = format!(
            "must be a tag of 1 to {TAG_BYTES_MAX} bytes, not blank, without control characters"
        );
        return Err(Error::invalid(argument, problem));
    }
    Ok(())
}

/// Checks a short text about a memory, e.g. a path, a URL or a summary: not blank, no NUL, at most
/// 4,096 bytes.
///
/// # Errors
/// `invalid_argument`, or `too_large` beyond the bytes, naming `argument`.
pub fn reference(argument: &str, text: &str) -> Result<()> {
    self::text(argument, text, REFERENCE_BYTES_MAX)
}

/// Checks citations: at most 50, each part as in [`citation_part`].
///
/// # Errors
/// `invalid_argument`, or `too_large` beyond the bytes of a part, naming the part of `argument`.
pub fn citations(argument: &str, citations: &[Citation]) -> Result<()> {
    if citations.len() > CITATIONS_MAX {
        let problem = format!(
            "must hold at most {CITATIONS_MAX} citations, not {}",
            citations.len()
        );
        return Err(Error::invalid(argument, problem));
    }
    for (index, citation) in citations.iter().enumerate() {
        let Citation {
            kind: _,
            reference,
            locator,
            pin,
            excerpt,
        } = citation;
        let parts = [
            ("ref", Some(reference)),
            ("locator", locator.as_ref()),
            ("pin", pin.as_ref()),
        ];
        for (name, part) in parts.into_iter().chain([("excerpt", excerpt.as_ref())]) {
            part.map_or(Ok(()), |part| {
                citation_part(&format!("{argument}.{index}"), name, part)
            })?;
        }
    }
    Ok(())
}

/// Checks one part of a citation (`ref`, `locator`, `pin`, `excerpt`): not blank, no NUL; at most
/// 16 KiB in an excerpt, 4,096 bytes in any other part.
///
/// # Errors
/// `invalid_argument`, or `too_large` beyond the bytes, naming the part of `citation`.
pub fn citation_part(citation: &str, part: &str, text: &str) -> Result<()> {
    let bytes_max = if part == "excerpt" {
        EXCERPT_BYTES_MAX
    } else {
        REFERENCE_BYTES_MAX
    };
    self::text(&format!("{citation}.{part}"), text, bytes_max)
}

/// Returns the id that a UUID with hyphens represents, in lower case.
///
/// # Errors
/// `invalid_argument` for any other text, naming `argument`.
pub fn uuid(argument: &str, id: &str) -> Result<MemoryId> {
    let uuid = Uuid::try_parse(id)
        .ok()
        .filter(|_| id.len() == Hyphenated::LENGTH);
    let uuid = uuid.ok_or_else(|| {
        Error::invalid(
            argument,
            "must be a UUID with hyphens, such as 0198c0de-7a31-7000-8000-3f2a5b6c7d8e",
        )
    })?;
    Ok(MemoryId::new(uuid.to_string()))
}

/// Checks a text: not blank, no NUL, at most that many bytes.
///
/// # Errors
/// `invalid_argument`, or `too_large` beyond the bytes, naming `argument`.
pub fn text(argument: &str, text: &str, bytes_max: usize) -> Result<()> {
    bounded(argument, text, bytes_max)?;
    if text.trim().is_empty() {
        return Err(Error::invalid(argument, "must not be empty or blank"));
    }
    Ok(())
}

/// Checks a text that may be blank: no NUL, at most that many bytes.
///
/// # Errors
/// `invalid_argument`, or `too_large` beyond the bytes, naming `argument`.
pub(crate) fn bounded(argument: &str, text: &str, bytes_max: usize) -> Result<()> {
    if text.len() > bytes_max {
        // A text with a small limit is not made of parts.
        let advice = if bytes_max < CITED_CONTENT_BYTES_MAX {
            "shorten it"
        } else {
            "split it"
        };
        let problem = format!(
            "has {} bytes; at most {bytes_max} are accepted; {advice}",
            text.len()
        );
        return Err(Error::about_argument(
            ErrorCode::TooLarge,
            argument,
            problem,
        ));
    }
    check_text(argument, text)
}
