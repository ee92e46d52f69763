//! `loci-bench page`: measures the views of the page beside the calls of agents.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use loci::exit::{Exit, Failure};
use loci::output::{Output, status_line};
use loci_core::{Caller, Visibility};
use loci_engine::{Engine, Import, ImportOutcome, NewFact, Remember};
use serde_json::json;

use super::corpus::{Random, memory, question, sentence};
use super::figure::{Figure, percentile, print};
use super::http::{HttpClient, Server};
use super::speed::{engine, folder_in, milliseconds};

/// The number of wings, and of rooms in each.
const WINGS: usize = 40;
const ROOMS: usize = 50;
/// The number of memories that are stored together.
const STORED_TOGETHER: usize = 1_000;
/// The number of entities, and of facts of each.
const ENTITIES: usize = 200;
const FACTS_EACH: usize = 10;
/// The number of agents that call while a person looks, each after a pause.
const AGENTS: usize = 4;
const PAUSE: Duration = Duration::from_millis(50);
/// One call of this many stores; the others recall.
const CALLS_PER_STORE: usize = 5;
/// The number of calls in the audit log before the first look.
const CALLS_BEFORE: usize = 2_000;
/// The number of times that each view is asked for.
const LOOKS: usize = 200;

pub fn run(folder: Option<&Path>, memories: usize, output: Output) -> Result<(), Failure> {
    let folder = folder_in(folder)?;
    let data = folder.path().join("data");
    status_line(format_args!(
        "storing {memories} memories in {} rooms …",
        WINGS * ROOMS
    ));
    let engine = engine(&data)?;
    let id = fill(&engine, memories)?;
    add_facts(&engine)?;
    drop(engine);
    let failed = |error: io::Error| Failure::new(Exit::Failure, error.to_string());
    let figures = look(&data, &id).map_err(failed)?;
    print(&figures, output)
}

/// Stores memories, and returns the id of one.
fn fill(engine: &Engine, memories: usize) -> Result<String, Failure> {
    let mut random = Random(5);
    let mut imported = ImportOutcome::default();
    for stored in (0..memories).step_by(STORED_TOGETHER) {
        let count = STORED_TOGETHER.min(memories - stored);
        let imports: Vec<Import> = (0..count).map(|_| import(&mut random)).collect();
        engine
            .system(&Caller::local())
            .imports()
            .import(&imports, &mut imported)?;
    }
    while engine.background().embed_pending()? > 0 {}
    let request = Remember {
        visibility: Visibility::Common,
        ..Remember::new(sentence(&mut random), "fact")
    };
    let stored = engine
        .system(&Caller::local())
        .memories()
        .remember(request)?;
    Ok(stored.memory.id.as_str().to_owned())
}

fn import(random: &mut Random) -> Import {
    let memory = Remember {
        collection: Some(format!("wing-{}", random.below(WINGS))),
        section: Some(format!("room-{}", random.below(ROOMS))),
        visibility: Visibility::Common,
        ..memory(random)
    };
    Import::new(memory)
}

fn add_facts(engine: &Engine) -> Result<(), Failure> {
    let mut random = Random(6);
    for entity in 0..ENTITIES {
        for fact in 0..FACTS_EACH {
            let fact = NewFact {
                subject: format!("entity {entity}"),
                predicate: format!("relates to {fact}"),
                object: random.words(1),
                valid_from: None,
                valid_to: None,
                source: None,
            };
            engine.system(&Caller::local()).graph().add_fact(fact)?;
        }
    }
    Ok(())
}

/// Asks for each view while agents call.
fn look(data: &Path, id: &str) -> io::Result<Vec<Figure>> {
    let server = Server::start(data)?;
    status_line(format_args!("calling {CALLS_BEFORE} times …"));
    let mut agent = HttpClient::connect(&server.address)?;
    let mut random = Random(7);
    for number in 0..CALLS_BEFORE {
        call(&mut agent, number, &mut random)?;
    }
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let agents: Vec<_> = (0..AGENTS)
            .map(|number| {
                let (address, is_over) = (&server.address, &is_over);
                scope.spawn(move || keep_calling(address, number, is_over))
            })
            .collect();
        let figures = views(&server.address, id);
        is_over.store(true, Ordering::Relaxed);
        let mut calls = Vec::new();
        for agent in agents {
            let times = agent.join();
            calls.extend(times.unwrap_or_else(|_| Err(io::Error::other("an agent panicked")))?);
        }
        let mut figures = figures?;
        figures.extend(percentiles("a recall beside the page", calls, ""));
        Ok(figures)
    })
}

/// Calls until the end; returns the milliseconds of each recall.
fn keep_calling(address: &str, number: usize, is_over: &AtomicBool) -> io::Result<Vec<f64>> {
    let mut agent = HttpClient::connect(address)?;
    let mut random = Random(number as u64);
    let mut times = Vec::new();
    for number in 0.. {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        let begin = Instant::now();
        call(&mut agent, number, &mut random)?;
        if !number.is_multiple_of(CALLS_PER_STORE) {
            times.push(milliseconds(begin.elapsed()));
        }
        rest();
    }
    Ok(times)
}

#[expect(
    clippy::disallowed_methods,
    reason = "agents that call without a pause measure the processor, not the page"
)]
fn rest() {
    thread::sleep(PAUSE);
}

fn call(agent: &mut HttpClient, number: usize, random: &mut Random) -> io::Result<()> {
    let (tool, arguments) = if number.is_multiple_of(CALLS_PER_STORE) {
        ("remember", json!({"content": sentence(random)}))
    } else {
        ("recall", json!({"query": question(random), "limit": 5}))
    };
    agent.call("mememory", tool, &arguments).map(drop)
}

fn views(address: &str, id: &str) -> io::Result<Vec<Figure>> {
    let memory = format!("/memory/{id}");
    // *Settings* is for the owner, who has a token; it looks only at hosts and settings.
    let rows = [
        ("Home", "/", "20"),
        ("Search", "/search?q=the+meeting+about+the+release", "20"),
        ("Browse", "/browse", "20"),
        (
            "Browse, a room",
            "/browse/room?wing=wing-3&room=room-7",
            "20",
        ),
        (
            "Browse, the overview of 2,000 rooms",
            "/browse/overview",
            "1000",
        ),
        (
            "Search, while typing",
            "/search/results?q=the+meeting+about",
            "20",
        ),
        ("Filters with their counts", "/facets", "20"),
        (
            "Filters, narrowed by two",
            "/facets?wing=wing-3&wing=wing-4&type=fact",
            "20",
        ),
        ("Browse, most used first", "/browse/room?sort=used", ""),
        ("Browse, largest first", "/browse/room?sort=largest", ""),
        ("A memory", memory.as_str(), "20"),
        ("Facts", "/facts?entity=entity+7", "20"),
        ("Review", "/review", "20"),
        (
            "Review, its pairs",
            "/review?kind=contradiction&kind=duplicate",
            "",
        ),
        (
            "Review, texts",
            "/review?kind=secret&kind=order&kind=stale",
            "",
        ),
        ("Review, directives", "/review?kind=directive", ""),
        ("Activity", "/activity", "20"),
    ];
    let mut browser = HttpClient::connect(address)?;
    let mut figures = Vec::new();
    for (name, path, goal) in rows {
        figures.extend(look_at(&mut browser, name, path, goal)?);
    }
    Ok(figures)
}

/// Looks at a view again and again: the first look, the later ones and the size of the text.
fn look_at(
    browser: &mut HttpClient,
    name: &str,
    path: &str,
    goal: &'static str,
) -> io::Result<Vec<Figure>> {
    status_line(format_args!("looking at {name} …"));
    // The first look loads what later ones find.
    let (first, bytes) = browser.view(path)?;
    let mut times = Vec::with_capacity(LOOKS);
    for _ in 0..LOOKS {
        let (time, _) = browser.view(path)?;
        times.push(milliseconds(time));
    }
    let first = milliseconds(first);
    let mut figures = vec![Figure::one(
        format!("{name}, the first look"),
        first,
        "ms",
        "",
    )];
    figures.extend(percentiles(name, times, goal));
    let kilobytes = bytes as f64 / 1e3;
    figures.push(Figure::one(
        format!("{name}, its text"),
        kilobytes,
        "kB",
        "",
    ));
    Ok(figures)
}

/// Returns the median and the 99th percentile, which has the goal.
fn percentiles(name: &str, mut times: Vec<f64>, goal: &'static str) -> [Figure; 2] {
    times.sort_by(f64::total_cmp);
    let at = |share| percentile(&times, share);
    [
        Figure::one(format!("{name}, first byte, p50"), at(0.5), "ms", ""),
        Figure::one(format!("{name}, first byte, p99"), at(0.99), "ms", goal),
    ]
}
