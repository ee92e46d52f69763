//! Searches by six words and a vector, for 100 candidates.

use std::path::Path;
use std::time::{Duration, Instant};

use loci::exit::{Exit, Failure};
use loci::output::status_line;
use loci_core::{CandidateQuery, Candidates, Filter, QueryVector, Reader, Space, Store, Timestamp};

use super::places::{Places, batch, fill, space, sqlite};
use super::report::{Comparison, Goal, median};
use crate::engine::synthetic::{Synthetic, model};

/// The number of measured searches of an index that is loaded.
const SEARCHES: usize = 300;
/// The number of measured first searches, of a small space and of a large one.
const FIRST_SEARCHES: [usize; 2] = [21, 5];
/// The size from which a space is large.
const LARGE: usize = 50_000;
/// The number of candidates of a search.
const CANDIDATES: usize = 100;
/// The number of writes that another handle has to see at once.
const WRITES: usize = 300;

/// Searches a store for the candidates of a question.
pub fn search(
    store: &dyn Store,
    corpus: &Synthetic,
    space: &Space,
    number: usize,
) -> Result<(Candidates, Duration), Failure> {
    let question = corpus.question(number);
    let mut terms: Vec<String> = question.text.split(' ').map(str::to_owned).collect();
    terms.sort();
    terms.dedup();
    let vector = QueryVector {
        model: model(),
        values: question.vector,
    };
    let filter = Filter::of(
        space.clone(),
        Reader::everything(),
        Timestamp::from_microseconds(1 << 50),
    );
    let query = CandidateQuery {
        terms: &terms,
        vector: Some(&vector),
        ..CandidateQuery::of(&filter, CANDIDATES)
    };
    let begun = Instant::now();
    let found = store.candidates(&query)?;
    let took = begun.elapsed();
    if found.hits.is_empty() {
        return Err(Failure::new(Exit::Failure, "a search has found nothing"));
    }
    Ok((found, took))
}

/// Compares searches of a space of that many memories, in a new handle and in one that has loaded
/// the index.
pub fn measure(places: &Places, memories: usize) -> Result<Vec<Comparison>, Failure> {
    status_line(format_args!("storing {memories} memories …"));
    let corpus = Synthetic::new(memories);
    let space = space(&format!("search-{memories}"))?;
    let folder = places.folder();
    let (server, file) = (places.postgres()?, sqlite(&folder)?);
    fill(&[&server, &file], &corpus, &space)?;
    status_line("searching …");
    let mut comparisons = first(places, &folder, &corpus, &space)?;

    let (mut own, mut other) = (Vec::new(), Vec::new());
    search(&server, &corpus, &space, 0)?;
    search(&file, &corpus, &space, 0)?;
    for number in 0..SEARCHES {
        own.push(search(&server, &corpus, &space, number)?.1);
        other.push(search(&file, &corpus, &space, number)?.1);
    }
    comparisons.push(Comparison {
        name: format!("{memories} memories: search"),
        own: median(own),
        beside: "SQLite",
        other: median(other),
        unit: "ms",
        goal: Goal::MoreMax(0.3),
    });
    Ok(comparisons)
}

/// Compares opening a store and its first search, and the first search of a store that is
/// connected.
fn first(
    places: &Places,
    folder: &Path,
    corpus: &Synthetic,
    space: &Space,
) -> Result<Vec<Comparison>, Failure> {
    let memories = corpus.passages();
    let connected = places.postgres()?;
    let (mut opened, mut loaded, mut other) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..FIRST_SEARCHES[usize::from(memories >= LARGE)] {
        let begun = Instant::now();
        let server = places.postgres()?;
        search(&server, corpus, space, number)?;
        opened.push(begun.elapsed());
        drop(server);

        connected.reload()?;
        loaded.push(search(&connected, corpus, space, number)?.1);

        let begun = Instant::now();
        let file = sqlite(folder)?;
        search(&file, corpus, space, number)?;
        other.push(begun.elapsed());
    }
    // The first one had to connect.
    loaded.remove(0);
    let (opened, loaded, other) = (median(opened), median(loaded), median(other));
    let comparison = |name: &str, own, goal| Comparison {
        name: format!("{memories} memories: {name}"),
        own,
        beside: "SQLite, opening",
        other,
        unit: "ms",
        goal,
    };
    let loading = "first search of a space";
    let mut comparisons = vec![
        comparison("opening and first search", opened, Goal::TimesMax(1.5)),
        comparison(loading, loaded, Goal::TimesMax(1.5)),
    ];
    if memories == super::SMALLER[0] {
        comparisons.push(comparison(loading, loaded, Goal::Max(5.0)));
    }
    Ok(comparisons)
}

/// Checks that each write of one handle is seen by the next search of another, and measures that
/// search beside one that has nothing to catch up with.
pub fn of_what_another_wrote(places: &Places) -> Result<Comparison, Failure> {
    let corpus = Synthetic::new(WRITES);
    let space = space("seen")?;
    let (writer, reader) = (places.postgres()?, places.postgres()?);
    let (mut behind, mut current) = (Vec::new(), Vec::new());
    for number in 0..WRITES {
        writer.commit(batch(&corpus, &space, number))?;
        let (found, took) = search(&reader, &corpus, &space, number)?;
        behind.push(took);
        current.push(search(&reader, &corpus, &space, number)?.1);
        let (seen, written) = (found.passages, number + 1);
        if seen != written {
            let problem = format!("a search sees {seen} of {written} memories");
            return Err(Failure::new(Exit::Failure, problem));
        }
    }
    Ok(Comparison {
        name: format!("search after a write of another handle, {WRITES} seen"),
        own: median(behind),
        beside: "nothing written",
        other: median(current),
        unit: "ms",
        goal: Goal::None,
    })
}
