//! The hosts: programs such as Claude Code and Codex that run agents, and the hooks by which they
//! call loci.
//!
//! Each host has a module of its own with its data, a [`Host`], and a place in [`HOSTS`]. [`Hooks`]
//! adds the hooks of loci to the settings of a host and removes them; every other byte of the file
//! stays. [`Input`] and [`Reply`] are the JSON that a host and a hook exchange. Nothing here prints
//! or reads the settings of loci.
//!
//! ```
//! use loci_hosts::{CODEX, HookOptions, Hooks, Program};
//!
//! let folder = tempfile::tempdir()?;
//! let file = folder.path().join("hooks.json");
//! let hooks = Hooks {
//!     host: &CODEX,
//!     file: &file,
//!     program: Program { file_name: None, parse: |_| None },
//! };
//! let edited = hooks.install(&HookOptions {
//!     command: "/usr/local/bin/loci",
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

mod claude_code;
mod codex;
mod command;
mod exchange;
mod hooks;
mod host;
mod settings_file;
mod shell;

pub use claude_code::CLAUDE_CODE;
pub use codex::CODEX;
pub use command::{HookRun, Program, build_folder, shell_command};
pub use exchange::{Input, Reply};
pub use hooks::{HookOptions, Hooks};
pub use host::{Event, Host};
pub use settings_file::{EditError, Edited, replace_file};

/// Every host whose hooks loci knows, in the order of the documentation.
pub static HOSTS: [&Host; 2] = [&CLAUDE_CODE, &CODEX];

/// Returns the host with that name; `None` if there is none.
pub fn host(name: &str) -> Option<&'static Host> {
    HOSTS.into_iter().find(|host| host.name == name)
}

#[cfg(test)]
mod tests {
    use loci_core::limits::SESSION_START_HOSTS;

    use super::*;

    #[test]
    fn every_host_has_a_limit_for_the_start_of_a_session() {
        assert_eq!(
            HOSTS.map(|host| host.name),
            SESSION_START_HOSTS.map(|(name, _)| name)
        );
    }

    #[test]
    fn names_lead_back_to_hosts() {
        for one in HOSTS {
            assert_eq!(host(one.name).unwrap().name, one.name);
        }
        assert!(host("none").is_none());
    }
}
