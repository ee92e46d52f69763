//! The contract of partitions, and background work on all partitions for the other contracts.

use loci_core::{
    FilingOrder, Memory, MemoryId, ModelId, Partition, Result, Space, Sweep, Timestamp, Work,
};

use super::examples::{NOW, memory, passage, put, space, sweep_of_expired, vector, with_vector};
use super::writing::commit;
use super::{MakeStore, StoreAndTokens};

/// Returns the version of the space that most contracts write to.
pub(super) fn version_now(store: &dyn StoreAndTokens) -> u64 {
    store
        .version(&memory("").space)
        .expect("the store can be read")
}

/// Sweeps every partition in at most `limit` steps together.
pub(super) fn sweep_some(store: &dyn StoreAndTokens, sweep: &Sweep, limit: usize) -> Result<usize> {
    let mut steps = 0;
    for partition in store.partitions_with(Work::Sweep(sweep), None, usize::MAX)? {
        steps += store.sweep(&partition, sweep, limit - steps)?;
    }
    Ok(steps)
}

/// Returns true if a partition has anything to sweep.
pub(super) fn needs_sweep(store: &dyn StoreAndTokens, sweep: &Sweep) -> Result<bool> {
    Ok(!store
        .partitions_with(Work::Sweep(sweep), None, 1)?
        .is_empty())
}

/// Returns at most `limit` memories of each partition that wait for the model.
pub(super) fn without_vector(
    store: &dyn StoreAndTokens,
    model: &ModelId,
    order: FilingOrder,
    limit: usize,
) -> Result<Vec<(Space, MemoryId)>> {
    let mut waiting = Vec::new();
    for partition in store.partitions_with(Work::Embed(model), None, usize::MAX)? {
        waiting.extend(store.without_vector(&partition, model, order, limit)?);
    }
    Ok(waiting)
}

/// Retires a model in every partition, in at most `limit` passages together.
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

/// Stores a memory in each of three spaces, the last of which has no work.
fn with_three_spaces(make: MakeStore<'_>) -> (Box<dyn StoreAndTokens>, [Space; 3]) {
    let store = make();
    let spaces = ["a", "b", "c"].map(space);
    for (number, of) in spaces.iter().enumerate() {
        let is_done = number == 2;
        let written = Memory {
            space: of.clone(),
            expires_at: Some(NOW.plus_seconds(i64::from(is_done))),
            ..memory("one")
        };
        let passage = if is_done {
            with_vector(passage("x"), &[127])
        } else {
            loci_core::Passage {
                vector: Some(vector("other", &[127])),
                ..passage("x")
            }
        };
        let mut batch = put(&written, vec![passage]);
        batch.space = of.clone();
        commit(&*store, batch);
    }
    (store, spaces)
}

pub(super) fn a_partition_has_the_work_of_its_spaces(make: MakeStore<'_>) {
    let (store, [a, b, c]) = with_three_spaces(make);
    let (test, other) = (ModelId::new("test"), ModelId::new("other"));
    let (due, far) = (sweep_of_expired(NOW), sweep_of_expired(Timestamp::MIN));
    for space in [&a, &b, &c] {
        assert!(store.partition_of(space).contains(space));
    }
    let with = |work| {
        store
            .partitions_with(work, None, usize::MAX)
            .expect("the store can be read")
    };
    let mut expected = vec![store.partition_of(&a), store.partition_of(&b)];
    expected.dedup();
    assert_eq!(with(Work::Sweep(&due)), expected);
    assert_eq!(with(Work::Embed(&test)), expected);
    assert_eq!(with(Work::Retire(&other)), expected);
    assert_eq!(with(Work::Sweep(&far)), []);
    assert_eq!(with(Work::Retire(&ModelId::new("unknown"))), []);
    assert_eq!(
        store.partitions_with(Work::Embed(&test), None, 0),
        Ok(Vec::new())
    );

    // Each round goes on where the last one ended.
    let next = |after: &Partition| {
        store
            .partitions_with(Work::Embed(&test), Some(after), 1)
            .expect("the store can be read")
    };
    let (first, last) = (&expected[0], &expected[expected.len() - 1]);
    assert_eq!(next(first), std::slice::from_ref(last));
    assert_eq!(next(last), std::slice::from_ref(first));
    assert_eq!(next(&store.partition_of(&c)), std::slice::from_ref(first));
}

pub(super) fn work_on_a_partition_leaves_the_others(make: MakeStore<'_>) {
    let (store, [a, b, _]) = with_three_spaces(make);
    let (of_a, of_b) = (store.partition_of(&a), store.partition_of(&b));
    let (test, other) = (ModelId::new("test"), ModelId::new("other"));
    let order = FilingOrder::FirstFirst;
    let waiting = |partition| {
        store
            .without_vector(partition, &test, order, 9)
            .expect("the store can be read")
    };
    let named = |space: &Space| (space.clone(), MemoryId::new("one"));
    assert!(waiting(&of_a).contains(&named(&a)) && waiting(&of_b).contains(&named(&b)));
    let is_one = of_a == of_b;
    assert_eq!(waiting(&of_a).contains(&named(&b)), is_one);
    let has_other = |partition| store.has_other_dimensions(partition, &other, 1);
    assert_eq!((has_other(&of_a), has_other(&of_b)), (Ok(false), Ok(false)));

    let retired = store.retire_model(&of_a, &other, 9);
    assert_eq!(retired, Ok(if is_one { 2 } else { 1 }));
    assert_eq!(
        store.retire_model(&of_b, &other, 9),
        Ok(usize::from(!is_one))
    );

    let due = sweep_of_expired(NOW);
    let swept = |partition| {
        let steps = std::iter::repeat_with(|| store.sweep(partition, &due, 9));
        let steps = steps.map(|steps| steps.expect("the store can be swept"));
        steps.take_while(|steps| *steps > 0).sum::<usize>()
    };
    assert_eq!(swept(&of_a), if is_one { 2 } else { 1 });
    assert_eq!(swept(&of_b), usize::from(!is_one));
    assert_eq!(needs_sweep(&*store, &due), Ok(false));
}
