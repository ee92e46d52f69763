//! The record that every dialect reads and writes.

use std::collections::BTreeMap;

use crate::names::names;
use crate::{
    Caller, Citation, Error, FRONTMATTER, MemoryId, Principal, Provenance, Result, SOURCE_FILE,
    SOURCE_MACHINE, SOURCE_PATH, SaidBy, Scope, Space, Timestamp, limits,
};

/// The weight of a memory if its writer gives none.
const WEIGHT_DEFAULT: f64 = 0.5;
/// The maximum absolute similarity: that of a cosine, plus quantisation error.
const SIMILARITY_MAX: f32 = 1.1;

/// The attribute of a memory that holds its speaker, in a conversation that was imported from a
/// file.
pub const SPEAKER: &str = "speaker";
/// The attribute of a memory whose text came in a file and gives orders, until a person has said that
/// agents follow it. No tool removes it.
pub const UNREVIEWED: &str = "unreviewed";
/// The attribute of a memory that stands behind another one, which says the same: a key of both texts,
/// a space, and the id of the other one. No tool sets or removes it.
pub const STANDS_BEHIND: &str = "stands_behind";
/// The attribute of a summary that a language model wrote of memories that say the same, to which it is
/// linked: a key of their texts. No tool sets or removes it.
pub const SUMMARY_OF: &str = "summary_of";

/// The name that stands for an anonymous caller.
pub const ANONYMOUS: &str = "anonymous";

/// A memory, keyed by `(space, id)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Memory {
    /// The space that holds it.
    pub space: Space,
    /// Its id, unique in the space.
    pub id: MemoryId,
    /// The text, byte for byte as it was sent.
    pub content: String,
    /// Its title, if its writer gave it one.
    pub title: Option<String>,
    /// The place where it is filed.
    pub location: Location,
    /// Its kind: `fact`, `rule`, `decision`, ...
    pub kind: String,
    /// Its summary, if a writer or the enrichment supplied one.
    pub summary: Option<String>,
    /// Its tags, in the order given, without duplicates.
    pub tags: Vec<String>,
    /// Confidence, priority or importance, 0 to 1.
    pub weight: f64,
    /// The tier: durable or the working memory of a conversation.
    pub tier: Tier,
    /// The conversation or file that it belongs to.
    pub thread: Option<Thread>,
    /// The memory that it was made from.
    pub source: Option<MemoryId>,
    /// The enrichment status; `None` if it needs no enrichment.
    pub enrichment: Option<EnrichmentStatus>,
    /// The memories that it is linked to, nearest first.
    pub links: Vec<Link>,
    /// The sources that it is based on, in the order given.
    pub citations: Vec<Citation>,
    /// Further attributes by name, e.g. its repository or its speaker.
    pub attributes: BTreeMap<String, String>,
    /// The count of its returns. Stores keep the count separately
    /// ([`Store::touch`](crate::Store::touch)) and ignore this field on writing.
    pub access: Access,
    /// The delivery: at the start of every session, or only by a search.
    pub delivery: Delivery,
    /// The tool set that it came in through: a name that stores and engine compare but never
    /// interpret.
    pub origin: String,
    /// The user who wrote it; `None` if the caller was anonymous.
    pub owner: Option<String>,
    /// The display name of the writer; `None` if it is the owner's name.
    pub actor: Option<String>,
    /// The subject who wrote the current text, if that is not the owner; [`ANONYMOUS`] for an
    /// anonymous caller.
    pub updated_by: Option<String>,
    /// True if an administrator wrote the current text: a caller with the scope `admin`, or a
    /// person who edited a file of the notes folder. The engine sets it; no argument does.
    pub by_admin: bool,
    /// Where its words come from, and which program filed it.
    pub provenance: Provenance,
    /// The access rights of users other than the owner.
    pub visibility: Visibility,
    /// The memory that this one supersedes.
    pub supersedes: Option<MemoryId>,
    /// The newest live memory that supersedes this one. Stores derive it and ignore it on writing.
    pub superseded_by: Option<MemoryId>,
    /// The time at which it expires and no read returns it any more; `None` if it never does.
    pub expires_at: Option<Timestamp>,
    /// The time at which it was forgotten: reads treat it as deleted, unless they ask for forgotten
    /// memories. It stays until a caller deletes it; a note can be restored in its file.
    pub forgotten_at: Option<Timestamp>,
    /// The time at which it was first stored.
    pub created_at: Timestamp,
    /// The time at which its text last changed.
    pub updated_at: Timestamp,
    /// The revision number, counted from 1; it guards against lost updates.
    pub revision: u64,
}

impl Memory {
    /// Creates a memory without an owner: long-term, private, in no collection, with its kind as
    /// its section.
    pub fn new(
        space: Space,
        id: MemoryId,
        content: impl Into<String>,
        kind: impl Into<String>,
        now: Timestamp,
    ) -> Self {
        let kind = kind.into();
        Memory {
            space,
            id,
            content: content.into(),
            title: None,
            location: Location {
                collection: None,
                section: kind.clone(),
            },
            kind,
            summary: None,
            tags: Vec::new(),
            weight: WEIGHT_DEFAULT,
            tier: Tier::LongTerm,
            thread: None,
            source: None,
            enrichment: None,
            links: Vec::new(),
            citations: Vec::new(),
            attributes: BTreeMap::new(),
            access: Access::default(),
            delivery: Delivery::OnDemand,
            origin: String::new(),
            owner: None,
            actor: None,
            updated_by: None,
            by_admin: false,
            provenance: Provenance::default(),
            visibility: Visibility::Private,
            supersedes: None,
            superseded_by: None,
            expires_at: None,
            forgotten_at: None,
            created_at: now,
            updated_at: now,
            revision: 1,
        }
    }

    /// Returns the name of the subject who wrote the current text: [`ANONYMOUS`] for an anonymous
    /// caller.
    pub fn writer(&self) -> &str {
        self.updated_by
            .as_deref()
            .or(self.owner.as_deref())
            .unwrap_or(ANONYMOUS)
    }

    /// Records this caller as the writer of the current text, in which others may still have a part.
    pub fn set_writer(&mut self, caller: &Caller) {
        let Principal {
            subject, scopes, ..
        } = &caller.principal;
        let is_owner = *subject == self.owner;
        self.updated_by =
            (!is_owner).then(|| subject.clone().unwrap_or_else(|| ANONYMOUS.to_owned()));
        self.by_admin = scopes.allow(Scope::Admin);
        self.provenance.said_by = self.said_by().least(caller.said_by);
    }

    /// Returns true if a [wipe](crate::Store::wipe) of its owner removes it: all memories but
    /// common ones, and every memory of a conversation.
    pub fn goes_with_owner(&self) -> bool {
        self.visibility != Visibility::Common || self.is_of_conversation()
    }

    /// Returns true if it is a message of a conversation, or was made from one.
    pub fn is_of_conversation(&self) -> bool {
        self.tier == Tier::ShortTerm || self.enrichment.is_some()
    }

    /// Returns the name of the conversation that it is a message of or was made from; `None` if it
    /// belongs to no conversation.
    pub fn conversation(&self) -> Option<&str> {
        self.thread
            .as_ref()
            .filter(|_| self.is_of_conversation())
            .map(|thread| thread.name.as_str())
    }

    /// Returns true if it has not expired at `now`.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.expires_at.is_none_or(|expires_at| expires_at > now)
    }

    /// Checks that its numbers are in the range that stores and ranking support.
    ///
    /// # Errors
    /// `invalid_argument` if the weight is not from 0 to 1, or the similarity of a link is not a
    /// cosine.
    pub fn check_numbers(&self) -> Result<()> {
        if !(0.0..=1.0).contains(&self.weight) {
            return Err(Error::invalid("weight", "must be a number from 0 to 1"));
        }
        if self
            .links
            .iter()
            .any(|link| !(-SIMILARITY_MAX..=SIMILARITY_MAX).contains(&link.similarity))
        {
            return Err(Error::invalid(
                "similarity",
                "must be a number from -1 to 1",
            ));
        }
        Ok(())
    }

    /// Returns the number of bytes of UTF-8 in all its texts, which a reply has to carry.
    pub fn text_bytes(&self) -> usize {
        let of = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let citations = self.citations.iter().map(|citation| {
            let Citation {
                kind: _,
                reference,
                locator,
                pin,
                excerpt,
            } = citation;
            reference.len() + of(locator) + of(pin) + of(excerpt)
        });
        let attributes = self
            .attributes
            .iter()
            .map(|(name, value)| name.len() + value.len());
        let tags = self.tags.iter().map(String::len);
        self.content.len()
            + of(&self.title)
            + of(&self.summary)
            + citations.chain(attributes).chain(tags).sum::<usize>()
    }

    /// Returns true if it [waits for a person](UNREVIEWED) before agents follow it.
    pub fn is_unreviewed(&self) -> bool {
        self.attributes.contains_key(UNREVIEWED)
    }

    /// Returns the memory that it is marked to stand behind, with the key of both texts at that time.
    /// The mark holds only while [both texts](STANDS_BEHIND) are the same.
    pub fn stands_behind(&self) -> Option<(&str, MemoryId)> {
        let (key, id) = self.attributes.get(STANDS_BEHIND)?.split_once(' ')?;
        Some((key, MemoryId::new(id)))
    }

    /// Returns true if it is a summary that a language model wrote of [other memories](SUMMARY_OF).
    pub fn is_summary(&self) -> bool {
        self.attributes.contains_key(SUMMARY_OF)
    }

    /// Returns true if it is the output of a tool in a conversation.
    pub fn is_tool_output(&self) -> bool {
        let is_said_by_tool = |speaker: &String| SaidBy::of_speaker(speaker) == SaidBy::Tool;
        let is_message = self.tier == Tier::ShortTerm;
        is_message && is_said_by_tool(&self.kind)
            || self.attributes.get(SPEAKER).is_some_and(is_said_by_tool)
    }

    /// Returns who said it: as was noted, or else what the memory itself tells, because it is a
    /// message or was read from a file.
    pub fn said_by(&self) -> SaidBy {
        let speaker = self.attributes.get(SPEAKER);
        let speaker = speaker.or(Some(&self.kind).filter(|_| self.tier == Tier::ShortTerm));
        match (self.provenance.said_by, speaker) {
            (SaidBy::Unknown, Some(speaker)) => SaidBy::of_speaker(speaker),
            (SaidBy::Unknown, None) if self.attributes.contains_key(SOURCE_FILE) => SaidBy::File,
            (said_by, _) => said_by,
        }
    }

    /// Returns the path of its source file, relative to the imported folder; `None` if it has no
    /// source file, or an append-only one.
    pub fn source_path(&self) -> Option<&str> {
        self.attributes.get(SOURCE_PATH).map(String::as_str)
    }

    /// Returns the machine of its source file; it is empty for the machine that the store lies on,
    /// and for a memory without a source file.
    pub fn source_machine(&self) -> &str {
        self.attributes
            .get(SOURCE_MACHINE)
            .map_or("", String::as_str)
    }

    /// Returns the words that are indexed in addition to its text: title, tags, the references of
    /// its citations, the name of its source file without the extension, and the other
    /// [values](FRONTMATTER) of a note's frontmatter, which its reader limits. Each reference and
    /// name is truncated to [`limits::REFERENCE_INDEXED_BYTES_MAX`], because every passage carries
    /// them. Folder names are left out, because otherwise a query with the name of a folder would
    /// match every file in it.
    pub fn metadata(&self) -> Vec<String> {
        let indexed = |text: &str| {
            text[..text.floor_char_boundary(limits::REFERENCE_INDEXED_BYTES_MAX)].to_owned()
        };
        let references = self
            .citations
            .iter()
            .map(|citation| indexed(&citation.reference));
        let file = self.source_path().and_then(|path| path.rsplit('/').next());
        let stem = file.map(|name| name.rsplit_once('.').map_or(name, |(stem, _)| stem));
        let stem = stem.filter(|stem| !stem.is_empty()).map(indexed);
        self.title
            .iter()
            .chain(&self.tags)
            .cloned()
            .chain(references)
            .chain(stem)
            .chain(self.attributes.get(FRONTMATTER).cloned())
            .collect()
    }
}

/// The place where a memory is filed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Location {
    /// The project, scope or wing; `None` is global. A [conversation](Memory::conversation) is not
    /// a collection.
    pub collection: Option<String>,
    /// The type, category or room within it; the kind, if the writer named no section.
    pub section: String,
}

/// The intended lifetime of a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Tier {
    /// Durable until deleted or expired, and visible in every dialect.
    #[default]
    LongTerm,
    /// A message of a conversation: working memory, returned only to callers who ask for it.
    ShortTerm,
    /// Durable but unlisted: returned only to callers who ask for it by id or tier, and never part
    /// of a session's start.
    Unlisted,
}

names! {
    /// Every tier.
    Tier, "in stores" {
        LongTerm = "long_term",
        ShortTerm = "short_term",
        Unlisted = "apart",
    }
}

impl Tier {
    /// The tiers of messages and of memories made from them.
    pub const OF_CONVERSATIONS: [Tier; 2] = [Tier::LongTerm, Tier::ShortTerm];
}

/// A position in a conversation or file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Thread {
    /// The conversation or file, unique for its owner.
    pub name: String,
    /// The position in it, from 0. No two short-term memories of the same thread and owner share
    /// one; expired and soft-deleted ones keep theirs until they are removed.
    pub position: u64,
}

/// The status of a memory's enrichment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EnrichmentStatus {
    /// It waits to be enriched.
    Pending,
    /// It has its importance, summary and kind.
    Completed,
    /// Enrichment failed too often; the memory stays as it is.
    Failed,
}

names! {
    /// Every status.
    EnrichmentStatus, "in replies and stores" {
        Pending = "pending",
        Completed = "completed",
        Failed = "failed",
    }
}

/// A link from one memory to another, which may no longer exist.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// The other memory.
    pub target: MemoryId,
    /// The kind of link.
    pub relation: Relation,
    /// The cosine similarity of the two when the link was made; 1 for a link that a writer made.
    pub similarity: f32,
}

/// The kind of link between two memories.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Relation {
    /// It repeats the other memory.
    Reinforces,
    /// It is about the same subject.
    RelatedTo,
    /// Its text contains a link to the other memory.
    LinksTo,
    /// It stands for the other memory in searches, because that one says nothing more.
    StandsFor,
    /// It is a summary of the other memory, among others.
    Summarises,
}

names! {
    /// Every relation.
    Relation, "in replies and stores" {
        Reinforces = "reinforces",
        RelatedTo = "related_to",
        LinksTo = "links_to",
        StandsFor = "stands_for",
        Summarises = "summarises",
    }
}

/// The access count of a memory: how often it was returned to a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Access {
    /// The number of returns.
    pub count: u64,
    /// The time of the last return; `None` if it was never returned.
    pub last: Option<Timestamp>,
}

impl Access {
    /// Returns the sum of both counts with the later time.
    #[must_use]
    pub fn plus(self, other: Access) -> Access {
        Access {
            count: self.count.saturating_add(other.count),
            last: self.last.max(other.last),
        }
    }
}

/// The way in which a memory reaches an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Delivery {
    /// Only when a search finds it.
    #[default]
    OnDemand,
    /// Also at the start of every session.
    Bootstrap,
}

names! {
    /// Every delivery.
    Delivery, "in arguments and stores" {
        OnDemand = "on_demand",
        Bootstrap = "bootstrap",
    }
}

/// The access of users other than the owner to a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Visibility {
    /// No access for other users.
    Private,
    /// Everyone in the space can read it; only the owner can write it.
    Shared,
    /// Everyone in the space can read it and, with the scope `write`, write it.
    Common,
}

names! {
    /// Every visibility, the narrowest first.
    Visibility, "in arguments and stores" {
        Private = "private",
        Shared = "shared",
        Common = "common",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CitationKind;

    #[test]
    fn what_is_long_finds_a_memory_by_its_beginning() {
        let cited = |reference: &str| Citation {
            kind: CitationKind::File,
            reference: reference.to_owned(),
            locator: None,
            pin: None,
            excerpt: None,
        };
        let memory = Memory::new(
            Space::default(),
            MemoryId::new("m"),
            "text",
            "fact",
            Timestamp::MIN,
        );
        let long = "\u{e9}".repeat(limits::REFERENCE_INDEXED_BYTES_MAX);
        let citations = vec![cited("src/a.rs"), cited(&long), cited(&format!("x{long}"))];
        let memory = Memory {
            tags: vec!["tag".to_owned()],
            citations,
            ..memory
        };
        let bytes: Vec<usize> = memory.metadata().iter().map(String::len).collect();
        assert_eq!(bytes, [3, 8, 256, 255]);
    }

    #[test]
    fn what_a_tool_put_out_is_told_from_what_was_said() {
        let new = |kind: &str| {
            Memory::new(
                Space::default(),
                MemoryId::new("m"),
                "text",
                kind,
                Timestamp::MIN,
            )
        };
        let message = |kind: &str| Memory {
            tier: Tier::ShortTerm,
            ..new(kind)
        };
        let said_by = |speaker: &str| {
            let attributes = BTreeMap::from([(SPEAKER.to_owned(), speaker.to_owned())]);
            Memory {
                attributes,
                ..new("drawer")
            }
        };
        for (memory, expected) in [
            (message("tool"), true),
            (message("human"), false),
            (message("ai"), false),
            (new("tool"), false),
            (said_by("Tool"), true),
            (said_by("assistant"), false),
        ] {
            assert_eq!(memory.is_tool_output(), expected, "{memory:?}");
        }
        // A memory from before it was noted who said it.
        for (memory, expected) in [
            (message("human"), SaidBy::User),
            (message("tool"), SaidBy::Tool),
            (new("tool"), SaidBy::Unknown),
            (said_by("assistant"), SaidBy::Agent),
        ] {
            assert_eq!(memory.said_by(), expected, "{memory:?}");
            let provenance = Provenance {
                said_by: SaidBy::Web,
                ..Provenance::default()
            };
            let noted = Memory {
                provenance,
                ..memory
            };
            assert_eq!(noted.said_by(), SaidBy::Web);
        }
    }

    #[test]
    fn the_name_of_its_file_finds_a_memory_and_its_folders_do_not() {
        let memory = Memory::new(
            Space::default(),
            MemoryId::new("m"),
            "text",
            "drawer",
            Timestamp::MIN,
        );
        for (path, words) in [
            ("db/models/deletion.py", vec!["deletion"]),
            ("Makefile", vec!["Makefile"]),
            ("a/archive.tar.gz", vec!["archive.tar"]),
            ("a/.env", vec![]),
        ] {
            let attributes = BTreeMap::from([(SOURCE_PATH.to_owned(), path.to_owned())]);
            let memory = Memory {
                attributes,
                ..memory.clone()
            };
            assert_eq!(
                (memory.source_path(), memory.metadata()),
                (
                    Some(path),
                    words.iter().map(|word| (*word).to_owned()).collect()
                )
            );
        }
        assert_eq!(memory.source_path(), None);
    }

    #[test]
    fn a_title_is_among_the_words_and_the_bytes_of_a_memory() {
        let untitled = Memory::new(
            Space::default(),
            MemoryId::new("m"),
            "text",
            "fact",
            Timestamp::MIN,
        );
        let untitled = Memory {
            tags: vec!["tag".to_owned()],
            ..untitled
        };
        let titled = Memory {
            title: Some("d\u{e9}j\u{e0} vu".to_owned()),
            ..untitled.clone()
        };
        let values = BTreeMap::from([(
            FRONTMATTER.to_owned(),
            "d\u{e9}j\u{e0}\n2026-01-02\n".to_owned(),
        )]);
        let note = Memory {
            attributes: values,
            ..untitled.clone()
        };
        assert_eq!(note.metadata(), ["tag", "d\u{e9}j\u{e0}\n2026-01-02\n"]);
        assert_eq!(untitled.metadata(), ["tag"]);
        assert_eq!(titled.metadata(), ["d\u{e9}j\u{e0} vu", "tag"]);
        assert_eq!((untitled.text_bytes(), titled.text_bytes()), (7, 16));
    }

    #[test]
    fn every_relation_is_known_by_its_name() {
        for relation in Relation::ALL {
            assert_eq!(Relation::from_name(relation.name()), Some(relation));
        }
        assert_eq!(Relation::from_name("Links_To"), None);
    }
}
