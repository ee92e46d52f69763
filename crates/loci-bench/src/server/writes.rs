//! Durable writes: each a memory with a passage and its vector.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use loci::exit::Failure;
use loci_core::{Batch, Error, Space, Store};

use super::floor::Floor;
use super::places::{Places, batch, space, sqlite};
use super::report::{Comparison, Goal, median};
use crate::engine::synthetic::Synthetic;
use crate::speed::side_by_side;

/// The size of the corpus, from which the topics of the memories come.
const MEMORIES: usize = 10_000;
/// The number of measured writes, one after the other.
const WRITES: usize = 400;
/// The number of writes of one kind before the other kind.
const BLOCK: usize = 20;
/// The number of concurrent writers of a space.
const WRITERS: usize = 16;
/// The number of spaces that are written to at once, and of connections of the floor.
const SPACES: usize = 8;
/// The number of writes of each of several writers.
const WRITES_EACH: usize = 60;
/// The number of rounds of several writers, of which the median counts.
const ROUNDS: usize = 5;

pub fn measure(places: &Places) -> Result<Vec<Comparison>, Failure> {
    let server = places.postgres()?;
    // The first use makes the tables, which the floor needs, too.
    server.version(&space("one-writer")?)?;
    let corpus = Synthetic::new(MEMORIES);
    let mut comparisons = alone(places, &server, &corpus)?;
    comparisons.push(in_one_space(&server, &corpus)?);
    comparisons.push(in_several_spaces(places, &server, &corpus)?);
    Ok(comparisons)
}

/// Compares writes one after the other.
fn alone(
    places: &Places,
    server: &dyn Store,
    corpus: &Synthetic,
) -> Result<Vec<Comparison>, Failure> {
    let space = space("one-writer")?;
    let file = sqlite(&places.folder())?;
    let mut floor = Floor::new(places.url(), places.schema(), "floor".to_owned())?;
    let (mut own, mut by_file, mut bare) = (Vec::new(), Vec::new(), Vec::new());
    for begin in (0..WRITES).step_by(BLOCK) {
        let block = begin..begin + BLOCK;
        own.extend(times(block.clone(), corpus, &space, |batch| {
            Ok(server.commit(batch)?)
        })?);
        by_file.extend(times(block.clone(), corpus, &space, |batch| {
            Ok(file.commit(batch)?)
        })?);
        bare.extend(times(block, corpus, &space, |batch| {
            floor.write_all(&batch)
        })?);
    }
    let own = median(own);
    let comparison = |beside, other, times| Comparison {
        name: "durable write".to_owned(),
        own,
        beside,
        other,
        unit: "ms",
        goal: Goal::TimesMax(times),
    };
    Ok(vec![
        comparison("the floor", median(bare), 2.0),
        comparison("SQLite", median(by_file), 3.0),
    ])
}

/// Measures a write for each of these memories.
fn times(
    memories: std::ops::Range<usize>,
    corpus: &Synthetic,
    space: &Space,
    mut write: impl FnMut(Batch) -> Result<(), Failure>,
) -> Result<Vec<Duration>, Failure> {
    let batches: Vec<_> = memories.map(|index| batch(corpus, space, index)).collect();
    let timed = |batch| {
        let begun = Instant::now();
        write(batch)?;
        Ok(begun.elapsed())
    };
    batches.into_iter().map(timed).collect()
}

/// Compares 16 writers of a space with one, in writes per second.
fn in_one_space(server: &dyn Store, corpus: &Synthetic) -> Result<Comparison, Failure> {
    let (mut many, mut one) = (Vec::new(), Vec::new());
    let spaces = [WRITERS, 1].map(|writers| space(&format!("writers-{writers}")));
    let [of_many, of_one] = spaces;
    let (of_many, of_one) = (vec![of_many?; WRITERS], vec![of_one?]);
    for round in 0..ROUNDS {
        let write = |batch: &Batch, _| Ok(server.commit(batch.clone())?);
        many.push(rate(corpus, &of_many, round, write)?);
        one.push(rate(corpus, &of_one, round, write)?);
    }
    Ok(Comparison {
        name: format!("{WRITERS} writers in one space"),
        own: middle(many),
        beside: "one writer",
        other: middle(one),
        unit: "/s",
        goal: Goal::TimesMin(5.0),
    })
}

/// Compares writers of several spaces with as many connections of the floor, in writes per second.
fn in_several_spaces(
    places: &Places,
    server: &dyn Store,
    corpus: &Synthetic,
) -> Result<Comparison, Failure> {
    let mut spaces = Vec::new();
    let mut floors = Vec::new();
    for number in 0..SPACES {
        spaces.push(space(&format!("space-{number}"))?);
        let floor = Floor::new(places.url(), places.schema(), format!("floor-{number}"))?;
        floors.push(Mutex::new(floor));
    }
    let (mut own, mut bare) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        own.push(rate(corpus, &spaces, round, |batch, _| {
            Ok(server.commit(batch.clone())?)
        })?);
        bare.push(rate(corpus, &spaces, round, |batch, writer| {
            let mut floor = floors[writer]
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            floor.write_all(batch)
        })?);
    }
    Ok(Comparison {
        name: format!("writers of {SPACES} spaces"),
        own: middle(own),
        beside: "the floor",
        other: middle(bare),
        unit: "/s",
        goal: Goal::TimesMin(0.6),
    })
}

/// Returns how many memories a second writers store, one for each of these spaces, of which several
/// may be the same.
fn rate(
    corpus: &Synthetic,
    spaces: &[Space],
    round: usize,
    write: impl Fn(&Batch, usize) -> Result<(), Failure> + Sync,
) -> Result<f64, Failure> {
    let batches: Vec<Vec<Batch>> = spaces
        .iter()
        .enumerate()
        .map(|(writer, space)| {
            let first = (round * spaces.len() + writer) * WRITES_EACH;
            let own = first..first + WRITES_EACH;
            own.map(|index| batch(corpus, space, index)).collect()
        })
        .collect();
    let begun = Instant::now();
    side_by_side(spaces.len(), |writer| {
        let mut written = batches[writer].iter().map(|batch| write(batch, writer));
        written
            .try_for_each(|outcome| outcome)
            .map_err(|failure| Error::internal(failure.message))
    })?;
    Ok((spaces.len() * WRITES_EACH) as f64 / begun.elapsed().as_secs_f64())
}

fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
