//! `loci trust`: manages the authors whose directives a reader takes.

use loci_core::{Caller, Principal, Scope, Scopes, Space};
use loci_engine::{Effect, check};
use serde_json::json;

use crate::cli::Trust;
use crate::exit::Failure;
use crate::output::{Output, status_line};
use crate::settings::Settings;
use crate::wiring::{Parts, logged};

pub fn run(settings: &Settings, arguments: &Trust, output: Output) -> Result<(), Failure> {
    let Trust {
        authors,
        remove,
        reader,
        space,
    } = arguments;
    check::name("--reader", reader)?;
    let scopes = Scopes::of(&[Scope::Read, Scope::Write]);
    let caller = Caller {
        space: Space::parse("--space", space)?,
        principal: Principal::new(reader.as_str(), scopes),
        ..Caller::command_line()
    };
    let parts = Parts::open(settings)?;
    let info = ("trust", "memory:write", Effect::Write);
    for author in authors {
        let is_change = logged(&parts.engine, caller.clone(), info, |call| {
            Ok(call.settings().set_trusted(author, !remove)?)
        })?;
        status_line(match (is_change, remove) {
            (true, false) => format!("{reader} takes the directives of {author} from now on"),
            (true, true) => format!("{reader} no longer takes the directives of {author}"),
            (false, false) => format!("{reader} takes the directives of {author} already"),
            (false, true) => format!("{reader} does not take the directives of {author}"),
        });
    }
    let trusted = parts.engine.system(&caller).settings().trusted_authors()?;
    if trusted.is_empty() && authors.is_empty() {
        status_line(format_args!(
            "{reader} takes no directives but its own, those of administrators and of `trusted_authors`"
        ));
    }
    let text = trusted
        .iter()
        .fold(String::new(), |text, author| text + author + "\n");
    Ok(output.either(
        &json!({"reader": reader, "space": space, "trusted_authors": trusted}),
        text,
    )?)
}
