use std::collections::HashMap;
use std::hash::Hash;

/// Returns the subject whose entry makes room for one of `newcomer` in a full table: the subject
/// with the most entries, if it then still has at least as many as the newcomer. `None` if the
/// newcomer has most itself: then an own entry has to go, or the new one is refused.
pub fn subject_to_evict<'a, S: Eq + Hash>(
    holders: impl Iterator<Item = &'a S>,
    newcomer: &S,
) -> Option<&'a S> {
    let mut counts: HashMap<&S, usize> = HashMap::new();
    for holder in holders {
        *counts.entry(holder).or_default() += 1;
    }
    let own = counts.get(newcomer).copied().unwrap_or_default();
    let (most, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    (own + 1 < count).then_some(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greediest_makes_room_for_others_and_for_none_of_its_own() {
        let holders = ["ann", "ann", "ann", "bob"];
        assert_eq!(subject_to_evict(holders.iter(), &"bob"), Some(&"ann"));
        assert_eq!(subject_to_evict(holders.iter(), &"eve"), Some(&"ann"));
        assert_eq!(subject_to_evict(holders.iter(), &"ann"), None);
        assert_eq!(subject_to_evict(["ann", "bob"].iter(), &"eve"), None);
    }
}
