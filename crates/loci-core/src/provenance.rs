//! Where the words of a memory come from.

use crate::names::names;
use crate::{Citation, CitationKind};

/// The speakers of imported conversations that denote the output of a tool.
const TOOL_SPEAKERS: [&str; 4] = ["tool", "function", "tool result", "tool output"];
/// The ones that denote the person.
const USER_SPEAKERS: [&str; 2] = ["user", "human"];
/// The ones that denote the agent, or the program around it.
const AGENT_SPEAKERS: [&str; 4] = ["assistant", "ai", "system", "developer"];

/// Who said what a memory says. The order is that of trust, the most trusted first: what is made
/// from several sources has the trust of the [least](SaidBy::least) of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum SaidBy {
    /// The user: typed on the page or the command line, or a person's message in a conversation
    /// with an agent.
    User,
    /// An agent: its conclusion, which it stored with a tool, or its message in a conversation.
    Agent,
    /// It is not known, because the memory is from before this was noted.
    #[default]
    Unknown,
    /// Another memory system, whose memories were imported.
    Import,
    /// A file: of a project, a note that was edited in its folder, or a text that an agent filed as
    /// the content of a file.
    File,
    /// A tool that an agent ran: its output in a conversation.
    Tool,
    /// The web: an agent stored it with the address of a page as its source.
    Web,
}

names! {
    /// All of them, the most trusted first.
    SaidBy, "in replies and stores" {
        User = "user",
        Agent = "agent",
        Unknown = "unknown",
        Import = "import",
        File = "file",
        Tool = "tool",
        Web = "web",
    }
}

impl SaidBy {
    /// Returns the less trusted of two: that of what is made from both.
    #[must_use]
    pub fn least(self, other: Self) -> Self {
        self.max(other)
    }

    /// Returns who said what rests on these sources: a page of the web is less trusted than who cites
    /// it. A file or a commit is cited so that a person can look it up, and changes nothing.
    #[must_use]
    pub fn citing(self, citations: &[Citation]) -> Self {
        let of_web = |citation: &Citation| citation.kind == CitationKind::Url;
        if citations.iter().any(of_web) {
            self.least(SaidBy::Web)
        } else {
            self
        }
    }

    /// Returns who said a message by the name of its speaker in a transcript. Any other
    /// name is of a person in a file.
    pub fn of_speaker(name: &str) -> Self {
        let is_one_of = |names: &[&str]| names.iter().any(|other| name.eq_ignore_ascii_case(other));
        if is_one_of(&TOOL_SPEAKERS) {
            SaidBy::Tool
        } else if is_one_of(&USER_SPEAKERS) {
            SaidBy::User
        } else if is_one_of(&AGENT_SPEAKERS) {
            SaidBy::Agent
        } else {
            SaidBy::File
        }
    }
}

/// Where the words of a memory come from.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Provenance {
    /// Who said them: the least trusted of all who had a part in the current text. For a memory from
    /// before this was noted, [`Memory::said_by`](crate::Memory::said_by) knows more.
    pub said_by: SaidBy,
    /// The program that filed the memory, as [`AuditEntry::client`](crate::AuditEntry::client) names
    /// it; `None` if it gave no name, or the memory is from before this was noted.
    pub program: Option<String>,
    /// The session of that program, as [`Caller::session`](crate::Caller::session) names it.
    pub session: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_is_the_least_of_the_sources() {
        let rows = [
            (SaidBy::User, SaidBy::User, SaidBy::User),
            (SaidBy::User, SaidBy::Agent, SaidBy::Agent),
            (SaidBy::Tool, SaidBy::Agent, SaidBy::Tool),
            (SaidBy::Unknown, SaidBy::User, SaidBy::Unknown),
            (SaidBy::Unknown, SaidBy::Web, SaidBy::Web),
        ];
        for (one, other, expected) in rows {
            assert_eq!(
                (one.least(other), other.least(one)),
                (expected, expected),
                "{one:?} {other:?}"
            );
        }
        let citing = |kind| {
            let reference = "x".to_owned();
            SaidBy::Agent.citing(&[Citation {
                kind,
                reference,
                locator: None,
                pin: None,
                excerpt: None,
            }])
        };
        assert_eq!(citing(CitationKind::Url), SaidBy::Web);
        assert_eq!(citing(CitationKind::File), SaidBy::Agent);
    }

    #[test]
    fn a_speaker_is_known_by_its_name() {
        for (name, expected) in [
            ("Tool", SaidBy::Tool),
            ("tool result", SaidBy::Tool),
            ("user", SaidBy::User),
            ("Human", SaidBy::User),
            ("assistant", SaidBy::Agent),
            ("system", SaidBy::Agent),
            ("ann", SaidBy::File),
            ("", SaidBy::File),
        ] {
            assert_eq!(SaidBy::of_speaker(name), expected, "{name}");
        }
    }
}
