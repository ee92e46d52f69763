//! Visual Studio Code, of Microsoft, with GitHub Copilot.

use serde_json::{Value, json};

use crate::entry;
use crate::form::Form;
use crate::host::{Host, Http, Instructions, Servers};
use crate::machine::{Base, Folder};

/// The data of Visual Studio Code.
pub static VSCODE: Host = Host {
    name: "vscode",
    title: "VS Code",
    client: "visual studio code",
    folder: Folder {
        variable: None,
        linux: Base::Config("Code/User"),
        macos: Base::Support("Code/User"),
        windows: Base::AppData("Code/User"),
    },
    programs: &["code"],
    servers: Servers {
        form: Form::Json,
        key: "servers",
        folder: None,
        file_variable: None,
        user: &["mcp.json"],
        project: &[".vscode/mcp.json"],
        stdio: |_, program, arguments| json!({"type": "stdio", "command": program, "args": arguments}),
        http: Http::Variable(|_, url| {
            json!({
                "type": "http",
                "url": url,
                "headers": {"Authorization": "Bearer ${env:LOCI_TOKEN}"},
            })
        }),
    },
    instructions: Instructions {
        user: None,
        project: Some(".github/copilot-instructions.md"),
    },
    hooks: None,
    plugin: None,
    list: None,
    advice: "start loci in VS Code with the command \"MCP: List Servers\", and trust it there",
    link: Some(link),
};

fn link(name: &str, entry: &Value) -> String {
    let mut whole = json!({"name": name});
    if let (Some(whole), Some(entry)) = (whole.as_object_mut(), entry.as_object()) {
        whole.extend(entry.clone());
    }
    format!(
        "vscode:mcp/install?{}",
        entry::query_value(&whole.to_string())
    )
}
