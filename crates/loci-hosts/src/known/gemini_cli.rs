//! Gemini CLI, of Google.

use serde_json::json;

use crate::entry;
use crate::form::Form;
use crate::host::{
    Event, HookCommand, HookFile, HookForm, HookReply, Host, Http, Instructions, List, OwnPlugin,
    PluginMark, Servers,
};
use crate::machine::Folder;

/// The events of Gemini CLI. It names no summary that takes the place of a conversation.
const EVENTS: &[(&str, Event)] = &[
    ("SessionStart", Event::SessionStart),
    ("BeforeAgent", Event::Prompt),
    ("AfterAgent", Event::Stop),
    ("PreCompress", Event::PreCompact),
    ("SessionEnd", Event::SessionEnd),
];

/// The data of Gemini CLI.
pub static GEMINI_CLI: Host = Host {
    name: "gemini-cli",
    title: "Gemini CLI",
    client: "gemini-cli",
    folder: Folder::home(".gemini"),
    programs: &["gemini"],
    servers: Servers {
        form: Form::Json,
        key: "mcpServers",
        folder: None,
        file_variable: None,
        user: &["settings.json"],
        project: &[".gemini/settings.json"],
        stdio: entry::command_and_args,
        http: Http::Variable(
            |_, url| json!({"httpUrl": url, "headers": {"Authorization": "Bearer $LOCI_TOKEN"}}),
        ),
    },
    instructions: Instructions {
        user: Some("GEMINI.md"),
        project: Some("GEMINI.md"),
    },
    hooks: Some(HookFile {
        file: "settings.json",
        form: HookForm::Groups,
        events: EVENTS,
        command: HookCommand::LineOfPowerShell,
        timeout_units: 1_000,
        has_async: false,
        reply: HookReply::OfEvent,
        advice: None,
    }),
    plugin: Some(OwnPlugin {
        mark: PluginMark::Folder("extensions/loci"),
        removal: "gemini extensions uninstall loci",
    }),
    list: Some(List {
        program: "gemini",
        arguments: &["mcp", "list"],
        word: "Connected",
        connects: true,
    }),
    advice: "sessions of Gemini CLI that start from now on have loci; it connects servers only in folders that you trust",
    link: None,
};
