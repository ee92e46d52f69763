//! A store on a cluster with Citus, which `LOCI_TEST_CITUS` names; no test without it.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use loci_core::{Maintenance, Memory, Scope, Scopes, Space, Store, Timestamp, Token, TokenStore};
use loci_store_postgres::{Options, PostgresStore, SCHEMA_VERSION};
use loci_testkit::contract::{filter, memory, passage, put};
use loci_testkit::postgres::{has_cluster, server_url};
use tokio_postgres::Client;

use crate::lint::qualify;
use crate::migrations::{definitions, made_by};
use crate::{Schemas, run_sql, with_client};

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

fn in_space(name: &str, id: &str) -> Memory {
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

/// What belongs to the whole store touches no worker, so that the death of none concerns it.
#[test]
fn tokens_and_leases_lie_on_the_coordinator() {
    if !has_cluster() {
        return;
    }
    let schemas = Schemas::default();
    let mut options = schemas.options();
    let sent = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let seen = std::sync::Arc::clone(&sent);
    options.observer = Some(std::sync::Arc::new(move |sql: &str, _: &[&str]| {
        seen.lock().unwrap().insert(sql.to_owned());
    }));
    let store = PostgresStore::open(options.clone()).unwrap();
    store.secret().unwrap();
    sent.lock().unwrap().clear();
    let at = Timestamp::from_microseconds(1_000_000);
    let token = Token {
        id: "a".to_owned(),
        hash: [1; 32],
        space: Space::parse("space", "main").unwrap(),
        subject: "ann".to_owned(),
        scopes: Scopes::of(&[Scope::Read]),
        created_at: at,
        expires_at: None,
        revoked_at: None,
        grant: None,
    };
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
