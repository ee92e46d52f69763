//! Codex, of OpenAI. Its file of hooks has the form of the settings of Claude Code.

use serde_json::json;

use crate::entry;
use crate::form::Form;
use crate::host::{
    EVENTS_OF_CLAUDE_CODE, HookCommand, HookFile, HookForm, HookReply, Host, Http, Instructions,
    List, OwnPlugin, PluginMark, Servers, TOKEN_VARIABLE,
};
use crate::machine::Folder;

/// The data of Codex.
pub static CODEX: Host = Host {
    name: "codex",
    title: "Codex",
    client: "codex",
    folder: Folder::home(".codex").or_variable("CODEX_HOME"),
    programs: &["codex"],
    servers: Servers {
        form: Form::Toml,
        key: "mcp_servers",
        folder: None,
        file_variable: None,
        user: &["config.toml"],
        project: &[".codex/config.toml"],
        stdio: entry::command_and_args,
        http: Http::Variable(|_, url| json!({"url": url, "bearer_token_env_var": TOKEN_VARIABLE})),
    },
    instructions: Instructions {
        user: Some("AGENTS.md"),
        project: Some("AGENTS.md"),
    },
    hooks: Some(HookFile {
        file: "hooks.json",
        form: HookForm::Groups,
        events: EVENTS_OF_CLAUDE_CODE,
        command: HookCommand::Line,
        timeout_units: 1,
        has_async: false,
        reply: HookReply::OfEvent,
        advice: Some(
            "Codex runs new or changed hooks only after you have trusted them: review them with /hooks in Codex",
        ),
    }),
    plugin: Some(OwnPlugin {
        mark: PluginMark::entry("config.toml", Form::Toml, "plugins"),
        removal: "codex plugin remove loci@loci",
    }),
    list: Some(List {
        program: "codex",
        arguments: &["mcp", "list"],
        word: "enabled",
        connects: false,
    }),
    advice: "sessions of Codex that start from now on have loci; it reads the file of a project only if you trust the project",
    link: None,
};
