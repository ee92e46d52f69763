//! The knowledge graph: facts with a start and an end.

use loci_core::limits::{ENTITY_BYTES_MAX, FACTS_MAX, REFERENCE_BYTES_MAX};
use loci_core::{
    Change, Condition, Direction, Error, Fact, FactCounts, FactPlace, FactQuery, Name, Period,
    Result, Scope, Timestamp,
};
use unicode_normalization::UnicodeNormalization;
use uuid::Uuid;

use crate::check;
use crate::graph::Graph;

const MICROSECONDS_PER_DAY: i64 = 86_400_000_000;
/// A time that only facts without an end reach.
const NEVER: Timestamp = Timestamp::from_microseconds(i64::MAX);
/// The end of a retracted fact: the first of all moments, which no other fact ends at.
pub(super) const RETRACTED: Period = Period {
    first: Timestamp::MIN,
    last: Timestamp::MIN,
};
/// All time but the moment at which retracted facts end.
pub(super) const EVER: Period = Period {
    first: Timestamp::from_microseconds(i64::MIN + 1),
    last: NEVER,
};

/// A fact to add.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFact {
    /// The subject.
    pub subject: String,
    /// The predicate.
    pub predicate: String,
    /// The object.
    pub object: String,
    /// The time from which it holds; always if `None`.
    pub valid_from: Option<Period>,
    /// The time until which it holds, up to [`Period::end`]; for ever if `None`.
    pub valid_to: Option<Period>,
    /// The source where it was read; a blank one counts as `None`.
    pub source: Option<String>,
}

impl From<Fact> for NewFact {
    /// Returns the fact as one to add.
    fn from(fact: Fact) -> Self {
        NewFact {
            subject: fact.subject.spelling,
            predicate: fact.predicate.spelling,
            object: fact.object.spelling,
            valid_from: fact.valid_from,
            valid_to: fact.valid_to,
            source: fact.source,
        }
    }
}

/// The result of adding a fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddedFact {
    /// The fact was added.
    New(Fact),
    /// The same fact existed already, with an open end like this one, or with the same start and
    /// end; nothing was added.
    Before(Fact),
}

/// Facts, and whether there are more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// The facts by their start, those without one first; then in the order of their addition.
    pub facts: Vec<Fact>,
    /// True if there are more after these: at most [`FACTS_MAX`] are returned at a time.
    pub is_cut: bool,
}

/// Returns true if the fact was [retracted](Graph::retract_fact).
pub fn is_retracted(fact: &Fact) -> bool {
    fact.valid_to == Some(RETRACTED)
}

/// Returns the key that identifies a name of the graph: its compatibility form (Unicode NFKC),
/// case-folded, with each run of white space, hyphens and underscores as one space, and none at the
/// ends.
pub fn name_key(name: &str) -> String {
    // Upper-cased before the final lower-casing, so that ß becomes SS and ς becomes σ; lower-cased
    // before that for ẞ. Decomposed characters are composed again.
    let small = name.nfkc().flat_map(char::to_lowercase);
    let folded: String = small
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .nfkc()
        .collect();
    let is_gap =
        |character: char| character.is_whitespace() || matches!(character, '-' | '\u{2010}' | '_');
    folded
        .split(is_gap)
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

impl Graph<'_> {
    /// Adds a fact, whose author is the caller. If the same fact exists with an open end, and this
    /// one is open too, or with the same start and end, nothing is added, and that one keeps its
    /// author; a caller without the scope `read` does not learn that, and gets the names back as it
    /// spelled them. Durable when it returns.
    ///
    /// # Errors
    /// `invalid_argument` for a blank or invalid name (`subject`, `predicate`, `object`), and for a
    /// `valid_to` before `valid_from`; that or `too_large` for the `source`; `unavailable` if the
    /// store cannot be written.
    pub fn add_fact(&self, request: NewFact) -> Result<AddedFact> {
        let fact = self.new_fact(request)?;
        let triple = triple_of(&fact);
        let is_blind = !self.caller.principal.scopes.allow(Scope::Read);
        self.locks.change(&(&self.caller.space, &triple), || {
            let since = self.store.version(&self.caller.space)?;
            if let Some(before) = self.same_fact(&triple, &fact)? {
                return Ok(if is_blind {
                    AddedFact::New(fact.clone())
                } else {
                    AddedFact::Before(before)
                });
            }
            // Fails with `conflict` if another process added it since; the next attempt finds that
            // one.
            self.commit_fact(Vec::new(), &fact, since)?;
            if is_blind {
                return Ok(AddedFact::New(fact.clone()));
            }
            // Its names keep the spelling that they first came with.
            let stored = self
                .same_fact(&triple, &fact)?
                .filter(|stored| stored.id == fact.id);
            Ok(AddedFact::New(stored.unwrap_or_else(|| fact.clone())))
        })
    }

    /// Commits these changes with a new fact, unless the data of its author was wiped after `since`.
    fn commit_fact(&self, changes: Vec<Change>, fact: &Fact, since: u64) -> Result<()> {
        let unwiped = fact.author.clone().map(|owner| Condition::NotWiped {
            owner,
            origin: self.caller.origin.to_owned(),
            since,
        });
        let put = Change::PutFact(Box::new(fact.clone()));
        let changes = changes.into_iter().chain([put]).collect();
        self.access.commit_if(Vec::from_iter(unwiped), changes)
    }

    /// Returns the fact that a request of the caller makes, with a new id.
    ///
    /// # Errors
    /// As for [`add_fact`](crate::Graph::add_fact).
    fn new_fact(&self, request: NewFact) -> Result<Fact> {
        let NewFact {
            subject,
            predicate,
            object,
            valid_from,
            valid_to,
            source,
        } = request;
        let [subject, predicate, object] =
            [subject, predicate, object].map(|name| self.redaction.redacted_text(name));
        let source = source.map(|source| self.redaction.redacted_text(source));
        let [subject, predicate, object] = names([&subject, &predicate, &object])?;
        if valid_from
            .zip(valid_to)
            .is_some_and(|(from, to)| to.last < from.first)
        {
            return Err(Error::invalid(
                "valid_to",
                "must not lie before `valid_from`; a fact ends after it begins",
            ));
        }
        let source = source.filter(|source| !source.trim().is_empty());
        source
            .iter()
            .try_for_each(|source| check::reference("source", source))?;
        let (space, id) = (self.caller.space.clone(), format!("t_{}", Uuid::now_v7()));
        let created_at = self.clock.now();
        Ok(Fact {
            space,
            id,
            subject,
            predicate,
            object,
            valid_from,
            valid_to,
            source,
            author: Fact::author_of(self.caller.principal.subject.as_deref()),
            created_at,
        })
    }

    /// Ends every fact with this triple that has started by `ended` and whose end is open, or lies
    /// after both the end of `ended` and now, so that past facts stay as they are. Without `ended`,
    /// they end today, at this moment. Returns the ended facts and their new end. If there are more than
    /// [`FACTS_MAX`], it ends the first; a further call ends the next. Durable when it returns.
    ///
    /// # Errors
    /// `not_found` if there is no such fact (also on a repeated call); `invalid_argument`, naming
    /// `ended`, if all such facts start after it, and for an invalid name as in
    /// [`add_fact`](crate::Graph::add_fact); `unavailable` if the store cannot be written.
    pub fn end_facts(
        &self,
        triple: [&str; 3],
        ended: Option<Period>,
    ) -> Result<(Vec<Fact>, Period)> {
        let triple = triple.map(|name| self.redaction.redact_written(name).text.into_owned());
        let triple = names(triple.each_ref().map(String::as_str))?.map(|name| name.key);
        let now = self.clock.now();
        let ended = ended.unwrap_or_else(|| today(now));
        self.locks.change(&(&self.caller.space, &triple), || {
            // Sorted by start, earliest first.
            let open = self.same_facts(
                &triple,
                Period {
                    first: ended.end().max(now),
                    last: NEVER,
                },
                0,
            )?;
            let has_begun =
                |fact: &Fact| fact.valid_from.is_none_or(|from| from.first <= ended.last);
            let (begun, to_come): (Vec<Fact>, Vec<Fact>) = open.into_iter().partition(has_begun);
            if begun.is_empty() {
                let was_ended =
                    to_come.is_empty() && !self.same_facts(&triple, EVER, 0)?.is_empty();
                return Err(nothing_to_end(!to_come.is_empty(), was_ended));
            }
            let changes = begun.iter().map(|fact| end(fact, ended)).collect();
            self.access.commit(changes)?;
            let facts = begun.into_iter().map(|fact| Fact {
                valid_to: Some(ended),
                ..fact
            });
            Ok((facts.collect(), ended))
        })
    }

    /// Returns the fact with this id and triple, unless it is retracted.
    ///
    /// # Errors
    /// `not_found` if there is no such fact, or the caller lacks the scope `read`;
    /// `invalid_argument` for an invalid name as in [`add_fact`](crate::Graph::add_fact);
    /// `unavailable` if the store cannot be read.
    pub fn fact(&self, triple: [&str; 3], id: &str) -> Result<Fact> {
        let triple = names(triple)?.map(|name| name.key);
        let unknown = || {
            Error::not_found("there is no such fact any more")
                .advising("query the subject", "to see what is known of it")
        };
        if !self.caller.principal.scopes.allow(Scope::Read) {
            return Err(unknown());
        }
        let mut offset = 0;
        loop {
            let facts = self.same_facts(&triple, EVER, offset)?;
            let is_last = facts.len() < FACTS_MAX;
            if let Some(fact) = facts.into_iter().find(|fact| fact.id == id) {
                return Ok(fact);
            }
            if is_last {
                return Err(unknown());
            }
            offset += FACTS_MAX;
        }
    }

    /// Sets the end of one fact, which may be over, and returns it. Durable when it returns.
    ///
    /// # Errors
    /// `invalid_argument`, naming `ended`, if the fact starts after it; `conflict` if its end
    /// changed since it was read; `unavailable` if the store cannot be written.
    pub fn end_fact(&self, fact: &Fact, ended: Period) -> Result<Fact> {
        if fact.valid_from.is_some_and(|from| from.first > ended.last) {
            return Err(Error::invalid(
                "ended",
                "lies before the fact begins; give the day or a later one",
            ));
        }
        self.access.commit(vec![end(fact, ended)])?;
        Ok(Fact {
            valid_to: Some(ended),
            ..fact.clone()
        })
    }

    /// Takes a fact back, as one that never held: no operation finds it any more. The store keeps
    /// it. Durable when it returns.
    ///
    /// # Errors
    /// `conflict` if its end changed since it was read; `unavailable` if the store cannot be
    /// written.
    pub fn retract_fact(&self, fact: &Fact) -> Result<()> {
        self.access.commit(vec![end(fact, RETRACTED)])
    }

    /// [Retracts](crate::Graph::retract_fact) a fact and adds the right one, whose author is the
    /// caller, in one transaction. Returns the right one, which has another id; the same fact if
    /// nothing differs. Durable when it returns.
    ///
    /// # Errors
    /// The errors of [`add_fact`](crate::Graph::add_fact); `conflict` if the end of the wrong fact
    /// changed since it was read, or the right one is noted already.
    pub fn correct_fact(&self, wrong: &Fact, right: NewFact) -> Result<Fact> {
        let since = self.store.version(&self.caller.space)?;
        let right = self.new_fact(right)?;
        self.replace_fact(wrong, right, since)
    }

    /// Takes a change of a fact back: [retracts](crate::Graph::retract_fact) what the fact became,
    /// and adds what it was `before`, with another id, in one transaction. Its author is still the
    /// one who asserted it. Durable when it returns.
    ///
    /// # Errors
    /// As for [`correct_fact`](crate::Graph::correct_fact).
    pub fn restore_fact(&self, after: &Fact, before: &Fact) -> Result<()> {
        let since = self.store.version(&self.caller.space)?;
        let restored = Fact {
            author: self.stored_author(before)?,
            ..self.new_fact(before.clone().into())?
        };
        self.replace_fact(after, restored, since).map(drop)
    }

    /// Retracts a fact and adds another one, and returns that; the first one if nothing differs.
    fn replace_fact(&self, wrong: &Fact, right: Fact, since: u64) -> Result<Fact> {
        let triple = triple_of(&right);
        let is_same = triple == triple_of(wrong)
            && (&right.valid_from, &right.valid_to, &right.source)
                == (&wrong.valid_from, &wrong.valid_to, &wrong.source);
        if is_same {
            return Ok(wrong.clone());
        }
        self.commit_fact(vec![end(wrong, RETRACTED)], &right, since)?;
        let stored = self.same_fact(&triple, &right)?;
        Ok(stored.unwrap_or(right))
    }

    /// Returns the author that the store has now for a fact that was read before, retracted or not,
    /// because a wipe may have replaced it since.
    fn stored_author(&self, fact: &Fact) -> Result<Option<String>> {
        let query = FactQuery {
            space: self.caller.space.clone(),
            entity: None,
            triple: Some(triple_of(fact)),
            relation: None,
            as_of: None,
            beyond: None,
            offset: 0,
            limit: usize::MAX,
        };
        let mut facts = self.store.facts(&query)?.into_iter();
        let stored = facts.find(|stored| stored.id == fact.id);
        Ok(stored.and_then(|stored| stored.author))
    }

    /// Returns the facts about an entity after the first `offset`, at most `limit` and [`FACTS_MAX`];
    /// of any time if `as_of` is `None`. An entity without facts is not an error.
    ///
    /// # Errors
    /// `invalid_argument` for an invalid name (`entity`); `unavailable` if the store cannot be
    /// read.
    pub fn facts_about(
        &self,
        entity: &str,
        direction: Direction,
        as_of: Option<Period>,
        offset: usize,
        limit: usize,
    ) -> Result<Facts> {
        self.known_facts(
            Some((name("entity", entity)?.key, direction)),
            as_of,
            offset,
            limit.min(FACTS_MAX),
        )
    }

    /// Returns all facts, or those about one entity, in the order of time, after the first
    /// `offset`, at most [`FACTS_MAX`].
    ///
    /// # Errors
    /// As for [`facts_about`](crate::Graph::facts_about).
    pub fn timeline(&self, entity: Option<&str>, offset: usize) -> Result<Facts> {
        let entity = entity.map(|entity| name("entity", entity)).transpose()?;
        self.known_facts(
            entity.map(|entity| (entity.key, Direction::Both)),
            None,
            offset,
            FACTS_MAX,
        )
    }

    /// Returns the facts about one entity, or all, in the order of time, after this place, at most
    /// `limit`; of any time if `as_of` is `None`. So a list that is read in parts has each fact once,
    /// though others are added or taken back between two parts.
    ///
    /// # Errors
    /// As for [`facts_about`](crate::Graph::facts_about).
    pub fn facts_beyond(
        &self,
        entity: Option<&str>,
        as_of: Option<Period>,
        beyond: Option<FactPlace>,
        limit: usize,
    ) -> Result<Vec<Fact>> {
        let entity = entity.map(|entity| name("entity", entity)).transpose()?;
        self.store.facts(&FactQuery {
            space: self.caller.space.clone(),
            entity: entity.map(|entity| (entity.key, Direction::Both)),
            triple: None,
            relation: None,
            as_of: as_of.or(Some(EVER)),
            beyond,
            offset: 0,
            limit,
        })
    }

    /// Returns the other open facts with the subject and the predicate of an open fact, at most
    /// [`FACTS_MAX`]. Empty if the fact has ended by now, or if the caller lacks the scope `read`.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn other_open_facts(&self, fact: &Fact) -> Result<Vec<Fact>> {
        let now = self.clock.now();
        if !self.caller.principal.scopes.allow(Scope::Read) || !fact.is_open_after(now) {
            return Ok(Vec::new());
        }
        let relation = Some([fact.subject.key.clone(), fact.predicate.key.clone()]);
        let mut facts = self.store.facts(&FactQuery {
            space: self.caller.space.clone(),
            entity: None,
            triple: None,
            relation,
            as_of: Some(Period {
                first: now,
                last: NEVER,
            }),
            beyond: None,
            offset: 0,
            limit: FACTS_MAX + 1,
        })?;
        facts.retain(|other| other.id != fact.id);
        facts.truncate(FACTS_MAX);
        Ok(facts)
    }

    /// Returns the current size of the graph. The store keeps retracted facts and their names, so
    /// that they are counted, as facts that are over.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn fact_counts(&self) -> Result<FactCounts> {
        self.store.fact_counts(&self.caller.space, self.clock.now())
    }

    fn known_facts(
        &self,
        entity: Option<(String, Direction)>,
        as_of: Option<Period>,
        offset: usize,
        limit: usize,
    ) -> Result<Facts> {
        let space = self.caller.space.clone();
        let query = FactQuery {
            space,
            entity,
            triple: None,
            relation: None,
            as_of: as_of.or(Some(EVER)),
            beyond: None,
            offset,
            limit: limit + 1,
        };
        let mut facts = self.store.facts(&query)?;
        let is_cut = facts.len() > limit;
        facts.truncate(limit);
        Ok(Facts { facts, is_cut })
    }

    /// Returns the fact with this triple that is open like the given one, or has its start and end.
    pub(super) fn same_fact(&self, triple: &[String; 3], fact: &Fact) -> Result<Option<Fact>> {
        let Fact {
            valid_from,
            valid_to,
            ..
        } = fact;
        // Up to the moment before the end, since at the end it no longer holds.
        let end = valid_to.map_or(NEVER, Period::end);
        let before = Timestamp::from_microseconds(end.microseconds().saturating_sub(1));
        let is_same = |known: &Fact| {
            known.valid_to == *valid_to && (valid_to.is_none() || known.valid_from == *valid_from)
        };
        let mut offset = 0;
        loop {
            let known = self.same_facts(
                triple,
                Period {
                    first: before,
                    last: end,
                },
                offset,
            )?;
            let is_last = known.len() < FACTS_MAX;
            let same = known.into_iter().find(is_same);
            if same.is_some() || is_last {
                return Ok(same);
            }
            offset += FACTS_MAX;
        }
    }

    /// Returns the facts with this triple that hold then, after the first `offset`, at most
    /// [`FACTS_MAX`].
    fn same_facts(&self, triple: &[String; 3], as_of: Period, offset: usize) -> Result<Vec<Fact>> {
        let (space, triple, as_of) = (self.caller.space.clone(), Some(triple.clone()), Some(as_of));
        let limit = FACTS_MAX;
        self.store.facts(&FactQuery {
            space,
            entity: None,
            triple,
            relation: None,
            as_of,
            beyond: None,
            offset,
            limit,
        })
    }
}

/// Returns the change of the end of a fact as it was read.
fn end(fact: &Fact, valid_to: Period) -> Change {
    Change::EndFact {
        id: fact.id.clone(),
        before: fact.valid_to,
        valid_to: Some(valid_to),
    }
}

/// Returns the keys of its subject, predicate and object.
pub(super) fn triple_of(fact: &Fact) -> [String; 3] {
    [&fact.subject, &fact.predicate, &fact.object].map(|name| name.key.clone())
}

fn names([subject, predicate, object]: [&str; 3]) -> Result<[Name; 3]> {
    Ok([
        name("subject", subject)?,
        name("predicate", predicate)?,
        name("object", object)?,
    ])
}

pub(super) fn name(argument: &str, text: &str) -> Result<Name> {
    let spelling = text.trim();
    if spelling.len() > ENTITY_BYTES_MAX || spelling.chars().any(char::is_control) {
        let problem = format!(
            "must be a name of at most {ENTITY_BYTES_MAX} bytes without control characters"
        );
        return Err(Error::invalid(argument, problem));
    }
    let key = name_key(spelling);
    if key.is_empty() {
        return Err(Error::invalid(
            argument,
            "must be a name: more than spaces, hyphens and underscores",
        ));
    }
    // Normalised, one character can become eighteen.
    if key.len() > REFERENCE_BYTES_MAX {
        let problem =
            format!("has more than {REFERENCE_BYTES_MAX} bytes when it is normalised; shorten it");
        return Err(Error::invalid(argument, problem));
    }
    Ok(Name {
        key,
        spelling: spelling.to_owned(),
    })
}

/// Returns the day (UTC) up to that moment: a fact that ends with it is over at once, on that date.
fn today(now: Timestamp) -> Period {
    let into_the_day = now.microseconds().rem_euclid(MICROSECONDS_PER_DAY);
    Period {
        first: Timestamp::from_microseconds(now.microseconds().saturating_sub(into_the_day)),
        last: now,
    }
}

fn nothing_to_end(some_are_to_come: bool, some_are_over: bool) -> Error {
    if some_are_to_come {
        return Error::invalid(
            "ended",
            "(today, if not given) lies before the fact begins; give the day or a later one",
        );
    }
    if some_are_over {
        let message = "every fact that says this is over, or ends by then (today, if not given): what is over stays as \
            it was, and what is to end can only end earlier";
        return Error::not_found(message).advising("query the subject", "to see when");
    }
    Error::not_found("no fact that says this is open")
        .advising("query the subject", "to see what is known of it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_one() {
        let rows: [(&str, &[&str]); 7] = [
            (
                "max mustermann",
                &[
                    "Max Mustermann",
                    " MAX_mustermann\t",
                    "Max--_ mustermann",
                    "Ｍａｘ－Ｍｕｓｔｅｒｍａｎｎ",
                ],
            ),
            ("strasse", &["Straße", "STRASSE", "STRAẞE"]),
            ("müller", &["Müller", "Mu\u{308}ller", "MÜLLER"]),
            ("οδόσ", &["Οδός", "ΟΔΌΣ"]),
            ("fi 2", &["ﬁ-②", "FI\u{a0}2", "fi\u{2011}2"]),
            ("c++", &["C++"]),
            ("", &["", " - ", "＿"]),
        ];
        for (key, spellings) in rows {
            for spelling in spellings {
                assert_eq!(name_key(spelling), key, "{spelling}");
            }
        }
        assert_ne!(
            name_key("muller"),
            name_key("müller"),
            "an accent makes another letter"
        );
    }

    /// Covers every letter of the first two planes of Unicode.
    #[test]
    fn case_makes_no_difference_and_a_key_is_its_own() {
        for letter in '\0'..'\u{20000}' {
            let key = name_key(&letter.to_string());
            let others = [
                key.clone(),
                letter.to_uppercase().to_string(),
                letter.to_lowercase().to_string(),
            ];
            assert_eq!(
                others.map(|other| name_key(&other)),
                [(); 3].map(|()| key.clone()),
                "{letter:?}"
            );
        }
    }

    #[test]
    fn a_day_begins_before_1970_too() {
        for (now, first) in [
            (0, 0),
            (-1, -MICROSECONDS_PER_DAY),
            (MICROSECONDS_PER_DAY + 7, MICROSECONDS_PER_DAY),
        ] {
            let today = today(Timestamp::from_microseconds(now));
            assert_eq!(
                (today.first.microseconds(), today.last.microseconds()),
                (first, now)
            );
        }
    }
}
