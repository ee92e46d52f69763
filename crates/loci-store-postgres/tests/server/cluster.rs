//! A store on a cluster with Citus, which `LOCI_TEST_CITUS` names; no test without it.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use loci_core::{
    CandidateQuery, CheckOutcome, Filter, Maintenance, Memory, MemoryId, Scope, Scopes, Space,
    Store, Timestamp, Token, TokenStore,
};
use loci_store_postgres::{Options, PostgresStore, SCHEMA_VERSION};
use loci_testkit::contract::{filter, memory, passage, put};
use loci_testkit::postgres::{has_cluster, server_url};
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::lint::{collect, is_over_all_spaces, qualify, value};
use crate::migrations::{definitions, made_by};
use crate::{Schemas, finding, run_sql, with_client};

/// The tables that lie on the coordinator.
const LOCAL: [&str; 8] = [
    "installation",
    "lease",
    "migration",
    "migration_lock",
    "store_change",
    "store_space",
    "store_writer",
    "token",
];

pub fn in_space(name: &str, id: &str) -> Memory {
    Memory {
        space: Space::parse("space", name).unwrap(),
        ..memory(id)
    }
}

/// Returns the tables of a schema: those that are not distributed, and how many groups of colocated
/// tables the others are.
async fn tables(client: &Client, schema: &str) -> (Vec<String>, i64) {
    let sql = "SELECT relname::text FROM pg_class WHERE relnamespace = to_regnamespace($1) AND relkind = 'r' \
        AND oid NOT IN (SELECT logicalrelid FROM pg_dist_partition WHERE partmethod = 'h') ORDER BY 1";
    let local = client.query(sql, &[&schema]).await.unwrap();
    let local = local.iter().map(|row| row.get(0)).collect();
    let sql = "SELECT count(DISTINCT colocationid) FROM pg_dist_partition AS p JOIN pg_class AS c ON c.oid = logicalrelid \
        WHERE relnamespace = to_regnamespace($1) AND partkey LIKE '%varattno 1 %'";
    let groups = client.query_one(sql, &[&schema]).await.unwrap();
    (local, groups.get(0))
}

#[test]
fn tables_are_distributed_by_space() {
    if !has_cluster() {
        return;
    }
    let schemas = Schemas::default();
    let options = schemas.options();
    let store = PostgresStore::open(options.clone()).unwrap();
    store.secret().unwrap();
    let plain = Options {
        distributes: false,
        ..schemas.options()
    };
    let on_coordinator = PostgresStore::open(plain.clone()).unwrap();
    on_coordinator.secret().unwrap();
    for store in [&store, &on_coordinator] {
        store
            .commit(put(&memory("a"), vec![passage("word")]))
            .unwrap();
        assert_eq!(store.structure_check(), Ok(Vec::new()));
    }
    let sizes = [&store, &on_coordinator].map(|store| store.size().unwrap().disk_bytes);
    assert!(sizes[0] > 5 * sizes[1], "{sizes:?}");
    with_client(server_url(), async |client| {
        let (local, groups) = tables(client, &options.schema).await;
        assert_eq!((local, groups), (LOCAL.map(str::to_owned).to_vec(), 1));
        let (local, groups) = tables(client, &plain.schema).await;
        assert!(local.len() > 30 && groups == 0, "{local:?}");
    });
}

/// As one that was distributed by hand, before loci did it.
#[test]
fn a_distributed_store_of_the_first_version_is_upgraded() {
    if !has_cluster() {
        return;
    }
    let schemas = Schemas::default();
    let new = schemas.options();
    PostgresStore::open(new.clone()).unwrap().secret().unwrap();
    let options = schemas.options();
    let schema = &options.schema;
    with_client(&options.url, async |client| {
        client
            .batch_execute(&qualify(&made_by(1, schema), schema))
            .await
            .unwrap();
        let apart = ["space", "change", "writer"]
            .map(|table| format!("CREATE TABLE @store_{table} (LIKE @{table} INCLUDING ALL);"));
        client
            .batch_execute(&qualify(&apart.concat(), schema))
            .await
            .unwrap();
        let sql = "SELECT create_distributed_table(c.oid, 'space', \
                colocate_with => CASE relname WHEN 'space' THEN 'none' ELSE $1 || '.space' END) \
            FROM (SELECT oid, relname FROM pg_class WHERE relnamespace = to_regnamespace($1) AND relkind = 'r' \
                AND relname <> ALL ($2) ORDER BY relname <> 'space', relname) AS c";
        let local = LOCAL.map(str::to_owned).to_vec();
        client.query(sql, &[schema, &local]).await.unwrap();
    });
    let store = PostgresStore::open(options.clone()).unwrap();
    store
        .commit(put(&memory("first"), vec![passage("word")]))
        .unwrap();
    assert_eq!(store.structure_check(), Ok(Vec::new()));
    with_client(server_url(), async |client| {
        let made = definitions(client, &new.schema).await;
        let upgraded = definitions(client, schema).await;
        assert_eq!(upgraded, made);
        assert_eq!(
            tables(client, schema).await,
            tables(client, &new.schema).await
        );
        let sql = qualify("SELECT max(version) FROM @migration", schema);
        let row = client.query_one(&sql, &[]).await.unwrap();
        assert_eq!(row.get::<_, i64>(0), SCHEMA_VERSION);
    });
}

/// Another connection holds the row of the space, through the coordinator.
#[test]
fn a_write_waits_for_the_lock_of_a_worker_for_ten_seconds() {
    if !has_cluster() {
        return;
    }
    let schemas = Schemas::default();
    let options = schemas.options();
    let store = PostgresStore::open(options.clone()).unwrap();
    store.commit(put(&memory("a"), Vec::new())).unwrap();
    with_client(server_url(), async |client| {
        let lock = qualify(
            "SELECT 1 FROM @space WHERE space = 'main' FOR UPDATE",
            &options.schema,
        );
        client.batch_execute("BEGIN").await.unwrap();
        client.batch_execute(&lock).await.unwrap();
        let begin = Instant::now();
        let writing = thread::spawn(move || {
            let refused = store.commit(put(&memory("b"), Vec::new()));
            // Others are not concerned.
            store
                .commit(put(&in_space("other", "b"), Vec::new()))
                .unwrap();
            refused.unwrap_err()
        });
        let refused = writing.join().unwrap();
        let waited = begin.elapsed();
        assert!(refused.message.contains("same space"), "{refused}");
        assert!(
            waited > Duration::from_secs(9) && waited < Duration::from_secs(15),
            "{waited:?}"
        );
        client.batch_execute("ROLLBACK").await.unwrap();
    });
}

fn token(id: &str, at: Timestamp) -> Token {
    Token {
        id: id.to_owned(),
        hash: [1; 32],
        space: Space::parse("space", "main").unwrap(),
        subject: "ann".to_owned(),
        scopes: Scopes::of(&[Scope::Read]),
        created_at: at,
        expires_at: None,
        revoked_at: None,
        grant: None,
    }
}

/// What belongs to the whole store touches no worker, so that the death of none concerns it.
#[test]
fn tokens_and_leases_lie_on_the_coordinator() {
    if !has_cluster() {
        return;
    }
    let schemas = Schemas::default();
    let mut options = schemas.options();
    let sent = Arc::new(Mutex::new(BTreeSet::new()));
    let seen = Arc::clone(&sent);
    options.observer = Some(Arc::new(move |sql: &str, _: &[&str]| {
        seen.lock().unwrap().insert(sql.to_owned());
    }));
    let store = PostgresStore::open(options.clone()).unwrap();
    store.secret().unwrap();
    sent.lock().unwrap().clear();
    let at = Timestamp::from_microseconds(1_000_000);
    let token = token("a", at);
    store.add_token(&token).unwrap();
    assert!(store.token_by_hash(&[1; 32]).unwrap().is_some());
    store.revoke_token("a", at).unwrap();
    let revoked = store.token_by_hash(&[1; 32]).unwrap().unwrap();
    assert_eq!(revoked.revoked_at, Some(at));
    assert_eq!(store.lease("sweep", "me", at, at), Ok(true));
    let statements = sent.lock().unwrap().clone();
    let local = LOCAL.map(|name| format!("\"{}\".{name}", options.schema));
    for sql in &statements {
        let tables = sql.matches(&format!("\"{}\".", options.schema)).count();
        let of_coordinator: usize = local
            .iter()
            .map(|name| sql.matches(&format!("{name} ")).count())
            .sum();
        assert_eq!(tables, of_coordinator, "{sql}");
    }
    assert!(statements.len() > 5, "{statements:?}");
    run_sql(&options, "SELECT 1 FROM @store_writer");
    assert_eq!(store.version(&filter().space), Ok(0));
}

/// Returns the most shards that a statement concerns, as Citus plans it; 0 if it concerns the coordinator.
async fn shards_of(client: &Client, sql: &str, types: &[String]) -> u64 {
    let mut explain = format!("EXPLAIN (COSTS OFF) {sql}");
    for (number, kind) in types.iter().enumerate().rev() {
        let value = format!("{}::{kind}", value(kind, "20"));
        explain = explain.replace(&format!("${}", number + 1), &value);
    }
    let plan = client.simple_query(&explain).await;
    let plan = plan.unwrap_or_else(|error| panic!("{error:?}: {explain}"));
    let lines = plan.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    let counts = lines.filter_map(|line| line.trim().strip_prefix("Task Count: "));
    counts
        .map(|count| count.parse().unwrap())
        .max()
        .unwrap_or(0)
}

/// Callers wait for one shard; the statements over several are the ones that the lint lists.
#[test]
fn a_caller_waits_for_one_shard() {
    if !has_cluster() {
        return;
    }
    let schemas = Schemas::default();
    let statements = collect(&schemas);
    let options = schemas.options();
    let store = PostgresStore::open(options.clone()).unwrap();
    store.secret().unwrap();
    with_client(server_url(), async |client| {
        let (mut of_one, mut of_several) = (0, BTreeSet::new());
        for (sql, types) in &statements {
            match shards_of(client, &qualify(sql, &options.schema), types).await {
                0 => {}
                1 => of_one += 1,
                _ => drop(of_several.insert(sql.as_str())),
            }
        }
        let listed = statements.keys().filter(|sql| is_over_all_spaces(sql));
        let listed: BTreeSet<_> = listed.map(String::as_str).collect();
        assert_eq!(of_several, listed);
        assert!(of_one > 100, "{of_one}");
        eprintln!(
            "{of_one} statements concern one shard, {} several",
            of_several.len()
        );
    });
}

#[test]
fn the_doctor_looks_at_the_workers() {
    if !has_cluster() {
        return;
    }
    let schemas = Schemas::default();
    let options = schemas.options();
    let store = PostgresStore::open(options.clone()).unwrap();
    store
        .commit(put(&memory("a"), vec![passage("word")]))
        .unwrap();
    let text = |subject| finding(&store, subject).text;
    assert!(
        text("distribution").contains("30 tables by space"),
        "{}",
        text("distribution")
    );
    // The clock of the check is that of the first second.
    assert!(
        text("workers").contains("has a clock that is"),
        "{}",
        text("workers")
    );
    assert!(matches!(
        finding(&store, "shards").outcome,
        CheckOutcome::Sound
    ));
    let counts = store.reindex(false).unwrap();
    assert_eq!(counts.memories, 1);
    assert!(counts.indexes > 80, "{counts:?}");
    let (url, shard) = with_client(server_url(), async |client| {
        let sql = "SELECT nodename, nodeport, shard_name FROM citus_shards WHERE table_name = to_regclass($1) LIMIT 1";
        let table = format!("{}.fact", options.schema);
        let row = client.query_one(sql, &[&table]).await.unwrap();
        let (host, port, shard): (String, i32, String) = (row.get(0), row.get(1), row.get(2));
        (format!("postgres://loci@{host}:{port}/loci"), shard)
    });
    with_client(&url, async |client| {
        let drop = format!("DROP POLICY loci_space ON {shard}");
        for sql in ["SET citus.enable_manual_changes_to_shards = on", &drop] {
            client.batch_execute(sql).await.unwrap();
        }
    });
    let found = finding(&store, "shards");
    assert!(matches!(found.outcome, CheckOutcome::Faulty));
    assert!(found.text.starts_with("1 of "), "{}", found.text);
}

/// The variable with the URL of a plain server of the same version, to compare with.
const PLAIN_VARIABLE: &str = "LOCI_TEST_PLAIN";

/// A call with its number.
type Work<'a> = &'a dyn Fn(&PostgresStore, usize);

/// Writes and recalls in turn on a plain server, on the cluster and there through the coordinator, and prints the medians in
/// milliseconds, round trips and statements.
#[test]
fn what_a_caller_pays() {
    let Ok(plain) = std::env::var(PLAIN_VARIABLE) else {
        return;
    };
    let schemas = Schemas::default();
    let sent = [(); 3].map(|()| Arc::new(AtomicU64::new(0)));
    let options = |number: usize| {
        let mut options = schemas.options();
        if number == 0 {
            options.url = plain.clone();
        }
        options.connects_to_workers = number < 2;
        let sent = Arc::clone(&sent[number]);
        options.observer = Some(Arc::new(move |_: &str, _: &[&str]| {
            sent.fetch_add(1, Ordering::Relaxed);
        }));
        options
    };
    let stores = [0, 1, 2].map(|number| PostgresStore::open(options(number)).unwrap());
    let words = ["word".to_owned()];
    let work: [(&str, Work<'_>); 4] = [
        ("write", &|store, number| {
            let memory = memory(&format!("m{number}"));
            store.commit(put(&memory, vec![passage("word")])).unwrap();
        }),
        ("recall", &|store, _| {
            let filter = filter();
            let query = CandidateQuery {
                terms: &words,
                ..CandidateQuery::of(&filter, 10)
            };
            let nearest = store.nearest(&filter, &[query], 10).unwrap();
            assert_eq!(nearest.memories.len(), 10);
        }),
        ("candidates", &|store, _| {
            let filter = filter();
            let query = CandidateQuery {
                terms: &words,
                ..CandidateQuery::of(&filter, 10)
            };
            store.candidates(&query).unwrap();
        }),
        ("get", &|store, _| {
            store.get_all(&filter(), &[memory("m1").id]).unwrap();
        }),
    ];
    for (name, work) in work {
        let mut times = [(); 3].map(|()| Vec::new());
        let counts = |which: usize| {
            let sent = sent[which].load(Ordering::Relaxed);
            (stores[which].round_trips(), sent)
        };
        let mut before = [(0, 0); 3];
        for number in 0..220 {
            if number == 20 {
                before = [0, 1, 2].map(counts);
            }
            for (store, times) in stores.iter().zip(&mut times) {
                let begin = Instant::now();
                work(store, number);
                times.push(begin.elapsed());
            }
        }
        let medians = times.map(|mut times| {
            times.drain(..20);
            times.sort_unstable();
            times[times.len() / 2].as_secs_f64() * 1e3
        });
        let per_call = |which: usize| {
            let ((trips, sent), (trips_before, sent_before)) = (counts(which), before[which]);
            let each = |now: u64, before: u64| (now - before) as f64 / 200.0;
            (each(trips, trips_before), each(sent, sent_before))
        };
        eprintln!(
            "{name}: plain {:.2} ms {:?}, cluster {:.2} ms {:?}: {:.2} times, through the coordinator {:.2} ms: {:.2} times",
            medians[0],
            per_call(0),
            medians[1],
            per_call(1),
            medians[1] / medians[0],
            medians[2],
            medians[2] / medians[0]
        );
    }
    drop(stores);
    let plain = Options {
        schema: schemas.0.lock().unwrap()[0].clone(),
        ..Options::new(plain)
    };
    PostgresStore::open(plain).unwrap().destroy().unwrap();
}

/// The variable with the folder of the data of a worker, which is killed, and the one with the command
/// that starts it again.
const WORKER_VARIABLE: &str = "LOCI_TEST_CITUS_WORKER";
const RESTART_VARIABLE: &str = "LOCI_TEST_CITUS_RESTART";

/// The spaces that write while a worker dies, and how long each part of that takes.
const SPACES: usize = 12;
const BEFORE: Duration = Duration::from_secs(2);
const DEAD: Duration = Duration::from_secs(25);

/// What a space was told: the ids of memories that are stored, and each refusal with the time of the call.
#[derive(Debug, Default)]
pub struct Told {
    pub stored: Vec<String>,
    pub refused: Vec<(Duration, String)>,
    pub slowest: Duration,
}

/// Ends the writers when it is dropped.
pub struct Stop<'a>(pub &'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Writes in a space until it is told to stop; the ids begin with the name of the writer.
pub fn write_on(store: &PostgresStore, space: &str, writer: &str, is_over: &AtomicBool) -> Told {
    let mut told = Told::default();
    for number in 0.. {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        let id = format!("{writer} {number}");
        let begin = Instant::now();
        match store.commit(put(&in_space(space, &id), vec![passage("word")])) {
            Ok(()) => told.stored.push(id),
            Err(error) => told.refused.push((begin.elapsed(), error.message)),
        }
        told.slowest = told.slowest.max(begin.elapsed());
    }
    told
}

/// Sends a signal to all processes of the server whose data lie in a folder; returns its port.
fn signal(folder: &str, sign: &str) -> i32 {
    let file = std::fs::read_to_string(format!("{folder}/postmaster.pid")).unwrap();
    let lines: Vec<_> = file.lines().collect();
    let children = Command::new("ps")
        .args(["-o", "pid=", "--ppid", lines[0]])
        .output()
        .unwrap();
    let children = String::from_utf8(children.stdout).unwrap();
    let killed = Command::new("kill")
        .args([sign, lines[0]])
        .args(children.split_whitespace())
        .status();
    assert!(killed.is_ok());
    lines[3].parse().unwrap()
}

/// A server that is stopped, and goes on when this is dropped.
struct Stopped<'a>(&'a str);

impl<'a> Stopped<'a> {
    fn of(folder: &'a str) -> Self {
        signal(folder, "-STOP");
        Stopped(folder)
    }
}

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        signal(self.0, "-CONT");
    }
}

pub fn pause(time: Duration) {
    let (_keep, end) = std::sync::mpsc::channel::<()>();
    let _ = end.recv_timeout(time);
}

#[test]
fn a_dead_worker_stops_its_own_spaces() {
    if let Some(told) = stops_its_own_spaces(false, Duration::from_secs(11)) {
        eprintln!("{told}");
    }
}

/// A process that is stopped keeps its connections, and answers nothing.
#[test]
fn a_stopped_worker_stops_its_own_spaces() {
    // Each space has a write under way, which waits for a minute, and here until the worker goes on.
    if let Some(told) = stops_its_own_spaces(true, DEAD + BEFORE * 3) {
        eprintln!("{told}");
    }
}

/// Checks that another process is told that a space cannot be had, and does not wait.
fn is_refused_at_once(options: &Options, space: &str) {
    let store = PostgresStore::open(options.clone()).unwrap();
    let begin = Instant::now();
    let refused = store.commit(put(&in_space(space, "new"), Vec::new()));
    let refused = refused.unwrap_err();
    assert!(
        refused.is_unavailable() && refused.message.contains("does not answer"),
        "{refused}"
    );
    assert!(
        begin.elapsed() < Duration::from_secs(10),
        "{:?}",
        begin.elapsed()
    );
}

/// Returns what the spaces were told, in words; `None` without a cluster whose worker may be disturbed.
fn stops_its_own_spaces(is_stopped: bool, longest_max: Duration) -> Option<String> {
    let (Ok(folder), Ok(restart)) = (
        std::env::var(WORKER_VARIABLE),
        std::env::var(RESTART_VARIABLE),
    ) else {
        return None;
    };
    let schemas = Schemas::default();
    let mut options = schemas.options();
    options.connections_max = SPACES + 4;
    let store = PostgresStore::open(options.clone()).unwrap();
    let names: Vec<String> = (0..SPACES).map(|number| format!("s{number}")).collect();
    for name in &names {
        store
            .commit(put(&in_space(name, "first"), Vec::new()))
            .unwrap();
    }
    let at = Timestamp::from_microseconds(1_000_000);
    let token = token("a", at);
    store.add_token(&token).unwrap();
    let port = signal(&folder, "-0");
    let mut of_dead = Vec::new();
    with_client(server_url(), async |client| {
        for name in &names {
            let sql = "SELECT nodeport FROM citus_shards WHERE table_name = to_regclass($1) \
                AND shardid = get_shard_id_for_distribution_column(to_regclass($1), $2::text)";
            let table = format!("{}.space", options.schema);
            let row = client.query_one(sql, &[&table, &name]).await.unwrap();
            of_dead.push(row.get::<_, i32>(0) == port);
        }
    });
    let is_over = AtomicBool::new(false);
    let told = thread::scope(|scope| {
        let writing: Vec<_> = names
            .iter()
            .map(|name| scope.spawn(|| write_on(&store, name, name, &is_over)))
            .collect();
        // A panic ends the others, too.
        let _stop = Stop(&is_over);
        pause(BEFORE);
        let goes_on = is_stopped.then(|| Stopped::of(&folder));
        if !is_stopped {
            signal(&folder, "-KILL");
        }
        pause(DEAD / 2);
        // What belongs to the whole store goes on.
        assert!(store.token_by_hash(&token.hash).unwrap().is_some());
        store.revoke_token("a", at).unwrap();
        let revoked = store.token_by_hash(&token.hash).unwrap().unwrap();
        assert_eq!(revoked.revoked_at, Some(at));
        assert_eq!(store.lease("sweep", "me", at, at), Ok(true));
        if is_stopped {
            let name = names
                .iter()
                .zip(&of_dead)
                .find(|(_, is_of_dead)| **is_of_dead);
            is_refused_at_once(&options, name.unwrap().0);
            pause(DEAD / 4);
            drop(goes_on);
        } else {
            let found = finding(&store, "workers");
            assert!(found.text.contains("does not answer"), "{}", found.text);
            pause(DEAD / 2);
            let started = Command::new("sh").args(["-c", &restart]).status().unwrap();
            assert!(started.success());
        }
        pause(BEFORE * 3);
        is_over.store(true, Ordering::Relaxed);
        let told = writing.into_iter().map(|each| each.join().unwrap());
        told.collect::<Vec<_>>()
    });
    let (mut elsewhere, mut slowest, mut refused, mut longest) =
        (0, Duration::ZERO, 0, Duration::ZERO);
    for ((name, told), is_of_dead) in names.iter().zip(&told).zip(&of_dead) {
        let filter = Filter {
            space: Space::parse("space", name).unwrap(),
            ..filter()
        };
        for ids in told.stored.chunks(100) {
            let ids: Vec<_> = ids.iter().map(|id| MemoryId::new(id.as_str())).collect();
            assert_eq!(store.get_all(&filter, &ids).unwrap().len(), ids.len());
        }
        if *is_of_dead {
            refused += told.refused.len();
            for (waited, reason) in &told.refused {
                longest = longest.max(*waited);
                assert!(*waited < longest_max, "{waited:?}: {reason}");
            }
            assert!(is_stopped || !told.refused.is_empty());
        } else {
            assert_eq!(told.refused, [], "{name}");
            elsewhere += told.stored.len();
            slowest = slowest.max(told.slowest);
        }
    }
    let dead = of_dead.iter().filter(|is_of_dead| **is_of_dead).count();
    assert!(dead > 0 && dead < SPACES, "{of_dead:?}");
    Some(format!(
        "{dead} of {SPACES} spaces on the worker: {refused} writes refused, each after {longest:?} at the latest; \
         elsewhere {elsewhere} writes without an error, the slowest in {slowest:?}; reasons: {:?}",
        told.iter()
            .flat_map(|told| &told.refused)
            .map(|(_, reason)| reason)
            .collect::<BTreeSet<_>>()
    ))
}
