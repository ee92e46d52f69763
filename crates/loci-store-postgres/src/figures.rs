//! What this process knows of the server, for monitoring.

use std::sync::atomic::Ordering;
use std::time::Duration;

use loci_core::{ConnectionFigures, ReplicationFigures, ServerFigures};

use crate::failure::Result;
use crate::indexes::Indexes;
use crate::scope::Scope;
use crate::server::Server;
use crate::session::{Session, waiting_commits};

/// The time that the server has to answer. Who reads figures gives up after ten seconds, and gets those
/// of this process while the server is away.
const ANSWER_MAX: Duration = Duration::from_secs(2);

/// The first eight digits of the name of a log file are those of its timeline.
const REPLICATION: &str = "SELECT CASE WHEN pg_is_in_recovery() THEN 0 \
    ELSE ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint END, \
    count(*), count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')) FROM pg_stat_replication";

impl Server {
    pub(crate) fn figures(&self, indexes: &Indexes) -> ServerFigures {
        let pool = self.pool_status();
        let unsigned = |number: usize| number as u64;
        let idle = pool.available.min(pool.size);
        ServerFigures {
            connections: ConnectionFigures {
                limit: unsigned(pool.max_size),
                in_use: unsigned(pool.size - idle),
                idle: unsigned(idle),
                waiting: unsigned(pool.waiting),
            },
            round_trips: self.trips(),
            outages: self.answers.any.misses(),
            read_only_phases: self.answers.write.misses(),
            unconfirmed_commits: self.shared.unconfirmed.load(Ordering::Relaxed),
            space_indexes: indexes.by_class(),
            server: self.replication(),
        }
    }

    /// Asks the server for its standbys; `None` if it does not answer in time.
    fn replication(&self) -> Option<ReplicationFigures> {
        let asked = async { replication(&self.connect(Scope::Store).await?).await };
        let answered = self.block_on(async { tokio::time::timeout(ANSWER_MAX, asked).await });
        answered.ok()?.ok()
    }
}

async fn replication(session: &Session) -> Result<ReplicationFigures> {
    let unsigned = |number: i64| number.try_into().unwrap_or_default();
    let counts = match session.query_one(REPLICATION, &[]).await? {
        Some(row) => [row.try_get(0)?, row.try_get(1)?, row.try_get(2)?],
        None => [0; 3],
    };
    let [timeline, standbys, synchronous] = counts.map(unsigned);
    let (commits, seconds) = waiting_commits(session).await?;
    Ok(ReplicationFigures {
        timeline,
        standbys,
        synchronous,
        waiting_commits: unsigned(commits),
        longest_wait_seconds: unsigned(seconds),
    })
}
