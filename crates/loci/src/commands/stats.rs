//! `loci stats`: what there is and what it costs.

use std::fmt::Write;

use serde_json::{Map, json};

use crate::exit::Failure;
use crate::output::Output;
use crate::settings::Settings;
use crate::wiring::Parts;

pub fn run(settings: &Settings, output: Output) -> Result<(), Failure> {
    let parts = Parts::open_current(settings)?;
    let mut stats = parts.call("stats", Map::new())?.structured;
    let size = parts.engine.size_with_index()?;
    let pending = parts.engine.pending_embeddings()?;
    stats["store"] = json!({
        "folder": settings.data,
        "memories": size.memories,
        "passages": size.passages,
        "disk_bytes": size.disk_bytes,
        "index_bytes": size.index_bytes,
        "pending_embeddings": pending,
    });
    let mut text = format!("memories  {}\n", stats["total"]);
    for (title, key) in [("by scope", "by_scope"), ("by project", "by_project"), ("by type", "by_type")] {
        let counts = stats[key].as_object().into_iter().flatten();
        let counts =
            counts.filter(|(_, count)| count.as_u64() != Some(0)).map(|(name, count)| format!("{name} {count}"));
        let counts = counts.collect::<Vec<_>>().join(", ");
        if !counts.is_empty() {
            let _ = writeln!(text, "  {title}: {counts}");
        }
    }
    let _ = writeln!(
        text,
        "passages  {}\ndisk      {} bytes in {}\nindex     {} bytes in the memory of each process that searches",
        size.passages,
        size.disk_bytes,
        settings.data.display(),
        size.index_bytes
    );
    if pending > 0 {
        let done = size.memories.saturating_sub(pending);
        let _ = writeln!(
            text,
            "embedded  {done} of {}; the rest is found by its words until a model has read it",
            size.memories
        );
    }
    Ok(output.either(&stats, text)?)
}
