//! When each client called a tool last: a small file for each, in the data folder of this machine.
//!
//! Not in the store, whose version would grow, and which machines share while their hosts do not. A
//! file for each client needs no lock between processes.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use data_encoding::HEXLOWER;
use loci_archive::files::{create_private_folder, write_privately};
use loci_core::limits::CLIENTS_MAX;
use loci_core::{Clock, Timestamp};
use loci_mine::plain_file::{self, Links};
use loci_server::{ClientCall, ClientCalls};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::wiring::SystemClock;

/// The folder of the files, in the data folder.
const FOLDER: &str = "clients";
/// The shortest time between two records of one client in one process.
const INTERVAL: Duration = Duration::from_mins(5);
/// The bytes of a file that are read.
const FILE_BYTES_MAX: u64 = 4 << 10;
/// The bytes of the hash of a client's name in the name of its file.
const HASH_BYTES: usize = 8;

/// The last call of a client, as its file holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastCall {
    /// The name that the client gave itself, if it gave one.
    pub client: Option<String>,
    /// The name of the dialect.
    pub dialect: String,
    /// The name of the transport.
    pub transport: String,
    /// The time of the call, in microseconds since 1970; a later call in the same five minutes may
    /// not be recorded.
    called_at: i64,
}

impl LastCall {
    /// Returns the time of the call.
    pub fn called_at(&self) -> Timestamp {
        Timestamp::from_microseconds(self.called_at)
    }
}

/// Records the calls of this process.
pub struct CallFiles {
    folder: PathBuf,
    recorded: Mutex<HashMap<ClientCall, Instant>>,
}

impl CallFiles {
    /// Returns the record in this data folder.
    pub fn new(data: &Path) -> Self {
        CallFiles {
            folder: data.join(FOLDER),
            recorded: Mutex::default(),
        }
    }

    fn write(&self, call: &ClientCall) -> io::Result<()> {
        create_private_folder(&self.folder)?;
        let name = call.client.as_deref().unwrap_or_default();
        let hash = HEXLOWER.encode(&Sha256::digest(name)[..HASH_BYTES]);
        let file = format!("{}-{}-{hash}.json", call.dialect, call.transport.name());
        let path = self.folder.join(file);
        if !path.exists() {
            self.make_room()?;
        }
        let last = LastCall {
            client: call.client.clone(),
            dialect: call.dialect.to_owned(),
            transport: call.transport.name().to_owned(),
            called_at: SystemClock.now().microseconds(),
        };
        write_privately(&path, &serde_json::to_vec(&last)?)
    }

    /// Removes the files that were written first, so that one more is no more than there may be.
    fn make_room(&self) -> io::Result<()> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            files.push((entry.metadata()?.modified()?, entry.path()));
        }
        files.sort_unstable();
        let excess = (files.len() + 1).saturating_sub(CLIENTS_MAX);
        files
            .iter()
            .take(excess)
            .try_for_each(|(_, path)| fs::remove_file(path))
    }
}

impl ClientCalls for CallFiles {
    fn is_due(&self, call: &ClientCall) -> bool {
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = match recorded.get(call) {
            Some(at) => at.elapsed() >= INTERVAL,
            None => recorded.len() < CLIENTS_MAX,
        };
        if is_due {
            recorded.insert(call.clone(), Instant::now());
        }
        is_due
    }

    fn record(&self, call: &ClientCall) {
        if let Err(error) = self.write(call) {
            tracing::debug!(%error, "the last call of a client was not recorded");
        }
    }
}

/// Returns the last calls in this data folder, latest first. A file that cannot be read is left out.
pub fn last_calls(data: &Path) -> Vec<LastCall> {
    let files = fs::read_dir(data.join(FOLDER)).into_iter().flatten();
    let read = |path: &Path| -> Option<LastCall> {
        let bytes = plain_file::read(path, Links::Refused, FILE_BYTES_MAX).ok()?;
        serde_json::from_slice(&bytes).ok()
    };
    let files = files.flatten().take(2 * CLIENTS_MAX);
    let mut calls: Vec<LastCall> = files.filter_map(|entry| read(&entry.path())).collect();
    calls.sort_by_key(|call| Reverse(call.called_at));
    calls
}

#[cfg(test)]
mod tests {
    use loci_server::Transport;

    use super::*;

    fn call(client: &str) -> ClientCall {
        ClientCall {
            client: Some(client.to_owned()),
            dialect: "mememory",
            transport: Transport::Stdio,
        }
    }

    #[test]
    fn a_client_is_recorded_once_in_a_while() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (CallFiles::new(folder.path()), CallFiles::new(folder.path()));
        assert_eq!(last_calls(folder.path()), []);
        for files in [&one, &other] {
            for client in ["codex", "zed"] {
                assert!(files.is_due(&call(client)));
                assert!(!files.is_due(&call(client)));
                files.record(&call(client));
            }
        }
        let calls = last_calls(folder.path());
        let clients: Vec<_> = calls
            .iter()
            .filter_map(|call| call.client.as_deref())
            .collect();
        assert_eq!(clients, ["zed", "codex"], "latest first");
        fs::write(folder.path().join(FOLDER).join("broken.json"), "{").unwrap();
        assert_eq!(last_calls(folder.path()).len(), 2);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..CLIENTS_MAX + 3 {
            let files = CallFiles::new(folder.path());
            let call = call(&number.to_string());
            assert!(files.is_due(&call));
            files.record(&call);
        }
        let calls = last_calls(folder.path());
        assert_eq!(calls.len(), CLIENTS_MAX);
        assert_eq!(calls[0].client.as_deref(), Some("66"));
        let files = CallFiles::new(folder.path());
        let due = (0..=CLIENTS_MAX).filter(|number| files.is_due(&call(&number.to_string())));
        assert_eq!(due.count(), CLIENTS_MAX);
    }
}
