//! The form of the data of a host.

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::form::{Form, Slot};
use crate::machine::{Folder, Machine, joined};

/// The environment variable from which hosts take the token for a server over HTTP.
pub const TOKEN_VARIABLE: &str = "LOCI_TOKEN";

/// A program that runs agents.
#[derive(Debug)]
pub struct Host {
    /// The name of the host in the command line of loci.
    pub name: &'static str,
    /// The name that its makers give it.
    pub title: &'static str,
    /// The beginning, in lower case, of the name by which it presents itself to a server
    /// (`clientInfo.name`).
    pub client: &'static str,
    /// The folder of its settings.
    pub folder: Folder,
    /// The programs that it brings, by which it is found on the path.
    pub programs: &'static [&'static str],
    /// Its MCP servers.
    pub servers: Servers,
    /// The files in which its agents read instructions.
    pub instructions: Instructions,
    /// Its hooks, if it has any that call loci.
    pub hooks: Option<HookFile>,
    /// The plug-in of loci for it, if there is one whose mark is known.
    pub plugin: Option<OwnPlugin>,
    /// Its own command that lists MCP servers.
    pub list: Option<List>,
    /// The advice for a user whose connection has changed.
    pub advice: &'static str,
    /// Makes the link that installs a server of that name with that entry.
    pub link: Option<fn(name: &str, entry: &Value) -> String>,
}

/// The MCP servers in the settings of a host.
#[derive(Debug)]
pub struct Servers {
    /// The form of the files.
    pub form: Form,
    /// The key under which the file has an entry for each server, by name.
    pub key: &'static str,
    /// The folder of the user's file, if it is not the folder of the settings.
    pub folder: Option<Folder>,
    /// The environment variable that names the user's file by its absolute path, if there is one.
    pub file_variable: Option<&'static str>,
    /// The names of the user's file, in the order in which the host prefers them. The first is made
    /// if all are missing.
    pub user: &'static [&'static str],
    /// The paths of a project's file in the folder of the project, in the same order; empty if
    /// projects have none.
    pub project: &'static [&'static str],
    /// Makes the entry of a server that the host starts.
    pub stdio: fn(name: &str, program: &str, arguments: &[String]) -> Value,
    /// The entry of a server over HTTP.
    pub http: Http,
}

/// The way in which a host connects to a server over HTTP.
#[derive(Debug, Clone, Copy)]
pub enum Http {
    /// The host takes the token from [`TOKEN_VARIABLE`]. The function makes the entry.
    Variable(fn(name: &str, url: &str) -> Value),
    /// The host keeps the token itself in its file. The function makes the entry, with a word in
    /// the place of the token.
    Written(fn(name: &str, url: &str) -> Value),
    /// The host knows no servers over HTTP in its files, for this reason.
    Unsupported(&'static str),
}

/// The files in which the agents of a host read instructions.
#[derive(Debug, Clone, Copy)]
pub struct Instructions {
    /// The user's file in the folder of settings.
    pub user: Option<&'static str>,
    /// A project's file in the folder of the project.
    pub project: Option<&'static str>,
}

/// The events of hosts that name them as Claude Code does.
pub(crate) const EVENTS_OF_CLAUDE_CODE: &[(&str, Event)] = &[
    ("SessionStart", Event::SessionStart),
    ("UserPromptSubmit", Event::Prompt),
    ("Stop", Event::Stop),
    ("PreCompact", Event::PreCompact),
    ("PostCompact", Event::PostCompact),
    ("SessionEnd", Event::SessionEnd),
];

/// The file of hooks of a host.
#[derive(Debug, Clone, Copy)]
pub struct HookFile {
    /// The path of the file in the folder of settings.
    pub file: &'static str,
    /// The form of the file.
    pub form: HookForm,
    /// The events at which the host calls loci, each with the host's own name for it.
    pub events: &'static [(&'static str, Event)],
    /// The form of the command of a hook.
    pub command: HookCommand,
    /// The units of the timeout of a hook in a second: 1, or 1,000 for milliseconds.
    pub timeout_units: u64,
    /// True if the host goes on at once after it has started a hook that is marked `async`.
    pub has_async: bool,
    /// The form of a reply with a text for the agent.
    pub reply: HookReply,
    /// The advice for a user whose hooks have changed.
    pub advice: Option<&'static str>,
}

/// The form of a file of hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookForm {
    /// Settings in JSON. The key `hooks` holds for each event a list of groups, and each group a
    /// list of entries.
    Groups,
    /// Settings in JSON. The key `hooks` holds for each event a list of entries, and `version` is
    /// the version of the form, 1.
    Entries,
    /// A module in JavaScript that only loci writes: its text, with an empty list of the words of
    /// the command.
    Module(&'static str),
}

/// The form in which a host takes a text for the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookReply {
    /// An object that names the event holds the text.
    OfEvent,
    /// Only the text, under a key of its own.
    Alone,
}

/// The form in which a host takes the command of a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookCommand {
    /// A program and its arguments, which the host starts without a shell.
    Words,
    /// A line for a shell.
    Line,
    /// A line for a shell, which is PowerShell on Windows.
    LineOfPowerShell,
}

/// The way in which the plug-in of loci comes into a host.
#[derive(Debug, Clone, Copy)]
pub struct OwnPlugin {
    /// The mark of a plug-in that is there.
    pub mark: PluginMark,
    /// The command of the host that takes it out.
    pub removal: &'static str,
}

/// The mark of a plug-in that is in a host.
#[derive(Debug, Clone, Copy)]
pub enum PluginMark {
    /// An entry in a file of the folder of settings.
    Entry {
        /// The path of the file in that folder.
        file: &'static str,
        /// The key of the plug-ins.
        slot: Slot<'static>,
    },
    /// A folder in the folder of settings.
    Folder(&'static str),
}

impl PluginMark {
    /// Returns the mark of the plug-in `loci` of the marketplace `loci`.
    pub(crate) const fn entry(file: &'static str, form: Form, key: &'static str) -> Self {
        let name = "loci@loci";
        PluginMark::Entry {
            file,
            slot: Slot { form, key, name },
        }
    }
}

/// The command of a host that lists its MCP servers, a line for each.
#[derive(Debug, Clone, Copy)]
pub struct List {
    /// The name of the program, which is on the path.
    pub program: &'static str,
    /// The arguments.
    pub arguments: &'static [&'static str],
    /// The word in the line of a server that is in order.
    pub word: &'static str,
    /// True if the host connects to the servers before it lists them.
    pub connects: bool,
}

/// The extent of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Every session of the user.
    User,
    /// The sessions in one project.
    Project,
}

impl Scope {
    /// Every scope.
    pub const ALL: [Scope; 2] = [Scope::User, Scope::Project];

    /// Returns the name of the scope in the command line of loci.
    pub const fn name(self) -> &'static str {
        match self {
            Scope::User => "user",
            Scope::Project => "project",
        }
    }

    /// Returns the scope with that name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Scope::ALL.into_iter().find(|scope| scope.name() == name)
    }
}

impl Host {
    /// Returns true if a client that presents itself by that name is this host.
    pub fn is_client(&self, name: &str) -> bool {
        name.to_lowercase().starts_with(self.client)
    }

    /// Returns true if the host seems to be installed: its folder or its file of servers is there,
    /// or one of its programs is on the path.
    pub fn is_installed(&self, machine: &Machine) -> bool {
        machine.folder(&self.folder).is_dir()
            || self
                .servers_file(machine, Scope::User, Path::new(""))
                .is_some_and(|file| file.is_file())
            || self
                .programs
                .iter()
                .any(|name| machine.program(name).is_some())
    }

    /// Returns the file of MCP servers; `None` if the host has none in that scope. Of several
    /// names, it is the first file that is there.
    pub fn servers_file(&self, machine: &Machine, scope: Scope, project: &Path) -> Option<PathBuf> {
        let (folder, names) = match scope {
            Scope::User => {
                let variable = self.servers.file_variable;
                if let Some(file) = variable.and_then(|name| machine.path_in(name)) {
                    return Some(file);
                }
                let folder = self.servers.folder.as_ref().unwrap_or(&self.folder);
                (machine.folder(folder), self.servers.user)
            }
            Scope::Project => (project.to_owned(), self.servers.project),
        };
        let mut files = names.iter().map(|name| joined(&folder, name));
        let first = files.next()?;
        if first.exists() {
            return Some(first);
        }
        Some(files.find(|file| file.exists()).unwrap_or(first))
    }

    /// Returns the file of instructions; `None` if the host has none in that scope.
    pub fn instructions_file(
        &self,
        machine: &Machine,
        scope: Scope,
        project: &Path,
    ) -> Option<PathBuf> {
        match scope {
            Scope::User => {
                let name = self.instructions.user?;
                Some(joined(&machine.folder(&self.folder), name))
            }
            Scope::Project => Some(joined(project, self.instructions.project?)),
        }
    }

    /// Returns the file in which the host keeps its hooks on this machine; `None` if it has no hooks,
    /// or there is no home folder.
    pub fn hooks_file(&self) -> Option<PathBuf> {
        self.hooks_file_on(&Machine::here()?)
    }

    /// Returns the file in which the host keeps its hooks; `None` if it has no hooks.
    pub fn hooks_file_on(&self, machine: &Machine) -> Option<PathBuf> {
        Some(joined(&machine.folder(&self.folder), self.hooks?.file))
    }

    /// Returns the events at which the host calls loci; none if it has no hooks.
    pub(crate) fn events(&self) -> &'static [(&'static str, Event)] {
        self.hooks.map_or(&[], |hooks| hooks.events)
    }
}
/// An event in the session of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The session starts.
    SessionStart,
    /// The agent gets a prompt, from the user or from the host.
    Prompt,
    /// The agent has answered.
    Stop,
    /// The host is about to shorten the conversation that the agent sees.
    PreCompact,
    /// The host has shortened that conversation to a summary.
    PostCompact,
    /// The session has ended. The transcript is complete then, with text that came too late for
    /// [`Stop`](Event::Stop) or after an interrupt.
    SessionEnd,
}

impl Event {
    /// Every event.
    pub const ALL: [Event; 6] = [
        Event::SessionStart,
        Event::Prompt,
        Event::Stop,
        Event::PreCompact,
        Event::PostCompact,
        Event::SessionEnd,
    ];

    /// Returns the name of the event in the command line of loci.
    pub const fn name(self) -> &'static str {
        match self {
            Event::SessionStart => "session-start",
            Event::Prompt => "prompt",
            Event::Stop => "stop",
            Event::PreCompact => "pre-compact",
            Event::PostCompact => "post-compact",
            Event::SessionEnd => "session-end",
        }
    }

    /// Returns true if the host has to wait for the hook: it may reply, or nothing else does its
    /// work. Claude Code ends the hooks that it does not wait for when the session ends; what that
    /// of [`PreCompact`](Event::PreCompact) has not saved then, later events save.
    pub(crate) const fn is_waited_for(self) -> bool {
        match self {
            Event::PreCompact => false,
            Event::SessionStart
            | Event::Prompt
            | Event::Stop
            | Event::PostCompact
            | Event::SessionEnd => true,
        }
    }

    /// Returns the seconds after which a host gives up on the hook. The user waits at a prompt.
    pub(crate) const fn timeout_seconds(self) -> u64 {
        match self {
            Event::Prompt => 5,
            Event::SessionStart
            | Event::Stop
            | Event::PreCompact
            | Event::PostCompact
            | Event::SessionEnd => 10,
        }
    }

    /// Returns the event with that name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Event::ALL.into_iter().find(|event| event.name() == name)
    }
}

impl fmt::Display for Event {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_events() {
        for event in Event::ALL {
            assert_eq!(Event::from_name(event.name()), Some(event));
        }
        assert_eq!(Event::from_name("dinner"), None);
    }
}
