//! The naive store keeps the promises that it is the model of.

loci_testkit::store_contract!(loci_testkit::NaiveStore::new());
