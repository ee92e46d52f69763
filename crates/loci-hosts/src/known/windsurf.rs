//! Windsurf, of Cognition.

use serde_json::json;

use crate::entry;
use crate::form::Form;
use crate::host::{Host, Http, Instructions, Servers};
use crate::machine::Folder;

/// The data of Windsurf.
pub static WINDSURF: Host = Host {
    name: "windsurf",
    title: "Windsurf",
    client: "windsurf",
    folder: Folder::home(".codeium/windsurf"),
    programs: &["windsurf"],
    servers: Servers {
        form: Form::Json,
        key: "mcpServers",
        folder: None,
        file_variable: None,
        user: &["mcp_config.json"],
        project: &[],
        stdio: entry::command_and_args,
        http: Http::Variable(
            |_, url| json!({"serverUrl": url, "headers": {"Authorization": "Bearer ${env:LOCI_TOKEN}"}}),
        ),
    },
    instructions: Instructions {
        user: Some("memories/global_rules.md"),
        project: Some("AGENTS.md"),
    },
    hooks: None,
    plugin: None,
    list: None,
    advice: "refresh the MCP servers in Windsurf, or restart it",
    link: None,
};
