//! `loci review`: lists what people should decide about memories, and takes the decisions.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::Duration;

use loci_core::{ANONYMOUS, Error, Forgotten, Memory, MemoryId, OpenItem};
use loci_engine::{Call, Certainty, Effect, ItemKind, orders_in, shown_name};
use serde_json::{Value, json};

use crate::cli;
use crate::exit::Failure;
use crate::output::{Output, counted, listing, status_line};
use crate::settings::Settings;
use crate::wiring::{CommandInfo, Parts};

/// The characters of a text that the list shows.
const CHARACTERS_LISTED: usize = 160;
/// The sentences with orders that the list shows of a memory.
const ORDERS_LISTED: usize = 5;
/// The time for which the list looks at what changed before.
const EXAMINED_FOR: Duration = Duration::from_secs(10);
const LIST: CommandInfo = ("review list", "memory:read", Effect::Read);
const ACCEPT: CommandInfo = ("review accept", "memory:write", Effect::Write);
const DISMISS: CommandInfo = ("review dismiss", "memory:write", Effect::Write);

pub fn run(settings: &Settings, command: &cli::Review, output: Output) -> Result<(), Failure> {
    match command {
        cli::Review::List(arguments) => {
            let parts = Parts::open_current(settings)?;
            // The background of a server may not have come to the last changes, and there may be no server.
            let is_complete = parts
                .engine
                .examine_for(EXAMINED_FOR)
                .unwrap_or_else(|error| {
                    status_line(format_args!(
                        "note: shows what was found before, because {error}"
                    ));
                    true
                });
            if !is_complete {
                status_line("note: more memories are to be looked at; repeat the command to go on");
            }
            parts.logged(LIST, |call| list(call, arguments, output))
        }
        cli::Review::Accept { keys, keep } => {
            let parts = Parts::open_current(settings)?;
            let said = parts.logged(ACCEPT, |call| {
                let keep = keep
                    .as_deref()
                    .map(|id| call.memories().memory_id("--keep", id))
                    .transpose()?;
                let items = open(call)?;
                let named = named(&items, keys)?;
                named
                    .into_iter()
                    .map(|item| accept(call, item, keep.as_ref()))
                    .collect::<Result<Vec<String>, Failure>>()
            })?;
            said.iter().for_each(status_line);
            Ok(output.either(&json!({"accepted": keys}), "")?)
        }
        cli::Review::Dismiss { keys, undo } => {
            let parts = Parts::open_current(settings)?;
            parts.logged(DISMISS, |call| {
                if !undo {
                    let items = open(call)?;
                    named(&items, keys)?;
                }
                for key in keys {
                    call.settings().set_dismissed(key, !undo)?;
                }
                Ok(())
            })?;
            let items = counted(keys.len() as u64, "item");
            status_line(match undo {
                false => format!("dismissed {items}"),
                true => format!("{items} can be listed again"),
            });
            let name = if *undo { "undone" } else { "dismissed" };
            Ok(output.either(&json!({ name: keys }), "")?)
        }
    }
}

/// An item that is open, with its kind.
type Open = (ItemKind, OpenItem);

/// Returns what is open and not dismissed: the most pressing kinds first, in each the most certain
/// ones, then the last filed ones.
fn open(call: &Call<'_>) -> Result<Vec<Open>, Failure> {
    let dismissed = call.settings().dismissed()?;
    let mut items = call.open_items().list()?;
    items.retain(|(_, item)| !dismissed.contains(&item.key));
    items.sort_by_key(|(kind, item)| {
        (
            *kind,
            Reverse(item.certainty),
            Reverse(item.memory.clone()),
            item.key.clone(),
        )
    });
    Ok(items)
}

/// Returns the open items with these keys.
fn named<'a>(items: &'a [Open], keys: &[String]) -> Result<Vec<&'a Open>, Failure> {
    let find = |key: &String| {
        let found = items.iter().find(|(_, item)| item.key == *key);
        found.ok_or_else(|| {
            let message = format!("no open item has the key {key}; `loci review list` prints them");
            Error::not_found(message).into()
        })
    };
    keys.iter().map(find).collect()
}

fn list(call: &Call<'_>, arguments: &cli::ReviewList, output: Output) -> Result<(), Failure> {
    let mut items = open(call)?;
    if let Some(name) = &arguments.kind {
        let kind = ItemKind::from_name(name).ok_or_else(|| {
            let names: Vec<&str> = ItemKind::ALL.into_iter().map(ItemKind::name).collect();
            Error::invalid("--kind", format!("must be one of {}", names.join(", ")))
        })?;
        items.retain(|(of, _)| *of == kind);
    }
    let total = items.len();
    let shown: Vec<&Open> = items
        .iter()
        .skip(arguments.offset as usize)
        .take(arguments.limit as usize)
        .collect();
    let ids = shown
        .iter()
        .flat_map(|(_, item)| [Some(&item.memory), item.other.as_ref()])
        .flatten();
    let ids: Vec<MemoryId> = ids.cloned().collect();
    let texts = call.memories().show_all(&ids, Forgotten::Hide)?;
    // Secrets are listed to be found, not to be read.
    let redacted = |text: &str| call.engine().redaction().redact(text).text.into_owned();
    let masked = |memory: Memory| {
        let orders = orders_in(&memory).into_iter().take(ORDERS_LISTED);
        let orders = orders.map(|order| FoundOrder {
            sentence: redacted(&order.sentence),
            read_as: order
                .read_as
                .map(|(disguise, words)| (disguise.name(), redacted(&words))),
        });
        let orders = orders.collect();
        (
            memory.id,
            Listed {
                text: redacted(&memory.content),
                orders,
            },
        )
    };
    let texts: HashMap<MemoryId, Listed> = texts.into_iter().map(masked).collect();
    let next = arguments.offset as usize + shown.len();
    let more = (next < total).then(|| format!("--offset {next}"));
    let text: String = shown.iter().map(|open| lines(open, &texts)).collect();
    match (total, &more) {
        (0, _) => status_line("nothing waits for a decision"),
        (_, Some(more)) => {
            status_line(format_args!(
                "{} in all; {more} shows more",
                counted(total as u64, "item")
            ));
        }
        (_, None) => {}
    }
    let values = shown.iter().map(|open| value(open, &texts));
    Ok(output.either(&listing("items", values, more), text)?)
}

/// A memory of the list.
struct Listed {
    text: String,
    orders: Vec<FoundOrder>,
}

/// A sentence with an order, and its disguise with the words that it is read as.
struct FoundOrder {
    sentence: String,
    read_as: Option<(&'static str, String)>,
}

/// Returns an item as a person reads it.
fn lines((kind, item): &Open, texts: &HashMap<MemoryId, Listed>) -> String {
    let certainty = Certainty::of(*kind, item)
        .map_or_else(String::new, |certainty| format!(", {}", certainty.name()));
    let line = |id: &MemoryId| {
        let text = texts.get(id).map_or("", |listed| listed.text.as_str());
        let words: Vec<&str> = text.split_whitespace().collect();
        let beginning: String = words.join(" ").chars().take(CHARACTERS_LISTED).collect();
        format!("    {id}  {beginning}\n")
    };
    let ids = std::iter::once(&item.memory).chain(&item.other);
    let memories: String = ids.map(line).collect();
    let orders = texts.get(&item.memory).filter(|_| *kind == ItemKind::Order);
    let orders: String = orders
        .map_or(&[][..], |listed| &listed.orders[..])
        .iter()
        .map(line_of)
        .collect();
    format!(
        "{}  {}{certainty}\n{memories}{orders}",
        item.key,
        kind.name()
    )
}

/// Returns the line of a sentence with an order, with the words that it is read as if it is disguised.
fn line_of(order: &FoundOrder) -> String {
    let FoundOrder { sentence, read_as } = order;
    // Characters that a terminal does not show would hide what the line is about.
    let sentence = shown_name(sentence);
    match read_as {
        Some((disguise, words)) => {
            format!(
                "    order ({disguise}): {sentence}\n    read as: {}\n",
                shown_name(words)
            )
        }
        None => format!("    order: {sentence}\n"),
    }
}

fn value((kind, item): &Open, texts: &HashMap<MemoryId, Listed>) -> Value {
    let text = |id: &MemoryId| texts.get(id).map(|listed| listed.text.as_str());
    let memory = |id: &MemoryId| json!({"id": id.as_str(), "text": text(id)});
    let orders = texts.get(&item.memory).filter(|_| *kind == ItemKind::Order);
    let orders: Option<Vec<Value>> = orders.map(|listed| {
        let order = |order: &FoundOrder| {
            let (disguise, words) = order.read_as.clone().unzip();
            json!({"sentence": order.sentence, "disguise": disguise, "read_as": words})
        };
        listed.orders.iter().map(order).collect()
    });
    json!({
        "orders": orders,
        "key": item.key, "kind": kind.name(),
        "certainty": Certainty::of(*kind, item).map(Certainty::name),
        "memory": memory(&item.memory), "other": item.other.as_ref().map(memory),
    })
}

/// Accepts an item, and returns what that did.
fn accept(
    call: &Call<'_>,
    (kind, item): &Open,
    keep: Option<&MemoryId>,
) -> Result<String, Failure> {
    let OpenItem {
        memory, other, key, ..
    } = item;
    if keep.is_some() && other.is_none() {
        let problem = format!("is for two memories, and {key} is about one: leave it out");
        return Err(Error::invalid("--keep", problem).into());
    }
    Ok(match (kind, other) {
        (ItemKind::Order, _) => {
            call.settings().set_dismissed(key, true)?;
            format!("{memory} may be put before agents from now on")
        }
        (ItemKind::Arrived, _) => {
            call.memories().accept(memory)?;
            format!("agents follow {memory} from now on")
        }
        (ItemKind::Directive, _) => {
            let shown = call
                .memories()
                .show_all(std::slice::from_ref(memory), Forgotten::Hide)?;
            let writer = shown.first().map_or(ANONYMOUS, Memory::writer);
            if writer == ANONYMOUS {
                let problem = format!(
                    "{memory} is of an anonymous author, who cannot be told from another one: forget it, or dismiss {key}"
                );
                return Err(Error::invalid("KEY", problem).into());
            }
            call.settings().set_trusted(writer, true)?;
            format!("you take the directives of {writer} from now on")
        }
        (_, Some(other)) => {
            let given_up = match keep {
                Some(kept) if kept == memory => other,
                Some(kept) if kept == other => memory,
                _ => {
                    let problem =
                        format!("must name the memory of {key} that holds: {memory} or {other}");
                    return Err(Error::invalid("--keep", problem).into());
                }
            };
            let kept = if given_up == other { memory } else { other };
            call.memories().resolve_conflict(kept, given_up)?;
            format!("{kept} holds, and {given_up} no longer")
        }
        (ItemKind::Secret, None) => {
            let problem = format!(
                "{key} is a secret in {memory}: `loci doctor --secrets --redact` takes it out, and `loci review dismiss {key}` \
                 leaves it"
            );
            return Err(Error::invalid("KEY", problem).into());
        }
        (_, None) => {
            let problem = format!(
                "{memory} rests on a file that is gone or changed: change or forget it, or dismiss {key} if it holds"
            );
            return Err(Error::invalid("KEY", problem).into());
        }
    })
}
