use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// Generates random numbers between -1 and 1 (xorshift: G. Marsaglia, 2003).
fn noise(seed: u64) -> impl FnMut() -> f32 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    }
}

/// Returns vectors around a few centres, and a query near one centre.
fn clusters(count: usize, dimensions: usize) -> (Vectors, Vec<f32>) {
    const CENTRES: usize = 50;
    let mut noise = noise(count as u64);
    let centres: Vec<Vec<f32>> = (0..CENTRES)
        .map(|_| (0..dimensions).map(|_| noise()).collect())
        .collect();
    let mut vectors = Vectors::new(dimensions);
    let near = |centre: &[f32], noise: &mut dyn FnMut() -> f32| -> Vec<f32> {
        let values: Vec<f32> = centre.iter().map(|value| value + noise()).collect();
        let norm = values.iter().map(|value| value * value).sum::<f32>().sqrt();
        values.into_iter().map(|value| value / norm).collect()
    };
    for slot in 0..count {
        let values = near(&centres[slot % CENTRES], &mut noise);
        let scale = values
            .iter()
            .fold(0.0_f32, |largest, value| largest.max(value.abs()))
            / 127.0;
        let values: Vec<i8> = values
            .iter()
            .map(|value| (value / scale).round() as i8)
            .collect();
        vectors.set(slot as u32, scale, &values);
    }
    let query = near(&centres[7], &mut noise);
    (vectors, query)
}

/// Returns the expected result of [`Vectors::nearest`] by an exhaustive search.
fn obvious(
    vectors: &Vectors,
    query: &[f32],
    admitted: &Bits,
    limit: usize,
    group: impl Fn(u32) -> u32,
) -> Vec<(u32, f32)> {
    let mut groups = std::collections::BTreeMap::new();
    for slot in admitted.iter() {
        if let Some(cosine) = vectors.cosine(query, slot) {
            let best = groups.entry(group(slot)).or_insert(f32::NEG_INFINITY);
            *best = best.max(cosine);
        }
    }
    let mut groups: Vec<(u32, f32)> = groups.into_iter().collect();
    groups.sort_by(|left, right| right.1.total_cmp(&left.1).then(right.0.cmp(&left.0)));
    groups.truncate(limit);
    groups
}

proptest! {
    #[test]
    fn a_rounded_query_is_within_its_error(
        query in vec(-1.0_f32..1.0, 70),
        rows in vec((vec(any::<i8>(), 70), 0.001_f32..0.02), 1..8),
    ) {
        let mut vectors = Vectors::new(70);
        for (slot, (values, scale)) in (0..).zip(&rows) {
            vectors.set(slot, *scale, values);
        }
        let rounded = RoundedQuery::new(&query);
        let error = rounded.error(&query, vectors.norm_max);
        for slot in 0..rows.len() as u32 {
            let mut product = [0.0];
            vectors.instructions.dots(&rounded.lines, vectors.chunk(0).rows, &[slot], &mut product);
            let (rough, exact) = (product[0] * rounded.scale, vectors.cosine(&query, slot).unwrap());
            prop_assert!((rough - exact).abs() <= error, "{rough} {exact} {error}");
        }
    }

    #[test]
    fn the_nearest_groups_are_the_obvious_ones(
        rows in vec((0_u32..9_000, vec(-3_i8..4, 5)), 0..300),
        cleared in vec(0_u32..9_000, 0..50),
        query in vec(-3_i8..4, 5),
        (share, groups) in (1_u32..4, 1_u32..100),
        limit in prop_oneof![0_usize..80, Just(usize::MAX)],
    ) {
        let query: Vec<f32> = query.into_iter().map(f32::from).collect();
        let mut vectors = Vectors::new(5);
        for (slot, values) in &rows {
            vectors.set(*slot, 0.1, values);
        }
        let cleared = cleared.into_iter().chain(rows.iter().step_by(5).map(|(slot, _)| *slot));
        cleared.for_each(|slot| vectors.clear(slot));
        let admitted: Bits = (0..8_500).filter(|slot| slot % share == 0).collect();
        let expected = obvious(&vectors, &query, &admitted, limit, |slot| slot % groups);
        for instructions in Instructions::all() {
            vectors.use_instructions(instructions);
            let found = vectors.nearest(&query, &admitted, limit, |slot| slot % groups, |left, right| right.cmp(&left));
            prop_assert_eq!(found.unwrap(), &expected[..], "{}", instructions.name());
        }
        let covered = admitted.iter().filter(|slot| vectors.has(*slot)).count();
        prop_assert_eq!(vectors.covered(&admitted), covered);
        prop_assert_eq!(vectors.len(), (0..9_000).filter(|slot| vectors.has(*slot)).count());
    }
}

#[test]
fn in_a_narrow_cone_every_vector_is_compared() {
    const COUNT: usize = EXACT_MAX + 1_000;
    const DIMENSIONS: usize = 64;
    let mut noise = noise(5);
    // Noise, and what all have in common: the mean of unit vectors is about 0, 0.46 and 0.9 long.
    let mut vector = |common: f32| -> Vec<f32> {
        let values = (0..DIMENSIONS)
            .map(|component| noise() + common * if component % 2 == 0 { 1.0 } else { -1.0 });
        let values: Vec<f32> = values.collect();
        let norm = values.iter().map(|value| value * value).sum::<f32>().sqrt();
        values.into_iter().map(|value| value / norm).collect()
    };
    for (common, is_exact) in [(0.0, false), (0.3, false), (1.2, true)] {
        let mut vectors = Vectors::new(DIMENSIONS);
        for slot in 0..COUNT as u32 {
            let values: Vec<i8> = vector(common)
                .iter()
                .map(|value| (value * 127.0).round() as i8)
                .collect();
            vectors.set(slot, 1.0 / 127.0, &values);
        }
        let all: Bits = (0..COUNT as u32).collect();
        assert_eq!(vectors.is_exact(&all, 10), is_exact, "{common}");
        if is_exact {
            let query = vector(common);
            let ties = |left: u32, right: u32| right.cmp(&left);
            let found = vectors.nearest(&query, &all, 10, |slot| slot, ties);
            assert_eq!(
                found.unwrap(),
                obvious(&vectors, &query, &all, 10, |slot| slot)
            );
        }
    }
}

#[test]
fn sketches_lead_to_the_nearest() {
    const COUNT: usize = EXACT_MAX + 5_000;
    let (mut vectors, query) = clusters(COUNT, 384);
    let all: Bits = (0..COUNT as u32).collect();
    let ties = |left: u32, right: u32| right.cmp(&left);
    for limit in [1, 10, 100] {
        assert!(!vectors.is_exact(&all, limit));
        let expected = obvious(&vectors, &query, &all, limit, |slot| slot);
        let closest = vectors.closest(&SketchQuery::new(&query), &all, Vectors::candidates(limit));
        assert_eq!(closest.count(), Vectors::candidates(limit));
        for instructions in Instructions::all() {
            vectors.use_instructions(instructions);
            let found = vectors
                .nearest(&query, &all, limit, |slot| slot, ties)
                .unwrap();
            let right = found.iter().filter(|hit| expected.contains(hit)).count();
            assert!(
                right * 100 >= limit * 99,
                "{right} of {limit}, {}",
                instructions.name()
            );
        }
    }
    assert!(vectors.is_exact(&all, usize::MAX) && vectors.is_exact(&(0..20_000).collect(), 10));
    let everything = vectors
        .nearest(&query, &all, usize::MAX, |slot| slot, ties)
        .unwrap();
    assert_eq!(
        everything,
        obvious(&vectors, &query, &all, usize::MAX, |slot| slot)
    );
    // The slots that the sketches select belong to fewer groups than requested.
    let grouped = |slot: u32| if slot % 50 == 7 { 0 } else { slot % 5 };
    let found = vectors.nearest(&query, &all, 5, grouped, ties).unwrap();
    assert_eq!(found, obvious(&vectors, &query, &all, 5, grouped));
}

#[test]
fn slots_are_set_replaced_and_cleared() {
    let mut vectors = Vectors::new(2);
    vectors.set(3, 0.5, &[2, 4]);
    vectors.set(3, 0.5, &[4, 2]);
    assert_eq!(
        (
            vectors.len(),
            vectors.has(3),
            vectors.has(0),
            vectors.has(9)
        ),
        (1, true, false, false)
    );
    assert_eq!(vectors.cosine(&[1.0, 0.0], 3), Some(2.0));
    assert_eq!(vectors.cosine(&[1.0], 3), None);
    let all: Bits = (0..9).collect();
    assert!(
        vectors
            .nearest(&[1.0], &all, 1, |slot| slot, |left, right| left.cmp(&right))
            .is_none()
    );
    vectors.set(3, 0.5, &[4, 2, 1]);
    assert!(vectors.is_empty(), "a vector of another length cannot stay");
    vectors.set(1, f32::NAN, &[1, 1]);
    vectors.clear(7);
    assert!(vectors.is_empty());
    assert_eq!(vectors.cosine(&[1.0, 0.0], 3), None);
}

#[test]
fn a_query_that_is_not_finite_still_gets_an_answer() {
    let (vectors, mut query) = clusters(500, 70);
    query[3] = f32::NAN;
    let all: Bits = (0..500).collect();
    let found = vectors
        .nearest(
            &query,
            &all,
            10,
            |slot| slot,
            |left, right| left.cmp(&right),
        )
        .unwrap();
    assert_eq!(found.len(), 10);
}

#[test]
fn memory_grows_by_chunks_and_is_given_back() {
    let (mut vectors, _) = clusters(2 * CHUNK + 1, 384);
    let each = 384 + 4 + 48;
    assert!(vectors.bytes() < (2 * CHUNK + 1) * each * 102 / 100);
    (0..CHUNK as u32).for_each(|slot| vectors.clear(slot));
    vectors.shrink();
    assert!(vectors.bytes() < (CHUNK + 1) * each * 102 / 100);
    (CHUNK as u32..=2 * CHUNK as u32).for_each(|slot| vectors.clear(slot));
    assert!(vectors.is_empty() && vectors.bytes() < 10_000);
}

/// A book on the topic of the question must not hide all other memories on it.
#[test]
fn a_group_with_most_of_the_closest_slots_leaves_room_for_others() {
    const LIMIT: usize = 10;
    let (vectors, query) = clusters(30_000, 64);
    // Of the 600 slots around the centre next to the query, all but every seventh.
    let group = |slot: u32| {
        if slot % 50 == 7 && !slot.is_multiple_of(7) {
            7
        } else {
            slot
        }
    };
    let admitted: Bits = (0..30_000).collect();
    assert!(!vectors.is_exact(&admitted, LIMIT));
    let found = vectors
        .nearest(&query, &admitted, LIMIT, group, |left, right| {
            right.cmp(&left)
        })
        .unwrap();
    let expected = obvious(&vectors, &query, &admitted, LIMIT, group);
    let shared = expected
        .iter()
        .filter(|group| found.contains(group))
        .count();
    assert!(shared >= LIMIT - 1, "{found:?} {expected:?}");
}
