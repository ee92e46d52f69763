//! `loci-bench cluster`: measures several `loci serve` with one store on a PostgreSQL server, called
//! over HTTP by clients with tokens.
//!
//! Without a model: what is measured is the store and the front ends. Clients, front ends and the
//! server share this machine, so read the ratios.

use std::collections::HashSet;
use std::io;
use std::time::{Duration, Instant};

use loci::exit::{Exit, Failure};
use loci::output::{Output, status_line};
use loci::secret::{Grant, new_secret};
use loci_core::{Error, Scope, Scopes, Space, TokenStore};
use serde_json::json;

use super::places::{Places, fill, space};
use super::report::median;
use super::searches::search;
use crate::arguments::Cluster;
use crate::corpus::{Random, question, sentence};
use crate::engine::synthetic::Synthetic;
use crate::figure::{Figure, print};
use crate::http::{HttpClient, Server};
use crate::speed::{milliseconds, side_by_side};

/// One call of this many stores; the others recall.
const CALLS_PER_STORE: usize = 10;
/// The most spaces that are searched first by a store that knows none.
const MISSES: usize = 50;
/// The time for which one space is written through one front end, and through all.
const WRITE_TIME: Duration = Duration::from_secs(5);
/// The time in which few statements show that front ends have no work left.
const SETTLE_TIME: Duration = Duration::from_secs(10);
/// The most statements over all spaces in that time of a front end without work, which looks for some
/// every five seconds.
const SETTLED: usize = 5;
/// The most looks whether they have settled.
const SETTLE_LOOKS: usize = 60;

/// A space, and the token that opens it.
struct Tenant {
    space: Space,
    token: String,
}

pub fn run(sizes: &Cluster, output: Output) -> Result<(), Failure> {
    if cfg!(debug_assertions) {
        status_line("note: this is a build for debugging; its times mean nothing");
    }
    let broken = |error: io::Error| Failure::new(Exit::Failure, error.to_string());
    let places = Places::new()?;
    status_line(format_args!(
        "storing {} spaces of {} memories …",
        sizes.spaces, sizes.memories
    ));
    let corpus = Synthetic::new(sizes.memories as usize);
    let tenants = fill_spaces(&places, &corpus, sizes.spaces as usize)?;
    let mut figures = vec![
        misses(&places, &corpus, &tenants)?,
        warm(&places, &corpus, &tenants)?,
    ];

    let front_end_count = sizes.front_ends as usize;
    let folder = tempfile::tempdir().map_err(broken)?;
    let start = |number: usize| {
        let data = folder.path().join(number.to_string());
        std::fs::create_dir(&data)?;
        Server::start_on(&data, places.url(), places.schema())
    };
    let mut front_ends = vec![start(0).map_err(broken)?];
    let alone = statements(&places, 1, sizes.idle);
    for number in 1..front_end_count {
        front_ends.push(start(number).map_err(broken)?);
    }
    let together = statements(&places, front_end_count, sizes.idle);

    status_line(format_args!(
        "{} clients of {} front ends call …",
        sizes.front_ends * sizes.clients,
        sizes.front_ends
    ));
    figures.extend(traffic(&front_ends, &tenants, sizes)?);
    let resident = front_ends.iter().filter_map(Server::resident_bytes);
    let megabytes = resident.map(|bytes| bytes as f64 / f64::from(1 << 20));
    figures.push(Figure::many(
        "resident memory of a front end",
        megabytes.collect(),
        "MiB",
        "index budget + 150",
    ));

    status_line("writing into one space …");
    let writers = front_end_count * 2;
    let one = writes(&front_ends[..1], &tenants[0], writers)?;
    let all = writes(&front_ends, &tenants[0], writers)?;
    let name = format!("{writers} writers of one space, through one front end");
    figures.push(Figure::one(name, one, "/s", ""));
    let name = format!("the same through {} front ends", front_ends.len());
    figures.push(Figure::one(name, all, "/s", ""));
    figures.push(Figure::one("of it", all / one, "times", "0.8"));
    if let (Some(alone), Some(together)) = (alone, together) {
        let name = "statements over all spaces, of one idle front end";
        figures.push(Figure::one(name, alone, "/min", ""));
        let name = format!("the same of {} front ends", front_ends.len());
        figures.push(Figure::one(name, together, "/min", "that of one"));
    }
    print(&figures, output)
}

/// Makes the spaces with their memories and a token for each.
fn fill_spaces(places: &Places, corpus: &Synthetic, spaces: usize) -> Result<Vec<Tenant>, Failure> {
    let store = places.postgres()?;
    let mut tenants = Vec::with_capacity(spaces);
    for number in 0..spaces {
        let space = space(&format!("s{number}"))?;
        fill(&[&store], corpus, &space)?;
        let token = new_secret()?;
        let grant = Grant {
            subject: format!("user-{number}"),
            scopes: Scopes::of(&[Scope::Read, Scope::Write]),
            space: space.clone(),
            expires_at: None,
        };
        store.add_token(&grant.token(&token))?;
        tenants.push(Tenant { space, token });
    }
    Ok(tenants)
}

/// Measures the first search of spaces by a store that is connected and knows none of them.
fn misses(places: &Places, corpus: &Synthetic, tenants: &[Tenant]) -> Result<Figure, Failure> {
    let store = places.postgres()?;
    // This one connects, and lets the server parse the statements.
    search(&store, corpus, &tenants[0].space, 0)?;
    let mut times = Vec::new();
    for tenant in tenants.iter().skip(1).take(MISSES) {
        times.push(search(&store, corpus, &tenant.space, 1)?.1);
    }
    Ok(Figure::one(
        "first search of a space, in the store",
        median(times),
        "ms",
        "10",
    ))
}

/// Measures searches of a space that the store knows.
fn warm(places: &Places, corpus: &Synthetic, tenants: &[Tenant]) -> Result<Figure, Failure> {
    let store = places.postgres()?;
    let mut times = Vec::new();
    for number in 0..=MISSES {
        let (_, took) = search(&store, corpus, &tenants[0].space, number)?;
        if number > 0 {
            times.push(took);
        }
    }
    Ok(Figure::one(
        "search of a space that is loaded, in the store",
        median(times),
        "ms",
        "2",
    ))
}

/// Lets the clients call, each now in this space and now in that one, in a few of them most often.
fn traffic(
    front_ends: &[Server],
    tenants: &[Tenant],
    sizes: &Cluster,
) -> Result<Vec<Figure>, Failure> {
    let begun = Instant::now();
    let clients = front_ends.len() * sizes.clients as usize;
    let parts = side_by_side(clients, |number| {
        let front_end = &front_ends[number % front_ends.len()];
        Ok(one_client(
            &front_end.address,
            tenants,
            number,
            sizes.calls as usize,
        ))
    })?;
    let seconds = begun.elapsed().as_secs_f64();
    let (mut recalls, mut stores, mut errors) = (Vec::new(), Vec::new(), Vec::new());
    let mut called = HashSet::new();
    for part in parts {
        recalls.extend(part.recalls);
        stores.extend(part.stores);
        errors.extend(part.errors);
        called.extend(part.spaces);
    }
    if let Some(first) = errors.first() {
        status_line(format_args!("the first error: {first}"));
    }
    let calls = (recalls.len() + stores.len()) as f64;
    Ok(vec![
        Figure::one("calls answered", calls / seconds, "/s", ""),
        Figure::one("errors", errors.len() as f64, "", "0"),
        Figure::one("spaces that were called", called.len() as f64, "", ""),
        Figure::many("recall", recalls, "ms", ""),
        Figure::many("remember", stores, "ms", ""),
    ])
}

/// The calls of a client: the milliseconds of each, and what went wrong.
#[derive(Default)]
struct Calls {
    recalls: Vec<f64>,
    stores: Vec<f64>,
    errors: Vec<String>,
    spaces: HashSet<usize>,
}

fn one_client(address: &str, tenants: &[Tenant], number: usize, calls: usize) -> Calls {
    let mut random = Random(number as u64 + 1);
    let mut done = Calls::default();
    for call in 0..calls {
        // A tenth of the spaces gets nearly half of the calls.
        let place = (random.share().powi(3) * tenants.len() as f64) as usize;
        let tenant = &tenants[place.min(tenants.len() - 1)];
        done.spaces.insert(place);
        let is_store = call % CALLS_PER_STORE == CALLS_PER_STORE - 1;
        let (tool, arguments) = if is_store {
            let content = format!("{} {number} {call}", sentence(&mut random));
            ("remember", json!({"content": content}))
        } else {
            (
                "recall",
                json!({"query": question(&mut random), "limit": 5}),
            )
        };
        let begun = Instant::now();
        let answered = HttpClient::connect(address).and_then(|client| {
            let mut client = client.with_token(&tenant.token);
            client.call("mememory", tool, &arguments)
        });
        let took = milliseconds(begun.elapsed());
        match answered {
            Ok(_) if is_store => done.stores.push(took),
            Ok(_) => done.recalls.push(took),
            Err(error) => done.errors.push(error.to_string()),
        }
    }
    done
}

/// Writes into one space through some front ends; returns the memories stored in a second.
fn writes(front_ends: &[Server], tenant: &Tenant, writers: usize) -> Result<f64, Failure> {
    let begun = Instant::now();
    let stored = side_by_side(writers, |number| {
        let front_end = &front_ends[number % front_ends.len()];
        let broken = |error: io::Error| Error::unavailable(format!("a write failed: {error}"));
        let client = HttpClient::connect(&front_end.address).map_err(broken)?;
        let mut client = client.with_token(&tenant.token);
        let mut random = Random(number as u64 + 7);
        let mut stored = 0;
        while begun.elapsed() < WRITE_TIME {
            let ways = front_ends.len();
            let content = format!("{} {ways} {number} {stored}", sentence(&mut random));
            let arguments = json!({"content": content});
            client
                .call("mememory", "remember", &arguments)
                .map_err(broken)?;
            stored += 1;
        }
        Ok(stored)
    })?;
    let stored: u32 = stored.iter().sum();
    Ok(f64::from(stored) / begun.elapsed().as_secs_f64())
}

/// Returns how many statements over all spaces come in a minute while nobody calls and no work is left;
/// nothing if the server is not this run's own, because its log tells them.
fn statements(places: &Places, front_ends: usize, seconds: u64) -> Option<f64> {
    if seconds == 0 {
        return None;
    }
    let count = |time: Duration| {
        let log = places.log_of(time)?;
        Some(log.lines().filter(|line| is_over_all(line)).count())
    };
    status_line("waiting until nothing is left to do …");
    for _ in 0..SETTLE_LOOKS {
        if count(SETTLE_TIME)? <= SETTLED * front_ends {
            break;
        }
    }
    status_line(format_args!("counting statements for {seconds} s …"));
    let counted = count(Duration::from_secs(seconds))?;
    Some(counted as f64 * 60.0 / seconds as f64)
}

/// Returns true if a line of the log has a statement of a store that names no space.
fn is_over_all(line: &str) -> bool {
    let is_read = line.contains(": SELECT ") || line.contains(": UPDATE ");
    let is_of_store = line.contains("FROM \"bench_") || line.contains("UPDATE \"bench_");
    let names_space = [
        "space = $",
        "token AS",
        ".\"token\"",
        ".token",
        ".migration",
        ".installation",
    ];
    is_read && is_of_store && !names_space.iter().any(|part| line.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_without_a_space_are_over_all() {
        let of = |sql: &str| is_over_all(&format!("LOG:  execute s1: {sql}"));
        assert!(of(
            "SELECT space FROM \"bench_1\".space WHERE expires_from <= $1 OR true"
        ));
        assert!(!of(
            "SELECT version FROM \"bench_1\".space WHERE space = $1"
        ));
        assert!(!of("SELECT 1 FROM pg_stat_activity"));
        assert!(!is_over_all("DETAIL:  parameters: $1 = '1'"));
    }
}
