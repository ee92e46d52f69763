//! The promises of every store.

use loci_store_postgres::PostgresStore;
use loci_testkit::contract::handles_of_one_store_agree;

use crate::Schemas;

#[test]
fn two_stores_in_one_schema_are_handles_of_one_store() {
    let schemas = Schemas::default();
    let options = schemas.options();
    let open = || PostgresStore::open(options.clone()).unwrap();
    handles_of_one_store_agree(&open(), &open());
}

loci_testkit::store_contract!(Schemas::default(), |schemas| schemas.open());
