//! Claude Desktop, of Anthropic.

use crate::entry;
use crate::form::Form;
use crate::host::{Host, Http, Instructions, Servers};
use crate::machine::{Base, Folder};

/// The data of Claude Desktop.
pub static CLAUDE_DESKTOP: Host = Host {
    name: "claude-desktop",
    title: "Claude Desktop",
    client: "claude-ai",
    folder: Folder {
        variable: None,
        linux: Base::Config("Claude"),
        macos: Base::Support("Claude"),
        windows: Base::AppData("Claude"),
    },
    programs: &[],
    servers: Servers {
        form: Form::Json,
        key: "mcpServers",
        folder: None,
        file_variable: None,
        user: &["claude_desktop_config.json"],
        project: &[],
        stdio: entry::command_and_args,
        http: Http::Unsupported(
            "its file lists local servers alone; add the URL in its settings, under Connectors",
        ),
    },
    instructions: Instructions {
        user: None,
        project: None,
    },
    hooks: None,
    plugin: None,
    list: None,
    advice: "restart Claude Desktop, so that it reads its servers",
    link: None,
};
