//! Tests of the store on a real server.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

mod citus;
mod cluster;
mod contract;
mod encryption;
mod faults;
mod lint;
mod maintenance;
mod migrations;
mod pooler;
mod processes;
mod row_security;
mod seeds;
mod trips;
mod workers;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use loci_core::{Maintenance, ServerCheck, Timestamp};
use loci_store_postgres::{Options, PostgresStore};
use loci_testkit::contract::{PROMISES, Subject, agrees_with_the_naive_store, keep};
use loci_testkit::postgres::{chosen, has_cluster, server_url};

/// The schemas of a test, which are removed at its end.
#[derive(Debug, Default)]
struct Schemas(Mutex<Vec<String>>);

impl Schemas {
    /// Returns the options of a store in a new schema.
    fn options(&self) -> Options {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let (url, row_security) = chosen(server_url());
        let mut options = Options::new(url);
        options.row_security = row_security;
        options.schema = format!(
            "test_{}_{}",
            std::process::id(),
            NUMBER.fetch_add(1, Ordering::Relaxed)
        );
        options.allows_unsafe = true;
        options.connections_max = 4;
        self.0.lock().unwrap().push(options.schema.clone());
        options
    }

    /// Returns a new store.
    fn open(&self) -> PostgresStore {
        PostgresStore::open(self.options()).unwrap()
    }
}

impl Drop for Schemas {
    fn drop(&mut self) {
        let schemas = self.0.get_mut().unwrap();
        for schema in schemas.drain(..) {
            let mut options = Options::new(server_url());
            options.schema = schema;
            PostgresStore::open(options).unwrap().destroy().unwrap();
        }
    }
}

/// Checks the promises of every store. Of the model check, it does fewer steps; one promise that
/// takes more time than all others is left out, since the same statements keep another one.
fn keep_most_promises(open: &(dyn Fn() -> PostgresStore + Sync)) {
    const LEFT_OUT: &str = "the_oldest_of_too_many_answers_make_room";
    const STEPS: usize = 25;
    const THREADS: usize = 4;
    let model = Subject::ALL.map(|subject| (subject.promise(), Some(subject)));
    let promises = PROMISES.iter().map(|(name, _)| (*name, None));
    let is_kept = |name: &str| *name != *LEFT_OUT && model.iter().all(|(other, _)| name != *other);
    let promises = promises.filter(|(name, _)| is_kept(name));
    let left = Mutex::new(model.into_iter().chain(promises));
    let next = || left.lock().unwrap().next();
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some((name, subject)) = next() {
                    match subject {
                        Some(subject) => agrees_with_the_naive_store(&open(), subject, 1, STEPS),
                        None => keep(name, &|| Box::new(open())),
                    }
                }
            });
        }
    });
}

/// Returns what the doctor finds about a subject of the server.
fn finding(store: &PostgresStore, subject: &str) -> ServerCheck {
    let mut found = None;
    store.server_checks(Timestamp::from_microseconds(0), &mut |check| {
        if check.subject == subject {
            found = Some(check);
        }
    });
    found.unwrap()
}

/// Runs statements in the schema of a store, which `@` stands for.
fn run_sql(options: &Options, sql: &str) {
    let sql = sql.replace('@', &format!("{}.", options.schema));
    // Citus takes one statement of a message. A message is one transaction.
    let statements = sql.split(';').filter(|sql| !sql.trim().is_empty());
    let mut messages: Vec<&str> = statements.collect();
    if has_cluster() && messages.len() > 1 && !sql.contains("$$") {
        messages.insert(0, "BEGIN");
        messages.push("COMMIT");
    } else {
        messages = vec![&sql];
    }
    with_client(server_url(), async |client| {
        for message in messages {
            client.batch_execute(message).await.unwrap();
        }
    });
}

/// Returns options whose connections have a name of their own at the server, and that name.
fn named(mut options: Options) -> (Options, String) {
    let name = format!("loci_{}", options.schema);
    options.url = format!("{}?application_name={name}", options.url);
    (options, name)
}

/// Does some work while all connections with a name are ended again and again. The work counts each
/// step that it has done. Each cut without a step since the last one doubles the pause before the
/// next, so that a slow machine gets on, too.
fn while_connections_are_cut(name: &str, work: impl FnOnce(&AtomicU64)) {
    const PAUSE_MIN: Duration = Duration::from_millis(20);
    const CUT: &str =
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1";
    let (stop, is_stopped) = tokio::sync::oneshot::channel::<()>();
    let steps = AtomicU64::new(0);
    thread::scope(|scope| {
        let steps = &steps;
        scope.spawn(move || {
            with_client(server_url(), async move |client| {
                let mut is_stopped = is_stopped;
                let (mut pause, mut seen) = (PAUSE_MIN, 0);
                loop {
                    tokio::select! {
                        _ = &mut is_stopped => break,
                        () = tokio::time::sleep(pause) => client.execute(CUT, &[&name]).await.unwrap(),
                    };
                    let done = steps.load(Ordering::Relaxed);
                    pause = if done == seen { pause * 2 } else { PAUSE_MIN };
                    seen = done;
                }
            });
        });
        // A panic ends the other thread, too.
        let _stop = stop;
        work(steps);
    });
}

/// Works with a connection of its own to the server at a URL.
fn with_client<T>(url: &str, work: impl AsyncFnOnce(&tokio_postgres::Client) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let connected = tokio_postgres::connect(url, tokio_postgres::NoTls).await;
        let (client, connection) = connected.unwrap();
        let driving = tokio::spawn(connection);
        let outcome = work(&client).await;
        drop(client);
        driving.await.unwrap().unwrap();
        outcome
    })
}
