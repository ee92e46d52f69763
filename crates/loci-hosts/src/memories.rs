//! The files in which hosts keep memories and instructions of their own. They are only read.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use loci_core::FileStamp;
use loci_mine::project::{Unread, is_gone, stamp};
use serde_json::Value;

use crate::machine::{Base, Folder, Machine, joined};

/// The number of folders above a path in which a project is looked for.
const ABOVE_MAX: usize = 8;
/// The bytes of a file of settings.
const SETTINGS_BYTES_MAX: u64 = 4 << 20;

/// The own memory of a host.
#[derive(Debug)]
pub struct HostMemory {
    /// The name of the host in the command line of loci.
    pub name: &'static str,
    /// The name that its makers give it.
    pub title: &'static str,
    /// The folders of the user, each with the files in it.
    user: &'static [UserFolder],
    /// The files in the folder of a project.
    project: &'static [Files],
}

/// A folder of the user in which a host keeps files.
#[derive(Debug)]
struct UserFolder {
    folder: Folder,
    files: &'static [Files],
    /// A file of settings in it, and the key there that names another folder of notes.
    elsewhere: Option<(&'static str, &'static str)>,
}

impl UserFolder {
    const fn new(folder: Folder, files: &'static [Files]) -> Self {
        UserFolder {
            folder,
            files,
            elsewhere: None,
        }
    }
}

/// Files of one kind. In a path, `*` stands for any folder, which is named after a project, `**` for
/// any number of folders, and a last part that starts with `*` for every name with that end.
#[derive(Debug, Clone, Copy)]
struct Files {
    path: &'static str,
    room: MemoryRoom,
}

/// A file in which a host wrote what it learned.
const fn notes(path: &'static str) -> Files {
    let room = MemoryRoom::Memory;
    Files { path, room }
}

/// A file in which people instruct a host.
const fn rules(path: &'static str) -> Files {
    let room = MemoryRoom::Instructions;
    Files { path, room }
}

/// The kind of a file of a host, which is the room of what is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MemoryRoom {
    /// The host wrote it.
    Memory,
    /// People wrote it for agents.
    Instructions,
}

impl MemoryRoom {
    /// Returns the name of the room.
    pub const fn name(self) -> &'static str {
        match self {
            MemoryRoom::Memory => "memory",
            MemoryRoom::Instructions => "instructions",
        }
    }
}

/// A file of the own memory of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryFile {
    /// Its size and time.
    pub stamp: FileStamp,
    /// Its kind.
    pub room: MemoryRoom,
    /// The folder in a folder of the user that is named after the project which it is about.
    pub project: Option<PathBuf>,
}

/// The own memory of a host in one folder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MemoryPlace {
    /// The folder of the user, or of a project, without links.
    pub root: PathBuf,
    /// True for a folder of the user.
    pub is_users: bool,
    /// Its files, by path.
    pub files: BTreeMap<PathBuf, MemoryFile>,
    /// The files that were passed over: links, and unreadable ones.
    pub passed_over: Vec<(PathBuf, Unread)>,
}

const CLAUDE_FOLDER: Folder = Folder::home(".claude").or_variable("CLAUDE_CONFIG_DIR");
const CODE_FOLDER: Folder = Folder {
    variable: None,
    linux: Base::Config("Code/User"),
    macos: Base::Support("Code/User"),
    windows: Base::AppData("Code/User"),
};
const OPENCODE_FOLDER: Folder = Folder {
    variable: Some("OPENCODE_CONFIG_DIR"),
    linux: Base::Config("opencode"),
    macos: Base::Config("opencode"),
    windows: Base::Config("opencode"),
};
const GOOSE_FOLDER: Folder = Folder {
    variable: None,
    linux: Base::Config("goose"),
    macos: Base::Config("goose"),
    windows: Base::AppData("Block/goose/config"),
};
const AGENTS: Files = rules("AGENTS.md");
const COPILOT_FILES: &[Files] = &[
    rules(".github/copilot-instructions.md"),
    rules(".github/instructions/**/*.instructions.md"),
    AGENTS,
];

/// The own memory of each host that has one in files of text.
pub static HOST_MEMORIES: [HostMemory; 13] = [
    HostMemory {
        name: "claude-code",
        title: "Claude Code",
        user: &[UserFolder {
            folder: CLAUDE_FOLDER,
            files: &[
                rules("CLAUDE.md"),
                rules("rules/**/*.md"),
                notes("projects/*/memory/**/*.md"),
                notes("agent-memory/**/*.md"),
            ],
            elsewhere: Some(("settings.json", "autoMemoryDirectory")),
        }],
        project: &[
            rules("CLAUDE.md"),
            rules("CLAUDE.local.md"),
            rules(".claude/CLAUDE.md"),
            rules(".claude/rules/**/*.md"),
            notes(".claude/agent-memory/**/*.md"),
            notes(".claude/agent-memory-local/**/*.md"),
        ],
    },
    HostMemory {
        name: "codex",
        title: "Codex",
        // The model makes `MEMORY.md` from `raw_memories.md`, which is not read.
        user: &[UserFolder::new(
            Folder::home(".codex").or_variable("CODEX_HOME"),
            &[
                AGENTS,
                rules("AGENTS.override.md"),
                notes("memories/MEMORY.md"),
                notes("memories/memory_summary.md"),
                notes("memories/rollout_summaries/*.md"),
            ],
        )],
        project: &[AGENTS, rules("AGENTS.override.md")],
    },
    HostMemory {
        name: "gemini-cli",
        title: "Gemini CLI",
        user: &[UserFolder::new(
            Folder::home(".gemini"),
            &[rules("GEMINI.md"), notes("tmp/*/memory/*.md")],
        )],
        project: &[rules("GEMINI.md")],
    },
    HostMemory {
        name: "cursor",
        title: "Cursor",
        user: &[],
        project: &[
            rules(".cursor/rules/**/*.mdc"),
            rules(".cursor/rules/**/*.md"),
            rules(".cursorrules"),
            AGENTS,
        ],
    },
    HostMemory {
        name: "vscode",
        title: "VS Code",
        user: &[UserFolder::new(
            CODE_FOLDER,
            &[rules("prompts/*.instructions.md")],
        )],
        project: COPILOT_FILES,
    },
    HostMemory {
        name: "copilot-cli",
        title: "GitHub Copilot CLI",
        user: &[UserFolder::new(
            Folder::home(".copilot"),
            &[rules("copilot-instructions.md")],
        )],
        project: COPILOT_FILES,
    },
    HostMemory {
        name: "cline",
        title: "Cline",
        user: &[
            UserFolder::new(
                Folder::home("Documents/Cline/Rules"),
                &[rules("**/*.md"), rules("**/*.txt")],
            ),
            UserFolder::new(Folder::home(".agents"), &[AGENTS]),
        ],
        project: &[
            rules(".clinerules"),
            rules(".clinerules/**/*.md"),
            notes("memory-bank/**/*.md"),
            AGENTS,
        ],
    },
    HostMemory {
        name: "windsurf",
        title: "Windsurf",
        user: &[UserFolder::new(
            Folder::home(".codeium/windsurf"),
            &[rules("memories/global_rules.md")],
        )],
        project: &[
            rules(".windsurf/rules/**/*.md"),
            rules(".windsurfrules"),
            AGENTS,
        ],
    },
    HostMemory {
        name: "continue",
        title: "Continue",
        user: &[UserFolder::new(
            Folder::home(".continue"),
            &[rules("rules/**/*.md")],
        )],
        project: &[rules(".continue/rules/**/*.md"), rules(".continuerules")],
    },
    HostMemory {
        name: "kilo",
        title: "Kilo Code",
        user: &[UserFolder::new(
            Folder::home(".kilocode"),
            &[rules("rules/**/*.md")],
        )],
        project: &[rules(".kilocode/rules/**/*.md"), AGENTS],
    },
    HostMemory {
        name: "opencode",
        title: "opencode",
        user: &[UserFolder::new(OPENCODE_FOLDER, &[AGENTS])],
        project: &[AGENTS],
    },
    HostMemory {
        name: "zed",
        title: "Zed",
        user: &[],
        project: &[rules(".rules"), AGENTS],
    },
    HostMemory {
        name: "goose",
        title: "Goose",
        user: &[UserFolder::new(
            GOOSE_FOLDER,
            &[rules(".goosehints"), notes("memory/*.txt")],
        )],
        project: &[rules(".goosehints"), notes(".goose/memory/*.txt"), AGENTS],
    },
];

/// Returns the own memory of the host with that name, if there is one.
pub fn host_memory(name: &str) -> Option<&'static HostMemory> {
    HOST_MEMORIES.iter().find(|memory| memory.name == name)
}

impl HostMemory {
    /// Returns the own memory of the host in the folders of the user that are there.
    pub fn of_user(&self, machine: &Machine) -> Vec<MemoryPlace> {
        let mut places: Vec<MemoryPlace> = Vec::new();
        for UserFolder {
            folder,
            files,
            elsewhere,
        } in self.user
        {
            let path = machine.folder(folder);
            places.extend(place(&path, files));
            if let Some((settings, key)) = elsewhere {
                let named = named_folder(machine, &joined(&path, settings), key);
                places.extend(named.and_then(|named| place(&named, &[notes("**/*.md")])));
            }
        }
        places
    }

    /// Returns the own memory of the host in the folder of a project, which is there.
    pub fn of_project(&self, folder: &Path) -> MemoryPlace {
        let mut place = MemoryPlace {
            root: folder.to_owned(),
            ..MemoryPlace::default()
        };
        place.find(self.project);
        place
    }

    /// Returns the own memory of the host at a path, which is absolute and without links: the home
    /// folder stands for all folders of the user, and what lies in one of these or in the folder of a
    /// project for that part. A place may have no files.
    pub fn at(&self, machine: &Machine, path: &Path) -> Vec<MemoryPlace> {
        let home = machine.home.canonicalize().ok();
        let users = self.of_user(machine);
        if home.as_deref() == Some(path) {
            return users;
        }
        let within = |place: &MemoryPlace| path.starts_with(&place.root);
        let users: Vec<MemoryPlace> = users.into_iter().filter(within).collect();
        if !users.is_empty() {
            return users.into_iter().map(|place| place.below(path)).collect();
        }
        let folders = path.ancestors().take(ABOVE_MAX);
        let found = folders
            .take_while(|folder| home.as_deref() != Some(folder))
            .map(|folder| self.of_project(folder).below(path))
            .find(|found| !found.is_empty());
        let copied = self.copy_of_user(path);
        // The folder `.claude` of a project has other files than that of a user.
        let place = match (found, copied) {
            (Some(found), Some(copied)) if copied.files.len() > found.files.len() => copied,
            (Some(place), _) | (None, Some(place)) => place,
            (None, None) => MemoryPlace {
                root: path.to_owned(),
                ..MemoryPlace::default()
            },
        };
        vec![place]
    }

    /// Returns what a folder holds that has the name of one of the user's, e.g. in a backup.
    fn copy_of_user(&self, path: &Path) -> Option<MemoryPlace> {
        let is_named = |folder: &&UserFolder| {
            let Base::Home(usual) = folder.folder.linux else {
                return false;
            };
            path.file_name() == Path::new(usual).file_name()
        };
        let folder = self.user.iter().find(is_named)?;
        place(path, folder.files).filter(|place| !place.is_empty())
    }

    /// Says which files are looked for, for the message that there is none.
    pub fn looked_for(&self) -> String {
        let named = |files: &[Files]| {
            let paths: Vec<&str> = files.iter().map(|files| files.path).collect();
            paths.join(", ")
        };
        let mut text = format!("in a project {}", named(self.project));
        for UserFolder { folder, files, .. } in self.user {
            let (Base::Home(path) | Base::Config(path) | Base::Support(path) | Base::AppData(path)) =
                folder.linux;
            text += &format!("; in the user's folder {path} {}", named(files));
        }
        text
    }
}

/// Returns a folder of the user with its files; `None` if it is not there.
fn place(folder: &Path, files: &[Files]) -> Option<MemoryPlace> {
    let root = folder.canonicalize().ok().filter(|root| root.is_dir())?;
    let mut place = MemoryPlace {
        root,
        is_users: true,
        ..MemoryPlace::default()
    };
    place.find(files);
    Some(place)
}

/// Returns the folder that a key of the user's settings names; `~/` stands for the home folder.
fn named_folder(machine: &Machine, settings: &Path, key: &str) -> Option<PathBuf> {
    let metadata = fs::metadata(settings).ok()?;
    if !metadata.is_file() || metadata.len() > SETTINGS_BYTES_MAX {
        return None;
    }
    let value: Value = serde_json::from_slice(&fs::read(settings).ok()?).ok()?;
    let named = value[key].as_str()?;
    let path = match named.strip_prefix("~/") {
        Some(rest) => joined(&machine.home, rest),
        None => PathBuf::from(named),
    };
    path.is_absolute().then_some(path)
}

impl MemoryPlace {
    /// Returns true if there is no file.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.passed_over.is_empty()
    }

    /// Returns the part at or below a path.
    fn below(mut self, path: &Path) -> Self {
        self.files.retain(|file, _| file.starts_with(path));
        self.passed_over.retain(|(file, _)| file.starts_with(path));
        self
    }

    fn find(&mut self, files: &[Files]) {
        let root = self.root.clone();
        for Files { path, room } in files {
            let parts: Vec<&str> = path.split('/').collect();
            self.expand(&root, &parts, *room, None);
        }
        self.passed_over.sort_unstable();
        self.passed_over.dedup();
    }

    /// Adds the files below a folder that a pattern stands for. Links to folders are not followed.
    fn expand(&mut self, folder: &Path, parts: &[&str], room: MemoryRoom, project: Option<&Path>) {
        match parts {
            [] => {}
            [last] => match last.strip_prefix('*') {
                None => self.add(folder.join(last), room, project),
                Some(end) => {
                    for path in self.entries(folder) {
                        let name = path.file_name().and_then(|name| name.to_str());
                        if name.is_some_and(|name| name.ends_with(end)) {
                            self.add(path, room, project);
                        }
                    }
                }
            },
            ["**", rest @ ..] => {
                self.expand(folder, rest, room, project);
                for path in self
                    .entries(folder)
                    .into_iter()
                    .filter(|path| is_plain_folder(path))
                {
                    self.expand(&path, parts, room, project);
                }
            }
            ["*", rest @ ..] => {
                for path in self
                    .entries(folder)
                    .into_iter()
                    .filter(|path| is_plain_folder(path))
                {
                    self.expand(&path, rest, room, Some(&path));
                }
            }
            [name, rest @ ..] => {
                let path = folder.join(name);
                if is_plain_folder(&path) {
                    self.expand(&path, rest, room, project);
                }
            }
        }
    }

    /// Returns the entries of a folder that are not hidden; none if it is not there.
    fn entries(&mut self, folder: &Path) -> Vec<PathBuf> {
        let listed: io::Result<Vec<fs::DirEntry>> =
            fs::read_dir(folder).and_then(Iterator::collect);
        match listed {
            Ok(entries) => {
                let mut paths: Vec<PathBuf> = entries
                    .into_iter()
                    .filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."))
                    .map(|entry| entry.path())
                    .collect();
                paths.sort_unstable();
                paths
            }
            Err(error) => {
                if !is_gone(&error) {
                    self.passed_over
                        .push((folder.to_owned(), Unread::Unreadable));
                }
                Vec::new()
            }
        }
    }

    fn add(&mut self, path: PathBuf, room: MemoryRoom, project: Option<&Path>) {
        let Ok(metadata) = fs::symlink_metadata(&path) else {
            return;
        };
        let unread = if metadata.is_symlink() {
            Some(Unread::Link)
        } else if metadata.is_file() && path.to_str().is_some() {
            None
        } else if metadata.is_dir() {
            return;
        } else {
            Some(Unread::NotAFile)
        };
        if let Some(unread) = unread {
            return self.passed_over.push((path, unread));
        }
        match stamp(&path) {
            Ok(stamp) => {
                let project = project.map(Path::to_owned);
                let file = MemoryFile {
                    stamp,
                    room,
                    project,
                };
                self.files.entry(path).or_insert(file);
            }
            Err(_) => self.passed_over.push((path, Unread::Unreadable)),
        }
    }
}

fn is_plain_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}
