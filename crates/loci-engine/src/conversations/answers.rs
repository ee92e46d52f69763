//! Cached answers of users, found by meaning.

use loci_core::limits::PATTERN_BYTES_MAX;
use loci_core::{CacheEntry, Error, MemoryId, RecordVerb, Result};
use loci_text::statement::Statement;
use regex::{Regex, RegexBuilder};

use crate::check;
use crate::conversations::Conversations;
use crate::quantisation::quantise;

/// The most bytes of a compiled pattern: the cost of a match is its size times that of the text.
const COMPILED_BYTES_MAX: usize = 1 << 20;

/// The number of nearest questions that are compared with the given one.
const QUESTIONS_COMPARED: usize = 10;

/// A cached answer that fits a question.
#[derive(Debug, Clone, PartialEq)]
pub struct CachedAnswer {
    /// The entry.
    pub entry: CacheEntry,
    /// The cosine similarity of the two questions; 1 if they are the same.
    pub cosine: f32,
}

impl Conversations<'_> {
    /// Caches an answer for the caller, for `cache_ttl_seconds` of the [`Policy`](crate::Policy). A
    /// question longer than a passage is found only by the same words: the model would compare only
    /// the beginnings of such questions.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large`, naming `query` or `response`; `forbidden` for an
    /// anonymous caller; `conflict` if the caller's data was wiped since the call started;
    /// `unavailable` if the store cannot be written.
    pub fn cache_answer(&self, id: MemoryId, query: &str, response: &str) -> Result<()> {
        let since = self.store.version(&self.caller.space)?;
        let (query, response) = (
            &*self.redaction.redact_stored(query).text,
            &*self.redaction.redact_stored(response).text,
        );
        check::query("query", query)?;
        check::content("response", response)?;
        let owner = self.caller.subject()?.to_owned();
        let (vector, _) = self.models.question_vector(query);
        let now = self.clock.now();
        let entry = CacheEntry {
            space: self.caller.space.clone(),
            id,
            owner,
            query: query.to_owned(),
            response: response.to_owned(),
            vector: vector.as_ref().map(quantise),
            created_at: now,
            expires_at: now
                .plus_seconds(i64::try_from(self.policy.cache_ttl_seconds).unwrap_or(i64::MAX)),
        };
        self.store.put_cache_entry(&entry, since)?;
        self.caller
            .note_record(RecordVerb::Stored, entry.id.as_str(), Some(true));
        Ok(())
    }

    /// Returns the caller's cached answer to the nearest question with the same meaning, if its
    /// cosine similarity is at least `cosine_min` (the [`Policy`](crate::Policy)'s if `None`): a
    /// question with the same words, or with equal numbers, units, names, negations and order of
    /// named things. The second value is the reason, in a sentence, why only the same words were
    /// searched, if the model did not answer.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large`, naming `query`; `unavailable` if the store cannot be
    /// read.
    pub fn cached_answer(
        &self,
        query: &str,
        cosine_min: Option<f32>,
    ) -> Result<(Option<CachedAnswer>, Option<String>)> {
        let query = &*self.redaction.redact_written(query).text;
        check::query("query", query)?;
        let Some(owner) = &self.caller.principal.subject else {
            return Ok((None, None));
        };
        let (vector, degraded) = self.models.question_vector(query);
        let (space, vector, now) = (&self.caller.space, vector.as_ref(), self.clock.now());
        let nearest = self.store.nearest_cache_entries(
            space,
            owner,
            query,
            vector,
            now,
            QUESTIONS_COMPARED,
        )?;
        let cosine_min = cosine_min.unwrap_or_else(|| {
            let similarity = self.policy.cache_similarity_min;
            (2.0 * similarity - 1.0) as f32
        });
        let asked = Statement::of(query);
        let model = self.embedder.model();
        let nearest = nearest
            .into_iter()
            .map(|(entry, cosine)| (entry, self.models.comparable(model, cosine)));
        let mut near = nearest.filter(|(_, cosine)| *cosine >= cosine_min);
        let same = near.find(|(entry, _)| {
            entry.query == query || asked.asks_the_same_as(&Statement::of(&entry.query))
        });
        Ok((
            same.map(|(entry, cosine)| CachedAnswer { entry, cosine }),
            degraded,
        ))
    }

    /// Deletes the caller's cached answers whose question matches the pattern, or all without a
    /// pattern; returns their number. The pattern is a regular expression, matched in linear time,
    /// or if it is not valid as one, a part of the text.
    ///
    /// # Errors
    /// `invalid_argument` for a pattern that is blank or longer than [`PATTERN_BYTES_MAX`], or
    /// whose compiled form is too large; `unavailable` if the store cannot be written.
    pub fn forget_answers(&self, pattern: Option<&str>) -> Result<u64> {
        let matcher = pattern.map(matcher).transpose()?;
        let Some(owner) = &self.caller.principal.subject else {
            return Ok(0);
        };
        let mut cached = self
            .store
            .cached_queries(&self.caller.space, owner, self.clock.now())?;
        if let Some(matcher) = matcher {
            cached.retain(|(_, query)| matcher.is_match(query));
        }
        let ids: Vec<MemoryId> = cached.into_iter().map(|(id, _)| id).collect();
        let deleted = self
            .store
            .delete_cache_entries(&self.caller.space, owner, &ids)?;
        for id in &ids {
            self.caller
                .note_record(RecordVerb::Deleted, id.as_str(), Some(true));
        }
        Ok(deleted)
    }
}

/// Returns the pattern as a regular expression, or else one that finds it as a part of the text.
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
    regex.map_err(|error| {
        Error::invalid(
            ARGUMENT,
            "is too large a regular expression; repeat less in it",
        )
        .caused_by(error)
    })
}
