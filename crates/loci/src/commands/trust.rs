//! `loci trust`: manages the authors whose directives a reader takes, and the memories that came in
//! files.

use loci_core::{Caller, Memory, Principal, Scope, Scopes, Space};
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
        waiting,
        accept,
        accept_all,
    } = arguments;
    check::name("--reader", reader)?;
    let scopes = Scopes::of(&[Scope::Read, Scope::Write]);
    let caller = Caller {
        space: Space::parse("--space", space)?,
        principal: Principal::new(reader.as_str(), scopes),
        ..Caller::command_line()
    };
    let parts = if authors.is_empty() && accept.is_empty() && !accept_all {
        Parts::open_to_read(settings)?
    } else {
        Parts::open_existing(settings)?
    };
    if *waiting || *accept_all || !accept.is_empty() {
        let caller = Caller {
            space: caller.space,
            ..Caller::command_line()
        };
        return accept_memories(&parts, caller, arguments, output);
    }
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

/// Accepts memories that came in files, and lists the ones that wait then.
fn accept_memories(
    parts: &Parts,
    caller: Caller,
    arguments: &Trust,
    output: Output,
) -> Result<(), Failure> {
    let info = ("accept", "memory:write", Effect::Write);
    let mut ids = Vec::new();
    let looking = parts.engine.look(caller.clone());
    for id in &arguments.accept {
        ids.push(looking.memories().memory_id("--accept", id)?);
    }
    if arguments.accept_all {
        let waiting = parts.engine.system(&caller).context().unreviewed()?;
        ids.extend(waiting.into_iter().map(|memory| memory.id));
    }
    let mut accepted = Vec::new();
    for id in ids {
        let is_change = logged(&parts.engine, caller.clone(), info, |call| {
            Ok(call.memories().accept(&id)?)
        })?;
        status_line(if is_change {
            format!("agents follow {id} from now on")
        } else {
            format!("{id} does not wait")
        });
        if is_change {
            accepted.push(id.to_string());
        }
    }
    let waiting = logged(
        &parts.engine,
        caller,
        ("waiting", "memory:read", Effect::Read),
        |call| Ok(call.context().unreviewed()?),
    )?;
    let line = |memory: &Memory| {
        let text = memory
            .content
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        format!("{}  {}\n", memory.id, beginning(&text))
    };
    let text = waiting.iter().map(line).collect::<String>();
    if waiting.is_empty() && accepted.is_empty() {
        status_line("no memory that came in a file waits");
    }
    let waiting: Vec<_> = waiting
        .iter()
        .map(|memory| json!({"id": memory.id.as_str(), "text": memory.content}))
        .collect();
    Ok(output.either(&json!({"accepted": accepted, "waiting": waiting}), text)?)
}

/// Returns the beginning of a text, of whole characters.
fn beginning(text: &str) -> &str {
    const BYTES_MAX: usize = 100;
    &text[..text.floor_char_boundary(BYTES_MAX)]
}
