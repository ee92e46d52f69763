//! Transcripts of conversations: whole or part by part, what is said comes back, in the text of the
//! file where that is plain, and reading on from a mark leaves nothing out.

use std::path::Path;

use crate::folder;
use loci_mine::conversation::{self, Utterance};
use loci_mine::project::{Project, is_absolute};

/// Bytes of a part: a few lines.
const PART_BYTES: u64 = 512;
const PARTS_MAX: usize = 10_000;
/// The beginning of a database of SQLite.
const DATABASE: &[u8] = b"SQLite format 3\0";

pub(crate) fn run(data: &[u8]) {
    let root = folder();
    // Slack's form is known by its folders, the others by what is in them.
    let Some((choice, data)) = data.split_first() else {
        return;
    };
    let name = [
        "t.jsonl",
        "conversations.json",
        "general/2026-01-31.json",
        "t.txt",
        "t.json",
    ][usize::from(choice % 5)];
    let path = root.path().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, data).unwrap();
    let folder = conversation::folder(&path).expect("a file that is there can be read");
    if let Some(folder) = folder.filter(|folder| is_absolute(folder)) {
        let project = Project::of(Path::new(&folder));
        assert!(!project.name.is_empty() && project.place.starts_with('/'));
    }
    let whole = match conversation::read(&path, None, u64::MAX) {
        // One that only starts as a database does is damaged.
        Err(_) if data.starts_with(DATABASE) => return,
        whole => whole.expect("a file that is there can be read"),
    };
    let Some(whole) = whole else { return };
    let said = |transcript: &conversation::Transcript| -> Vec<Utterance> {
        transcript
            .conversations
            .iter()
            .flat_map(|conversation| conversation.messages.clone())
            .collect()
    };
    for message in said(&whole.transcript) {
        assert!(!message.text.is_empty());
    }
    let format = whole.transcript.format;
    if !format.grows() || whole.transcript.has_more {
        return;
    }
    let (mut parts, mut mark) = (Vec::new(), None);
    for _ in 0..PARTS_MAX {
        let Some(reading) = conversation::read(&path, mark, PART_BYTES).unwrap() else {
            break;
        };
        assert!(
            reading.is_from_start == mark.is_none(),
            "a file that did not change is read on"
        );
        parts.extend(said(&reading.transcript));
        let next = Some(reading.transcript.mark);
        assert!(
            next != mark || !reading.transcript.has_more,
            "reading on comes forward"
        );
        mark = next;
        if !reading.transcript.has_more {
            break;
        }
    }
    // A message that was written again while it grew is in the parts as often as it was read.
    let mut rest = parts.iter();
    let mut is_in_parts = |message: &Utterance| rest.any(|part| part.text == message.text);
    assert!(
        said(&whole.transcript).iter().all(&mut is_in_parts),
        "part by part as in one go"
    );
}
