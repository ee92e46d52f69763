//! Damages of an encrypted database. SQLCipher refuses a page whose authentication fails, as a
//! whole; what a salvage reads it decrypts itself.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Mutex;

use loci_keys::{DataKey, FILE, KeyFile, KeySources, RecoveryKey, Secret};
use loci_store_sqlite::{Keys, recrypt};
use loci_testkit::Random;
use rusqlite::Connection;

use crate::content::fill;
use crate::database::{Damage, PAGE, pages};
use crate::trial::{Files, Fixed, KEYS, Original, Outcome, run, try_each};
use crate::{is_complete, new_folder};

/// A connection that has the key, as SQLCipher takes it.
fn connect(database: &Path, key: &DataKey) -> Connection {
    let mut pragma = "PRAGMA key = \"x'".to_owned();
    for byte in key.subkey("database").bytes() {
        write!(pragma, "{byte:02x}").unwrap();
    }
    for byte in &key.subkey("database salt").bytes()[..16] {
        write!(pragma, "{byte:02x}").unwrap();
    }
    let connection = Connection::open(database).unwrap();
    pragma += "'\"; PRAGMA cipher_hmac_algorithm = HMAC_SHA256";
    connection.execute_batch(&pragma).unwrap();
    connection
}

/// Pages zeroed, bits flipped, the file cut off.
fn damages(count: usize) -> Vec<Damage> {
    let step = if is_complete() { 1 } else { 9 };
    let mut random = Random::new(14);
    let mut damages = Vec::new();
    for page in 0..count {
        if page % step == 0 {
            damages.push(Damage::Zeros { page });
        }
        if page % step == 1 {
            damages.push(Damage::Cut {
                length: page * PAGE + random.below(PAGE),
            });
        }
        let flips = if is_complete() {
            6
        } else {
            usize::from(page % 3 == 0)
        };
        for _ in 0..flips {
            damages.push(Damage::Flip {
                place: page * PAGE + random.below(PAGE),
                bit: random.below(8) as u8,
            });
        }
    }
    // The salt, the header, the vector and the code of the first page.
    let head = (0..100).step_by(if is_complete() { 1 } else { 13 });
    damages.extend(
        head.chain((PAGE - 48..PAGE).step_by(13))
            .map(|place| Damage::Flip { place, bit: 3 }),
    );
    damages
}

/// What does not hold with a damage, in words.
fn wrong(original: &Original, most: usize, outcome: &Outcome) -> Option<String> {
    if !outcome.is_named() && outcome.archive.as_ref() != Some(&original.archive) {
        return Some("there is a change, and nothing says so".to_owned());
    }
    let missing = match outcome.missing(original) {
        Ok(missing) => missing,
        Err(problem) => return Some(problem),
    };
    if missing.len() > most {
        return Some(format!(
            "{} are missing, not {most}: {missing:?}",
            missing.len()
        ));
    }
    if !missing.is_empty() && outcome.salvaged.is_whole() {
        return Some(format!("{missing:?} are missing, and nothing says so"));
    }
    match &outcome.fixed {
        Some(Fixed { problems, done, .. }) if !problems.is_empty() => {
            Some(format!("was not mended by {done:?}: {problems:?}"))
        }
        Some(Fixed { archive: None, .. }) if !outcome.handed_out.is_empty() => {
            Some("there is something to rebuild".to_owned())
        }
        _ => None,
    }
}

#[test]
fn of_a_damaged_encrypted_database_all_is_salvaged_that_is_whole() {
    let folder = new_folder();
    let original = Original::of(fill(folder.path()));
    let (key, recovery) = (DataKey::random().unwrap(), RecoveryKey::random().unwrap());
    let mut file = KeyFile::of(&key);
    file.add(&key, &Secret::Recovery(recovery.clone())).unwrap();
    let file = file.text().unwrap();
    let sources = KeySources {
        recovery: Some(recovery.letters()),
        ..KeySources::default()
    };
    KEYS.set(Keys::new(sources)).unwrap();
    let encrypted = folder.path().join("encrypted.db");
    recrypt(
        (&folder.path().join("loci.db"), None),
        (&encrypted, Some(&key)),
    )
    .unwrap();
    let whole = fs::read(&encrypted).unwrap();
    let connection = connect(&encrypted, &key);
    let pages = pages(&connection, whole.len() / PAGE);
    drop(connection);
    let tried = |folder: &Path, database: &[u8]| {
        fs::write(folder.join(FILE), &file).unwrap();
        let files = Files {
            database,
            log: &[],
            index: &[],
        };
        run(folder, files)
    };
    let sound = tried(new_folder().path(), &whole);
    assert!(sound.handed_out == original.archive);
    assert!(sound.salvaged.is_whole(), "{:?}", sound.salvaged);
    assert_eq!(sound.problems, Vec::<String>::new());
    let damages = damages(pages.len());
    eprintln!("{} damages of {} pages", damages.len(), pages.len());
    let found = Mutex::new((0, Vec::new()));
    try_each(&damages, |folder, damage| {
        let outcome = tried(folder, &damage.apply(&whole));
        let most = damage.records(&pages, &original);
        let wrong = wrong(&original, most, &outcome);
        let mut found = found.lock().unwrap();
        found.0 += usize::from(outcome.is_named());
        found
            .1
            .extend(wrong.map(|wrong| format!("{damage:?}: {wrong}")));
    });
    let (named, wrong) = found.into_inner().unwrap();
    eprintln!("{named} were named, {} not", damages.len() - named);
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        damages.len(),
        wrong.join("\n")
    );
}
