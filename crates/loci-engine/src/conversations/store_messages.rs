//! Storing the messages of a conversation.

use loci_core::{
    Change, Condition, EnrichmentStatus, Error, ErrorCode, Expect, Location, Memory, MemoryId,
    Passage, Provenance, Redactions, Result, SaidBy, Scope, Thread, Tier, Timestamp, limits,
};
use loci_text::{document, indexed};

use crate::check;
use crate::conversations::Conversations;
use crate::engine::SearchMode;
use crate::memories::remember::distinct;
use crate::quantisation::quantise;

/// The initial weight of a message, and of the long-term memory made from it.
pub(crate) const INITIAL_WEIGHT: f64 = 0.5;
/// Characters up to which a human message is not worth a long-term memory.
const SHORT_CHARACTERS_MAX: usize = 30;
/// The most passages of one call that are embedded before its acknowledgement: a third of a second.
const PASSAGES_EMBEDDED_AT_ONCE_MAX: usize = 32;

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// A person, whose messages may become long-term memories.
    Human,
    /// The assistant.
    Assistant,
    /// Instructions.
    System,
    /// The result of a tool.
    Tool,
}

impl Role {
    /// Returns who says such a message.
    pub(crate) const fn said_by(self) -> SaidBy {
        match self {
            Role::Human => SaidBy::User,
            Role::Assistant | Role::System => SaidBy::Agent,
            Role::Tool => SaidBy::Tool,
        }
    }

    /// Returns the kind of a memory that is such a message.
    pub const fn name(self) -> &'static str {
        match self {
            Role::Human => "human",
            Role::Assistant => "ai",
            Role::System => "system",
            Role::Tool => "tool",
        }
    }
}

/// A message.
#[derive(Debug, Clone)]
pub struct Message {
    /// The author.
    pub role: Role,
    /// The text, stored byte for byte.
    pub content: String,
    /// Tags; repeated ones count once.
    pub tags: Vec<String>,
}

/// Messages of one conversation, in order.
pub struct Conversation<'a> {
    /// Its name, unique for the caller.
    pub thread: String,
    /// The messages.
    pub messages: Vec<Message>,
    /// Makes an id for each memory, in the caller's format.
    pub mint: &'a dyn Fn() -> MemoryId,
}

/// The result of storing messages; durable when this exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredMessages {
    /// The ids of the messages, in order.
    pub ids: Vec<MemoryId>,
    /// The reason why search by meaning does not find all messages yet, in a sentence; `None` if it
    /// does.
    pub pending: Option<String>,
}

/// A message before it is stored.
struct NewMessage {
    /// The memory without its thread, whose position is known when it is stored.
    memory: Memory,
    /// The id of the long-term memory that is made from it.
    candidate: Option<MemoryId>,
    /// The index data of both.
    passages: Vec<Passage>,
}

impl Conversations<'_> {
    /// Stores messages as private short-term memories of the caller, all or none, which expire
    /// after `message_ttl_seconds` of the [`Policy`](crate::Policy). A human message longer than 30
    /// characters also becomes a long-term memory with the same content and tags, pending
    /// enrichment.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large`, naming `conversation_id` or `messages`, if something
    /// exceeds its limits; `forbidden` for an anonymous caller; `conflict` if the caller's data was
    /// wiped since the call started; `unavailable` if the store cannot be written. Then nothing was
    /// stored.
    pub fn store_messages(&self, conversation: Conversation<'_>) -> Result<StoredMessages> {
        let since = self.store.version(&self.caller.space)?;
        let Conversation {
            thread,
            mut messages,
            mint,
        } = conversation;
        let found: Vec<Redactions> = messages
            .iter_mut()
            .map(|message| self.redact_message(message))
            .collect();
        self.redaction.check_name("conversation_id", &thread)?;
        check_messages(&messages)?;
        let owner = self.caller.subject()?;
        let now = self.clock.now();
        let mut said: Vec<NewMessage> = messages
            .into_iter()
            .map(|message| self.new_message(message, mint, now))
            .collect();
        for (said, found) in said.iter_mut().zip(found) {
            found.write_to(&mut said.memory.attributes);
        }
        let pending = self.embed_messages(&mut said);
        let unwiped = Condition::NotWiped {
            owner: owner.to_owned(),
            origin: self.caller.origin.to_owned(),
            since,
        };

        let _exclusive = self.locks.lock(&(&self.caller.space, owner, &thread));
        let mut begin = self.store.thread_end(&self.caller.space, owner, &thread)?;
        loop {
            let changes = changes(&said, &thread, begin, now);
            match self.access.commit_if(vec![unwiped.clone()], changes) {
                Ok(()) => break,
                Err(error) if error.code == ErrorCode::Conflict => {
                    let end = self.store.thread_end(&self.caller.space, owner, &thread)?;
                    // No other process took the positions, so the data was wiped.
                    if end <= begin {
                        return Err(error);
                    }
                    begin = end;
                }
                Err(error) => return Err(error),
            }
        }
        if said.iter().any(|said| said.candidate.is_some()) {
            self.to_enrich.ring();
        }
        if pending.is_some() {
            self.to_embed.ring();
        }
        Ok(StoredMessages {
            ids: said.into_iter().map(|said| said.memory.id).collect(),
            pending,
        })
    }

    /// Removes the secrets from a message, if the scope covers what callers write; returns the
    /// redactions.
    fn redact_message(&self, message: &mut Message) -> Redactions {
        let mut found = Redactions::default();
        for text in std::iter::once(&mut message.content).chain(&mut message.tags) {
            let redacted = self.redaction.redact_stored(text);
            found.add_all(&redacted.found());
            *text = redacted.text.into_owned();
        }
        found
    }

    fn new_message(
        &self,
        message: Message,
        mint: &dyn Fn() -> MemoryId,
        now: Timestamp,
    ) -> NewMessage {
        let Message {
            role,
            content,
            tags,
        } = message;
        let tags = distinct(tags);
        let passages = indexed::of_text(
            &content,
            &tags,
            &document::marks_of_origin(None, role == Role::Tool),
            now,
        );
        let is_candidate = role == Role::Human && content.chars().count() > SHORT_CHARACTERS_MAX;
        let ttl_seconds = i64::try_from(self.policy.message_ttl_seconds).unwrap_or(i64::MAX);
        let memory = Memory {
            // The conversation is the thread and not a collection.
            location: Location {
                collection: None,
                section: "message".to_owned(),
            },
            tags,
            weight: INITIAL_WEIGHT,
            tier: Tier::ShortTerm,
            origin: self.caller.origin.to_owned(),
            owner: self.caller.principal.subject.clone(),
            actor: self.caller.principal.actor.clone(),
            by_admin: self.caller.principal.scopes.allow(Scope::Admin),
            provenance: Provenance {
                said_by: role.said_by(),
                ..self.caller.provenance()
            },
            expires_at: Some(now.plus_seconds(ttl_seconds)),
            ..Memory::new(self.caller.space.clone(), mint(), content, role.name(), now)
        };
        NewMessage {
            memory,
            candidate: is_candidate.then(mint),
            passages,
        }
    }

    /// Embeds the messages before the acknowledgement, unless they are too many; then words find
    /// them at once, and the background embeds them. Returns the reason why search by meaning has
    /// to wait.
    fn embed_messages(&self, said: &mut [NewMessage]) -> Option<String> {
        if self.search_mode == SearchMode::Words {
            return None;
        }
        let passages: usize = said.iter().map(|said| said.passages.len()).sum();
        if passages > PASSAGES_EMBEDDED_AT_ONCE_MAX {
            let (messages, passages) = (said.len(), passages);
            return Some(format!(
                "the {messages} messages ({passages} passages) are being embedded in the background"
            ));
        }
        let texts = said.iter().flat_map(|said| {
            said.passages
                .iter()
                .map(|passage| (None, said.memory.content.as_str(), passage))
        });
        match self.models.passage_vectors(texts) {
            Ok(vectors) => {
                let passages = said.iter_mut().flat_map(|said| &mut said.passages);
                for (passage, vector) in passages.zip(vectors) {
                    passage.vector = Some(quantise(&vector));
                }
                None
            }
            Err(error) => {
                tracing::warn!(%error, "messages are stored without their embeddings");
                Some(error.message)
            }
        }
    }
}

fn check_messages(messages: &[Message]) -> Result<()> {
    if messages.is_empty() || messages.len() > limits::MESSAGES_MAX {
        let problem = format!(
            "must hold 1 to {} messages, not {}",
            limits::MESSAGES_MAX,
            messages.len()
        );
        return Err(Error::invalid("messages", problem));
    }
    for (index, message) in messages.iter().enumerate() {
        check::content(&format!("messages.{index}.content"), &message.content)?;
        check::tags(&format!("messages.{index}.tags"), &message.tags)?;
    }
    Ok(())
}

/// Returns the changes that store the messages and their long-term memories, beginning at this
/// position of the thread.
fn changes(said: &[NewMessage], thread: &str, begin: u64, now: Timestamp) -> Vec<Change> {
    let mut changes = Vec::with_capacity(said.len() * 3 + 1);
    for (said, position) in said.iter().zip(begin..) {
        let mut put = |memory: Memory| {
            let passages = Some(said.passages.clone());
            changes.push(Change::Put {
                memory: Box::new(memory),
                passages,
                expect: Expect::Absent,
            });
        };
        let message = Memory {
            thread: Some(Thread {
                name: thread.to_owned(),
                position,
            }),
            ..said.memory.clone()
        };
        let Some(id) = &said.candidate else {
            put(message);
            continue;
        };
        let candidate = Memory {
            id: id.clone(),
            location: Location {
                section: "other".to_owned(),
                ..message.location.clone()
            },
            kind: "other".to_owned(),
            tier: Tier::LongTerm,
            source: Some(message.id.clone()),
            enrichment: Some(EnrichmentStatus::Pending),
            expires_at: None,
            ..message.clone()
        };
        put(message);
        put(candidate);
        changes.push(Change::Enqueue {
            memory: id.clone(),
            due_at: now,
        });
    }
    changes
}
