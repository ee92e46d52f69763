use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::vec;
use proptest::prelude::*;

use super::bm25::{Saturation, factor};
use super::*;

/// The number of words, from one that nearly every passage has to ones that few have.
const WORDS: usize = 24;
/// The number of passages of a memory.
const GROUP: u32 = 3;

/// A simple model that [`Postings`] must agree with.
#[derive(Debug, Default)]
struct Model {
    passages: BTreeMap<u32, BTreeMap<String, u32>>,
    dead: BTreeSet<u32>,
    purging: BTreeSet<u32>,
    free: Vec<u32>,
    next: u32,
}

#[derive(Debug, Clone)]
enum Step {
    Insert {
        passages: usize,
        seed: u64,
        stride: u32,
    },
    Remove {
        every: u32,
        from: u32,
    },
    BeginPurge,
    Purge {
        budget: usize,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let insert = (0_usize..400, any::<u64>(), 1_u32..30);
    let step = prop_oneof![
        3 => insert.prop_map(|(passages, seed, stride)| Step::Insert { passages, seed, stride }),
        2 => (1_u32..9, 0_u32..9).prop_map(|(every, from)| Step::Remove { every, from }),
        1 => Just(Step::BeginPurge),
        3 => prop_oneof![0_usize..300, Just(1 << 20)].prop_map(|budget| Step::Purge { budget }),
    ];
    vec(step, 1..14)
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

fn word(number: u64) -> String {
    if number.is_multiple_of(5) {
        format!("a rather long term that is one of many: {number}")
    } else {
        format!("w{number}")
    }
}

fn text(random: &mut Random) -> BTreeMap<String, u32> {
    let words = 1 + random.below(10);
    let mut number = || random.below(WORDS as u64) * random.below(WORDS as u64) / WORDS as u64;
    let numbers: Vec<u64> = (0..words).map(|_| number()).collect();
    let counts = numbers.into_iter().map(|number| {
        (
            word(number),
            [0, 1, 1, 1, 2, 3, 70_000][random.below(7) as usize],
        )
    });
    counts.collect()
}

impl Model {
    fn apply(&mut self, postings: &mut Postings, step: &Step) {
        match *step {
            Step::Insert {
                passages,
                seed,
                stride,
            } => {
                let mut random = Random(seed);
                for _ in 0..passages {
                    let slot = if self.free.is_empty() || random.below(2) == 0 {
                        self.next += stride;
                        self.next - 1
                    } else {
                        self.free
                            .swap_remove(random.below(self.free.len() as u64) as usize)
                    };
                    let text = text(&mut random);
                    postings.insert(
                        slot,
                        text.iter().map(|(term, count)| (term.as_str(), *count)),
                    );
                    self.passages.insert(slot, text);
                }
            }
            Step::Remove { every, from } => {
                self.dead.extend(
                    self.passages
                        .keys()
                        .filter(|slot| (**slot + from).is_multiple_of(every)),
                );
            }
            Step::BeginPurge => {
                let dead: BTreeSet<u32> = self.dead.difference(&self.purging).copied().collect();
                if postings.begin_purge(dead.iter().copied()) {
                    assert!(self.purging.is_empty());
                    self.purging = dead;
                }
            }
            Step::Purge { budget } => {
                let was_purging = postings.is_purging();
                if let Some(slots) = postings.purge_step(budget) {
                    assert!(was_purging && !postings.is_purging());
                    assert!(slots.iter().eq(&self.purging));
                    for slot in std::mem::take(&mut self.purging) {
                        self.passages.remove(&slot);
                        self.dead.remove(&slot);
                        assert_eq!(postings.length(slot), 0);
                        self.free.push(slot);
                    }
                }
            }
        }
    }

    fn living(&self) -> impl Iterator<Item = (&u32, &BTreeMap<String, u32>)> {
        self.passages
            .iter()
            .filter(|(slot, _)| !self.dead.contains(slot))
    }

    /// Returns all groups with a hit and their scores, the best first.
    fn search(&self, terms: &[String], required: &[String], admitted: &Bits) -> Vec<(u32, f32)> {
        let texts = || {
            self.passages
                .iter()
                .filter(|(slot, _)| admitted.contains(**slot))
        };
        let length = |text: &BTreeMap<String, u32>| text.values().sum::<u32>();
        let statistics = Statistics::of(
            texts().count(),
            texts().map(|(_, text)| u64::from(length(text))).sum(),
        );
        let mut groups: BTreeMap<u32, f32> = BTreeMap::new();
        for (slot, text) in texts() {
            let score: f32 = terms
                .iter()
                .filter_map(|term| {
                    let containing = texts()
                        .filter(|(_, text)| text.get(term).is_some_and(|count| *count > 0))
                        .count();
                    let factor = factor(statistics.passages, containing);
                    let saturation = Saturation::of(statistics.mean_length);
                    Some(saturation.score(factor, *text.get(term)?, length(text) as f32))
                })
                .sum();
            let holds_all = required.iter().all(|term| text.contains_key(term));
            if holds_all && (score > 0.0 || terms.is_empty() && !required.is_empty()) {
                let best = groups.entry(slot / GROUP).or_insert(score);
                *best = score.max(*best);
            }
        }
        let mut groups: Vec<(u32, f32)> = groups.into_iter().collect();
        groups.sort_by(|left, right| right.1.total_cmp(&left.1).then(right.0.cmp(&left.0)));
        groups
    }
}

fn statistics(postings: &Postings, admitted: &Bits) -> Statistics {
    Statistics::of(
        admitted.count(),
        admitted
            .iter()
            .map(|slot| u64::from(postings.length(slot)))
            .sum(),
    )
}

fn check_lists(postings: &Postings, model: &Model) {
    let slots: Vec<u32> = (0..model.next + 2).filter(|slot| slot % 3 != 1).collect();
    let mut present = 0;
    for term in (0..WORDS as u64).map(word) {
        let mut counts = Vec::new();
        postings.counts_by(&term, |slot, count| counts.push((slot, count)));
        assert!(counts.is_sorted_by(|left, right| left.0 < right.0));
        assert_eq!(postings.list_length(&term), counts.len());
        let with_term = model
            .passages
            .iter()
            .filter_map(|(slot, text)| Some((*slot, *text.get(&term)?)));
        // Slots that are being purged may be present or absent.
        let stays = |(slot, _): &(u32, u32)| !model.purging.contains(slot);
        assert!(
            counts
                .iter()
                .copied()
                .filter(stays)
                .eq(with_term.filter(stays))
        );
        let mut sought = Vec::new();
        postings.counts_of(&term, &slots, |index, count| {
            sought.push((slots[index], count));
        });
        assert!(
            sought
                .iter()
                .eq(counts.iter().filter(|(slot, _)| slot % 3 != 1))
        );
        let presence = postings.presence(&term, &slots);
        assert_eq!(
            presence.iter().filter(|present| **present).count(),
            sought.len()
        );
        present += usize::from(!counts.is_empty());
    }
    if model.purging.is_empty() {
        assert_eq!(
            postings.dictionary.len(),
            present,
            "a term without postings stayed"
        );
    }
}

fn check_search(postings: &Postings, model: &Model, numbers: &[u64], keep: u32) {
    let terms: Vec<String> = numbers.iter().copied().map(word).collect();
    let required: Vec<String> = terms.iter().take(numbers.len() % 3).cloned().collect();
    let filtered: Bits = model
        .living()
        .map(|(slot, _)| *slot)
        .filter(|slot| slot % 11 < keep)
        .collect();
    let everything: Bits = model.passages.keys().copied().collect();
    let mut cases = vec![(&filtered, AdmittedSlots::Only(&filtered))];
    if model.purging.is_empty() {
        cases.push((&everything, AdmittedSlots::All));
    }
    for (bits, admitted) in cases {
        let query = postings.prepare(&terms, statistics(postings, bits), admitted);
        near(
            query.bound() / 1e3,
            query.factors().iter().sum::<f32>() / 1e3,
        );
        let slots: Vec<u32> = bits.iter().collect();
        let scored: BTreeMap<u32, f32> = slots
            .iter()
            .copied()
            .zip(postings.scores(&query, &slots))
            .collect();
        for required in [&[], required.as_slice()] {
            let expected = model.search(&terms, required, bits);
            let groups = |limit| {
                postings.search(
                    &query,
                    required,
                    limit,
                    |slot| slot / GROUP,
                    |left, right| right.cmp(&left),
                )
            };
            for limit in [0, 1, 2, 5, 40, usize::MAX] {
                assert_eq!(
                    groups(limit),
                    expected[..limit.min(expected.len())],
                    "{limit} {terms:?} {required:?}"
                );
            }
            if required.is_empty() {
                for (group, score) in expected {
                    let slots = group * GROUP..(group + 1) * GROUP;
                    let best = slots
                        .filter_map(|slot| scored.get(&slot))
                        .copied()
                        .fold(0.0, f32::max);
                    assert_eq!(
                        best.to_bits(),
                        score.to_bits(),
                        "what is scored by itself is what was found"
                    );
                }
            }
        }
    }
    let holding: BTreeSet<u32> = postings
        .holding(&required, AdmittedSlots::Only(&filtered))
        .into_iter()
        .collect();
    let holds = |slot: &u32| {
        !required.is_empty()
            && required
                .iter()
                .all(|term| model.passages[slot].contains_key(term))
    };
    assert_eq!(holding, filtered.iter().filter(holds).collect());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn it_agrees_with_the_obvious_index(
        steps in steps(),
        queries in vec((vec(0..WORDS as u64, 0..7), 0_u32..12), 1..4),
    ) {
        let (mut postings, mut model) = (Postings::default(), Model::default());
        for (number, step) in steps.iter().enumerate() {
            model.apply(&mut postings, step);
            check_lists(&postings, &model);
            if number == steps.len() / 2 {
                postings.shrink();
            }
            if number + 1 == steps.len() || number == steps.len() / 2 {
                for (numbers, keep) in &queries {
                    let distinct: BTreeSet<u64> = numbers.iter().copied().collect();
                    let mut numbers = numbers.clone();
                    numbers.dedup();
                    if distinct.len() == numbers.len() {
                        check_search(&postings, &model, &numbers, *keep);
                    }
                }
            }
        }
    }
}

fn score(postings: &Postings, admitted: &Bits, term: &str, slot: u32) -> f32 {
    let query = postings.prepare(
        &[term.to_owned()],
        statistics(postings, admitted),
        AdmittedSlots::Only(admitted),
    );
    postings.scores(&query, &[slot])[0]
}

fn near(left: f32, right: f32) {
    assert!((left - right).abs() < 1e-6, "{left} is not {right}");
}

#[test]
fn scores_are_those_of_the_admitted_alone() {
    let mut postings = Postings::default();
    postings.insert(0, [("cat", 1)]);
    postings.insert(1, [("dog", 1), ("@mark", 0)]);
    postings.insert(2, [("cat", 3), ("dog", 1)]);
    let (two, three): (Bits, Bits) = ((0..2).collect(), (0..3).collect());
    assert_eq!(
        statistics(&postings, &three),
        Statistics {
            passages: 3,
            mean_length: 2.0
        }
    );
    assert_eq!(
        Statistics::of(0, 0),
        Statistics {
            passages: 0,
            mean_length: 0.0
        }
    );
    near(score(&postings, &two, "cat", 0), 2.0_f32.ln());
    near(
        score(&postings, &three, "cat", 0),
        1.6_f32.ln() * 1.9 / (1.0 + 0.9 * (0.6 + 0.4 / 2.0)),
    );
    near(
        score(&postings, &three, "cat", 2),
        1.6_f32.ln() * 3.0 * 1.9 / (3.0 + 0.9 * (0.6 + 0.4 * 4.0 / 2.0)),
    );
    assert_eq!(score(&postings, &three, "bird", 0).to_bits(), 0);
    assert_eq!(score(&postings, &three, "@mark", 1).to_bits(), 0);
    near(
        bm25(1.9, 3, 4.0, 2.0),
        3.0 * 1.9 / (3.0 + 0.9 * (0.6 + 0.4 * 4.0 / 2.0)),
    );
    let terms = ["cat", "bird", "@mark"].map(str::to_owned);
    let query = postings.prepare(&terms, statistics(&postings, &three), AdmittedSlots::All);
    near(query.factors()[0], 1.6_f32.ln() * 1.9);
    near(query.factors()[1], 8.0_f32.ln() * 1.9);
    near(query.factors()[2], 8.0_f32.ln() * 1.9);
}

#[test]
fn a_term_given_twice_has_one_posting() {
    let mut postings = Postings::default();
    for slot in (0..1_000).chain([500]) {
        postings.insert(slot, [("cat", 1), ("dog", 1), ("cat", 2)]);
    }
    let mut counts = BTreeMap::new();
    postings.counts_by("cat", |slot, count| {
        assert!(counts.insert(slot, count).is_none());
    });
    assert_eq!((counts.len(), counts[&499], counts[&500]), (1_000, 3, 6));
}

#[test]
fn few_postings_take_few_bytes() {
    let mut postings = Postings::default();
    for slot in 0..100_000_u32 {
        postings.insert(
            slot,
            [("common", 1), (format!("rare{}", slot / 4).as_str(), 1)],
        );
    }
    postings.shrink();
    let rare = 25_000 * (40 + 10 + 1);
    let common = 100_000 / 4;
    let lengths = 100_000 * 4;
    assert!(
        postings.bytes() < rare + common + lengths,
        "{}",
        postings.bytes()
    );
}

#[test]
fn no_terms_find_nothing_unless_some_are_required() {
    let mut postings = Postings::default();
    postings.insert(4, [("cat", 2), ("@mark", 0)]);
    postings.insert(7, [("cat", 1)]);
    let admitted: Bits = [4, 7].into_iter().collect();
    let query = postings.prepare(&[], statistics(&postings, &admitted), AdmittedSlots::All);
    assert_eq!(query.bound().to_bits(), 0);
    let found = |required: &[&str]| {
        let required: Vec<String> = required.iter().map(|term| (*term).to_owned()).collect();
        postings.search(
            &query,
            &required,
            9,
            |slot| slot * 10,
            |left, right| left.cmp(&right),
        )
    };
    assert_eq!(found(&[]), []);
    assert_eq!(found(&["cat"]), [(40, 0.0), (70, 0.0)]);
    assert_eq!(found(&["cat", "@mark"]), [(40, 0.0)]);
    assert_eq!(found(&["cat", "bird"]), []);
}
