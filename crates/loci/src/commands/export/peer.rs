//! `loci export --format` in the forms of other memory systems.

use std::path::Path;

use jiff::Timestamp as Moment;
use loci_core::{
    Archived, Clock as _, Delivery, Fact, LOCAL, Memory, Period, Record, Space, Tier, Timestamp,
    Tunnel, TunnelEnd, Visibility,
};
use loci_engine::is_note_of_import;
use loci_peers::{
    Form, Owner, PeerError, PeerFact, PeerMemory, PeerRecord, PeerTunnel, Sharing, Writer, Written,
};
use serde_json::json;

use crate::exit::{Exit, Failure};
use crate::output::{Output, status_line};
use crate::progress::Progress;
use crate::wiring::{Parts, SystemClock};

/// The weights of memories whose writers gave no weight, by the way in which they came.
const WEIGHTS: [f64; 2] = [0.5, 1.0];
/// The name of a place without a collection.
const GLOBAL: &str = "global";

/// Writes what is remembered in that form.
pub(super) fn write(
    parts: &Parts,
    form: Form,
    target: &Path,
    output: Output,
) -> Result<(), Failure> {
    let failed = |error: PeerError| {
        let exit = match &error {
            PeerError::File { source, .. }
                if source.kind() == std::io::ErrorKind::AlreadyExists =>
            {
                Exit::Usage
            }
            _ => Exit::Failure,
        };
        Failure::new(exit, error.to_string())
    };
    let now = SystemClock.now();
    let mut writer =
        Writer::create(form, target, moment(now).unwrap_or_default()).map_err(failed)?;
    let progress = Progress::new("memories");
    progress.begin(parts.engine.size()?.memories);
    let mut broken = None;
    let outcome = parts.store.archive(now, &mut |archived| {
        if matches!(archived.record, Record::Memory(_)) {
            progress.advance(1);
        }
        let written = match of(&archived) {
            Ok(record) => writer.put(&record),
            Err(what) => {
                if let Some(what) = what {
                    writer.leave_out(what);
                }
                Ok(())
            }
        };
        written.map_err(|error| {
            let message = error.to_string();
            broken = Some(error);
            loci_core::Error::unavailable(message)
        })
    });
    if let Some(error) = broken {
        return Err(failed(error));
    }
    outcome?;
    let written = writer.finish().map_err(failed)?;
    drop(progress);
    tell(form, &written, output)
}

fn tell(form: Form, written: &Written, output: Output) -> Result<(), Failure> {
    let Written {
        memories,
        facts,
        tunnels,
        left_out,
    } = written;
    if form == Form::Mempalace && *memories > 0 {
        status_line(
            "note: mempalace finds these drawers by their words, and by their meaning after `mempalace repair` has read \
             them with its model",
        );
    }
    let mut text = format!(
        "exported for {}: memories {memories}, facts {facts}, tunnels {tunnels}\n",
        form.name()
    );
    for (what, count) in left_out {
        text += &format!("left out, because its form has no place for them: {what}: {count}\n");
    }
    let exported = json!({"memory": memories, "fact": facts, "tunnel": tunnels});
    Ok(output.either(
        &json!({"format": form.name(), "exported": exported, "left_out": left_out}),
        text,
    )?)
}

/// Returns the record for another system; otherwise the name of what is left out, `None` for what is
/// only of use in this store.
fn of(archived: &Archived) -> Result<PeerRecord, Option<&'static str>> {
    if archived.space != Space::default() {
        return Err(Some("records of other spaces"));
    }
    match &archived.record {
        Record::Memory(memory) if memory.forgotten_at.is_some() => Err(Some("forgotten memories")),
        Record::Memory(memory) if memory.tier == Tier::ShortTerm => {
            Err(Some("messages of conversations"))
        }
        Record::Memory(memory) => Ok(PeerRecord::Memory(Box::new(of_memory(memory)))),
        Record::Fact(fact) => Ok(PeerRecord::Fact(of_fact(fact))),
        Record::Tunnel(tunnel) => Ok(PeerRecord::Tunnel(of_tunnel(tunnel))),
        Record::Decision(_) => Err(Some("decisions")),
        Record::Setting { name, .. } if is_note_of_import(name) => Err(None),
        Record::Setting { .. } => Err(Some("settings")),
        Record::CacheEntry(_) => Err(Some("cached answers")),
        Record::SourceFile(_)
        | Record::NoteFile(_)
        | Record::NoteFolder(_)
        | Record::IdempotentReply(_)
        | Record::Tombstone(_) => Err(None),
    }
}

fn of_memory(memory: &Memory) -> PeerMemory {
    let mut peer = PeerMemory::new(memory.id.as_str(), &*memory.content);
    peer.title.clone_from(&memory.title);
    peer.container.clone_from(&memory.location.collection);
    peer.kind = Some(memory.kind.clone());
    peer.tags.clone_from(&memory.tags);
    peer.created_at = moment(memory.created_at);
    peer.updated_at = moment(memory.updated_at);
    peer.expires_at = memory.expires_at.and_then(moment);
    peer.supersedes = memory.supersedes.as_ref().map(|id| id.as_str().to_owned());
    let links = memory.links.iter();
    peer.links = links
        .map(|link| {
            let relation = link.relation.name().to_owned();
            (link.target.as_str().to_owned(), relation)
        })
        .collect();
    peer.owner = match memory.owner.as_deref() {
        Some(LOCAL) => Owner::Importer,
        Some(owner) => Owner::User(owner.to_owned()),
        None => Owner::Nobody,
    };
    peer.sharing = match memory.visibility {
        Visibility::Common => Sharing::Common,
        Visibility::Shared => Sharing::Shared,
        Visibility::Private => Sharing::Private,
    };
    peer.summary.clone_from(&memory.summary);
    let is_given = !WEIGHTS.contains(&memory.weight);
    peer.weight = is_given.then_some(memory.weight);
    let citations = memory.citations.iter();
    peer.citations = citations
        .map(|citation| loci_peers::PeerCitation {
            kind: citation.kind.name().to_owned(),
            reference: citation.reference.clone(),
            locator: citation.locator.clone(),
            pin: citation.pin.clone(),
            excerpt: citation.excerpt.clone(),
        })
        .collect();
    peer.attributes.clone_from(&memory.attributes);
    peer.is_at_start = memory.delivery == Delivery::Bootstrap;
    peer
}

fn of_fact(fact: &Fact) -> PeerFact {
    let span = |period: Period| Some((moment(period.first)?, moment(period.last)?));
    PeerFact {
        subject: fact.subject.spelling.clone(),
        predicate: fact.predicate.spelling.clone(),
        object: fact.object.spelling.clone(),
        valid_from: fact.valid_from.and_then(span),
        valid_to: fact.valid_to.and_then(span),
        source: fact.source.clone(),
    }
}

fn of_tunnel(tunnel: &Tunnel) -> PeerTunnel {
    let end = |end: &TunnelEnd| {
        let wing = end.collection.clone();
        (
            wing.unwrap_or_else(|| GLOBAL.to_owned()),
            end.section.clone(),
        )
    };
    PeerTunnel {
        source: end(&tunnel.source),
        target: end(&tunnel.target),
        label: tunnel.label.clone(),
    }
}

fn moment(time: Timestamp) -> Option<Moment> {
    Moment::from_microsecond(time.microseconds()).ok()
}
