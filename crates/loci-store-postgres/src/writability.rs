//! Whether the server takes writes.

use std::iter;
use std::sync::atomic::Ordering;

use loci_core::Result;

use crate::random::random;
use crate::scope::Scope;
use crate::server::{Retry, Server};
use crate::transaction::BEGIN;
use crate::value::values;

/// The bytes of a write that shows that a disk which was full has room again. Less fits into what
/// was freed before in the pages of a table.
const BYTES_OF_ROOM: usize = 64 << 10;

impl Server {
    /// Checks whether writes are possible. A server that only reads refuses the beginning of a
    /// transaction that writes, which costs no write. That its disk is full shows only when a write
    /// needs room, so after the first one that was refused for that, this writes, too, until there is
    /// room. A server that is away is not waited for, because a load balancer asks whether it is there.
    ///
    /// # Errors
    /// `unavailable`, with the fault of the store.
    pub(crate) fn check_writable(&self) -> Result<()> {
        if !self.has_refused.load(Ordering::Relaxed) {
            let begin = async || {
                let session = self.session(Scope::Store).await?;
                match session.begin(BEGIN, &[]).await {
                    Ok(_) => session.roll_back().await,
                    Err(failure) => Err(session.give_up(failure).await),
                }
            };
            return Ok(self.block_on(self.until_done_or(Retry::brief(), begin))?);
        }
        self.write_and_remove(BYTES_OF_ROOM)?;
        self.has_refused.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Writes a row with so many bytes that no compression makes fewer, and removes it.
    pub(crate) fn write_and_remove(&self, bytes: usize) -> Result<()> {
        let name = format!("check {:x}", random());
        let words: Vec<String> = iter::repeat_with(|| format!("{:016x}", random()))
            .take(bytes.div_ceil(16))
            .collect();
        let holder = words.concat();
        let written = self.write_whole(async |transaction| {
            transaction.queue(
                "INSERT INTO @lease (space, name, holder, until) VALUES ($1, $2, $3, 0)",
                values![transaction.name(), &name, &holder],
            );
            transaction.queue(
                "DELETE FROM @lease WHERE space = $1 AND name = $2",
                values![transaction.name(), &name],
            );
            Ok(())
        });
        Ok(written?)
    }
}
