//! The conversations in the exports of services.

use std::path::Path;

use loci_engine::ImportBatch;
use loci_ingest::Report;
use loci_ingest::conversation::{self, Mining};
use loci_ingest::trust::Trust;

use super::{MINE, text_of};
use crate::exit::Failure;
use crate::output::notice;
use crate::progress::Progress;
use crate::settings::Settings;
use crate::wiring::Parts;

/// Files the conversations of a folder, a file or an archive.
///
/// # Errors
/// As for `loci palace mine`.
pub(super) fn mine_conversations(parts: &Parts, mining: &Mining<'_>) -> Result<Report, Failure> {
    let progress = Progress::of_bytes();
    parts.logged_filing(MINE, |call| {
        Ok(conversation::mine(call, mining, &progress)?)
    })
}

/// Files the conversations in the export of a service, as `loci palace mine --mode convos` does, as a part
/// of an import; the files in it that hold something else are passed over, and those that could not be
/// filed are in the report.
///
/// # Errors
/// As for the command.
pub fn mine_export(
    settings: &Settings,
    parts: &Parts,
    export: &Path,
    (is_dry, files_again): (bool, bool),
    batch: &ImportBatch,
) -> Result<Report, Failure> {
    let mining = Mining {
        wing: None,
        root: export,
        is_dry,
        is_shared: false,
        rereads: files_again,
        files_again,
        is_verbatim: false,
        trust: &Trust::read(&settings.data, notice)?,
        batch: Some(batch),
    };
    mine_conversations(parts, &mining)
}

/// Returns the counts of conversations that were filed, for a person.
pub fn filed_text(report: &Report, is_dry: bool) -> String {
    text_of(report, is_dry, 0)
}
