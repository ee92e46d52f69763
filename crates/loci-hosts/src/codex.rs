//! Codex, of OpenAI. Its file of hooks has the form of the settings of Claude Code.

use crate::host::{Event, Host};

/// The data of Codex.
pub static CODEX: Host = Host {
    name: "codex",
    folder_variable: "CODEX_HOME",
    folder: ".codex",
    file: "hooks.json",
    events: &[
        ("SessionStart", Event::SessionStart),
        ("Stop", Event::Stop),
        ("PreCompact", Event::PreCompact),
        ("SessionEnd", Event::SessionEnd),
    ],
    advice: Some(
        "Codex runs new or changed hooks only after you have trusted them: review them with /hooks in Codex",
    ),
};
