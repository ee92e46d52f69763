//! Whose memory a session starts with, over generated layouts of repositories.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use loci_core::CollectionFilter;
use loci_engine::{Browse, Engine, SearchMode};
use loci_hooks::hook::HookSession;
use loci_hosts::{Event, Input, Reply};
use loci_ingest::trust::Trust;
use loci_ingest::wings::Wings;
use loci_ingest::{caller, conversation};
use loci_mine::project::Project;
use loci_testkit::{FixedClock, HashingEmbedder, NaiveStore, Random};
use serde_json::json;

/// Names of folders, many of which become one name of a wing.
const NAMES: [&str; 9] = [
    "api",
    "API",
    "my-app",
    "my_app",
    "C#",
    "C++",
    "c",
    "\u{1f375}",
    "\u{2615}",
];
const OWNERS: [&str; 4] = ["acme", "zenith", "Acme", "src"];
const LAYOUTS: u64 = 60;

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Makes a folder of git.
fn folder_of_git(folder: &Path, is_bare: bool, remote: Option<&str>) {
    put(&folder.join("HEAD"), "ref: refs/heads/main\n");
    for name in ["objects", "refs"] {
        fs::create_dir_all(folder.join(name)).unwrap();
    }
    let remote = remote.map_or_else(String::new, |url| {
        format!("[remote \"origin\"]\n\turl = {url}\n")
    });
    let text = format!("[core]\n\tbare = {is_bare}\n{remote}");
    put(&folder.join("config"), &text);
}

/// Makes what `git worktree add` makes.
fn worktree(common: &Path, name: &str, top: &Path) {
    let own = common.join("worktrees").join(name);
    put(&own.join("commondir"), "../..\n");
    put(
        &own.join("gitdir"),
        &format!("{}\n", top.join(".git").display()),
    );
    put(&top.join(".git"), &format!("gitdir: {}\n", own.display()));
}

/// A store and a folder for repositories.
struct Place {
    engine: Engine,
    folder: tempfile::TempDir,
    trust: Trust,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::new(
            Arc::new(NaiveStore::new()),
            Arc::new(HashingEmbedder::new(8)),
            Arc::new(FixedClock::default()),
            SearchMode::Words,
        );
        let trust = Trust::read_or_none(folder.path(), |_| ());
        Place {
            engine,
            folder,
            trust,
        }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(path)
    }

    fn wing(&self, folder: &Path) -> String {
        Wings::new(&self.engine.system(&caller()), &self.trust, false)
            .of(folder)
            .unwrap()
    }

    /// Returns what an event of a session in a folder tells the agent.
    fn told(&self, folder: &Path, event: Event, input: serde_json::Value) -> String {
        let session = HookSession {
            engine: &self.engine,
            host: "claude-code",
            trust: &self.trust,
            folder,
            dialect: "mememory",
            is_shared: false,
            is_verbatim: false,
        };
        let mut told = String::new();
        let mut answer = |reply| {
            if let Reply::Context(_, text) = reply {
                told += &text;
            }
        };
        let input = Input::read(input.to_string().as_bytes()).unwrap();
        session.handle(event, &input, |_| (), &mut answer).unwrap();
        told
    }

    /// Says something in a session in a folder, which its hook files.
    fn say(&self, folder: &Path, words: &str) {
        let transcript = self.path(&format!("transcripts/{words}.jsonl"));
        let line = json!({
            "type": "user", "sessionId": words, "cwd": folder,
            "message": {"role": "user", "content": format!("The password of the harbour ferry is {words}.")},
        });
        put(&transcript, &format!("{line}\n"));
        let input = json!({"transcript_path": transcript, "cwd": folder});
        self.told(folder, Event::SessionEnd, input);
    }

    fn start(&self, folder: &Path) -> String {
        self.told(folder, Event::SessionStart, json!({"cwd": folder}))
    }

    fn prompt(&self, folder: &Path) -> String {
        let prompt = "What is the password of the harbour ferry?";
        self.told(
            folder,
            Event::Prompt,
            json!({"cwd": folder, "prompt": prompt}),
        )
    }
}

/// Makes a repository; returns the folders in which people work on it.
fn repository(place: &Place, random: &mut Random, number: usize) -> Option<Vec<PathBuf>> {
    let (owner, name) = (random.pick(&OWNERS), random.pick(&NAMES));
    let parent = place.path(owner);
    let top = parent.join(name);
    let bare = parent.join(format!("{name}.git"));
    if top.exists() || bare.exists() {
        return None;
    }
    let url = format!("https://git.example.org/{number}/{name}.git");
    let remote = random.chance(50).then_some(&*url);
    let beside = parent.join(format!("worktree-{number}"));
    let mut folders = match random.below(5) {
        0 => {
            folder_of_git(&top.join(".git"), false, remote);
            worktree(&top.join(".git"), "fix", &beside);
            let inside = top.join(".claude/worktrees/fix");
            worktree(&top.join(".git"), "fix1", &inside);
            vec![top.clone(), beside, inside, top.join("packages/web")]
        }
        1 => {
            folder_of_git(&bare, true, remote);
            worktree(&bare, "main", &beside);
            let other = parent.join(format!("main-{number}"));
            worktree(&bare, "main1", &other);
            vec![bare, beside, other]
        }
        2 => {
            folder_of_git(&top.join(".bare"), true, remote);
            put(&top.join(".git"), "gitdir: ./.bare\n");
            worktree(&top.join(".bare"), "main", &top.join("main"));
            vec![top.clone(), top.join("main")]
        }
        3 => {
            let apart = place.path(&format!("git-folders/{number}"));
            folder_of_git(&apart, false, remote);
            put(&top.join(".git"), &format!("gitdir: {}\n", apart.display()));
            vec![top.clone(), top.join("src")]
        }
        _ => {
            fs::create_dir_all(&top).unwrap();
            return Some(vec![top]);
        }
    };
    if remote.is_some() && random.chance(50) {
        let clone = place.path(&format!("clones/{number}"));
        let url = format!("git@git.example.org:{number}/{name}");
        folder_of_git(&clone.join(".git"), false, Some(&url));
        folders.push(clone);
    }
    Some(folders)
}

#[test]
fn no_text_of_one_project_reaches_a_session_of_another() {
    let seed = std::env::var("LOCI_TEST_SEED").ok();
    let seeds = seed.map_or(0..LAYOUTS, |seed| {
        let seed = seed.parse().unwrap();
        seed..seed + 1
    });
    for seed in seeds {
        let (place, mut random) = (Place::new(), Random::new(seed));
        let mut projects: Vec<Vec<PathBuf>> = Vec::new();
        for number in 0..6 {
            projects.extend(repository(&place, &mut random, number));
        }
        // Sessions of several projects take turns, in whichever of their folders.
        let mut said = vec![false; projects.len()];
        for turn in 0..12 {
            let number = random.below(projects.len());
            let folder = &projects[number][random.below(projects[number].len())];
            if random.chance(30) {
                place.start(folder);
            } else {
                place.say(folder, &format!("p{number}x{turn}"));
                said[number] = true;
            }
        }
        let mut wings = BTreeSet::new();
        for (number, folders) in projects.iter().enumerate() {
            let wing = place.wing(&folders[0]);
            for folder in folders {
                let context = format!("seed {seed}, {}", folder.display());
                assert_eq!(place.wing(folder), wing, "{context}");
                for text in [place.start(folder), place.prompt(folder)] {
                    for other in (0..projects.len()).filter(|other| *other != number) {
                        let words = format!("p{other}x");
                        assert!(!text.contains(&words), "{context}: {text}");
                    }
                }
                let text = place.start(folder);
                let words = format!("p{number}x");
                assert_eq!(text.contains(&words), said[number], "{context}: {text}");
            }
            assert!(wings.insert(wing), "seed {seed}: {wings:?}");
        }
    }
}

#[test]
fn a_second_project_of_a_name_gets_its_own_wing_and_that_is_told_once() {
    let place = Place::new();
    for owner in ["acme", "zenith"] {
        let url = format!("https://git.example.org/{owner}/api.git");
        folder_of_git(&place.path(&format!("{owner}/api/.git")), false, Some(&url));
    }
    let (acme, zenith) = (place.path("acme/api"), place.path("zenith/api"));
    assert_eq!(place.wing(&acme), "api");
    // Nothing is kept where nothing shall be.
    let system = place.engine.system(&caller());
    let dry = Wings::new(&system, &place.trust, true);
    assert_eq!(dry.of(&zenith).unwrap(), "zenith api");
    let first = place.start(&zenith);
    assert!(
        first.contains("the wing \"api\" is that of another project"),
        "{first}"
    );
    assert!(first.contains("project \"zenith api\" stores"), "{first}");
    assert!(!place.start(&zenith).contains("another project"));
    assert_eq!(
        (place.wing(&zenith), place.wing(&acme)),
        ("zenith api".into(), "api".into())
    );
}

#[test]
fn a_project_stays_itself_when_it_moves_and_another_takes_its_place() {
    let place = Place::new();
    let git = |path: &str, remote: Option<&str>| {
        folder_of_git(&place.path(path).join(".git"), false, remote);
    };
    let wing = |path: &str| place.wing(&place.path(path));
    let rename = |from: &str, to: &str| fs::rename(place.path(from), place.path(to)).unwrap();
    let url = |name: &str| format!("https://git.example.org/{name}.git");
    git("tea", Some(&url("a/tea")));
    assert_eq!(wing("tea"), "tea");
    // Moved, with a remote.
    rename("tea", "cup");
    assert_eq!(wing("cup"), "tea");
    // Another repository at the former path, and then another one at that.
    git("tea", Some(&url("b/tea")));
    assert_eq!(wing("tea"), "b tea");
    fs::remove_dir_all(place.path("tea")).unwrap();
    git("tea", Some(&url("c/tea")));
    assert_eq!(wing("tea"), "c tea");
    // A later clone of what was deleted.
    git("again", Some(&url("b/tea")));
    assert_eq!(wing("again"), "b tea");
    // The remote of a repository changes, as that of a fork does.
    git("again", Some(&url("fork/tea")));
    let has_mark = Project::of(&place.path("again")).mark.is_some();
    if has_mark {
        assert_eq!(wing("again"), "b tea");
        // Renamed, without any remote and without git.
        git("leaf", None);
        fs::create_dir_all(place.path("notes")).unwrap();
        assert_eq!((&*wing("leaf"), &*wing("notes")), ("leaf", "notes"));
        rename("leaf", "leaves");
        rename("notes", "papers");
        assert_eq!((&*wing("leaves"), &*wing("papers")), ("leaf", "notes"));
    }
    // A fork beside it is another project.
    git("forks/leaf", Some(&url("fork/leaf")));
    git("own/leaf", Some(&url("own/leaf")));
    assert_ne!(wing("forks/leaf"), wing("own/leaf"));
}

#[test]
fn a_worktree_that_was_removed_is_still_of_its_project() {
    let place = Place::new();
    let common = place.path("tea/.git");
    folder_of_git(&common, false, None);
    let top = place.path("elsewhere/fix");
    worktree(&common, "fix", &top);
    assert_eq!(place.wing(&top), "tea");
    fs::remove_dir_all(&top).unwrap();
    fs::remove_dir_all(common.join("worktrees/fix")).unwrap();
    assert_eq!(place.wing(&top), "tea");
    assert_eq!(place.wing(&top.join("src")), "tea");
    assert_eq!(place.wing(&place.path("elsewhere")), "elsewhere");
}

#[test]
fn a_wing_of_before_is_of_the_project_whose_files_it_holds() {
    let place = Place::new();
    let acme = place.path("acme/api");
    let zenith = place.path("zenith/api");
    for folder in [&acme, &zenith] {
        folder_of_git(&folder.join(".git"), false, None);
    }
    // Filed by a loci that kept no projects.
    let line = |folder: &Path| {
        let message = json!({"role": "user", "content": "Said before."});
        json!({"type": "user", "sessionId": "s", "cwd": folder, "message": message}).to_string()
    };
    let transcript = place.path("transcripts/s.jsonl");
    put(&transcript, &(line(&acme) + "\n"));
    let folder = place.path("transcripts");
    let transcripts = conversation::Transcripts {
        wing: "api",
        root: folder.to_str().unwrap(),
        is_dry: false,
        is_shared: false,
        until: None,
        is_verbatim: false,
        rereads: false,
        files_again: false,
    };
    conversation::file(
        &place.engine.system(&caller()),
        &transcripts,
        transcript.to_str().unwrap(),
    )
    .unwrap();
    assert!(!place.start(&zenith).contains("Said before."));
    assert!(place.start(&acme).contains("Said before."));
    assert_eq!(
        (&*place.wing(&zenith), &*place.wing(&acme)),
        ("zenith api", "api")
    );
    // A wing that holds nothing of any folder is of the project that asks first.
    let memory = loci_engine::Remember {
        collection: Some("my_shop".to_owned()),
        ..loci_engine::Remember::new("The shop opens at nine.", "fact")
    };
    place
        .engine
        .system(&caller())
        .memories()
        .remember(memory)
        .unwrap();
    let shop = place.path("My Shop");
    fs::create_dir_all(&shop).unwrap();
    assert!(
        place.start(&shop).contains("opens at nine"),
        "names had no blanks before"
    );
    let browse = Browse {
        collections: CollectionFilter::Only("my_shop".to_owned()),
        limit: 9,
        ..Browse::default()
    };
    let browsed = place
        .engine
        .system(&caller())
        .listings()
        .browse(browse)
        .unwrap();
    assert_eq!(browsed.memories.len(), 1);
}

#[test]
fn the_plan_of_the_main_worktree_counts_in_the_others() {
    let mut place = Place::new();
    let common = place.path("tea/.git");
    folder_of_git(&common, false, None);
    let (top, main) = (place.path("fix"), place.path("tea"));
    worktree(&common, "fix", &top);
    let plan = "wing = \"the cup\"\n";
    put(&main.join(".loci-palace.toml"), plan);
    assert_eq!(place.wing(&top), "tea");
    place.trust.add(main.to_str().unwrap(), plan).unwrap();
    assert_eq!(
        (&*place.wing(&main), &*place.wing(&top)),
        ("the cup", "the cup")
    );
}
