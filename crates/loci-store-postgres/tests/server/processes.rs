//! Two processes that use one space: each finds at once what the other stored.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use loci_core::{CandidateQuery, Store};
use loci_store_postgres::PostgresStore;
use loci_testkit::contract::{filter, memory, passage, put};
use loci_testkit::postgres::{chosen, server_url, server_variable};

use crate::{Schemas, with_client};

/// The variable with the schema in which the other process works.
const SCHEMA_VARIABLE: &str = "LOCI_TEST_SCHEMA";
/// The beginning of each line of the other process, among the lines of the test program.
const MARK: &str = "stored ";
const ROUNDS: usize = 100;

/// The other process. It ends when this value is dropped.
struct Other {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
}

impl Other {
    fn start(schema: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "processes::the_other_process", "--nocapture"])
            .env(server_variable(), server_url())
            .env(SCHEMA_VARIABLE, schema)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        Other {
            input: child.stdin.take(),
            child,
            output,
        }
    }

    /// Tells it how many memories are stored, beside the ones that are being stored.
    fn tell(&mut self, stored: usize) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{stored}").unwrap();
        input.flush().unwrap();
    }

    /// Waits until it has found and stored a memory.
    fn wait(&mut self) {
        let stored = |line: std::io::Result<String>| line.unwrap().contains(MARK);
        assert!(self.output.any(stored), "the other process failed");
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

/// Returns how many memories a search finds.
fn found(store: &PostgresStore) -> usize {
    let (filter, words) = (filter(), ["word".to_owned()]);
    let query = CandidateQuery {
        terms: &words,
        ..CandidateQuery::of(&filter, 10 * ROUNDS)
    };
    store.candidates(&query).unwrap().hits.len()
}

fn store_one(store: &PostgresStore, name: &str, round: usize) {
    let memory = memory(&format!("{name} {round}"));
    store.commit(put(&memory, vec![passage("word")])).unwrap();
}

#[test]
fn each_of_two_processes_finds_at_once_what_the_other_stored() {
    let schemas = Schemas::default();
    let options = schemas.options();
    let store = PostgresStore::open(options.clone()).unwrap();
    let mut other = Other::start(&options.schema);
    let mut stored = 0;
    for round in 0..ROUNDS {
        other.tell(stored);
        // At the same time as the other process.
        store_one(&store, "one", round);
        other.wait();
        stored += 2;
        assert_eq!(found(&store), stored, "in round {round}");
    }
    drop(other);
    assert_eq!(store.version(&filter().space), Ok(stored as u64));
    let stored = stored as i64;
    with_client(server_url(), async |client| {
        for (table, number) in [("change", "number"), ("memory", "row")] {
            let sql = format!(
                "SELECT count(*), min({number}), max({number}) FROM {}.{table} WHERE space = 'main'",
                options.schema
            );
            let row = client.query_one(&sql, &[]).await.unwrap();
            let numbers: [i64; 3] = [row.get(0), row.get(1), row.get(2)];
            assert_eq!(numbers, [stored, 1, stored], "{table} has gaps");
        }
    });
}

/// The work of the other process: no test unless the first process asks for it.
#[test]
fn the_other_process() {
    let Ok(schema) = std::env::var(SCHEMA_VARIABLE) else {
        return;
    };
    // It finds out by itself whether the tables keep the spaces apart.
    let mut options = loci_store_postgres::Options::new(chosen(server_url()).0);
    options.schema = schema;
    options.allows_unsafe = true;
    let store = PostgresStore::open(options).unwrap();
    for (round, line) in std::io::stdin().lines().enumerate() {
        let stored: usize = line.unwrap().parse().unwrap();
        let found = found(&store);
        // The first process may have stored one more by now.
        assert!(
            (stored..=stored + 1).contains(&found),
            "{found} of {stored} in round {round}"
        );
        store_one(&store, "other", round);
        println!("{MARK}{round}");
    }
}
