//! The stores on which the tests of grants run, and a way to ask them beside a runtime.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use loci_core::{Store, TokenStore};
use loci_store_postgres::{Options, PostgresStore};
use loci_store_sqlite::SqliteStore;
use loci_testkit::NaiveStore;
use loci_testkit::postgres::{chosen, server_url};
use tempfile::TempDir;

/// A kind of store.
#[derive(Clone, Copy)]
pub enum StoreKind {
    Naive,
    Sqlite,
    Postgres,
}

/// Defines tests of these functions, which take a [`StoreKind`], on every store.
macro_rules! on_every_store {
    ($($test:ident),+ $(,)?) => {
        $crate::grant_stores::on_every_store!(naive, Naive: $($test),+);
        $crate::grant_stores::on_every_store!(sqlite, Sqlite: $($test),+);
        $crate::grant_stores::on_every_store!(postgres, Postgres: $($test),+);
    };
    ($name:ident, $kind:ident: $($test:ident),+) => {
        mod $name {
            $(
                #[tokio::test]
                async fn $test() {
                    super::$test($crate::grant_stores::StoreKind::$kind).await;
                }
            )+
        }
    };
}

pub(crate) use on_every_store;

/// An empty store, which is removed in the end.
pub struct GrantStore {
    store: Arc<dyn Store>,
    tokens: Arc<dyn TokenStore>,
    _place: Place,
}

/// Where a store is. It goes after the other handles of the store.
enum Place {
    Memory,
    Folder { _folder: TempDir },
    Schema(Option<Arc<PostgresStore>>, Options),
}

impl GrantStore {
    pub fn new(kind: StoreKind) -> Self {
        match kind {
            StoreKind::Naive => GrantStore::of(&Arc::new(NaiveStore::new()), Place::Memory),
            StoreKind::Sqlite => {
                let folder = tempfile::tempdir().unwrap();
                let options = loci_store_sqlite::Options::default();
                let store = Arc::new(SqliteStore::open(folder.path(), options).unwrap());
                GrantStore::of(&store, Place::Folder { _folder: folder })
            }
            StoreKind::Postgres => beside(|| {
                let options = options();
                let store = Arc::new(PostgresStore::open(options.clone()).unwrap());
                let place = Place::Schema(Some(Arc::clone(&store)), options);
                GrantStore::of(&store, place)
            }),
        }
    }

    fn of<S: Store + TokenStore + 'static>(store: &Arc<S>, place: Place) -> Self {
        GrantStore {
            store: Arc::clone(store) as Arc<dyn Store>,
            tokens: Arc::clone(store) as Arc<dyn TokenStore>,
            _place: place,
        }
    }

    pub fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store)
    }

    pub fn tokens(&self) -> Arc<dyn TokenStore> {
        Arc::clone(&self.tokens)
    }
}

/// Returns the options of a store in a schema of its own.
fn options() -> Options {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let (url, row_security) = chosen(server_url());
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    Options {
        schema: format!("grants_{}_{number}", std::process::id()),
        connections_max: 4,
        allows_unsafe: true,
        row_security,
        ..Options::new(url)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Place::Schema(store, options) = self {
            let (store, options) = (store.take(), options.clone());
            beside(move || {
                drop(store);
                PostgresStore::open(options).unwrap().destroy().unwrap();
            });
        }
    }
}

/// Does something on a thread of its own, because a store on a server waits there, which a thread of
/// a runtime must not.
pub fn beside<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| scope.spawn(work).join().unwrap())
}
