//! Short calls of a store. Those without a result expect success.

use loci_core::{
    ArchiveStore, Archived, Batch, CandidateQuery, Error, Filter, Memory, ModelId, Page, Result,
    Sweep, Timestamp, Work,
};

use super::examples::{findable, memory, put};
use super::store::StoreAndTokens;

pub(super) fn commit(store: &dyn StoreAndTokens, batch: Batch) {
    store.commit(batch).expect("the commit succeeds");
}

pub(super) fn refused(store: &dyn StoreAndTokens, batch: Batch) -> Error {
    store.commit(batch).expect_err("the commit is refused")
}

/// Stores a memory that the word `word` finds.
pub(super) fn add(store: &dyn StoreAndTokens, memory: &Memory) {
    commit(store, put(memory, vec![findable()]));
}

pub(super) fn found(store: &dyn StoreAndTokens, memory: &Memory) -> Option<Memory> {
    let found = store.get(&memory.space, &memory.id);
    found.expect("the store can be read")
}

/// Returns the ids that a search for all of these words finds, best first.
pub(super) fn search(store: &dyn StoreAndTokens, filter: &Filter, words: &[&str]) -> Vec<String> {
    let terms: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let query = CandidateQuery {
        terms: &terms,
        ..CandidateQuery::of(filter, 1_000)
    };
    let found = store.candidates(&query).expect("the store can be read");
    let ids = found.hits.into_iter().map(|hit| hit.id.to_string());
    ids.collect()
}

/// Returns the ids of the memories that match the filter, in order.
pub(super) fn admitted(store: &dyn StoreAndTokens, filter: &Filter) -> Vec<String> {
    let page = Page {
        offset: 0,
        limit: 1_000,
    };
    let listed = store.list(filter, page).expect("the store can be read");
    let mut ids: Vec<_> = listed
        .into_iter()
        .map(|memory| memory.id.to_string())
        .collect();
    ids.sort();
    ids
}

/// Returns the version of the default space.
pub(super) fn version_now(store: &dyn StoreAndTokens) -> u64 {
    let version = store.version(&memory("").space);
    version.expect("the store can be read")
}

/// Sweeps every partition that needs it, at most `limit` steps.
pub(super) fn sweep_some(store: &dyn StoreAndTokens, sweep: &Sweep, limit: usize) -> Result<usize> {
    let mut steps = 0;
    for partition in store.partitions_with(Work::Sweep(sweep), None, usize::MAX)? {
        steps += store.sweep(&partition, sweep, limit - steps)?;
    }
    Ok(steps)
}

pub(super) fn needs_sweep(store: &dyn StoreAndTokens, sweep: &Sweep) -> Result<bool> {
    let partitions = store.partitions_with(Work::Sweep(sweep), None, 1)?;
    Ok(!partitions.is_empty())
}

/// Sweeps until nothing is left, and returns the number of steps.
pub(super) fn sweep_through(store: &dyn StoreAndTokens, sweep: &Sweep) -> Result<usize> {
    let mut steps = 0;
    loop {
        match sweep_some(store, sweep, 1_000)? {
            0 => return Ok(steps),
            some => steps += some,
        }
        assert!(steps <= 1_000, "it ends");
    }
}

/// Sweeps until nothing is left, and checks `needs_sweep` before and after.
pub(super) fn sweep_all(store: &dyn StoreAndTokens, sweep: &Sweep) -> usize {
    let needs = || needs_sweep(store, sweep).expect("the store can be read");
    let needed = needs();
    let swept = sweep_through(store, sweep).expect("the store can be swept");
    assert_eq!((needed, needs()), (swept > 0, false), "{sweep:?}");
    swept
}

/// Removes the vectors of the model from at most `limit` passages of all partitions.
pub(super) fn retire_model(
    store: &dyn StoreAndTokens,
    model: &ModelId,
    limit: usize,
) -> Result<usize> {
    let mut retired = 0;
    for partition in store.partitions_with(Work::Retire(model), None, usize::MAX)? {
        retired += store.retire_model(&partition, model, limit - retired)?;
    }
    Ok(retired)
}

/// Returns the whole archive of the store.
pub(super) fn archive(
    store: &(impl ArchiveStore + ?Sized),
    now: Timestamp,
) -> Result<Vec<Archived>> {
    let mut all = Vec::new();
    store.archive(now, &mut |archived| {
        all.push(archived);
        Ok(())
    })?;
    Ok(all)
}
