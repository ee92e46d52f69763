//! The hosts: programs such as Claude Code and Codex that run agents, and the hooks by which they
//! call loci.
//!
//! Each host has a module of its own with its data, a [`Host`], and a place in [`HOSTS`].
//! [`Connection`] adds loci to the MCP servers of a host and its instructions to the files that
//! agents read, and removes them; [`Hooks`] does this with the hooks. Every other byte of a file
//! stays. [`Input`] and [`Reply`] are the JSON that a host and a hook exchange. Nothing here prints
//! or reads the settings of loci.
//!
//! ```
//! use loci_hosts::{CODEX, HookOptions, Hooks, Program, Reach};
//!
//! let folder = tempfile::tempdir()?;
//! let file = folder.path().join("hooks.json");
//! let hooks = Hooks {
//!     host: &CODEX,
//!     file: &file,
//!     reach: Reach::Everywhere,
//!     program: Program { file_name: None, parse: |_| None },
//! };
//! let edited = hooks.install(&HookOptions {
//!     program: &["/usr/local/bin/loci".to_owned()],
//!     dialect: None,
//!     default_dialect: "mememory",
//!     is_shared: false,
//!     is_verbatim: false,
//! })?;
//! assert!(edited.has_changed);
//! let command = "/usr/local/bin/loci hook run --host codex --dialect mememory --event stop";
//! assert!(std::fs::read_to_string(&file)?.contains(command));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod change;
mod check;
mod command;
mod connection;
mod edit;
mod entry;
mod exchange;
mod form;
mod handler;
mod hooks;
mod host;
mod instructions;
mod known;
mod machine;
mod memories;
mod module;
mod observed;
mod own_plugin;
mod place;
#[cfg(test)]
mod plugins;
mod settings_file;
mod shell;

pub use change::Change;
pub use command::{HookRun, Program, build_folder, program_words};
pub use connection::{ConnectError, Connection, token_advice};
pub use edit::{EditError, EditResult};
pub use entry::{OwnEntry, Target};
pub use exchange::{Input, Reply};
pub use form::{Form, Slot};
pub use hooks::{HookOptions, Hooks};
pub use host::{
    Event, HookCommand, HookFile, HookForm, HookReply, Host, Http, Instructions, List, OwnPlugin,
    PluginMark, Scope, Servers, TOKEN_VARIABLE,
};
pub use instructions::{InstructionBlock, without_block};
pub use known::{
    CLAUDE_CODE, CLAUDE_DESKTOP, CLINE, CODEX, CURSOR, GEMINI_CLI, GOOSE, OPENCODE, VSCODE,
    WINDSURF, ZED,
};
pub use machine::{Base, Folder, Machine, System};
pub use memories::{HOST_MEMORIES, HostMemory, MemoryFile, MemoryPlace, MemoryRoom, host_memory};
pub use observed::{FileChange, FileObserver, observe_file_changes};
pub use place::{Leftover, Reach, leftovers, sweep, work_tree};
pub use settings_file::{read_file, remove_file, replace_file};
pub use shell::quoted;

/// Every host that loci knows, in the order of the documentation.
pub static HOSTS: [&Host; 11] = [
    &CLAUDE_CODE,
    &CLAUDE_DESKTOP,
    &CODEX,
    &CURSOR,
    &VSCODE,
    &GEMINI_CLI,
    &OPENCODE,
    &ZED,
    &WINDSURF,
    &CLINE,
    &GOOSE,
];

/// Returns the hosts into which loci installs hooks, in the same order.
pub fn hosts_with_hooks() -> impl Iterator<Item = &'static Host> {
    HOSTS.into_iter().filter(|host| host.hooks.is_some())
}

/// Returns the host with that name, if there is one.
pub fn host(name: &str) -> Option<&'static Host> {
    HOSTS.into_iter().find(|host| host.name == name)
}

/// Returns the host that a program is which presents itself by that name, or whose hook names it so.
pub fn of_client(name: &str) -> Option<&'static Host> {
    host(name).or_else(|| HOSTS.into_iter().find(|host| host.is_client(name)))
}

#[cfg(test)]
mod tests {
    use loci_core::limits::SESSION_START_HOSTS;

    use super::*;

    #[test]
    fn every_host_has_a_limit_for_the_start_of_a_session() {
        let names: Vec<_> = hosts_with_hooks().map(|host| host.name).collect();
        assert_eq!(names, SESSION_START_HOSTS.map(|(name, _)| name));
    }

    #[test]
    fn clients_are_told_apart_by_the_names_that_they_give() {
        for (name, expected) in [
            ("claude-code", Some("claude-code")),
            ("claude-ai", Some("claude-desktop")),
            ("codex-mcp-client", Some("codex")),
            ("cursor-vscode", Some("cursor")),
            ("Visual Studio Code - Insiders", Some("vscode")),
            ("gemini-cli-mcp-client", Some("gemini-cli")),
            ("gemini-cli-mcp-client-loci", Some("gemini-cli")),
            ("opencode", Some("opencode")),
            ("Zed", Some("zed")),
            ("inspector", None),
            ("", None),
        ] {
            let named: Vec<_> = HOSTS.iter().filter(|host| host.is_client(name)).collect();
            let named: Vec<_> = named.into_iter().map(|host| host.name).collect();
            assert_eq!(named, Vec::from_iter(expected), "{name}");
            assert_eq!(of_client(name).map(|host| host.name), expected, "{name}");
        }
    }

    #[test]
    fn names_lead_back_to_hosts() {
        for one in HOSTS {
            assert_eq!(host(one.name).unwrap().name, one.name);
        }
        assert!(host("none").is_none());
    }
}
