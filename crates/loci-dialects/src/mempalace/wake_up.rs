//! What an agent reads when its session starts: who it works for, what is known, and what its kind wrote last.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

use loci_core::{CollectionFilter, Delivery, ErrorCode, FilingOrder, Memory, MemoryId, Result, Tally, Tier};
use loci_engine::{Browse, Engine, List, SOURCE_FILE, shown_title};

use super::DIALECT;
use super::arguments::{GLOBAL_WING, collection, wing};
use super::diary_write::DIARY;
use super::times::date;
use crate::Context;

/// Characters of the text, counted as UTF-16 counts them: hosts cut what is longer than 10,000.
pub const WAKE_UP_CHARACTERS_MAX: usize = 9_500;
/// The room of what says for whom an agent works.
const IDENTITY: &str = "identity";
/// Characters of one memory of that kind.
const IDENTITY_CHARACTERS_MAX: usize = 600;
/// Memories of that kind.
const IDENTITIES_MAX: usize = 20;
/// Wings whose story is told, the largest.
const WINGS_MAX: usize = 8;
/// Rooms of each that are named, the largest.
const ROOMS_MAX: usize = 6;
/// Drawers of each that are looked at, the newest: of all, and of each of the first kinds in each room.
const DRAWERS_LOOKED_AT: usize = 100;
/// Drawers of each that are told of.
const DRAWERS_MAX: usize = 12;
/// Entries of diaries.
const ENTRIES_MAX: usize = 3;
/// Kinds that are told of before others.
const KINDS_FIRST: [&str; 3] = ["decision", "preference", "fact"];
/// The room of what was said in conversations.
pub const CONVERSATIONS: &str = "conversations";
/// Characters of a drawer that are read.
const CHARACTERS_READ: usize = 4 * IDENTITY_CHARACTERS_MAX;

/// A line that may be in the text.
struct Line {
    /// Where it stands: the part, the wing in it, the place there.
    place: (usize, usize, usize),
    heading: String,
    text: String,
    /// The drawer that it shows.
    id: MemoryId,
}

/// The text for a session's start: what says for whom the agent works (memories that every session reads, and the room
/// `identity`), the story of the wing (of the largest ones, if none is given) in one line for each drawer, and the
/// beginnings of the latest entries of diaries. It has at most `tokens_max` tokens and [`WAKE_UP_CHARACTERS_MAX`]
/// characters; its last line says how many drawers were left out and how to find them. Empty if not even that line fits.
///
/// # Errors
/// `unavailable` if the store cannot be read.
pub fn wake_up(context: Context<'_>, wing: Option<&str>, tokens_max: usize) -> Result<String> {
    let caller = &DIALECT.caller(context.caller);
    let context = Context { caller, ..context };
    let mut places = context.engine.places(context.caller)?;
    if let Some(wing) = wing {
        let collection = collection(wing);
        places.retain(|place| place.collection == collection);
    }
    let total = places.iter().map(|place| place.memories).sum();
    let mut candidates = identity(context, wing)?;
    candidates.extend(latest_entries(context)?);
    candidates.extend(story(context, &places)?);
    let in_scope = |memory: &Memory| wing.is_none_or(|wing| memory.place.collection == collection(wing));
    let mut shown = HashSet::new();
    candidates.retain(|(memory, _)| shown.insert(memory.id.clone()));
    let scoped: HashSet<MemoryId> =
        candidates.iter().filter(|(memory, _)| in_scope(memory)).map(|(memory, _)| memory.id.clone()).collect();
    let lines = candidates.into_iter().map(|(_, line)| line).collect();
    Ok(fitting(context.engine, tokens_max, lines, total, &scoped))
}

/// The text with as many of the lines, most important first, as fit. `total` counts the drawers that it is about, of
/// which `scoped` are those that lines show.
fn fitting(engine: &Engine, tokens_max: usize, lines: Vec<Line>, total: u64, scoped: &HashSet<MemoryId>) -> String {
    let fits =
        |text: &str| text.encode_utf16().count() <= WAKE_UP_CHARACTERS_MAX && engine.count_tokens(text) <= tokens_max;
    let text_of = |chosen: &[Line]| {
        let shown = chosen.iter().filter(|line| scoped.contains(&line.id)).count() as u64;
        written(chosen) + &last_line(total, total.saturating_sub(shown))
    };
    if !fits(&text_of(&[])) {
        return String::new();
    }
    // Counted line by line, since counting the whole each time costs its square; then the whole decides.
    let last = last_line(total, total);
    let (mut characters, mut tokens) = (last.encode_utf16().count(), engine.count_tokens(&last));
    let mut chosen: Vec<Line> = Vec::new();
    for line in lines {
        let is_headed = chosen.iter().any(|other| other.heading == line.heading);
        let heading = if is_headed { "" } else { &line.heading };
        let more = (
            heading.encode_utf16().count() + line.text.encode_utf16().count() + 3,
            engine.count_tokens(heading) + engine.count_tokens(&line.text) + 2,
        );
        if characters + more.0 <= WAKE_UP_CHARACTERS_MAX && tokens + more.1 <= tokens_max {
            characters += more.0;
            tokens += more.1;
            chosen.push(line);
        }
    }
    while !fits(&text_of(&chosen)) {
        chosen.pop();
    }
    text_of(&chosen)
}

/// The lines in their places, under their headings.
fn written(lines: &[Line]) -> String {
    let mut lines: Vec<&Line> = lines.iter().collect();
    lines.sort_by_key(|line| line.place);
    let (mut text, mut heading) = (String::new(), "");
    for line in lines {
        if line.heading != heading {
            let gap = if text.is_empty() { "" } else { "\n" };
            text.push_str(&format!("{gap}{}\n", line.heading));
            heading = &line.heading;
        }
        text.push_str(&line.text);
        text.push('\n');
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

fn last_line(total: u64, left_out: u64) -> String {
    match (total, left_out) {
        (0, _) => "No drawers here yet: mempalace_add_drawer files the first.\n".to_owned(),
        (_, 0) => "Nothing was left out; mempalace_get_drawer has each whole, by its id.\n".to_owned(),
        _ => format!(
            "Left out: {left_out} of {total} drawers. mempalace_search finds them by a question, mempalace_list_drawers \
             by wing and room; mempalace_get_drawer has each whole, by its id.\n"
        ),
    }
}

/// What says for whom the agent works: what every session reads, then the room of it.
fn identity(context: Context<'_>, wing: Option<&str>) -> Result<Vec<(Memory, Line)>> {
    let from = match wing {
        None => CollectionFilter::Any,
        Some(GLOBAL_WING) => CollectionFilter::Global,
        Some(wing) => CollectionFilter::GlobalAnd(wing.to_owned()),
    };
    let list = |limit| {
        let request = List {
            collections: from.clone(),
            sections: Vec::new(),
            tags: Vec::new(),
            delivery: Some(Delivery::Bootstrap),
            offset: 0,
            limit,
        };
        context.engine.list(context.caller, request)
    };
    let mut memories = as_many_as_fit(IDENTITIES_MAX, list)?;
    memories.extend(newest(context, &from, Some(IDENTITY), &[], IDENTITIES_MAX)?);
    let line = |(place, memory): (usize, Memory)| {
        let text = one_line(&memory.content, IDENTITY_CHARACTERS_MAX);
        let text = format!("- {text} [{}]", memory.id);
        let line = Line { place: (0, 0, place), heading: "# Identity".to_owned(), text, id: memory.id.clone() };
        (memory, line)
    };
    Ok(memories.into_iter().enumerate().map(line).collect())
}

/// What agents wrote in their diaries last, whatever the wing.
fn latest_entries(context: Context<'_>) -> Result<Vec<(Memory, Line)>> {
    let entries =
        Browse { tiers: vec![Tier::Apart], ..newest_of(&CollectionFilter::Any, Some(DIARY), &[], ENTRIES_MAX) };
    let entries = context.engine.filed(context.caller, &entries)?;
    let line = |(place, memory): (usize, Memory)| {
        let (day, wing) = (date(memory.created_at), wing(memory.place.collection.clone()));
        let text = format!("- {day} {wing}: {} [{}]", shown_title(&memory), memory.id);
        let line =
            Line { place: (2, 0, place), heading: "# Latest in diaries".to_owned(), text, id: memory.id.clone() };
        (memory, line)
    };
    Ok(entries.into_iter().enumerate().map(line).collect())
}

/// The story of the largest wings: of each its rooms, then its newest decisions, preferences and facts that somebody
/// filed by hand, then the rest, the wings in turn.
fn story(context: Context<'_>, places: &[Tally]) -> Result<Vec<(Memory, Line)>> {
    let mut wings: BTreeMap<&Option<String>, BTreeMap<&str, u64>> = BTreeMap::new();
    for place in places.iter().filter(|place| place.section != DIARY) {
        *wings.entry(&place.collection).or_default().entry(&place.section).or_default() += place.memories;
    }
    let mut wings: Vec<_> = wings.into_iter().map(|(wing, rooms)| (wing, rooms.values().sum::<u64>(), rooms)).collect();
    wings.sort_by_key(|(_, drawers, _)| Reverse(*drawers));
    let mut lines = Vec::new();
    for (order, (collection, drawers, rooms)) in wings.into_iter().take(WINGS_MAX).enumerate() {
        let name = wing(collection.clone());
        let heading = format!("# {name}: {}", rooms_of(drawers, &rooms));
        let from = collection.clone().map_or(CollectionFilter::Global, CollectionFilter::Only);
        for (place, memory) in essential(context, &from, places, collection.as_deref())?.into_iter().enumerate() {
            let day = date(memory.created_at);
            let text = format!("- {} {day}: {} [{}]", memory.kind, shown_title(&memory), memory.id);
            lines.push((place, order, memory, heading.clone(), text));
        }
    }
    lines.sort_by_key(|(place, order, ..)| (*place, *order));
    let line = |(place, order, memory, heading, text): (usize, usize, Memory, String, String)| {
        let line = Line { place: (1, order, place), heading, text, id: memory.id.clone() };
        (memory, line)
    };
    Ok(lines.into_iter().map(line).collect())
}

/// How many drawers there are, and in which rooms the most.
fn rooms_of(drawers: u64, rooms: &BTreeMap<&str, u64>) -> String {
    let mut rooms: Vec<_> = rooms.iter().collect();
    rooms.sort_by_key(|(_, drawers)| Reverse(**drawers));
    let named: Vec<String> = rooms.iter().take(ROOMS_MAX).map(|(room, drawers)| format!("{room} {drawers}")).collect();
    let more = if rooms.len() > ROOMS_MAX { format!(" and {} more", rooms.len() - ROOMS_MAX) } else { String::new() };
    format!("{drawers} drawers in {}{more}", named.join(", "))
}

/// The drawers of a wing that are told of. Those of the first kinds are asked for room by room and kind by kind:
/// however much was filed, said or mined since, they are found.
fn essential(
    context: Context<'_>,
    from: &CollectionFilter,
    places: &[Tally],
    collection: Option<&str>,
) -> Result<Vec<Memory>> {
    let is_first = |place: &&Tally| {
        let is_there = place.collection.as_deref() == collection && place.section != CONVERSATIONS;
        is_there && KINDS_FIRST.contains(&place.kind.as_str())
    };
    let mut memories = Vec::new();
    for place in places.iter().filter(is_first) {
        memories.extend(newest(context, from, Some(&place.section), &[&place.kind], DRAWERS_LOOKED_AT)?);
    }
    memories.extend(newest(context, from, None, &[], DRAWERS_LOOKED_AT)?);
    // The newest of each kind first.
    memories.sort_by_key(|memory| {
        let was_read = memory.place.section == CONVERSATIONS || memory.attributes.contains_key(SOURCE_FILE);
        let kind = KINDS_FIRST.iter().position(|kind| *kind == memory.kind).unwrap_or(KINDS_FIRST.len());
        (was_read, kind, Reverse(memory.created_at))
    });
    let mut seen = HashSet::new();
    memories.retain(|memory| seen.insert(memory.id.clone()));
    memories.truncate(DRAWERS_MAX);
    Ok(memories)
}

/// The newest memories that nothing replaces.
fn newest(
    context: Context<'_>,
    from: &CollectionFilter,
    section: Option<&str>,
    kinds: &[&str],
    limit: usize,
) -> Result<Vec<Memory>> {
    let mut memories = context.engine.filed(context.caller, &newest_of(from, section, kinds, limit))?;
    memories.retain(|memory| memory.superseded_by.is_none());
    Ok(memories)
}

fn newest_of(from: &CollectionFilter, section: Option<&str>, kinds: &[&str], limit: usize) -> Browse {
    Browse {
        collections: from.clone(),
        sections: section.into_iter().map(str::to_owned).collect(),
        kinds: kinds.iter().map(|kind| (*kind).to_owned()).collect(),
        tiers: vec![Tier::LongTerm],
        order: FilingOrder::LastFirst,
        offset: 0,
        limit,
        characters_max: Some(CHARACTERS_READ),
    }
}

/// What is read with that limit, or with a smaller one where the texts are too large together; without what another
/// memory replaces.
fn as_many_as_fit(limit: usize, read: impl Fn(usize) -> Result<Vec<Memory>>) -> Result<Vec<Memory>> {
    let mut limit = limit;
    loop {
        match read(limit) {
            Err(error) if error.code == ErrorCode::TooLarge && limit > 1 => limit /= 4,
            Err(error) => return Err(error),
            Ok(mut memories) => {
                memories.retain(|memory| memory.superseded_by.is_none());
                return Ok(memories);
            }
        }
        limit = limit.max(1);
    }
}

/// A text in one line, cut where it is long.
fn one_line(text: &str, characters_max: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(characters_max) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
}
