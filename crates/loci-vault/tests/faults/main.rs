//! Faults that must not lose any text: killed processes, simultaneous writers, disks that are full
//! or missing.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

mod disk;
mod editors;
mod kill;
mod neighbours;
mod processes;

use std::path::Path;
use std::sync::Arc;

use loci_core::{Clock, CreateOutcome, FileSnapshot, MemoryId, Note, NoteFolder, Timestamp};
use loci_vault::VaultFolder;

/// A clock set before every file was written.
struct Early;

impl Clock for Early {
    fn now(&self) -> Timestamp {
        Timestamp::from_microseconds(0)
    }
}

/// The system clock, which shows which files are being written.
struct Wall;

impl Clock for Wall {
    #[expect(
        clippy::disallowed_methods,
        reason = "editors write at the time that it is"
    )]
    fn now(&self) -> Timestamp {
        let since = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap();
        Timestamp::from_microseconds(i64::try_from(since.as_micros()).unwrap())
    }
}

/// Random numbers from a seed (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % end as u64) as usize
    }
}

/// Returns the notes in a folder, with their lock beside them.
fn vault(place: &Path) -> VaultFolder {
    VaultFolder::new(place.join("notes"), place.join("lock"), Arc::new(Early))
}

fn note(number: usize, title: &str, body: &str) -> Note {
    let id = format!("019aa3c4-5f0e-7000-8000-{number:012}");
    Note {
        id: Some(MemoryId::new(id)),
        title: Some(title.to_owned()),
        body: body.to_owned(),
        ..Note::default()
    }
}

/// Writes a new note; returns its path.
fn create(vault: &VaultFolder, note: &Note) -> String {
    let CreateOutcome::New(path, _) = vault.create(note, false).unwrap() else {
        panic!("it was there before")
    };
    path
}

fn read(vault: &VaultFolder, path: &str) -> FileSnapshot {
    vault
        .read(path)
        .unwrap()
        .unwrap_or_else(|| panic!("{path} is gone"))
}

fn said(read: &FileSnapshot) -> &Note {
    &read
        .content
        .as_ref()
        .unwrap_or_else(|| panic!("{read:?}"))
        .note
}

/// Returns all names in the folder, including hidden files.
fn files(place: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(place.join("notes")).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
