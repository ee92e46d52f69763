//! `loci stats`: prints the counts and sizes of the store.

use std::fmt::Write;

use indicatif::DecimalBytes;
use loci_engine::ModelState;
use serde_json::{Map, Value, json};

use crate::commands::doctor::model_offer;
use crate::commands::encrypt::key_file;
use crate::exit::Failure;
use crate::output::Output;
use crate::settings::Settings;
use crate::wiring::Parts;

pub fn run(settings: &Settings, output: Output) -> Result<(), Failure> {
    let parts = Parts::open_current(settings)?;
    let mut stats = parts.call("stats", Map::new())?.structured;
    let size = parts.engine.size_with_index()?;
    let models = parts.engine.models().model_state()?;
    let pending = models.as_ref().map_or(0, |models| models.pending);
    stats["store"] = json!({
        "folder": settings.store_for(&settings.data).shown(),
        "memories": size.memories,
        "passages": size.passages,
        "disk_bytes": size.disk_bytes,
        "index_bytes": size.index_bytes,
        "pending_embeddings": pending,
    });
    let encrypted = encrypted(settings, &mut stats)?;
    if let Some(ModelState {
        chosen,
        serving,
        not_found,
        others,
        ..
    }) = &models
    {
        let others = others
            .iter()
            .map(|(model, passages)| json!({"model": model.as_str(), "passages": passages}));
        stats["store"]["models"] = json!({
            "chosen": chosen.as_str(),
            "serving": serving.as_str(),
            "not_found_by_meaning": not_found,
            "others": others.collect::<Vec<_>>(),
        });
    }
    let offer = model_offer(&parts);
    if let Some(offer) = &offer {
        stats["store"]["languages"] = json!(offer);
    }
    let mut text = format!("memories  {}\n", stats["total"]);
    for (title, key) in [
        ("by scope", "by_scope"),
        ("by project", "by_project"),
        ("by type", "by_type"),
        ("redacted", "redacted"),
    ] {
        let counts = stats[key].as_object().into_iter().flatten();
        let counts = counts
            .filter(|(_, count)| count.as_u64() != Some(0))
            .map(|(name, count)| format!("{name} {count}"));
        let counts = counts.collect::<Vec<_>>().join(", ");
        if !counts.is_empty() {
            let _ = writeln!(text, "  {title}: {counts}");
        }
    }
    let _ = writeln!(
        text,
        "passages  {}\ndisk      {} in {}\nindex     {} in the memory of each process that searches",
        size.passages,
        DecimalBytes(size.disk_bytes),
        settings.store_for(&settings.data).shown(),
        DecimalBytes(size.index_bytes)
    );
    text += &encrypted;
    if let Some(models) = models.filter(|_| pending > 0) {
        let _ = writeln!(text, "embedded  {}", embedded(&models, size.memories));
    }
    if let Some(offer) = offer {
        let _ = writeln!(text, "languages {offer}");
    }
    Ok(output.either(&stats, text)?)
}

/// Adds that the store is encrypted and what opens it; returns the same as a line.
fn encrypted(settings: &Settings, stats: &mut Value) -> Result<String, Failure> {
    let Some(file) = key_file(settings)? else {
        return Ok(String::new());
    };
    let nouns: Vec<_> = file.ways().iter().map(|way| way.noun()).collect();
    stats["store"]["encrypted"] = json!({"opens_with": nouns, "pages": file.page_codes().name()});
    Ok(format!(
        "encrypted yes ({}); it opens with {}\n",
        file.page_codes().name(),
        nouns.join(", ")
    ))
}

/// Says how many of the memories are embedded, and who finds the rest.
fn embedded(models: &ModelState, memories: u64) -> String {
    let ModelState {
        chosen,
        serving,
        not_found,
        pending,
        ..
    } = models;
    let rest = if serving == chosen {
        "the rest is found by its words until a model has read it".to_owned()
    } else if *not_found == 0 {
        format!("until {chosen} has read the rest, {serving} finds all of them")
    } else {
        format!("until {chosen} has read the rest, {serving} finds all but {not_found}")
    };
    format!(
        "{} of {memories}; {rest}",
        memories.saturating_sub(*pending)
    )
}
