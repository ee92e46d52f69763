//! Cline, the command line of Cline Bot.

use serde_json::json;

use crate::form::Form;
use crate::host::{Host, Http, Instructions, Servers};
use crate::machine::Folder;

/// The data of Cline.
pub static CLINE: Host = Host {
    name: "cline",
    title: "Cline",
    client: "cline",
    folder: Folder::home(".cline"),
    programs: &["cline"],
    servers: Servers {
        form: Form::Json,
        key: "mcpServers",
        folder: None,
        file_variable: None,
        user: &["data/settings/cline_mcp_settings.json"],
        project: &[],
        stdio: |_, program, arguments| json!({"transport": {"type": "stdio", "command": program, "args": arguments}}),
        http: Http::Written(|_, url| {
            let headers = json!({"Authorization": "Bearer TOKEN"});
            json!({"transport": {"type": "streamableHttp", "url": url, "headers": headers}})
        }),
    },
    instructions: Instructions {
        user: None,
        project: Some(".clinerules/loci.md"),
    },
    hooks: None,
    plugin: None,
    list: None,
    advice: "sessions of Cline that start from now on have loci",
    link: None,
};
