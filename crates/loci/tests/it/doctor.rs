use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, SystemTime};

use loci_core::{Batch, Change, ClockJump, MemoryId, Space, Store, SweepClock, Timestamp};
use loci_store_sqlite::{Options, SqliteStore};
use serde_json::{Value, json};

use crate::program::{Place, mode};

const PAGE: usize = 4_096;

/// Returns the exit code and the rows of a report.
fn rows(place: &Place, arguments: &[&str]) -> (i32, Vec<(String, String, String)>) {
    let ended = place.run(&[&["--json", "doctor"], arguments].concat());
    let report: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"));
    let field = |row: &Value, name: &str| row[name].as_str().unwrap().to_owned();
    let rows = report["checks"].as_array().unwrap().iter();
    let rows = rows
        .map(|row| {
            (
                field(row, "check"),
                field(row, "verdict"),
                field(row, "text"),
            )
        })
        .collect();
    (ended.code, rows)
}

/// Returns the rows with the verdict `warn` or `fail`.
fn wrong(place: &Place, arguments: &[&str]) -> Vec<(String, String, String)> {
    let (_, mut rows) = rows(place, arguments);
    rows.retain(|(_, verdict, _)| verdict == "warn" || verdict == "fail");
    rows
}

/// Returns the time of the last write to the database.
fn now(place: &Place) -> SystemTime {
    place
        .data()
        .join("loci.db")
        .metadata()
        .unwrap()
        .modified()
        .unwrap()
}

fn done(place: &Place, check: &str) -> Vec<String> {
    let (code, rows) = rows(place, &["--fix"]);
    assert_eq!(code, 0, "{rows:?}");
    let done = rows
        .into_iter()
        .filter(|(found, verdict, _)| found == check && verdict == "done");
    done.map(|(_, _, text)| text).collect()
}

#[cfg(unix)]
#[test]
fn permissions_are_told_and_mended() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    place.add(&["a"]);
    place.run(&["--json", "serve", "--bind", "256.0.0.1:1"]);
    place.write("data/token", format!("loci_{}\n", "0".repeat(64)));
    place.write("data/backups/old/copy.db", "x");
    place.write("data/vault/note.md", "# Note\n");
    let chmod = |name: &str, mode| {
        fs::set_permissions(place.data().join(name), PermissionsExt::from_mode(mode)).unwrap();
    };
    let cases = [
        ("", 0o755),
        ("loci.db", 0o644),
        ("token", 0o640),
        ("backups", 0o755),
    ];
    // The permissions of notes stay as their owner set them, and so do the permissions of files
    // that no other user can reach.
    let rest = [
        ("vault/note.md", 0o644),
        ("vault", 0o755),
        ("backups/old/copy.db", 0o444),
    ];
    for (name, mode) in cases
        .into_iter()
        .chain(rest)
        .chain([("backups/old", 0o700)])
    {
        chmod(name, mode);
    }
    let found = wrong(&place, &[]);
    let named = found
        .iter()
        .filter(|(check, _, _)| check == "permissions")
        .count();
    assert_eq!(named, cases.len(), "{found:?}");
    assert!(
        found
            .iter()
            .any(|(_, _, text)| text.contains("revoke the token")),
        "{found:?}"
    );
    assert_eq!(done(&place, "permissions").len(), cases.len());
    let expected = [0o700, 0o600, 0o600, 0o700];
    for ((name, _), expected) in cases.into_iter().zip(expected) {
        assert_eq!(mode(&place.data().join(name)), expected, "{name}");
    }
    for (name, expected) in rest {
        assert_eq!(mode(&place.data().join(name)), expected, "{name}");
    }
    let found = wrong(&place, &[]);
    assert!(
        !found.iter().any(|(check, _, _)| check == "permissions"),
        "{found:?}"
    );
}

/// A link among the notes gets into `backups` when a restore replaces them.
#[cfg(unix)]
#[test]
fn no_permission_is_changed_behind_a_link() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let place = Place::new();
    place.add(&["a"]);
    let outside = place.write("outside/shared.txt", "x");
    let aside = place
        .write("data/backups/replaced-1/vault/note.md", "# Note\n")
        .parent()
        .unwrap()
        .to_owned();
    for number in 0..30 {
        place.write(
            &format!("data/backups/replaced-1/vault/{number}.md"),
            "# Note\n",
        );
    }
    symlink(outside.parent().unwrap(), aside.join("link")).unwrap();
    symlink(&outside, place.data().join("link.txt")).unwrap();
    // These links form a loop.
    for name in ["a", "b"] {
        symlink(&aside, aside.join(name)).unwrap();
    }
    let chmod =
        |path: &Path, mode| fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    chmod(&outside, 0o644);
    chmod(outside.parent().unwrap(), 0o755);
    for (backups, told) in [(0o755, 1), (0o700, 0)] {
        chmod(&place.data().join("backups"), backups);
        let found = wrong(&place, &[]);
        let named = found
            .iter()
            .filter(|(check, _, _)| check == "permissions")
            .count();
        assert_eq!(named, told, "{found:?}");
        assert_eq!(done(&place, "permissions").len(), told);
    }
    assert_eq!(
        (mode(&outside), mode(outside.parent().unwrap())),
        (0o644, 0o755)
    );
}

/// Hundreds of lines would hide the other findings.
#[cfg(unix)]
#[test]
fn a_few_of_many_permissions_are_named() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    place.add(&["a"]);
    for number in 0..100 {
        let path = place.write(&format!("data/{number}.txt"), "x");
        fs::set_permissions(path, PermissionsExt::from_mode(0o644)).unwrap();
    }
    let mut found = wrong(&place, &[]);
    found.retain(|(check, _, _)| check == "permissions");
    assert_eq!(found.len(), 11);
    assert!(found[10].2.starts_with("and 90 more"), "{found:?}");
    assert_eq!(done(&place, "permissions").len(), 100);
}

#[test]
fn leftovers_of_crashes_go_but_not_what_is_being_written() {
    let place = Place::new();
    place.add(&["a"]);
    let old = [
        "backups/unfinished.db",
        "token.123.draft",
        "doctor.123.tmp",
        ".tmpX.part",
        "restoring",
    ];
    let young = [
        "token.124.draft",
        "backups/loci-v1-20260101T000000Z.db",
        "loci.db",
    ];
    for name in &old[..4] {
        place.write(&format!("data/{name}"), "x");
    }
    fs::create_dir(place.data().join("restoring")).unwrap();
    place.write("data/token.124.draft", "x");
    place.write("data/backups/loci-v1-20260101T000000Z.db", "x");
    let long_ago = now(&place) - Duration::from_hours(2);
    for name in old.iter().chain(&young[1..2]) {
        fs::File::open(place.data().join(name))
            .unwrap()
            .set_modified(long_ago)
            .unwrap();
    }
    let found = wrong(&place, &[]);
    let told: Vec<_> = found
        .iter()
        .filter(|(check, _, _)| check == "leftovers")
        .collect();
    assert!(old.iter().all(|name| told[0].2.contains(name)), "{told:?}");
    assert_eq!(done(&place, "leftovers").len(), old.len());
    assert!(old.iter().all(|name| !place.data().join(name).exists()));
    assert!(young.iter().all(|name| place.data().join(name).exists()));
    assert_eq!(done(&place, "leftovers"), Vec::<String>::new());
}

/// Root is not stopped by permissions, but by a read-only disk.
#[cfg(target_os = "linux")]
#[test]
fn a_folder_of_notes_that_cannot_be_written_is_told() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    place.write("data/vault/note.md", "# Note\n");
    place.run(&["vault", "reconcile"]).succeeded();
    let told = || {
        wrong(&place, &[])
            .into_iter()
            .any(|(_, _, why)| why.contains("no note can be written"))
    };
    assert!(!told());
    let vault = place.data().join("vault");
    let is_root = crate::program::is_root();
    if is_root && !crate::backup::mounted(&vault, "ro") {
        eprintln!(
            "SKIPPED: no file system can be mounted here, so that no folder is read-only for root"
        );
        return;
    }
    let set_mode = |mode| fs::set_permissions(&vault, PermissionsExt::from_mode(mode));
    if !is_root {
        set_mode(0o500).unwrap();
    }
    let is_told = told();
    if is_root {
        assert!(
            std::process::Command::new("umount")
                .arg(&vault)
                .status()
                .unwrap()
                .success()
        );
    } else {
        set_mode(0o700).unwrap();
    }
    assert!(is_told);
}

#[test]
fn the_owners_token_is_looked_up() {
    let place = Place::new();
    let token = place.json(&["token", "create", "--subject", "ann"]);
    let verdict = |place: &Place| {
        let (_, rows) = rows(place, &[]);
        let row = rows
            .into_iter()
            .find(|(check, _, _)| check == "token file")
            .unwrap();
        (row.1, row.2)
    };
    place.write("data/token", format!("loci_{}\n", "0".repeat(64)));
    assert!(verdict(&place).1.contains("not known yet"));
    place.write(
        "data/token",
        format!("{}\n", token["token"].as_str().unwrap()),
    );
    assert_eq!(verdict(&place).0, "ok");
    place
        .run(&["token", "revoke", token["id"].as_str().unwrap()])
        .succeeded();
    let (verdict, text) = verdict(&place);
    assert!(verdict == "warn" && text.contains("revoked"), "{text}");
    assert!(!text.contains("loci_"), "{text}");
}

#[test]
fn a_file_that_holds_no_token_is_called_what_the_server_calls_it() {
    let place = Place::new();
    place.add(&["a"]);
    let cut = format!("loci_{}", "0".repeat(40));
    for bytes in [&b""[..], &[0; 70], &[0xff; 9], cut.as_bytes()] {
        place.write("data/token", bytes);
        let (code, rows) = rows(&place, &[]);
        let (_, verdict, text) = rows
            .iter()
            .find(|(check, _, _)| check == "token file")
            .unwrap();
        assert!(
            code == 4
                && verdict == "fail"
                && text.contains("holds no token; remove it and start again"),
            "{rows:?}"
        );
        let refused = place.run(&["serve", "--bind", "127.0.0.1:0"]);
        assert!(
            refused.code == 4 && refused.stderr.contains(text),
            "{refused:?}"
        );
    }
}

/// Returns the verdict and the text of a check with one row.
#[track_caller]
fn row_of(place: &Place, check: &str) -> (String, String) {
    let (_, rows) = rows(place, &[]);
    let mut of_check = rows.iter().filter(|(found, _, _)| found == check);
    let (_, verdict, text) = of_check
        .next()
        .unwrap_or_else(|| panic!("no {check}: {rows:?}"));
    assert_eq!(of_check.next(), None);
    (verdict.clone(), text.clone())
}

#[test]
fn a_memory_from_the_future_is_told() {
    let place = Place::new();
    let import = |id: &str, moment: &str| {
        let line = format!(
            "{{\"content\": \"The kiln is hot\", \"id\": \"{id}\", \"created_at\": \"{moment}\"}}\n"
        );
        place
            .run_with_stdin(&["import", "-", "--no-wait"], line.as_bytes())
            .succeeded();
    };
    import("past", "2024-05-07T10:00:00Z");
    assert_eq!(
        rows(&place, &[])
            .1
            .iter()
            .filter(|row| row.0 == "newest")
            .count(),
        0
    );
    import("future", "2999-05-07T10:00:00Z");
    let (verdict, text) = row_of(&place, "newest");
    assert!(
        verdict == "warn" && text.contains("future is of 2999-05-07") && text.contains("clock"),
        "{text}"
    );
}

/// Jobs that no process does, and jobs that no process will do for long.
#[test]
fn a_memory_that_is_not_judged_in_time_is_told() {
    const DAY: i64 = 86_400;
    for (due_in, expected) in [(-DAY, "one has since"), (DAY, "the clock ran ahead")] {
        let place = Place::new();
        let id = MemoryId::new(place.add(&["a"]));
        assert_eq!(row_of(&place, "enrichment").0, "ok");
        {
            let store = SqliteStore::open(&place.data(), Options::default()).unwrap();
            let now = now(&place).duration_since(SystemTime::UNIX_EPOCH).unwrap();
            let due_at =
                Timestamp::from_microseconds(0).plus_seconds(now.as_secs().cast_signed() + due_in);
            let changes = vec![Change::Enqueue { memory: id, due_at }];
            store.commit(Batch::new(Space::default(), changes)).unwrap();
        }
        let (verdict, text) = row_of(&place, "enrichment");
        assert!(
            verdict == "warn" && text.contains(expected) && text.contains("1 memories"),
            "{text}"
        );
    }
}

#[test]
fn each_finding_is_told_then_the_verdict_and_what_is_wrong() {
    let place = Place::new();
    place.add(&["a"]);
    let well = place.run(&["doctor"]).succeeded().stdout;
    assert!(well.starts_with("ok    data folder"), "{well}");
    let last = well.lines().last().unwrap();
    assert!(
        last.starts_with("all is well: ") && last.ends_with(" checks"),
        "{well}"
    );
    assert!(well.contains(" kB") && !well.contains(" bytes"), "{well}");
    place.write("data/vault/b.md", "---\nbroken: [\n---\ntext");
    place.write("data/vault/a.md", "\0");
    place.run(&["vault", "reconcile"]).succeeded();
    let warned = place.run(&["doctor"]).succeeded().stdout;
    let (told, verdict) = warned.split_once("\n\n").unwrap();
    let mut lines = verdict.lines();
    let first = lines.next().unwrap();
    assert!(
        first.starts_with("loci works, with 1 warning in "),
        "{warned}"
    );
    let wrong = lines.next().unwrap();
    assert!(wrong.starts_with("warn  notes"), "{warned}");
    assert!(told.contains(wrong) && lines.next().is_none(), "{warned}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_is_nearly_full_is_told() {
    let place = Place::new();
    place.add(&["a"]);
    let (verdict, text) = row_of(&place, "disk");
    assert!(verdict == "ok" && text.contains("B are free on "), "{text}");
    let small = Place::new();
    fs::create_dir(small.data()).unwrap();
    if !crate::backup::mounted(&small.data(), "size=64m,mode=0700") {
        eprintln!("SKIPPED: no file system can be mounted here, so that no disk is small");
        return;
    }
    small.add(&["a"]);
    let (verdict, text) = row_of(&small, "disk");
    assert!(
        std::process::Command::new("umount")
            .arg(small.data())
            .status()
            .unwrap()
            .success()
    );
    assert!(
        verdict == "warn" && text.contains(" MB are free on tmpfs; free some space"),
        "{text}"
    );
}

#[test]
fn a_provider_of_tokens_that_is_away_is_told() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let issuer = format!("http://{closed}");
    let place = Place::new()
        .with("LOCI_OIDC_ISSUER", &issuer)
        .with("LOCI_OIDC_AUDIENCE", "https://loci.example");
    let (verdict, text) = row_of(&place, "identity");
    assert!(
        verdict == "warn"
            && text.contains(&issuer)
            && text.contains("none of its tokens is accepted"),
        "{text}"
    );
}

#[test]
fn a_certificate_that_cannot_be_used_is_told() {
    let pair = || rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (own, other) = (pair(), pair());
    let place = Place::new().with_store();
    let certificate = place.write("certificate.pem", own.cert.pem());
    let key = place.path("key.pem");
    let place = place
        .with("LOCI_TLS_CERTIFICATE", certificate.to_str().unwrap())
        .with("LOCI_TLS_KEY", key.to_str().unwrap());
    let cases = [
        (own.signing_key.serialize_pem(), "ok", "can be used"),
        (
            other.signing_key.serialize_pem(),
            "fail",
            "name two files that belong together",
        ),
        ("no key".to_owned(), "fail", "has no private key in it"),
    ];
    for (text, expected, words) in cases {
        place.write("key.pem", text);
        let (verdict, text) = row_of(&place, "certificate");
        assert!(
            verdict == expected && text.contains(words) && text.contains("pem"),
            "{verdict} {text}"
        );
        assert_eq!(rows(&place, &[]).0, if expected == "ok" { 0 } else { 2 });
    }
}

#[test]
fn the_newest_backup_is_known_wherever_it_is() {
    let place = Place::new();
    place.add(&["a"]);
    let backup = |place: &Place| {
        rows(place, &[])
            .1
            .into_iter()
            .find(|(check, _, _)| check == "backup")
            .unwrap()
    };
    assert!(backup(&place).2.contains("none is known"));
    let file = place.path("elsewhere.tar");
    place.run(&["backup", file.to_str().unwrap()]).succeeded();
    let (_, verdict, text) = backup(&place);
    assert!(
        verdict == "ok" && text.contains("elsewhere.tar, 0 hours old"),
        "{text}"
    );
    fs::File::open(&file)
        .unwrap()
        .set_modified(now(&place) - Duration::from_hours(5 * 24))
        .unwrap();
    assert!(backup(&place).2.contains("5 days old"));
}

/// Writes into a database from a process that is killed, so that the data is only in the
/// write-ahead log.
#[cfg(unix)]
pub fn write_into_log(place: &Place) {
    let mut child = place
        .command(&["mcp", "mememory"])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = std::io::BufReader::new(child.stdout.take().unwrap());
    for number in 0..4 {
        let params = json!({"name": "remember", "arguments": {"content": format!("Bead {number}")}, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }});
        writeln!(
            stdin,
            "{}",
            json!({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
        )
        .unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut stdout, &mut line).unwrap();
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[cfg(unix)]
#[test]
fn of_a_damaged_log_the_commits_before_the_damage_are_kept() {
    let place = Place::new();
    place.add(&["a"]);
    write_into_log(&place);
    let log = place.data().join("loci.db-wal");
    let mut bytes = fs::read(&log).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&log, &bytes).unwrap();
    place
        .run(&["doctor", "--salvage", "rescued.jsonl"])
        .succeeded();
    assert!(
        fs::read(&log).unwrap() == bytes,
        "a salvage changes nothing"
    );
    let listed = place.rows(&["list"]);
    let kept = listed.as_array().unwrap().len();
    assert!((1..5).contains(&kept), "{listed}");
    assert_eq!(wrong(&place, &[]), Vec::new());
}

#[cfg(unix)]
#[test]
fn a_database_that_never_had_its_log_copied_is_told_apart_from_an_empty_one() {
    let place = Place::new();
    write_into_log(&place);
    let log = place.data().join("loci.db-wal");
    fs::rename(&log, place.data().join("moved")).unwrap();
    let ended = place
        .run(&["doctor", "--salvage", "rescued.jsonl"])
        .succeeded();
    assert!(ended.stdout.contains("salvaged 0 records"), "{ended:?}");
    assert!(
        ended
            .stderr
            .contains(&format!("{} is missing", log.display())),
        "{ended:?}"
    );
}

#[test]
fn a_log_without_its_database_is_left_alone_and_salvaged() {
    let place = Place::new();
    place.add(&["a"]);
    let database = place.data().join("loci.db");
    fs::write(
        place.data().join("loci.db-wal"),
        "not a log, but not nothing",
    )
    .unwrap();
    fs::rename(&database, place.data().join("moved.db")).unwrap();
    let ended = place.run(&["list"]);
    assert!(
        ended.code == 5 && ended.stderr.contains("is missing"),
        "{ended:?}"
    );
    assert!(!database.exists() && place.data().join("loci.db-wal").exists());
}

#[test]
fn salvage_of_nothing_is_no_success() {
    let place = Place::new();
    filled(&place);
    without_log(&place.data());
    let database = place.data().join("loci.db");
    let whole = fs::read(&database).unwrap();
    let noise: Vec<u8> = (0..40_960_u32)
        .map(|place| (place.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    for bytes in [
        &whole[..0],
        &whole[..1],
        &whole[..511],
        &whole[..512],
        &whole[..4_096],
        &noise[..],
    ] {
        fs::write(&database, bytes).unwrap();
        let file = format!("rescued-{}.jsonl", bytes.len());
        let ended = place.run(&["doctor", "--salvage", &file]);
        assert_eq!(ended.code, 5, "{} bytes: {ended:?}", bytes.len());
        let ended = place.run(&["list"]);
        assert_eq!(ended.code, 5, "{} bytes: {ended:?}", bytes.len());
        assert!(
            fs::read(&database).unwrap() == bytes,
            "{} bytes are left as they are",
            bytes.len()
        );
    }
}

/// Makes a store of several pages, with a note.
fn filled(place: &Place) {
    place.add_all((0..60).map(|number: usize| {
        format!("Bead {number} {}", "of the long string ".repeat(number * 7))
    }));
    place.write("data/vault/tea.md", "# Tea\nThree minutes.\n");
    place.run(&["vault", "reconcile"]).succeeded();
}

fn without_log(data: &Path) -> Vec<u8> {
    assert!(!data.join("loci.db-wal").exists(), "nobody has it open");
    fs::read(data.join("loci.db")).unwrap()
}

#[test]
fn what_still_reads_is_salvaged_and_comes_back() {
    let (here, there) = (Place::new(), Place::new());
    filled(&here);
    let database = here.data().join("loci.db");
    let whole = without_log(&here.data());
    let listed = |place: &Place| place.rows(&["list", "--limit", "1000"]);

    // Nothing is lost of an intact database.
    let file = there.path("whole.jsonl");
    let salvaged = here.json(&["doctor", "--salvage", file.to_str().unwrap()]);
    assert_eq!(
        (&salvaged["lost"], &salvaged["lost_more"]),
        (&json!([]), &json!(0)),
        "{salvaged}"
    );
    assert_eq!(without_log(&here.data()), whole, "nothing is changed");
    #[cfg(unix)]
    assert_eq!(mode(&file), 0o600);
    there.run(&["import", file.to_str().unwrap()]).succeeded();
    assert_eq!(listed(&there), listed(&here));
    assert_eq!(
        fs::read(there.data().join("vault/tea.md")).unwrap(),
        b"# Tea\nThree minutes.\n"
    );
    here.run(&["doctor", "--salvage", file.to_str().unwrap()])
        .failed(2, "is there already");

    // All other pages are found through the first one.
    let mut damaged = whole.clone();
    damaged[..PAGE].fill(0);
    // And one text is corrupt.
    let at = damaged
        .windows(8)
        .position(|window| window == b"Bead 40 ")
        .unwrap();
    damaged[at] ^= 1;
    fs::write(&database, &damaged).unwrap();
    here.run(&["list"]).failed(5, "loci doctor --fix");
    let file = there.path("rest.jsonl");
    let ended = here.run(&["--json", "doctor", "--salvage", file.to_str().unwrap()]);
    assert_eq!(ended.code, 5, "{ended:?}");
    let salvaged: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert!(
        !salvaged["lost"].as_array().unwrap().is_empty(),
        "{salvaged}"
    );
    assert!(
        !ended.stdout.contains("long string") && !ended.stderr.contains("long string"),
        "{ended:?}"
    );
    assert_eq!(fs::read(&database).unwrap(), damaged, "nothing is changed");
    let again = Place::new();
    again.run(&["import", file.to_str().unwrap()]).succeeded();
    let texts = |place: &Place| {
        let listed = listed(place);
        let mut texts: Vec<_> = listed
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["content"].clone())
            .collect();
        texts.sort_by_key(Value::to_string);
        texts
    };
    let mut expected = texts(&there);
    expected.retain(|text| !text.as_str().unwrap().starts_with("Bead 40 "));
    assert_eq!(texts(&again), expected);
}

/// A store with one damaged text; returns its bytes.
fn damaged(place: &Place) -> Vec<u8> {
    filled(place);
    let mut bytes = without_log(&place.data());
    let at = bytes
        .windows(8)
        .position(|window| window == b"Bead 40 ")
        .unwrap();
    bytes[at] ^= 1;
    fs::write(place.data().join("loci.db"), &bytes).unwrap();
    bytes
}

#[test]
fn a_damaged_database_is_told_and_not_written_to() {
    let place = Place::new();
    let bytes = damaged(&place);
    let (code, rows) = rows(&place, &[]);
    assert_eq!(code, 5, "{rows:?}");
    let has = |expected: &str| rows.iter().any(|(_, _, text)| text.contains(expected));
    assert!(
        rows.iter()
            .any(|(check, verdict, _)| check == "damage" && verdict == "fail"),
        "{rows:?}"
    );
    assert!(has("loci doctor --fix") && !has("long string"), "{rows:?}");
    assert_eq!(without_log(&place.data()), bytes);
    place
        .run(&["doctor", "--fix", "--salvage", "x"])
        .failed(2, "--salvage");
}

#[test]
fn a_damaged_database_is_rebuilt_and_the_old_one_kept() {
    let place = Place::new();
    let bytes = damaged(&place);
    let token = fs::read(place.data().join("token")).ok();
    let (code, rows) = rows(&place, &["--fix"]);
    assert_eq!(code, 0, "{rows:?}");
    let of = |check: &str| -> Vec<&str> {
        let of_check = rows.iter().filter(|row| row.0 == check);
        of_check.map(|row| row.2.as_str()).collect()
    };
    let [rebuilt] = of("rebuild")[..] else {
        panic!("{rows:?}")
    };
    let (_, kept) = rebuilt.split_once("the old one is in ").unwrap();
    assert_eq!(fs::read(Path::new(kept).join("loci.db")).unwrap(), bytes);
    assert!(
        matches!(of("lost")[..], [lost] if lost.contains("its text")),
        "{rows:?}"
    );
    assert!(
        !rows.iter().any(|row| row.2.contains("long string")),
        "{rows:?}"
    );
    assert_eq!(place.json(&["stats"])["total"], 60);
    assert_eq!(wrong(&place, &[]), Vec::new());
    assert_eq!(fs::read(place.data().join("token")).ok(), token);
    // No restore brings it back by an accident.
    let old = Path::new(kept).join("loci.db");
    place
        .run(&["restore", old.to_str().unwrap(), "--replace"])
        .failed(5, "is damaged");
}

#[test]
fn a_database_that_does_not_open_is_rebuilt_and_noise_is_left_alone() {
    let place = Place::new();
    filled(&place);
    let whole = without_log(&place.data());
    let database = place.data().join("loci.db");
    let mut headless = whole.clone();
    headless[..PAGE].fill(0);
    fs::write(&database, headless).unwrap();
    let (code, found) = rows(&place, &["--fix"]);
    assert_eq!(code, 0, "{found:?}");
    assert_eq!(place.json(&["stats"])["total"], 61);
    let noise = vec![7; 5 * PAGE];
    fs::write(&database, &noise).unwrap();
    let (code, found) = rows(&place, &["--fix"]);
    assert_eq!(code, 5, "{found:?}");
    assert!(
        found
            .iter()
            .any(|row| row.2.contains("no row of loci was found")),
        "{found:?}"
    );
    assert_eq!(fs::read(&database).unwrap(), noise);
}

#[test]
fn a_fix_says_what_it_did_and_nothing_if_there_is_nothing() {
    let place = Place::new();
    filled(&place);
    place.write("data/vault/new.md", "# New\n");
    let (code, rows) = rows(&place, &["--fix"]);
    assert_eq!(code, 0, "{rows:?}");
    assert!(
        rows.iter()
            .any(|row| row.0 == "notes" && row.1 == "done" && row.2.contains("indexed 1")),
        "{rows:?}"
    );
    let (_, rows) = self::rows(&place, &["--fix"]);
    assert!(
        rows.iter()
            .all(|(_, verdict, _)| verdict != "done" && verdict != "fail"),
        "{rows:?}"
    );
    assert_eq!(place.json(&["stats"])["total"], 62);
}

#[test]
fn everything_derived_can_be_rebuilt() {
    let place = Place::new();
    filled(&place);
    let found = || {
        let hits = place.rows(&["search", "bead string"]);
        let ids = hits
            .as_array()
            .unwrap()
            .iter()
            .map(|hit| hit["memory"]["id"].clone());
        ids.collect::<Vec<_>>()
    };
    let before = found();
    let reindexed = place.json(&["reindex"]);
    assert!(reindexed["memories"].as_u64().unwrap() >= 61, "{reindexed}");
    assert_eq!((found(), before.is_empty()), (before.clone(), false));
    place.run(&["reindex", "--embeddings"]).succeeded();
    assert_eq!(wrong(&place, &[]), Vec::new());
}

#[cfg(target_os = "linux")]
#[test]
fn the_processes_that_have_the_store_open_or_locked_are_named() {
    use rustix::fs::{FlockOperation::NonBlockingLockExclusive, fcntl_lock};
    let place = Place::new().with("LOCI_BUSY_TIMEOUT_SECONDS", "1");
    place.add(&["a"]);
    let (verdict, text) = row_of(&place, "writing");
    assert!(
        verdict == "ok" && text.starts_with("a write was on the disk after "),
        "{text}"
    );
    assert!(
        !rows(&place, &[]).1.iter().any(|row| row.0 == "processes"),
        "no other process has it open"
    );
    let this = format!("(process {})", std::process::id());
    let store = SqliteStore::open(&place.data(), Options::default()).unwrap();
    let (verdict, text) = row_of(&place, "processes");
    assert!(verdict == "ok" && text.contains(&this), "{text}");
    assert_eq!(
        row_of(&place, "writing").0,
        "ok",
        "who has it open keeps no write out"
    );
    drop(store);
    let database = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(place.data().join("loci.db"))
        .unwrap();
    fcntl_lock(&database, NonBlockingLockExclusive).unwrap();
    let (verdict, text) = row_of(&place, "database");
    assert!(
        verdict == "fail" && text.contains("the lock is held by ") && text.contains(&this),
        "{text}"
    );
    drop(database);
    assert_eq!(row_of(&place, "writing").0, "ok");
}

#[cfg(target_os = "linux")]
#[test]
fn a_disk_without_room_for_a_write_is_told() {
    let place = Place::new();
    fs::create_dir(place.data()).unwrap();
    if !crate::backup::mounted(&place.data(), "size=4m,mode=0700") {
        eprintln!("SKIPPED: no file system can be mounted here, so that no disk is full");
        return;
    }
    // The log and its shared memory exist: without them the store would not even open.
    let store = SqliteStore::open(&place.data(), Options::default()).unwrap();
    // The wipe empties the log, in which a write would find space.
    store
        .wipe(&Space::default(), "ann", None, None, Timestamp::MIN)
        .unwrap();
    let mut ballast = fs::File::create(place.data().join("ballast")).unwrap();
    while ballast.write_all(&[1; 512]).is_ok() {}
    let rows = rows(&place, &[]);
    drop((store, ballast));
    assert!(
        std::process::Command::new("umount")
            .arg(place.data())
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(rows.0, 4, "{rows:?}");
    let (_, verdict, text) = rows
        .1
        .iter()
        .find(|row| row.0 == "writing")
        .unwrap_or_else(|| panic!("{rows:?}"));
    assert!(
        verdict == "fail" && text.contains("the disk is full"),
        "{text}"
    );
}

#[test]
fn a_clock_that_jumped_is_told_and_trusted_at_a_persons_word() {
    let place = Place::new();
    place.add(&["a"]);
    let (verdict, _) = row_of(&place, "clock");
    assert_eq!(verdict, "ok");
    let noted = || {
        SqliteStore::open(&place.data(), Options::default())
            .unwrap()
            .sweep_clock()
            .unwrap()
    };
    assert_eq!(noted(), None, "a look changes nothing");
    {
        let store = SqliteStore::open(&place.data(), Options::default()).unwrap();
        let [trusted, seen] = [1_798_761_600, 2_114_380_800]
            .map(|second| Timestamp::from_microseconds(second * 1_000_000));
        let jump = Some(ClockJump {
            seen,
            stood_seconds: Some(7_300),
        });
        store
            .put_sweep_clock(&SweepClock { trusted, jump })
            .unwrap();
    }
    let found = wrong(&place, &[]);
    let [(check, verdict, text)] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!((check.as_str(), verdict.as_str()), ("clock", "warn"));
    assert!(
        text.contains("showed 2037-01-01T")
            && text.contains("be 2027-01-01T")
            && text.contains("(2 so far)"),
        "{text}"
    );
    let (code, trusted) = rows(&place, &["--trust-clock"]);
    assert!(
        code == 0 && trusted[0].0 == "clock" && trusted[0].1 == "done",
        "{trusted:?}"
    );
    assert_eq!(wrong(&place, &[]), []);
    assert_eq!(noted().unwrap().jump, None);
}

#[test]
fn languages_that_the_model_does_not_know_are_told() {
    let languages = |texts: &[&str]| -> Option<(String, String)> {
        let place = Place::new().with("LOCI_EMBEDDING_PROVIDER", "bundled");
        for text in texts {
            place.add(&[text]);
        }
        let (_, rows) = rows(&place, &[]);
        let row = rows.into_iter().find(|(check, ..)| check == "languages");
        row.map(|(_, verdict, text)| (verdict, text))
    };
    let german = "Die Miete ist am Ersten fällig.";
    let russian = ["Мы живём в доме у реки.", "Ключ лежит под камнем."];
    let english = "The rent is due on the first of the month.";
    let (verdict, text) =
        languages(&[german, russian[0], russian[1], english, "ERR-4021"]).unwrap();
    assert_eq!(verdict, "warn");
    assert!(
        text.starts_with(
            "all-minilm-l6-v2 does not know the languages of 75 % of 4 texts (ru 50 %, de 25 %)"
        ),
        "{text}"
    );
    assert!(
        text.contains("loci model use multilingual-e5-small"),
        "{text}"
    );
    let numbered: Vec<String> = (1..=4)
        .map(|number| format!("{english} It is rent {number}."))
        .collect();
    let texts: Vec<&str> = numbered
        .iter()
        .map(String::as_str)
        .chain([german])
        .collect();
    let (verdict, text) = languages(&texts).unwrap();
    assert_eq!(
        (verdict.as_str(), text.as_str()),
        (
            "ok",
            "all-minilm-l6-v2 knows the languages of 80 % of 5 texts"
        )
    );
    assert_eq!(languages(&["ERR-4021"]), None);
}
