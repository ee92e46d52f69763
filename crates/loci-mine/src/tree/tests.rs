use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};

use loci_core::ErrorCode;
use proptest::collection::vec;
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::project::rules::users_excludes_in;
use crate::project::{walk_all, walk_with};

/// Runs git with none of the settings of the user who runs the tests, whose home is `home` in the
/// folder instead. None if there is no git.
fn git(folder: &Path, arguments: &[&str], input: &str) -> Option<String> {
    let mut command = Command::new("git");
    command
        .current_dir(folder)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    for name in [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_COMMON_DIR",
        "GIT_CEILING_DIRECTORIES",
        "GIT_CONFIG_GLOBAL",
        "XDG_CONFIG_HOME",
    ] {
        command.env_remove(name);
    }
    command
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("HOME", folder.join("home"));
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            eprintln!("SKIPPED: there is no git to compare with: {error}");
            return None;
        }
    };
    // Git reads its whole input before it answers with more than a pipe holds.
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    // `check-ignore` ends with 1 if nothing is ignored.
    assert!(
        output.status.code().is_some_and(|code| code < 2),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(String::from_utf8(output.stdout).unwrap())
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A folder with these files.
fn folder_with(files: &[(&str, &str)]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for (path, text) in files {
        write(&root.join(path), text);
    }
    (folder, root)
}

fn states_in(root: &Path, names: &[&str], users: Option<&Path>) -> Vec<SourceState> {
    let paths: Vec<String> = names
        .iter()
        .map(|name| root.join(name).to_str().unwrap().to_owned())
        .collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    states(root.to_str().unwrap(), &paths, users).unwrap()
}

/// Returns the files that a walk finds, relative to the folder.
fn walked(root: &Path, users: Option<&Path>) -> BTreeSet<String> {
    let walked = walk_with(root, users, None).unwrap();
    assert_eq!(walked.passed_over, []);
    assert!(
        walked
            .files
            .is_sorted_by(|(left, _), (right, _)| left < right)
    );
    walked
        .files
        .iter()
        .map(|(path, _)| {
            path.strip_prefix(root)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned()
        })
        .collect()
}

/// All files of a folder, relative to it, but for those in `.git`.
fn files_of(root: &Path) -> Vec<String> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)
            .unwrap()
            .map(Result::unwrap)
            .filter(|entry| entry.file_name() != ".git")
        {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else {
                files.push(
                    entry
                        .path()
                        .strip_prefix(root)
                        .unwrap()
                        .to_str()
                        .unwrap()
                        .to_owned(),
                );
            }
        }
    }
    files.sort();
    files
}

fn is_hidden(path: &str) -> bool {
    path.split('/').any(|part| part.starts_with('.'))
}

/// Returns whether there is a git, and so a repository at `root` now.
fn is_repository(root: &Path) -> bool {
    git(root, &["init", "--quiet"], "").is_some()
}

/// Compares what is said here with what git says: of a repository, and of a folder in it.
fn compare_with_git(root: &Path, users: &Path, below: &str) {
    let files = files_of(root);
    let input = files.join("\0");
    let excludes = format!("core.excludesFile={}", users.display());
    let output = git(
        root,
        &[
            "-c",
            &excludes,
            "check-ignore",
            "--no-index",
            "-z",
            "--stdin",
        ],
        &input,
    )
    .unwrap();
    let ignored: BTreeSet<&str> = output.split_terminator('\0').collect();

    let names: Vec<&str> = files.iter().map(String::as_str).collect();
    let found = states_in(root, &names, Some(users));
    for (name, state) in names.iter().zip(found) {
        let expected = if ignored.contains(name) {
            SourceState::Ignored
        } else {
            SourceState::Kept
        };
        assert_eq!(state, expected, "{name}");
    }
    let kept = |below: &str| -> BTreeSet<String> {
        let own = names
            .iter()
            .filter(|name| !ignored.contains(*name))
            .filter_map(|name| name.strip_prefix(below));
        own.filter(|name| !is_hidden(name))
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(walked(root, Some(users)), kept(""));
    let part = root.join(below);
    if part.is_dir() {
        assert_eq!(walked(&part, Some(users)), kept(&format!("{below}/")));
        let names: Vec<&str> = names
            .iter()
            .filter_map(|name| name.strip_prefix(&format!("{below}/")))
            .collect();
        let found = states_in(&part, &names, Some(users));
        for (name, state) in names.iter().zip(found) {
            assert_eq!(
                state == SourceState::Ignored,
                ignored.contains(format!("{below}/{name}").as_str()),
                "{name}"
            );
        }
    }
}

/// Rules, and the files of `every_rule` that they exclude.
const RULES: &[(&str, &[&str])] = &[
    ("", &[]),
    ("# *", &[]),
    ("/", &[]),
    ("!", &[]),
    ("*.txt", &["a/x.txt", "x.txt"]),
    ("/*.txt", &["x.txt"]),
    ("*.txt\n!x.txt", &[]),
    ("!x.txt\n*.txt", &["a/x.txt", "x.txt"]),
    ("b/", &["a/b/c", "b/b"]),
    ("a/b", &["a/b/c"]),
    ("a/**", &["a/b/c", "a/x.txt"]),
    ("a/**/c", &["a/b/c"]),
    ("**/c", &["a/b/c"]),
    ("a**c", &["abc"]),
    ("**//", &[]),
    ("*a**/c", &[]),
    ("a/*\n!a/b", &["a/x.txt"]),
    ("a\n!a/b", &["a/b/c", "a/x.txt"]),
    ("a/?", &["a/b/c"]),
    ("b[!x]b", &["b-b"]),
    ("/b[!x]b", &["b-b"]),
    ("b[+--]b", &["b-b"]),
    ("[!]", &[]),
    ("{a,b}", &["{a,b}"]),
    ("[[:punct:]]a,b[}]", &["{a,b}"]),
    ("[[:nothing:]]*", &[]),
    ("\\#a", &["#a"]),
    ("#a", &[]),
    ("\\!a", &["!a"]),
    ("x.txt   ", &["a/x.txt", "x.txt"]),
    ("x.txt\\ ", &[]),
    ("d\\ ", &["d "]),
    ("d ", &[]),
    ("\u{3000}", &["\u{3000}"]),
    ("x.txt\t", &[]),
    ("x.txt\r\n", &["a/x.txt", "x.txt"]),
    ("\u{feff}x.txt", &["a/x.txt", "x.txt"]),
    ("a\\", &[]),
    ("a\\/", &[]),
    ("\\x.txt", &["a/x.txt", "x.txt"]),
    ("[\\]]", &["]"]),
    ("[]-]", &["]"]),
    ("[!a-z]", &["]"]),
    ("[!^]", &["]", "a/b/c", "a/x.txt", "b/b"]),
    ("[a^!]b-b", &[]),
    ("[\\!^]a", &["!a"]),
];

#[test]
fn every_rule() {
    let files = [
        "!a", "#a", "]", "a/b/c", "a/x.txt", "abc", "b-b", "b/b", "d ", "x.txt", "{a,b}",
        "\u{3000}",
    ]
    .map(|name| (name, ""));
    let (_folder, root) = folder_with(&files);
    let names = files.map(|(name, _)| name);
    let has_git = is_repository(&root);
    for (rules, ignored) in RULES {
        write(&root.join(".gitignore"), rules);
        let found = states_in(&root, &names, None);
        let found: Vec<&str> = names
            .iter()
            .zip(found)
            .filter(|(_, state)| *state == SourceState::Ignored)
            .map(|(name, _)| *name)
            .collect();
        assert_eq!(found, *ignored, "{rules:?}");
        if has_git {
            compare_with_git(&root, Path::new("none"), "a");
        }
    }
}

fn name() -> impl Strategy<Value = String> {
    let names = [
        "a", "b", "ab", "c d", "x.txt", ".h", "#n", "!n", "é", "[b]", "{a,b}", "-", "a\\b", "\t",
        "^", "e ",
    ];
    prop::sample::select(names.to_vec()).prop_map(str::to_owned)
}

fn path() -> impl Strategy<Value = String> {
    vec(name(), 1..4).prop_map(|parts| parts.join("/"))
}

fn line() -> impl Strategy<Value = String> {
    let patterns = [
        "*",
        "?",
        "**",
        "a*",
        "*b",
        "*.txt",
        "[ab]",
        "[!a]",
        "[^a]*",
        "[a-c]",
        "\\#n",
        "\\!n",
        "c\\ d",
        "{a,b}",
        "\\a",
        "[[:alpha:]]",
        "[[:punct:]]",
        "a?",
        "*\\ ",
        "[]-]",
        "[!]-]",
        "[-a]",
        "[\\]b]",
        "[[]b]",
        "a\\\\b",
        "[",
        "[^",
        "***",
    ];
    let part = prop_oneof![
        name(),
        prop::sample::select(patterns.to_vec()).prop_map(str::to_owned)
    ];
    let mark = |marks: &'static [&'static str]| prop::sample::select(marks.to_vec());
    let start = mark(&["", "", "", "!", "!", "/", "!/", "\\", "#", " "]);
    let end = mark(&[
        "", "", "", "/", "/", "/**", " ", "  ", "/ ", "\\ ", "\t", "\r", "\\",
    ]);
    let composed = (start, vec(part, 1..4), end)
        .prop_map(|(start, parts, end)| format!("{start}{}{end}", parts.join("/")));
    let random = "[ab*?!^/{},# .é\\\\\\[\\]-]{0,7}";
    // Git takes the stars of `a**/b` for `**` where only plain text is before them, and says in
    // gitignore(5) that they are not.
    let is_plain_before = |line: &str| {
        let stars = line.find("**").unwrap_or(0);
        stars > 0 && !line[..stars].ends_with('/') && line.contains('/')
    };
    // gix-ignore takes such a line for an empty one; git takes it for the name of a file.
    let is_white = |line: &str| line.trim_start_matches('!').trim().is_empty();
    prop_oneof![4 => composed, 1 => random]
        .prop_filter("stars behind text", move |line| !is_plain_before(line))
        .prop_filter("white space alone", move |line| !is_white(line))
}

fn rules() -> impl Strategy<Value = String> {
    vec(line(), 0..5).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn files_are_ignored_that_git_ignores(
        files in vec(path(), 1..24),
        ignores in vec((path(), rules()), 0..4),
        top in rules(),
        excludes in rules(),
        users in rules(),
        below in path(),
    ) {
        let (_folder, root) = folder_with(&[]);
        let (root, elsewhere) = (root.join("p"), root.join("users"));
        for file in &files {
            // A name may be that of a folder and of a file; the first one has it.
            let file = root.join(file);
            if file.parent().is_some_and(|parent| fs::create_dir_all(parent).is_ok()) {
                let _ = fs::write(file, "");
            }
        }
        for (folder, rules) in &ignores {
            if root.join(folder).is_dir() {
                write(&root.join(folder).join(".gitignore"), rules);
            }
        }
        write(&root.join(".gitignore"), &top);
        write(&elsewhere, &users);
        if is_repository(&root) {
            write(&root.join(".git/info/exclude"), &excludes);
            compare_with_git(&root, &elsewhere, &below);
        }
    }
}

#[test]
fn rules_hold_from_the_top_of_the_repository_down() {
    let files = [
        ("r/.git/info/exclude", "excluded\n/p/anchored\n"),
        ("r/.gitignore", "*.log\nout/\n"),
        ("r/p/.gitignore", "!kept.log\n"),
        ("r/p/.h/.gitignore", "b"),
        ("users", "mine\n"),
        (".gitignore", "*"),
        ("r/p/a.log", ""),
        ("r/p/kept.log", ""),
        ("r/p/out/x", ""),
        ("r/p/excluded", ""),
        ("r/p/anchored", ""),
        ("r/p/mine", ""),
        ("r/p/x", ""),
        ("r/p/.h/a", ""),
        ("r/p/.h/b", ""),
    ];
    let (_folder, root) = folder_with(&files);
    let (folder, users) = (root.join("r/p"), root.join("users"));
    let names = [
        "a.log", "kept.log", "out/x", "excluded", "anchored", "mine", "x", ".h/a", ".h/b", "gone",
        "x/gone",
    ];
    let (kept, ignored, missing) = (
        SourceState::Kept,
        SourceState::Ignored,
        SourceState::Missing,
    );
    let expected = [
        ignored, kept, ignored, ignored, ignored, ignored, kept, kept, ignored, missing, missing,
    ];
    assert_eq!(states_in(&folder, &names, Some(&users)), expected);
    assert_eq!(
        walked(&folder, Some(&users)),
        BTreeSet::from(["kept.log".to_owned(), "x".to_owned()])
    );
    assert_eq!(states_in(&folder, &["mine"], None), [kept]);
    // A folder that is ignored itself has nothing to read.
    assert_eq!(walked(&folder.join("out"), None), BTreeSet::new());
    let is_ignored = |path: &Path| walk_with(path, None, None).unwrap().is_ignored;
    assert!(is_ignored(&folder.join("out")) && !is_ignored(&folder));
    // Unless the rules are not asked for.
    let all = |path: &str| walk_all(&folder.join(path)).unwrap().files.len();
    assert_eq!([all(""), all("out"), all(".h")], [7, 1, 2]);
    assert_eq!(states_in(&folder.join("out"), &["x"], None), [ignored]);
}

/// The repository's own configuration names another file than the user's.
#[test]
fn the_excludes_that_a_repository_names_are_its_own() {
    let files = [
        ("users", "a\n"),
        ("own rules", "b\n"),
        ("r/a", ""),
        ("r/b", ""),
        ("r/c", ""),
    ];
    let (_folder, root) = folder_with(&files);
    let (repository, users, own) = (root.join("r"), root.join("users"), root.join("own rules"));
    if !is_repository(&repository) {
        return;
    }
    let names = |names: &[&str]| {
        names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(walked(&repository, Some(&users)), names(&["b", "c"]));
    let written = format!(
        "\n[Core] # ours\n\tExcludesFile = \"{}\" ; ours\n[other]\nexcludesFile = x\n",
        own.display()
    );
    let configuration = repository.join(".git/config");
    let before = fs::read_to_string(&configuration).unwrap();
    for (written, expected) in [
        (written.as_str(), ["a", "c"]),
        ("[core] excludesFile = ../users\n", ["b", "c"]),
        (
            "[core] excludesFile = ~/none\nexcludesFile=../own rules\n",
            ["a", "c"],
        ),
    ] {
        fs::write(&configuration, before.clone() + written).unwrap();
        assert_eq!(
            walked(&repository, Some(&users)),
            names(&expected),
            "{written}"
        );
        let ignored = git(
            &repository,
            &["check-ignore", "--no-index", "a", "b", "c"],
            "",
        )
        .unwrap();
        let kept = ["a", "b", "c"]
            .into_iter()
            .filter(|name| !ignored.lines().any(|line| line == *name));
        assert_eq!(kept.collect::<Vec<_>>(), expected, "{written}");
    }
    fs::write(&configuration, before + "[core]\nexcludesFile =\n").unwrap();
    assert_eq!(walked(&repository, Some(&users)), names(&["a", "b", "c"]));
}

/// The user's configuration names a file of rules; without a name, git takes the default one.
#[test]
fn the_excludes_of_the_user_are_found_as_git_finds_them() {
    let files = [
        ("a", ""),
        ("b", ""),
        ("c", ""),
        ("home/my rules", "a\n"),
        ("home/.config/git/ignore", "b\n"),
        ("home/xdg/git/ignore", "c\n"),
    ];
    let (_folder, root) = folder_with(&files);
    let has_git = is_repository(&root);
    let home = root.join("home");
    let absolute = format!("[core]\n\texcludesfile = \"{}/my rules\"\n", home.display());
    for (own, shared, ignored) in [
        ("", "", "b"),
        ("[core]\nexcludesFile = ~/my rules ; mine\n", "", "a"),
        (&absolute, "[core]\nexcludesFile = ~/none\n", "a"),
        ("[other]\nexcludesFile = ~/none\n", &absolute, "a"),
        ("[core]\nexcludesFile = home/my rules\n", "", "a"),
        ("[core]\nexcludesFile =\n", "", ""),
    ] {
        write(&home.join(".gitconfig"), own);
        write(&home.join(".config/git/config"), shared);
        let users = users_excludes_in(Some(&home), None).unwrap();
        let names = ["a", "b", "c"];
        let found: Vec<&str> = names
            .into_iter()
            .zip(states_in(&root, &names, users.as_deref()))
            .filter(|(_, state)| *state == SourceState::Ignored)
            .map(|(name, _)| name)
            .collect();
        assert_eq!(found.concat(), ignored, "{own} {shared}");
        if has_git {
            let output = git(&root, &["check-ignore", "--no-index", "a", "b", "c"], "");
            assert_eq!(output.unwrap().trim_end(), ignored, "{own} {shared}");
        }
    }
    fs::remove_file(home.join(".gitconfig")).unwrap();
    let xdg = home.join("xdg");
    assert_eq!(
        users_excludes_in(Some(&home), Some(xdg.clone())).unwrap(),
        Some(xdg.join("git/ignore"))
    );
    assert_eq!(users_excludes_in(None, None).unwrap(), None);
    // A configuration of more bytes than a file of rules may have.
    fs::File::create(home.join(".gitconfig"))
        .unwrap()
        .set_len(11 << 20)
        .unwrap();
    let error = users_excludes_in(Some(&home), None).unwrap_err();
    assert!(error.to_string().contains(".gitconfig"), "{error}");
}

/// Git init writes so on a file system that does not tell letters by their case.
#[test]
fn the_case_of_letters_counts_as_the_repository_has_it() {
    let files = [
        (".gitignore", "Build/\n*.LOG\n/Sub/kept\n!loud.log\n"),
        ("build/a", ""),
        ("quiet.log", ""),
        ("LOUD.log", ""),
        ("sub/KEPT", ""),
        ("sub/.gitignore", "[x-z]\n"),
        ("sub/Y", ""),
    ];
    let (_folder, root) = folder_with(&files);
    if !is_repository(&root) {
        return;
    }
    let configuration = root.join(".git/config");
    let before = fs::read_to_string(&configuration).unwrap();
    for (value, is_folded) in [("true", true), ("False", false), ("ON", true), ("", false)] {
        let text = format!("{before}[core]\nignorecase = {value}\n");
        fs::write(&configuration, text).unwrap();
        compare_with_git(&root, Path::new("none"), "sub");
        let files = walked(&root, None);
        assert_eq!(files.contains("build/a"), !is_folded, "{value}");
        assert_eq!(files.contains("sub/KEPT"), !is_folded, "{value}");
        assert!(files.contains("LOUD.log"));
    }
}

#[test]
fn a_repository_in_a_repository_has_rules_of_its_own() {
    let files = [
        ("r/.git/HEAD", ""),
        ("r/.gitignore", "a\n/ignored/\n"),
        ("r/ignored/.git/HEAD", ""),
        ("r/ignored/b", ""),
        ("r/a", ""),
        ("r/inner/.git", "gitdir: ../.git/modules/inner\n"),
        ("r/.git/modules/inner/info/exclude", "b\n"),
        ("r/inner/a", ""),
        ("r/inner/b", ""),
        ("r/tree/.git", "gitdir: ../.git/worktrees/tree\n"),
        ("r/.git/worktrees/tree/commondir", "../../modules/inner\n"),
        ("r/tree/a", ""),
        ("r/tree/b", ""),
    ];
    let (_folder, root) = folder_with(&files);
    let root = root.join("r");
    assert_eq!(
        walked(&root, None),
        BTreeSet::from(["inner/a", "tree/a"].map(str::to_owned))
    );
    let names = ["a", "inner/a", "inner/b", "tree/a", "tree/b", "ignored/b"];
    let (kept, ignored) = (SourceState::Kept, SourceState::Ignored);
    assert_eq!(
        states_in(&root, &names, None),
        [ignored, kept, ignored, kept, ignored, ignored]
    );
    let tree = GitTree;
    let root_of = |path: &str| PathBuf::from(tree.root_of(root.join(path).to_str().unwrap()));
    assert_eq!(root_of("inner/deep/er"), root.join("inner"));
    assert_eq!(root_of("other/gone"), root);
}

#[test]
fn without_a_repository_the_folder_of_a_file_is_the_root_be_it_there_or_not() {
    let (_folder, root) = folder_with(&[(".gitignore", "b"), ("p/a", ""), ("p/b", "")]);
    let path = |name: &str| root.join(name).to_str().unwrap().to_owned();
    if top_of(&root).is_none() {
        for (file, folder) in [
            ("p/a", "p"),
            ("p/gone", "p"),
            ("p/gone/too", "p/gone"),
            ("p/a/no-folder", "p/a"),
        ] {
            assert_eq!(GitTree.root_of(&path(file)), path(folder), "{file}");
        }
        // No rules above the folder hold.
        assert_eq!(
            walked(&root.join("p"), None),
            BTreeSet::from(["a".to_owned(), "b".to_owned()])
        );
    }
    assert_eq!(walked(&root, None), BTreeSet::from(["p/a".to_owned()]));
    assert!(GitTree.identity(&path("p")).is_some());
    fs::create_dir(path("empty")).unwrap();
    for away in ["p/a", "gone", "empty"] {
        assert_eq!(GitTree.identity(&path(away)), None, "{away}");
    }
    assert_eq!(GitTree.root_of("/"), "/");
}

#[test]
fn another_folder_in_the_place_of_one_is_told_from_it() {
    let (_folder, root) = folder_with(&[("p/a", ""), ("q/a", "")]);
    let identity = || GitTree.identity(root.join("p").to_str().unwrap()).unwrap();
    let first = identity();
    write(&root.join("p/b"), "");
    assert_eq!(identity(), first, "whatever changes in it");
    fs::rename(root.join("p"), root.join("away")).unwrap();
    fs::rename(root.join("q"), root.join("p")).unwrap();
    assert_ne!(identity(), first);
}

#[test]
fn nothing_is_known_if_the_root_or_its_rules_cannot_be_read() {
    let (_folder, root) = folder_with(&[("p/a", ""), ("q/a", ""), ("q/r/b", "")]);
    // Larger than a file of rules may be.
    fs::File::create(root.join("q/r/.gitignore"))
        .unwrap()
        .set_len(11 << 20)
        .unwrap();
    let error = walk_with(&root.join("q/r"), None, None)
        .unwrap_err()
        .to_string();
    assert!(error.contains("q/r/.gitignore"), "{error}");
    for (folder, file) in [("gone", "gone/a"), ("p/a", "p/a"), ("q", "q/r/b")] {
        let (folder, file) = (root.join(folder), root.join(file));
        let error = states(folder.to_str().unwrap(), &[file.to_str().unwrap()], None).unwrap_err();
        assert_eq!(error.code, ErrorCode::Unavailable);
        assert!(error.message.contains(folder.to_str().unwrap()), "{error}");
    }
    assert_eq!(
        states_in(&root.join("q"), &["a"], None),
        [SourceState::Kept]
    );
    let found = walk_with(&root.join("q"), None, None).unwrap();
    assert_eq!(found.files.len(), 1);
    assert_eq!(
        found.passed_over,
        [(root.join("q/r"), crate::project::Unread::Unreadable)]
    );
}

/// Rules are bytes to git, and there may be any number.
#[cfg(unix)]
#[test]
fn rules_without_utf_8_and_many_rules_are_read() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let (_folder, root) = folder_with(&[("a", ""), ("9b-c", "")]);
    let latin = root.join(OsStr::from_bytes(b"caf\xe9"));
    // Not every file system takes such a name.
    let has_latin = fs::write(latin, "").is_ok();
    let mut rules = b"caf\xe9\n".to_vec();
    for number in 0..20_000 {
        rules.extend(format!("*{number}*-*\n").bytes());
    }
    fs::write(root.join(".gitignore"), rules).unwrap();
    // Neither ignored nor passed over, and the file without UTF-8 is ignored.
    assert_eq!(walked(&root, None), BTreeSet::from(["a".to_owned()]));
    if has_latin && is_repository(&root) {
        let output = git(&root, &["status", "--porcelain", "--untracked-files"], "");
        assert_eq!(output.unwrap(), "?? .gitignore\n?? a\n");
    }
}

#[cfg(unix)]
#[test]
fn a_link_is_judged_by_where_it_leads() {
    use std::os::unix::fs::symlink;

    let files = [
        ("p/.gitignore", "secret\n/link\n"),
        ("p/a/secret", ""),
        ("p/a/b", ""),
        ("other/secret", ""),
    ];
    let (_folder, root) = folder_with(&files);
    let project = root.join("p");
    symlink("a", project.join("inside")).unwrap();
    symlink("../other", project.join("outside")).unwrap();
    symlink("a/b", project.join("link")).unwrap();
    symlink("nowhere", project.join("dangling")).unwrap();
    symlink("p", root.join("alias")).unwrap();
    symlink("../rules", project.join("a/.gitignore")).unwrap();
    write(&root.join("rules"), "*");
    let names = [
        "inside/secret",
        "inside/b",
        "outside/secret",
        "link",
        "dangling",
        "outside/gone",
        "a/b",
        "../p/a/secret",
    ];
    let (kept, ignored, missing) = (
        SourceState::Kept,
        SourceState::Ignored,
        SourceState::Missing,
    );
    let expected = [ignored, kept, kept, ignored, kept, missing, kept, ignored];
    assert_eq!(states_in(&project, &names, None), expected);
    assert_eq!(states_in(&root.join("alias"), &names, None), expected);
    let found = walk_with(&root.join("alias"), None, None).unwrap();
    assert_eq!(
        found
            .files
            .iter()
            .map(|(path, _)| path.clone())
            .collect::<Vec<_>>(),
        [root.join("alias/a/b")]
    );
    assert_eq!(found.passed_over.len(), 3, "{:?}", found.passed_over);
}
