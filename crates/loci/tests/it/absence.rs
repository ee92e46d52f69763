//! Commands where there is no store: what only reads makes none.

use std::fs;

use crate::program::Place;

#[test]
fn what_only_reads_makes_no_store() {
    let place = Place::new();
    let rows: [&[&str]; 28] = [
        &["list"],
        &["search", "tea"],
        &["show", "abc"],
        &["show", "abc", "--as-of", "2h"],
        &["history"],
        &["history", "abc"],
        &["diff", "abc"],
        &["restore", "abc", "1"],
        &["undo", "--client", "codex"],
        &["stats"],
        &["bootstrap"],
        &["audit"],
        &["export", "all.jsonl"],
        &["backup", "all.tar"],
        &["forget", "abc"],
        &["forget", "--where", "--type", "fact"],
        &["unforget", "abc"],
        &["delete", "abc", "--forever", "--yes"],
        &["trust"],
        &["trust", "ann"],
        &["token", "list"],
        &["token", "revoke", "abc"],
        &["vault", "status"],
        &["vault", "check"],
        &["palace", "wake-up"],
        &["palace", "compress"],
        &["reindex"],
        &["doctor", "--secrets"],
    ];
    let typo = place.path("typo");
    let named = format!("there is no loci in {}", typo.display());
    for words in rows {
        let ended = place.run(&[words, &["--data", "typo"]].concat());
        let ended = ended.failed(4, &named);
        assert!(ended.stderr.contains("--data"), "{words:?}: {ended:?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{words:?}: {ended:?}");
        assert!(!typo.exists(), "{words:?}");
    }
    for words in [
        &["doctor"][..],
        &["doctor", "--fix"],
        &["doctor", "--trust-clock"],
    ] {
        let ended = place.run(&[words, &["--data", "typo"]].concat());
        assert!(
            ended.code == 4 && ended.stdout.contains(&named),
            "{words:?}: {ended:?}"
        );
        assert!(!typo.exists(), "{words:?}");
    }
    // A folder that is there, with what a host or `model install` put into it, is no store either.
    fs::create_dir(&typo).unwrap();
    fs::write(typo.join("config"), "").unwrap();
    place.run(&["list", "--data", "typo"]).failed(4, &named);
    let doctor = place.run(&["doctor", "--data", "typo"]);
    assert!(
        doctor.code == 4 && doctor.stdout.contains(&named),
        "{doctor:?}"
    );
    assert_eq!(fs::read_dir(&typo).unwrap().count(), 1);
    let elsewhere = ["--data", "typo", "--store", "else"];
    let ended = place.run(&[&["list"], &elsewhere[..]].concat());
    ended.failed(4, &format!("no loci in {}", place.path("else").display()));
    place.run(&["add", "tea", "--data", "typo"]).succeeded();
    place.run(&["list", "--data", "typo"]).succeeded();
}

#[test]
fn a_file_is_told_from_a_folder() {
    let place = Place::new();
    let file = place.write("data", "not a folder");
    let named = format!("{} is a file", file.display());
    for words in [
        &["list"][..],
        &["add", "a"],
        &["import", "-"],
        &["mcp", "mememory"],
        &["serve", "--bind", "127.0.0.1:0"],
    ] {
        let ended = place.run(words);
        assert!(
            ended.code != 0 && ended.stderr.contains(&named),
            "{words:?}: {ended:?}"
        );
        assert_eq!(ended.stderr.lines().count(), 1, "{words:?}: {ended:?}");
    }
    assert_eq!(fs::read(file).unwrap(), b"not a folder");
}
