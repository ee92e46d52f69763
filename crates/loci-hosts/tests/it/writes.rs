//! A host that writes its settings while loci connects it and takes itself out again.

#![cfg(unix)]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use loci_hosts::{CURSOR, Connection, Machine, OwnEntry, Scope, System, Target};
use serde_json::{Value, json};

/// The time that a host spends with something else.
const OTHER_WORK: Duration = Duration::from_millis(2);

/// The way in which a host writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// It renames a new file over the old one, as fast as it can.
    Rename,
    /// It does so once the new file is durable, and has something else to do then, which leaves loci
    /// the time for many changes.
    DurableRename,
    /// It empties the file and fills it, and makes that durable.
    InPlace,
}

fn put(file: &Path, text: &str) {
    let mut file = fs::File::create(file).unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file.sync_all().unwrap();
}

/// Changes the settings `count` times as a host does, which reads them, changes one value and writes
/// them. Returns how many of its writes were not there when it read next.
fn write(file: &Path, way: Way, count: u64) -> u64 {
    let mut lost = 0;
    let mut last = 0;
    let draft = file.with_extension("draft");
    for number in 1..=count {
        let text = fs::read_to_string(file).unwrap();
        let Ok(mut settings) = serde_json::from_str::<Value>(&text) else {
            panic!("half a file: {text:?}");
        };
        let found = settings["writes"].as_u64().unwrap();
        lost += u64::from(found != last);
        settings["writes"] = json!(number);
        let text = serde_json::to_string_pretty(&settings).unwrap();
        match way {
            Way::Rename => {
                fs::write(&draft, text).unwrap();
                fs::rename(&draft, file).unwrap();
            }
            Way::DurableRename => {
                put(&draft, &text);
                fs::rename(&draft, file).unwrap();
                let begin = Instant::now();
                while begin.elapsed() < OTHER_WORK {
                    thread::yield_now();
                }
            }
            Way::InPlace => put(file, &text),
        }
        last = number;
    }
    let settings: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    lost + u64::from(settings["writes"] != last)
}

/// Connects and disconnects a host while it writes that often. Returns the number of lost writes,
/// and of rounds that were made and given up.
fn torture(way: Way, count: u64) -> (u64, u64, u64) {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".cursor");
    let file = folder.join("mcp.json");
    fs::create_dir(&folder).unwrap();
    fs::write(&file, "{\n  \"writes\": 0\n}").unwrap();
    let machine = Machine {
        system: System::Linux,
        home: home.path().to_owned(),
        variable: |_| None,
    };
    let connection = Connection {
        host: &CURSOR,
        machine: &machine,
        scope: Scope::User,
        project: home.path(),
        name: "loci",
        own: OwnEntry {
            file_name: None,
            dialects: &["mememory"],
        },
    };
    let target = Target::Stdio {
        program: "/usr/bin/loci".to_owned(),
        arguments: ["mcp", "mememory"].map(str::to_owned).to_vec(),
    };
    let has_ended = AtomicBool::new(false);
    let (mut made, mut given_up) = (0, 0);
    let lost = thread::scope(|scope| {
        let host = scope.spawn(|| {
            let lost = write(&file, way, count);
            has_ended.store(true, Ordering::Relaxed);
            lost
        });
        while !has_ended.load(Ordering::Relaxed) {
            let connected = connection.connect(&target).map(|change| change.apply());
            let undone = connection.disconnect().map(|change| change.apply());
            for outcome in [connected, undone] {
                match outcome {
                    Ok(Ok(_)) => made += 1,
                    _ => given_up += 1,
                }
            }
            // Each copy differs, because the host wrote in between.
            for entry in fs::read_dir(&folder).unwrap() {
                let entry = entry.unwrap();
                if entry.file_name().to_string_lossy().contains("loci-backup") {
                    fs::remove_file(entry.path()).unwrap();
                }
            }
        }
        host.join().unwrap()
    });
    connection.disconnect().unwrap().apply().unwrap();
    let names = fs::read_dir(&folder).unwrap();
    let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["mcp.json"], "nothing is left");
    (lost, made, given_up)
}

/// `LOCI_HOST_WRITES` sets another number of writes, e.g. 10,000, which take two minutes.
#[test]
fn no_write_of_a_host_is_lost() {
    let count = std::env::var("LOCI_HOST_WRITES");
    let count = count.map_or(300, |count| count.parse().unwrap());
    for way in [Way::Rename, Way::DurableRename, Way::InPlace] {
        let (lost, made, given_up) = torture(way, count);
        eprintln!("{way:?}: {count} writes, {lost} lost; {made} changes, {given_up} given up");
        assert_eq!(lost, 0, "{way:?}");
    }
}
