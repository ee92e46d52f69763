//! Reads the content of a data folder, or of a store on a server.

use std::path::Path;

use loci_core::{ArchiveStore, Archived, Maintenance, Memory, Record, Tier, Timestamp};
use loci_keys::{KeySources, Keys};
use loci_store_postgres::PostgresStore;
use loci_store_sqlite::{Options, SqliteStore};
use loci_testkit::crash::{Found, Ledger, Seen, version_of};

use crate::place::key_file;

/// Opens the store as any process would, and reads all its records and all notes; if `is_checked`,
/// returns the problems that the store finds, which takes most of the time.
pub fn inspect(data: &Path, is_checked: bool) -> Result<(Found, Vec<String>), String> {
    let options = Options {
        keys: Keys::new(KeySources {
            key_file: Some(key_file()),
            ..KeySources::default()
        }),
        ..Options::default()
    };
    let store = SqliteStore::open(data, options).map_err(|error| error.to_string())?;
    let mut found = read(&store)?;
    let problems = if is_checked {
        store.integrity_check()
    } else {
        Ok(Vec::new())
    };
    let problems = problems.map_err(|error| error.to_string())?;
    drop(store);
    files(&data.join("vault"), &mut found);
    Ok((
        found,
        problems
            .iter()
            .map(|problem| format!("{problem:?}"))
            .collect(),
    ))
}

/// Reads all records of a store on a server, and checks it.
pub fn inspect_server(url: &str) -> Result<(Found, Vec<String>), String> {
    let options = loci_store_postgres::Options::new(url);
    let store = PostgresStore::open(options).map_err(|error| error.to_string())?;
    let found = read(&store)?;
    let problems = store.integrity_check().map_err(|error| error.to_string())?;
    let problems = problems.iter().map(|problem| format!("{problem:?}"));
    Ok((found, problems.collect()))
}

/// Reads all records of a store.
fn read(store: &dyn ArchiveStore) -> Result<Found, String> {
    let mut found = Found::default();
    let mut settings = [None, None];
    // As of the earliest time, so that nothing has expired.
    let read = store.archive(
        Timestamp::from_microseconds(0),
        &mut |Archived { record, .. }| {
            if let Record::Setting { name, value, .. } = &record {
                match name.as_str() {
                    "hook_silent_save" => settings[0] = Some(value.clone()),
                    "hook_desktop_toast" => settings[1] = Some(value.clone()),
                    _ => {}
                }
            }
            if let Some((number, seen)) = seen(record) {
                found.stored.entry(number).or_default().push(seen);
            }
            Ok(())
        },
    );
    read.map_err(|error| error.to_string())?;
    if let [Some(silent), Some(toast)] = settings {
        found
            .stored
            .entry(0)
            .or_default()
            .push(bare(String::new(), format!("{silent} {toast}")));
    }
    Ok(found)
}

fn seen(record: Record) -> Option<(u32, Seen)> {
    match record {
        Record::Memory(memory) => of_memory(*memory),
        Record::Fact(fact) => {
            let state = if fact.valid_to.is_some() {
                "ended"
            } else {
                "open"
            };
            let number = fact.object.spelling.strip_prefix("object ")?.parse();
            Some((number.ok()?, bare(fact.id, state.to_owned())))
        }
        Record::Tunnel(tunnel) => {
            let version = tunnel.label.rsplit(' ').next()?.to_owned();
            Some((
                number(&tunnel.label)?,
                bare(tunnel.id, format!("v{version}")),
            ))
        }
        Record::CacheEntry(entry) => {
            let (number, version) = version_of(&entry.response)?;
            Some((number, bare(entry.id.to_string(), version)))
        }
        Record::Decision(decision) => {
            let (number, version) = version_of(&decision.value)?;
            let version = if decision.key == format!("thing {number:05}") {
                version
            } else {
                "misfiled".to_owned()
            };
            Some((number, bare(String::new(), version)))
        }
        _ => None,
    }
}

fn of_memory(memory: Memory) -> Option<(u32, Seen)> {
    let (number, version) = version_of(&memory.content)?;
    let is_kept = memory.origin == "memory-mcp" && memory.tier == Tier::LongTerm;
    let collection = memory.location.collection.as_deref().unwrap_or("global");
    let place = if memory.origin == "anthropic" {
        let path = memory.title.clone().unwrap_or_default();
        let rest = memory.content.trim_end().len()..;
        let inserted = memory.content[rest].matches(' ').count();
        format!("{path} {inserted}")
    } else {
        format!("{collection}/{}", memory.location.section)
    };
    let seen = Seen {
        id: memory.id.to_string(),
        version,
        place,
        visibility: memory.visibility.name().to_owned(),
        is_forgotten: memory.forgotten_at.is_some(),
    };
    Some((
        if is_kept {
            Ledger::kept(number)
        } else {
            number
        },
        seen,
    ))
}

/// Returns the number in a name that starts with `thing`.
fn number(name: &str) -> Option<u32> {
    name.strip_prefix("thing ")?.split(' ').next()?.parse().ok()
}

fn bare(id: String, version: String) -> Seen {
    Seen {
        id,
        version,
        place: String::new(),
        visibility: String::new(),
        is_forgotten: false,
    }
}

/// Reads the notes in a folder, which may not exist.
fn files(vault: &Path, found: &mut Found) {
    for entry in std::fs::read_dir(vault).into_iter().flatten() {
        let path = entry.unwrap().path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if name.starts_with('.') || path.is_dir() {
            continue;
        }
        let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
        let parts = text
            .strip_prefix("---\n")
            .and_then(|rest| rest.split_once("\n---\n"));
        let note = parts.and_then(|(head, body)| Some((head, version_of(body)?)));
        let Some((head, (number, version))) = note else {
            // Reported as a thing that no call made.
            found
                .files
                .entry(u32::MAX)
                .or_default()
                .push(bare(name, "broken".to_owned()));
            continue;
        };
        let line = |key: &str| {
            head.lines()
                .find_map(|line| line.strip_prefix(key))
                .unwrap_or_default()
                .to_owned()
        };
        let seen = Seen {
            is_forgotten: line("status: ") == "deleted",
            ..bare(line("uid: "), version)
        };
        found.files.entry(number).or_default().push(seen);
    }
}
