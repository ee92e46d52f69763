//! The figures for monitoring of a server whose store is on PostgreSQL.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use loci_testkit::postgres::{Server, Setup};
use serde_json::json;

use crate::program::Place;
use crate::servers::{self, free_address};

/// The longest wait for a figure that the server has to notice first.
const WAIT_MAX: Duration = Duration::from_mins(1);

/// Reads the figures that are whole numbers by their names with labels.
fn read(address: &str) -> BTreeMap<String, i64> {
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    assert_eq!(reply.split(' ').nth(1), Some("200"), "{reply}");
    let figures = reply.lines().filter(|line| line.starts_with("loci_"));
    figures
        .filter_map(|line| line.rsplit_once(' '))
        .filter_map(|(name, value)| Some((name.to_owned(), value.trim().parse().ok()?)))
        .collect()
}

/// Reads the figures until some hold.
fn wait(address: &str, holds: impl Fn(&BTreeMap<String, i64>) -> bool) -> BTreeMap<String, i64> {
    let begin = Instant::now();
    loop {
        let figures = read(address);
        if holds(&figures) {
            return figures;
        }
        assert!(begin.elapsed() < WAIT_MAX, "{figures:#?}");
    }
}

/// Returns the names of figures that a text has.
fn names(text: &str) -> BTreeSet<&str> {
    let is_other = |sign: char| !sign.is_ascii_lowercase() && sign != '_';
    let words = text.split(is_other);
    let words = words.map(|word| {
        let suffix = ["_bucket", "_count", "_sum"]
            .into_iter()
            .find_map(|suffix| word.strip_suffix(suffix));
        suffix.unwrap_or(word)
    });
    words.filter(|word| word.starts_with("loci_")).collect()
}

#[test]
fn the_server_of_the_store_is_in_the_figures() {
    let postgres = Server::start(&Setup {
        fsync: true,
        ..Setup::default()
    });
    let address = free_address();
    let place = Place::new()
        .with("LOCI_STORE", &postgres.url)
        .with("LOCI_METRICS_BIND", &address)
        .with("LOCI_STORE_COMMIT_SECONDS", "1");
    let loci = servers::Server::start(&place, &[]);
    let token = fs::read_to_string(place.data().join("token")).unwrap();
    let remember = |text: &str| {
        let arguments = json!({"content": text, "again": true});
        loci.call(Some(token.trim()), "remember", &arguments)
    };
    let of = |figures: &BTreeMap<String, i64>, name: &str| *figures.get(name).unwrap_or(&-1);

    let stored = remember("Tea is at four.").1;
    assert!(stored.contains("\"isError\":false"), "{stored}");
    let recall = json!({"query": "when is tea"});
    assert_eq!(loci.call(Some(token.trim()), "recall", &recall).0, 200);
    let before = read(&address);
    for (name, value) in [
        ("loci_store_up", 1),
        ("loci_server_up", 1),
        ("loci_server_timeline", 1),
        ("loci_server_standbys{state=\"all\"}", 0),
        ("loci_server_outages_total", 0),
        ("loci_server_unconfirmed_commits_total", 0),
        ("loci_space_indexes{size=\"small\"}", 1),
        ("loci_space_index_loads_total{size=\"small\"}", 1),
        ("loci_space_index_loads_total{size=\"large\"}", 0),
        ("loci_space_index_evictions_total{size=\"small\"}", 0),
    ] {
        assert_eq!(of(&before, name), value, "{name}: {before:#?}");
    }
    let trips = "loci_server_round_trips_total";
    assert!(of(&before, trips) > 0 && of(&read(&address), trips) > of(&before, trips));
    let limit = of(&before, "loci_server_connections{state=\"limit\"}");
    let idle = of(&before, "loci_server_connections{state=\"idle\"}");
    assert!((1..=limit).contains(&idle), "{before:#?}");

    // A standby that must confirm each commit, and stops.
    let standby = postgres.start_standby(None);
    postgres.require_standby();
    let synchronous = "loci_server_standbys{state=\"synchronous\"}";
    wait(&address, |figures| of(figures, synchronous) == 1);
    standby.freeze();
    let refused = remember("The kiln is cold.").1;
    assert!(
        refused.contains("unavailable") || refused.contains("standby"),
        "{refused}"
    );
    let waits = |figures: &BTreeMap<String, i64>| of(figures, "loci_server_waiting_commits") >= 1;
    let stalled = wait(&address, waits);
    assert!(
        of(&stalled, "loci_server_unconfirmed_commits_total") >= 1,
        "{stalled:#?}"
    );
    standby.thaw();
    wait(&address, |figures| !waits(figures));

    // The server goes: the figures of this process are told at once.
    postgres.kill();
    let begin = Instant::now();
    let away = read(&address);
    assert!(
        begin.elapsed() < Duration::from_secs(9),
        "{:?}",
        begin.elapsed()
    );
    assert_eq!(
        (of(&away, "loci_store_up"), of(&away, "loci_server_up")),
        (0, 0)
    );
    assert!(of(&away, trips) > of(&before, trips));
    let counted = wait(&address, |figures| {
        of(figures, "loci_server_outages_total") >= 1
    });
    assert_eq!(of(&counted, "loci_server_outages_total"), 1, "{counted:#?}");
}

#[test]
fn dashboard_and_alerts_ask_for_figures_that_there_are() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let told: String = ["metrics.rs", "metrics/server.rs"]
        .map(|file| fs::read_to_string(root.join("crates/loci-page/src").join(file)).unwrap())
        .concat();
    let told = names(&told);
    for file in ["grafana/loci.json", "prometheus/alerts.yaml"] {
        let text = fs::read_to_string(root.join("packaging").join(file)).unwrap();
        let asked = names(&text);
        assert!(asked.len() > 5, "{file}: {asked:?}");
        let missing: Vec<_> = asked.difference(&told).collect();
        assert!(missing.is_empty(), "{file}: {missing:?}");
    }
}
