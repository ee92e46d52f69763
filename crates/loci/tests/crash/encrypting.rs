//! `loci encrypt`, `--rotate` and `decrypt` killed, or refused by the disk, at each operation on a
//! file: the next command finds the old store or the new one, with all that was in it.

use std::fs;

use loci_testkit::Random;
use loci_testkit::crash::{Action, DiskLibrary, Fault};
use serde_json::Value;

use crate::place::{Budget, Place, key_file, library, report};

const TEXTS: [&str; 3] = [
    "The first of three facts outlives every kill.",
    "The second of three facts outlives every kill.",
    "The third of three facts outlives every kill.",
];
/// The text of the notes.
const NOTE: &str = "A note outlives every kill.";
/// The error number of a full disk.
const FULL: i32 = 28;

/// The commands, and whether the store is encrypted before each.
const COMMANDS: [(&[&str], bool); 4] = [
    (&["encrypt", "--key-file"], false),
    (&["encrypt", "--rotate"], true),
    (&["decrypt"], true),
    (&["encrypt", "--notes", "sealed"], true),
];

#[test]
fn what_is_encrypted_rotated_or_decrypted_outlives_kills_and_faults() {
    let Some(library) = library() else { return };
    let mut budget = Budget::new("encrypting");
    let clear = Place::new();
    let encrypted = Place::encrypted();
    for place in [&clear, &encrypted] {
        fs::create_dir_all(place.data().join("vault")).unwrap();
        for number in 0..3 {
            let file = place.data().join(format!("vault/note-{number}.md"));
            fs::write(file, format!("{NOTE} {number}\n")).unwrap();
        }
        place.succeed(&["vault", "reconcile"]);
        for text in TEXTS {
            place.succeed(&["add", text]);
        }
    }
    budget.begin();
    let (mut tried, mut hit) = (0, 0);
    // Each command at least once to its end, so that all its operations are known.
    let counts = COMMANDS.map(|(command, is_encrypted)| {
        let base = if is_encrypted { &encrypted } else { &clear };
        operations(base, command, &library)
    });
    while !budget.is_over() {
        let which = budget.random.below(COMMANDS.len());
        let (command, is_encrypted) = COMMANDS[which];
        let base = if is_encrypted { &encrypted } else { &clear };
        let fault = fault(counts[which], &mut budget.random);
        hit += u64::from(!ends(base, command, &library, &fault));
        tried += 1;
    }
    report(&format!(
        "encrypting: {tried} commands, {hit} of them killed or refused, of {counts:?} operations"
    ));
    assert!(hit > 0);
}

fn fault(operations: u64, random: &mut Random) -> Fault {
    Fault {
        kinds: "*".to_owned(),
        first: 1 + random.below(operations as usize) as u64,
        count: 1,
        action: random.pick(&[Action::KillBefore, Action::KillAfter, Action::Fail(FULL)]),
    }
}

/// Runs a command with a fault on a copy; returns whether it ended well. Whether or not it did, the
/// memories are there.
fn ends(base: &Place, command: &[&str], library: &DiskLibrary, fault: &Fault) -> bool {
    let place = base.copy();
    let output = place
        .watched_command(
            &with_key(command, key_file().to_str().unwrap()),
            library,
            false,
            Some(fault),
        )
        .output()
        .unwrap();
    let context = || format!("{command:?} with {fault:?}: {output:?}");
    let listed: Value =
        serde_json::from_str(&place.succeed(&["--json", "list"])).unwrap_or_else(|_| {
            panic!("{}", context());
        });
    let listed = listed.to_string();
    for text in TEXTS {
        assert!(listed.contains(text), "{text} is lost: {}", context());
    }
    assert_eq!(place.problems(), Vec::<String>::new(), "{}", context());
    // The files of the notes are whole, in the one form or the other.
    place.succeed(&["vault", "reconcile"]);
    place.succeed(&["vault", "check"]);
    // It can be repeated, or was done.
    let again = place
        .command(&with_key(command, key_file().to_str().unwrap()))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&again.stderr);
    assert!(
        again.status.success() || said.contains("encrypted"),
        "{}: {said}",
        context()
    );
    output.status.success()
}

/// Counts the operations of a command.
fn operations(base: &Place, command: &[&str], library: &DiskLibrary) -> u64 {
    let place = base.copy();
    let status = place
        .watched_command(
            &with_key(command, key_file().to_str().unwrap()),
            library,
            true,
            None,
        )
        .output()
        .unwrap();
    assert!(status.status.success(), "{command:?}: {status:?}");
    loci_testkit::crash::read_log(&place.log()).unwrap().len() as u64
}

/// The words of a command, with the key file after the flag for it.
fn with_key<'a>(command: &[&'a str], key_file: &'a str) -> Vec<&'a str> {
    let mut words = command.to_vec();
    if words.last() == Some(&"--key-file") {
        words.push(key_file);
    }
    words
}
