//! The items that a visitor dismissed.

use std::collections::HashSet;

use loci_core::{Error, Result};
use loci_engine::Parts;

/// The setting of a caller that lists the keys of dismissed items, one per line, the last one last.
const DISMISSED: &str = "page.dismissed";
/// The keys that are kept; beyond it, the first is evicted.
const KEPT_MAX: usize = 2_000;
/// The digits of a key.
const KEY_DIGITS: usize = 16;

/// Returns the keys of the items that a caller dismissed.
pub(super) fn read(parts: &Parts<'_>) -> Result<HashSet<String>> {
    let keys = parts.settings().get(DISMISSED)?;
    Ok(keys
        .unwrap_or_default()
        .lines()
        .map(str::to_owned)
        .collect())
}

/// Dismisses an item, or takes that back.
///
/// # Errors
/// `invalid_argument`, naming `item`, for what is no key.
pub(super) fn put(parts: &Parts<'_>, key: &str, is_dismissed: bool) -> Result<()> {
    let is_key = key.len() == KEY_DIGITS && key.bytes().all(|digit| digit.is_ascii_hexdigit());
    if !is_key {
        return Err(Error::invalid("item", "must be the key of an item"));
    }
    parts.settings().change(|draft| {
        let kept = draft.get(DISMISSED)?.unwrap_or_default();
        let mut keys: Vec<&str> = kept.lines().filter(|kept| *kept != key).collect();
        if is_dismissed {
            keys.push(key);
        }
        let first = keys.len().saturating_sub(KEPT_MAX);
        draft.put(DISMISSED, keys[first..].join("\n"))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use loci_core::Caller;
    use loci_engine::{Engine, SearchMode, item_key};
    use loci_testkit::{FixedClock, HashingEmbedder, NaiveStore};

    use super::*;

    #[test]
    fn what_is_kept_is_bounded() {
        let engine = Engine::new(
            Arc::new(NaiveStore::new()),
            Arc::new(HashingEmbedder::default()),
            Arc::new(FixedClock::default()),
            SearchMode::Words,
        );
        let system = engine.system(&Caller::local());
        let key = |number: usize| item_key("note", &[&number.to_string()]);
        for number in 0..=KEPT_MAX {
            put(&system, &key(number), true).unwrap();
        }
        put(&system, &key(7), true).unwrap();
        let kept = read(&system).unwrap();
        assert_eq!(kept.len(), KEPT_MAX);
        assert!(!kept.contains(&key(0)) && kept.contains(&key(KEPT_MAX)));
        put(&system, &key(7), false).unwrap();
        assert!(!read(&system).unwrap().contains(&key(7)));
        for wrong in ["", "x", "0123456789abcdeg", "a\nb"] {
            assert!(put(&system, wrong, true).is_err(), "{wrong:?}");
        }
    }
}
