//! Zed, of Zed Industries.

use serde_json::json;

use crate::form::Form;
use crate::host::{Host, Http, Instructions, Servers};
use crate::machine::{Base, Folder};

/// The data of Zed.
pub static ZED: Host = Host {
    name: "zed",
    title: "Zed",
    client: "zed",
    folder: Folder {
        variable: None,
        linux: Base::Config("zed"),
        macos: Base::Home(".config/zed"),
        windows: Base::AppData("Zed"),
    },
    programs: &["zed", "zeditor"],
    servers: Servers {
        form: Form::Json,
        key: "context_servers",
        folder: None,
        file_variable: None,
        user: &["settings.json"],
        project: &[".zed/settings.json"],
        stdio: |_, program, arguments| json!({"source": "custom", "command": program, "args": arguments, "env": {}}),
        http: Http::Written(
            |_, url| json!({"url": url, "headers": {"Authorization": "Bearer TOKEN"}}),
        ),
    },
    instructions: Instructions {
        user: None,
        project: Some("AGENTS.md"),
    },
    hooks: None,
    plugin: None,
    list: None,
    advice: "the agent panel of Zed shows loci with a green dot once it runs",
    link: None,
};
