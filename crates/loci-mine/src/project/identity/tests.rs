//! Layouts as git writes them.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Makes a folder of git.
fn folder_of_git(folder: &Path, configuration: &str) {
    put(&folder.join("HEAD"), "ref: refs/heads/main\n");
    fs::create_dir_all(folder.join("objects")).unwrap();
    fs::create_dir_all(folder.join("refs")).unwrap();
    put(&folder.join("config"), configuration);
}

/// Makes what `git worktree add` makes.
fn worktree(common: &Path, name: &str, top: &Path) {
    let own = common.join("worktrees").join(name);
    put(&own.join("commondir"), "../..\n");
    put(
        &own.join("gitdir"),
        &format!("{}\n", top.join(".git").display()),
    );
    put(&own.join("HEAD"), "ref: refs/heads/x\n");
    put(&top.join(".git"), &format!("gitdir: {}\n", own.display()));
}

fn remote(url: &str) -> String {
    format!("[core]\n\tbare = false\n[remote \"origin\"]\n\turl = {url}\n")
}

struct Layout {
    _folder: tempfile::TempDir,
    root: PathBuf,
}

impl Layout {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        Layout {
            _folder: folder,
            root,
        }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn of(&self, path: &str) -> Project {
        Project::of(&self.path(path))
    }
}

#[test]
fn worktrees_are_of_their_repository() {
    let layout = Layout::new();
    let (main, bare) = (layout.path("tea/.git"), layout.path("leaf.git"));
    let (inner, other) = (layout.path("cup/.bare"), layout.path("pot/base"));
    folder_of_git(&main, "[core]\n");
    folder_of_git(&bare, "[core]\n\tbare = true\n");
    folder_of_git(&inner, "[core]\n\tbare = true\n");
    put(&layout.path("cup/.git"), "gitdir: ./.bare\n");
    folder_of_git(&other, "[core]\n\tbare = true\n");
    put(&layout.path("pot/.git"), "gitdir: base\n");
    worktree(&other, "main", &layout.path("pot/main"));
    worktree(&main, "one", &layout.path("tea-one"));
    worktree(&main, "two", &layout.path("tea/.claude/worktrees/two"));
    worktree(&bare, "main", &layout.path("leaf-main"));
    worktree(&inner, "main", &layout.path("cup/main"));
    fs::create_dir_all(layout.path("tea/src")).unwrap();
    for (folder, name, place, worktree) in [
        ("tea", "tea", "tea", None),
        ("tea/src", "tea", "tea", None),
        ("tea/src/gone", "tea", "tea", None),
        ("tea/.git", "tea", "tea", None),
        ("tea-one", "tea", "tea", Some("tea-one")),
        (
            "tea/.claude/worktrees/two",
            "tea",
            "tea",
            Some("tea/.claude/worktrees/two"),
        ),
        ("tea/.claude/worktrees/removed", "tea", "tea", None),
        ("leaf.git", "leaf", "leaf.git", None),
        ("leaf-main", "leaf", "leaf.git", Some("leaf-main")),
        ("cup", "cup", "cup", None),
        ("cup/.bare", "cup", "cup", None),
        ("cup/main", "cup", "cup", Some("cup/main")),
        ("pot", "pot", "pot", None),
        ("pot/main", "pot", "pot", Some("pot/main")),
    ] {
        let found = layout.of(folder);
        assert_eq!(found.name, name, "{folder}");
        assert_eq!(found.place, key(&layout.path(place)), "{folder}");
        let worktree = worktree.map(|path| key(&layout.path(path)));
        assert_eq!(found.worktree, worktree, "{folder}");
        assert!(found.is_repository && found.is_here, "{folder}");
        assert_eq!(found.mark, layout.of(place).mark, "{folder}");
    }
}

#[test]
fn a_repository_may_lie_elsewhere_than_its_files() {
    let layout = Layout::new();
    folder_of_git(&layout.path("tea/.git"), "[core]\n");
    let module = layout.path("tea/.git/modules/parts/cup");
    folder_of_git(&module, "[core]\n\tworktree = ../../../../parts/cup\n");
    put(
        &layout.path("tea/parts/cup/.git"),
        "gitdir: ../../.git/modules/parts/cup\n",
    );
    worktree(&module, "wide", &layout.path("wide"));
    let apart = layout.path("folders/leaf-git");
    folder_of_git(&apart, "[core]\n");
    put(
        &layout.path("leaf/.git"),
        &format!("gitdir: {}\n", apart.display()),
    );
    for (folder, name, place) in [
        ("tea/parts/cup", "cup", "tea/.git/modules/parts/cup"),
        ("wide", "cup", "tea/.git/modules/parts/cup"),
        ("leaf", "leaf", "folders/leaf-git"),
    ] {
        let found = layout.of(folder);
        assert_eq!(found.name, name, "{folder}");
        assert_eq!(found.place, key(&layout.path(place)), "{folder}");
    }
}

/// Only what git itself would have written makes a folder one of another repository.
#[test]
fn a_file_cannot_pass_a_folder_off_as_another_repository() {
    let layout = Layout::new();
    let secret = layout.path("secret/.git");
    folder_of_git(&secret, &remote("https://git.example.org/bo/secret.git"));
    let module = secret.join("modules/cup");
    folder_of_git(&module, "[core]\n\tworktree = ../../../cup\n");
    worktree(&secret, "one", &layout.path("one"));
    folder_of_git(&layout.path("hub.git"), "[core]\n\tbare = true\n");
    fs::create_dir_all(layout.path("notes")).unwrap();
    for named in [
        layout.path("hub.git"),
        layout.path("notes"),
        layout.path(""),
        secret.clone(),
        secret.join("worktrees/one"),
        secret.join("worktrees/none"),
        module,
        layout.path("thief/own"),
    ] {
        put(
            &layout.path("thief/own/commondir"),
            &format!("{}\n", secret.display()),
        );
        put(
            &layout.path("thief/.git"),
            &format!("gitdir: {}\n", named.display()),
        );
        let found = layout.of("thief");
        let named = named.display();
        assert_eq!(found.place, key(&layout.path("thief")), "{named}");
        assert_eq!((&*found.name, found.remote), ("thief", None), "{named}");
    }
}

#[test]
fn a_worktree_whose_repository_is_not_there_is_of_it_by_its_path() {
    let layout = Layout::new();
    for (named, name, place) in [
        ("/srv/no/tea/.git/worktrees/x", "tea", "/srv/no/tea"),
        ("/srv/no/tea.git/worktrees/x", "tea", "/srv/no/tea.git"),
        ("C:/src/tea/.git/worktrees/x", "tea", "/mnt/c/src/tea"),
    ] {
        put(&layout.path("x/.git"), &format!("gitdir: {named}\n"));
        let found = layout.of("x");
        assert_eq!((&*found.name, &*found.place), (name, place), "{named}");
        assert!(!found.is_here && found.is_repository);
    }
}

#[test]
fn a_folder_that_is_not_there_is_known_by_its_path() {
    for (path, name, full_name, place) in [
        (
            "/no/such/Tea Cup",
            "tea cup",
            "such tea cup",
            "/no/such/Tea Cup",
        ),
        (
            "/no/tea/.claude/worktrees/x/src",
            "tea",
            "no tea",
            "/no/tea",
        ),
        ("/no/tea/.worktrees/x", "tea", "no tea", "/no/tea"),
        (
            "/no/.cursor/worktrees/tea/x1",
            "tea",
            "worktrees tea",
            "/no/.cursor/worktrees/tea",
        ),
        (
            "/no/.codex/worktrees/1f/tea",
            "tea",
            "1f tea",
            "/no/.codex/worktrees/1f/tea",
        ),
        ("X:\\no\\Tea", "tea", "no tea", "/mnt/x/no/tea"),
        ("\\\\wsl$\\Debian\\no\\tea", "tea", "no tea", "/no/tea"),
        ("/no/such/../🍵", "project", "no project", "/no/🍵"),
    ] {
        let found = Project::of(Path::new(path));
        assert_eq!(
            (&*found.name, &*found.full_name, &*found.place),
            (name, full_name, place),
            "{path}"
        );
        assert!(!found.is_here && found.mark.is_none() && found.remote.is_none());
    }
}

#[test]
fn remotes_and_the_first_commit_are_read() {
    let layout = Layout::new();
    folder_of_git(
        &layout.path("tea/.git"),
        "[remote \"up\"]\n\turl = https://git.example.org/up/tea\n[remote \"origin\"]\n\turl = \
         https://bo:pw@git.example.org/bo/tea.git\n\turl = https://mirror.example.org/tea\n",
    );
    let first = "0".repeat(40) + " " + &"1a".repeat(20);
    put(
        &layout.path("tea/.git/logs/HEAD"),
        &format!("{first} Bo <bo@example.org> 1 +0000\tcommit (initial): Tea\nx\n"),
    );
    let tea = layout.of("tea");
    assert_eq!(tea.remote.as_deref(), Some("git.example.org/bo/tea"));
    assert_eq!(tea.full_name, "bo tea");
    assert_eq!(tea.root_commit, Some("1a".repeat(20)));
    // A clone of a repository on this machine names its place, and a bare one stands for itself.
    let path = |path: &str| layout.path(path).display().to_string();
    folder_of_git(&layout.path("clone/.git"), &remote(&path("tea/.git")));
    folder_of_git(&layout.path("far.git"), "[core]\n\tbare = true\n");
    folder_of_git(&layout.path("near/.git"), &remote(&path("far")));
    folder_of_git(
        &layout.path("hub.git"),
        &remote(&path("tea")).replace("false", "true"),
    );
    let place = |folder: &str| Some(key(&layout.path(folder)));
    assert_eq!(layout.of("clone").remote, place("tea"));
    assert_eq!(layout.of("near").remote, place("far.git"));
    assert_eq!(layout.of("hub.git").remote, None);
    put(
        &layout.path("clone/.git/logs/HEAD"),
        &format!("{first} Bo <bo@example.org> 1 +0000\tclone: from x\n"),
    );
    assert_eq!(layout.of("clone").root_commit, None);
}

#[cfg(unix)]
#[test]
fn a_link_leads_to_the_project_that_it_names() {
    let layout = Layout::new();
    folder_of_git(&layout.path("real/tea/.git"), "[core]\n");
    fs::create_dir_all(layout.path("real/tea/src")).unwrap();
    std::os::unix::fs::symlink(layout.path("real"), layout.path("home")).unwrap();
    std::os::unix::fs::symlink(layout.path("real/tea/src"), layout.path("short")).unwrap();
    let tea = layout.of("real/tea");
    for path in [
        "home/tea",
        "home/tea/src",
        "short",
        "short/gone",
        "home/tea/.git/..",
    ] {
        assert_eq!(layout.of(path), tea, "{path}");
    }
}

proptest! {
    #[test]
    fn no_file_of_git_and_no_path_makes_it_panic(
        file in "gitdir: [./a-z\\PC]{0,20}|\\PC{0,20}",
        configuration in "[\\[\\]\"#;=\\\\ a-z\n]{0,40}|\\[remote \"origin\"\\]\nurl=[a:/@.?#%\\PC]{0,20}",
        path in "[~/\\\\.:A-Za-z\\PC]{0,20}",
    ) {
        let layout = Layout::new();
        put(&layout.path("tea/.git"), &file);
        folder_of_git(&layout.path("cup/.git"), &configuration);
        prop_assert_eq!(layout.of("tea").name, "tea");
        prop_assert_eq!(layout.of("cup").name, "cup");
        let found = Project::of(Path::new(&path));
        prop_assert!(!found.name.is_empty() && found.place.starts_with('/'));
    }
}
