//! opencode, of Anomaly.

use serde_json::{Value, json};

use crate::form::Form;
use crate::host::{
    Event, HookCommand, HookFile, HookForm, HookReply, Host, Http, Instructions, List, Servers,
};
use crate::machine::{Base, Folder};

/// The data of opencode.
pub static OPENCODE: Host = Host {
    name: "opencode",
    title: "opencode",
    client: "opencode",
    folder: Folder {
        variable: Some("OPENCODE_CONFIG_DIR"),
        linux: Base::Config("opencode"),
        macos: Base::Config("opencode"),
        windows: Base::Config("opencode"),
    },
    programs: &["opencode"],
    servers: Servers {
        form: Form::Json,
        key: "mcp",
        folder: None,
        // It comes after all other files of the user.
        file_variable: Some("OPENCODE_CONFIG"),
        // Of both files, opencode lets the one with comments win.
        user: &["opencode.jsonc", "opencode.json"],
        project: &["opencode.jsonc", "opencode.json"],
        stdio: |_, program, arguments| {
            let words: Vec<Value> = std::iter::once(program)
                .chain(arguments.iter().map(String::as_str))
                .map(Value::from)
                .collect();
            json!({"type": "local", "command": words, "enabled": true})
        },
        http: Http::Variable(|_, url| {
            json!({
                "type": "remote",
                "url": url,
                "headers": {"Authorization": "Bearer {env:LOCI_TOKEN}"},
                "oauth": false,
                "enabled": true,
            })
        }),
    },
    instructions: Instructions {
        user: Some("AGENTS.md"),
        project: Some("AGENTS.md"),
    },
    // It keeps its sessions in a database, which loci does not read.
    hooks: Some(HookFile {
        file: "plugins/loci.js",
        form: HookForm::Module(include_str!("opencode.js")),
        events: &[
            ("session.created", Event::SessionStart),
            ("chat.message", Event::Prompt),
        ],
        command: HookCommand::Words,
        timeout_units: 1_000,
        has_async: false,
        reply: HookReply::Alone,
        advice: Some(
            "before it loads a plug-in, opencode fetches a package of its own from npm; without a network, its start waits about a minute for that",
        ),
    }),
    plugin: None,
    list: Some(List {
        program: "opencode",
        arguments: &["mcp", "list"],
        word: "connected",
        connects: true,
    }),
    advice: "sessions of opencode that start from now on have loci",
    link: None,
};
