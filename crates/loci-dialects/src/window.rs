//! The time in which memories were first stored, as a first and a last argument name it.

use loci_core::{Error, Period, Result, Timestamp};
use loci_engine::Facets;
use serde_json::Value;

use crate::mempalace::period;

/// The names of the two arguments of a tool.
#[derive(Debug, Clone, Copy)]
pub struct WindowNames {
    /// From this time on, inclusive.
    pub since: &'static str,
    /// Until this time, exclusive.
    pub before: &'static str,
}

impl WindowNames {
    /// Returns the conditions for these values: a day stands for its first moment, in UTC, and so
    /// does a moment without an offset.
    ///
    /// # Errors
    /// `invalid_argument`, naming the argument, for a text that is no time, and for a window that
    /// ends before it starts.
    pub fn facets(self, since: Option<&str>, before: Option<&str>) -> Result<Facets> {
        let created_from = moment(self.since, since)?;
        let before = moment(self.before, before)?;
        if let (Some(from), Some(before)) = (created_from, before)
            && before <= from
        {
            let problem = format!("must be later than `{}`", self.since);
            return Err(Error::invalid(self.before, problem));
        }
        let last = |before: Timestamp| {
            Timestamp::from_microseconds(before.microseconds().saturating_sub(1))
        };
        Ok(Facets {
            created_from,
            created_until: before.map(last),
            ..Facets::default()
        })
    }

    /// Returns the faults of the two arguments. Skips wrong types, which the schema reports.
    pub fn faults(self, arguments: &Value) -> Vec<Error> {
        let text = |name| arguments.get(name).and_then(Value::as_str);
        let (since, before) = (text(self.since), text(self.before));
        let of_each = [(self.since, since), (self.before, before)]
            .into_iter()
            .filter_map(|(name, text)| moment(name, text).err());
        let faults: Vec<Error> = of_each.collect();
        if faults.is_empty() {
            self.facets(since, before).err().into_iter().collect()
        } else {
            faults
        }
    }
}

/// Returns the first moment of a time; `None` if it is blank.
fn moment(argument: &str, text: Option<&str>) -> Result<Option<Timestamp>> {
    Ok(time(argument, text)?.map(|period| period.first))
}

/// Returns a day or a moment, which is in UTC if it has no offset; `None` if it is blank.
pub(crate) fn time(argument: &str, text: Option<&str>) -> Result<Option<Period>> {
    let in_utc = text.map(|text| format!("{}Z", text.trim_end()));
    period(argument, text).or_else(|error| period(argument, in_utc.as_deref()).map_err(|_| error))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: WindowNames = WindowNames {
        since: "since",
        before: "before",
    };

    #[test]
    fn a_window_has_its_start_and_not_its_end() {
        let rows = [
            ((None, None), (None, None)),
            ((Some(" "), Some("")), (None, None)),
            (
                (Some("1970-01-02"), Some("1970-01-03")),
                (Some(86_400_000_000), Some(172_799_999_999)),
            ),
            (
                (
                    Some("1970-01-01T00:00:01"),
                    Some("1970-01-01T01:00:02+01:00"),
                ),
                (Some(1_000_000), Some(1_999_999)),
            ),
        ];
        for ((since, before), (from, until)) in rows {
            let facets = NAMES.facets(since, before).unwrap();
            let microseconds = |time: Option<Timestamp>| time.map(Timestamp::microseconds);
            assert_eq!(
                (
                    microseconds(facets.created_from),
                    microseconds(facets.created_until)
                ),
                (from, until),
                "{since:?} {before:?}"
            );
        }
    }

    #[test]
    fn what_is_no_window_is_refused_by_name() {
        let faults = |since: &str, before: &str| {
            let arguments = serde_json::json!({"since": since, "before": before});
            let faults = NAMES.faults(&arguments).into_iter();
            faults.map(|fault| fault.message).collect::<Vec<_>>()
        };
        assert_eq!(faults("1970-01-01", "1970-01-02"), Vec::<String>::new());
        assert_eq!(
            faults("1970-01-02", "1970-01-02"),
            ["`before` must be later than `since`"]
        );
        let both = faults("yesterday", "1970-13-01");
        assert_eq!(both.len(), 2, "{both:?}");
        assert!(both[0].starts_with("`since` must be a day"), "{both:?}");
        assert!(both[1].starts_with("`before` must be a day"), "{both:?}");
    }
}
