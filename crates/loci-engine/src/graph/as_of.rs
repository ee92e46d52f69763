//! Facts and tunnels as they were known at a time.

use std::collections::HashMap;

use loci_core::limits::FACTS_MAX;
use loci_core::{
    ChangeQuery, Direction, Error, ErrorCode, Fact, FactPlace, FactQuery, Page, Period, RecordKind,
    RecordState, Result, Timestamp, Tunnel,
};

use crate::graph::Graph;
use crate::graph::knowledge_graph::{Facts, is_retracted, name};
use crate::graph::tunnels::has_end_in;

/// The most changes since a time that are put together.
const CHANGES_MAX: usize = 100_000;

impl Graph<'_> {
    /// Returns the facts about an entity, or all, as they were known at a time, in the order of time,
    /// after the first `offset`, at most [`FACTS_MAX`]: with the ends of then, without the ones that
    /// were added later, and with what was taken back since. With `as_of`, only those that, by what was
    /// known, held then.
    ///
    /// # Errors
    /// As for [`facts_about`](crate::Graph::facts_about); `invalid_argument`, naming `known_at`, for a
    /// time that lies in the future, or before what is kept, or with too many changes since.
    pub fn facts_known_at(
        &self,
        about: Option<(&str, Direction)>,
        as_of: Option<Period>,
        known_at: Timestamp,
        offset: usize,
    ) -> Result<Facts> {
        let known = self.known_then(about, as_of, known_at)?;
        let is_cut = known.len() > offset.saturating_add(FACTS_MAX);
        let facts = known.into_iter().skip(offset).take(FACTS_MAX).collect();
        Ok(Facts { facts, is_cut })
    }

    /// Returns the same after a place in their order, at most `limit`.
    ///
    /// # Errors
    /// As for [`facts_known_at`](crate::Graph::facts_known_at).
    pub fn facts_known_beyond(
        &self,
        about: Option<(&str, Direction)>,
        as_of: Option<Period>,
        known_at: Timestamp,
        (beyond, limit): (Option<&FactPlace>, usize),
    ) -> Result<Vec<Fact>> {
        let known = self.known_then(about, as_of, known_at)?.into_iter();
        let is_beyond = |fact: &Fact| beyond.is_none_or(|place| FactPlace::of(fact) > *place);
        Ok(known.filter(is_beyond).take(limit).collect())
    }

    /// Returns a page of the tunnels that the caller would have seen at a time, as
    /// [`tunnels`](crate::Graph::tunnels) does, and their total number: with the labels of then, and
    /// with the ones that were deleted since.
    ///
    /// # Errors
    /// `invalid_argument`, naming `as_of`, as for [`facts_known_at`](crate::Graph::facts_known_at);
    /// `unavailable` if the store cannot be read.
    pub fn tunnels_as_of(
        &self,
        collection: Option<Option<&str>>,
        at: Timestamp,
        page: Page,
    ) -> Result<(Vec<Tunnel>, usize)> {
        let former = self.changed_since("as_of", at, RecordKind::Tunnel)?;
        let mut tunnels = self.store.tunnels(&self.caller.space)?;
        tunnels.retain(|tunnel| !former.contains_key(&tunnel.id) && tunnel.created_at <= at);
        tunnels.extend(former.into_values().filter_map(|state| match state {
            Some(RecordState::Tunnel(tunnel)) => Some(tunnel),
            _ => None,
        }));
        tunnels.retain(|tunnel| {
            self.sees(tunnel) && collection.is_none_or(|name| has_end_in(tunnel, name))
        });
        tunnels.sort_by(|one, other| {
            let place = |it: &Tunnel| (it.created_at, it.id.clone());
            place(one).cmp(&place(other))
        });
        self.page_of_tunnels(tunnels, page)
    }

    fn known_then(
        &self,
        about: Option<(&str, Direction)>,
        as_of: Option<Period>,
        known_at: Timestamp,
    ) -> Result<Vec<Fact>> {
        let entity = match about {
            Some((entity, direction)) => Some((name("entity", entity)?.key, direction)),
            None => None,
        };
        let former = self.changed_since("known_at", known_at, RecordKind::Fact)?;
        let query = FactQuery {
            space: self.caller.space.clone(),
            entity,
            triple: None,
            relation: None,
            as_of: None,
            beyond: None,
            offset: 0,
            limit: usize::MAX,
        };
        let as_known = |fact: Fact| match former.get(&fact.id) {
            None => (fact.created_at <= known_at).then_some(fact),
            Some(Some(RecordState::Fact(former))) => Some(Fact {
                valid_to: former.valid_to,
                ..fact
            }),
            Some(_) => None,
        };
        let known = self.store.facts(&query)?.into_iter().filter_map(as_known);
        let mut known: Vec<Fact> = known
            .filter(|fact| !is_retracted(fact))
            .filter(|fact| as_of.is_none_or(|period| fact.holds_in(period)))
            .collect();
        known.sort_by_key(FactPlace::of);
        Ok(known)
    }

    /// Returns the records of a kind that were changed after a time, as they were before the first of
    /// these changes; `None` for one that was not there.
    fn changed_since(
        &self,
        argument: &str,
        at: Timestamp,
        kind: RecordKind,
    ) -> Result<HashMap<String, Option<RecordState>>> {
        self.access.check_kept(argument, at)?;
        let since = Timestamp::from_microseconds(at.microseconds().saturating_add(1));
        let changes = self.store.record_changes(&ChangeQuery {
            space: self.caller.space.clone(),
            since: Some(since),
            limit: CHANGES_MAX + 1,
            ..ChangeQuery::default()
        })?;
        if changes.len() > CHANGES_MAX {
            let message = format!(
                "more than {CHANGES_MAX} facts and tunnels were changed since then; name a later time"
            );
            let code = ErrorCode::InvalidArgument;
            return Err(Error::about_argument(code, argument, message));
        }
        // The latest change comes first, so that the first one stays.
        let of_kind = changes.into_iter().filter(|version| version.kind == kind);
        Ok(of_kind.map(|version| (version.id, version.state)).collect())
    }
}
