//! Literal matches: the texts that contain a quotation, an identifier or the name of a file.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use loci_core::{Candidate, Candidates, Filter, Memory, MemoryId, Result};
use loci_text::paths::NamedPath;
use loci_text::query::Query;
use loci_text::query::identifiers::Identifier;

use crate::search::Search;
use crate::search::order::{Paging, candidates_for};

/// The most candidates that are requested to find the text that a query quotes.
const QUOTING_CANDIDATES_MAX: usize = 3_200;
/// The most candidates that are requested to find an identifier: the texts that contain it whole
/// are among the best by words.
const IDENTIFIED_CANDIDATES_MAX: usize = 800;
/// The number of identifiers that a memory of a file counts for if the query names the file: the
/// file comes before texts about it.
const FILE_COUNTS_AS: usize = 2;
/// The most bytes of text that are read to find literal matches.
const HOLDERS_BYTES_MAX: usize = 64 << 20;
/// The number of texts that are read at a time.
const HOLDERS_READ: usize = 64;

/// The search in which memories with a literal match are looked for.
pub(super) struct Pool<'a> {
    pub(super) filter: &'a Filter,
    pub(super) limit: usize,
    pub(super) paging: Option<&'a Paging<'a>>,
    /// Finds so many candidates that have all of these terms.
    pub(super) find: &'a dyn Fn(&[String], usize) -> Result<Candidates>,
}

/// The memories with a literal match.
struct Holders {
    candidates: Candidates,
    /// The candidates that match, each with the number of its matches.
    held: HashMap<MemoryId, usize>,
    /// True if more may exist that were not examined.
    is_cut: bool,
}

impl Search<'_> {
    /// Returns the candidates that contain the query's quotations word for word, with these;
    /// without such, the candidates of the whole query. Adds a notice if the quotations were not
    /// found, or not everywhere looked for.
    pub(super) fn quoting(
        &self,
        pool: &Pool<'_>,
        query: &Query,
        wanted: usize,
        notices: &mut Vec<String>,
    ) -> Result<(Candidates, Option<HashMap<MemoryId, usize>>)> {
        if !(self.weights.phrases && query.quotes()) {
            return Ok(((pool.find)(&[], wanted)?, None));
        }
        // Later pages show the same kind of results as the first page, quoted or not.
        let was_quoted = pool.paging.and_then(|paging| paging.is_quoted);
        if was_quoted != Some(false) {
            let holds = |memory: &Memory| usize::from(holds_all(memory, query));
            let quoting = self.holders(pool, &query.required(), QUOTING_CANDIDATES_MAX, &holds)?;
            if !quoting.held.is_empty() || was_quoted == Some(true) {
                if quoting.is_cut && pool.paging.is_some() {
                    notices.push(
                        "not all texts with the words of the quotation were looked through"
                            .to_owned(),
                    );
                }
                return Ok((quoting.candidates, Some(quoting.held)));
            }
        }
        let phrases: Vec<String> = query
            .phrases
            .iter()
            .map(|phrase| format!("\u{201c}{}\u{201d}", phrase.text()))
            .collect();
        notices.push(format!(
            "no text was found that holds {} word for word; these come near",
            phrases.join(" and ")
        ));
        Ok(((pool.find)(&[], wanted)?, None))
    }

    /// Returns the candidates for a literal match, and the ones that match and were not returned
    /// before. The index knows which texts have all the terms; the order of the terms and the signs
    /// between them are known only from the text.
    fn holders(
        &self,
        pool: &Pool<'_>,
        required: &[String],
        wanted_max: usize,
        held_by: &dyn Fn(&Memory) -> usize,
    ) -> Result<Holders> {
        let (mut looked_at, mut held, mut bytes) = (HashSet::new(), HashMap::new(), 0);
        let returned = pool.paging.map_or(0, |paging| paging.returned);
        let is_returned =
            |id: &MemoryId| pool.paging.is_some_and(|paging| (paging.is_returned)(id));
        let wanted_max = wanted_max + returned;
        let mut wanted = candidates_for(pool.limit) + returned;
        loop {
            let mut candidates = (pool.find)(required, wanted)?;
            candidates.hits.sort_by(|left, right| {
                right
                    .bm25
                    .total_cmp(&left.bm25)
                    .then_with(|| left.id.cmp(&right.id))
            });
            let new = candidates.hits.iter().map(|candidate| &candidate.id);
            let new: Vec<MemoryId> = new
                .filter(|id| !looked_at.contains(*id) && !is_returned(id))
                .cloned()
                .collect();
            for ids in new.chunks(HOLDERS_READ) {
                if bytes < HOLDERS_BYTES_MAX {
                    for memory in self.store.get_all(pool.filter, ids)? {
                        bytes += memory.text_bytes();
                        let much = held_by(&memory);
                        if much > 0 {
                            held.insert(memory.id, much);
                        }
                    }
                }
            }
            // A message and the memory made from it count as one.
            let origins = candidates
                .hits
                .iter()
                .filter(|candidate| held.contains_key(&candidate.id));
            let origins: HashSet<_> = origins
                .map(|candidate| candidate.source.as_ref().unwrap_or(&candidate.id))
                .collect();
            let is_enough = origins.len() >= pool.limit;
            let is_cut = bytes >= HOLDERS_BYTES_MAX
                || candidates.hits.len() >= wanted && wanted >= wanted_max;
            if is_enough || is_cut || candidates.hits.len() < wanted {
                return Ok(Holders {
                    candidates,
                    held,
                    is_cut: is_cut && !is_enough,
                });
            }
            looked_at.extend(new);
            wanted = (wanted * 4).min(wanted_max);
        }
    }

    /// Returns the number of identifiers and files of the query that each memory contains, for
    /// those not returned before that contain any, and adds these to the candidates.
    pub(super) fn identified(
        &self,
        pool: &Pool<'_>,
        query: &Query,
        candidates: &mut Candidates,
    ) -> Result<HashMap<MemoryId, usize>> {
        let mut identified = HashMap::new();
        let held_by = |memory: &Memory| {
            let texts = searched_texts(memory);
            let is_held =
                |identifier: &&Identifier| texts.iter().any(|text| identifier.is_in(text));
            let is_of =
                |path: &&NamedPath| memory.source_path().is_some_and(|file| path.is_of(file));
            query.identifiers.iter().filter(is_held).count()
                + FILE_COUNTS_AS * query.paths.iter().filter(is_of).count()
        };
        let mut add = |found: Holders| {
            let known: HashSet<&MemoryId> = candidates
                .hits
                .iter()
                .map(|candidate| &candidate.id)
                .collect();
            let is_new = |candidate: &Candidate| {
                found.held.contains_key(&candidate.id) && !known.contains(&candidate.id)
            };
            let mut new: Vec<Candidate> =
                found.candidates.hits.into_iter().filter(is_new).collect();
            for place in new
                .iter_mut()
                .filter_map(|candidate| candidate.place_in_thread.as_mut())
            {
                place.thread += candidates.threads.len();
            }
            if !new.is_empty() {
                candidates.threads.extend(found.candidates.threads);
                candidates.hits.extend(new);
            }
            identified.extend(found.held);
        };
        for identifier in &query.identifiers {
            add(self.holders(
                pool,
                identifier.terms(),
                IDENTIFIED_CANDIDATES_MAX,
                &held_by,
            )?);
        }
        for path in &query.paths {
            for mark in path.marks() {
                let found = self.holders(pool, &[mark], IDENTIFIED_CANDIDATES_MAX, &held_by)?;
                let is_found = !found.held.is_empty();
                add(found);
                if is_found {
                    break;
                }
            }
        }
        Ok(identified)
    }
}

/// Reports whether the memory contains all quotations of the query.
fn holds_all(memory: &Memory, query: &Query) -> bool {
    let texts = searched_texts(memory);
    query
        .phrases
        .iter()
        .all(|phrase| texts.iter().any(|text| phrase.is_in(text)))
}

/// Returns the texts of a memory that are searched.
fn searched_texts(memory: &Memory) -> Vec<Cow<'_, str>> {
    let texts = std::iter::once(&memory.content)
        .chain(&memory.summary)
        .map(|text| Cow::from(text.as_str()));
    texts
        .chain(memory.metadata().into_iter().map(Cow::from))
        .collect()
}
