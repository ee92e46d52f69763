//! One process at a time changes the tables, beside processes of earlier versions as well.

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use loci_core::{Maintenance, Store};
use loci_store_postgres::{PostgresStore, SCHEMA_VERSION};
use loci_testkit::contract::{filter, memory, passage, put};
use loci_testkit::postgres::{has_cluster, server_url, server_variable};
use tokio_postgres::Client;

use crate::lint::{migrations, qualify};
use crate::{Schemas, run_sql, with_client};

/// The variable with the schema that the other processes open.
const SCHEMA_VARIABLE: &str = "LOCI_TEST_OPENED_SCHEMA";
/// The variable with the id of the memory that each stores.
const ID_VARIABLE: &str = "LOCI_TEST_OPENED_ID";
const PROCESSES: usize = 12;
const ROUNDS: usize = 3;

/// The version of the tables of the last loci that knows the advisory lock alone, and that lock.
const EARLIER: i64 = 14;
const ADVISORY: i64 = 0x6c6f_6369;

/// The longest that a state is waited for.
const WAIT_MAX: Duration = Duration::from_secs(30);

fn start(schema: &str, id: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "migrations::a_process_that_opens", "--nocapture"])
        .env(server_variable(), server_url())
        .env(SCHEMA_VARIABLE, schema)
        .env(ID_VARIABLE, id.to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn many_processes_open_an_empty_schema_at_once() {
    let schemas = Schemas::default();
    for _ in 0..ROUNDS {
        let options = schemas.options();
        let processes: Vec<_> = (0..PROCESSES)
            .map(|id| start(&options.schema, id))
            .collect();
        for mut process in processes {
            assert!(process.wait().unwrap().success());
        }
        let store = PostgresStore::open(options.clone()).unwrap();
        assert_eq!(store.version(&filter().space), Ok(PROCESSES as u64));
        assert_eq!(store.structure_check(), Ok(Vec::new()));
        let sql = "SELECT count(*), max(version) FROM @migration";
        with_client(server_url(), async |client| {
            let row = client.query_one(&qualify(sql, &options.schema), &[]).await;
            let row = row.unwrap();
            let counts: (i64, i64) = (row.get(0), row.get(1));
            assert_eq!(counts, (SCHEMA_VERSION, SCHEMA_VERSION));
        });
    }
}

/// The work of the other processes: no test unless the first process asks for it.
#[test]
fn a_process_that_opens() {
    let Ok(schema) = std::env::var(SCHEMA_VARIABLE) else {
        return;
    };
    let schemas = Schemas::default();
    let mut options = schemas.options();
    options.schema = schema;
    // The schema is the first process's.
    schemas.0.lock().unwrap().clear();
    let store = PostgresStore::open(options).unwrap();
    let memory = memory(&std::env::var(ID_VARIABLE).unwrap());
    store.commit(put(&memory, vec![passage("word")])).unwrap();
}

/// Waits until a query finds something.
async fn wait_for(client: &Client, sql: &str) {
    let begin = Instant::now();
    while client.query(sql, &[]).await.unwrap().is_empty() {
        assert!(begin.elapsed() < WAIT_MAX, "{sql}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Returns the statements by which a process of a version made the tables of an empty schema.
pub(crate) fn made_by(version: i64, schema: &str) -> String {
    let mut sql = format!(
        "CREATE SCHEMA {schema}; CREATE TABLE IF NOT EXISTS @migration (space text COLLATE \"C\" NOT NULL, \
         version bigint NOT NULL, PRIMARY KEY (space, version));"
    );
    for (number, migration) in migrations().range(..=version) {
        sql += migration;
        sql += &format!("INSERT INTO @migration (space, version) VALUES ('', {number});");
    }
    sql + "INSERT INTO @installation VALUES ('', decode(repeat('00', 32), 'hex'), 1); \
        INSERT INTO @space (space, analysis) VALUES ('', 1)"
}

/// Returns the columns, constraints, indexes and policies of a store.
pub(crate) async fn definitions(client: &Client, schema: &str) -> Vec<String> {
    let sql = "SELECT concat_ws(' ', 'column', c.relname, attname, format_type(atttypid, atttypmod), attnotnull, \
            attstorage, attcollation) FROM pg_attribute JOIN pg_class AS c ON c.oid = attrelid \
            WHERE relnamespace = to_regnamespace($1) AND relkind = 'r' AND attnum > 0 AND NOT attisdropped \
        UNION ALL SELECT concat_ws(' ', 'constraint', conrelid::regclass, conname, pg_get_constraintdef(oid)) \
            FROM pg_constraint WHERE connamespace = to_regnamespace($1) \
        UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = $1 \
        UNION ALL SELECT concat_ws(' ', 'policy', tablename, policyname, qual, with_check) \
            FROM pg_policies WHERE schemaname = $1 ORDER BY 1";
    let rows = client.query(sql, &[&schema]).await.unwrap();
    let names = rows.iter().map(|row| row.get::<_, String>(0));
    names
        .map(|name| name.replace(&format!("{schema}."), ""))
        .collect()
}

#[test]
fn a_store_of_any_version_becomes_as_a_new_one() {
    let schemas = Schemas::default();
    let new = schemas.options();
    PostgresStore::open(new.clone()).unwrap().secret().unwrap();
    for version in 1..SCHEMA_VERSION {
        let options = schemas.options();
        with_client(&options.url, async |client| {
            let sql = made_by(version, &options.schema);
            let sql = qualify(&sql, &options.schema);
            client.batch_execute(&sql).await.unwrap();
        });
        let store = PostgresStore::open(options.clone()).unwrap();
        let memory = memory("first");
        store.commit(put(&memory, vec![passage("word")])).unwrap();
        with_client(server_url(), async |client| {
            let made = definitions(client, &new.schema).await;
            assert!(made.len() > 300, "{} definitions", made.len());
            let upgraded = definitions(client, &options.schema).await;
            assert_eq!(upgraded, made, "from version {version}");
        });
    }
}

/// A process of version 14 makes the tables of an empty schema while one of this version comes.
#[test]
fn a_process_of_before_is_waited_for() {
    // Such a process distributes nothing.
    if has_cluster() {
        return;
    }
    let schemas = Schemas::default();
    let options = schemas.options();
    let schema = &options.schema;
    let mut opening = None;
    with_client(&options.url, async |client| {
        let lock = format!("BEGIN; SELECT pg_advisory_xact_lock({ADVISORY})");
        client.batch_execute(&lock).await.unwrap();
        let process = start(schema, 1);
        opening = Some(process);
        let waits = format!(
            "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = {ADVISORY}"
        );
        wait_for(client, &waits).await;
        let sql = made_by(EARLIER, schema);
        client.batch_execute(&qualify(&sql, schema)).await.unwrap();
        client.batch_execute("COMMIT").await.unwrap();
    });
    assert!(opening.unwrap().wait().unwrap().success());
    let store = PostgresStore::open(options.clone()).unwrap();
    assert_eq!(store.version(&filter().space), Ok(1));
    // Statistics, which a migration of then left out as well.
    store.repair().unwrap();
    assert_eq!(store.structure_check(), Ok(Vec::new()));
}

/// While this version changes the tables, neither way leads in.
#[test]
fn a_process_of_before_waits() {
    // Such a process distributes nothing.
    if has_cluster() {
        return;
    }
    let schemas = Schemas::default();
    let options = schemas.options();
    let store = PostgresStore::open(options.clone()).unwrap();
    store.secret().unwrap();
    run_sql(
        &options,
        &format!("DELETE FROM @migration WHERE version > {EARLIER}"),
    );
    with_client(server_url(), async |client| {
        let schema = &options.schema;
        // The migration waits for a reader of a table, and has the lock.
        let read = qualify("BEGIN; LOCK TABLE @fact IN ACCESS SHARE MODE", schema);
        client.batch_execute(&read).await.unwrap();
        let migrating = {
            let options = options.clone();
            thread::spawn(move || PostgresStore::open(options).unwrap().secret().unwrap())
        };
        let waits = qualify(
            "SELECT 1 FROM pg_locks WHERE relation = '@fact'::regclass AND NOT granted",
            schema,
        );
        wait_for(client, &waits).await;
        let sql = format!("SELECT pg_try_advisory_xact_lock({ADVISORY})");
        let row = client.query_one(&sql, &[]).await.unwrap();
        assert!(!row.get::<_, bool>(0), "a process of before gets in");
        let row = qualify(
            "SELECT 1 FROM @migration_lock FOR UPDATE SKIP LOCKED",
            schema,
        );
        let free = client.query(&row, &[]).await.unwrap();
        assert!(free.is_empty(), "another process gets in");
        client.batch_execute("COMMIT").await.unwrap();
        migrating.join().unwrap();
        let free = client.query(&row, &[]).await.unwrap();
        assert_eq!(free.len(), 1, "the lock ends with the migration");
    });
}
