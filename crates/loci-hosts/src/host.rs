//! The form of the data of a host.

use std::fmt;
use std::path::PathBuf;

/// A program that runs agents and calls loci at the events of their sessions. Its file of hooks has
/// the form that [`Hooks`](crate::Hooks) edits.
#[derive(Debug)]
pub struct Host {
    /// The name of the host in the command line of loci.
    pub name: &'static str,
    /// The environment variable with the folder of its settings.
    pub folder_variable: &'static str,
    /// The folder of its settings in the home folder, for a variable that is not set.
    pub folder: &'static str,
    /// The name of the file of hooks in that folder.
    pub file: &'static str,
    /// The events at which it calls loci, each with the host's own name for it.
    pub events: &'static [(&'static str, Event)],
    /// The advice for a user whose hooks have changed.
    pub advice: Option<&'static str>,
}

impl Host {
    /// Returns the file in which the host keeps its hooks; `None` if there is no home folder.
    pub fn hooks_file(&self) -> Option<PathBuf> {
        let home = || directories::BaseDirs::new().map(|dirs| dirs.home_dir().join(self.folder));
        let folder = std::env::var_os(self.folder_variable)
            .filter(|path| !path.is_empty())
            .map(PathBuf::from)
            .or_else(home);
        folder.map(|folder| folder.join(self.file))
    }
}

/// An event in the session of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The session begins.
    SessionStart,
    /// The agent has answered.
    Stop,
    /// The host is about to shorten the conversation that the agent sees.
    PreCompact,
    /// The session has ended. The transcript is complete then, with text that came too late for
    /// [`Stop`](Event::Stop) or after an interrupt.
    SessionEnd,
}

impl Event {
    /// Every event.
    pub const ALL: [Event; 4] = [
        Event::SessionStart,
        Event::Stop,
        Event::PreCompact,
        Event::SessionEnd,
    ];

    /// Returns the name of the event in the command line of loci.
    pub const fn name(self) -> &'static str {
        match self {
            Event::SessionStart => "session-start",
            Event::Stop => "stop",
            Event::PreCompact => "pre-compact",
            Event::SessionEnd => "session-end",
        }
    }

    /// Returns the event with that name; `None` if there is none.
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
