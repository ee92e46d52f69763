//! JSON that other programs wrote, read even where it breaks the rules of JSON.
//!
//! Valid JSON is read by `serde_json` and costs nothing more. A text that `serde_json` refuses is
//! [repaired](mod@repair) and read again: half of a surrogate pair becomes U+FFFD, `NaN` becomes
//! `null`, and so on, because one wrong character must not lose the message around it. The number
//! of repairs says that something was changed.
//!
//! ```
//! let text = br#"{"said": "Tea \ud83c", "weight": NaN}"#;
//! let (value, repairs) = loci_json::from_slice::<serde_json::Value>(text)?;
//! assert_eq!(value, serde_json::json!({"said": "Tea \u{fffd}", "weight": null}));
//! assert_eq!(repairs, 2);
//! # Ok::<(), serde_json::Error>(())
//! ```

#![cfg_attr(test, allow(clippy::expect_used, reason = "a failed test may panic"))]

mod records;
pub mod repair;

use serde::de::DeserializeOwned;
use serde_json::error::Category;

pub use records::{Records, among, records};
pub use repair::{End, Repair, repair};

/// Reads one value. Returns it with the number of repairs, which is 0 for valid JSON.
///
/// # Errors
/// The error of the text as it stands, if it cannot be repaired or holds a value of another type.
pub fn from_slice<T: DeserializeOwned>(text: &[u8]) -> serde_json::Result<(T, u64)> {
    read(text, End::Whole)
}

/// Reads one value like [`from_slice`], and closes it where the text ends before it does: of a file
/// that was cut off, what came before the cut is kept.
///
/// # Errors
/// The error of the text as it stands, if it cannot be repaired or holds a value of another type.
pub fn from_cut_slice<T: DeserializeOwned>(text: &[u8]) -> serde_json::Result<(T, u64)> {
    read(text, End::Cut)
}

fn read<T: DeserializeOwned>(text: &[u8], end: End) -> serde_json::Result<(T, u64)> {
    let error = match serde_json::from_slice(text) {
        Ok(value) => return Ok((value, 0)),
        Err(error) => error,
    };
    if error.classify() == Category::Data {
        return Err(error);
    }
    // A text that was cut off in a string does not end with the end of its file.
    let text = if end == End::Cut {
        text.trim_ascii_end()
    } else {
        text
    };
    match repair(text, end) {
        Some(repair) => Ok((serde_json::from_slice(&repair.text)?, repair.count)),
        None => Err(error),
    }
}
