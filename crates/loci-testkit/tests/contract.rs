//! The naive store passes the contract tests for which it is the reference.

loci_testkit::store_contract!(loci_testkit::NaiveStore::new());
