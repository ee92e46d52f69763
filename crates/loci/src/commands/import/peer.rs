//! `loci import --from`: takes in the stores and exports of other memory systems.

mod conversion;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::env;
use std::path::Path;

use jiff::tz::TimeZone;
use loci_archive::{RECORDS, Refusals, stay_forgotten};
use loci_core::limits::IMPORT_BATCH_BYTES;
use loci_core::{Archived, Memory, Record, Space, Timestamp, TunnelEnd};
use loci_engine::{ImportBatch, ImportReport};
use loci_peers::{Peer, PeerError, PeerRecord, PeerTunnel, Report, read};
use serde_json::{Value, json};

use super::samples::Samples;
use super::{
    IMPORT, begin_batch, embed_pending, file_of, finish_batch, stored_progress, tell_dry_run,
    tell_stored, tell_unreviewed, way_back,
};
use crate::cli;
use crate::commands::palace::{filed_text, mine_export, verdict};
use crate::escaped::OneLine;
use crate::exit::{Exit, Failure};
use crate::output::{Output, status_line};
use crate::progress::Progress;
use crate::settings::Settings;
use crate::wiring::Parts;

/// The largest number of records in one transaction.
const BATCH_RECORDS: usize = 1_000;
/// The attribute with the id that a memory had in the system that it came from.
const FOREIGN_ID: &str = "foreign_id";

/// Lists the stores of other memory systems, and the own memory of hosts, on this machine.
pub(super) fn detect(output: Output) -> Result<(), Failure> {
    let home = directories::BaseDirs::new()
        .map(|folders| folders.home_dir().to_owned())
        .unwrap_or_default();
    let variable = |name: &str| env::var(name).ok();
    let mut found = Vec::new();
    for peer in Peer::ALL {
        for path in peer.places(&home, &variable) {
            if Peer::of(&path) == Some(peer) {
                found.push((peer.name(), path));
            }
        }
    }
    found.extend(super::host::detected());
    let value: Vec<Value> = found
        .iter()
        .map(|(name, path)| json!({"from": name, "path": path}))
        .collect();
    let lines: Vec<String> = found
        .iter()
        .map(|(name, path)| format!("loci import --from {name} {}\n", path.display()))
        .collect();
    let text = if lines.is_empty() {
        "no store of another memory system and no memory of a host is where these keep theirs; name its path: loci import \
         PATH\n"
            .to_owned()
    } else {
        lines.concat()
    };
    Ok(output.either(&json!({ "found": value }), text)?)
}

/// Returns the system that the path belongs to: the one that the user named, or the one that its
/// content tells; `None` for what loci itself wrote, or anything else.
pub(super) fn of(arguments: &cli::Import, path: &Path) -> Result<Option<Peer>, Failure> {
    if let Some(name) = &arguments.from {
        return Peer::from_name(name).map(Some).ok_or_else(|| {
            Failure::new(
                Exit::Usage,
                format!("--from {name} is no memory system that loci reads"),
            )
        });
    }
    if path == Path::new("-") || path.join(RECORDS).is_file() {
        return Ok(None);
    }
    Ok(Peer::of(path))
}

/// Imports what a system keeps at the path, which is what the user named, or was in an archive.
pub(super) fn import(
    settings: &Settings,
    arguments: &cli::Import,
    peer: Peer,
    path: &Path,
    output: Output,
) -> Result<(), Failure> {
    if !path.exists() {
        let message = format!("{} does not exist", path.display());
        return Err(Failure::new(Exit::Usage, message));
    }
    let zone = zone_of(arguments)?;
    let parts = Parts::open(settings)?;
    let (outcome, report, (brought, batch)) = parts.logged_in_all(IMPORT, |call| {
        let batch = begin_batch(call, arguments, peer.name());
        let mut taking = Intake::new(call, peer, arguments, &batch);
        let outcome = read(peer, path, zone, &mut |record| {
            taking.take(record).map_err(|failure| failure.message)
        });
        // What was read before a fault stands.
        taking.finish()?;
        match outcome {
            Ok(report) => Ok((taking.counts(&report), report, (taking.brought(), batch))),
            Err(error) => {
                let id = finish_batch(call, &batch, taking.brought())?;
                let told = taking.told(id.as_deref());
                Err(Failure::new(exit_of(&error), format!("{error}; {told}")))
            }
        }
    })?;
    for notice in &report.notices {
        status_line(OneLine(&format!("note: {notice}")));
    }
    let Counts {
        mut value,
        text,
        mut more,
        refused,
    } = outcome;
    let is_dry = arguments.dry_run;
    let has_conversations = matches!(peer, Peer::ClaudeAi | Peer::ChatGpt);
    let mined = has_conversations.then(|| {
        let file = loci_ingest::absolute(&file_of(arguments))?;
        let options = (is_dry, arguments.again);
        mine_export(settings, &parts, Path::new(&file), options, &batch)
    });
    let (filed, batch) = finished(&parts, mined, brought, &batch)?;
    if let Some(filed) = &filed {
        value["conversations"] = filed.value(is_dry);
        more += &format!("of its conversations:\n{}", filed_text(filed, is_dry));
    }
    if is_dry {
        tell_dry_run(value, &format!("{text}\n{}", more.trim_end()), output)?;
    } else {
        tell_stored(&value["stored"]);
        tell_unreviewed(&parts)?;
        let pending = embed_pending(&parts, settings, !arguments.no_wait)?;
        value["pending_embeddings"] = json!(pending);
        value["batch"] = json!(batch);
        let back = way_back(batch.as_deref());
        output.either(
            &value,
            format!("{text}, waiting for the model {pending}\n{more}{back}"),
        )?;
    }
    filed.as_ref().map_or(Ok(()), verdict)?;
    match refused {
        0 => Ok(()),
        _ => Err(super::refusal(refused, "is stored")),
    }
}

/// Notes that a batch is whole, with the conversations that were mined for it. Returns the report about these,
/// and the id of the batch, unless it brought nothing.
fn finished(
    parts: &Parts,
    mined: Option<Result<loci_ingest::Report, Failure>>,
    brought: u64,
    batch: &ImportBatch,
) -> Result<(Option<loci_ingest::Report>, Option<String>), Failure> {
    let filed = mined.as_ref().and_then(|mined| mined.as_ref().ok());
    let added = filed.map_or(0, |filed| filed.drawers.added);
    let id = finish_batch(&parts.system(), batch, brought + added)?;
    let filed = mined.transpose().map_err(|failure| match &id {
        Some(id) => {
            let message = format!(
                "{}; `loci undo {id}` takes back what was stored before that",
                failure.message
            );
            Failure { message, ..failure }
        }
        None => failure,
    })?;
    Ok((filed, id))
}

/// Returns the zone of times that name no zone.
fn zone_of(arguments: &cli::Import) -> Result<TimeZone, Failure> {
    arguments.zone.as_deref().map_or_else(
        || Ok(TimeZone::system()),
        |name| {
            TimeZone::get(name).map_err(|error| {
                // The system may have no zones at all, e.g. in a container.
                let message = format!(
                    "--zone {name} is no time zone of this system ({error}); name one such as Europe/Berlin or UTC"
                );
                Failure::new(Exit::Usage, message)
            })
        },
    )
}

fn exit_of(error: &PeerError) -> Exit {
    match error {
        PeerError::Stopped(_) => Exit::Failure,
        PeerError::Form(_) | PeerError::File { .. } | PeerError::Database { .. } => Exit::Usage,
    }
}

/// What an import did, for a program and for a person.
struct Counts {
    value: Value,
    text: String,
    /// The reasons for what was left out, one on each line.
    more: String,
    refused: u64,
}

/// The records that are read and not stored yet, and what became of the others.
struct Intake<'a> {
    parts: &'a loci_engine::Parts<'a>,
    peer: Peer,
    arguments: &'a cli::Import,
    batch: &'a ImportBatch,
    /// Memories whose texts changed there since, with their new texts and the times of these.
    updates: Vec<(Memory, String, Timestamp)>,
    waiting: Vec<Archived>,
    bytes: usize,
    /// They lead to places that must exist, so they come last.
    tunnels: Vec<PeerTunnel>,
    report: ImportReport,
    refused: Refusals,
    /// The first memories, if nothing is stored.
    samples: Samples,
    progress: Option<Progress>,
    updated: u64,
    links: u64,
    /// The number of memories of each conversation of an owner.
    positions: HashMap<(Option<String>, String), u64>,
}

impl<'a> Intake<'a> {
    fn new(
        parts: &'a loci_engine::Parts<'a>,
        peer: Peer,
        arguments: &'a cli::Import,
        batch: &'a ImportBatch,
    ) -> Self {
        let mut report = ImportReport::default();
        report.is_dry_run = arguments.dry_run;
        Intake {
            parts,
            peer,
            arguments,
            batch,
            updates: Vec::new(),
            waiting: Vec::new(),
            bytes: 0,
            tunnels: Vec::new(),
            report,
            refused: Refusals::default(),
            samples: Samples::default(),
            progress: stored_progress(arguments.dry_run),
            updated: 0,
            links: 0,
            positions: HashMap::new(),
        }
    }

    fn take(&mut self, record: PeerRecord) -> Result<(), Failure> {
        let record = match record {
            PeerRecord::Memory(memory) => {
                self.bytes += memory.text.len();
                let memory = self.memory(*memory);
                if self.arguments.dry_run {
                    let place = (memory.location.collection.as_deref(), &*memory.kind);
                    let created_at = Some(memory.created_at);
                    self.samples
                        .take(self.parts, &memory.content, place, created_at);
                }
                if self.is_updated(&memory)? {
                    return self.store_if_full();
                }
                Record::Memory(Box::new(memory))
            }
            PeerRecord::Fact(fact) => Record::Fact(Box::new(self.fact(fact))),
            PeerRecord::Tunnel(tunnel) => {
                self.tunnels.push(tunnel);
                return Ok(());
            }
            PeerRecord::Decision(decision) => Record::Decision(Box::new(self.decision(decision))),
        };
        self.waiting.push(Archived {
            space: Space::default(),
            record,
        });
        self.store_if_full()
    }

    fn store_if_full(&mut self) -> Result<(), Failure> {
        if self.waiting.len() + self.updates.len() >= BATCH_RECORDS
            || self.bytes >= IMPORT_BATCH_BYTES
        {
            self.store()?;
        }
        Ok(())
    }

    /// Stores the waiting records, and then the links between places.
    fn finish(&mut self) -> Result<(), Failure> {
        self.store()?;
        for tunnel in std::mem::take(&mut self.tunnels) {
            if self.arguments.dry_run {
                self.links += 1;
                continue;
            }
            let end = |(collection, section): (String, String)| TunnelEnd {
                collection: Some(collection),
                section,
                memory: None,
            };
            let label = (!tunnel.label.is_empty()).then_some(&*tunnel.label);
            let (source, target) = (end(tunnel.source), end(tunnel.target));
            let imports = self.parts.imports().in_batch(Some(self.batch));
            match imports.import_tunnel(source, target, label) {
                Ok(_) => self.links += 1,
                Err(error) if error.is_unavailable() => return Err(error.into()),
                Err(error) => self.refuse("a tunnel:", &error.message),
            }
        }
        Ok(())
    }

    fn refuse(&mut self, place: &str, problem: &str) {
        self.refused
            .add(place, problem, &|message| status_line(OneLine(message)));
    }

    fn store(&mut self) -> Result<(), Failure> {
        let records = std::mem::take(&mut self.waiting);
        self.bytes = 0;
        let imports = self.parts.imports();
        imports
            .again(self.arguments.again)
            .followed(self.arguments.follow)
            .in_batch(Some(self.batch))
            .import_records(&records, &mut self.report)?;
        for (number, error) in std::mem::take(&mut self.report.refused) {
            let place = match records.get(number).map(|archived| &archived.record) {
                Some(Record::Memory(memory)) => memory
                    .attributes
                    .get(FOREIGN_ID)
                    .map_or_else(String::new, |id| format!("{id}:")),
                Some(Record::Decision(decision)) => format!("{}:", decision.key),
                _ => "a fact:".to_owned(),
            };
            self.refuse(&place, &error.message);
        }
        let updates = std::mem::take(&mut self.updates);
        let noted: Vec<(&Memory, &str)> = updates
            .iter()
            .map(|(known, text, _)| (known, &**text))
            .collect();
        imports.in_batch(Some(self.batch)).note_updates(&noted)?;
        for (known, text, updated_at) in &updates {
            let memories = self.parts.memories();
            memories.update_from_source(&known.id, text, *updated_at)?;
            self.updated += 1;
        }
        if let Some(progress) = &self.progress {
            progress.reach(self.report.stored);
        }
        Ok(())
    }

    /// Returns the number of records that it brought or updated.
    fn brought(&self) -> u64 {
        self.report.stored + self.updated + self.links
    }

    /// Replaces the text of a memory that came before by one that changed there since; returns true
    /// if it will. What was changed here later stays. Some systems note no time of a change, so that it is the
    /// one of the text that came before.
    fn is_updated(&mut self, memory: &Memory) -> Result<bool, Failure> {
        if self.updates.iter().any(|(known, ..)| known.id == memory.id) {
            self.store()?;
        }
        let known = match self.parts.memories().show(&memory.id) {
            Ok(known) => known,
            Err(error) if error.is_unavailable() => return Err(error.into()),
            Err(_) => return Ok(false),
        };
        if known.content == memory.content || known.updated_at > memory.updated_at {
            return Ok(false);
        }
        if self.arguments.dry_run {
            self.updated += 1;
        } else {
            let text = memory.content.clone();
            self.updates.push((known, text, memory.updated_at));
        }
        Ok(true)
    }

    /// Says what is stored, for the message about a fault.
    fn told(&self, batch: Option<&str>) -> String {
        let back = batch.map_or_else(String::new, |id| {
            format!("; `loci undo {id}` takes them back")
        });
        format!(
            "before that, {} records were stored{back}",
            self.report.stored
        )
    }

    fn counts(&self, report: &Report) -> Counts {
        let ImportReport {
            stored,
            present,
            forgotten,
            ..
        } = &self.report;
        let refused = self.refused.count;
        let left_out: u64 = report.left_out.values().sum();
        let mut value = json!({
            "from": self.peer.name(), "stored": stored, "present": present, "updated": self.updated,
            "tunnels": self.links, "refused": refused, "left_out": report.left_out, "notices": report.notices,
        });
        if *forgotten > 0 {
            value["forgotten"] = json!(forgotten);
        }
        if self.arguments.dry_run {
            value["samples"] = self.samples.value();
        }
        let text = format!(
            "from {}: stored {stored}, already there {present}, updated {}, tunnels {}, refused {refused}, left out {left_out}{}",
            self.peer.name(),
            self.updated,
            self.links,
            stay_forgotten(*forgotten),
        );
        let reasons: Vec<String> = report
            .left_out
            .iter()
            .map(|(reason, count)| format!("left out: {reason}: {count}\n"))
            .collect();
        Counts {
            value,
            text,
            more: reasons.concat() + &self.samples.text(),
            refused,
        }
    }
}
