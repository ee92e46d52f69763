//! Facts as they were known at a time.

use std::collections::HashMap;

use loci_core::limits::FACTS_MAX;
use loci_core::{
    ChangeQuery, Direction, Error, ErrorCode, Fact, FactPlace, FactQuery, Period, RecordKind,
    RecordState, Result, Timestamp,
};

use crate::graph::Graph;
use crate::graph::knowledge_graph::{Facts, is_retracted, name};
use crate::search::as_of::check_kept;

/// The most changes since a time that are put together.
const CHANGES_MAX: usize = 100_000;

impl Graph<'_> {
    /// Returns the facts about an entity as they were known at a time, after the first `offset`: with
    /// the ends of then, without the ones that were added later, and with what was taken back since.
    /// With `as_of`, only those that, by what was known, held then.
    ///
    /// # Errors
    /// As for [`facts_about`](crate::Graph::facts_about); `invalid_argument`, naming `known_at`, for a
    /// time that lies in the future, or before what is kept, or with too many changes since.
    pub fn facts_known_at(
        &self,
        (entity, direction): (&str, Direction),
        as_of: Option<Period>,
        known_at: Timestamp,
        offset: usize,
    ) -> Result<Facts> {
        let entity = (name("entity", entity)?.key, direction);
        check_kept(
            "known_at",
            known_at,
            (self.clock.now(), self.history_seconds),
        )?;
        let former = self.facts_changed_since(known_at)?;
        let query = FactQuery {
            space: self.caller.space.clone(),
            entity: Some(entity),
            triple: None,
            relation: None,
            as_of: None,
            beyond: None,
            offset: 0,
            limit: usize::MAX,
        };
        let as_known = |fact: Fact| match former.get(&fact.id) {
            None => (fact.created_at <= known_at).then_some(fact),
            Some(None) => None,
            Some(Some(former)) => Some(Fact {
                valid_to: former.valid_to,
                ..fact
            }),
        };
        let known = self.store.facts(&query)?.into_iter().filter_map(as_known);
        let mut known: Vec<Fact> = known
            .filter(|fact| !is_retracted(fact))
            .filter(|fact| as_of.is_none_or(|period| fact.holds_in(period)))
            .collect();
        known.sort_by_key(FactPlace::of);
        let is_cut = known.len() > offset.saturating_add(FACTS_MAX);
        let facts = known.into_iter().skip(offset).take(FACTS_MAX).collect();
        Ok(Facts { facts, is_cut })
    }

    /// Returns the facts that were changed after a time, as they were before the first of these
    /// changes; `None` for one that was not there.
    fn facts_changed_since(&self, at: Timestamp) -> Result<HashMap<String, Option<Fact>>> {
        let since = Timestamp::from_microseconds(at.microseconds().saturating_add(1));
        let changes = self.store.record_changes(&ChangeQuery {
            space: self.caller.space.clone(),
            since: Some(since),
            limit: CHANGES_MAX + 1,
            ..ChangeQuery::default()
        })?;
        if changes.len() > CHANGES_MAX {
            let message =
                format!("more than {CHANGES_MAX} facts were changed since then; name a later time");
            let code = ErrorCode::InvalidArgument;
            return Err(Error::about_argument(code, "known_at", message));
        }
        // The latest change comes first, so that the first one stays.
        let mut former = HashMap::new();
        for version in changes {
            if version.kind != RecordKind::Fact {
                continue;
            }
            let fact = match version.state {
                Some(RecordState::Fact(fact)) => Some(fact),
                _ => None,
            };
            former.insert(version.id, fact);
        }
        Ok(former)
    }
}
