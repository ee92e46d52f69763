//! Random calls of tools that write.

use serde_json::{Value, json};

use super::ledger::{Call, Ledger, Thing, ThingKind, text};
use crate::Random;

/// Rooms at each of the two wings that tunnels connect.
const ROOMS: u32 = 6;
/// Maximum bytes of a user's message from which no long-term memory is made.
const SHORT_MAX: usize = 30;
/// The number of the thing that is the setting of the hooks.
const SETTING: u32 = 0;

impl Ledger {
    /// Returns the locations that tunnels connect, as arguments of `mempalace_add_drawer`, since
    /// they must exist first.
    pub fn anchors() -> Vec<Value> {
        let rooms = |wing: &'static str| {
            let content = move |room| format!("an anchor in room {room} of {wing}");
            (0..ROOMS).map(move |room| json!({"wing": wing, "room": format!("r{room}"), "content": content(room)}))
        };
        rooms("left").chain(rooms("right")).collect()
    }

    /// Creates a random call of a dialect that is not yet [begun](Self::begin).
    ///
    /// # Panics
    /// If the dialect is unknown.
    pub fn call(&mut self, dialect: &str, random: &mut Random) -> Call {
        loop {
            let call = match dialect {
                "vault" => self.vault(random),
                "mememory" => self.mememory(random),
                "memory-mcp" => self.memory_mcp(random),
                "engram" => self.engram(random),
                "mempalace" => self.mempalace(random),
                "reference" => self.reference(random),
                "anthropic" => self.anthropic(random),
                _ => panic!("there is no dialect {dialect}"),
            };
            if let Some(call) = call {
                return call;
            }
        }
    }

    fn vault(&mut self, random: &mut Random) -> Option<Call> {
        if random.chance(75) {
            let (number, state) = self.make(ThingKind::Note, "", "");
            let mut arguments =
                json!({"title": format!("Note {}", number % 7), "body": text(number, 1)});
            let is_keyed = random.chance(60);
            if is_keyed {
                arguments["idempotency_key"] = json!(format!("key {number}"));
            }
            let call = self.one("vault", "memory_append", arguments, number, state);
            return Some(Call { is_keyed, ..call });
        }
        let note = self.live(&[ThingKind::Note], random)?;
        Some(self.forgetting("vault", "memory_forget", "id", note))
    }

    fn mememory(&mut self, random: &mut Random) -> Option<Call> {
        const KINDS: [ThingKind; 5] = [
            ThingKind::Memory,
            ThingKind::Note,
            ThingKind::Engram,
            ThingKind::Drawer,
            ThingKind::Diary,
        ];
        match random.below(100) {
            0..45 => {
                let (number, state) = self.make(ThingKind::Memory, "", "");
                let mut arguments =
                    json!({"content": text(number, 1), "tags": format!("t{}", number % 5)});
                if random.chance(50) {
                    arguments["project"] = json!(format!("p{}", random.below(4)));
                }
                Some(self.one("mememory", "remember", arguments, number, state))
            }
            45..75 => {
                let thing = self.live(&KINDS, random)?;
                Some(self.changing("mememory", "update", "id", thing))
            }
            _ => {
                let thing = self.live(&KINDS, random)?;
                Some(self.forgetting("mememory", "forget", "id", thing))
            }
        }
    }

    fn memory_mcp(&mut self, random: &mut Random) -> Option<Call> {
        let user = format!("user {}", random.below(4));
        if self.is_being_cleared(&user) {
            return None;
        }
        let of_user = |thing: &Thing| thing.group == user && is_of_a_user(thing.kind);
        match random.below(100) {
            0..40 => Some(self.messages(&user, random)),
            40..52 => {
                let (number, state) = self.make(ThingKind::Cache, &user, "");
                let arguments = json!({"user_id": user, "query": format!("thing {number:05} question"), "response": text(number, 1)});
                Some(self.one("memory-mcp", "store_cache", arguments, number, state))
            }
            52..58 => {
                let entry = self.live(&[ThingKind::Cache], random)?;
                let arguments = json!({"user_id": entry.group, "pattern": format!("thing {:05} question", entry.number)});
                Some(self.one(
                    "memory-mcp",
                    "cache_invalidate",
                    arguments,
                    entry.number,
                    None,
                ))
            }
            58..82 => {
                let (number, user) = match self.live(&[ThingKind::Decision], random) {
                    Some(decision) if random.chance(60) => (decision.number, decision.group),
                    _ => (self.make(ThingKind::Decision, &user, "").0, user),
                };
                let version = self.next_version(number);
                let value = text(number, version);
                let arguments =
                    json!({"user_id": user, "key": format!("thing {number:05}"), "value": value});
                Some(self.one(
                    "memory-mcp",
                    "store_decision",
                    arguments,
                    number,
                    Some(format!("v{version}")),
                ))
            }
            82..98 => {
                let message = self.live(&[ThingKind::Message], random)?;
                let arguments = json!({"user_id": message.group, "memory_id": message.id});
                let call = self.one(
                    "memory-mcp",
                    "delete_memory",
                    arguments,
                    message.number,
                    None,
                );
                // The long-term memory of a message is removed with it, unless it is enriched
                // already.
                Some(Call {
                    may_remove: Some(Ledger::kept(message.number)),
                    ..call
                })
            }
            _ => {
                let arguments = json!({"user_id": user, "confirm": true});
                self.clearing("memory-mcp", "wipe_user_data", arguments, &user, of_user)
            }
        }
    }

    fn messages(&mut self, user: &str, random: &mut Random) -> Call {
        let mut effects = Vec::new();
        let mut kept = Vec::new();
        let mut messages = Vec::new();
        for _ in 0..=random.below(3) {
            let (number, state) = self.make(ThingKind::Message, user, "");
            let role = random.pick(&["user", "assistant", "tool"]);
            messages.push(json!({"role": role, "content": text(number, 1)}));
            effects.push((number, state.clone()));
            if role == "user" && text(number, 1).len() > SHORT_MAX {
                let number = Ledger::kept(number);
                self.things.insert(
                    number,
                    Thing {
                        number,
                        ..new_thing(ThingKind::Kept, user)
                    },
                );
                kept.push((number, state));
            }
        }
        effects.extend(kept);
        let thread = format!("talk {}", random.below(5));
        let arguments = json!({"user_id": user, "conversation_id": thread, "messages": messages});
        Call {
            effects,
            is_atomic: true,
            ..self.bare("memory-mcp", "store_memory", arguments)
        }
    }

    fn engram(&mut self, random: &mut Random) -> Option<Call> {
        const KINDS: [ThingKind; 2] = [ThingKind::Engram, ThingKind::Discovery];
        let scope = format!("scope-{}", random.below(3));
        if self.is_being_cleared(&scope) {
            return None;
        }
        match random.below(100) {
            0..38 => {
                let (number, state) = self.make(ThingKind::Engram, &scope, " private");
                let arguments = json!({"content": text(number, 1), "scope": scope, "source": "user-said", "category": "gotcha"});
                Some(self.one("engram", "store_memory", arguments, number, state))
            }
            38..50 => {
                let (number, state) =
                    self.make(ThingKind::Discovery, "discovery:repo:loci", " private");
                let citations = json!([{"kind": "file", "ref": "src/main.rs"}]);
                let arguments = json!({
                    "content": text(number, 1), "scope": "discovery:repo:loci", "kind": "fact", "citations": citations,
                });
                Some(self.one("engram", "store_discovery", arguments, number, state))
            }
            50..68 => {
                let thing = self.live(&KINDS, random)?;
                Some(self.changing("engram", "update_memory", "id", thing))
            }
            68..82 => {
                let thing = self.live(&KINDS, random)?;
                let state = thing.states[0].clone()?;
                let (version, visibility) = state.split_once(' ')?;
                let shared = visibility == "private";
                let state = format!("{version} {}", if shared { "shared" } else { "private" });
                let arguments = json!({"id": thing.id, "shared": shared});
                Some(self.one(
                    "engram",
                    "set_visibility",
                    arguments,
                    thing.number,
                    Some(state),
                ))
            }
            82..98 => {
                let thing = self.live(&KINDS, random)?;
                Some(self.forgetting("engram", "delete_memory", "id", thing))
            }
            _ => {
                let of_scope =
                    |thing: &Thing| thing.group == scope && thing.kind == ThingKind::Engram;
                self.clearing(
                    "engram",
                    "delete_all",
                    json!({"scope": scope}),
                    &scope,
                    of_scope,
                )
            }
        }
    }

    fn mempalace(&mut self, random: &mut Random) -> Option<Call> {
        const KINDS: [ThingKind; 3] = [ThingKind::Drawer, ThingKind::Diary, ThingKind::Memory];
        let place = format!("w{}/r{}", random.below(4), random.below(5));
        let (wing, room) = place.split_once('/')?;
        match random.below(100) {
            0..24 => {
                let source = random
                    .chance(40)
                    .then(|| format!("source {}", random.below(3)));
                if source
                    .as_deref()
                    .is_some_and(|name| self.is_being_cleared(name))
                {
                    return None;
                }
                let group = source.as_deref().unwrap_or_default();
                let (number, state) = self.make(ThingKind::Drawer, group, &format!(" {place}"));
                let arguments = json!({"wing": wing, "room": room, "content": text(number, 1), "source_file": source});
                Some(self.one(
                    "mempalace",
                    "mempalace_add_drawer",
                    arguments,
                    number,
                    state,
                ))
            }
            24..30 => Some(self.checkpoint(wing, room, random)),
            30..42 => {
                let thing = self.live(&KINDS, random)?;
                Some(self.changing("mempalace", "mempalace_update_drawer", "drawer_id", thing))
            }
            42..50 => {
                let thing = self.live(&[ThingKind::Drawer], random)?;
                let state = thing.states[0].clone()?;
                let state = format!("{} {place}", state.split_once(' ')?.0);
                let arguments = json!({"drawer_id": thing.id, "wing": wing, "room": room});
                Some(self.one(
                    "mempalace",
                    "mempalace_update_drawer",
                    arguments,
                    thing.number,
                    Some(state),
                ))
            }
            50..62 => {
                let thing = self.live(&KINDS, random)?;
                Some(self.forgetting("mempalace", "mempalace_delete_drawer", "drawer_id", thing))
            }
            62..80 => self.fact(random),
            80..92 => self.tunnel(random),
            92..94 => {
                let source = format!("source {}", random.below(3));
                let of_source = |thing: &Thing| thing.group == source;
                let arguments = json!({"source_file": source, "dry_run": false});
                let tool = "mempalace_delete_by_source";
                self.clearing("mempalace", tool, arguments, &source, of_source)
            }
            94..97 => {
                let (number, state) = self.make(ThingKind::Diary, "", "");
                let arguments = json!({"agent_name": "ann", "entry": text(number, 1)});
                Some(self.one(
                    "mempalace",
                    "mempalace_diary_write",
                    arguments,
                    number,
                    state,
                ))
            }
            _ => {
                self.things
                    .entry(SETTING)
                    .or_insert_with(|| new_thing(ThingKind::Setting, ""));
                if self.things.get(&SETTING)?.is_busy {
                    return None;
                }
                let (silent, toast) = (random.chance(50), random.chance(50));
                let arguments = json!({"silent_save": silent, "desktop_toast": toast});
                let state = Some(format!("{silent} {toast}"));
                Some(self.one(
                    "mempalace",
                    "mempalace_hook_settings",
                    arguments,
                    SETTING,
                    state,
                ))
            }
        }
    }

    /// Files some texts, and mostly writes an entry of a diary: each by itself.
    fn checkpoint(&mut self, wing: &str, room: &str, random: &mut Random) -> Call {
        let (mut effects, mut items) = (Vec::new(), Vec::new());
        for _ in 0..=random.below(3) {
            let (number, state) = self.make(ThingKind::Drawer, "", &format!(" {wing}/{room}"));
            items.push(json!({"wing": wing, "room": room, "content": text(number, 1)}));
            effects.push((number, state));
        }
        let mut arguments = json!({"items": items, "dedup_threshold": 1});
        if random.chance(70) {
            let (number, state) = self.make(ThingKind::Diary, "", "");
            arguments["diary"] = json!({"agent_name": "ann", "entry": text(number, 1)});
            effects.push((number, state));
        }
        Call {
            effects,
            ..self.bare("mempalace", "mempalace_checkpoint", arguments)
        }
    }

    /// Notes a fact, or ends one, by itself or for another one of the same subject.
    fn fact(&mut self, random: &mut Random) -> Option<Call> {
        let end = random.below(18);
        if end < 10 {
            let (number, _) = self.make(ThingKind::Fact, "", "");
            let subject = format!("thing {number:05}");
            self.things.get_mut(&number)?.group.clone_from(&subject);
            let arguments =
                json!({"subject": subject, "predicate": "is", "object": object(number)});
            let state = Some("open".to_owned());
            return Some(self.one("mempalace", "mempalace_kg_add", arguments, number, state));
        }
        let number = self.pick(random, |thing| {
            thing.is_live()
                && thing.kind == ThingKind::Fact
                && thing.states[0].as_deref() == Some("open")
        })?;
        let subject = self.things.get(&number)?.group.clone();
        let ended = Some("ended".to_owned());
        if end < 14 {
            let arguments =
                json!({"subject": subject, "predicate": "is", "object": object(number)});
            return Some(self.one(
                "mempalace",
                "mempalace_kg_invalidate",
                arguments,
                number,
                ended,
            ));
        }
        let (next, _) = self.make(ThingKind::Fact, &subject, "");
        let arguments = json!({
            "subject": subject, "predicate": "is", "old_object": object(number), "new_object": object(next),
        });
        Some(Call {
            effects: vec![(number, ended), (next, Some("open".to_owned()))],
            ..self.bare("mempalace", "mempalace_kg_supersede", arguments)
        })
    }

    fn tunnel(&mut self, random: &mut Random) -> Option<Call> {
        if random.chance(35) {
            let tunnel = self.live(&[ThingKind::Tunnel], random)?;
            return Some(self.forgetting(
                "mempalace",
                "mempalace_delete_tunnel",
                "tunnel_id",
                tunnel,
            ));
        }
        // Two locations have at most one tunnel, so they identify the thing.
        let rooms = (random.below(ROOMS as usize), random.below(ROOMS as usize));
        let group = format!("r{} r{}", rooms.0, rooms.1);
        let of_places = |thing: &&Thing| thing.kind == ThingKind::Tunnel && thing.group == group;
        let number = match self.things.values().find(of_places) {
            Some(tunnel) if tunnel.is_busy => return None,
            Some(tunnel) => tunnel.number,
            None => self.make(ThingKind::Tunnel, &group, "").0,
        };
        let version = self.next_version(number);
        if let Some(tunnel) = self
            .things
            .get_mut(&number)
            .filter(|tunnel| !tunnel.is_live())
        {
            // It gets another id when it is created again.
            tunnel.id = None;
        }
        let arguments = json!({
            "source_wing": "left", "source_room": format!("r{}", rooms.0), "target_wing": "right",
            "target_room": format!("r{}", rooms.1), "label": format!("thing {number:05} label {version}"),
        });
        let state = Some(format!("v{version}"));
        Some(self.one(
            "mempalace",
            "mempalace_create_tunnel",
            arguments,
            number,
            state,
        ))
    }

    /// Creates a thing and returns the state of its first version, with `detail` appended.
    pub(super) fn make(
        &mut self,
        kind: ThingKind,
        group: &str,
        detail: &str,
    ) -> (u32, Option<String>) {
        self.last_thing += 1;
        let number = self.last_thing;
        self.things.insert(
            number,
            Thing {
                number,
                version: u32::from(has_first(kind)),
                ..new_thing(kind, group)
            },
        );
        (number, Some(format!("v1{detail}")))
    }

    pub(super) fn next_version(&mut self, number: u32) -> u32 {
        self.things.get_mut(&number).map_or(1, |thing| {
            thing.version += 1;
            thing.version
        })
    }

    /// Returns a thing of these kinds that certainly exists and whose id is known.
    pub(super) fn live(&self, kinds: &[ThingKind], random: &mut Random) -> Option<Thing> {
        let has_id = |thing: &Thing| {
            thing.id.is_some()
                || matches!(
                    thing.kind,
                    ThingKind::Cache
                        | ThingKind::Decision
                        | ThingKind::Fact
                        | ThingKind::Observation
                        | ThingKind::File
                )
        };
        let number = self.pick(random, |thing| {
            kinds.contains(&thing.kind) && thing.is_live() && has_id(thing)
        })?;
        self.things.get(&number).cloned()
    }

    pub(super) fn pick(&self, random: &mut Random, filter: impl Fn(&Thing) -> bool) -> Option<u32> {
        let fit: Vec<u32> = self
            .things
            .values()
            .filter(|thing| filter(thing))
            .map(|thing| thing.number)
            .collect();
        (!fit.is_empty()).then(|| random.pick(&fit))
    }

    fn changing(
        &mut self,
        dialect: &'static str,
        tool: &'static str,
        argument: &str,
        thing: Thing,
    ) -> Call {
        let version = self.next_version(thing.number);
        let state = thing.states[0].clone().unwrap_or_default();
        let detail = state
            .split_once(' ')
            .map(|(_, detail)| format!(" {detail}"))
            .unwrap_or_default();
        let arguments = json!({argument: thing.id, "content": text(thing.number, version)});
        self.one(
            dialect,
            tool,
            arguments,
            thing.number,
            Some(format!("v{version}{detail}")),
        )
    }

    fn forgetting(
        &mut self,
        dialect: &'static str,
        tool: &'static str,
        argument: &str,
        thing: Thing,
    ) -> Call {
        let left = thing.states[0]
            .clone()
            .filter(|_| thing.kind == ThingKind::Note);
        let state = left.map(|version| format!("{version} deleted"));
        self.one(
            dialect,
            tool,
            json!({argument: thing.id}),
            thing.number,
            state,
        )
    }

    /// Creates a call that removes all matching things; `None` while another call for one is in
    /// progress.
    pub(super) fn clearing(
        &mut self,
        dialect: &'static str,
        tool: &'static str,
        arguments: Value,
        group: &str,
        filter: impl Fn(&Thing) -> bool,
    ) -> Option<Call> {
        let fit = || self.things.values().filter(|thing| filter(thing));
        if fit().any(|thing| thing.is_busy) {
            return None;
        }
        let effects = fit()
            .filter(|thing| thing.states != [None])
            .map(|thing| (thing.number, None))
            .collect();
        Some(Call {
            effects,
            clears: Some(group.to_owned()),
            ..self.bare(dialect, tool, arguments)
        })
    }

    /// Returns true while a call is in progress that may remove things of this group.
    pub(super) fn is_being_cleared(&self, group: &str) -> bool {
        self.open
            .values()
            .any(|call| call.clears.as_deref() == Some(group))
    }

    pub(super) fn one(
        &mut self,
        dialect: &'static str,
        tool: &'static str,
        arguments: Value,
        thing: u32,
        state: Option<String>,
    ) -> Call {
        Call {
            effects: vec![(thing, state)],
            ..self.bare(dialect, tool, arguments)
        }
    }

    pub(super) fn bare(
        &mut self,
        dialect: &'static str,
        tool: &'static str,
        arguments: Value,
    ) -> Call {
        self.calls += 1;
        Call {
            id: self.calls,
            dialect,
            tool,
            arguments,
            effects: Vec::new(),
            is_atomic: false,
            is_keyed: false,
            may_remove: None,
            clears: None,
        }
    }
}

/// Returns true if the call that creates the thing stores its first version.
fn has_first(kind: ThingKind) -> bool {
    !matches!(kind, ThingKind::Decision | ThingKind::Tunnel)
}

fn is_of_a_user(kind: ThingKind) -> bool {
    matches!(
        kind,
        ThingKind::Message | ThingKind::Kept | ThingKind::Cache | ThingKind::Decision
    )
}

fn new_thing(kind: ThingKind, group: &str) -> Thing {
    Thing {
        number: 0,
        kind,
        id: None,
        group: group.to_owned(),
        states: vec![None],
        is_busy: false,
        version: 1,
    }
}

/// Returns the object of a fact, which shows the number of the fact.
pub(super) fn object(number: u32) -> String {
    format!("object {number:05}")
}
