//! Memories, facts and decisions of other systems as loci stores them.

use std::collections::BTreeMap;

use data_encoding::HEXLOWER;
use loci_core::{
    Citation, CitationKind, Clock as _, Decision, Delivery, EnrichmentStatus, Fact, LOCAL, Link,
    Location, Memory, MemoryId, Name, Period, Relation, Space, Thread, Tier, Timestamp, Visibility,
    limits,
};
use loci_engine::{NOTE_KIND, PINNED, name_key};
use loci_peers::{Owner, Peer, PeerCitation, PeerDecision, PeerFact, PeerMemory, Sharing};
use sha2::{Digest as _, Sha256};

use super::{FOREIGN_ID, Intake};
use crate::wiring::SystemClock;

/// The size in bytes of an id that is made of a foreign one.
const ID_BYTES: usize = 16;
/// The attribute with the name of that system.
const CAME_FROM: &str = "came_from";
/// The attribute with the time at which it expired there.
const EXPIRED_AT: &str = "expired_at";
/// The number of attributes that an import adds.
const OWN_ATTRIBUTES: usize = 3;
/// The kind and section of a memory that had none.
const KIND: &str = "fact";
/// The room of every diary, and the kind of its entries.
const DIARY: &str = "diary";
/// The section of a message of a conversation.
const MESSAGE: &str = "message";
/// The kind of a finding about code.
const DISCOVERY: &str = "discovery";
/// The number of characters from which an id of an original is unique everywhere: that of a hash of 12
/// bytes.
const UNIQUE_ID_CHARACTERS: usize = 24;
/// The largest length in bytes of an attribute, beyond which its end is left out.
const ATTRIBUTE_BYTES_MAX: usize = limits::REFERENCE_BYTES_MAX;

impl Intake<'_> {
    /// Returns a text without its secrets, as of a file that is read.
    fn redacted(&self, text: &str) -> String {
        self.parts
            .engine()
            .redaction()
            .redact_mined(text)
            .text
            .into_owned()
    }

    /// Returns the id of a memory here, which is made of the foreign one, so that an import can be
    /// repeated.
    fn id(&self, memory: &PeerMemory) -> MemoryId {
        let own = memory.own_id.as_deref();
        if let Some(Ok(id)) = own.map(|id| MemoryId::parse("id", id)) {
            return id;
        }
        // The ids of claude-mem count up on each machine.
        let created_at = memory
            .created_at
            .filter(|_| self.peer == Peer::ClaudeMem)
            .map(jiff::Timestamp::as_microsecond);
        self.id_of(&memory.id, created_at)
    }

    fn id_of(&self, foreign: &str, created_at: Option<i64>) -> MemoryId {
        // Agents of the originals know their ids, which are unique everywhere.
        if is_original(self.peer)
            && foreign.len() >= UNIQUE_ID_CHARACTERS
            && let Ok(id) = MemoryId::parse("id", foreign)
        {
            return id;
        }
        let mut hash = Sha256::new();
        for part in [self.peer.name(), foreign] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        if let Some(created_at) = created_at {
            hash.update(created_at.to_be_bytes());
        }
        MemoryId::new(HEXLOWER.encode(&hash.finalize()[..ID_BYTES]))
    }

    pub(super) fn memory(&mut self, peer: PeerMemory) -> Memory {
        let id = self.id(&peer);
        let is_own = peer.own_id.is_some();
        let now = SystemClock.now();
        let created_at = peer.created_at.map_or(now, timestamp);
        let section = peer.kind.as_deref().map_or(KIND.to_owned(), name);
        // Only files of the folder of notes are notes here.
        let kind = match &*section {
            _ if peer.is_diary => DIARY,
            NOTE_KIND => KIND,
            named => named,
        };
        let mut memory = Memory::new(
            Space::default(),
            id,
            self.redacted(&peer.text),
            kind,
            created_at,
        );
        self.add_details(&mut memory, &peer);
        memory.title = peer.title.map(|title| name(&self.redacted(&title)));
        memory.location = Location {
            collection: peer.container.as_deref().map(name),
            section: if peer.is_message {
                MESSAGE.to_owned()
            } else {
                section.clone()
            },
        };
        memory.tags = tags(peer.tags);
        memory.updated_at = peer
            .updated_at
            .map_or(created_at, timestamp)
            .max(created_at);
        memory.expires_at = peer.expires_at.map(timestamp);
        // An expired record is hidden there, and not gone.
        if let Some(expired_at) = peer.expires_at.filter(|time| timestamp(*time) <= now) {
            memory.expires_at = None;
            memory.forgotten_at = Some(now);
            memory
                .attributes
                .insert(EXPIRED_AT.to_owned(), expired_at.to_string());
        }
        if peer.is_hidden {
            memory.forgotten_at = Some(now);
        }
        if peer.is_at_start {
            memory.delivery = Delivery::Bootstrap;
        }
        memory.updated_by = peer
            .author
            .as_deref()
            .map(name)
            .filter(|author| author != LOCAL);
        if peer.is_diary {
            memory.tier = Tier::Unlisted;
            memory.visibility = Visibility::Shared;
        }
        memory.supersedes = peer.supersedes.map(|id| self.id_of(&id, None));
        memory.links = self.links(peer.links, is_own);
        let foreign_id = peer.own_id.is_none().then_some(&*peer.id);
        self.note_attributes(&mut memory, foreign_id, peer.attributes);
        memory
    }

    /// Returns links, whose targets are ids of loci in what loci wrote.
    fn links(&self, links: Vec<(String, String)>, is_own: bool) -> Vec<Link> {
        let link = |(target, relation): (String, String)| Link {
            target: if is_own {
                MemoryId::new(target)
            } else {
                self.id_of(&target, None)
            },
            relation: Relation::from_name(&relation).unwrap_or(Relation::RelatedTo),
            similarity: 1.0,
        };
        links
            .into_iter()
            .take(limits::LINKS_MAX)
            .map(link)
            .collect()
    }

    /// Adds what the originals of loci's tool sets say of a memory, and the owner.
    fn add_details(&mut self, memory: &mut Memory, peer: &PeerMemory) {
        memory.owner = match &peer.owner {
            Owner::Importer => Some(LOCAL.to_owned()),
            Owner::Nobody => None,
            Owner::User(user) => Some(name(user)),
        };
        memory.visibility = match peer.sharing {
            Sharing::Common => Visibility::Common,
            Sharing::Shared => Visibility::Shared,
            Sharing::Private => Visibility::Private,
        };
        let origin = match self.peer {
            // Their tool sets have other names.
            Peer::ServerMemory => "reference",
            Peer::MemoryTool => "anthropic",
            peer if peer == Peer::Mempalace || is_original(peer) => peer.name(),
            _ => "loci",
        };
        origin.clone_into(&mut memory.origin);
        memory.actor = peer.actor.as_deref().map(name);
        let is_weight = |weight: &f64| (0.0..=1.0).contains(weight);
        memory.weight = peer.weight.filter(is_weight).unwrap_or(1.0);
        let summary = peer.summary.as_deref();
        memory.summary = summary.map(|summary| cut(&self.redacted(summary)));
        memory.source = peer.source.as_deref().map(|id| self.id_of(id, None));
        memory.citations = peer
            .citations
            .iter()
            .filter_map(|citation| self.citation(citation))
            .take(limits::CITATIONS_MAX)
            .collect();
        if peer.is_discovery {
            DISCOVERY.clone_into(&mut memory.kind);
            memory.tier = Tier::Unlisted;
        } else if peer.is_message {
            memory.tier = Tier::ShortTerm;
        } else if peer.conversation.is_some() || peer.is_unread {
            memory.enrichment = Some(if peer.is_unread {
                EnrichmentStatus::Pending
            } else {
                EnrichmentStatus::Completed
            });
        }
        if let Some(conversation) = peer.conversation.as_deref().map(name) {
            let key = (memory.owner.clone(), conversation.clone());
            let next = self.positions.entry(key).or_default();
            memory.thread = Some(Thread {
                name: conversation,
                position: *next,
            });
            *next += 1;
        }
        if peer.is_pinned {
            let pinned = "true".to_owned();
            memory.attributes.insert(PINNED.to_owned(), pinned);
        }
    }

    fn citation(&self, citation: &PeerCitation) -> Option<Citation> {
        let own = |text: &String| cut(&self.redacted(text));
        let excerpt = citation.excerpt.as_deref().map(|text| self.redacted(text));
        Some(Citation {
            kind: CitationKind::from_name(&citation.kind)?,
            reference: own(&citation.reference),
            locator: citation.locator.as_ref().map(own),
            pin: citation.pin.as_ref().map(own),
            excerpt: excerpt
                .map(|text| text[..text.floor_char_boundary(limits::EXCERPT_BYTES_MAX)].to_owned()),
        })
    }

    pub(super) fn decision(&self, decision: PeerDecision) -> Decision {
        let created_at = decision
            .created_at
            .map_or_else(|| SystemClock.now(), timestamp);
        Decision {
            space: Space::default(),
            owner: name(&decision.owner),
            key: name(&decision.key),
            value: self.redacted(&decision.value),
            created_at,
            updated_at: decision.updated_at.map_or(created_at, timestamp),
            expires_at: decision.expires_at.map(timestamp),
        }
    }

    fn note_attributes(
        &self,
        memory: &mut Memory,
        foreign_id: Option<&str>,
        attributes: BTreeMap<String, String>,
    ) {
        let attributes = attributes.into_iter();
        memory.attributes.extend(
            attributes
                .map(|(attribute, value)| (name(&attribute), cut(&self.redacted(&value))))
                .take(limits::ATTRIBUTES_MAX - OWN_ATTRIBUTES),
        );
        // A memory that loci wrote came from loci.
        let Some(foreign_id) = foreign_id else {
            return;
        };
        memory
            .attributes
            .insert(FOREIGN_ID.to_owned(), cut(foreign_id));
        memory
            .attributes
            .insert(CAME_FROM.to_owned(), self.peer.name().to_owned());
    }

    pub(super) fn fact(&self, fact: PeerFact) -> Fact {
        let spelt = |text: &str| {
            let spelling = one_line(&self.redacted(text));
            let spelling = spelling[..spelling.floor_char_boundary(limits::ENTITY_BYTES_MAX)]
                .trim()
                .to_owned();
            Name {
                key: name_key(&spelling),
                spelling,
            }
        };
        let period = |(first, last): (jiff::Timestamp, jiff::Timestamp)| Period {
            first: timestamp(first),
            last: timestamp(last),
        };
        let said = format!(
            "{}\n{}\n{}\n{:?}",
            fact.subject, fact.predicate, fact.object, fact.valid_from
        );
        Fact {
            space: Space::default(),
            id: self.id_of(&said, None).as_str().to_owned(),
            subject: spelt(&fact.subject),
            predicate: spelt(&fact.predicate),
            object: spelt(&fact.object),
            valid_from: fact.valid_from.map(period),
            valid_to: fact.valid_to.map(period),
            source: fact.source.map(|source| cut(&self.redacted(&source))),
            author: Fact::author_of(self.parts.caller().principal.subject.as_deref()),
            created_at: SystemClock.now(),
        }
    }
}

/// Returns true if loci has the tool set of the system, and what it kept can go on being used by its
/// agents.
fn is_original(peer: Peer) -> bool {
    matches!(peer, Peer::Mememory | Peer::MemoryMcp | Peer::Engram)
}

fn timestamp(time: jiff::Timestamp) -> Timestamp {
    Timestamp::from_microseconds(time.as_microsecond())
}

/// Returns a name that a record may have: without control characters, and not too long.
fn name(text: &str) -> String {
    let text: String = one_line(text)
        .chars()
        .take(limits::NAME_CHARACTERS_MAX)
        .collect();
    let text = text.trim();
    text[..text.floor_char_boundary(limits::NAME_BYTES_MAX)].to_owned()
}

/// Returns a text with a blank for each control character.
fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

/// Returns a value that an attribute may have.
fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(ATTRIBUTE_BYTES_MAX)].replace('\0', " ")
}

fn tags(tags: Vec<String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for tag in tags {
        let tag = name(&tag);
        let tag = tag[..tag.floor_char_boundary(limits::TAG_BYTES_MAX)]
            .trim()
            .to_owned();
        if !tag.is_empty() && !kept.contains(&tag) && kept.len() < limits::TAGS_MAX {
            kept.push(tag);
        }
    }
    kept
}
