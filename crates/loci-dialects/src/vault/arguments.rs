//! Helpers for arguments and the folder of notes that several tools share.

use std::time::Duration;

use loci_core::Space;
use loci_engine::Call;

pub use crate::wire::both;

/// The maximum wait for the files that existed when the process started to be read.
const NOTES_WAIT: Duration = Duration::from_secs(2);

/// Waits until the folder of notes is indexed, for a caller of its space. Returns a sentence about
/// the files that are still missing.
pub fn await_notes(call: &Call<'_>) -> Option<String> {
    (call.caller().space == Space::default())
        .then(|| call.notes().wait(NOTES_WAIT))
        .flatten()
}
