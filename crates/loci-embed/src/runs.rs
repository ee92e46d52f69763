//! The runs that share the texts of a call.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;

/// The least tokens of a run of several texts, so that few texts are not spread thinly over many
/// cores.
const TOKENS_AT_ONCE_MIN: usize = 48;

/// Returns the distinct texts, in their order, and for each text the index of its equal.
pub(crate) fn distinct(texts: &[Vec<i32>]) -> (Vec<&[i32]>, Vec<usize>) {
    let mut distinct = Vec::new();
    let mut known = HashMap::new();
    let places = texts.iter().map(|text| {
        *known.entry(&**text).or_insert_with(|| {
            distinct.push(&**text);
            distinct.len() - 1
        })
    });
    let places = places.collect();
    (distinct, places)
}

/// Returns the indexes of the texts from the longest to the shortest, so that no core idles for
/// long at the end (Graham, "Bounds on multiprocessing timing anomalies", 1969).
pub(crate) fn longest_first(texts: &[&[i32]]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..texts.len()).collect();
    order.sort_by_key(|&index| Reverse(texts[index].len()));
    order
}

/// Returns the places of the order that run together: up to this number of tokens, or fewer if
/// cores would have nothing to do.
pub(crate) fn runs(
    order: &[usize],
    texts: &[&[i32]],
    tokens_at_once: usize,
    cores: usize,
) -> Vec<Range<usize>> {
    let tokens: usize = texts.iter().map(|text| text.len()).sum();
    let fair = tokens.div_ceil(cores.max(1)).max(TOKENS_AT_ONCE_MIN);
    let tokens_at_once = tokens_at_once.min(fair);
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut room = 0;
    for (place, &text) in order.iter().enumerate() {
        let tokens = texts[text].len();
        match runs.last_mut() {
            Some(run) if tokens <= room => {
                run.end += 1;
                room -= tokens;
            }
            _ => {
                runs.push(place..place + 1);
                room = tokens_at_once.saturating_sub(tokens);
            }
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts of these lengths, which are their first tokens as well.
    fn texts(lengths: &[usize]) -> Vec<Vec<i32>> {
        lengths
            .iter()
            .map(|&tokens| vec![tokens as i32; tokens])
            .collect()
    }

    #[test]
    fn texts_with_more_tokens_are_begun_earlier() {
        let texts = texts(&[3, 256, 2, 9, 255]);
        let texts: Vec<&[i32]> = texts.iter().map(Vec::as_slice).collect();
        assert_eq!(longest_first(&texts), [1, 4, 3, 0, 2]);
        assert!(longest_first(&[]).is_empty());
    }

    #[test]
    fn equal_texts_have_one_place() {
        let texts = texts(&[3, 4, 3, 3, 5, 4]);
        let (distinct, places) = distinct(&texts);
        assert_eq!(distinct, [&texts[0][..], &texts[1], &texts[4]]);
        assert_eq!(places, [0, 1, 0, 0, 2, 1]);
    }

    #[test]
    fn runs_are_full_but_leave_no_core_idle() {
        let lengths = |lengths: &[usize], tokens_at_once, cores| {
            let texts = texts(lengths);
            let texts: Vec<&[i32]> = texts.iter().map(Vec::as_slice).collect();
            let order = longest_first(&texts);
            let runs = runs(&order, &texts, tokens_at_once, cores);
            runs.iter().map(|run| run.end).collect::<Vec<_>>()
        };
        // The lengths, the most tokens at once, the cores, and the ends of the runs.
        let rows: [(&[usize], usize, usize, &[usize]); 7] = [
            (&[], 128, 2, &[]),
            (&[9], 128, 2, &[1]),
            (&[300, 20, 30], 128, 1, &[1, 3]),
            (&[60, 60, 60, 60, 8, 4], 128, 1, &[2, 5, 6]),
            // Each of two cores has half.
            (&[30, 30, 30, 30], 128, 2, &[2, 4]),
            // Too few for that.
            (&[12, 12, 12], 128, 8, &[3]),
            // A network that gains nothing.
            (&[3, 2, 1], 0, 1, &[1, 2, 3]),
        ];
        for (texts, tokens_at_once, cores, expected) in rows {
            assert_eq!(lengths(texts, tokens_at_once, cores), expected, "{texts:?}");
        }
    }
}
