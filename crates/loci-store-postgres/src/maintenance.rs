//! The care of the store: checks, repairs, indexes.

use loci_core::{
    Maintenance, Placement, Problem, ReindexCounts, Repair, Result, ServerCheck, Space, Timestamp,
    Transfer,
};

use crate::check::check;
use crate::cluster_checks;
use crate::placement;
use crate::repair;
use crate::server_checks;
use crate::store::PostgresStore;

impl Maintenance for PostgresStore {
    /// A server that only reads refuses each write by itself.
    fn is_read_only(&self) -> bool {
        false
    }

    /// Checks each space as of a moment of its own.
    fn integrity_check(&self) -> Result<Vec<Problem>> {
        check(&self.server, true)
    }

    fn structure_check(&self) -> Result<Vec<Problem>> {
        check(&self.server, false)
    }

    fn repair(&self) -> Result<Repair> {
        repair::repair(&self.server)
    }

    fn reindex(&self, embeddings: bool) -> Result<ReindexCounts> {
        repair::reindex(&self.server, embeddings)
    }

    fn placement(&self, space: &Space) -> Result<Placement> {
        placement::of(&self.server, space)
    }

    fn isolate(&self, space: &Space) -> Result<Placement> {
        placement::isolate(&self.server, space)
    }

    fn move_space(&self, space: &Space, worker: &str, transfer: Transfer) -> Result<Placement> {
        placement::move_to(&self.server, space, worker, transfer)
    }

    fn check_write(&self) -> Result<()> {
        self.server.write_and_remove(0)
    }

    fn server_checks(&self, now: Timestamp, tell: &mut dyn FnMut(ServerCheck)) {
        if server_checks::check(&self.server, now, tell) {
            cluster_checks::check(&self.server, now, tell);
        }
    }
}
