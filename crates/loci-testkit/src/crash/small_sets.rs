//! Random calls of the small tool sets that write: the graph of the reference server, and the files
//! of Anthropic's memory tool.

use serde_json::{Value, json};

use super::calls::object;
use super::ledger::{Call, Ledger, Thing, ThingKind, text};
use crate::Random;

/// The number of folders of files.
const FOLDERS: usize = 4;
/// The number of things up to which every call is made. These tool sets read a bounded number of
/// memories, and do not see the others; what is only added needs to see nothing.
const THINGS_SEEN: u32 = 6_000;
/// The relation of facts that other tool sets end, too.
const RELATION: &str = "is";

impl Ledger {
    /// Creates a call of the reference server's tools; `None` if it has nothing to work on.
    pub(super) fn reference(&mut self, random: &mut Random) -> Option<Call> {
        let most = if self.last_thing < THINGS_SEEN {
            100
        } else {
            34
        };
        match random.below(most) {
            0..34 => Some(self.entities(random)),
            34..56 => {
                let entity = self.live_entity(random)?;
                let (texts, effects) = self.observations(&entity.group, 1 + random.below(3));
                let arguments =
                    json!({"observations": [{"entityName": entity.group, "contents": texts}]});
                Some(Call {
                    effects,
                    ..self.bare("reference", "add_observations", arguments)
                })
            }
            56..70 => {
                let entity = self.live_entity(random)?;
                let (number, _) = self.make(ThingKind::Fact, &entity.group, "");
                let relations = [relation(&entity.group, number)];
                let arguments = json!({ "relations": relations });
                let state = Some("open".to_owned());
                Some(self.one("reference", "create_relations", arguments, number, state))
            }
            70..80 => {
                let number = self.pick(random, |thing| {
                    thing.kind == ThingKind::Fact && is_open(thing)
                })?;
                let relations = [relation(&self.things.get(&number)?.group, number)];
                let arguments = json!({ "relations": relations });
                let state = Some("ended".to_owned());
                Some(self.one("reference", "delete_relations", arguments, number, state))
            }
            80..92 => {
                let observation = self.live(&[ThingKind::Observation], random)?;
                let Thing { number, group, .. } = observation;
                let deletion = json!({"entityName": group, "observations": [text(number, 1)]});
                let arguments = json!({ "deletions": [deletion] });
                Some(self.one("reference", "delete_observations", arguments, number, None))
            }
            _ => {
                let Thing { group, .. } = self.live_entity(random)?;
                let arguments = json!({ "entityNames": [group] });
                let of_entity = |thing: &Thing| thing.group == group;
                let call =
                    self.clearing("reference", "delete_entities", arguments, &group, of_entity)?;
                Some(self.with_facts_ended(call))
            }
        }
    }

    /// Creates some entities, each with its observations: each record by itself.
    fn entities(&mut self, random: &mut Random) -> Call {
        let (mut entities, mut effects) = (Vec::new(), Vec::new());
        for _ in 0..=random.below(2) {
            let (number, _) = self.make(ThingKind::Entity, "", "");
            let name = format!("entity {number:05}");
            if let Some(entity) = self.things.get_mut(&number) {
                entity.group.clone_from(&name);
            }
            effects.push((number, Some("open".to_owned())));
            let (texts, of_texts) = self.observations(&name, random.below(3));
            effects.extend(of_texts);
            entities
                .push(json!({"name": name, "entityType": object(number), "observations": texts}));
        }
        Call {
            effects,
            ..self.bare(
                "reference",
                "create_entities",
                json!({ "entities": entities }),
            )
        }
    }

    /// Creates observations of an entity; returns their texts, and their states after the call.
    fn observations(
        &mut self,
        entity: &str,
        count: usize,
    ) -> (Vec<String>, Vec<(u32, Option<String>)>) {
        let made = (0..count).map(|_| {
            let (number, state) = self.make(ThingKind::Observation, entity, "");
            (text(number, 1), (number, state))
        });
        made.unzip()
    }

    fn live_entity(&self, random: &mut Random) -> Option<Thing> {
        let is_wanted = |thing: &Thing| thing.kind == ThingKind::Entity && is_open(thing);
        let number = self.pick(random, is_wanted)?;
        self.things.get(&number).cloned()
    }

    /// Returns a call that removes things with what it does to facts: it ends them.
    fn with_facts_ended(&self, mut call: Call) -> Call {
        for (number, state) in &mut call.effects {
            let kind = self.things.get(number).map(|thing| thing.kind);
            if matches!(kind, Some(ThingKind::Entity | ThingKind::Fact)) {
                *state = Some("ended".to_owned());
            }
        }
        call
    }

    /// Creates a call of Anthropic's memory tool; `None` if it has nothing to work on.
    pub(super) fn anthropic(&mut self, random: &mut Random) -> Option<Call> {
        let most = if self.last_thing < THINGS_SEEN {
            100
        } else {
            40
        };
        let command = random.below(most);
        if command < 40 {
            return self.file(random);
        }
        if command >= 97 {
            return self.folder_deleted(random);
        }
        let file = self.live(&[ThingKind::File], random)?;
        let state = FileState::parse(file.states[0].as_deref()?)?;
        let number = file.number;
        let mut next = state.clone();
        let arguments = match command {
            40..58 => {
                let version = self.next_version(number);
                next.version = version;
                json!({
                    "command": "str_replace", "path": path(&state.path),
                    "old_str": text(number, state.version), "new_str": text(number, version),
                })
            }
            58..70 => {
                let lines = text(number, state.version).split('\n').count() + state.inserted;
                next.inserted += 1;
                json!({
                    "command": "insert", "path": path(&state.path), "insert_line": lines, "insert_text": " ",
                })
            }
            70..84 => {
                let version = self.next_version(number);
                let (folder, _) = state.path.split_once('/')?;
                next.path = format!("{folder}/file-{number:05}-{version}.md");
                json!({
                    "command": "rename", "old_path": path(&state.path), "new_path": path(&next.path),
                })
            }
            _ => {
                let arguments = json!({"command": "delete", "path": path(&state.path)});
                return Some(self.one("anthropic", "memory", arguments, number, None));
            }
        };
        Some(self.one("anthropic", "memory", arguments, number, Some(next.told())))
    }

    fn file(&mut self, random: &mut Random) -> Option<Call> {
        let folder = format!("folder-{}", random.below(FOLDERS));
        if self.is_being_cleared(&folder) {
            return None;
        }
        let (number, _) = self.make(ThingKind::File, &folder, "");
        let state = FileState {
            version: 1,
            path: format!("{folder}/file-{number:05}.md"),
            inserted: 0,
        };
        let arguments = json!({
            "command": "create", "path": path(&state.path), "file_text": text(number, 1),
        });
        let state = Some(state.told());
        Some(self.one("anthropic", "memory", arguments, number, state))
    }

    /// Deletes a folder with all files in it, of which there must be some: the tool refuses a
    /// folder that is not there.
    fn folder_deleted(&mut self, random: &mut Random) -> Option<Call> {
        let Thing { group, .. } = self.live(&[ThingKind::File], random)?;
        let arguments = json!({"command": "delete", "path": path(&group)});
        let in_folder = |thing: &Thing| thing.kind == ThingKind::File && thing.group == group;
        self.clearing("anthropic", "memory", arguments, &group, in_folder)
    }
}

/// Returns true for a fact that certainly holds, or an entity that certainly exists.
fn is_open(thing: &Thing) -> bool {
    thing.is_live() && thing.states[0].as_deref() == Some("open")
}

fn relation(from: &str, number: u32) -> Value {
    json!({"from": from, "to": object(number), "relationType": RELATION})
}

fn path(relative: &str) -> String {
    format!("/memories/{relative}")
}

/// The state of a file: `v1 folder-0/file-00012.md 0`.
#[derive(Clone)]
struct FileState {
    version: u32,
    path: String,
    /// The number of blank lines that were inserted at its end.
    inserted: usize,
}

impl FileState {
    fn parse(state: &str) -> Option<Self> {
        let mut parts = state.split(' ');
        Some(FileState {
            version: parts.next()?.strip_prefix('v')?.parse().ok()?,
            path: parts.next()?.to_owned(),
            inserted: parts.next()?.parse().ok()?,
        })
    }

    fn told(&self) -> String {
        let FileState {
            version,
            path,
            inserted,
        } = self;
        format!("v{version} {path} {inserted}")
    }
}
