//! The stores search with the same index: they find the same candidates, bit for bit.

use loci_store_postgres::PostgresStore;
use loci_store_sqlite::SqliteStore;
use loci_testkit::contract::give_the_same_candidates;
use loci_testkit::postgres::server_url;

const QUERIES: usize = 1_000;
const SEED: u64 = 11;

#[test]
fn postgres_finds_what_sqlite_finds() {
    let folder = tempfile::tempdir().unwrap();
    let options = loci_store_sqlite::Options::default();
    let sqlite = SqliteStore::open(folder.path(), options).unwrap();
    let mut options = loci_store_postgres::Options::new(server_url());
    options.schema = format!("same_candidates_{}", std::process::id());
    options.allows_unsafe = true;
    let postgres = PostgresStore::open(options).unwrap();
    give_the_same_candidates(&sqlite, &postgres, SEED, QUERIES);
    postgres.destroy().unwrap();
}
