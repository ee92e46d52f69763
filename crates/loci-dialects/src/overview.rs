//! Overviews of bounded size, however many places there are.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;

/// The maximum bytes of JSON in an overview.
pub const OVERVIEW_BYTES_MAX: usize = 8 << 10;
/// The maximum number of names of one kind in an overview.
pub const NAMES_MAX: usize = 50;

/// Returns the largest counts, at most `names_max` and `bytes_max` bytes in JSON, ties by name; and
/// the number of the others.
pub fn largest(
    counts: BTreeMap<String, u64>,
    names_max: usize,
    bytes_max: usize,
) -> (BTreeMap<String, u64>, u64) {
    largest_after(0, counts, names_max, bytes_max)
}

/// Returns the same of the counts after the first `offset`, and the number of the others.
pub fn largest_after(
    offset: usize,
    counts: BTreeMap<String, u64>,
    names_max: usize,
    bytes_max: usize,
) -> (BTreeMap<String, u64>, u64) {
    let mut counts: Vec<(String, u64)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| Reverse(*count));
    counts.drain(..offset.min(counts.len()));
    let left = counts.len();
    counts.truncate(names_max);
    let shown: BTreeMap<String, u64> = fitting(counts, bytes_max).into_iter().collect();
    let more = (left - shown.len()) as u64;
    (shown, more)
}

/// Returns the offset of the next page, if there is more after what is shown.
pub fn next_offset(offset: usize, shown: usize, more: u64) -> Option<usize> {
    (more > 0).then_some(offset.saturating_add(shown))
}

/// Returns the longest prefix of the items with at most `bytes_max` bytes in JSON.
pub fn fitting<T: Serialize>(items: Vec<T>, bytes_max: usize) -> Vec<T> {
    let mut left = bytes_max;
    let fits = |item: &T| {
        let rest = left.checked_sub(json_bytes(item));
        left = rest.unwrap_or(left);
        rest.is_some()
    };
    items.into_iter().take_while(fits).collect()
}

/// Returns the bytes of a value in JSON, plus one for a comma.
pub fn json_bytes(value: &impl Serialize) -> usize {
    serde_json::to_string(value).map_or(usize::MAX, |json| json.len() + 1)
}

/// Returns true if there is nothing left out to report.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the attribute demands the type"
)]
pub fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    type Rows = &'static [(&'static str, u64)];

    fn counts(rows: Rows) -> BTreeMap<String, u64> {
        rows.iter()
            .map(|(name, count)| ((*name).to_owned(), *count))
            .collect()
    }

    #[test]
    fn the_largest_are_shown_and_the_others_counted() {
        let all = counts(&[("a", 1), ("b", 3), ("c", 2), ("d", 2)]);
        let rows: [(usize, usize, Rows, u64); 5] = [
            (9, 99, &[("a", 1), ("b", 3), ("c", 2), ("d", 2)], 0),
            (3, 99, &[("b", 3), ("c", 2), ("d", 2)], 1),
            (2, 99, &[("b", 3), ("c", 2)], 2),
            // Each has eight bytes: `["b",3],`.
            (9, 15, &[("b", 3)], 3),
            (9, 7, &[], 4),
        ];
        for (names_max, bytes_max, expected, more) in rows {
            assert_eq!(
                largest(all.clone(), names_max, bytes_max),
                (counts(expected), more),
                "{names_max} {bytes_max}"
            );
        }
    }

    #[test]
    fn what_does_not_fit_ends_it() {
        assert_eq!(fitting(vec!["one", "three", "two"], 12), ["one"]);
        assert_eq!(fitting(vec!["one", "two", "three"], 12), ["one", "two"]);
        assert_eq!(fitting(vec!["\n"], 4), Vec::<&str>::new(), "as JSON has it");
    }
}
