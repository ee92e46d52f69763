//! What the workers of a cluster are told, which `LOCI_TEST_CITUS` names; no test without it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use loci_core::{
    ErrorCode, Filter, Maintenance, MemoryId, NoteStore, Placement, Space, Store, Transfer,
};
use loci_store_postgres::{Options, PostgresStore};
use loci_testkit::contract::{filter, memory, passage, put};
use loci_testkit::postgres::{has_cluster, has_row_security, server_url};
use tokio_postgres::Client;

use crate::cluster::{Stop, in_space, pause, write_on};
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

/// Returns the number of connections of a name that a server has from clients.
fn connections(url: &str, name: &str) -> i64 {
    with_client(url, async |client| {
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1";
        client.query_one(sql, &[&name]).await.unwrap().get(0)
    })
}

/// Returns the options of a process that the server knows under a name.
fn named(options: &Options, name: &str) -> Options {
    let sign = if options.url.contains('?') { '&' } else { '?' };
    Options {
        url: format!("{}{sign}application_name={name}", options.url),
        ..options.clone()
    }
}

#[test]
fn a_space_is_asked_at_its_worker() {
    if !has_cluster() {
        return;
    }
    let schemas = Schemas::default();
    let options = schemas.options();
    let store = PostgresStore::open(options.clone()).unwrap();
    store.commit(put(&memory("first"), Vec::new())).unwrap();
    let (url, _) = shard_of(&options, "space", "main");
    for (name, reaches_worker) in [("by_itself", true), ("through", false)] {
        let name = format!("{name}_{}", options.schema);
        let store = PostgresStore::open(Options {
            connects_to_workers: reaches_worker,
            ..named(&options, &name)
        });
        let store = store.unwrap();
        store.commit(put(&memory(&name), Vec::new())).unwrap();
        let ids = [MemoryId::new("first"), MemoryId::new(name.as_str())];
        assert_eq!(store.get_all(&filter(), &ids).unwrap().len(), 2);
        assert_eq!(
            connections(&url, &name),
            i64::from(reaches_worker),
            "{name}"
        );
        assert!(connections(server_url(), &name) > 0, "{name}");
    }
}

/// The spaces that write while others move, and the time for which they do so before and after.
const SPACES: usize = 6;
const AROUND: Duration = Duration::from_secs(1);

/// Isolates a space and sends it to each worker, while clients write in it and in others: through the
/// coordinator, and at the workers.
#[test]
fn spaces_move_while_clients_write() {
    if !has_cluster() {
        return;
    }
    let schemas = Schemas::default();
    let options = schemas.options();
    let through = PostgresStore::open(Options {
        connects_to_workers: false,
        ..options.clone()
    });
    // Citus copies rows as the role that asks for it, which row security may not bind.
    let admin = PostgresStore::open(Options {
        url: server_url().to_owned(),
        ..options.clone()
    });
    let admin = admin.unwrap();
    let stores = [PostgresStore::open(options).unwrap(), through.unwrap()];
    let names: Vec<String> = (0..SPACES).map(|number| format!("s{number}")).collect();
    for name in &names {
        let first = put(&in_space(name, "first"), vec![passage("word")]);
        stores[0].commit(first).unwrap();
    }
    let space = Space::parse("space", "s0").unwrap();
    let before = admin.placement(&space).unwrap();
    assert!(!before.is_alone && before.bytes > 0, "{before:?}");
    let is_over = AtomicBool::new(false);
    let (told, after) = thread::scope(|scope| {
        let (stores, is_over) = (&stores, &is_over);
        let pairs = stores.iter().enumerate().flat_map(|(number, store)| {
            names.iter().map(move |name| (number, store, name.as_str()))
        });
        let writing: Vec<_> = pairs
            .map(|(number, store, name)| {
                (
                    name,
                    scope.spawn(move || write_on(store, name, &format!("{number}"), is_over)),
                )
            })
            .collect();
        let _stop = Stop(is_over);
        pause(AROUND);
        if has_row_security() {
            let refused = stores[0].isolate(&space).unwrap_err();
            assert!(refused.message.contains("BYPASSRLS"), "{refused}");
        }
        let mut after = admin.isolate(&space).unwrap();
        assert!(after.is_alone && after.worker == before.worker, "{after:?}");
        let again = admin.isolate(&space).unwrap();
        assert_eq!(again.shard, after.shard);
        let online = if has_row_security() {
            let refused = admin.move_space(&space, &before.workers[0], Transfer::Online);
            let moved = refused.map_err(|error| error.message);
            assert!(
                after.worker == before.workers[0]
                    || moved.is_err_and(|text| text.contains("--block-writes"))
            );
            Transfer::Blocking
        } else {
            Transfer::Online
        };
        for (worker, transfer) in before
            .workers
            .iter()
            .zip([online, Transfer::Blocking, online])
        {
            pause(AROUND);
            let begin = Instant::now();
            after = admin.move_space(&space, worker, transfer).unwrap();
            eprintln!("to {worker} {transfer:?}: {:?}", begin.elapsed());
            assert_eq!(&after.worker, worker);
        }
        pause(AROUND);
        is_over.store(true, Ordering::Relaxed);
        let told: Vec<_> = writing
            .into_iter()
            .map(|(name, each)| (name, each.join().unwrap()))
            .collect();
        (told, after)
    });
    assert!(after.is_alone && Some(&after.worker) == before.workers.last());
    for (name, told) in &told {
        eprintln!(
            "{name}: {} stored, slowest {:?}",
            told.stored.len(),
            told.slowest
        );
        assert!(
            told.refused.is_empty() && told.stored.len() > 10,
            "{:?}",
            told.refused
        );
        let filter = Filter {
            space: Space::parse("space", name).unwrap(),
            ..filter()
        };
        for ids in told.stored.chunks(100) {
            let ids: Vec<_> = ids.iter().map(|id| MemoryId::new(id.as_str())).collect();
            for store in &stores {
                assert_eq!(store.get_all(&filter, &ids).unwrap().len(), ids.len());
            }
        }
    }
    assert_eq!(stores[0].structure_check(), Ok(Vec::new()));
}

#[test]
fn a_space_moves_only_where_one_may_lie() {
    let schemas = Schemas::default();
    let store = PostgresStore::open(schemas.options()).unwrap();
    store.commit(put(&memory("first"), Vec::new())).unwrap();
    let main = Space::parse("space", "main").unwrap();
    if !has_cluster() {
        let refused = store.placement(&main).unwrap_err();
        assert_eq!(refused.argument.as_deref(), Some("store"), "{refused}");
        assert_eq!(store.isolate(&main), Err(refused.clone()));
        let moved = store.move_space(&main, "127.0.0.1:1", Transfer::Online);
        assert_eq!(moved, Err(refused));
        return;
    }
    let Placement { worker, .. } = store.placement(&main).unwrap();
    let stays = store.move_space(&main, &worker, Transfer::Online).unwrap();
    assert_eq!(stays.worker, worker);
    for unknown in ["", "nowhere:5432", "127.0.0.1", "127.0.0.1:1; DROP TABLE x"] {
        let refused = store
            .move_space(&main, unknown, Transfer::Online)
            .unwrap_err();
        assert_eq!(refused.argument.as_deref(), Some("WORKER"), "{refused}");
        assert!(refused.message.contains(&worker), "{refused}");
    }
    let none = Space::parse("space", "none").unwrap();
    let refused = store.placement(&none).unwrap_err();
    assert_eq!(refused.code, ErrorCode::NotFound, "{refused}");
}
