use std::ffi::OsString;
use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::*;
use crate::machine::System;
use crate::{HOSTS, Machine};

fn write(folder: &Path, files: &[&str]) {
    for name in files {
        let file = folder.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, format!("text of {name}\n")).unwrap();
    }
}

fn machine(home: &Path) -> Machine {
    let none: fn(&str) -> Option<OsString> = |_| None;
    Machine {
        system: System::Linux,
        home: home.to_owned(),
        variable: none,
    }
}

fn home() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    (folder, path)
}

/// The names of the files of places, each with its room.
fn names(places: &[MemoryPlace]) -> Vec<(String, &'static str)> {
    let of_place = |place: &MemoryPlace| -> Vec<(String, &'static str)> {
        let name = |path: &Path| {
            let below = path.strip_prefix(&place.root).unwrap();
            below.to_str().unwrap().replace('\\', "/")
        };
        place
            .files
            .iter()
            .map(|(path, file)| (name(path), file.room.name()))
            .collect()
    };
    places.iter().flat_map(of_place).collect()
}

#[test]
fn the_names_and_folders_are_those_of_the_hosts() {
    for memory in &HOST_MEMORIES {
        assert_eq!(host_memory(memory.name).unwrap().title, memory.title);
        let Some(host) = HOSTS.into_iter().find(|host| host.name == memory.name) else {
            continue;
        };
        assert_eq!(host.title, memory.title);
        if let [only] = memory.user {
            assert_eq!(only.folder, host.folder, "{}", memory.name);
        }
        // Of its folder of rules, connecting names one file.
        let is_known = |name: &str, files: &[Files]| {
            let folder = name.split('/').next().unwrap();
            files
                .iter()
                .any(|files| files.path == name || files.path.starts_with(&format!("{folder}/")))
        };
        if let Some(project) = host.instructions.project {
            assert!(is_known(project, memory.project), "{}", memory.name);
        }
        if let (Some(user), [only]) = (host.instructions.user, memory.user) {
            assert!(is_known(user, only.files), "{}", memory.name);
        }
    }
}

#[test]
fn the_memory_of_claude_code_is_found_in_its_folder() {
    let (_kept, home) = home();
    write(
        &home,
        &[
            ".claude/CLAUDE.md",
            ".claude/rules/rust/errors.md",
            ".claude/projects/-src-shop/memory/MEMORY.md",
            ".claude/projects/-src-shop/memory/topics/taxes.md",
            ".claude/projects/-src-shop/0c.jsonl",
            ".claude/agent-memory/reviewer/MEMORY.md",
            ".claude/plugins/other/README.md",
            ".claude/settings.json",
            "notes/MEMORY.md",
        ],
    );
    let settings = r#"{"autoMemoryDirectory": "~/notes"}"#;
    fs::write(home.join(".claude/settings.json"), settings).unwrap();
    let claude = host_memory("claude-code").unwrap();
    let expected = [
        ("CLAUDE.md", "instructions"),
        ("agent-memory/reviewer/MEMORY.md", "memory"),
        ("projects/-src-shop/memory/MEMORY.md", "memory"),
        ("projects/-src-shop/memory/topics/taxes.md", "memory"),
        ("rules/rust/errors.md", "instructions"),
        ("MEMORY.md", "memory"),
    ]
    .map(|(name, room)| (name.to_owned(), room));
    let machine = machine(&home);
    let places = claude.of_user(&machine);
    assert_eq!(names(&places), expected);
    assert!(places.iter().all(|place| place.is_users));
    // The home folder stands for both.
    assert_eq!(claude.at(&machine, &home), places);
    let folder = home.join(".claude/projects/-src-shop");
    let of_project = claude.at(&machine, &folder.join("memory"));
    assert_eq!(names(&of_project), expected[2..4]);
    let mut files = of_project[0].files.values();
    assert!(files.all(|file| file.project.as_ref() == Some(&folder)));
    let single = claude.at(&machine, &home.join(".claude/CLAUDE.md"));
    assert_eq!(names(&single), expected[..1]);
    // A backup of the folder has the same name.
    let (_copy, copy) = self::home();
    let copied = [
        ".claude/rules/a.md",
        ".claude/README.md",
        ".claude/projects/-src/memory/MEMORY.md",
    ];
    write(&copy, &copied);
    let found = claude.at(&machine, &copy.join(".claude"));
    let expected = [
        ("projects/-src/memory/MEMORY.md", "memory"),
        ("rules/a.md", "instructions"),
    ];
    assert_eq!(
        names(&found),
        expected.map(|(name, room)| (name.to_owned(), room))
    );
    assert!(found[0].is_users);
}

#[test]
fn the_files_of_a_project_are_found_from_within_it() {
    let (_kept, home) = home();
    write(
        &home,
        &[
            "shop/.cursor/rules/style.mdc",
            "shop/.cursor/rules/deep/tests.md",
            "shop/.cursor/mcp.json",
            "shop/.clinerules/a.md",
            "shop/memory-bank/progress.md",
            "shop/AGENTS.md",
            "shop/docs/AGENTS.md",
        ],
    );
    let machine = machine(&home);
    let at = |host: &str, path: &str| {
        let places = host_memory(host).unwrap().at(&machine, &home.join(path));
        assert!(places.iter().all(|place| !place.is_users));
        names(&places)
    };
    let named = |names: &[(&str, &'static str)]| -> Vec<(String, &'static str)> {
        names
            .iter()
            .map(|(name, room)| ((*name).to_owned(), *room))
            .collect()
    };
    let agents = ("AGENTS.md", "instructions");
    let cursor = [
        (".cursor/rules/deep/tests.md", "instructions"),
        (".cursor/rules/style.mdc", "instructions"),
    ];
    assert_eq!(at("cursor", "shop"), named(&[cursor[0], cursor[1], agents]));
    assert_eq!(at("cursor", "shop/.cursor/rules"), named(&cursor));
    assert_eq!(
        at("cline", "shop"),
        named(&[
            (".clinerules/a.md", "instructions"),
            agents,
            ("memory-bank/progress.md", "memory")
        ])
    );
    assert_eq!(at("zed", "shop"), named(&[agents]));
    assert_eq!(at("claude-code", "shop"), []);
    let told = host_memory("cline").unwrap().looked_for();
    assert!(told.contains("memory-bank/**/*.md"), "{told}");
    assert!(told.contains("Documents/Cline/Rules"), "{told}");
}

#[cfg(unix)]
#[test]
fn links_are_passed_over() {
    use std::os::unix::fs::symlink;
    let (_kept, home) = home();
    write(&home, &["shop/AGENTS.md", "elsewhere/secret.md"]);
    symlink("AGENTS.md", home.join("shop/CLAUDE.md")).unwrap();
    fs::create_dir_all(home.join("shop/.claude")).unwrap();
    symlink(home.join("elsewhere"), home.join("shop/.claude/rules")).unwrap();
    let places = host_memory("claude-code")
        .unwrap()
        .at(&machine(&home), &home.join("shop"));
    assert_eq!(names(&places), []);
    let link = (home.join("shop/CLAUDE.md"), Unread::Link);
    assert_eq!(places[0].passed_over, [link]);
}
