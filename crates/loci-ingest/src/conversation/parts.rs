//! The parts of a conversation, one for each message.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use loci_core::{MemoryId, RedactedText, Redactions, SPEAKER, SourceFile, limits};
use loci_dialects::mempalace;
use loci_engine::{SourcePart, check};
use loci_mine::conversation::{self, Conversation, Format, Utterance};
use loci_text::enrichment::kind_of;

/// The room of the messages.
pub const ROOM: &str = mempalace::CONVERSATIONS;
/// The attribute with the title of the conversation.
const CONVERSATION: &str = "conversation";
/// The character in place of NUL, because no drawer may have one.
const REPLACEMENT: &str = "\u{fffd}";
/// The speakers in every conversation with a model; only others become a title.
const USUAL_SPEAKERS: [&str; 2] = ["user", "assistant"];

/// Returns the bytes of all messages.
pub(super) fn bytes_said(conversations: &[Conversation]) -> usize {
    conversations
        .iter()
        .flat_map(|conversation| &conversation.messages)
        .map(|said| said.text.len())
        .sum()
}

/// The parts of a conversation.
pub(super) struct ConversationParts {
    pub(super) parts: Vec<SourcePart>,
    /// The number of messages with characters that no drawer may have, which were replaced.
    pub(super) repairs: u64,
    /// The secrets that were redacted in the messages.
    pub(super) redacted: Redactions,
}

/// Makes a part for each message, or for each piece of one that is too long for a drawer, after
/// `redact`.
pub(super) fn parts_of(
    file: &SourceFile,
    counted: u64,
    conversation: Conversation,
    redact: &dyn Fn(&str) -> RedactedText<'static>,
) -> ConversationParts {
    let Conversation {
        id,
        title,
        folder: _,
        messages,
    } = conversation;
    let title = title.map(|title| redact(&title).text.into_owned());
    let thread = match id.chars().next() {
        None => file.thread(),
        // It has no id that a later export also has.
        Some('#') => format!("{}{id}", file.thread()),
        Some(_) => format!("{}:{id}", file.format),
    };
    // A session that is read on may have an id, which it shares with a chat in a database.
    let first = if id.is_empty() || shared_thread(file).is_some() {
        counted
    } else {
        0
    };
    let mut made = ConversationParts {
        parts: Vec::new(),
        repairs: 0,
        redacted: Redactions::default(),
    };
    for Utterance { speaker, at, text } in messages {
        let RedactedText { text, removed } = redact(&text);
        let text = if text.contains('\0') {
            made.repairs += 1;
            Cow::Owned(text.replace('\0', REPLACEMENT))
        } else {
            text
        };
        let found = Redactions::of(&removed);
        made.redacted.add_all(&found);
        let known = [(SPEAKER, Some(&speaker)), (CONVERSATION, title.as_ref())];
        let known = known
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)));
        let known = known.filter(|(name, value)| check::reference(name, value).is_ok());
        let mut attributes: BTreeMap<String, String> = known
            .map(|(name, value)| (name.to_owned(), value.clone()))
            .collect();
        found.write_to(&mut attributes);
        for content in pieces(&text) {
            made.parts.push(SourcePart {
                thread: thread.clone(),
                position: first + made.parts.len() as u64,
                content: content.to_owned(),
                section: ROOM.to_owned(),
                kind: kind(content),
                title: is_title(&speaker).then(|| speaker.clone()),
                attributes: attributes.clone(),
                created_at: at,
            });
            // Only the first piece counts them.
            attributes.remove(Redactions::ATTRIBUTE);
        }
    }
    made
}

/// Returns the thread of a session of Cursor, which the database of its editor may have, too; `None` for any
/// other file.
pub(super) fn shared_thread(file: &SourceFile) -> Option<String> {
    let is_own = file.format == Format::Cursor.name();
    let session = is_own.then(|| conversation::session(Path::new(&file.path)))??;
    Some(format!("{}:{session}", file.format))
}

/// Returns true if a message is the same in every transcript: what one speaker said at one moment. Of
/// a message in an export, the conversation tells that; a piece of a long one may be like another.
pub(super) fn is_known_by_time(file: &SourceFile, part: &SourcePart) -> bool {
    let is_piece = part.content.len() > limits::CONTENT_BYTES_MAX - char::MAX.len_utf8();
    part.created_at.is_some() && part.thread == file.thread() && !is_piece
}

/// Returns the id of a part. That of a message which is [known by its
/// time](is_known_by_time) does not tell in which transcript it stands, so that a fork and what it
/// was forked from have it once.
pub(super) fn id_of(file: &SourceFile, part: &SourcePart, number: u64) -> MemoryId {
    let at = part.created_at.filter(|_| is_known_by_time(file, part));
    let Some(at) = at else {
        return crate::id_of(file, part, number);
    };
    let wing = file.collection.as_deref().unwrap_or(mempalace::GLOBAL_WING);
    let speaker = part.attributes.get(SPEAKER).map_or("", String::as_str);
    let said = format!("said by {speaker} at {}", at.microseconds());
    // The upper half counts the attempts at an id that is taken, the lower one is the position.
    mempalace::mined_drawer_id(
        wing,
        &part.section,
        &said,
        &part.content,
        number >> u32::BITS,
    )
}

/// Returns true if the name of a speaker is worth searching for.
fn is_title(speaker: &str) -> bool {
    !USUAL_SPEAKERS.contains(&speaker) && check::name("speaker", speaker).is_ok()
}

/// Returns the text, or the pieces that together make a too long text, without blank ones.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    let pieces = std::iter::from_fn(move || {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(limits::CONTENT_BYTES_MAX));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    });
    pieces.filter(|piece| !piece.trim().is_empty())
}

/// Returns the kind that the local rules find for a message, or `drawer`.
fn kind(text: &str) -> String {
    match kind_of(text) {
        "question" | "task" | "other" => "drawer".to_owned(),
        kind => kind.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loci_core::{ContentHash, FileStamp};

    #[test]
    fn a_conversation_is_a_thread_with_its_title() {
        let file = |machine: &str| SourceFile {
            machine: machine.to_owned(),
            collection: None,
            path: "/t/a.json".to_owned(),
            root: "/t".to_owned(),
            format: Format::ClaudeAi.name().to_owned(),
            stamp: FileStamp {
                bytes: 0,
                modified_nanoseconds: 0,
            },
            bytes_read: 0,
            hash: ContentHash([0; 32]),
            parts: 0,
            is_pending: false,
            is_whole: false,
        };
        let long = "a".repeat(limits::CONTENT_BYTES_MAX);
        for (machine, id, thread, first) in [
            ("", "", "/t/a.json", 7),
            ("", "#2", "/t/a.json#2", 0),
            ("", "uuid", "claude-ai:uuid", 0),
            ("laptop", "", "laptop:/t/a.json", 7),
            ("laptop", "#2", "laptop:/t/a.json#2", 0),
            // An export is the same on every machine.
            ("laptop", "uuid", "claude-ai:uuid", 0),
        ] {
            let texts = [
                "one".to_owned(),
                " ".to_owned(),
                "a\0b".to_owned(),
                format!("{long}two\n"),
            ];
            let said = |text: &String| Utterance {
                speaker: "ann".to_owned(),
                at: None,
                text: text.clone(),
            };
            let conversation = Conversation {
                id: id.to_owned(),
                title: Some("Knots".to_owned()),
                folder: None,
                messages: texts.iter().map(said).collect(),
            };
            let ConversationParts { parts, repairs, .. } =
                parts_of(&file(machine), 7, conversation, &|text| {
                    RedactedText::unchanged(text).into_owned()
                });
            let found: Vec<(&str, u64)> = parts
                .iter()
                .map(|part| (part.content.as_str(), part.position))
                .collect();
            assert_eq!(
                found,
                [
                    ("one", first),
                    ("a\u{fffd}b", first + 1),
                    (long.as_str(), first + 2),
                    ("two\n", first + 3)
                ]
            );
            assert_eq!(repairs, 1);
            for SourcePart {
                thread: of,
                title,
                attributes,
                ..
            } in parts
            {
                let known = [(CONVERSATION, "Knots"), (SPEAKER, "ann")];
                let known = known.map(|(name, value)| (name.to_owned(), value.to_owned()));
                assert_eq!(
                    (of.as_str(), title.as_deref(), attributes),
                    (thread, Some("ann"), BTreeMap::from(known))
                );
            }
        }
    }
}
