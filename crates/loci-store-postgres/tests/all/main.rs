//! Tests of the store on a real server.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

mod contract;
mod maintenance;
mod trips;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use loci_store_postgres::{Options, PostgresStore};
use loci_testkit::postgres::server_url;

/// The schemas of a test, which are removed at its end.
#[derive(Debug, Default)]
struct Schemas(Mutex<Vec<String>>);

impl Schemas {
    /// Returns the options of a store in a new schema.
    fn options(&self) -> Options {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let mut options = Options::new(server_url());
        options.schema = format!(
            "test_{}_{}",
            std::process::id(),
            NUMBER.fetch_add(1, Ordering::Relaxed)
        );
        options.allows_unsafe = true;
        options.connections_max = 4;
        self.0.lock().unwrap().push(options.schema.clone());
        options
    }

    /// Returns a new store.
    fn open(&self) -> PostgresStore {
        PostgresStore::open(self.options()).unwrap()
    }
}

impl Drop for Schemas {
    fn drop(&mut self) {
        let schemas = self.0.get_mut().unwrap();
        for schema in schemas.drain(..) {
            let mut options = Options::new(server_url());
            options.schema = schema;
            PostgresStore::open(options).unwrap().destroy().unwrap();
        }
    }
}

/// Runs statements in the schema of a store, which `@` stands for.
fn run_sql(options: &Options, sql: &str) {
    let sql = sql.replace('@', &format!("{}.", options.schema));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let connected = tokio_postgres::connect(server_url(), tokio_postgres::NoTls).await;
        let (client, connection) = connected.unwrap();
        let driving = tokio::spawn(connection);
        client.batch_execute(&sql).await.unwrap();
        drop(client);
        driving.await.unwrap().unwrap();
    });
}
