//! What the workers of a cluster are told, which `LOCI_TEST_CITUS` names; no test without it.

use loci_core::{NoteStore, Store};
use loci_store_postgres::{Options, PostgresStore};
use loci_testkit::contract::{memory, put};
use loci_testkit::postgres::{has_cluster, server_url};
use tokio_postgres::Client;

use crate::{Schemas, with_client};

/// Returns the URL of the worker that has the rows of a space in a table, and the table that they lie in
/// there.
fn shard_of(options: &Options, table: &str, space: &str) -> (String, String) {
    let sql = "SELECT nodename, nodeport, shard_name FROM citus_shards WHERE table_name = to_regclass($1) \
        AND shardid = get_shard_id_for_distribution_column(to_regclass($1), $2::text)";
    let table = format!("{}.{table}", options.schema);
    with_client(server_url(), async |client| {
        let row = client.query_one(sql, &[&table, &space]).await.unwrap();
        let (host, port, shard): (String, i32, String) = (row.get(0), row.get(1), row.get(2));
        (format!("postgres://loci@{host}:{port}/loci"), shard)
    })
}

/// Makes a worker note which settings hold where a row of a shard is inserted.
async fn note_settings(client: &Client, schema: &str, shard: &str) {
    let statements = [
        "SET citus.enable_manual_changes_to_shards = on".to_owned(),
        "SET citus.enable_ddl_propagation = off".to_owned(),
        format!("CREATE TABLE {schema}.noted (id text, commits text, waits text)"),
        format!(
            "CREATE FUNCTION {schema}.note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN \
             INSERT INTO {schema}.noted VALUES (NEW.id, current_setting('synchronous_commit'), \
             current_setting('lock_timeout')); RETURN NULL; END $$"
        ),
        format!(
            "CREATE TRIGGER note AFTER INSERT ON {shard} FOR EACH ROW EXECUTE FUNCTION {schema}.note()"
        ),
    ];
    for sql in statements {
        client.batch_execute(&sql).await.unwrap();
    }
}

/// What can be rebuilt waits for no disk, on the worker neither; everything else does.
#[test]
fn the_settings_of_a_transaction_reach_the_worker() {
    if !has_cluster() {
        return;
    }
    let schemas = Schemas::default();
    let options = schemas.options();
    let store = PostgresStore::open(options.clone()).unwrap();
    store.commit(put(&memory("first"), Vec::new())).unwrap();
    let (url, shard) = shard_of(&options, "memory", "main");
    with_client(&url, async |client| {
        note_settings(client, &options.schema, &shard).await;
    });
    store
        .commit_rebuildable(put(&memory("a"), Vec::new()))
        .unwrap();
    store.commit(put(&memory("b"), Vec::new())).unwrap();
    store
        .commit_rebuildable(put(&memory("c"), Vec::new()))
        .unwrap();
    with_client(&url, async |client| {
        let sql = format!(
            "SELECT concat_ws(' ', id, commits, waits) FROM {}.noted ORDER BY id",
            options.schema
        );
        let rows = client.query(&sql, &[]).await.unwrap();
        let noted: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        assert_eq!(noted, ["a off 10s", "b on 10s", "c off 10s"]);
    });
}
