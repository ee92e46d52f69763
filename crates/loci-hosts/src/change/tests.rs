//! Tests of planned changes.

use super::*;

/// A line that is added at the end.
pub(crate) struct Line;

impl Addition for Line {
    fn is_in(&self, text: &str) -> Result<bool, String> {
        Ok(text.contains("line\n"))
    }

    fn put_as_in(&self, text: &str, _from: &str) -> Result<String, String> {
        put(text)
    }

    fn remove(&self, text: &str) -> Result<String, String> {
        Ok(text.replace("line\n", ""))
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the form of an edit")]
pub(crate) fn put(text: &str) -> Result<String, String> {
    if text.contains("line\n") {
        return Ok(text.to_owned());
    }
    let space = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    Ok(format!("{text}{space}line\n"))
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn an_undone_change_leaves_the_file_as_it_was() {
    for before in [None, Some(""), Some("a"), Some("a\n"), Some("\n\n")] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new/deep/file");
        if let Some(text) = before {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, text).unwrap();
        }
        let change = Change::plan(&file, Reach::Everywhere, put).unwrap();
        assert!(change.has_changed());
        assert!(
            change.difference().contains("+line"),
            "{}",
            change.difference()
        );
        let edited = change.apply().unwrap();
        assert_eq!(edited.is_made, before.is_none());
        assert_eq!(edited.backup.is_some(), before.is_some());
        let again = Change::plan(&file, Reach::Everywhere, put).unwrap();
        assert!(!again.has_changed());
        assert_eq!(again.difference(), "");
        assert!(!again.apply().unwrap().has_changed);
        let undo = Change::plan_undo(&file, Reach::Everywhere, Line, folder.path()).unwrap();
        let undone = undo.apply().unwrap();
        assert_eq!(undone.is_removed, before.is_none());
        match before {
            Some(text) => {
                assert_eq!(fs::read_to_string(&file).unwrap(), text);
                assert_eq!(names(file.parent().unwrap()), ["file"]);
            }
            None => assert!(names(folder.path()).is_empty()),
        }
        let nothing = Change::plan_undo(&file, Reach::Everywhere, Line, folder.path()).unwrap();
        assert!(!nothing.has_changed());
    }
}

#[test]
fn what_others_changed_in_the_meantime_stays() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "a").unwrap();
    Change::plan(&file, Reach::Everywhere, put)
        .unwrap()
        .apply()
        .unwrap();
    fs::write(&file, "a\nline\nb\n").unwrap();
    let undo = Change::plan_undo(&file, Reach::Everywhere, Line, folder.path()).unwrap();
    undo.apply().unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "a\nb\n");
    assert_eq!(names(folder.path()), ["file", "file.loci-backup-1"]);
}

#[test]
fn a_change_is_made_in_what_another_program_wrote_after_the_plan() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "a\n").unwrap();
    let change = Change::plan(&file, Reach::Everywhere, put).unwrap();
    fs::write(&file, "b\n").unwrap();
    change.apply().unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "b\nline\n");
    let undo = Change::plan_undo(&file, Reach::Everywhere, Line, folder.path()).unwrap();
    fs::write(&file, "c\nline\n").unwrap();
    undo.apply().unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "c\n");
}

#[test]
fn files_that_are_no_text_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, b"\xff\xfe").unwrap();
    let large = folder.path().join("large");
    fs::File::create(&large).unwrap().set_len(9 << 20).unwrap();
    for file in [&file, &large, &folder.path().to_owned()] {
        let problem = Change::plan(file, Reach::Everywhere, put)
            .unwrap_err()
            .to_string();
        let expected = ["not text", "more than", "not a plain file"];
        assert!(
            expected.iter().any(|words| problem.contains(words)),
            "{problem}"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_link_is_undone_behind_it() {
    let folder = tempfile::tempdir().unwrap();
    let (file, target) = (folder.path().join("file"), folder.path().join("target"));
    fs::write(&target, "").unwrap();
    std::os::unix::fs::symlink(&target, &file).unwrap();
    Change::plan(&file, Reach::Everywhere, put)
        .unwrap()
        .apply()
        .unwrap();
    fs::remove_file(folder.path().join("target.loci-backup-1")).unwrap();
    let undo = Change::plan_undo(&file, Reach::Everywhere, Line, folder.path()).unwrap();
    undo.apply().unwrap();
    assert_eq!(fs::read_to_string(&target).unwrap(), "");
    assert!(fs::symlink_metadata(&file).unwrap().is_symlink());
}
