//! Claude Code, of Anthropic.

use serde_json::json;

use crate::form::Form;
use crate::host::{
    EVENTS_OF_CLAUDE_CODE, HookCommand, HookFile, HookForm, HookReply, Host, Http, Instructions,
    List, OwnPlugin, PluginMark, Servers,
};
use crate::machine::Folder;

/// The data of Claude Code.
pub static CLAUDE_CODE: Host = Host {
    name: "claude-code",
    title: "Claude Code",
    client: "claude-code",
    folder: Folder::home(".claude").or_variable("CLAUDE_CONFIG_DIR"),
    programs: &["claude"],
    servers: Servers {
        form: Form::Json,
        key: "mcpServers",
        folder: Some(Folder::home("").or_variable("CLAUDE_CONFIG_DIR")),
        file_variable: None,
        user: &[".claude.json"],
        project: &[".mcp.json"],
        // It holds tools back until the model looks for them, unless a server is always loaded.
        stdio: |_, program, arguments| json!({"type": "stdio", "command": program, "args": arguments, "alwaysLoad": true}),
        http: Http::Variable(|_, url| {
            json!({
                "type": "http",
                "url": url,
                "headers": {"Authorization": "Bearer ${LOCI_TOKEN}"},
                "alwaysLoad": true,
            })
        }),
    },
    instructions: Instructions {
        user: Some("CLAUDE.md"),
        project: Some("CLAUDE.md"),
    },
    hooks: Some(HookFile {
        file: "settings.json",
        form: HookForm::Groups,
        events: EVENTS_OF_CLAUDE_CODE,
        command: HookCommand::Words,
        timeout_units: 1,
        has_async: true,
        reply: HookReply::OfEvent,
        advice: None,
    }),
    plugin: Some(OwnPlugin {
        mark: PluginMark::entry("settings.json", Form::Json, "enabledPlugins"),
        removal: "claude plugin uninstall loci@loci",
    }),
    list: Some(List {
        program: "claude",
        arguments: &["mcp", "list"],
        word: "Connected",
        connects: true,
    }),
    advice: "sessions of Claude Code that start from now on have loci",
    link: None,
};
