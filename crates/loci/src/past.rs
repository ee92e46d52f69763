//! The flag `--as-of`: what was known at a time.

use jiff::civil::Date;
use loci_core::{Clock, Error, Timestamp};

use crate::time_format;
use crate::wiring::SystemClock;

/// The flag, as messages name it.
const FLAG: &str = "--as-of";

/// Returns the time of the flag, of which a day means its end, or now if it is today; `None` without
/// it.
///
/// # Errors
/// `invalid_argument`, naming the flag, for a text that is no time.
pub fn past(as_of: Option<&str>) -> Result<Option<Timestamp>, Error> {
    as_of
        .map(|text| end_of(text, SystemClock.now()))
        .transpose()
}

/// Returns the error of an operation with the flag in the place of its argument.
pub fn of_past(error: Error) -> Error {
    error.renamed("as_of", FLAG)
}

fn end_of(text: &str, now: Timestamp) -> Result<Timestamp, Error> {
    const DAY_SECONDS: i64 = 86_400;
    let first = time_format::parse(FLAG, text, now)?;
    if text.parse::<Date>().is_err() || text.contains(['T', 't', ' ']) || first > now {
        return Ok(first);
    }
    let next = first.plus_seconds(DAY_SECONDS);
    let last = Timestamp::from_microseconds(next.microseconds() - 1);
    Ok(last.min(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_means_its_end() {
        let now = Timestamp::from_microseconds(1_767_225_600_000_000 + 3_600_000_000);
        let day =
            |text| end_of(text, now).map(|at| (at.microseconds() - now.microseconds()) / 1_000_000);
        // 2026-01-01, one in the morning.
        for (text, expected) in [
            ("2025-12-31", -3_600),
            ("2026-01-01", 0),
            ("2026-01-02", 82_800),
            ("2025-12-31T12:00:00Z", -46_800),
            ("2025-12-31T12:00", -46_800),
            ("2025-12-31T12:00:00+02:00", -54_000),
            ("90m", -5_400),
        ] {
            assert_eq!(day(text), Ok(expected), "{text}");
        }
        let refused = day("then").unwrap_err();
        assert_eq!(refused.argument.as_deref(), Some("--as-of"));
    }
}
