//! The requested and the acknowledged calls, and the state that the store must, may and must not
//! have after them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The offset from the number of a message to that of the long-term memory made from it.
const KEPT: u32 = 1_000_000;

/// The kind of a thing, which determines the content of its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ThingKind {
    /// A memory of mememory.
    Memory,
    /// A note: a file, and a memory that is its index.
    Note,
    /// A memory of engram; its state contains its visibility.
    Engram,
    /// A discovery of engram; its state contains its visibility.
    Discovery,
    /// A drawer of mempalace; its state contains its location.
    Drawer,
    /// An entry of a diary.
    Diary,
    /// A message of a conversation.
    Message,
    /// The long-term memory made from a message, whose number is less by a million.
    Kept,
    /// A cached answer.
    Cache,
    /// A decision under a key.
    Decision,
    /// A fact of the knowledge graph: `open` or `ended`.
    Fact,
    /// A tunnel between two locations.
    Tunnel,
    /// That an entity of the reference server exists: a fact, `open` or `ended`.
    Entity,
    /// An observation of such an entity, whose name is its group.
    Observation,
    /// A file of Anthropic's memory tool; its state contains its path, and the number of blank
    /// lines at its end.
    File,
    /// A setting of the hooks; its value is the state.
    Setting,
}

/// A thing that a call stored or will store.
#[derive(Debug, Clone)]
pub struct Thing {
    /// Its number, which identifies it before it has an id.
    pub number: u32,
    /// Its kind.
    pub kind: ThingKind,
    /// Its id, as soon as an answer or the store has returned it.
    pub id: Option<String>,
    /// Its owner or location, for calls that affect many things.
    pub group: String,
    /// Its possible states: one, except while a call is in progress or in doubt. `None` means that
    /// it does not exist.
    pub states: Vec<Option<String>>,
    /// True while a call for it is in progress or in doubt.
    pub is_busy: bool,
    /// The last requested version.
    pub version: u32,
}

/// A call of a tool that writes.
#[derive(Debug, Clone)]
pub struct Call {
    /// Its number.
    pub id: u64,
    /// The dialect that has the tool.
    pub dialect: &'static str,
    /// The tool.
    pub tool: &'static str,
    /// Its arguments.
    pub arguments: Value,
    /// The state of each thing after the call.
    pub effects: Vec<(u32, Option<String>)>,
    /// True if all effects happen together or not at all.
    pub is_atomic: bool,
    /// True if it may be repeated with the same idempotency key after a lost answer.
    pub is_keyed: bool,
    /// A thing that may be removed as well.
    pub may_remove: Option<u32>,
    /// The group whose things it all removes.
    pub clears: Option<String>,
}

/// A thing that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Its id.
    pub id: String,
    /// Its version, or a description of its damage; for a fact or a setting its state.
    pub version: String,
    /// Its collection and section, with a slash between them; of a file, its path and the number of
    /// blank lines at its end.
    pub place: String,
    /// Its visibility.
    pub visibility: String,
    /// True if it is forgotten but still exists.
    pub is_forgotten: bool,
}

/// All things that were found, by their numbers; each should occur once.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// In the store.
    pub stored: BTreeMap<u32, Vec<Seen>>,
    /// Among the files of notes.
    pub files: BTreeMap<u32, Vec<Seen>>,
}

/// The things and the calls.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    /// The things by number.
    pub things: BTreeMap<u32, Thing>,
    /// The calls without an answer so far.
    pub open: BTreeMap<u64, Call>,
    /// The number of acknowledged calls.
    pub acknowledged: u64,
    pub(super) calls: u64,
    pub(super) last_thing: u32,
}

impl Thing {
    /// Returns the state of a found thing.
    fn state(&self, seen: &Seen) -> String {
        match self.kind {
            ThingKind::Drawer | ThingKind::File => format!("{} {}", seen.version, seen.place),
            ThingKind::Engram | ThingKind::Discovery => {
                format!("{} {}", seen.version, seen.visibility)
            }
            ThingKind::Note if seen.is_forgotten => format!("{} deleted", seen.version),
            _ => seen.version.clone(),
        }
    }

    /// Returns true if it certainly exists, so that further calls can use it.
    pub fn is_live(&self) -> bool {
        !self.is_busy && matches!(&self.states[..], [Some(state)] if !state.ends_with("deleted"))
    }
}

impl Ledger {
    /// Returns the number of the long-term memory that is made from a message.
    pub fn kept(number: u32) -> u32 {
        number + KEPT
    }

    /// Returns the same things as before the first call.
    #[must_use]
    pub fn anew(&self) -> Self {
        let before = |thing: &Thing| Thing {
            states: vec![None],
            is_busy: false,
            id: None,
            ..thing.clone()
        };
        let things = self
            .things
            .iter()
            .map(|(number, thing)| (*number, before(thing)))
            .collect();
        Ledger {
            things,
            ..Ledger::default()
        }
    }

    /// Records that a call is in progress: from now on its effects may be visible.
    pub fn begin(&mut self, call: Call) {
        for (number, state) in &call.effects {
            if let Some(thing) = self.things.get_mut(number) {
                thing.is_busy = true;
                if !thing.states.contains(state) {
                    thing.states.push(state.clone());
                }
            }
        }
        if let Some(thing) = call
            .may_remove
            .and_then(|number| self.things.get_mut(&number))
        {
            thing.states.push(None);
        }
        self.open.insert(call.id, call);
    }

    /// Records that a call was acknowledged with this reply: its effects must be visible.
    pub fn acknowledge(&mut self, id: u64, reply: &Value) {
        let Some(call) = self.open.remove(&id) else {
            return;
        };
        self.acknowledged += 1;
        let duplicates = reply["duplicates"].as_array();
        let is_duplicate = |place: &usize| {
            let mut named = duplicates.into_iter().flatten();
            named.any(|text| text["item"].as_u64() == Some(*place as u64))
        };
        for (place, (number, state)) in call.effects.iter().enumerate() {
            if let Some(thing) = self.things.get_mut(number) {
                thing.is_busy = false;
                if is_duplicate(&place) {
                    thing.states = vec![None];
                    continue;
                }
                thing.states = vec![state.clone()];
                let names = ["id", "drawer_id", "entry_id", "memory_id", "tunnel_id"];
                // Of a session, the texts that were filed come in their order, without the others.
                let filed = place - (0..place).filter(is_duplicate).count();
                let of_many = match thing.kind {
                    ThingKind::Diary => &reply["diary"]["entry_id"],
                    ThingKind::Drawer => &reply["added"][filed]["drawer_id"],
                    _ => &reply["stm_ids"][place],
                };
                let id = names
                    .iter()
                    .find_map(|name| reply[name].as_str())
                    .or(of_many.as_str());
                if thing.kind != ThingKind::Kept && thing.id.is_none() {
                    thing.id = id.map(str::to_owned);
                }
            }
        }
    }

    /// Records that a call was refused, and that nothing happened: its effects must not be
    /// visible. Of a call with several effects that happen one by one, some may have happened: that
    /// one is returned, and its effects are in doubt until [`settle`](Self::settle).
    pub fn refuse(&mut self, id: u64) -> Option<Call> {
        let call = self.open.remove(&id)?;
        if !call.is_atomic && call.effects.len() > 1 {
            return Some(call);
        }
        for (number, state) in &call.effects {
            if let Some(thing) = self.things.get_mut(number) {
                thing.is_busy = false;
                if thing.states.len() > 1 && thing.states.last() == Some(state) {
                    thing.states.pop();
                }
            }
        }
        let kept = call.may_remove.and_then(|kept| self.things.get_mut(&kept));
        if let Some(thing) = kept {
            thing.states.pop_if(|state| state.is_none());
        }
        None
    }

    /// Removes and returns the calls that will never be answered. Their effects are in doubt until
    /// [`settle`](Self::settle).
    pub fn give_up(&mut self, is_lost: impl Fn(&Call) -> bool) -> Vec<Call> {
        let lost: Vec<u64> = self
            .open
            .values()
            .filter(|call| is_lost(call))
            .map(|call| call.id)
            .collect();
        lost.iter().filter_map(|id| self.open.remove(id)).collect()
    }

    /// Returns the problems of a finding; `doubtful` are the calls that were never answered. The
    /// index of a note is compared with its file only if `with_index` is true, since it may lag
    /// behind.
    pub fn compare(&self, found: &Found, doubtful: &[Call], with_index: bool) -> Vec<String> {
        let mut problems = Vec::new();
        let mut numbers: BTreeSet<u32> = self.things.keys().copied().collect();
        numbers.extend(found.stored.keys().chain(found.files.keys()));
        for number in numbers {
            let Some(thing) = self.things.get(&number) else {
                problems.push(format!("thing {number} is there, and nobody asked for it"));
                continue;
            };
            let stored = found.stored.get(&number).map_or(&[][..], Vec::as_slice);
            let files = found.files.get(&number).map_or(&[][..], Vec::as_slice);
            if thing.kind != ThingKind::Note {
                problems.extend(wrong(thing, stored, "in the store"));
                continue;
            }
            problems.extend(wrong(thing, files, "among the files"));
            if with_index {
                let live = |seen: &[Seen]| -> Vec<String> {
                    seen.iter()
                        .filter(|seen| !seen.is_forgotten)
                        .map(|seen| thing.state(seen))
                        .collect()
                };
                if live(stored) != live(files) {
                    let (stored, files) = (live(stored), live(files));
                    problems.push(format!(
                        "note {number} is {files:?} in its file and {stored:?} in the store"
                    ));
                }
            }
        }
        for call in doubtful.iter().filter(|call| call.is_atomic) {
            let done = |(number, state): &(u32, Option<String>)| {
                self.things.get(number).map(|thing| {
                    let seen = found.stored.get(number).and_then(|seen| seen.first());
                    seen.map(|seen| thing.state(seen)) == *state
                })
            };
            let done: Vec<bool> = call.effects.iter().filter_map(done).collect();
            if done.contains(&true) && done.contains(&false) {
                problems.push(format!(
                    "of the call {} of {} only a part is there: {done:?}",
                    call.id, call.tool
                ));
            }
        }
        problems
    }

    /// Adopts the finding as the state of all things in doubt.
    pub fn settle(&mut self, found: &Found) {
        for thing in self.things.values_mut().filter(|thing| thing.is_busy) {
            let all = if thing.kind == ThingKind::Note {
                &found.files
            } else {
                &found.stored
            };
            let seen = all.get(&thing.number).and_then(|seen| seen.first());
            let seen = seen.filter(|seen| thing.kind == ThingKind::Note || !seen.is_forgotten);
            thing.states = vec![seen.map(|seen| thing.state(seen))];
            if let (None, Some(seen)) = (&thing.id, seen) {
                thing.id = Some(seen.id.clone());
            }
            thing.is_busy = false;
        }
    }
}

/// Returns the problem of a thing in one place.
fn wrong(thing: &Thing, seen: &[Seen], place: &str) -> Option<String> {
    let seen: Vec<&Seen> = seen
        .iter()
        .filter(|seen| thing.kind == ThingKind::Note || !seen.is_forgotten)
        .collect();
    let states: Vec<Option<String>> = match &seen[..] {
        [] => vec![None],
        seen => seen.iter().map(|seen| Some(thing.state(seen))).collect(),
    };
    let (number, kind) = (thing.number, thing.kind);
    if states.len() > 1 || !thing.states.contains(&states[0]) {
        let ids: Vec<&str> = seen.iter().map(|seen| seen.id.as_str()).collect();
        return Some(format!(
            "{kind:?} {number} (group {}) is {states:?} {place} (ids {ids:?}), but should be {:?} ({:?})",
            thing.group, thing.states, thing.id
        ));
    }
    let has_other_id = |id: &String| seen.first().is_some_and(|seen| seen.id != *id);
    let id = thing.id.as_ref().filter(|id| has_other_id(id))?;
    Some(format!(
        "{kind:?} {number} was acknowledged as {id} and is {} {place}",
        seen[0].id
    ))
}

/// Returns the text of a version of a thing, which shows whether it is complete: of one line, of
/// some, or of a thousand.
pub fn text(number: u32, version: u32) -> String {
    let mixed = number
        .wrapping_mul(31)
        .wrapping_add(version.wrapping_mul(17));
    let lines = match mixed % 50 {
        0 => 1_000,
        1..=3 => 90,
        few => few % 5,
    };
    let mut text = format!("thing {number:05} version {version} of {lines}");
    let words = [
        "bead", "river", "copper", "Tuesday", "lantern", "harbour", "violin",
    ];
    for line in 0..lines {
        let word = words[(mixed.wrapping_add(line) % 7) as usize];
        text += &format!("\nline {line} of {number:05}-{version}: a {word} keeps {mixed:x}");
    }
    text
}

/// Returns the thing of a text and its version as in [`Seen::version`]; `None` if the text is not
/// that of a thing.
pub fn version_of(content: &str) -> Option<(u32, String)> {
    let mut words = content.strip_prefix("thing ")?.split([' ', '\n']);
    let number: u32 = words.next()?.parse().ok()?;
    let version: u32 = words.nth(1)?.parse().ok()?;
    let is_whole = content.trim_end() == text(number, version);
    let broken = || format!("v{version}, broken, of {} bytes", content.len());
    Some((
        number,
        if is_whole {
            format!("v{version}")
        } else {
            broken()
        },
    ))
}
