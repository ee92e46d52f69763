use std::io::{Seek, SeekFrom, Write};

use crate::program::Place;

/// The offset of the schema version in an SQLite file.
const USER_VERSION_OFFSET: u64 = 60;

#[test]
fn a_data_folder_that_is_a_file() {
    let place = Place::new();
    let file = place.write("data", "not a folder");
    place.run(&["add", "a"]).failed(4, file.to_str().unwrap());
    place.run(&["doctor"]).failed(4, "");
    assert_eq!(std::fs::read(file).unwrap(), b"not a folder");
}

#[cfg(unix)]
#[test]
fn a_data_folder_that_is_not_ours() {
    use std::os::unix::fs::{PermissionsExt, chown};

    let place = Place::new();
    place.add(&["a"]);
    // Root is not stopped by permissions, but only root can give a folder away.
    if crate::program::is_root() {
        chown(place.data(), Some(12_345), None).unwrap();
        place.run(&["add", "b"]).failed(4, "12345");
        chown(place.data(), Some(0), None).unwrap();
    } else {
        for file in std::fs::read_dir(place.data()).unwrap() {
            let path = file.unwrap().path();
            std::fs::set_permissions(path, PermissionsExt::from_mode(0o400)).unwrap();
        }
        std::fs::set_permissions(place.data(), PermissionsExt::from_mode(0o500)).unwrap();
        place.run(&["add", "b"]).failed(4, "--data");
        place.run(&["doctor"]).failed(4, "");
        std::fs::set_permissions(place.data(), PermissionsExt::from_mode(0o700)).unwrap();
        for file in std::fs::read_dir(place.data()).unwrap() {
            std::fs::set_permissions(file.unwrap().path(), PermissionsExt::from_mode(0o600))
                .unwrap();
        }
    }
    assert_eq!(place.json(&["stats"])["total"], 1);
}

#[test]
fn a_database_of_a_newer_loci() {
    let place = Place::new();
    place.add(&["a"]);
    let path = place.data().join("loci.db");
    let before = std::fs::read(&path).unwrap();
    let set_version = |version: [u8; 4]| {
        let mut file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.seek(SeekFrom::Start(USER_VERSION_OFFSET)).unwrap();
        file.write_all(&version).unwrap();
    };
    set_version([0, 0, 0x27, 0x10]);
    for arguments in [
        &["add", "b"][..],
        &["list"],
        &["serve", "--bind", "127.0.0.1:0"],
        &["mcp", "mememory"],
    ] {
        place.run(arguments).failed(5, "schema 10000");
    }
    let report = place.run(&["doctor"]);
    assert!(
        report.code == 5 && report.stdout.contains("fail  database"),
        "{report:?}"
    );
    let offset = USER_VERSION_OFFSET as usize;
    set_version(before[offset..offset + 4].try_into().unwrap());
    assert_eq!(place.json(&["stats"])["total"], 1);
}

#[test]
fn a_database_that_is_none() {
    let place = Place::new();
    place.write(
        "data/loci.db",
        "this is no database, whatever its name says".repeat(100),
    );
    place.run(&["add", "a"]).failed(5, "loci.db");
    let report = place.run(&["doctor"]);
    assert!(
        report.code == 5 && report.stdout.contains("loci.db is damaged"),
        "{report:?}"
    );
}

/// The size of a database page in bytes.
const PAGE: usize = 4_096;

/// Replaces the database by another one without a log.
fn put_database(place: &Place, database: &[u8]) {
    for log in ["loci.db-wal", "loci.db-shm"] {
        let _ = std::fs::remove_file(place.data().join(log));
    }
    std::fs::write(place.data().join("loci.db"), database).unwrap();
}

#[test]
fn a_damaged_database_is_told_from_everything_else() {
    let place = Place::new();
    // Texts of one page and of several.
    place.add_all((0..120).map(|number: usize| {
        format!("Bead {number} {}", "of the long string ".repeat(number * 7))
            + if number.is_multiple_of(9) {
                " rule"
            } else {
                ""
            }
    }));
    let listed = place.run(&["list", "--limit", "1000"]).succeeded().stdout;
    let whole = std::fs::read(place.data().join("loci.db")).unwrap();
    let put = |database: &[u8]| put_database(&place, database);
    let commands: [&[&str]; 5] = [
        &["list", "--limit", "1000"],
        &["search", "bead"],
        &["stats"],
        &["add", "Another bead"],
        &["bootstrap"],
    ];
    let mut failures = 0;
    for seed in 1..=8_u64 {
        let mut state = seed;
        let mut random = move || {
            // Knuth's linear congruential generator; its upper half is random enough.
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize
        };
        let mut damaged = whole.clone();
        for _ in 0..seed {
            // A corrupt first page is tested elsewhere: without it there is no database.
            let page = 1 + random() % (whole.len() / PAGE - 1);
            damaged[page * PAGE..(page + 1) * PAGE].fill_with(|| random() as u8);
        }
        put(&damaged);
        let report = place.run(&["doctor"]);
        // If the schema table is corrupt, too, the database does not even open.
        let is_damaged = ["fail  damage", "loci.db is damaged"]
            .iter()
            .any(|words| report.stdout.contains(words));
        for arguments in commands {
            put(&damaged);
            let ended = place.run(arguments);
            if ended.code != 0 {
                failures += 1;
                let ended = ended.failed(5, "damaged");
                let way_out = if is_damaged {
                    "no backup in"
                } else {
                    "loci doctor"
                };
                assert!(
                    ended.stderr.contains(way_out),
                    "seed {seed}: {arguments:?} {ended:?}"
                );
                assert!(
                    !ended.stderr.contains("Bead"),
                    "seed {seed}: {arguments:?} {ended:?}"
                );
            }
        }
        if is_damaged {
            assert_eq!(report.code, 5, "seed {seed}: {report:?}");
            assert!(
                report.stdout.contains("copy the folder"),
                "seed {seed}: {report:?}"
            );
            continue;
        }
        // The use of each page differs from run to run. If it was only an index, or unused, no text
        // is lost.
        put(&damaged);
        if report.code != 0 {
            assert!(
                report.code == 5 && report.stdout.contains("doctor --fix"),
                "seed {seed}: {report:?}"
            );
            place.run(&["doctor", "--fix"]).succeeded();
        }
        assert_eq!(
            place.run(&["list", "--limit", "1000"]).succeeded().stdout,
            listed,
            "seed {seed}: {report:?}"
        );
        place.run(&["doctor"]).succeeded();
    }
    assert!(failures > 8, "only {failures} commands noticed anything");
    // With a backup, the way out is to restore it.
    place.write("data/backups/loci-v1-20260101T000000Z.db", &whole);
    assert!(
        place
            .run(&["doctor"])
            .stdout
            .contains("loci-v1-20260101T000000Z.db is the newest backup")
    );
    put(&whole);
    place.run(&["doctor"]).succeeded();
}

#[test]
fn a_broken_index_is_told_as_damage_and_costs_no_memory() {
    // The first byte of an interior or leaf page of an index (SQLite file format, section 1.6).
    const INDEX: [u8; 2] = [2, 10];
    let place = Place::new();
    place.add_all((0..3).map(|number| format!("Bead {number} of the long string")));
    let listed = place.run(&["list"]).succeeded().stdout;
    let file = place.write("export.jsonl", "");
    std::fs::remove_file(&file).unwrap();
    place.run(&["export", file.to_str().unwrap()]).succeeded();
    let whole = std::fs::read(place.data().join("loci.db")).unwrap();
    let mut broken = [0; 2];
    for page in (1..whole.len() / PAGE).filter(|page| INDEX.contains(&whole[page * PAGE])) {
        let mut damaged = whole.clone();
        damaged[page * PAGE..(page + 1) * PAGE].fill(0xa5);
        // An import also prints the work that it did before.
        for (broken, arguments) in broken
            .iter_mut()
            .zip([&["list"][..], &["import", file.to_str().unwrap()]])
        {
            put_database(&place, &damaged);
            let ended = place.run(arguments);
            let report = (ended.code != 0).then(|| place.run(&["doctor"]));
            if let Some(report) = report.filter(|report| !report.stdout.contains("copy the folder"))
            {
                *broken += 1;
                ended.failed(5, "loci doctor");
                assert!(
                    report.code == 5 && report.stdout.contains("doctor --fix"),
                    "page {page}: {report:?}"
                );
                place.run(&["doctor", "--fix"]).succeeded();
                assert_eq!(
                    place.run(&["list"]).succeeded().stdout,
                    listed,
                    "page {page}: {report:?}"
                );
            }
        }
    }
    assert!(
        broken.iter().all(|broken| *broken > 0),
        "{broken:?} indexes were needed"
    );
}

#[test]
fn a_damaged_model_costs_no_memory() {
    let place = Place::new().with("LOCI_EMBEDDING_PROVIDER", "folder");
    let graph = place.write("model/model.onnx", "no graph");
    place.write("model/tokenizer.json", "{}");
    let place = place.with(
        "LOCI_EMBEDDING_MODEL_FOLDER",
        graph.parent().unwrap().to_str().unwrap(),
    );

    let added = place
        .run(&["add", "The deploy runs on Fridays"])
        .succeeded();
    assert!(
        added.stderr.contains("stored and found by its words"),
        "{added:?}"
    );
    let found = place.run(&["search", "deploy"]).succeeded();
    assert!(
        found.stdout.contains("Fridays") && found.stderr.contains("words alone"),
        "{found:?}"
    );
    place
        .run(&["search", "deploy", "--search", "vector"])
        .failed(7, "embedding.model_folder");
    let report = place.run(&["doctor"]);
    assert!(
        report.code == 7 && report.stdout.contains("fail  model"),
        "{report:?}"
    );
    assert!(report.stdout.contains("warn  embeddings"), "{report:?}");
    // A folder without files gives the same error.
    std::fs::remove_file(&graph).unwrap();
    place.run(&["add", "b"]).succeeded();
    place.run(&["doctor"]).failed(7, "");
}

#[test]
fn an_endpoint_that_cannot_be_one() {
    let place = Place::new()
        .with("LOCI_EMBEDDING_PROVIDER", "http")
        .with("LOCI_EMBEDDING_URL", "ftp://somewhere")
        .with("LOCI_EMBEDDING_MODEL", "m");
    place.run(&["add", "a"]).failed(2, "`embedding.url`");
    assert!(!place.data().exists());
    let doctor = Place::new()
        .with_store()
        .with("LOCI_EMBEDDING_PROVIDER", "http")
        .with("LOCI_EMBEDDING_URL", "ftp://somewhere")
        .with("LOCI_EMBEDDING_MODEL", "m");
    doctor.run(&["doctor"]).failed(7, "");
}

#[test]
fn a_healthy_place_passes_the_doctor() {
    let place = Place::new();
    let absent = place.run(&["doctor"]);
    assert!(
        absent.code == 4 && absent.stdout.contains("there is no loci in"),
        "{absent:?}"
    );
    assert!(!place.data().exists(), "the doctor changes nothing");
    place.add(&["a"]);
    let report = place.rows(&["doctor"]);
    let rows = report.as_array().unwrap().iter();
    let rows: Vec<_> = rows
        .map(|row| ["check", "verdict"].map(|field| row[field].as_str().unwrap()))
        .collect();
    // The checks that always run; the checks of the model, of tokens and of problems have their own
    // tests.
    let named = [
        "data folder",
        "disk",
        "database",
        "writing",
        "enrichment",
        "notes",
        "tokens",
        "permissions",
        "backup",
        "model",
        "clock",
    ];
    assert_eq!(rows, named.map(|name| [name, "ok"]), "{report}");
}

#[test]
fn the_bundled_model_passes_the_doctor() {
    let place = Place::new().with("LOCI_EMBEDDING_PROVIDER", "bundled");
    place.add(&["The deploy runs on Fridays"]);
    let report = place.run(&["doctor"]).succeeded();
    assert!(report.stdout.contains("with 384 components"), "{report:?}");
    assert!(
        report.stdout.contains("ok    model") && report.stdout.contains("ok    embeddings"),
        "{report:?}"
    );
}
