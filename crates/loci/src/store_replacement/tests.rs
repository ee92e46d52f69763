use std::collections::BTreeMap;

use loci_keys::Keys;

use super::*;
use crate::store::files_in;

/// Returns every file below a folder with its content, hidden ones included.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let (mut found, mut folders) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path
                    .strip_prefix(folder)
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .to_owned();
                found.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    found
}

fn write(folder: &Path, rows: &[(&str, &str)]) {
    for (path, text) in rows {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// Makes an old store, and a new one that was decided.
fn decided(data: &Path) {
    let old = [
        ("loci.db", "old"),
        ("loci.db-wal", "old log"),
        ("loci.db-shm", "old index"),
        ("encryption.json", "old key"),
        ("token", "secret"),
        ("vault/same.md", "same"),
        ("vault/changed.md", "old"),
        ("vault/more/only old.md", "old"),
        ("vault/in the way", "a file where the backup has a folder"),
        ("vault/.obsidian/app.json", "{}"),
    ];
    let new = [
        ("restoring/loci.db", "new"),
        ("restoring/encryption.json", "new key"),
        ("restoring/vault/same.md", "same"),
        ("restoring/vault/changed.md", "new"),
        ("restoring/vault/in the way/new.md", "new"),
        ("restoring/vault/a/b/new.md", "new"),
    ];
    write(data, &[&old[..], &new].concat());
    let aside = ["more/only old.md", "in the way"]
        .map(str::to_owned)
        .to_vec();
    let replacement = StoreReplacement {
        replaced: Path::new("backups/replaced-1").to_owned(),
        notes: data.join("vault"),
        aside,
        is_encrypted: true,
    };
    commit(&*files_in(data, &Keys::default()), &replacement).unwrap();
}

fn expected() -> BTreeMap<String, String> {
    let rows = [
        ("loci.db", "new"),
        ("encryption.json", "new key"),
        ("token", "secret"),
        ("vault/same.md", "same"),
        ("vault/changed.md", "new"),
        ("vault/in the way/new.md", "new"),
        ("vault/a/b/new.md", "new"),
        ("vault/.obsidian/app.json", "{}"),
        ("backups/replaced-1/loci.db", "old"),
        ("backups/replaced-1/loci.db-wal", "old log"),
        ("backups/replaced-1/loci.db-shm", "old index"),
        ("backups/replaced-1/encryption.json", "old key"),
        ("backups/replaced-1/vault/changed.md", "old"),
        ("backups/replaced-1/vault/more/only old.md", "old"),
        (
            "backups/replaced-1/vault/in the way",
            "a file where the backup has a folder",
        ),
    ];
    rows.map(|(path, text)| (path.to_owned(), text.to_owned()))
        .into()
}

/// Carries out the restore for that many steps; returns true if it was completed.
fn cut_off_after(data: &Path, mut steps: usize) -> bool {
    let mut before = |_: &str| {
        steps = steps
            .checked_sub(1)
            .ok_or_else(|| io::Error::other("killed"))?;
        Ok(())
    };
    carry_out(&*files_in(data, &Keys::default()), &mut before).is_ok()
}

#[test]
fn a_swap_goes_on_after_any_step() {
    for steps in 0.. {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path();
        decided(data);
        let is_done = cut_off_after(data, steps);
        let left = files(data);
        let is_new = left.get("loci.db").is_some_and(|text| text == "new");
        assert!(
            !is_new || !left.contains_key("loci.db-wal"),
            "the old log beside the new database after {steps}"
        );
        let whole = left.iter().filter(|(path, _)| !path.starts_with(STAGING));
        let is_whole = whole
            .map(|(path, text)| (path.clone(), text.clone()))
            .eq(expected());
        assert!(
            is_whole || files_in(data, &Keys::default()).restore_mark().exists(),
            "a mixture opens after {steps} steps: {left:?}"
        );
        // It is interrupted once more.
        cut_off_after(data, 1);
        complete(&*files_in(data, &Keys::default())).unwrap();
        let mut left = files(data);
        // If only this was left to do, doctor does it.
        left.retain(|path, _| !path.starts_with(STAGING));
        assert_eq!(left, expected(), "after {steps} steps");
        if is_done {
            assert!(steps > 10, "only {steps} steps");
            return;
        }
    }
}

#[test]
fn what_somebody_puts_there_meanwhile_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    decided(data);
    // The old database was moved aside, and a program that does not know the mark makes a new one.
    assert!(!cut_off_after(data, 4));
    write(
        data,
        &[
            ("loci.db", "stranger"),
            ("loci.db-wal", "stranger's log"),
            ("vault/changed.md", "stranger"),
        ],
    );
    complete(&*files_in(data, &Keys::default())).unwrap();
    let left = files(data);
    let rows = [
        ("loci.db", "new"),
        ("vault/changed.md", "new"),
        ("backups/replaced-1/loci.db", "old"),
        ("backups/replaced-1/loci.db.2", "stranger"),
        ("backups/replaced-1/loci.db-wal.2", "stranger's log"),
        ("backups/replaced-1/vault/changed.md", "stranger"),
    ];
    for (path, text) in rows {
        assert_eq!(
            left.get(path).map(String::as_str),
            Some(text),
            "{path}: {left:?}"
        );
    }
    assert!(!left.contains_key("loci.db-wal"));
}

#[test]
fn nothing_happens_before_it_is_decided() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    write(data, &[("loci.db", "old"), ("restoring/loci.db", "new")]);
    complete(&*files_in(data, &Keys::default())).unwrap();
    assert_eq!(files(data)["loci.db"], "old");
}

/// The target of a link outside the folder stays as it is.
#[cfg(unix)]
#[test]
fn no_link_leads_out() {
    let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let data = folder.path();
    decided(data);
    write(outside.path(), &[("b/new.md", "outside")]);
    std::os::unix::fs::symlink(outside.path(), data.join("vault/a")).unwrap();
    complete(&*files_in(data, &Keys::default())).unwrap();
    assert_eq!(
        files(outside.path()),
        [("b/new.md".to_owned(), "outside".to_owned())].into()
    );
    assert_eq!(
        fs::read_to_string(data.join("vault/a/b/new.md")).unwrap(),
        "new"
    );
    assert!(data.join("backups/replaced-1/vault/a").is_symlink());
}
