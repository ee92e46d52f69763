//! `loci bootstrap`: prints the text that an agent reads at the start of a session.

use serde_json::json;

use crate::exit::Failure;
use crate::output::{Output, status_line};
use crate::settings::Settings;
use crate::wiring::Parts;

pub fn run(settings: &Settings, project: Option<&str>, output: Output) -> Result<(), Failure> {
    let bootstrap = Parts::open_current(settings)?
        .system()
        .context()
        .bootstrap(project)?;
    if bootstrap.memories + bootstrap.held_back == 0 {
        status_line(
            "no memory is read at the start of a session; `loci add --bootstrap TEXT` stores one",
        );
    }
    let (memories, tokens) = (bootstrap.memories, bootstrap.tokens);
    let value = json!({"markdown": bootstrap.markdown, "memories": memories, "tokens": tokens});
    Ok(output.either(&value, &bootstrap.markdown)?)
}
