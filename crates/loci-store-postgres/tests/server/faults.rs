//! Bad days: servers that refuse, stop or fill up. Each message tells the reason and the remedy, and
//! nothing that was acknowledged is lost.

use std::collections::BTreeSet;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use loci_core::{Error, ErrorCode, Memory, Page, Space, Store, StoreFault, TokenStore};
use loci_store_postgres::{Options, PostgresStore};
use loci_testkit::Random;
use loci_testkit::contract::{filter, memory, put};
use loci_testkit::postgres::{Server, Setup, has_cluster, server_url};
use tokio_postgres::NoTls;

use crate::{Schemas, finding, run_sql, with_client};

/// Fails unless the store is unavailable and says all of these.
#[track_caller]
pub(crate) fn assert_says<T: std::fmt::Debug>(outcome: Result<T, Error>, parts: &[&str]) {
    let error = outcome.unwrap_err();
    assert!(error.is_unavailable(), "{error:?}");
    for part in parts {
        assert!(
            error.message.contains(part),
            "{:?} does not say {part:?}",
            error.message
        );
    }
}

/// Returns the options with a user and a place of the same server.
pub(crate) fn as_user(options: &Options, user: &str) -> Options {
    let (_, place) = options.url.split_once('@').unwrap();
    Options {
        url: format!("postgres://{user}@{place}"),
        ..options.clone()
    }
}

fn reach(options: Options) -> Result<u64, Error> {
    PostgresStore::open(options)?.version(&filter().space)
}

/// Half the time that calls wait for a server.
const WAITED_FOR: Duration = Duration::from_secs(5);

fn write(store: &PostgresStore, id: &str) -> Result<(), Error> {
    store.commit(put(&memory(id), Vec::new()))
}

#[test]
fn a_wrong_password_is_named() {
    let server = Server::start(&Setup {
        access: vec!["host all worker 127.0.0.1/32 scram-sha-256".to_owned()],
        ..Setup::default()
    });
    let mut options = Options::new(&server.url);
    options.allows_unsafe = true;
    with_client(&server.url, async |client| {
        let sql =
            "CREATE ROLE worker LOGIN PASSWORD 'right'; GRANT CREATE ON DATABASE loci TO worker";
        client.batch_execute(sql).await.unwrap();
    });
    let mut options = as_user(&options, "worker");
    assert_says(reach(options.clone()), &["password", "PGPASSWORD"]);
    options.password = Some("wrong".to_owned());
    assert_says(
        reach(options.clone()),
        &[
            "password authentication failed for user \"worker\"",
            "PGPASSWORD",
        ],
    );
    options.password = Some("right".to_owned());
    assert_eq!(reach(options.clone()), Ok(0));
    options.url = options.url.replace("//worker@", "//worker:wrong@");
    assert_eq!(reach(options), Ok(0), "the option comes before the URL");
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let mut options = Options::new("postgres://loci@127.0.0.1:1/loci");
    assert_says(reach(options.clone()), &["refused", "the setting `store`"]);
    options.url = "postgres://loci@no-such-host.invalid/loci".to_owned();
    assert_says(reach(options), &["the setting `store`"]);
}

/// A server that takes connections and never says a word.
struct Hanging {
    listener: TcpListener,
    taken: Vec<TcpStream>,
}

impl Hanging {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let taken = Vec::new();
        Hanging { listener, taken }
    }

    fn place(&self) -> String {
        self.listener.local_addr().unwrap().to_string()
    }

    /// Returns the number of connections so far. The system takes them by itself.
    fn taken(&mut self) -> usize {
        while let Ok((taken, _)) = self.listener.accept() {
            self.taken.push(taken);
        }
        self.taken.len()
    }
}

#[test]
fn a_server_that_hangs_is_passed_over() {
    let schemas = Schemas::default();
    let mut options = schemas.options();
    write(&PostgresStore::open(options.clone()).unwrap(), "a").unwrap();
    let mut hanging = Hanging::new();
    options.url = options
        .url
        .replacen('@', &format!("@{},", hanging.place()), 1);
    let store = PostgresStore::open(options).unwrap();
    write(&store, "b").unwrap();
    assert_eq!(hanging.taken(), 1);
    // Further connections begin with the one that answers.
    thread::scope(|scope| {
        for number in 0..4 {
            let store = &store;
            scope.spawn(move || write(store, &format!("c{number}")).unwrap());
        }
    });
    assert_eq!(hanging.taken(), 1);
}

#[test]
fn a_server_that_hangs_is_asked_once() {
    let mut hanging = Hanging::new();
    let options = Options::new(format!("postgres://loci@{}/loci", hanging.place()));
    let store = PostgresStore::open(options).unwrap();
    let words = [
        "takes connections and does not answer",
        "the setting `store`",
    ];
    for _ in 0..3 {
        assert_says(store.version(&filter().space), &words);
    }
    assert_eq!(hanging.taken(), 1);
}

#[test]
fn a_missing_database_is_named() {
    let (server, _) = server_url().rsplit_once('/').unwrap();
    let mut options = Options::new(format!("{server}/nowhere"));
    options.allows_unsafe = true;
    assert_says(
        reach(options),
        &["database \"nowhere\" does not exist", "create the database"],
    );
}

/// The server warns of the other version on each new connection, also while others commit.
#[test]
fn a_warning_at_the_beginning_is_none_of_a_commit() {
    const WRITERS: usize = 4;
    const ROUNDS: usize = 10;
    let mut options = Options::new(server_url());
    let name = format!("aged_{}", std::process::id());
    run_sql(&options, &format!("CREATE DATABASE {name}"));
    run_sql(
        &options,
        &format!("UPDATE pg_database SET datcollversion = '1.0' WHERE datname = '{name}'"),
    );
    let (server, _) = options.url.rsplit_once('/').unwrap();
    options.url = format!("{server}/{name}");
    options.allows_unsafe = true;
    for round in 0..ROUNDS {
        let store = PostgresStore::open(options.clone()).unwrap();
        thread::scope(|scope| {
            for writer in 0..WRITERS {
                let store = &store;
                scope.spawn(move || write(store, &format!("{round} {writer}")).unwrap());
            }
        });
    }
    let drop = format!("DROP DATABASE {name} WITH (FORCE)");
    run_sql(&Options::new(server_url()), &drop);
}

#[test]
fn missing_rights_are_named() {
    let schemas = Schemas::default();
    let options = schemas.options();
    let role = format!("guest_{}", options.schema);
    let _role = Role::create(&options, &role, "");
    let guest = as_user(&options, &role);
    assert_says(
        reach(guest.clone()),
        &["permission denied for database", "grant the role of loci"],
    );
    reach(options.clone()).unwrap();
    assert_says(
        reach(guest.clone()),
        &["permission denied for schema", "grant the role of loci"],
    );
    run_sql(
        &options,
        &format!(
            "GRANT USAGE ON SCHEMA {0} TO {role}; GRANT SELECT ON ALL TABLES IN SCHEMA {0} TO {role}",
            options.schema
        ),
    );
    let store = PostgresStore::open(guest).unwrap();
    assert_eq!(store.version(&filter().space), Ok(0));
    assert_says(
        write(&store, "a"),
        &["permission denied for table", "grant the role of loci"],
    );
}

#[test]
fn tables_of_another_version_are_named() {
    let schemas = Schemas::default();
    let options = schemas.options();
    let mut fixed = options.clone();
    fixed.migrates = false;
    assert_says(reach(fixed.clone()), &["has no tables", "`store_migrate`"]);
    reach(options.clone()).unwrap();
    run_sql(
        &options,
        "DELETE FROM @migration WHERE version > 1; UPDATE @migration SET version = 0",
    );
    assert_says(reach(fixed.clone()), &["version 0", "`store_migrate`"]);
    run_sql(&options, "UPDATE @migration SET version = 99");
    assert_eq!(
        reach(fixed.clone()),
        Ok(0),
        "a newer loci says that this one may use it"
    );
    run_sql(&options, "UPDATE @installation SET readable_from = 98");
    assert_says(
        reach(fixed),
        &["version 99", "newer loci", "install that loci"],
    );
    assert_says(
        reach(options),
        &["version 99", "newer loci", "install that loci"],
    );
}

#[test]
fn a_missing_table_is_named() {
    let schemas = Schemas::default();
    let options = schemas.options();
    let store = PostgresStore::open(options.clone()).unwrap();
    write(&store, "a").unwrap();
    run_sql(&options, "DROP TABLE @memory");
    let parts = ["memory\" does not exist", "`loci doctor`"];
    assert_says(store.list(&filter(), PAGE), &parts);
    assert_says(write(&store, "b"), &parts);
    run_sql(&options, &format!("DROP SCHEMA {} CASCADE", options.schema));
    assert_says(write(&store, "b"), &["does not exist", "`loci doctor`"]);
}

const PAGE: Page = Page {
    offset: 0,
    limit: 10_000,
};

#[test]
fn a_limit_of_connections_is_waited_for_and_named() {
    let schemas = Schemas::default();
    let options = schemas.options();
    reach(options.clone()).unwrap();
    let role = format!("few_{}", options.schema);
    let _role = Role::create(&options, &role, "CONNECTION LIMIT 3");
    run_sql(
        &options,
        &format!(
            "GRANT USAGE ON SCHEMA {0} TO {role}; GRANT ALL ON ALL TABLES IN SCHEMA {0} TO {role}",
            options.schema
        ),
    );
    let few = as_user(&options, &role);
    let store = PostgresStore::open(few.clone()).unwrap();
    // Four connections are allowed here, and the server allows three.
    thread::scope(|scope| {
        for writer in 0..8 {
            let store = &store;
            scope.spawn(move || {
                for number in 0..20 {
                    let id = format!("{writer} {number}");
                    write(store, &id).unwrap();
                    store.get(&filter().space, &memory(&id).id).unwrap();
                }
            });
        }
    });
    assert_eq!(store.version(&filter().space), Ok(160));
    drop(store);
    let idle: Vec<_> = (0..3).map(|_| Idle::connect(&few)).collect();
    assert_says(
        reach(few),
        &["too many connections for role", "`store_connections`"],
    );
    drop(idle);
}

/// Three processes go on while the server stops and starts again: each one writes, reads and looks up
/// tokens, and no call fails.
#[test]
fn a_restart_of_the_server_fails_no_call_and_does_none_twice() {
    const PROCESSES: usize = 3;
    let restarts = std::env::var("LOCI_TEST_RESTARTS").map_or(3, |told| told.parse().unwrap());
    let server = Server::start(&Setup {
        fsync: true,
        ..Setup::default()
    });
    let open = || PostgresStore::open(Options::new(&server.url)).unwrap();
    let stores: Vec<_> = (0..PROCESSES).map(|_| open()).collect();
    for store in &stores {
        // Only a server that has answered is waited for.
        store.version(&filter().space).unwrap();
    }
    let done: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];
    let restarted = AtomicUsize::new(0);
    // Longer ones, of a machine that is busy with something else, are not waited for.
    let longest = Mutex::new(Duration::ZERO);
    thread::scope(|scope| {
        for (number, store) in stores.iter().enumerate() {
            let call_each = |kind: usize, call: &dyn Fn(usize) -> Result<(), Error>| {
                let mut calls = 0;
                while restarted.load(Ordering::Relaxed) < restarts {
                    let begun = Instant::now();
                    match call(calls) {
                        Ok(()) => {
                            calls += 1;
                            done[kind].fetch_add(1, Ordering::Relaxed);
                        }
                        Err(error) => {
                            let waited = begun.elapsed();
                            assert!(error.is_unavailable(), "{error:?}");
                            let longest = || *longest.lock().unwrap();
                            let is_waited_for = waited > longest() && longest() < WAITED_FOR;
                            assert!(!is_waited_for, "{kind} after {waited:?}: {error}");
                        }
                    }
                }
            };
            let write = move |calls| write(store, &format!("{number} {calls}"));
            scope.spawn(move || call_each(0, &write));
            scope.spawn(move || call_each(1, &|_| store.version(&filter().space).map(drop)));
            scope.spawn(move || call_each(2, &|_| store.token_by_hash(&[7; 32]).map(drop)));
        }
        for restart in 0..restarts {
            let counts = || done.each_ref().map(|kind| kind.load(Ordering::Relaxed));
            let before = counts();
            let goes_on = || {
                counts()
                    .iter()
                    .zip(before)
                    .all(|(now, before)| *now > before + 20)
            };
            while !goes_on() {
                thread::yield_now();
            }
            let begun = Instant::now();
            server.restart(restart % 2 == 1);
            let mut longest = longest.lock().unwrap();
            *longest = begun.elapsed().max(*longest);
            restarted.fetch_add(1, Ordering::Relaxed);
        }
    });
    let store = &stores[0];
    let written = done[0].load(Ordering::Relaxed);
    let memories = store.list(&filter(), PAGE).unwrap();
    let ids: BTreeSet<_> = memories.iter().map(|memory: &Memory| &memory.id).collect();
    assert_eq!((memories.len(), ids.len()), (written, written));
    assert_eq!(store.version(&filter().space), Ok(written as u64));
    for number in 0..PROCESSES {
        let has = |call: usize| ids.contains(&memory(&format!("{number} {call}")).id);
        let own = (0..written).take_while(|call| has(*call)).count();
        let all = ids
            .iter()
            .filter(|id| id.as_str().starts_with(&format!("{number} ")));
        assert_eq!(own, all.count(), "a write of {number} is missing");
    }
}

/// A process that stopped, or whose machine is gone, while it held the lock of a space.
#[test]
fn a_silent_holder_of_the_lock_is_ended() {
    let schemas = Schemas::default();
    let options = schemas.options();
    let store = PostgresStore::open(options.clone()).unwrap();
    write(&store, "a").unwrap();
    let mut silent = Idle::connect(&options);
    silent.run(
        "BEGIN; SET LOCAL lock_timeout = '10s'; SET LOCAL idle_in_transaction_session_timeout = '5s'; \
         SET LOCAL loci.space = 'space:main'; SELECT 1 FROM @space WHERE space = 'main' FOR UPDATE",
    );
    let begin = Instant::now();
    let others = memory("b");
    assert!(
        store.get(&others.space, &others.id).unwrap().is_none(),
        "reads go on"
    );
    write(&store, "b").unwrap();
    let waited = begin.elapsed();
    assert!(
        waited > Duration::from_secs(3),
        "{waited:?}: nothing held the lock"
    );
    assert!(waited < Duration::from_secs(12), "{waited:?}");
}

#[test]
fn a_full_disk_refuses_writes_and_loses_none() {
    let Some(disk) = SmallDisk::mount() else {
        eprintln!("SKIPPED: only the superuser can mount a small disk, so none was filled");
        return;
    };
    let server = Server::start(&Setup::default());
    with_client(&server.url, async |client| {
        let small = disk.folder.path().display();
        let create = format!("CREATE TABLESPACE small LOCATION '{small}'");
        client.batch_execute(&create).await.unwrap();
        let choose = "ALTER DATABASE loci SET default_tablespace = small";
        client.batch_execute(choose).await.unwrap();
    });
    let mut options = Options::new(&server.url);
    options.allows_unsafe = true;
    let store = PostgresStore::open(options).unwrap();
    write(&store, "small").unwrap();
    let large = |number: usize| {
        // Text that no compression makes small.
        let mut random = Random::new(number as u64);
        let words: Vec<_> = (0..40_000).map(|_| random.bits().to_string()).collect();
        Memory {
            content: words.concat(),
            ..memory(&number.to_string())
        }
    };
    let mut stored = 0;
    let refused = loop {
        match store.commit(put(&large(stored), Vec::new())) {
            Ok(()) => stored += 1,
            Err(error) => break error,
        }
    };
    assert_says::<()>(Err(refused), &["No space left on device", "make room"]);
    assert_faulty(&store, StoreFault::DiskFull);
    assert_eq!(store.list(&filter(), PAGE).unwrap().len(), stored + 1);
    disk.grow();
    assert_eq!(store.check_writable(), Ok(()));
    store.commit(put(&large(stored), Vec::new())).unwrap();
    assert_eq!(store.version(&filter().space), Ok(stored as u64 + 2));
}

/// Fails unless a store reads, and says that this fault keeps it from its writes.
fn assert_faulty(store: &PostgresStore, fault: StoreFault) {
    store.version(&filter().space).unwrap();
    for _ in 0..2 {
        let error = store.check_writable().unwrap_err();
        assert_eq!(error.store_fault(), Some(fault), "{error}");
    }
}

/// The server says so, whatever its disk holds.
#[test]
fn a_refusal_of_every_write_is_noticed_until_a_write_succeeds() {
    // Distributed tables have no triggers.
    if has_cluster() {
        return;
    }
    for (state, fault) in [
        ("53100", StoreFault::DiskFull),
        ("25006", StoreFault::ReadOnly),
    ] {
        let schemas = Schemas::default();
        let options = schemas.options();
        let store = PostgresStore::open(options.clone()).unwrap();
        write(&store, "a").unwrap();
        assert_eq!(store.check_writable(), Ok(()));
        let tables = ["memory", "lease"];
        run_sql(
            &options,
            &format!(
                "CREATE FUNCTION @refuse() RETURNS trigger LANGUAGE plpgsql AS \
                 $$ BEGIN RAISE EXCEPTION 'as the test wants it' USING ERRCODE = '{state}'; END $$"
            ),
        );
        for table in tables {
            let sql = "CREATE TRIGGER refuse BEFORE INSERT ON @";
            run_sql(
                &options,
                &format!("{sql}{table} FOR EACH ROW EXECUTE FUNCTION @refuse()"),
            );
        }
        assert_eq!(store.check_writable(), Ok(()), "no write was refused yet");
        let refused = write(&store, "b").unwrap_err();
        assert_eq!(refused.store_fault(), Some(fault), "{refused}");
        assert_faulty(&store, fault);
        for table in tables {
            run_sql(&options, &format!("DROP TRIGGER refuse ON @{table}"));
        }
        let before = store.round_trips();
        assert_eq!(store.check_writable(), Ok(()));
        assert!(store.round_trips() > before);
        write(&store, "b").unwrap();
    }
}

#[test]
fn a_standby_is_noticed_before_a_write() {
    let server = Server::start(&Setup::default());
    let mut options = Options::new(&server.url);
    options.allows_unsafe = true;
    let store = PostgresStore::open(options.clone()).unwrap();
    write(&store, "a").unwrap();
    server.become_standby();
    assert_faulty(&store, StoreFault::ReadOnly);
    // A process that it never let write does not wait for it.
    let other = PostgresStore::open(options.clone()).unwrap();
    let refused = write(&other, "b").unwrap_err();
    assert_eq!(
        refused.store_fault(),
        Some(StoreFault::ReadOnly),
        "{refused}"
    );
    assert_faulty(&other, StoreFault::ReadOnly);
    thread::scope(|scope| {
        let before = store.round_trips();
        let waiting = scope.spawn(|| write(&store, "b"));
        // It tries again and again.
        while store.round_trips() < before + 5 {
            assert!(!waiting.is_finished(), "a failover may be under way");
            thread::yield_now();
        }
        server.become_primary();
        assert_eq!(waiting.join().unwrap(), Ok(()));
    });
    assert_eq!(store.check_writable(), Ok(()));
    write(&other, "c").unwrap();
    drop(server);
    let (begun, error) = (Instant::now(), store.check_writable().unwrap_err());
    assert_eq!(error.store_fault(), Some(StoreFault::Away), "{error}");
    assert!(begun.elapsed() < WAITED_FOR, "a load balancer waits");
    let error = PostgresStore::open(options).unwrap().check_writable();
    let error = error.unwrap_err();
    assert_eq!(error.store_fault(), Some(StoreFault::Away), "{error}");
}

/// A commit whose standby does not answer: its writer is told so, others are refused, reads go on, and
/// what was given up is stored once when the standby is back.
#[test]
fn a_standby_that_does_not_answer_stops_writes_alone() {
    let server = Server::start(&Setup::default());
    let mut options = Options::new(&server.url);
    options.allows_unsafe = true;
    options.commit_timeout = Duration::from_secs(2);
    options.connections_max = 4;
    let open = || PostgresStore::open(options.clone()).unwrap();
    let (store, other) = (open(), open());
    write(&store, "before").unwrap();
    write(&other, "before, too").unwrap();
    let wait_for = |standbys: &str| {
        with_client(&server.url, async |client| {
            let sql = format!("ALTER SYSTEM SET synchronous_standby_names = '{standbys}'");
            client.batch_execute(&sql).await.unwrap();
            client
                .batch_execute("SELECT pg_reload_conf()")
                .await
                .unwrap();
        });
    };
    let ids = || {
        let memories = store.list(&filter(), PAGE).unwrap().into_iter();
        memories
            .map(|memory| memory.id.as_str().to_owned())
            .collect::<Vec<_>>()
    };
    let before = ids();
    wait_for("nobody");
    // A process of the server takes the setting up at its leisure otherwise.
    server.restart(false);
    let both = ["one", "two"];
    let unknown: Vec<&str> = thread::scope(|scope| {
        let calls = both.map(|id| {
            let store = &store;
            scope.spawn(move || write(store, id))
        });
        let told = calls.map(|call| call.join().unwrap().unwrap_err().message);
        // They share a transaction, or the second one finds the first.
        let is_unknown = |told: &str| told.contains("look whether it is there");
        let those = both.into_iter().zip(told);
        let unknown = those.filter(|(_, told)| is_unknown(told));
        let unknown = unknown.map(|(id, _)| id).collect();
        // As many other spaces as there are connections.
        let elsewhere: Vec<_> = (0..4)
            .map(|number| {
                let store = &store;
                scope.spawn(move || {
                    let mut memory = memory(&format!("elsewhere {number}"));
                    memory.space = Space::parse("space", &format!("s{number}")).unwrap();
                    store.commit(put(&memory, Vec::new()))
                })
            })
            .collect();
        for call in elsewhere {
            let error = call.join().unwrap().unwrap_err();
            assert!(error.is_unavailable(), "{error:?}");
        }
        unknown
    });
    assert!(!unknown.is_empty());
    assert_eq!(ids(), before);
    assert_says(
        write(&store, "later"),
        &["nothing of this one is stored", "standby"],
    );
    assert_says(write(&other, "there"), &["try again"]);
    let standbys = finding(&other, "standbys");
    assert!(standbys.text.contains("nobody"), "{standbys:?}");
    wait_for("");
    let begun = Instant::now();
    let mut expected: Vec<String> = before;
    expected.extend(unknown.iter().map(|id| (*id).to_owned()));
    expected.sort();
    let sorted = || {
        let mut ids = ids();
        ids.sort();
        ids
    };
    while sorted() != expected {
        assert!(begun.elapsed() < Duration::from_mins(1), "{:?}", sorted());
        thread::yield_now();
    }
    for id in unknown {
        let error = write(&store, id).unwrap_err();
        assert_eq!(error.code, ErrorCode::Conflict, "{error}");
    }
    write(&store, "later").unwrap();
}

/// A transaction says that it writes, which counts more than what is usual for its role.
#[test]
fn a_role_that_reads_by_default_writes_all_the_same() {
    let schemas = Schemas::default();
    let options = schemas.options();
    reach(options.clone()).unwrap();
    let role = format!("timid_{}", options.schema);
    let _role = Role::create(&options, &role, "");
    run_sql(
        &options,
        &format!(
            "ALTER ROLE {role} SET default_transaction_read_only = on; GRANT USAGE ON SCHEMA {0} TO {role}; \
             GRANT ALL ON ALL TABLES IN SCHEMA {0} TO {role}",
            options.schema
        ),
    );
    let store = PostgresStore::open(as_user(&options, &role)).unwrap();
    assert_eq!(store.check_writable(), Ok(()));
    write(&store, "a").unwrap();
}

/// A role of the server, which is removed when this value is dropped.
pub(crate) struct Role<'a> {
    options: &'a Options,
    name: &'a str,
}

impl<'a> Role<'a> {
    pub(crate) fn create(options: &'a Options, name: &'a str, rights: &str) -> Self {
        run_sql(options, &format!("CREATE ROLE {name} LOGIN {rights}"));
        Role { options, name }
    }
}

impl Drop for Role<'_> {
    fn drop(&mut self) {
        let name = self.name;
        run_sql(
            self.options,
            &format!("DROP OWNED BY {name}; DROP ROLE {name}"),
        );
    }
}

/// A connection of its own that does nothing by itself.
struct Idle {
    runtime: tokio::runtime::Runtime,
    client: tokio_postgres::Client,
    schema: String,
}

impl Idle {
    fn connect(options: &Options) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let connect = || runtime.block_on(tokio_postgres::connect(&options.url, NoTls));
        let begin = Instant::now();
        let (client, connection) = loop {
            match connect() {
                Ok(connected) => break connected,
                // Connections that were closed here take a moment to end there.
                Err(error) => assert!(begin.elapsed() < Duration::from_secs(10), "{error:?}"),
            }
        };
        runtime.spawn(connection);
        Idle {
            runtime,
            client,
            schema: options.schema.clone(),
        }
    }

    fn run(&mut self, sql: &str) {
        let sql = sql.replace('@', &format!("{}.", self.schema));
        self.runtime
            .block_on(self.client.batch_execute(&sql))
            .unwrap();
    }
}

/// A small file system in memory, which belongs to the user of the server.
struct SmallDisk {
    folder: tempfile::TempDir,
}

impl SmallDisk {
    fn mount() -> Option<Self> {
        const OPTIONS: &str = "size=16m,mode=700,uid=postgres,gid=postgres";
        let folder = tempfile::Builder::new()
            .prefix("loci-small-disk-")
            .tempdir_in("/tmp")
            .unwrap();
        let disk = SmallDisk { folder };
        disk.call("mount", &["-t", "tmpfs", "-o", OPTIONS, "tmpfs"])
            .then_some(disk)
    }

    fn grow(&self) {
        assert!(self.call("mount", &["-o", "remount,size=128m"]));
    }

    fn call(&self, program: &str, arguments: &[&str]) -> bool {
        let folder: &Path = self.folder.path();
        let output = Command::new(program).args(arguments).arg(folder).output();
        output.is_ok_and(|output| output.status.success())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        self.call("umount", &[]);
    }
}
