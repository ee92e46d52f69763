//! The counts of a transcript that was filed.

use loci_core::Redactions;
use loci_engine::SourceCounts;
use loci_mine::conversation::{LeftOut, Transcript};

/// The outcome for one transcript.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TranscriptReport {
    /// The numbers of its drawers.
    pub filed: SourceCounts,
    /// The number of invalid lines or messages.
    pub broken: u64,
    /// The number of characters and values that were no valid JSON, and were repaired.
    pub repairs: u64,
    /// The number of attachments whose text is among the drawers.
    pub attachments: u64,
    /// The numbers of other things in it, by kind.
    pub left_out: LeftOut,
    /// A notice for people about the file.
    pub notice: Option<String>,
    /// The secrets that were redacted in it.
    pub redacted: Redactions,
    /// True if there was anything new to read.
    pub was_read: bool,
    /// True if it was moved since it was filed.
    pub is_moved: bool,
    /// True if there is more to read, which another process can do.
    pub is_pending: bool,
}

impl TranscriptReport {
    /// Adds what was counted in a transcript beside its messages.
    pub(super) fn count(&mut self, transcript: &Transcript) {
        self.broken += transcript.broken;
        self.repairs += transcript.repairs;
        self.attachments += transcript.attachments;
        self.notice.clone_from(&transcript.notice);
        for (kind, count) in &transcript.left_out {
            *self.left_out.entry(*kind).or_default() += count;
        }
    }
}
