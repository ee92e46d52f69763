//! Files of notes: what is read of any bytes can be written back changed, and then reads as what
//! was written, or stays as it is; every byte that the change does not concern stays.

use std::sync::Arc;

use crate::folder;
use loci_core::{Error, ErrorCode, Note, NoteFolder};
use loci_testkit::FixedClock;
use loci_vault::VaultFolder;

pub(crate) fn run(data: &[u8]) {
    let root = folder();
    let notes = root.path().join("notes");
    std::fs::create_dir(&notes).unwrap();
    std::fs::write(notes.join("note.md"), data).unwrap();
    let vault = VaultFolder::new(
        notes.clone(),
        root.path().join("lock"),
        Arc::new(FixedClock::default()),
    );
    let read = vault
        .read("note.md")
        .expect("a file that is there can be read")
        .expect("it is there");
    let Some(content) = read.content else {
        assert!(
            read.problem.is_some(),
            "what is no note has a problem that says why"
        );
        return;
    };
    // Where it cannot be told what a change would lose, it is refused, and the file stays.
    let is_refused = |error: &Error, before: &[u8]| {
        assert_eq!(error.code, ErrorCode::Conflict, "{}", error.message);
        assert_eq!(std::fs::read(notes.join("note.md")).unwrap(), before);
    };
    // As it is.
    let _lock = vault.lock().unwrap();
    let same = match vault.rewrite("note.md", &read.hash, &content.note) {
        Ok(same) => same,
        Err(error) => {
            assert!(
                read.problem.is_some(),
                "what reads without a problem says what it says: {}",
                error.message
            );
            return is_refused(&error, data);
        }
    };
    let again = same.content.expect("what was written reads");
    assert_eq!(again.note, content.note);
    // With another tag; the body is no part of that.
    let tags = vec!["fuzz".to_owned()];
    let changed = Note {
        tags: tags.clone(),
        ..again.note.clone()
    };
    let before = std::fs::read(notes.join("note.md")).unwrap();
    let after = match vault.rewrite("note.md", &same.hash, &changed) {
        Ok(after) => after,
        Err(error) => return is_refused(&error, &before),
    };
    let after = after.content.expect("what was written reads");
    assert_eq!(
        (after.note.tags, &after.note.body),
        (tags, &again.note.body)
    );
    // Ends of lines in the file stay as they are; a note has its own.
    let file = std::fs::read_to_string(notes.join("note.md")).unwrap();
    assert!(
        file.contains('\r') || file.contains(&again.note.body),
        "the body stands in the file"
    );
}
