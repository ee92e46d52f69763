//! The entities of the knowledge graph.

use std::collections::BTreeMap;

use loci_core::{FactQuery, Period, Result};

use crate::graph::Graph;
use crate::graph::knowledge_graph::{EVER, name_key};

/// The most facts whose entities are counted.
const FACTS_READ_MAX: usize = 20_000;

/// An entity with the number of facts that it is subject or object of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entity {
    /// Its name, as one of its facts spells it.
    pub name: String,
    /// The facts that hold now.
    pub current: u64,
    /// The facts that are over.
    pub past: u64,
}

/// Entities in the order of their names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Entities {
    /// The entities.
    pub entities: Vec<Entity>,
    /// The number of facts whose entities these are.
    pub facts: usize,
    /// True if there are more facts, whose entities are not counted.
    pub is_cut: bool,
}

impl Graph<'_> {
    /// Returns the entities whose names contain a text, without regard to case; all if it is empty.
    /// Reads the first 20,000 facts.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn entities(&self, text: &str) -> Result<Entities> {
        self.entities_of(text, FACTS_READ_MAX)
    }

    /// Returns the same from as many of the first facts.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn entities_of(&self, text: &str, facts_max: usize) -> Result<Entities> {
        let mut facts = self.store.facts(&FactQuery {
            space: self.caller.space.clone(),
            entity: None,
            triple: None,
            relation: None,
            as_of: Some(EVER),
            beyond: None,
            offset: 0,
            limit: facts_max + 1,
        })?;
        let is_cut = facts.len() > facts_max;
        facts.truncate(facts_max);
        let now = self.clock.now();
        let today = Period {
            first: now,
            last: now,
        };
        let wanted = name_key(text);
        let mut entities: BTreeMap<&str, Entity> = BTreeMap::new();
        for fact in &facts {
            let is_current = fact.holds_in(today);
            let is_past = !fact.is_open_after(now);
            let both = [&fact.subject, &fact.object];
            // A fact of an entity about itself is one fact.
            let names = &both[..if fact.subject.key == fact.object.key {
                1
            } else {
                2
            }];
            for name in names.iter().filter(|name| name.key.contains(&wanted)) {
                let entity = entities.entry(&name.key).or_insert_with(|| Entity {
                    name: name.spelling.clone(),
                    current: 0,
                    past: 0,
                });
                entity.current += u64::from(is_current);
                entity.past += u64::from(is_past);
            }
        }
        Ok(Entities {
            entities: entities.into_values().collect(),
            facts: facts.len(),
            is_cut,
        })
    }
}
