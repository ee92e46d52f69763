//! Claude Code, of Anthropic.

use crate::host::{Event, Host};

/// The data of Claude Code.
pub static CLAUDE_CODE: Host = Host {
    name: "claude-code",
    folder_variable: "CLAUDE_CONFIG_DIR",
    folder: ".claude",
    file: "settings.json",
    events: &[
        ("SessionStart", Event::SessionStart),
        ("Stop", Event::Stop),
        ("PreCompact", Event::PreCompact),
        ("SessionEnd", Event::SessionEnd),
    ],
    advice: None,
};
