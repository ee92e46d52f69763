//! Limits of calls, applied to records of an archive.

use loci_core::limits::{
    ATTRIBUTES_MAX, CONTENT_BYTES_MAX, ENTITY_BYTES_MAX, KEYED_ANSWERS_BYTES_MAX, LINKS_MAX,
    REFERENCE_BYTES_MAX,
};
use loci_core::{
    Archived, CacheEntry, Decision, Error, Fact, IdempotentReply, Memory, MemoryId, Name, NoteFile,
    Provenance, Record, Result, SourceFile, Tunnel, TunnelEnd,
};

use super::{bounded, citations, cited_content, content, name, query, reference, tags};

/// Checks each field of a record like the tool call that writes it.
///
/// # Errors
/// `invalid_argument` or `too_large`, naming the first field that exceeds its limits.
pub fn record(archived: &Archived) -> Result<()> {
    match &archived.record {
        Record::Memory(memory) => self::memory(memory),
        Record::NoteFolder(identity) => name("identity", identity),
        Record::NoteFile(file) => note_file(file),
        Record::Fact(fact) => self::fact(fact),
        Record::Tunnel(tunnel) => self::tunnel(tunnel),
        Record::Setting {
            owner,
            name: setting,
            value,
        } => {
            optional("owner", owner.as_deref(), name)?;
            name("name", setting)?;
            bounded("value", value, CONTENT_BYTES_MAX)
        }
        Record::SourceFile(file) => source_file(file),
        Record::CacheEntry(entry) => cache_entry(entry),
        Record::Decision(decision) => self::decision(decision),
        Record::IdempotentReply(answer) => idempotent_reply(answer),
        // Every field has a fixed size.
        Record::Tombstone(_) => Ok(()),
    }
}

fn optional(
    argument: &str,
    value: Option<&str>,
    check: impl Fn(&str, &str) -> Result<()>,
) -> Result<()> {
    value.map_or(Ok(()), |value| check(argument, value))
}

fn id(argument: &str, id: &str) -> Result<()> {
    MemoryId::parse(argument, id).map(drop)
}

fn at_most(argument: &str, count: usize, count_max: usize) -> Result<()> {
    if count > count_max {
        return Err(Error::invalid(
            argument,
            format!("must hold at most {count_max} entries, not {count}"),
        ));
    }
    Ok(())
}

fn memory(memory: &Memory) -> Result<()> {
    id("id", memory.id.as_str())?;
    cited_content("content", &memory.content, &memory.citations)?;
    optional("title", memory.title.as_deref(), name)?;
    optional("collection", memory.location.collection.as_deref(), name)?;
    name("section", &memory.location.section)?;
    name("kind", &memory.kind)?;
    optional("summary", memory.summary.as_deref(), reference)?;
    tags("tags", &memory.tags)?;
    citations("citations", &memory.citations)?;
    at_most("attributes", memory.attributes.len(), ATTRIBUTES_MAX)?;
    for (attribute, value) in &memory.attributes {
        name("attributes", attribute)?;
        reference(&format!("attributes.{attribute}"), value)?;
    }
    optional(
        "thread",
        memory.thread.as_ref().map(|thread| &*thread.name),
        reference,
    )?;
    at_most("links", memory.links.len(), LINKS_MAX)?;
    memory
        .links
        .iter()
        .try_for_each(|link| id("links", link.target.as_str()))?;
    for (argument, other) in [
        ("source", &memory.source),
        ("supersedes", &memory.supersedes),
    ] {
        optional(argument, other.as_ref().map(MemoryId::as_str), id)?;
    }
    optional(
        "origin",
        Some(&*memory.origin).filter(|origin| !origin.is_empty()),
        name,
    )?;
    optional("owner", memory.owner.as_deref(), name)?;
    optional("actor", memory.actor.as_deref(), name)?;
    optional("updated_by", memory.updated_by.as_deref(), name)?;
    let Provenance {
        said_by: _,
        program,
        session,
    } = &memory.provenance;
    optional("program", program.as_deref(), name)?;
    optional("session", session.as_deref(), name)
}

fn note_file(file: &NoteFile) -> Result<()> {
    reference("path", &file.path)?;
    optional("memory", file.memory.as_ref().map(MemoryId::as_str), id)?;
    file.links
        .iter()
        .try_for_each(|link| bounded("links", link, REFERENCE_BYTES_MAX))?;
    optional(
        "problem",
        file.problem.as_ref().map(|problem| &*problem.message),
        |argument, message| bounded(argument, message, CONTENT_BYTES_MAX),
    )
}

fn fact(fact: &Fact) -> Result<()> {
    id("id", &fact.id)?;
    for (argument, part) in [
        ("subject", &fact.subject),
        ("predicate", &fact.predicate),
        ("object", &fact.object),
    ] {
        let Name { key, spelling } = part;
        // Lower case can have more bytes than upper case.
        super::text(argument, key, REFERENCE_BYTES_MAX)?;
        super::text(argument, spelling, ENTITY_BYTES_MAX)?;
        if key.chars().chain(spelling.chars()).any(char::is_control) {
            return Err(Error::invalid(argument, "must not hold control characters"));
        }
    }
    optional("source", fact.source.as_deref(), reference)?;
    optional("author", fact.author.as_deref(), name)
}

fn tunnel(tunnel: &Tunnel) -> Result<()> {
    id("id", &tunnel.id)?;
    for (argument, end) in [("source", &tunnel.source), ("target", &tunnel.target)] {
        let TunnelEnd {
            collection,
            section,
            memory,
        } = end;
        optional(argument, collection.as_deref(), name)?;
        name(argument, section)?;
        optional(argument, memory.as_ref().map(MemoryId::as_str), id)?;
    }
    bounded("label", &tunnel.label, REFERENCE_BYTES_MAX)?;
    optional("owner", tunnel.owner.as_deref(), name)
}

fn source_file(file: &SourceFile) -> Result<()> {
    optional(
        "machine",
        Some(&*file.machine).filter(|machine| !machine.is_empty()),
        name,
    )?;
    optional("collection", file.collection.as_deref(), name)?;
    reference("path", &file.path)?;
    reference("root", &file.root)?;
    name("format", &file.format)
}

fn cache_entry(entry: &CacheEntry) -> Result<()> {
    id("id", entry.id.as_str())?;
    name("owner", &entry.owner)?;
    query("query", &entry.query)?;
    content("response", &entry.response)
}

fn decision(decision: &Decision) -> Result<()> {
    name("owner", &decision.owner)?;
    name("key", &decision.key)?;
    content("value", &decision.value)
}

fn idempotent_reply(kept: &IdempotentReply) -> Result<()> {
    optional("owner", kept.owner.as_deref(), name)?;
    name("origin", &kept.origin)?;
    name("operation", &kept.operation)?;
    name("key", &kept.key)?;
    bounded("answer", &kept.answer, KEYED_ANSWERS_BYTES_MAX)?;
    kept.memories
        .iter()
        .try_for_each(|memory| id("memories", memory.as_str()))
}
