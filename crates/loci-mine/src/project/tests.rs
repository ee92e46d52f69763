use std::fs::{File, OpenOptions};
use std::io::Write;

use loci_core::ErrorCode;
use proptest::collection::{btree_map, btree_set};
use proptest::prelude::*;

use super::*;

/// Some rule.
fn name(name: &str) -> Result<String, loci_core::Error> {
    let is_name = !name.is_empty() && !name.contains(['/', '\\', '\0']) && !name.contains("..");
    if is_name {
        Ok(name.to_owned())
    } else {
        Err(loci_core::Error::invalid("the name", "is none"))
    }
}

fn write(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

#[cfg(unix)]
#[test]
fn what_is_no_file_to_read_is_passed_over_and_said() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for name in [
        "b/c",
        "b.txt",
        "a",
        ".hidden",
        ".git/config",
        ".h/a",
        "b/.gitignore",
    ] {
        write(&root.join(name), b"text");
    }
    write(&root.join(".gitignore"), b"ignored*\n");
    symlink("a", root.join("link")).unwrap();
    symlink("b", root.join("folder-link")).unwrap();
    symlink("a", root.join("ignored-link")).unwrap();
    let _socket = UnixListener::bind(root.join("socket")).unwrap();
    let mut expected = vec![
        (root.join("folder-link"), Unread::Link),
        (root.join("link"), Unread::Link),
        (root.join("socket"), Unread::NotAFile),
    ];
    // Not every file system takes such a name.
    let strange = root.join(OsStr::from_bytes(b"\xff"));
    if fs::write(&strange, "text").is_ok() {
        expected.push((strange, Unread::Unreadable));
    }
    let walked = walk_with(root, None, None).unwrap();
    let files: Vec<PathBuf> = walked.files.iter().map(|(path, _)| path.clone()).collect();
    assert_eq!(files, ["a", "b/c", "b.txt"].map(|name| root.join(name)));
    assert!(
        walked
            .files
            .iter()
            .all(|(path, stamp)| *stamp == super::stamp(path).unwrap() && stamp.bytes == 4)
    );
    assert_eq!(walked.passed_over, expected);
    assert_eq!(walk(&root.join("b/..")).unwrap().files.len(), 3);
    assert_eq!(
        walk(&root.join("gone")).unwrap_err().kind(),
        io::ErrorKind::NotFound
    );
    assert_eq!(
        walk(&root.join("a")).unwrap_err().kind(),
        io::ErrorKind::NotADirectory
    );
}

#[test]
fn folders_of_loci_are_no_part_of_a_project() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for name in [
        "a.md",
        "memory/loci.db",
        "memory/token",
        "memory/vault/note.md",
        "notes/tea.md",
        "docs/notes/b.md",
    ] {
        write(&root.join(name), b"text");
    }
    let named = |walked: &ProjectFiles| -> Vec<PathBuf> {
        walked.files.iter().map(|(path, _)| path.clone()).collect()
    };
    let walked = walk_with(root, None, Some(&root.join("docs/../notes"))).unwrap();
    assert_eq!(
        named(&walked),
        ["a.md", "docs/notes/b.md"].map(|name| root.join(name))
    );
    let expected = ["memory", "notes"].map(|name| (root.join(name), Unread::FolderOfLoci));
    assert_eq!(walked.passed_over, expected);
    // A folder of notes that is mined by name is a project like any other.
    let notes = root.join("notes");
    let walked = walk_with(&notes, None, Some(&notes)).unwrap();
    assert_eq!(named(&walked), [notes.join("tea.md")]);
    let data = root.join("memory");
    let walked = walk_with(&data, None, None).unwrap();
    assert_eq!(walked.passed_over, [(data, Unread::FolderOfLoci)]);
    assert_eq!(walked.files, []);
}

#[test]
fn only_text_that_people_write_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let long = "x".repeat(AVERAGE_LINE_BYTES_MAX + 1);
    let banner = b"/* a line of a licence */\n".repeat(50);
    let bundle = [&banner[..], &b"a=1;".repeat(3_000)].concat();
    let wide = format!("{}\n", "a".repeat(150)).repeat(50).into_bytes();
    let late = [&b"x\n".repeat(8_192)[..], b"\0"].concat();
    let cases: &[(&str, &[u8], Option<Unread>)] = &[
        ("a", "text\r\n".as_bytes(), None),
        ("b", "\u{feff}text".as_bytes(), None),
        ("c", b"a\0b", Some(Unread::NotText)),
        ("d", &late, Some(Unread::NotText)),
        ("e", b"\xff\x01", Some(Unread::NotText)),
        ("latin", b"K\xfcche", Some(Unread::OtherCharset)),
        ("utf-16", b"\xff\xfeT\0e\0e\0", None),
        ("utf-16-blank", b"\xfe\xff\0 ", Some(Unread::Empty)),
        ("f", b"", Some(Unread::Empty)),
        ("g", "\u{feff} \n".as_bytes(), Some(Unread::Empty)),
        ("Cargo.lock", b"text", Some(Unread::Generated)),
        ("a.min.js", b"text", Some(Unread::Generated)),
        ("a.js.map", b"text", Some(Unread::Generated)),
        ("h", long.as_bytes(), Some(Unread::Generated)),
        ("bundle.js", &bundle, Some(Unread::Generated)),
        ("bundle.css", &bundle, Some(Unread::Generated)),
        ("bundle.txt", &bundle, None),
        ("wide.js", &wide, None),
        ("map", &long.as_bytes()[1..], None),
    ];
    for (name, bytes, unread) in cases {
        let path = folder.path().join(name);
        write(&path, bytes);
        match (read(&path).unwrap(), unread) {
            (Ok(file), None) => {
                let text = utf_16(bytes);
                let text = text.unwrap_or_else(|| String::from_utf8(bytes.to_vec()).unwrap());
                assert_eq!(file.text, text, "{name}");
                assert_eq!(file.stamp, stamp(&path).unwrap());
                assert_eq!(file.hash, ContentHash(Sha256::digest(bytes).into()));
            }
            (found, unread) => assert_eq!(found.err(), *unread, "{name}"),
        }
    }
    let large = folder.path().join("large");
    File::create(&large)
        .unwrap()
        .set_len(SOURCE_FILE_BYTES_MAX + 1)
        .unwrap();
    assert_eq!(read(&large).unwrap(), Err(Unread::TooLarge));
    assert_eq!(read(folder.path()).unwrap(), Err(Unread::NotAFile));
    assert_eq!(
        read(&folder.path().join("gone")).unwrap_err().kind(),
        io::ErrorKind::NotFound
    );
}

#[test]
fn a_file_that_changes_is_read_once_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    write(&path, b"a");
    let grow = || OpenOptions::new().append(true).open(&path)?.write_all(b"b");
    let mut times = 0;
    let once = || {
        times += 1;
        if times == 1 { grow() } else { Ok(()) }
    };
    let file = read_with(&path, once).unwrap().unwrap();
    assert_eq!((file.text.as_str(), file.stamp.bytes), ("ab", 2));
    assert!(
        read_with(&path, grow)
            .unwrap_err()
            .to_string()
            .contains("changes")
    );
    assert!(read_with(&path, || fs::remove_file(&path)).is_err());
}

#[test]
fn a_folder_at_the_top_is_a_room() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("My Great-Project.");
    for name in [
        "Src/a.rs",
        "web app/deep/a",
        "web-app/a",
        "docs/x/y/a.md",
        "-/a",
        "top.md",
        "none/.hidden",
        "out/a",
    ] {
        write(&root.join(name), b"text");
    }
    write(&root.join("images/a.png"), b"\0");
    write(&root.join(".gitignore"), b"out\n");
    let plan = propose(&root).unwrap();
    let room = |room: &str, folders: &[&str]| {
        (
            room.to_owned(),
            folders
                .iter()
                .map(|folder| (*folder).to_owned())
                .collect::<Vec<_>>(),
        )
    };
    let rooms = [
        room("docs", &["docs"]),
        room("general", &["-"]),
        room("src", &["Src"]),
        room("web_app", &["web app", "web-app"]),
    ];
    assert_eq!(
        plan,
        Plan {
            wing: "my great_project".to_owned(),
            rooms: rooms.to_vec()
        }
    );
    assert_eq!(Plan::parse(&plan.to_text(), &name).unwrap(), plan);
    for (file, room) in [
        ("Src/a.rs", "src"),
        ("web-app/a", "web_app"),
        ("docs/x/y/a.md", "docs"),
        ("top.md", "general"),
        ("Src", "general"),
    ] {
        assert_eq!(plan.room_of(&root, &root.join(file)), room, "{file}");
    }
    assert_eq!(
        plan.room_of(&root, &folder.path().join("Src/a.rs")),
        "general"
    );
    assert_eq!(
        plan.room_of(
            &root.join("docs/.."),
            &root.canonicalize().unwrap().join("docs/a")
        ),
        "docs"
    );
}

#[test]
fn the_longest_folder_has_the_file() {
    let plan = Plan::parse(
        "wing = \"w\"\n[rooms]\na = [\"x\", \"y/z/\"]\nb = [\"x/y\"]\n",
        &name,
    )
    .unwrap();
    for (file, room) in [
        ("x/f", "a"),
        ("x/y/f", "b"),
        ("x/yy/f", "a"),
        ("y/f", "general"),
        ("y/z/q/f", "a"),
    ] {
        assert_eq!(
            plan.room_of(Path::new("/r"), &Path::new("/r").join(file)),
            room,
            "{file}"
        );
    }
}

#[test]
fn the_name_of_a_folder_becomes_a_legal_one() {
    for (folder, name) in [
        ("loci", "loci"),
        ("My Project", "my project"),
        ("a-b", "a_b"),
        ("..a..b..", "a.b"),
        ("(a) [b]", "a) [b"),
        ("a\u{a0}b ", "a b"),
        ("Größe", "größe"),
        ("日本語", "日本語"),
        ("a\tb\\c", "a_b_c"),
        ("---", "project"),
        ("", "project"),
        ("Global", "global_project"),
    ] {
        assert_eq!(place_name(folder.as_ref()), name, "{folder}");
    }
    assert_eq!(place_name("é".repeat(200).as_ref()), "é".repeat(128));
}

#[test]
fn a_plan_that_is_wrong_says_where_and_what_is_expected() {
    for (text, line, expected) in [
        ("", 1, "expected `wing"),
        ("[rooms]\n", 1, "expected `wing"),
        ("\nwing = 1\n", 2, "in quotes"),
        ("wing = \"a/b\"\n", 1, "the name` is none"),
        ("wing = \"\"\n", 1, "the name` is none"),
        ("wing = \"w\"\nwings = \"a\"\n", 2, "nothing but"),
        ("wing = \"w\"\nrooms = []\n", 2, "expected a table"),
        (
            "wing = \"w\"\n[rooms]\n\n\"a..b\" = []\n",
            4,
            "the name` is none",
        ),
        ("wing = \"w\"\n[rooms]\na = \"a\"\n", 3, "expected a list"),
        (
            "wing = \"w\"\n[rooms]\na = [\n  \"a\",\n  1]\n",
            5,
            "expected a folder",
        ),
        (
            "wing = \"w\"\n[rooms]\na = [\"/a\"]\n",
            3,
            "expected a folder",
        ),
        (
            "wing = \"w\"\n[rooms]\na = [\"a/../b\"]\n",
            3,
            "expected a folder",
        ),
        (
            "wing = \"w\"\n[rooms]\na = [\"a\"]\nb = [\"a/\"]\n",
            4,
            "one room alone",
        ),
        ("wing = \"w\"\n[rooms]\na = []\na = []\n", 4, ""),
        ("wing = \"w\"\n[rooms\n", 2, ""),
        ("wing = \"w\n", 1, ""),
        ("{\n  \"project\": w\n}\n", 2, "it is no JSON"),
    ] {
        let error = Plan::parse(text, &name).unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidArgument);
        let message = error.message;
        assert!(
            message.starts_with(&format!("line {line} of the plan: ")),
            "{text}: {message}"
        );
        assert!(message.contains(expected), "{text}: {message}");
    }
}

proptest! {
    #[test]
    fn every_plan_comes_back(
        wing in any::<String>(),
        rooms in btree_map(any::<String>(), btree_set("[^/\0]{1,9}(/[^/\0]{1,9})?", 1..3), 0..5),
    ) {
        let is_folder = |folder: &String| folder.split('/').all(|part| part != "." && part != "..");
        let mut known = std::collections::BTreeSet::new();
        let rooms = rooms.into_iter().map(|(room, folders)| {
            let own = folders.into_iter().filter(is_folder).filter(|folder| known.insert(folder.clone())).collect();
            (place_name(room.as_ref()), own)
        });
        let rooms: std::collections::BTreeMap<String, Vec<String>> = rooms.collect();
        let plan = Plan { wing: place_name(wing.as_ref()), rooms: rooms.into_iter().collect() };
        prop_assert_eq!(Plan::parse(&plan.to_text(), &name).unwrap(), plan);
    }

    #[test]
    fn no_text_makes_a_plan_panic(text in "[a-z=\\[\\]\", \n.]{0,60}|\\PC{0,40}") {
        let _ = Plan::parse(&text, &name);
    }
}
