//! The one record that every dialect reads and writes.

use std::collections::BTreeMap;

use crate::{
    Caller, Citation, Error, MemoryId, Principal, Result, SOURCE_PATH, Scope, Space, Timestamp,
    limits,
};

/// The weight of a memory whose writer names none.
const WEIGHT_DEFAULT: f64 = 0.5;
/// How far from 0 a similarity may be: a cosine, with what quantisation adds to it.
const SIMILARITY_MAX: f32 = 1.1;

/// The attribute of a memory that says who said it, in a conversation that was read from a file.
pub const SPEAKER: &str = "speaker";
/// Who speaks where a tool does: the kind of such a message, or its speaker.
const TOOL_SPEAKERS: [&str; 4] = ["tool", "function", "tool result", "tool output"];

/// The name that stands for a caller without one.
pub const ANONYMOUS: &str = "anonymous";

/// One memory. `(space, id)` is its key.
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
    /// Where it is filed.
    pub location: Location,
    /// What it is: `fact`, `rule`, `decision`, ...
    pub kind: String,
    /// Its gist, where somebody or something wrote one.
    pub summary: Option<String>,
    /// Labels, in the order given, each at most once.
    pub tags: Vec<String>,
    /// Confidence, priority or importance, 0 to 1.
    pub weight: f64,
    /// Whether it is durable or the working memory of a conversation.
    pub tier: Tier,
    /// The conversation or file that it is a part of.
    pub thread: Option<Thread>,
    /// The memory that it was made from.
    pub source: Option<MemoryId>,
    /// How far the background has come with it; none if it has nothing to do.
    pub enrichment: Option<EnrichmentStatus>,
    /// The memories that it is tied to, nearest first.
    pub links: Vec<Link>,
    /// What it rests on, in the order given.
    pub citations: Vec<Citation>,
    /// What else its writer said of it, by name: its repository, who said it, and the like.
    pub attributes: BTreeMap<String, String>,
    /// How often it was returned. Stores keep it apart ([`Store::touch`](crate::Store::touch)); it
    /// is ignored on writing.
    pub access: Access,
    /// Whether a session start reads it or only a search finds it.
    pub delivery: Delivery,
    /// The tool set that it came in through: a name that stores and engine compare and never read.
    pub origin: String,
    /// Who wrote it; none if the caller was anonymous.
    pub owner: Option<String>,
    /// The name under which the writer acted, for people; none if that is the owner.
    pub actor: Option<String>,
    /// The subject who wrote the text that it has now, if that is not the owner; [`ANONYMOUS`] for
    /// a caller without a name.
    pub updated_by: Option<String>,
    /// Whether an administrator wrote the text that it has now: a caller with the scope `admin`, or
    /// a person in a file of the folder of notes. The engine sets it, and no argument does.
    pub by_admin: bool,
    /// Who else may read and write it.
    pub visibility: Visibility,
    /// The memory that this one replaces.
    pub supersedes: Option<MemoryId>,
    /// The newest live memory that replaces this one. Stores derive it; it is ignored on writing.
    pub superseded_by: Option<MemoryId>,
    /// When it vanishes from every read; never, if none.
    pub expires_at: Option<Timestamp>,
    /// Since when it counts as deleted: everybody but those who ask for forgotten memories reads as
    /// if it were gone. It stays until somebody deletes it; a note can be brought back, in its
    /// file.
    pub forgotten_at: Option<Timestamp>,
    /// When it was first stored.
    pub created_at: Timestamp,
    /// When its text last changed.
    pub updated_at: Timestamp,
    /// Counts the changes of this record, from 1; guards against lost updates.
    pub revision: u64,
}

impl Memory {
    /// A new memory of nobody: long-term, private, in no collection, with its kind as its section.
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

    /// The name of who wrote the text that it has now: [`ANONYMOUS`], if that was a caller without
    /// one.
    pub fn writer(&self) -> &str {
        self.updated_by
            .as_deref()
            .or(self.owner.as_deref())
            .unwrap_or(ANONYMOUS)
    }

    /// Notes that this caller wrote the text that it has now.
    pub fn set_writer(&mut self, caller: &Caller) {
        let Principal {
            subject, scopes, ..
        } = &caller.principal;
        let is_owner = *subject == self.owner;
        self.updated_by =
            (!is_owner).then(|| subject.clone().unwrap_or_else(|| ANONYMOUS.to_owned()));
        self.by_admin = scopes.allow(Scope::Admin);
    }

    /// Whether a [wipe](crate::Store::wipe) of its owner removes it: all but what is common, and
    /// messages with what was made of them in any case.
    pub fn goes_with_owner(&self) -> bool {
        self.visibility != Visibility::Common || self.is_of_conversation()
    }

    /// Whether it is a message of a conversation, or was made from one.
    pub fn is_of_conversation(&self) -> bool {
        self.tier == Tier::ShortTerm || self.enrichment.is_some()
    }

    /// The name of the conversation that it is a message of or was made from; none if it came in
    /// otherwise.
    pub fn conversation(&self) -> Option<&str> {
        self.thread
            .as_ref()
            .filter(|_| self.is_of_conversation())
            .map(|thread| thread.name.as_str())
    }

    /// Whether it has not expired at `now`.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.expires_at.is_none_or(|expires_at| expires_at > now)
    }

    /// Whether its numbers are such as any store keeps and any ranking can reckon with.
    ///
    /// # Errors
    /// `invalid_argument` if the weight is not from 0 to 1, or a similarity of a link is no cosine.
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

    /// Bytes of UTF-8 in all that it says: what a reply has to carry.
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

    /// Whether it is what a tool put out in a conversation, rather than something said.
    pub fn is_tool_output(&self) -> bool {
        let is_said_by_tool = |speaker: &String| {
            TOOL_SPEAKERS
                .iter()
                .any(|tool| speaker.eq_ignore_ascii_case(tool))
        };
        let is_message = self.tier == Tier::ShortTerm;
        is_message && is_said_by_tool(&self.kind)
            || self.attributes.get(SPEAKER).is_some_and(is_said_by_tool)
    }

    /// The path of the file that it was made from, from the folder that was read with it; none if
    /// it was made otherwise, or from a file that only grows.
    pub fn source_path(&self) -> Option<&str> {
        self.attributes.get(SOURCE_PATH).map(String::as_str)
    }

    /// The words beside its text by which it is found: its title, its tags, what its citations
    /// refer to and the name of its file without the ending, of each as much as
    /// [`limits::REFERENCE_INDEXED_BYTES_MAX`], since every passage carries them. The folders of
    /// that file are none of them: else all that is in a folder would fit a question with its name.
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
            .collect()
    }
}

/// Where a memory is filed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Location {
    /// Project, scope or wing; none is global. A [conversation](Memory::conversation) is none of
    /// them.
    pub collection: Option<String>,
    /// Type, category or room within it; the kind, where the writer named none.
    pub section: String,
}

/// How long a memory is meant to last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Tier {
    /// For good, or until it expires: what every dialect shows.
    #[default]
    LongTerm,
    /// A message of a conversation: working memory, shown to those alone who ask for it.
    ShortTerm,
    /// For good, and apart from the rest: shown to those alone who ask for it, by its id or its
    /// tier. Never a part of a session's start.
    Unlisted,
}

impl Tier {
    /// Every tier.
    pub const ALL: [Tier; 3] = [Tier::LongTerm, Tier::ShortTerm, Tier::Unlisted];
    /// The tiers of what people and agents say to each other, and of what is made from it.
    pub const OF_CONVERSATIONS: [Tier; 2] = [Tier::LongTerm, Tier::ShortTerm];

    /// The word for it in stores.
    pub const fn name(self) -> &'static str {
        match self {
            Tier::LongTerm => "long_term",
            Tier::ShortTerm => "short_term",
            Tier::Unlisted => "apart",
        }
    }

    /// The tier with that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Tier::ALL.into_iter().find(|tier| tier.name() == name)
    }
}

/// A place in something that has an order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Thread {
    /// The conversation or file, unique among those of one owner.
    pub name: String,
    /// The order in it, from 0. No two short-term memories of one owner's thread have the same;
    /// expired and softly deleted ones keep theirs until they are removed.
    pub position: u64,
}

/// How far the background has come with a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EnrichmentStatus {
    /// It waits for its turn.
    Pending,
    /// It has its importance, summary and kind.
    Completed,
    /// It was tried too often in vain and keeps what it has.
    Failed,
}

impl EnrichmentStatus {
    /// Every status.
    pub const ALL: [EnrichmentStatus; 3] = [
        EnrichmentStatus::Pending,
        EnrichmentStatus::Completed,
        EnrichmentStatus::Failed,
    ];

    /// The word for it in replies and stores.
    pub const fn name(self) -> &'static str {
        match self {
            EnrichmentStatus::Pending => "pending",
            EnrichmentStatus::Completed => "completed",
            EnrichmentStatus::Failed => "failed",
        }
    }

    /// The status with that name.
    pub fn from_name(name: &str) -> Option<Self> {
        EnrichmentStatus::ALL
            .into_iter()
            .find(|status| status.name() == name)
    }
}

/// A tie from one memory to another, which may be gone.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// The other memory.
    pub target: MemoryId,
    /// What the tie is.
    pub relation: Relation,
    /// Cosine of the two when it was made; 1 for a tie that somebody wrote.
    pub similarity: f32,
}

/// What ties a memory to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Relation {
    /// It says the same again.
    Reinforces,
    /// It is about the same.
    RelatedTo,
    /// Its text names the other one as a link.
    LinksTo,
}

impl Relation {
    /// Every relation.
    pub const ALL: [Relation; 3] = [Relation::Reinforces, Relation::RelatedTo, Relation::LinksTo];

    /// The word for it in replies and stores.
    pub const fn name(self) -> &'static str {
        match self {
            Relation::Reinforces => "reinforces",
            Relation::RelatedTo => "related_to",
            Relation::LinksTo => "links_to",
        }
    }

    /// The relation with that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Relation::ALL
            .into_iter()
            .find(|relation| relation.name() == name)
    }
}

/// How often a memory was returned to somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Access {
    /// How often.
    pub count: u64,
    /// When last; none if never.
    pub last: Option<Timestamp>,
}

impl Access {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Access) -> Access {
        Access {
            count: self.count.saturating_add(other.count),
            last: self.last.max(other.last),
        }
    }
}

/// When a memory reaches an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Delivery {
    /// When a search finds it.
    #[default]
    OnDemand,
    /// At the start of every session, besides.
    Bootstrap,
}

impl Delivery {
    /// The word for it in arguments and stores.
    pub const fn name(self) -> &'static str {
        match self {
            Delivery::OnDemand => "on_demand",
            Delivery::Bootstrap => "bootstrap",
        }
    }

    /// The delivery with that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Delivery::OnDemand, Delivery::Bootstrap]
            .into_iter()
            .find(|delivery| delivery.name() == name)
    }
}

/// Who besides the owner may read and write a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Visibility {
    /// Nobody.
    Private,
    /// Everyone in the space reads, the owner writes.
    Shared,
    /// Everyone in the space reads and, with the scope `write`, writes.
    Common,
}

impl Visibility {
    /// The word for it in arguments and stores.
    pub const fn name(self) -> &'static str {
        match self {
            Visibility::Private => "private",
            Visibility::Shared => "shared",
            Visibility::Common => "common",
        }
    }

    /// The visibility with that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Visibility::Private, Visibility::Shared, Visibility::Common]
            .into_iter()
            .find(|visibility| visibility.name() == name)
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
