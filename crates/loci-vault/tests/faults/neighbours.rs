//! Several instances of loci, each with its own store, write to one folder: in containers, or on
//! several machines.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::thread;

use loci_core::{Note, NoteFolder};
use loci_vault::VaultFolder;

use crate::processes::{as_child, child, heard, tell_parent};
use crate::{Early, create, files, note, read, said, vault};

const WRITES: usize = 60;
const NAMES: [&str; 2] = ["one", "two"];

#[test]
fn locks_of_one_path_in_two_places_leave_each_other_alone() {
    let place = tempfile::tempdir().unwrap();
    let children = NAMES.map(|name| {
        let home = place.path().join(name);
        fs::create_dir(&home).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.current_dir(home);
        child(command, "neighbours::child_that_writes", place.path(), name)
    });
    let readers = children.map(|mut child| {
        thread::spawn(move || {
            let lines = heard(&mut child).count();
            (lines, child.wait().unwrap().success())
        })
    });
    for reader in readers {
        assert_eq!(reader.join().unwrap(), (1, true));
    }
    assert_eq!(files(place.path()), ["one.md", "two.md"]);
    for name in NAMES {
        let vault = vault(place.path());
        assert_eq!(
            said(&read(&vault, &format!("{name}.md"))).body,
            format!("{name} {WRITES}")
        );
    }
}

#[test]
fn child_that_writes() {
    let Some((place, name)) = as_child() else {
        return;
    };
    // Created again each time, so that each instance looks for files left by a crash.
    let vault = || {
        VaultFolder::new(
            place.join("notes"),
            Path::new("lock").to_owned(),
            Arc::new(Early),
        )
    };
    let number = NAMES.iter().position(|known| *known == name).unwrap();
    let path = create(&vault(), &note(number, &name, "begin"));
    for version in 1..=WRITES {
        let vault = vault();
        let _lock = vault.lock().unwrap();
        let read = read(&vault, &path);
        let body = format!("{name} {version}");
        vault
            .rewrite(
                &path,
                &read.hash,
                &Note {
                    body,
                    ..said(&read).clone()
                },
            )
            .unwrap();
    }
    tell_parent("done");
}
