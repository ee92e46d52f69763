//! The promises of every store, by way of a pooler that gives each transaction another connection.

use loci_core::Store;
use loci_store_postgres::{Options, PostgresStore};
use loci_testkit::contract::{filter, memory, put};
use loci_testkit::postgres::{Pooler, Server, Setup, has_row_security};

use crate::{Schemas, finding, keep_most_promises};

#[test]
fn the_promises_hold_behind_a_pooler() {
    let server = Server::start(&Setup::default());
    let Some(pooler) = Pooler::start(&server, 16) else {
        panic!("PgBouncer is missing: run scripts/setup first");
    };
    // They go with the server.
    let schemas = Schemas::default();
    keep_most_promises(&|| {
        let options = Options {
            url: if has_row_security() {
                pooler.plain_url.clone()
            } else {
                pooler.url.clone()
            },
            ..schemas.options()
        };
        PostgresStore::open(options).unwrap()
    });
    schemas.0.lock().unwrap().clear();
}

/// Statements with names would be taken for other clients' behind a pooler.
#[test]
fn a_pooler_is_noticed() {
    let server = Server::start(&Setup::default());
    let pooler = Pooler::start(&server, 4).expect("PgBouncer is installed");
    for (url, expected) in [(&server.url, "none"), (&pooler.url, "one lies between")] {
        assert!(found(url).starts_with(expected), "{url}");
    }
}

/// Returns the finding of the doctor on poolers.
pub(crate) fn found(url: &str) -> String {
    let mut options = Options::new(url);
    options.allows_unsafe = true;
    let store = PostgresStore::open(options).unwrap();
    finding(&store, "pooler").text
}

/// The pooler closes connections of the server, and a caller does not notice.
#[test]
fn a_pooler_that_is_replaced_loses_no_write() {
    let server = Server::start(&Setup::default());
    let pooler = Pooler::start(&server, 4).expect("PgBouncer is installed");
    let mut options = Options::new(&pooler.url);
    options.allows_unsafe = true;
    let store = PostgresStore::open(options.clone()).unwrap();
    store.commit(put(&memory("a"), Vec::new())).unwrap();
    drop(pooler);
    let refused = store.commit(put(&memory("b"), Vec::new())).unwrap_err();
    assert!(
        refused.is_unavailable() && refused.message.contains("cannot be reached"),
        "{refused}"
    );
    options.url = server.url.clone();
    let store = PostgresStore::open(options).unwrap();
    assert_eq!(store.version(&filter().space), Ok(1));
    store.commit(put(&memory("b"), Vec::new())).unwrap();
}
