//! `loci import --from`: takes in the stores and exports of other memory systems.

mod conversion;

use std::collections::HashMap;
use std::env;
use std::path::Path;

use jiff::tz::TimeZone;
use loci_archive::{RECORDS, Refusals, stay_forgotten};
use loci_core::{Archived, Memory, Record, Space, TunnelEnd};
use loci_engine::{Call, ImportReport};
use loci_peers::{Peer, PeerError, PeerRecord, PeerTunnel, Report, read};
use serde_json::{Value, json};

use super::{
    IMPORT, embed_pending, file_of, stored_progress, tell_dry_run, tell_stored, tell_unreviewed,
};
use crate::cli;
use crate::commands::palace::{filed_text, mine_export};
use crate::escaped::OneLine;
use crate::exit::{Exit, Failure};
use crate::output::{Output, status_line};
use crate::progress::Progress;
use crate::settings::Settings;
use crate::wiring::Parts;

/// The largest number of records in one transaction.
const BATCH_RECORDS: usize = 1_000;
/// The number of bytes of texts with which a batch is full, too.
const BATCH_BYTES: usize = 16 << 20;
/// The attribute with the id that a memory had in the system that it came from.
const FOREIGN_ID: &str = "foreign_id";

/// Lists the stores of other memory systems on this machine.
pub(super) fn detect(output: Output) -> Result<(), Failure> {
    let home = directories::BaseDirs::new()
        .map(|folders| folders.home_dir().to_owned())
        .unwrap_or_default();
    let variable = |name: &str| env::var(name).ok();
    let mut found = Vec::new();
    for peer in Peer::ALL {
        for path in peer.places(&home, &variable) {
            if Peer::of(&path) == Some(peer) {
                found.push((peer, path));
            }
        }
    }
    let value: Vec<Value> = found
        .iter()
        .map(|(peer, path)| json!({"from": peer.name(), "path": path}))
        .collect();
    let lines: Vec<String> = found
        .iter()
        .map(|(peer, path)| format!("loci import --from {} {}\n", peer.name(), path.display()))
        .collect();
    let text = if lines.is_empty() {
        "no store of another memory system is where these keep theirs; name its path: loci import PATH\n".to_owned()
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
    let zone = arguments.zone.as_deref().map_or_else(
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
    )?;
    let parts = Parts::open(settings)?;
    let (outcome, report) = parts.logged_in_all(IMPORT, |call| {
        let mut taking = Intake::new(call, peer, arguments);
        let outcome = read(peer, path, zone, &mut |record| {
            taking.take(record).map_err(|failure| failure.message)
        });
        // What was read before a fault stands.
        taking.finish()?;
        let told = taking.told();
        match outcome {
            Ok(report) => Ok((taking.counts(&report), report)),
            Err(error) => Err(Failure::new(exit_of(&error), format!("{error}; {told}"))),
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
    if matches!(peer, Peer::ClaudeAi | Peer::ChatGpt) {
        let file = loci_filing::absolute(&file_of(arguments))?;
        let is_dry = arguments.dry_run;
        let filed = mine_export(settings, &parts, Path::new(&file), is_dry, arguments.again)?;
        value["conversations"] = filed.value(is_dry);
        more += &format!("of its conversations:\n{}", filed_text(&filed, is_dry));
    }
    if arguments.dry_run {
        tell_dry_run(value, &format!("{text}\n{}", more.trim_end()), output)?;
    } else {
        tell_stored(&value["stored"]);
        tell_unreviewed(&parts)?;
        let pending = embed_pending(&parts, settings, !arguments.no_wait)?;
        value["pending_embeddings"] = json!(pending);
        output.either(
            &value,
            format!("{text}, waiting for the model {pending}\n{more}"),
        )?;
    }
    match refused {
        0 => Ok(()),
        _ => Err(super::refusal(refused, "is stored")),
    }
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
    call: &'a Call<'a>,
    peer: Peer,
    arguments: &'a cli::Import,
    waiting: Vec<Archived>,
    bytes: usize,
    /// They lead to places that must exist, so they come last.
    tunnels: Vec<PeerTunnel>,
    report: ImportReport,
    refused: Refusals,
    progress: Option<Progress>,
    updated: u64,
    links: u64,
    /// The number of memories of each conversation of an owner.
    positions: HashMap<(Option<String>, String), u64>,
}

impl<'a> Intake<'a> {
    fn new(call: &'a Call<'a>, peer: Peer, arguments: &'a cli::Import) -> Self {
        let mut report = ImportReport::default();
        report.is_dry_run = arguments.dry_run;
        Intake {
            call,
            peer,
            arguments,
            waiting: Vec::new(),
            bytes: 0,
            tunnels: Vec::new(),
            report,
            refused: Refusals::default(),
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
                if self.is_updated(&memory)? {
                    return Ok(());
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
        if self.waiting.len() >= BATCH_RECORDS || self.bytes >= BATCH_BYTES {
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
            match self.call.graph().create_tunnel(source, target, label) {
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
        let imports = self.call.imports();
        imports
            .again(self.arguments.again)
            .followed(self.arguments.follow)
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
        if let Some(progress) = &self.progress {
            progress.reach(self.report.stored);
        }
        Ok(())
    }

    /// Replaces the text of a memory that came before by one that changed there since; returns true
    /// if it did. What was changed here later stays.
    fn is_updated(&mut self, memory: &Memory) -> Result<bool, Failure> {
        let known = match self.call.memories().show(&memory.id) {
            Ok(known) => known,
            Err(error) if error.is_unavailable() => return Err(error.into()),
            Err(_) => return Ok(false),
        };
        if known.content == memory.content || known.updated_at >= memory.updated_at {
            return Ok(false);
        }
        if !self.arguments.dry_run {
            self.call
                .memories()
                .update(&memory.id, &memory.content, None)?;
        }
        self.updated += 1;
        Ok(true)
    }

    /// Says what is stored, for the message about a fault.
    fn told(&self) -> String {
        format!("before that, {} records were stored", self.report.stored)
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
            more: reasons.concat(),
            refused,
        }
    }
}
