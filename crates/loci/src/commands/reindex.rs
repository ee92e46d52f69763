//! `loci reindex`: rebuilds what is derived from the texts.

use loci_core::ReindexCounts;
use loci_engine::ReconciliationReport;
use serde_json::json;

use crate::exit::{Exit, Failure};
use crate::output::{Output, status_line};
use crate::progress::Progress;
use crate::settings::Settings;
use crate::wiring::Parts;

pub fn run(settings: &Settings, embeddings: bool, output: Output) -> Result<(), Failure> {
    let parts = Parts::open_existing(settings)?;
    let ReconciliationReport {
        indexed,
        moved,
        removed,
        away,
        ..
    } = if parts.vault.is_kept {
        parts.system().notes().reconcile()?
    } else {
        ReconciliationReport::default()
    };
    if let Some(why) = away {
        status_line(format_args!("note: {why}"));
    }
    let progress = Progress::of_step("rebuilding indexes and words");
    let rebuilt = parts.store.reindex(embeddings);
    drop(progress);
    let ReindexCounts {
        indexes,
        memories,
        damaged,
        vectors,
    } = rebuilt?;
    let value = json!({
        "indexes": indexes,
        "memories": memories,
        "damaged": damaged,
        "vectors_dropped": vectors,
        "notes": {"indexed": indexed, "moved": moved, "removed": removed},
    });
    let mut text = format!("rebuilt {indexes} indexes and the words of {memories} memories\n");
    text += &format!("notes: indexed {indexed}, moved {moved}, removed {removed}\n");
    if embeddings {
        text += &format!(
            "dropped the vectors of {vectors} passages; `loci serve` or `loci mcp` makes new ones\n"
        );
    }
    output.either(&value, text)?;
    if damaged > 0 {
        let message = format!(
            "{damaged} texts are damaged and were left as they are: `loci doctor` names them"
        );
        return Err(Failure::new(Exit::Database, message));
    }
    Ok(())
}
