//! Answers that a user may want again: a cache by meaning.

use loci_core::limits::PATTERN_BYTES_MAX;
use loci_core::{CacheEntry, Caller, Error, MemoryId, QueryVector, RecordVerb, Result};
use loci_search::passages::passages;
use loci_search::statement::Statement;
use regex::{Regex, RegexBuilder};

use crate::models::quantised;
use crate::{Engine, SearchMode, check};

/// Bytes of a compiled pattern: matching costs its size times that of the text.
const COMPILED_BYTES_MAX: usize = 1 << 20;

/// The nearest questions that are compared with the one that is asked.
const QUESTIONS_COMPARED: usize = 10;

/// A cached answer that serves.
#[derive(Debug, Clone, PartialEq)]
pub struct CachedAnswer {
    /// The entry.
    pub entry: CacheEntry,
    /// Cosine of the two questions; 1 if they are the same.
    pub cosine: f32,
}

impl Engine {
    /// Keeps an answer for the caller, for `cache_ttl_seconds` of the [`Policy`](crate::Policy). A
    /// question of more than a passage is found again by the same words alone: the model would
    /// compare how such questions begin.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large`, naming `query` or `response`; `forbidden` to an anonymous
    /// caller; `conflict` if the caller's data was wiped meanwhile; `unavailable` if the store
    /// cannot be written.
    pub fn cache_answer(
        &self,
        caller: &Caller,
        id: MemoryId,
        query: &str,
        response: &str,
    ) -> Result<()> {
        let since = self.store.version()?;
        let (query, response) = (
            &*self.redact_written(query).text,
            &*self.redact_written(response).text,
        );
        check::query("query", query)?;
        check::content("response", response)?;
        let owner = check::subject(caller)?.to_owned();
        let (vector, _) = self.question_vector(query);
        let now = self.now();
        let entry = CacheEntry {
            space: caller.space.clone(),
            id,
            owner,
            query: query.to_owned(),
            response: response.to_owned(),
            vector: vector.as_ref().map(quantised),
            created_at: now,
            expires_at: now
                .plus_seconds(i64::try_from(self.policy.cache_ttl_seconds).unwrap_or(i64::MAX)),
        };
        self.store.put_cache_entry(&entry, since)?;
        caller
            .trail
            .note(RecordVerb::Stored, entry.id.as_str(), Some(true));
        Ok(())
    }

    /// The caller's cached answer to the nearest question that asks for the same, if it is as near
    /// as `cosine_min` (the [`Policy`](crate::Policy)'s, if none): one with the same words, or with
    /// equal numbers, units, names, negations and order of named things. The second value says in a
    /// sentence why only the same words were looked for, if the model did not answer.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large`, naming `query`; `unavailable` if the store cannot be
    /// read.
    pub fn cached_answer(
        &self,
        caller: &Caller,
        query: &str,
        cosine_min: Option<f32>,
    ) -> Result<(Option<CachedAnswer>, Option<String>)> {
        let query = &*self.redact_written(query).text;
        check::query("query", query)?;
        let Some(owner) = &caller.principal.subject else {
            return Ok((None, None));
        };
        let (vector, degraded) = self.question_vector(query);
        let (space, vector, now) = (&caller.space, vector.as_ref(), self.now());
        let nearest = self.store.nearest_cache_entries(
            space,
            owner,
            query,
            vector,
            now,
            QUESTIONS_COMPARED,
        )?;
        let cosine_min = cosine_min.unwrap_or(self.policy.cache_cosine_min);
        let asked = Statement::of(query);
        let model = self.embedder.model();
        let nearest = nearest
            .into_iter()
            .map(|(entry, cosine)| (entry, self.comparable(model, cosine)));
        let mut near = nearest.filter(|(_, cosine)| *cosine >= cosine_min);
        let same = near.find(|(entry, _)| {
            entry.query == query || asked.asks_the_same_as(&Statement::of(&entry.query))
        });
        Ok((
            same.map(|(entry, cosine)| CachedAnswer { entry, cosine }),
            degraded,
        ))
    }

    /// Forgets those of the caller's cached answers whose question the pattern matches (a regular
    /// expression, matched in linear time; where it is none, a part of the text), or all without a
    /// pattern; returns how many.
    ///
    /// # Errors
    /// `invalid_argument` for a pattern that is blank or beyond [`PATTERN_BYTES_MAX`], or whose
    /// compiled form is too large; `unavailable` if the store cannot be written.
    pub fn forget_answers(&self, caller: &Caller, pattern: Option<&str>) -> Result<u64> {
        let matcher = pattern.map(matcher).transpose()?;
        let Some(owner) = &caller.principal.subject else {
            return Ok(0);
        };
        let mut cached = self
            .store
            .cached_queries(&caller.space, owner, self.now())?;
        if let Some(matcher) = matcher {
            cached.retain(|(_, query)| matcher.is_match(query));
        }
        let ids: Vec<MemoryId> = cached.into_iter().map(|(id, _)| id).collect();
        let deleted = self
            .store
            .delete_cache_entries(&caller.space, owner, &ids)?;
        for id in &ids {
            caller
                .trail
                .note(RecordVerb::Deleted, id.as_str(), Some(true));
        }
        Ok(deleted)
    }

    /// The vector of a question that the model can read whole; with the reason, if it did not
    /// answer.
    pub(crate) fn question_vector(&self, query: &str) -> (Option<QueryVector>, Option<String>) {
        if self.search_mode == SearchMode::Words || passages(query).len() > 1 {
            return (None, None);
        }
        match self.embedder.embed_query(query) {
            Ok(values) => (
                Some(QueryVector {
                    model: self.embedder.model().clone(),
                    values,
                }),
                None,
            ),
            Err(error) => {
                tracing::warn!(%error, "a cached answer goes by the same words alone");
                (
                    None,
                    Some(format!(
                        "only an answer to the same words was looked for: {}",
                        error.message
                    )),
                )
            }
        }
    }
}

/// The regular expression that the pattern is, or the one that finds it as a part of the text.
fn matcher(pattern: &str) -> Result<Regex> {
    const ARGUMENT: &str = "pattern";
    if pattern.trim().is_empty() {
        return Err(Error::invalid(
            ARGUMENT,
            "must not be blank; give a regular expression or a part of the question",
        ));
    }
    if pattern.len() > PATTERN_BYTES_MAX {
        let problem = format!(
            "has {} bytes; at most {PATTERN_BYTES_MAX} are accepted",
            pattern.len()
        );
        return Err(Error::invalid(ARGUMENT, problem));
    }
    let compiled = |pattern: &str| {
        RegexBuilder::new(pattern)
            .size_limit(COMPILED_BYTES_MAX)
            .build()
    };
    let regex = match compiled(pattern) {
        Err(regex::Error::Syntax(_)) => compiled(&regex::escape(pattern)),
        outcome => outcome,
    };
    regex.map_err(|_| {
        Error::invalid(
            ARGUMENT,
            "is too large a regular expression; repeat less in it",
        )
    })
}
