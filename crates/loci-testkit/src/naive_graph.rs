//! The knowledge graph and the tunnels, in maps.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use loci_core::limits::VERSIONS_MAX;
use loci_core::{
    Direction, Entity, EntityQuery, Fact, FactCounts, FactPlace, FactQuery, FactStore, MemoryId,
    Name, Period, RecordKind, RecordState, RecordVersion, Result, Space, Timestamp, Tunnel,
    TunnelStore,
};

use crate::NaiveStore;
use crate::naive_store::{State, conflict, of_batch};

/// By space and key: the first spelling.
type Spellings = BTreeMap<(Space, String), String>;

/// The space, the kind, the id and the number of a former state.
pub(crate) type VersionKey = (Space, RecordKind, String, u64);

/// The graphs of all spaces.
#[derive(Debug, Default, Clone)]
pub(crate) struct Graph {
    /// By space and id, with the names as written.
    facts: BTreeMap<(Space, String), Fact>,
    /// Space and id of each fact, in the order of insertion.
    filed: Vec<(Space, String)>,
    things: Spellings,
    relations: Spellings,
    /// By space and id.
    tunnels: BTreeMap<(Space, String), Tunnel>,
    /// The former states of each record, by number.
    versions: BTreeMap<(Space, RecordKind, String), BTreeMap<u64, RecordVersion>>,
}

fn keep_first(spellings: &mut Spellings, space: &Space, name: &Name) {
    spellings
        .entry((space.clone(), name.key.clone()))
        .or_insert_with(|| name.spelling.clone());
}

fn as_first_spelled(spellings: &Spellings, space: &Space, name: &Name) -> Name {
    let first = spellings.get(&(space.clone(), name.key.clone()));
    Name {
        key: name.key.clone(),
        spelling: first.unwrap_or(&name.spelling).clone(),
    }
}

fn triple(fact: &Fact) -> [&str; 3] {
    [&fact.subject, &fact.predicate, &fact.object].map(|name| name.key.as_str())
}

impl Graph {
    fn facts(&self, space: &Space) -> impl Iterator<Item = &Fact> {
        self.facts.values().filter(move |fact| fact.space == *space)
    }

    /// Clears the tunnel ends that name this memory.
    pub(crate) fn forget_memory(&mut self, space: &Space, id: &MemoryId) {
        for tunnel in self
            .tunnels
            .values_mut()
            .filter(|tunnel| tunnel.space == *space)
        {
            for end in [&mut tunnel.source, &mut tunnel.target] {
                end.memory.take_if(|memory| memory == id);
            }
        }
    }

    /// Removes the tunnels that only the owner sees, and replaces the owner of the others, and the
    /// author of facts, by the pseudonym.
    pub(crate) fn forget_owner(&mut self, space: &Space, owner: &str, pseudonym: Option<&str>) {
        let is_owned =
            |tunnel: &Tunnel| tunnel.space == *space && tunnel.owner.as_deref() == Some(owner);
        self.tunnels
            .retain(|_, tunnel| tunnel.is_common || !is_owned(tunnel));
        for tunnel in self.tunnels.values_mut().filter(|tunnel| is_owned(tunnel)) {
            tunnel.owner = pseudonym.map(str::to_owned);
        }
        let is_authored =
            |fact: &Fact| fact.space == *space && fact.author.as_deref() == Some(owner);
        for fact in self.facts.values_mut().filter(|fact| is_authored(fact)) {
            fact.author = pseudonym.map(str::to_owned);
        }
        let is_name = |name: &Option<String>| name.as_deref() == Some(owner);
        for ((of, kind, _), versions) in &mut self.versions {
            if of != space {
                continue;
            }
            versions.retain(|_, version| *kind == RecordKind::Fact || !is_name(&version.owner));
            for version in versions.values_mut() {
                if is_name(&version.owner) {
                    version.owner = pseudonym.map(str::to_owned);
                    if let Some(RecordState::Fact(fact)) = &mut version.state {
                        fact.author.clone_from(&version.owner);
                    }
                }
                if is_name(&version.change.by) {
                    let change = &mut version.change;
                    change.by = pseudonym.map(str::to_owned);
                    (change.program, change.session, change.token) = (None, None, None);
                }
            }
        }
    }

    /// Returns the changes of facts and tunnels of a space whose former states are kept.
    pub(crate) fn versions(&self) -> impl Iterator<Item = &RecordVersion> {
        self.versions.values().flat_map(BTreeMap::values)
    }

    /// Returns the former states but for the ones after one whose change has a later time.
    pub(crate) fn versions_in_turn(&self) -> impl Iterator<Item = &RecordVersion> {
        self.versions.values().flat_map(|versions| {
            let mut latest = Timestamp::MIN;
            versions.values().filter(move |version| {
                let is_in_turn = latest <= version.change.at;
                latest = latest.max(version.change.at);
                is_in_turn
            })
        })
    }

    /// Removes a former state.
    pub(crate) fn remove_version(&mut self, (space, kind, id, number): &VersionKey) {
        let key = (space.clone(), *kind, id.clone());
        if let Some(versions) = self.versions.get_mut(&key) {
            versions.remove(number);
        }
    }

    /// Removes the former states of a record.
    pub(crate) fn remove_versions(&mut self, space: &Space, kind: RecordKind, id: &str) {
        let key = (space.clone(), kind, id.to_owned());
        self.versions.remove(&key);
    }

    fn put_version(&mut self, version: &RecordVersion) {
        let key = (version.space.clone(), version.kind, version.id.clone());
        let versions = self.versions.entry(key).or_default();
        let next = versions.last_key_value().map_or(1, |(last, _)| last + 1);
        let number = if version.number == 0 {
            next
        } else {
            version.number
        };
        let version = RecordVersion {
            number,
            ..version.clone()
        };
        versions.insert(number, version);
        while versions.len() > VERSIONS_MAX {
            versions.pop_first();
        }
    }

    /// Returns all facts of all spaces in the order of insertion.
    pub(crate) fn filed(&self) -> impl Iterator<Item = Fact> {
        self.filed
            .iter()
            .filter_map(|key| self.facts.get(key))
            .map(|fact| self.shown(fact))
    }

    /// Returns all tunnels of all spaces, by space and id.
    pub(crate) fn tunnels(&self) -> impl Iterator<Item = &Tunnel> {
        self.tunnels.values()
    }

    fn shown(&self, fact: &Fact) -> Fact {
        Fact {
            subject: as_first_spelled(&self.things, &fact.space, &fact.subject),
            predicate: as_first_spelled(&self.relations, &fact.space, &fact.predicate),
            object: as_first_spelled(&self.things, &fact.space, &fact.object),
            ..fact.clone()
        }
    }
}

impl State {
    pub(crate) fn put_fact(&mut self, space: &Space, fact: &Fact) -> Result<()> {
        of_batch(space, &fact.space, "a fact")?;
        let key = (space.clone(), fact.id.clone());
        if self.graph.facts.contains_key(&key) {
            return Err(conflict(format!("there is a fact `{}` already", fact.id)));
        }
        let holds_as_long = |other: &Fact| {
            other.valid_to == fact.valid_to
                && (fact.valid_to.is_none() || other.valid_from == fact.valid_from)
        };
        let is_same = |other: &Fact| holds_as_long(other) && triple(other) == triple(fact);
        if self.graph.facts(space).any(is_same) {
            return Err(conflict("the same fact is there already; read it"));
        }
        keep_first(&mut self.graph.things, space, &fact.subject);
        keep_first(&mut self.graph.relations, space, &fact.predicate);
        keep_first(&mut self.graph.things, space, &fact.object);
        self.graph.filed.push(key.clone());
        self.graph.facts.insert(key, fact.clone());
        Ok(())
    }

    pub(crate) fn end_fact(
        &mut self,
        space: &Space,
        id: &str,
        before: Option<Period>,
        valid_to: Option<Period>,
    ) -> Result<()> {
        let key = (space.clone(), id.to_owned());
        let open = self.graph.facts.get(&key).filter(|_| valid_to.is_none());
        let is_open = |other: &Fact| {
            other.id != id
                && other.valid_to.is_none()
                && open.is_some_and(|fact| triple(other) == triple(fact))
        };
        if self.graph.facts(space).any(is_open) {
            return Err(conflict("the same fact is open already; read it"));
        }
        let fact = self.graph.facts.get_mut(&(space.clone(), id.to_owned()));
        let Some(fact) = fact.filter(|fact| fact.valid_to == before) else {
            return Err(conflict(format!(
                "fact `{id}` changed meanwhile; read it again and retry"
            )));
        };
        fact.valid_to = valid_to;
        Ok(())
    }

    pub(crate) fn delete_facts(
        &mut self,
        space: &Space,
        facts: &[(String, Option<Period>)],
    ) -> Result<()> {
        for (id, before) in facts {
            let key = (space.clone(), id.clone());
            let fact = self.graph.facts.get(&key);
            if fact.is_none_or(|fact| fact.valid_to != *before) {
                return Err(conflict(format!(
                    "fact `{id}` is not there or changed; read it again and retry"
                )));
            }
            self.graph.facts.remove(&key);
            self.graph.remove_versions(space, RecordKind::Fact, id);
            self.graph.filed.retain(|filed| *filed != key);
        }
        let left: Vec<[String; 3]> = self
            .graph
            .facts(space)
            .map(|fact| triple(fact).map(str::to_owned))
            .collect();
        self.graph.things.retain(|(of, key), _| {
            of != space || left.iter().any(|it| it[0] == *key || it[2] == *key)
        });
        self.graph
            .relations
            .retain(|(of, key), _| of != space || left.iter().any(|it| it[1] == *key));
        Ok(())
    }

    pub(crate) fn put_record_version(
        &mut self,
        space: &Space,
        version: &RecordVersion,
    ) -> Result<()> {
        of_batch(space, &version.space, "a former state")?;
        self.graph.put_version(version);
        Ok(())
    }

    pub(crate) fn put_tunnel(
        &mut self,
        space: &Space,
        tunnel: &Tunnel,
        expect: Option<&Tunnel>,
    ) -> Result<()> {
        of_batch(space, &tunnel.space, "a tunnel")?;
        let key = (space.clone(), tunnel.id.clone());
        if self.graph.tunnels.get(&key) != expect {
            return Err(conflict(format!(
                "tunnel `{}` changed meanwhile; read it again and retry",
                tunnel.id
            )));
        }
        for memory in [&tunnel.source, &tunnel.target]
            .into_iter()
            .filter_map(|end| end.memory.as_ref())
        {
            if !self.records.contains_key(&(space.clone(), memory.clone())) {
                return Err(conflict(format!(
                    "memory `{memory}` is gone; read it again and retry"
                )));
            }
        }
        self.graph.tunnels.insert(key, tunnel.clone());
        Ok(())
    }

    pub(crate) fn delete_tunnel(&mut self, space: &Space, id: &str) -> Result<()> {
        let removed = self.graph.tunnels.remove(&(space.clone(), id.to_owned()));
        removed
            .map(drop)
            .ok_or_else(|| conflict(format!("there is no tunnel `{id}`; list the tunnels")))
    }
}

impl FactStore for NaiveStore {
    fn facts(&self, query: &FactQuery) -> Result<Vec<Fact>> {
        let graph = &self.state().graph;
        let has_part = |fact: &Fact| {
            query.entity.as_ref().is_none_or(|(key, direction)| {
                let (is_subject, is_object) = (fact.subject.key == *key, fact.object.key == *key);
                match direction {
                    Direction::Outgoing => is_subject,
                    Direction::Incoming => is_object,
                    Direction::Both => is_subject || is_object,
                }
            })
        };
        let passes = |fact: &&Fact| {
            has_part(fact)
                && query
                    .triple
                    .as_ref()
                    .is_none_or(|keys| triple(fact) == keys.each_ref().map(String::as_str))
                && query
                    .relation
                    .as_ref()
                    .is_none_or(|keys| triple(fact)[..2] == keys.each_ref().map(String::as_str))
                && query.as_of.is_none_or(|period| fact.holds_in(period))
                && query
                    .beyond
                    .as_ref()
                    .is_none_or(|place| FactPlace::of(fact) > *place)
        };
        let mut passing: Vec<&Fact> = graph.facts(&query.space).filter(passes).collect();
        passing.sort_by_key(|fact| FactPlace::of(fact));
        Ok(passing
            .into_iter()
            .skip(query.offset)
            .take(query.limit)
            .map(|fact| graph.shown(fact))
            .collect())
    }

    fn facts_with_ids(&self, space: &Space, ids: &[String]) -> Result<Vec<Fact>> {
        let graph = &self.state().graph;
        let with_id = |id: &String| graph.facts.get(&(space.clone(), id.clone()));
        let found = ids.iter().filter_map(with_id);
        Ok(found.map(|fact| graph.shown(fact)).collect())
    }

    fn entities(&self, query: &EntityQuery) -> Result<Vec<Entity>> {
        let graph = &self.state().graph;
        let now = Period {
            first: query.now,
            last: query.now,
        };
        let mut entities: BTreeMap<String, Entity> = BTreeMap::new();
        for fact in graph.facts(&query.space) {
            if !fact.holds_in(query.as_of) {
                continue;
            }
            let shown = graph.shown(fact);
            let names: BTreeMap<_, _> = [shown.subject, shown.object]
                .map(|name| (name.key.clone(), name))
                .into();
            for (key, name) in names {
                if !key.contains(&query.text) {
                    continue;
                }
                let entity = entities.entry(key).or_insert(Entity {
                    name,
                    current: 0,
                    past: 0,
                });
                entity.current += u64::from(fact.holds_in(now));
                entity.past += u64::from(!fact.is_open_after(query.now));
            }
        }
        let mut entities: Vec<Entity> = entities.into_values().collect();
        entities.sort_by_key(|entity| Reverse(entity.facts()));
        entities.truncate(query.limit);
        Ok(entities)
    }

    fn fact_counts(&self, space: &Space, now: Timestamp) -> Result<FactCounts> {
        let graph = &self.state().graph;
        let facts = || graph.facts(space);
        let entities: BTreeSet<_> = facts()
            .flat_map(|fact| [&fact.subject.key, &fact.object.key])
            .collect();
        let predicates: BTreeSet<_> = facts().map(|fact| &fact.predicate.key).collect();
        let spelling = |key: &String| graph.relations[&(space.clone(), key.clone())].clone();
        Ok(FactCounts {
            entities: entities.len() as u64,
            facts: facts().count() as u64,
            open: facts().filter(|fact| fact.is_open_after(now)).count() as u64,
            to_come: facts()
                .filter(|fact| fact.is_open_after(now) && fact.begins_after(now))
                .count() as u64,
            predicates: predicates.into_iter().map(spelling).collect(),
        })
    }
}

impl TunnelStore for NaiveStore {
    fn tunnels(&self, space: &Space) -> Result<Vec<Tunnel>> {
        let state = self.state();
        let all = state
            .graph
            .tunnels
            .values()
            .filter(|tunnel| tunnel.space == *space);
        let mut all: Vec<Tunnel> = all.cloned().collect();
        all.sort_by(|left, right| {
            left.created_at
                .cmp(&right.created_at)
                .then_with(|| left.id.cmp(&right.id))
        });
        Ok(all)
    }
}
