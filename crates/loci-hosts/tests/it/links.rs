//! Links on the way to the files of a project, which others wrote, and of the user.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use loci_hosts::{
    CLAUDE_CODE, CODEX, CURSOR, Connection, Host, InstructionBlock, Machine, OPENCODE, OwnEntry,
    Scope, System, Target, VSCODE, ZED, work_tree,
};

const BLOCK: InstructionBlock<'_> = InstructionBlock {
    server: "loci",
    recall: "recall",
    remember: "remember",
};

/// A home folder with a checkout in it.
struct Layout {
    folder: tempfile::TempDir,
    machine: Machine,
}

impl Layout {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap().join("home");
        let layout = Layout {
            machine: Machine {
                system: System::Linux,
                home,
                variable: |_| None,
            },
            folder,
        };
        fs::create_dir_all(layout.path("checkout/.git")).unwrap();
        layout
    }

    fn path(&self, name: &str) -> PathBuf {
        self.machine.home.join(name)
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Makes a link; `HOME` in its target is the home folder.
    fn link(&self, name: &str, target: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let home = self.machine.home.to_str().unwrap();
        symlink(target.replace("HOME", home), path).unwrap();
    }

    /// Connects a host with its instructions; returns the first problem.
    fn connect(&self, host: &'static Host, scope: Scope, project: &Path) -> Result<(), String> {
        let target = Target::Stdio {
            program: "loci".to_owned(),
            arguments: ["mcp", "mememory"].map(str::to_owned).to_vec(),
        };
        let connection = self.connection(host, scope, project);
        let problem = |error: &dyn std::fmt::Display| error.to_string();
        let server = connection.connect(&target).map_err(|it| problem(&it))?;
        server.apply().map_err(|it| problem(&it))?;
        let block = connection.instruct(&BLOCK).map_err(|it| problem(&it))?;
        block.apply().map_err(|it| problem(&it)).map(drop)
    }

    fn connection<'a>(
        &'a self,
        host: &'static Host,
        scope: Scope,
        project: &'a Path,
    ) -> Connection<'a> {
        Connection {
            host,
            machine: &self.machine,
            scope,
            project,
            name: "loci",
            own: OwnEntry {
                file_name: None,
                dialects: &["mememory"],
            },
        }
    }

    /// Everything outside of the checkout.
    fn outside(&self) -> Vec<(PathBuf, String)> {
        let mut found = Vec::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let kind = fs::symlink_metadata(&path).unwrap().file_type();
                if kind.is_dir() && !path.ends_with("checkout") {
                    found.push((path.clone(), String::new()));
                    folders.push(path);
                } else if kind.is_file() {
                    let text = fs::read_to_string(&path).unwrap();
                    found.push((path, text));
                }
            }
        }
        found.sort();
        found
    }
}

/// A link in a checkout, its target, and the host whose file it is.
type Row = (&'static str, &'static str, &'static Host);

/// Links that lead out of the checkout.
const OUT: [Row; 19] = [
    ("AGENTS.md", "../.bashrc", &CODEX),
    ("AGENTS.md", "HOME/.bashrc", &CODEX),
    ("AGENTS.md", "new.md", &CODEX),
    ("AGENTS.md", "../new.md", &CODEX),
    ("AGENTS.md", "HOME/new.md", &CODEX),
    ("AGENTS.md", "docs/../../.bashrc", &CODEX),
    ("CLAUDE.md", "HOME/checkout/../.bashrc", &CLAUDE_CODE),
    ("AGENTS.md", "/proc/self/environ", &OPENCODE),
    (".mcp.json", "../.claude.json", &CLAUDE_CODE),
    (".mcp.json", "HOME/.claude.json", &CLAUDE_CODE),
    (".mcp.json", "second", &CLAUDE_CODE),
    (".mcp.json", ".mcp.json", &CLAUDE_CODE),
    (".cursor", "..", &CURSOR),
    (".cursor", "HOME", &CURSOR),
    (".cursor", "HOME/.cursor", &CURSOR),
    (".vscode", "../.config/Code/User", &VSCODE),
    (".codex", "HOME/.codex", &CODEX),
    (".zed", "/", &ZED),
    (".zed", "../missing", &ZED),
];

#[test]
fn a_link_of_a_checkout_leads_nowhere_outside_of_it() {
    for (link, target, host) in OUT {
        let layout = Layout::new();
        for (name, text) in [
            (".bashrc", "alias tea=kettle\n"),
            (".claude.json", "{}\n"),
            (".cursor/mcp.json", "{}\n"),
            (".config/Code/User/mcp.json", "{}\n"),
            (".codex/config.toml", "a = 1\n"),
            ("mcp.json", "{}\n"),
            ("checkout/docs/tea.md", "Tea.\n"),
        ] {
            layout.put(name, text);
        }
        layout.link(&format!("checkout/{link}"), target);
        layout.link("checkout/second", "../.claude.json");
        let before = layout.outside();
        let project = layout.path("checkout");
        let shown = format!("{link} -> {target}");
        let problem = layout.connect(host, Scope::Project, &project).unwrap_err();
        assert!(problem.contains(link), "{shown}: {problem}");
        assert_eq!(layout.outside(), before, "{shown}");
        // A link that leads out is not read through either, and an undoing does not touch it.
        let connection = layout.connection(host, Scope::Project, &project);
        let undone = [connection.disconnect(), connection.uninstruct()]
            .map(|change| change.and_then(|change| Ok(change.apply()?)).is_err());
        assert!(undone.contains(&true), "{shown}");
        assert_eq!(layout.outside(), before, "{shown}");
        let is_of_servers = host
            .servers
            .project
            .iter()
            .any(|file| file.starts_with(link));
        assert_eq!(connection.entry().is_err(), is_of_servers, "{shown}");
        assert!(
            fs::symlink_metadata(project.join(link))
                .unwrap()
                .is_symlink()
        );
    }
}

#[test]
fn the_problem_names_the_link_its_target_and_the_remedy() {
    let layout = Layout::new();
    layout.put(".claude/settings.json", "{}");
    layout.link("checkout/.cursor", "../.claude");
    let problem = layout
        .connect(&CURSOR, Scope::Project, &layout.path("checkout"))
        .unwrap_err();
    for words in [
        "checkout/.cursor",
        "../.claude",
        "out of",
        "--scope project",
    ] {
        assert!(problem.contains(words), "{problem}");
    }
}

#[test]
fn a_link_within_a_checkout_is_followed_and_stays() {
    let rows: [(Row, &str); 7] = [
        (("AGENTS.md", "CLAUDE.md", &CODEX), "CLAUDE.md"),
        (
            ("AGENTS.md", "HOME/checkout/CLAUDE.md", &CODEX),
            "CLAUDE.md",
        ),
        (
            ("CLAUDE.md", "./docs/../docs/tea.md", &CLAUDE_CODE),
            "docs/tea.md",
        ),
        ((".cursor", "docs", &CURSOR), "docs/mcp.json"),
        ((".cursor", "docs/deep/..", &CURSOR), "docs/mcp.json"),
        ((".zed", "HOME/checkout/docs", &ZED), "docs/settings.json"),
        ((".mcp.json", "second", &CLAUDE_CODE), "docs/servers.json"),
    ];
    for ((link, target, host), real) in rows {
        let layout = Layout::new();
        layout.put("checkout/docs/tea.md", "Tea.\n");
        layout.put("checkout/docs/servers.json", "{}\n");
        layout.put("checkout/docs/deep/tea.md", "Tea.\n");
        if link != "CLAUDE.md" {
            layout.put("checkout/CLAUDE.md", "Mine.\n");
        }
        layout.link(&format!("checkout/{link}"), target);
        layout.link("checkout/second", "docs/servers.json");
        let project = layout.path("checkout");
        let text = || fs::read_to_string(project.join(real)).ok();
        let before = text();
        layout.connect(host, Scope::Project, &project).unwrap();
        let shown = format!("{link} -> {target}");
        assert!(text().unwrap().contains("loci"), "{shown}");
        let connection = layout.connection(host, Scope::Project, &project);
        connection.disconnect().unwrap().apply().unwrap();
        connection.uninstruct().unwrap().apply().unwrap();
        assert_eq!(text(), before, "{shown}");
        assert!(
            fs::symlink_metadata(project.join(link))
                .unwrap()
                .is_symlink()
        );
    }
}

#[test]
fn a_folder_in_a_checkout_reaches_the_whole_of_it() {
    let layout = Layout::new();
    layout.put("checkout/shared/servers.json", "{}\n");
    layout.put("checkout/part/tea.txt", "");
    layout.link("checkout/part/.mcp.json", "../shared/servers.json");
    let part = layout.path("checkout/part");
    layout.connect(&CLAUDE_CODE, Scope::Project, &part).unwrap();
    let text = fs::read_to_string(layout.path("checkout/shared/servers.json")).unwrap();
    assert!(text.contains("loci"), "{text}");
}

#[test]
fn a_project_ends_at_its_repository_and_below_the_home_folder() {
    let layout = Layout::new();
    layout.put("plain/deep/tea.txt", "");
    layout.put("checkout/part/tea.txt", "");
    // The home folder is in git, too.
    fs::create_dir(layout.path(".git")).unwrap();
    for (folder, tree) in [
        ("checkout", "checkout"),
        ("checkout/part", "checkout"),
        ("plain/deep", "plain/deep"),
        ("", ""),
    ] {
        let tree = layout.path(tree);
        let found = work_tree(&layout.path(folder), &layout.machine.home);
        assert_eq!(found, tree, "{folder}");
    }
}

#[test]
fn the_links_of_a_user_lead_anywhere() {
    let rows: [(&str, &str, &'static Host, &str); 4] = [
        (
            ".claude.json",
            "dotfiles/claude.json",
            &CLAUDE_CODE,
            "dotfiles/claude.json",
        ),
        (
            ".claude",
            "HOME/dotfiles/claude",
            &CLAUDE_CODE,
            "dotfiles/claude/CLAUDE.md",
        ),
        (".cursor", "../elsewhere", &CURSOR, "../elsewhere/mcp.json"),
        (
            ".codex/config.toml",
            "../checkout/codex.toml",
            &CODEX,
            "checkout/codex.toml",
        ),
    ];
    for (link, target, host, real) in rows {
        let layout = Layout::new();
        layout.put("dotfiles/claude.json", "{}\n");
        layout.put("dotfiles/claude/CLAUDE.md", "Mine.\n");
        layout.put("checkout/codex.toml", "a = 1\n");
        fs::create_dir(layout.folder.path().join("elsewhere")).unwrap();
        layout.link(link, target);
        let text = || fs::read_to_string(layout.path(real)).ok();
        let before = text();
        let home = layout.path("");
        // Cursor keeps the instructions of a user elsewhere.
        let _ = layout.connect(host, Scope::User, &home);
        assert!(text().unwrap().contains("loci"), "{link} -> {target}");
        let connection = layout.connection(host, Scope::User, &home);
        connection.disconnect().unwrap().apply().unwrap();
        if let Ok(change) = connection.uninstruct() {
            change.apply().unwrap();
        }
        assert_eq!(text(), before, "{link} -> {target}");
        assert!(
            fs::symlink_metadata(layout.path(link))
                .unwrap()
                .is_symlink()
        );
    }
}

#[test]
fn another_name_of_the_same_file_keeps_its_text() {
    let layout = Layout::new();
    layout.put(".bashrc", "alias tea=kettle\n");
    fs::hard_link(layout.path(".bashrc"), layout.path("checkout/AGENTS.md")).unwrap();
    layout
        .connect(&CODEX, Scope::Project, &layout.path("checkout"))
        .unwrap();
    // A hard link is no link that could be seen, but a file is replaced and never written into.
    let text = fs::read_to_string(layout.path(".bashrc")).unwrap();
    assert_eq!(text, "alias tea=kettle\n");
}
