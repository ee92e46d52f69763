use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::*;
use crate::Random;

fn operation(kind: OperationKind, path: &str, file: u64) -> Operation {
    let (path, other_path) = (
        format!("/disk/{path}").trim_end_matches('/').to_owned(),
        String::new(),
    );
    let (data, process) = (Vec::new(), 1);
    Operation {
        process,
        kind,
        result: 0,
        is_fault: false,
        flags: 0,
        file,
        other: 0,
        offset: 0,
        path,
        other_path,
        data,
    }
}

fn write(path: &str, file: u64, offset: u64, data: &[u8]) -> Operation {
    Operation {
        offset,
        data: data.to_vec(),
        ..operation(OperationKind::Write, path, file)
    }
}

fn rename(old: &str, new: &str) -> Operation {
    Operation {
        other_path: format!("/disk/{new}"),
        ..operation(OperationKind::Rename, old, 0)
    }
}

/// Returns the folder after a power cut: names with contents.
fn after(disk: &Disk, survivors: Survivors, seed: u64) -> Vec<(String, String)> {
    let target = tempfile::tempdir().unwrap();
    disk.cut(survivors, &mut Random::new(seed), target.path())
        .unwrap();
    let mut found = Vec::new();
    list(target.path(), "", &mut found);
    found.sort();
    found
}

fn list(folder: &Path, prefix: &str, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().into_string().unwrap());
        if entry.path().is_dir() {
            list(&entry.path(), &format!("{name}/"), found);
        } else {
            found.push((name, fs::read_to_string(entry.path()).unwrap()));
        }
    }
}

fn disk(operations: &[Operation]) -> Disk {
    let mut disk = Disk::empty("/disk");
    for operation in operations {
        disk.perform(operation);
    }
    disk
}

fn names(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect()
}

#[test]
fn what_is_not_flushed_may_be_lost() {
    use OperationKind::{Create, Folder, Sync, Truncate};
    let mut steps = vec![
        operation(Folder, "d", 2),
        operation(Create, "d/a", 3),
        write("d/a", 3, 0, b"one"),
    ];
    assert_eq!(after(&disk(&steps), Survivors::None, 1), []);
    assert_eq!(
        after(&disk(&steps), Survivors::All, 1),
        names(&[("d/a", "one")])
    );
    // A flush of the file makes its name and that of its folder durable, but not a later name.
    steps.extend([
        operation(Sync, "d/a", 3),
        write("d/a", 3, 3, b"two"),
        rename("d/a", "d/b"),
    ]);
    assert_eq!(
        after(&disk(&steps), Survivors::None, 1),
        names(&[("d/a", "one")])
    );
    assert_eq!(
        after(&disk(&steps), Survivors::All, 1),
        names(&[("d/b", "onetwo")])
    );
    steps.push(operation(Sync, "d", 2));
    assert_eq!(
        after(&disk(&steps), Survivors::None, 1),
        names(&[("d/b", "one")])
    );
    // Data that a failed flush lost stays lost after later flushes.
    steps.push(Operation {
        result: -5,
        ..operation(Sync, "d/b", 3)
    });
    steps.push(write("d/b", 3, 6, b"3"));
    steps.push(operation(Sync, "d/b", 3));
    assert_eq!(
        after(&disk(&steps), Survivors::All, 1),
        names(&[("d/b", "one\0\0\x003")])
    );
    steps.push(operation(Truncate, "d/b", 3));
    assert_eq!(
        after(&disk(&steps), Survivors::All, 1),
        names(&[("d/b", "")])
    );
}

#[test]
fn a_name_is_not_taken_from_what_has_it_for_certain() {
    use OperationKind::{Create, Sync, Unlink};
    let made = |file| {
        [
            operation(Create, "log", file),
            write("log", file, 0, b"text"),
            operation(Sync, "log", file),
        ]
    };
    let steps = [&made(2)[..], &[operation(Unlink, "log", 2)], &made(3)].concat();
    for seed in 0..20 {
        assert_eq!(
            after(&disk(&steps), Survivors::Some, seed),
            names(&[("log", "text")])
        );
    }
}

#[test]
fn an_exchange_happens_or_does_not() {
    use OperationKind::{Create, Sync};
    let made = |name: &str, file, text: &[u8]| {
        [
            operation(Create, name, file),
            write(name, file, 0, text),
            operation(Sync, name, file),
        ]
    };
    let mut steps = [made("a", 2, b"old"), made("b", 3, b"new")].concat();
    steps.push(Operation {
        flags: 2,
        ..rename("a", "b")
    });
    steps.push(operation(OperationKind::Unlink, "a", 0));
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..50 {
        seen.insert(after(&disk(&steps), Survivors::Some, seed));
    }
    let expected = [
        names(&[("a", "new"), ("b", "old")]),
        names(&[("a", "old"), ("b", "new")]),
        names(&[("b", "old")]),
    ];
    assert_eq!(seen, expected.into());
}

#[test]
fn writes_are_torn_at_sectors() {
    let steps = [
        operation(OperationKind::Create, "a", 2),
        operation(OperationKind::Sync, "a", 2),
        write("a", 2, 2, b"abcdefgh"),
    ];
    let mut lengths = std::collections::BTreeSet::new();
    for seed in 0..200 {
        let found = after(&disk(&steps), Survivors::Torn(4), seed);
        let text = &found[0].1;
        assert!(
            text.get(2..4)
                .is_none_or(|part| part == "ab" || part == "\0\0"),
            "{text:?}"
        );
        lengths.insert(text.len());
    }
    assert_eq!(lengths, [0, 4, 8, 10].into());
}

#[test]
fn a_ledger_knows_what_may_be_there() {
    let mut ledger = Ledger::default();
    let mut random = Random::new(1);
    let call = loop {
        let call = ledger.call("mempalace", &mut random);
        if call.tool == "mempalace_add_drawer" {
            break call;
        }
    };
    let (number, state) = call.effects[0].clone();
    let place = state
        .as_deref()
        .unwrap()
        .strip_prefix("v1 ")
        .unwrap()
        .to_owned();
    let seen = |id: &str, version: &str| Seen {
        id: id.to_owned(),
        version: version.to_owned(),
        place: place.clone(),
        visibility: "common".to_owned(),
        is_forgotten: false,
    };
    let found = |seen: &[Seen]| Found {
        stored: [(number, seen.to_vec())].into(),
        ..Found::default()
    };
    let fine = |ledger: &Ledger, seen: &[Seen]| ledger.compare(&found(seen), &[], true).is_empty();
    let whole = seen("d", "v1");
    assert!(
        fine(&ledger, &[]) && !fine(&ledger, std::slice::from_ref(&whole)),
        "nobody asked for it yet"
    );
    ledger.begin(call.clone());
    assert!(fine(&ledger, &[]) && fine(&ledger, std::slice::from_ref(&whole)));
    ledger.acknowledge(call.id, &json!({"drawer_id": "d"}));
    assert!(fine(&ledger, std::slice::from_ref(&whole)));
    let wrong: [&[Seen]; 4] = [
        &[],
        &[whole.clone(), whole.clone()],
        &[seen("e", "v1")],
        &[seen("d", "v1, broken")],
    ];
    for seen in wrong {
        assert!(!fine(&ledger, seen), "{seen:?}");
    }
    assert_eq!(version_of(&text(7, 3)), Some((7, "v3".to_owned())));
    assert!(version_of(&text(50, 3)[1..]).is_none());
    assert!(
        version_of(&text(12, 2).replace("line 0", "line 9"))
            .is_none_or(|(_, version)| version.contains("broken"))
    );
}

#[test]
fn every_dialect_has_calls() {
    let mut ledger = Ledger::default();
    let mut random = Random::new(5);
    let mut tools = std::collections::BTreeSet::new();
    for _ in 0..2_000 {
        let dialect = random.pick(&[
            "vault",
            "mememory",
            "memory-mcp",
            "engram",
            "mempalace",
            "reference",
            "anthropic",
        ]);
        let call = ledger.call(dialect, &mut random);
        tools.insert(call.tool);
        ledger.begin(call.clone());
        let ids: Vec<Value> = call
            .effects
            .iter()
            .map(|(number, _)| json!(format!("id {number}")))
            .collect();
        let id = ids.first().cloned().unwrap_or_default();
        ledger.acknowledge(call.id, &json!({"id": id, "stm_ids": ids}));
    }
    assert_eq!(tools.len(), 34, "{tools:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn the_library_sees_what_a_program_does() {
    use OperationKind::{Create, Folder, Rename, Reply, Sync, Truncate, Unlink, Write};
    let library = match DiskLibrary::build() {
        Ok(library) => library,
        Err(problem) => {
            let _ = writeln!(std::io::stderr(), "SKIPPED: {problem}");
            return;
        }
    };
    let place = tempfile::tempdir().unwrap();
    let watched = place.path().canonicalize().unwrap().join("watched");
    fs::create_dir(&watched).unwrap();
    let log = place.path().join("log");
    let child = |fault: Option<Fault>| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["crash::tests::child_that_writes", "--exact", "--nocapture"])
            .env(CHILD, &watched);
        library
            .on(command, &watched, Some(&log), fault.as_ref())
            .output()
            .unwrap()
    };
    assert!(child(None).status.success());
    let mut operations = read_log(&log).unwrap();
    // The test harness writes to stdout, too.
    operations.retain(|operation| operation.kind != Reply || operation.data == b"said\n");
    let kinds: Vec<OperationKind> = operations.iter().map(|operation| operation.kind).collect();
    assert_eq!(
        kinds,
        [
            Folder, Create, Write, Write, Sync, Rename, Reply, Truncate, Unlink
        ],
        "{operations:?}"
    );
    assert_eq!(
        (operations[3].offset, &operations[3].data[..]),
        (4, &b"two\n"[..])
    );
    assert_eq!(
        operations[5].other_path,
        watched.join("d/b").to_str().unwrap()
    );
    let mut disk = Disk::empty(watched.to_str().unwrap());
    operations[..7]
        .iter()
        .for_each(|operation| disk.perform(operation));
    assert_eq!(
        after(&disk, Survivors::All, 1),
        names(&[("d/b", "one\ntwo\n")])
    );
    assert_eq!(
        after(&disk, Survivors::None, 1),
        names(&[("d/a", "one\ntwo\n")])
    );

    let path = watched.join("d/a");
    let fault = |kinds: &str, action| {
        Some(Fault {
            kinds: kinds.to_owned(),
            first: 2,
            count: 2,
            action,
        })
    };
    for (action, left) in [
        (Action::KillBefore, "one\n"),
        (Action::KillAfter, "one\ntwo\n"),
    ] {
        fs::remove_dir_all(watched.join("d")).unwrap();
        assert_eq!(
            child(fault("w", action)).status.code(),
            None,
            "a signal ends it"
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), left);
    }
    for (action, left) in [(Action::Fail(28), "one\n"), (Action::Short(28), "one\ntw")] {
        fs::remove_dir_all(watched.join("d")).unwrap();
        let refused = child(fault("w", action));
        assert!(
            String::from_utf8_lossy(&refused.stdout).contains("os error 28"),
            "{refused:?}"
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), left);
    }
}

const CHILD: &str = "CRASH_TEST_FOLDER";

#[test]
fn child_that_writes() {
    let Some(folder) = std::env::var_os(CHILD).map(std::path::PathBuf::from) else {
        return;
    };
    fs::create_dir(folder.join("d")).unwrap();
    let path = folder.join("d/a");
    let mut file = fs::File::create(&path).unwrap();
    let wrote = file
        .write_all(b"one\n")
        .and_then(|()| file.write_all(b"two\n"));
    if let Err(error) = wrote {
        println!("{error}");
        return;
    }
    file.sync_all().unwrap();
    fs::rename(&path, folder.join("d/b")).unwrap();
    std::io::stdout().write_all(b"said\n").unwrap();
    file.set_len(0).unwrap();
    fs::remove_file(folder.join("d/b")).unwrap();
}
