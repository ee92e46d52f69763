//! Cursor, of Anysphere.

use data_encoding::BASE64;
use serde_json::{Value, json};

use crate::entry;
use crate::form::Form;
use crate::host::{
    Event, HookCommand, HookFile, HookForm, HookReply, Host, Http, Instructions, Servers,
};
use crate::machine::Folder;

/// The data of Cursor.
pub static CURSOR: Host = Host {
    name: "cursor",
    title: "Cursor",
    client: "cursor",
    folder: Folder::home(".cursor"),
    programs: &["cursor", "cursor-agent"],
    servers: Servers {
        form: Form::Json,
        key: "mcpServers",
        folder: None,
        file_variable: None,
        user: &["mcp.json"],
        project: &[".cursor/mcp.json"],
        stdio: entry::command_and_args,
        http: Http::Variable(
            |_, url| json!({"url": url, "headers": {"Authorization": "Bearer ${env:LOCI_TOKEN}"}}),
        ),
    },
    // The user's rules are in its settings, not in a file.
    instructions: Instructions {
        user: None,
        project: Some("AGENTS.md"),
    },
    // Its hook of a prompt cannot tell the agent anything, and no hook reads its transcripts.
    hooks: Some(HookFile {
        file: "hooks.json",
        form: HookForm::Entries,
        events: &[("sessionStart", Event::SessionStart)],
        command: HookCommand::Line,
        timeout_units: 1,
        has_async: false,
        reply: HookReply::Alone,
        advice: None,
    }),
    // Where it notes its plug-ins is not documented.
    plugin: None,
    list: None,
    advice: "switch loci on in the settings of Cursor, under MCP, if it is off there",
    link: Some(link),
};

fn link(name: &str, entry: &Value) -> String {
    let config = entry::query_value(&BASE64.encode(entry.to_string().as_bytes()));
    let name = entry::query_value(name);
    format!("cursor://anysphere.cursor-deeplink/mcp/install?name={name}&config={config}")
}
