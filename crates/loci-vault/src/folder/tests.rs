use std::fs;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::FileCopy;
use loci_core::{MemoryId, NoteContent, Timestamp};

use super::*;
use crate::disk::testing::FLUSHES;

/// A clock that shows this microsecond until a test moves it.
#[derive(Default)]
struct FixedClock(AtomicI64);

impl FixedClock {
    fn set(&self, now: Timestamp) {
        self.0.store(now.microseconds(), Ordering::SeqCst);
    }
}

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_microseconds(self.0.load(Ordering::SeqCst))
    }
}

/// A folder that loci writes, with a lock and with space for files outside.
struct Place {
    outside: tempfile::TempDir,
    root: PathBuf,
    folder: VaultFolder,
    clock: Arc<FixedClock>,
}

impl Place {
    fn new() -> Self {
        let outside = tempfile::tempdir().unwrap();
        let root = outside.path().join("notes");
        let clock = Arc::new(FixedClock::default());
        let folder = VaultFolder::new(root.clone(), outside.path().join("lock"), clock.clone());
        Place {
            outside,
            root,
            folder,
            clock,
        }
    }

    fn with(files: &[(&str, &str)]) -> Self {
        let place = Place::new();
        for (path, text) in files {
            place.put(path, text.as_bytes());
        }
        place
    }

    fn put(&self, path: &str, bytes: &[u8]) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).unwrap()
    }

    fn read(&self, path: &str) -> FileSnapshot {
        self.folder
            .read(path)
            .unwrap()
            .unwrap_or_else(|| panic!("{path} is gone"))
    }

    fn problem(&self, path: &str) -> FileProblemKind {
        self.read(path)
            .problem
            .unwrap_or_else(|| panic!("nothing is wrong with {path}"))
            .kind
    }

    fn files(&self) -> Vec<String> {
        self.folder
            .scan()
            .unwrap()
            .files
            .into_iter()
            .map(|(path, _)| path)
            .collect()
    }

    fn create(&self, note: &Note) -> String {
        match self.folder.create(note, true).unwrap() {
            CreateOutcome::New(path, _) => path,
            CreateOutcome::Existing(path, _) => panic!("{path} was there before"),
        }
    }
}

fn id(number: u64) -> MemoryId {
    MemoryId::new(format!("019aa3c4-5f0e-7000-8000-{number:012}"))
}

fn note(number: u64, title: &str, body: &str) -> Note {
    Note {
        id: Some(id(number)),
        title: Some(title.to_owned()),
        body: body.to_owned(),
        ..Note::default()
    }
}

fn said(read: &FileSnapshot) -> &Note {
    let Some(NoteContent { note, .. }) = &read.content else {
        panic!("{read:?}")
    };
    note
}

#[test]
fn a_new_note_makes_the_folder_and_is_what_is_read() {
    let place = Place::new();
    assert_eq!(place.folder.scan().unwrap(), FolderScan::default());
    assert_eq!(
        place
            .folder
            .read("tea.md")
            .unwrap()
            .map(|read| read.problem.map(|problem| problem.kind)),
        Some(Some(FileProblemKind::Unreadable))
    );
    let CreateOutcome::New(path, made) = place
        .folder
        .create(&note(1, "Tea", "green #tea, see [[Cups]]\n\n"), false)
        .unwrap()
    else {
        panic!()
    };
    assert_eq!(path, "tea.md");
    assert_eq!(
        place.text("tea.md"),
        format!(
            "---\nuid: {}\ntitle: Tea\nstatus: active\n---\ngreen #tea, see [[Cups]]\n",
            id(1)
        )
    );
    let read = place.read("tea.md");
    assert_eq!(read, made);
    assert_eq!(said(&read), &note(1, "Tea", "green #tea, see [[Cups]]"));
    let content = read.content.unwrap();
    assert_eq!(
        (content.text_tags, content.links),
        (vec!["tea".to_owned()], vec!["Cups".to_owned()])
    );
    let scan = place.folder.scan().unwrap();
    assert_eq!(scan.files, [("tea.md".to_owned(), made.stamp)]);
    assert!(scan.identity.is_some());
    assert_eq!(place.folder.location(), place.root.display().to_string());
}

#[test]
fn creating_and_rewriting_cost_two_flushes() {
    let place = Place::with(&[("old.md", "text")]);
    FLUSHES.set(0);
    place.create(&note(1, "Tea", "green"));
    assert_eq!(FLUSHES.get(), 2);
    let read = place.read("tea.md");
    FLUSHES.set(0);
    place
        .folder
        .rewrite(
            "tea.md",
            &read.hash,
            &Note {
                is_deleted: true,
                ..said(&read).clone()
            },
        )
        .unwrap();
    assert_eq!(FLUSHES.get(), 2);
    // An unchanged note is not written.
    let read = place.read("tea.md");
    FLUSHES.set(0);
    assert_eq!(
        place
            .folder
            .rewrite("tea.md", &read.hash, said(&read))
            .unwrap(),
        FileSnapshot {
            is_settled: false,
            ..read
        }
    );
    assert_eq!(FLUSHES.get(), 0);
    // A created folder is made durable, too.
    let place = Place::new();
    FLUSHES.set(0);
    place.create(&note(1, "Tea", "green"));
    assert_eq!(FLUSHES.get(), 3);
}

#[test]
fn names_are_numbered_whoever_has_them() {
    let place = Place::with(&[
        ("TEA.MD", "x"),
        ("tea-3.md", "x"),
        ("U\u{308}ber.md", "x"),
        ("folder.md/inner.md", "x"),
        ("sub/cups.md", "x"),
    ]);
    for (title, expected) in [
        ("Tea", "tea-2.md"),
        ("tea!", "tea-4.md"),
        ("Über", "über-2.md"),
        ("U\u{308}BER", "über-3.md"),
        ("Folder", "folder-2.md"),
        ("Cups", "cups.md"),
        ("../../etc/passwd", "etc-passwd.md"),
        ("CON", "con-note.md"),
        ("🐻", "note.md"),
        ("\u{202e}", "note-2.md"),
        ("a\nb", "a-b.md"),
    ] {
        let next = place.folder.scan().unwrap().files.len() as u64;
        assert_eq!(
            place.create(&note(next, title, "text")),
            expected,
            "{title:?}"
        );
        assert_eq!(said(&place.read(expected)).title.as_deref(), Some(title));
    }
    assert_eq!(place.text("TEA.MD"), "x");
    // Names that others created since then are seen.
    place.put("Cups-2.md", b"x");
    assert_eq!(place.create(&note(50, "Cups", "text")), "cups-3.md");
    fs::remove_file(place.root.join("cups.md")).unwrap();
    assert_eq!(place.create(&note(51, "Cups", "text")), "cups.md");
}

#[test]
fn long_and_strange_titles_are_kept() {
    let place = Place::new();
    let titles = [
        "é".repeat(256),
        "שלום עולם".to_owned(),
        "🐻".repeat(256),
        "w".repeat(300),
        "key: \"value\" # {odd} [x] | > & * ! %".to_owned(),
    ];
    for (number, title) in titles.into_iter().enumerate() {
        let path = place.create(&note(number as u64, &title, "text"));
        assert!(path.len() <= 90 && !path.contains('/'), "{path}");
        assert_eq!(
            said(&place.read(&path)).title.as_deref(),
            Some(title.as_str())
        );
    }
}

#[test]
fn an_earlier_attempt_is_found() {
    let place = Place::new();
    let first = note(1, "Tea", "green");
    place.create(&first);
    place.create(&note(2, "Tea", "black"));
    let later = MemoryId::new(id(2).as_str().replacen("019aa3c4-5f0e", "019BB3C4-5F0F", 1));
    let CreateOutcome::Existing(path, read) = place
        .folder
        .create(
            &Note {
                id: Some(later),
                ..note(2, "tea", "black")
            },
            true,
        )
        .unwrap()
    else {
        panic!()
    };
    assert_eq!(path, "tea-2.md");
    assert_eq!(said(&read), &note(2, "Tea", "black"));
    // The characters by themselves are not enough: they must be the uid.
    place.put(
        "cups.md",
        format!("---\nuid: other\n---\n{}\n", id(3)).as_bytes(),
    );
    assert_eq!(place.create(&note(3, "Cups", "text")), "cups-2.md");
    // Even if the name before it has become free.
    fs::remove_file(place.root.join("tea.md")).unwrap();
    let again = place.folder.create(&note(2, "Tea", "black"), true).unwrap();
    assert!(matches!(again, CreateOutcome::Existing(path, _) if path == "tea-2.md"));
    // A caller that does not ask for an earlier attempt does not get it.
    let new = place
        .folder
        .create(&note(2, "Tea", "black"), false)
        .unwrap();
    assert!(matches!(new, CreateOutcome::New(path, _) if path == "tea.md"));
    // Ids that are not UUIDs never count as the same attempt.
    let plain = Note {
        id: Some(MemoryId::new("plain")),
        ..note(1, "Plain", "x")
    };
    assert_eq!(
        (place.create(&plain), place.create(&plain)),
        ("plain.md".to_owned(), "plain-2.md".to_owned())
    );
}

/// The modification time of a folder is coarse: a listing may miss a file that was written in the
/// same instant.
#[cfg(unix)]
#[test]
fn an_earlier_attempt_of_the_same_instant_is_found() {
    let place = Place::new();
    place.create(&note(1, "Cups", "text"));
    let instant = fs::metadata(&place.root).unwrap().modified().unwrap();
    let other = VaultFolder::new(
        place.root.clone(),
        place.outside.path().join("lock"),
        place.clock.clone(),
    );
    let in_that_instant = |note: &Note| {
        assert!(matches!(
            other.create(note, true).unwrap(),
            CreateOutcome::New(..)
        ));
        fs::File::open(&place.root)
            .unwrap()
            .set_modified(instant)
            .unwrap();
    };
    let earlier = MemoryId::new(id(2).as_str().replacen("019aa3c4-5f0e", "019aa3c4-5f0d", 1));
    in_that_instant(&Note {
        id: Some(earlier.clone()),
        ..note(2, "Tea", "black")
    });
    let CreateOutcome::Existing(path, read) =
        place.folder.create(&note(2, "Tea", "black"), true).unwrap()
    else {
        panic!()
    };
    assert_eq!((path.as_str(), &said(&read).id), ("tea.md", &Some(earlier)));
    assert_eq!(place.files(), ["cups.md", "tea.md"]);
    // Another note keeps its name.
    assert_eq!(place.create(&note(3, "Tea", "green")), "tea-2.md");
    let instant = fs::metadata(&place.root).unwrap().modified().unwrap();
    assert!(matches!(
        other.create(&note(4, "Pots", "text"), true).unwrap(),
        CreateOutcome::New(..)
    ));
    fs::File::open(&place.root)
        .unwrap()
        .set_modified(instant)
        .unwrap();
    assert_eq!(place.create(&note(5, "Pots", "text")), "pots-2.md");
}

#[test]
fn a_rewrite_takes_the_place_of_what_was_read_alone() {
    let text = "---\n# mine\nmine: 'x'   # y\n---\n\nText\n";
    let place = Place::with(&[("sub/Note.md", text)]);
    let read = place.read("sub/Note.md");
    let forgotten = Note {
        id: Some(id(1)),
        is_deleted: true,
        deleted_at: Some(Timestamp::from_microseconds(0)),
        ..said(&read).clone()
    };
    let error = place
        .folder
        .rewrite("sub/Note.md", &ContentHash([7; 32]), &forgotten)
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::Conflict);
    assert_eq!(place.text("sub/Note.md"), text);
    let written = place
        .folder
        .rewrite("sub/Note.md", &read.hash, &forgotten)
        .unwrap();
    let expected = format!(
        "---\n# mine\nmine: 'x'   # y\nuid: {}\nstatus: deleted\ndeleted_at: 1970-01-01T00:00:00Z\n---\n\nText\n",
        id(1)
    );
    assert_eq!(place.text("sub/Note.md"), expected);
    assert_eq!(place.read("sub/Note.md"), written);
    assert_eq!(fs::read_dir(place.root.join("sub")).unwrap().count(), 1);

    let gone = place
        .folder
        .rewrite("sub/none.md", &read.hash, &forgotten)
        .unwrap_err();
    assert_eq!(gone.code, ErrorCode::NotFound);
    place.put("broken.md", b"---\nalways_load: maybe\n---\n");
    let read = place.read("broken.md");
    let error = place
        .folder
        .rewrite("broken.md", &read.hash, &forgotten)
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::Conflict);
    let large = Note {
        body: "a".repeat(CONTENT_BYTES_MAX + 1),
        ..forgotten
    };
    assert_eq!(
        place
            .folder
            .rewrite("sub/Note.md", &written.hash, &large)
            .unwrap_err()
            .code,
        ErrorCode::TooLarge
    );
    assert_eq!(
        place
            .folder
            .create(
                &Note {
                    title: Some("x".to_owned()),
                    ..large
                },
                false
            )
            .unwrap_err()
            .code,
        ErrorCode::TooLarge
    );
}

#[test]
fn a_scan_sees_notes_in_the_order_of_paths() {
    let place = Place::with(&[
        ("b.md", "1"),
        ("a.md", "22"),
        ("a/z.MD", "333"),
        ("a/b/c.Md", ""),
        ("a-b.md", ""),
        ("folder.md/x.md", ""),
        (".hidden.md", ""),
        (".obsidian/x.md", ""),
        ("a/.trash/x.md", ""),
        (".md", ""),
        ("picture.png", ""),
        ("md", ""),
        ("notes.md.txt", ""),
        ("日本.md", ""),
    ]);
    let scan = place.folder.scan().unwrap();
    let paths: Vec<_> = scan.files.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "a-b.md",
            "a.md",
            "a/b/c.Md",
            "a/z.MD",
            "b.md",
            "folder.md/x.md",
            "日本.md"
        ]
    );
    assert_eq!(scan.files[3].1.bytes, 3);
    assert_eq!(
        (scan.skipped, scan.unreadable_folders),
        (Vec::new(), Vec::new())
    );
    for (path, stamp) in &scan.files {
        assert_eq!(place.read(path).stamp, *stamp);
    }
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_passed_over_and_not_read() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;
    let place = Place::with(&[("real.md", "text"), ("sub/note.md", "text")]);
    let secret = place.outside.path().join("secret.md");
    fs::write(&secret, "secret").unwrap();
    fs::create_dir(place.outside.path().join("secrets")).unwrap();
    fs::write(place.outside.path().join("secrets/a.md"), "secret").unwrap();
    symlink(&secret, place.root.join("link.md")).unwrap();
    symlink("real.md", place.root.join("inner.md")).unwrap();
    symlink("nowhere", place.root.join("dangling.md")).unwrap();
    symlink(
        place.outside.path().join("secrets"),
        place.root.join("linked"),
    )
    .unwrap();
    symlink(
        place.outside.path().join("secrets"),
        place.root.join("linked.md"),
    )
    .unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        place.root.join("pipe.md"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    let strange = OsStr::from_bytes(b"strange-\xff.md");
    let has_strange = fs::write(place.root.join(strange), "x").is_ok();

    let scan = place.folder.scan().unwrap();
    let paths: Vec<_> = scan.files.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["real.md", "sub/note.md"]);
    let mut expected = vec!["dangling.md", "inner.md", "link.md", "linked.md", "pipe.md"];
    if has_strange {
        expected.push("strange-\u{fffd}.md");
    }
    assert_eq!(
        scan.skipped
            .iter()
            .map(|(path, _)| path.as_str())
            .collect::<Vec<_>>(),
        expected
    );
    assert!(
        scan.skipped
            .iter()
            .all(|(_, problem)| problem.kind == FileProblemKind::NotAFile)
    );
    for (path, problem) in &scan.skipped {
        let is_strange = path.starts_with("strange");
        assert_eq!(
            (
                problem.message.contains("rename it"),
                problem.message.contains("link")
            ),
            (is_strange, !is_strange)
        );
    }
    for path in [
        "link.md",
        "inner.md",
        "dangling.md",
        "linked.md",
        "linked/a.md",
        "linked.md/a.md",
        "pipe.md",
        "real.md/x.md",
    ] {
        let read = place.read(path);
        assert_eq!(
            (read.problem.unwrap().kind, read.content),
            (FileProblemKind::NotAFile, None),
            "{path}"
        );
    }
    // They are not written either.
    let hash = read::hash(b"secret");
    for path in ["link.md", "linked/a.md"] {
        let error = place
            .folder
            .rewrite(path, &hash, &note(1, "x", "mine"))
            .unwrap_err();
        assert!(
            matches!(error.code, ErrorCode::Conflict | ErrorCode::Unavailable),
            "{error}"
        );
    }
    assert_eq!(fs::read_to_string(&secret).unwrap(), "secret");
    assert_eq!(
        fs::read_to_string(place.outside.path().join("secrets/a.md")).unwrap(),
        "secret"
    );
    // A symbolic link with the name of a new note counts as taken.
    assert_eq!(place.create(&note(1, "dangling", "text")), "dangling-2.md");
}

#[test]
fn paths_stay_in_the_folder() {
    let place = Place::with(&[("a/b.md", "text"), (".x/b.md", "text")]);
    fs::write(place.outside.path().join("out.md"), "secret").unwrap();
    let outside = place.outside.path().join("out.md").display().to_string();
    for path in [
        "../out.md",
        "a/../../out.md",
        "/etc/a.md",
        &outside,
        "a//b.md",
        "./a/b.md",
        ".x/b.md",
        "a/.b.md",
        "",
        "a",
        "a/",
        "a.md/",
        "b\0.md",
        ".md",
    ] {
        assert_eq!(
            place.folder.read(path).unwrap_err().code,
            ErrorCode::InvalidArgument,
            "{path:?}"
        );
        let error = place
            .folder
            .rewrite(path, &ContentHash([0; 32]), &Note::default())
            .unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidArgument, "{path:?}");
    }
    assert_eq!(place.folder.read("a/none.md"), Ok(None));
    assert_eq!(place.folder.read("none/b.md"), Ok(None));
}

#[test]
fn what_cannot_be_a_note_is_told() {
    let place = Place::with(&[("nul.md", "a\0b"), ("blank.md", "\n\n"), ("empty.md", "")]);
    place.put("latin.md", b"caf\xe9");
    place.put(
        "binary.md",
        &(0..=255).cycle().take(100_000).collect::<Vec<u8>>(),
    );
    assert_eq!(place.problem("nul.md"), FileProblemKind::NotText);
    assert_eq!(place.problem("latin.md"), FileProblemKind::NotText);
    let told = place.read("latin.md").problem.unwrap().message;
    assert!(told.contains("from index 3"), "{told}");
    assert_eq!(place.problem("binary.md"), FileProblemKind::NotText);
    for path in ["blank.md", "empty.md"] {
        let read = place.read(path);
        assert_eq!((said(&read), &read.problem), (&Note::default(), &None));
    }
    // The limit applies to the text, not to the file.
    let large = "a".repeat(CONTENT_BYTES_MAX);
    place.put(
        "exact.md",
        format!("---\ntitle: x\n---\n{large}\n").as_bytes(),
    );
    assert_eq!(said(&place.read("exact.md")).body.len(), CONTENT_BYTES_MAX);
    place.put("above.md", format!("{large}a").as_bytes());
    assert_eq!(place.problem("above.md"), FileProblemKind::TooLarge);
    // This file is not read at all.
    fs::File::create(place.root.join("huge.md"))
        .unwrap()
        .set_len(50 << 20)
        .unwrap();
    let huge = place.read("huge.md");
    assert_eq!(
        (huge.problem.unwrap().kind, huge.hash),
        (FileProblemKind::TooLarge, ContentHash([0; 32]))
    );
    assert_eq!(huge.stamp.bytes, 50 << 20);
}

#[test]
fn a_file_is_settled_two_seconds_after_its_change() {
    let place = Place::with(&[("a.md", "text")]);
    let modified = read::read(
        &Folder::open(&place.root).unwrap(),
        "a.md",
        place.clock.now(),
    )
    .unwrap()
    .stamp
    .modified_nanoseconds;
    for (seconds, expected) in [
        (-3600, false),
        (0, false),
        (1, false),
        (2, true),
        (3600, true),
    ] {
        place
            .clock
            .set(Timestamp::from_microseconds(modified / 1_000 + 1).plus_seconds(seconds));
        assert_eq!(place.read("a.md").is_settled, expected, "{seconds}");
    }
}

#[test]
fn copies_of_sync_clients_are_told_while_the_note_is_there() {
    let place = Place::with(&[
        ("sub/tea.md", "green"),
        ("cups (conflicted copy).md", "text"),
        ("tea (1).md", "text"),
    ]);
    let copy = "sub/tea (Ann's conflicted copy 2024-01-02).md";
    place.put(copy, b"black");
    let read = place.read(copy);
    assert_eq!(
        (read.problem.unwrap().kind, read.content, read.is_settled),
        (FileProblemKind::ConflictCopy, None, false)
    );
    place.put("sub/tea.md.conflict1", b"white");
    let scan = place.folder.scan().unwrap();
    let skipped: Vec<_> = scan
        .skipped
        .iter()
        .map(|(path, problem)| (path.as_str(), problem.kind))
        .collect();
    assert_eq!(
        skipped,
        [("sub/tea.md.conflict1", FileProblemKind::ConflictCopy)]
    );
    assert_eq!(
        place.folder.other_versions("sub/tea (1).md"),
        ["sub/tea.md"]
    );
    let alone = place.read("cups (conflicted copy).md");
    assert_eq!(alone.problem, None);
    assert_eq!(place.read("tea (1).md").problem, None);
    fs::remove_file(place.root.join("sub/tea.md")).unwrap();
    assert_eq!(said(&place.read(copy)).body, "black");
}

#[test]
fn a_copy_that_comes_before_its_original_is_looked_at_again() {
    // As Dropbox does it: the note is renamed to a conflict copy, and then the other version
    // arrives.
    let place = Place::with(&[("plan.md", "---\nuid: u\n---\nmine")]);
    place.clock.set(Timestamp::from_microseconds(i64::MAX / 2));
    assert!(place.read("plan.md").is_settled);
    for copy in [
        "plan (Ann's conflicted copy 2024-01-02).md",
        "plan.sync-conflict-20240101-123456-ABCDEFG.md",
    ] {
        fs::rename(place.root.join("plan.md"), place.root.join(copy)).unwrap();
        let read = place.read(copy);
        assert_eq!(
            (said(&read).body.as_str(), read.is_settled),
            ("mine", false)
        );
        place.put("plan.md", b"---\nuid: u\n---\ntheirs");
        assert_eq!(place.problem(copy), FileProblemKind::ConflictCopy);
        assert_eq!(said(&place.read("plan.md")).id, Some(MemoryId::new("u")));
        fs::rename(place.root.join(copy), place.root.join("plan.md")).unwrap();
    }
}

/// Opens a note like an editor that keeps it open.
#[cfg(unix)]
fn open(place: &Place, path: &str) -> fs::File {
    fs::OpenOptions::new()
        .write(true)
        .open(place.root.join(path))
        .unwrap()
}

#[cfg(unix)]
fn write(file: &mut fs::File, text: &str) {
    use std::io::Write;
    file.write_all(text.as_bytes()).unwrap();
}

/// Changes the text of a note.
#[cfg(unix)]
fn change(place: &Place, path: &str, body: &str) {
    let read = place.read(path);
    place
        .folder
        .rewrite(
            path,
            &read.hash,
            &Note {
                body: body.to_owned(),
                ..said(&read).clone()
            },
        )
        .unwrap();
}

#[cfg(unix)]
#[test]
fn what_is_written_into_a_displaced_file_is_put_beside_the_note() {
    let place = Place::with(&[("sub/tea.md", "green")]);
    let look = || drop(place.folder.lock().unwrap());
    let mut editor = open(&place, "sub/tea.md");
    change(&place, "sub/tea.md", "black");
    look();
    // The kept file is not visible.
    assert_eq!(fs::read_dir(place.root.join("sub")).unwrap().count(), 1);
    write(&mut editor, "first, ");
    look();
    // Not before the writer pauses.
    assert_eq!(place.files(), ["sub/tea.md"]);
    let pause = |editor: &fs::File, second| {
        editor
            .set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(second))
            .unwrap();
        place.clock.set(Timestamp::from_microseconds(10_000_000));
        look();
        look();
    };
    pause(&editor, 1);
    assert_eq!(place.text("sub/recovered note.md"), "first, ");
    write(&mut editor, "second");
    pause(&editor, 2);
    assert_eq!(place.text("sub/recovered note 2.md"), "first, second");
    assert_eq!(place.text("sub/tea.md"), "black\n");
    // The content from before the change is not recovered.
    editor.set_len(0).unwrap();
    pause(&editor, 3);
    // A file that has a name is not lost.
    fs::write(place.root.join("sub/one.md"), "one").unwrap();
    fs::hard_link(place.root.join("sub/one.md"), place.root.join("sub/two.md")).unwrap();
    let mut editor = open(&place, "sub/one.md");
    change(&place, "sub/one.md", "another");
    write(&mut editor, "two");
    pause(&editor, 4);
    assert_eq!(place.text("sub/two.md"), "two");
    fs::remove_file(place.root.join("sub/one.md")).unwrap();
    fs::remove_file(place.root.join("sub/two.md")).unwrap();
    assert_eq!(
        place.files(),
        [
            "sub/recovered note 2.md",
            "sub/recovered note.md",
            "sub/tea.md"
        ]
    );
}

#[cfg(unix)]
#[test]
fn a_displaced_file_is_looked_at_a_last_time() {
    // When the folder is dropped.
    let place = Place::with(&[("tea.md", "green")]);
    let Place {
        outside,
        root,
        folder,
        clock,
    } = &place;
    let other = VaultFolder::new(root.clone(), outside.path().join("lock"), clock.clone());
    let mut editor = open(&place, "tea.md");
    let read = other.read("tea.md").unwrap().unwrap();
    other
        .rewrite("tea.md", &read.hash, &note(1, "Tea", "black"))
        .unwrap();
    write(&mut editor, "theirs");
    drop(other);
    assert_eq!(place.text("recovered note.md"), "theirs");
    // When its time is over, and not after.
    let mut editor = open(&place, "tea.md");
    change(&place, "tea.md", "white");
    write(&mut editor, "in time");
    clock.set(Timestamp::from_microseconds(60_000_000));
    drop(folder.lock().unwrap());
    assert_eq!(place.text("recovered note 2.md").split_at(7).0, "in time");
    assert_eq!(folder.site.keep.files().kept.len(), 0);
    // When there are too many.
    let mut editor = open(&place, "tea.md");
    change(&place, "tea.md", "0");
    write(&mut editor, "pushed out");
    for number in 1..=64 {
        assert_eq!(
            place.root.join("recovered note 3.md").exists(),
            number > 64,
            "{number}"
        );
        change(&place, "tea.md", &number.to_string());
    }
    assert_eq!(
        place.text("recovered note 3.md").split_at(10).0,
        "pushed out"
    );
    assert_eq!(folder.site.keep.files().kept.len(), 64);
}

#[cfg(unix)]
#[test]
fn the_time_of_a_displaced_file_ends_by_itself() {
    let place = Place::with(&[("tea.md", "green")]);
    let mut editor = open(&place, "tea.md");
    change(&place, "tea.md", "black");
    write(&mut editor, "theirs");
    // Simulates the end of the time for which the thread waits.
    let files = place.folder.site.keep.files();
    place.clock.set(Timestamp::from_microseconds(60_000_000));
    place.folder.site.keep.ended.notify_all();
    drop(files);
    while place.folder.site.keep.files().is_awaited {
        std::thread::yield_now();
    }
    assert_eq!(place.text("recovered note.md"), "theirs");
}

#[test]
fn a_folder_that_is_made_again_is_another_one() {
    let place = Place::with(&[("tea.md", "green")]);
    let made = || fs::metadata(&place.root).unwrap().created();
    let (first, before) = (place.folder.identity().unwrap(), made());
    // Without a creation time the folders cannot be distinguished.
    let Ok(before) = before else { return };
    loop {
        fs::remove_dir_all(&place.root).unwrap();
        fs::create_dir(&place.root).unwrap();
        // The clock of the file system is coarse.
        if made().unwrap() != before {
            break;
        }
    }
    assert_ne!(place.folder.identity().unwrap(), first);
}

#[test]
fn an_empty_file_of_the_future_can_be_changed() {
    let place = Place::with(&[("tea.md", "")]);
    let modified = place.read("tea.md").stamp.modified_nanoseconds / 1_000;
    let read = place.read("tea.md");
    for (seconds, is_changed) in [(-1, false), (1, false), (-3600, true)] {
        place
            .clock
            .set(Timestamp::from_microseconds(modified).plus_seconds(seconds));
        let changed = place
            .folder
            .rewrite("tea.md", &read.hash, &note(1, "Tea", "green"));
        assert_eq!(changed.is_ok(), is_changed, "{seconds}: {changed:?}");
    }
}

#[cfg(unix)]
#[test]
fn what_is_read_only_is_not_written() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::with(&[("tea.md", "green")]);
    let mode = |mode| {
        fs::set_permissions(place.root.join("tea.md"), fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(0o444);
    let read = place.read("tea.md");
    assert!(
        place
            .folder
            .rewrite("tea.md", &read.hash, said(&read))
            .is_ok()
    );
    let error = place
        .folder
        .rewrite("tea.md", &read.hash, &note(1, "Tea", "black"))
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::Conflict);
    assert!(error.message.contains("read-only"), "{error}");
    assert_eq!(place.text("tea.md"), "green");
    mode(0o464);
    place
        .folder
        .rewrite("tea.md", &read.hash, &note(1, "Tea", "black"))
        .unwrap();
}

#[test]
fn a_folder_that_is_away_is_not_an_empty_one() {
    let place = Place::with(&[("tea.md", "green")]);
    let before = place.folder.scan().unwrap();
    let read = place.read("tea.md");
    let away = place.outside.path().join("away");
    fs::rename(&place.root, &away).unwrap();
    assert_eq!(place.folder.scan().unwrap(), FolderScan::default());
    assert_eq!(place.problem("tea.md"), FileProblemKind::Unreadable);
    let error = place
        .folder
        .rewrite("tea.md", &read.hash, &note(1, "x", "y"))
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::Unavailable, "{error}");
    fs::rename(&away, &place.root).unwrap();
    assert_eq!(place.folder.scan().unwrap(), before);
    // An empty folder in its place, e.g. a mount point without its drive.
    fs::rename(&place.root, &away).unwrap();
    fs::create_dir(&place.root).unwrap();
    assert_eq!(place.problem("tea.md"), FileProblemKind::Unreadable);
    let other = place.folder.scan().unwrap();
    assert!(
        other.files.is_empty() && other.identity.is_some() && other.identity != before.identity
    );
    assert_eq!(place.folder.read("tea.md"), Ok(None));
}

#[test]
fn a_file_in_the_place_of_the_folder_is_said() {
    let place = Place::new();
    fs::write(&place.root, "no folder").unwrap();
    for error in [
        place.folder.scan().map(drop).unwrap_err(),
        place
            .folder
            .create(&note(1, "x", "y"), false)
            .map(drop)
            .unwrap_err(),
    ] {
        assert_eq!(error.code, ErrorCode::Unavailable);
        assert!(error.message.contains("no folder"), "{error}");
    }
}

#[test]
fn what_a_crash_left_is_cleared_by_the_next_holder_of_the_lock() {
    let place = Place::with(&[("sub/tea.md", "green")]);
    let before = VaultFolder::new(
        place.root.clone(),
        place.outside.path().join("lock"),
        place.clock.clone(),
    );
    drop(before.lock().unwrap());
    let left = place
        .root
        .join("sub")
        .join(before.site.temporary.new_name());
    let is_left = |folder: &VaultFolder| {
        drop(folder.lock().unwrap());
        left.exists()
    };
    // At the first lock in a process.
    fs::write(&left, "half").unwrap();
    assert!(!is_left(&place.folder));
    // Later, if the previous holder did not release the lock.
    fs::write(&left, "half").unwrap();
    assert!(is_left(&place.folder));
    fs::write(place.outside.path().join("lock"), "4711\n").unwrap();
    assert!(!is_left(&place.folder));
    assert_eq!(place.files(), ["sub/tea.md"]);
    // Another lock belongs to another loci.
    let other = VaultFolder::new(
        place.root.clone(),
        place.outside.path().join("other"),
        place.clock.clone(),
    );
    fs::write(&left, "half").unwrap();
    assert!(is_left(&other));
}

#[test]
fn depth_has_a_bound_that_is_told() {
    let place = Place::new();
    let deep = "d/".repeat(70);
    place.put(&format!("{deep}note.md"), b"text");
    place.put("note.md", b"text");
    let scan = place.folder.scan().unwrap();
    assert_eq!(scan.files.len(), 1);
    assert_eq!(scan.unreadable_folders, [["d"; 65].join("/")]);
}

proptest::proptest! {
    #[test]
    fn any_bytes_are_read(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200), head in proptest::bool::ANY) {
        let bytes = if head { [b"---\n", bytes.as_slice(), b"\n---\n"].concat() } else { bytes };
        let stamp = FileStamp { bytes: bytes.len() as u64, modified_nanoseconds: 0 };
        let read = read::understand(&bytes, stamp, true);
        proptest::prop_assert_eq!(read.content.is_none(), str::from_utf8(&bytes).is_err() || bytes.contains(&0));
        proptest::prop_assert_eq!(read.hash, read::hash(&bytes));
    }
}

#[cfg(unix)]
#[test]
fn new_files_are_for_their_owner_alone_unless_others_are_let_in() {
    use std::os::unix::fs::PermissionsExt;
    for (file_mode, folder_mode) in [
        (None, 0o700),
        (Some(0o600), 0o700),
        (Some(0o640), 0o750),
        (Some(0o644), 0o755),
    ] {
        let mut place = Place::new();
        if let Some(mode) = file_mode {
            let lock = place.outside.path().join("lock");
            place.folder = VaultFolder::new(place.root.clone(), lock, place.clock.clone())
                .with_file_mode(mode);
        }
        let note = Note {
            id: Some(MemoryId::new("m")),
            title: Some("Tea".to_owned()),
            body: "at four".to_owned(),
            ..Note::default()
        };
        place.folder.create(&note, false).unwrap();
        let copy = FileCopy {
            bytes: b"cake".to_vec(),
            modified_nanoseconds: 0,
        };
        place.folder.put_copy("deep/cake.md", &copy).unwrap();
        let mode = |path: &str| {
            fs::metadata(place.root.join(path))
                .unwrap()
                .permissions()
                .mode()
                & 0o777
        };
        for file in ["tea.md", "deep/cake.md"] {
            assert_eq!(mode(file), file_mode.unwrap_or(0o600), "{file}");
        }
        for folder in ["", "deep"] {
            assert_eq!(mode(folder), folder_mode, "{folder}");
        }
    }
}

/// As an editor does that restores the time of a file.
#[cfg(unix)]
#[test]
fn an_edit_of_the_same_size_and_time_shows_in_the_scan() {
    let place = Place::with(&[("a.md", "Tea at four.")]);
    let path = place.root.join("a.md");
    let stamp = || place.folder.scan().unwrap().files[0].1;
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    let before = stamp();
    assert_eq!(place.folder.read("a.md").unwrap().unwrap().stamp, before);
    // One edit in a thousand has the stamp of another, and the clock of a file system is coarse.
    let is_seen = (0..1_000_000).any(|_| {
        fs::write(&path, "Tea at five.").unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(modified).unwrap();
        stamp() != before
    });
    assert!(is_seen);
    let microseconds = |stamp: FileStamp| stamp.modified_nanoseconds.div_euclid(1_000);
    assert_eq!(microseconds(stamp()), microseconds(before));
    // The time of a copy is the one of the file.
    let copy = place.folder.copy_of("a.md", 1_000).unwrap().unwrap();
    let nanoseconds = modified
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_nanos();
    assert_eq!(i128::from(copy.modified_nanoseconds), nanoseconds as i128);
}

#[test]
fn what_a_write_returns_is_what_a_scan_finds() {
    let place = Place::new();
    let path = place.create(&note(1, "Tea", "four"));
    let stamp = || place.folder.scan().unwrap().files[0].1;
    assert_eq!(place.read(&path).stamp, stamp());
    let hash = place.read(&path).hash;
    let written = place
        .folder
        .rewrite(&path, &hash, &note(1, "Tea", "five"))
        .unwrap();
    assert_eq!(written.stamp, stamp());
}
