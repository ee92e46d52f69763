//! Goose, of the Agentic AI Foundation, first of Block. Its settings are YAML, and it calls servers
//! extensions.

use serde_json::json;

use crate::form::Form;
use crate::host::{Host, Http, Instructions, Servers, TOKEN_VARIABLE};
use crate::machine::{Base, Folder};

/// The seconds for which Goose waits for an answer of a tool.
const TIMEOUT_SECONDS: u64 = 300;

/// The data of Goose.
pub static GOOSE: Host = Host {
    name: "goose",
    title: "Goose",
    client: "goose",
    folder: Folder {
        variable: None,
        linux: Base::Config("goose"),
        macos: Base::Config("goose"),
        windows: Base::AppData("Block/goose/config"),
    },
    programs: &["goose"],
    servers: Servers {
        form: Form::Yaml,
        key: "extensions",
        folder: None,
        file_variable: None,
        user: &["config.yaml"],
        project: &[],
        stdio: |name, program, arguments| {
            json!({
                "enabled": true,
                "type": "stdio",
                "name": name,
                "cmd": program,
                "args": arguments,
                "timeout": TIMEOUT_SECONDS,
            })
        },
        http: Http::Variable(|name, url| {
            json!({
                "enabled": true,
                "type": "streamable_http",
                "name": name,
                "uri": url,
                "env_keys": [TOKEN_VARIABLE],
                "headers": {"Authorization": "Bearer ${LOCI_TOKEN}"},
                "timeout": TIMEOUT_SECONDS,
            })
        }),
    },
    instructions: Instructions {
        user: Some(".goosehints"),
        project: Some(".goosehints"),
    },
    hooks: None,
    plugin: None,
    list: None,
    advice: "sessions of Goose that start from now on have loci",
    link: None,
};
