//! A PostgreSQL server that dies while a synchronous standby takes its place, under clients of three
//! front ends; and connections to it that are cut around their commits.
//!
//! `LOCI_TEST_FAILOVERS` is the number of failovers (2), `LOCI_TEST_CUTS` that of connections cut (40).

use std::thread;
use std::time::{Duration, Instant};

use loci_testkit::postgres::{Server, Setup};

use crate::cluster::Cluster;
use crate::place::{Budget, report};
use crate::proxy::Proxy;

/// A pause of the server for which no call may fail. Calls wait for twice as long.
const WAITED_FOR: Duration = Duration::from_secs(5);
/// The longest wait for the first success of all after a failover.
const SUCCESS_MAX: Duration = Duration::from_secs(20);
/// The milliseconds of writes before a failover.
const WRITES: (usize, usize) = (200, 1_500);

/// Returns the number that a variable names.
fn number(variable: &str, default: usize) -> usize {
    std::env::var(variable).map_or(default, |value| value.parse().unwrap())
}

fn start_server() -> Server {
    Server::start(&Setup {
        fsync: true,
        ..Setup::default()
    })
}

#[test]
fn what_was_acknowledged_outlives_failovers() {
    let failovers = number("LOCI_TEST_FAILOVERS", 2);
    let mut random = Budget::new("failovers").random;
    let mut primary = start_server();
    let mut standby = primary.start_standby(None);
    let store = format!(
        "postgres://loci@127.0.0.1:{},127.0.0.1:{}/loci?target_session_attrs=read-write",
        primary.port, standby.port
    );
    let mut cluster = Cluster::start(&store);
    let mut waits = Vec::new();
    let mut longest = Duration::ZERO;
    for _ in 0..failovers {
        primary.require_standby();
        let (least, most) = WRITES;
        let writes = Duration::from_millis((least + random.below(most - least)) as u64);
        cluster.write_for(writes, &mut random);
        let begun = Instant::now();
        primary.kill();
        let promoted = thread::scope(|scope| {
            let promotion = scope.spawn(|| {
                standby.promote();
                Instant::now()
            });
            while !promotion.is_finished() {
                cluster.step(&mut random);
            }
            promotion.join().unwrap()
        });
        longest = longest.max(promoted - begun);
        let first = loop {
            match cluster.last_success {
                Some(success) if success > promoted => break success,
                _ => assert!(
                    promoted.elapsed() < SUCCESS_MAX,
                    "nothing is written any more"
                ),
            }
            cluster.step(&mut random);
        };
        waits.push(first - promoted);
        cluster.write_for(Duration::from_millis(300), &mut random);
        cluster.check(&store);
        let fresh = standby.start_standby(Some(primary.port));
        primary = std::mem::replace(&mut standby, fresh);
    }
    waits.sort_unstable();
    report(&format!(
        "failovers: {failovers} under {} clients, {} calls acknowledged, {} refused, {} left open; the first success \
         at the latest {:?} after the promotion (half within {:?}), which ended at the latest {longest:?} after \
         the kill",
        cluster.clients(),
        cluster.ledger.acknowledged,
        cluster.refused.len(),
        cluster.unknown.len(),
        waits.last().unwrap(),
        waits[waits.len() / 2],
    ));
    if longest < WAITED_FOR {
        let refused = (&cluster.refused, &cluster.unknown);
        assert_eq!(
            refused,
            (&Vec::new(), &Vec::new()),
            "calls wait for a failover"
        );
    }
}

#[test]
fn what_was_acknowledged_outlives_connections_cut_around_commits() {
    let cuts = number("LOCI_TEST_CUTS", 40);
    let mut budget = Budget::new("cuts");
    let server = start_server();
    let proxy = Proxy::start(server.port, budget.random.bits());
    let store = format!(
        "postgres://loci@127.0.0.1:{}/loci?sslmode=disable",
        proxy.port
    );
    let mut cluster = Cluster::start(&store);
    proxy.cut(true);
    let begun = Instant::now();
    while proxy.cuts().iter().sum::<usize>() < cuts {
        cluster.step(&mut budget.random);
        let limit = SUCCESS_MAX + Duration::from_secs(cuts as u64);
        assert!(
            begun.elapsed() < limit,
            "too few commits are cut: {:?}",
            proxy.cuts()
        );
    }
    proxy.cut(false);
    cluster.write_for(Duration::from_millis(300), &mut budget.random);
    cluster.check(&server.url);
    let [before, within, after] = proxy.cuts();
    report(&format!(
        "cuts: {before} before a commit, {within} in one, {after} after one; {} calls acknowledged, {} refused, {} left \
         open",
        cluster.ledger.acknowledged,
        cluster.refused.len(),
        cluster.unknown.len()
    ));
    assert!(before > 0 && within > 0 && after > 0);
}
