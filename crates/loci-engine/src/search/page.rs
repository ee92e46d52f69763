//! Search results, page by page.
//!
//! A cursor contains the results so far, so that the next page is the best of the rest, even if
//! scores and ranks have changed since. Its bytes, in base64url without padding (RFC 4648, section
//! 5):
//! - the version of the format;
//! - 1 if the results contain the query's quotations, 0 if they do not or it quotes nothing;
//! - 8 bytes that identify the query and the caller;
//! - 6 bytes for each result so far, and for each memory with the same text as one, in ascending
//!   order, cut from a keyed hash of its id. A memory with the same 6 bytes as another is left out:
//!   among 10,000 results this happens to one with a probability of 2e-7;
//! - 16 bytes of authentication, which only this store can compute.
//!
//! All three hashes are HMAC-SHA-256 (RFC 2104) under the secret of the store, cut at the end.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use loci_core::{Caller, Error, Forgotten, MemoryId, Result, Timestamp, limits};
use sha2::Sha256;

use crate::budget::ReplyBudget;
use crate::check;
use crate::search::Search;
use crate::search::order::Paging;
use crate::search::recall::{Hit, Ranking, Recall, answers, notice};
use crate::search::recall_within::within;

const VERSION: u8 = 1;
const HEAD_BYTES: usize = 2;
const BINDING_BYTES: usize = 8;
const ID_HASH_BYTES: usize = 6;
const TAG_BYTES: usize = 16;
/// The key size of HMAC-SHA-256 in bytes; a shorter key is padded with zeros.
const KEY_BYTES: usize = 64;
const CURSOR_BYTES_MAX: usize =
    HEAD_BYTES + BINDING_BYTES + ID_HASH_BYTES * limits::PAGED_RESULTS_MAX + TAG_BYTES;

/// A request for a page of search results.
#[derive(Debug, Clone, Copy)]
pub struct PageRequest<'a> {
    /// The question, in natural language.
    pub query: &'a str,
    /// True if forgotten memories are among the results.
    pub with_forgotten: bool,
    /// The maximum number of results; clamps to [`limits::RECALL_RESULTS_MAX`]. It may differ from
    /// page to page.
    pub limit: usize,
    /// The cursor of the previous page; `None` for the first page.
    pub cursor: Option<&'a str>,
    /// The token budget of the page; that [of the installation](crate::Budgets::reply_budget) if
    /// `None`.
    pub budget_tokens: Option<usize>,
    /// Looks at the state of this time instead of now, with the words that named the time, because
    /// the end of today is another moment for the next page.
    pub as_of: Option<(Timestamp, &'a str)>,
}

/// A page of results.
#[derive(Debug, Clone, PartialEq)]
pub struct HitPage {
    /// The results, best first, ties by id.
    pub hits: Vec<Hit>,
    /// The cursor of the next page; `None` if these were the last results.
    pub next_cursor: Option<String>,
    /// Reasons why the results may be incomplete.
    pub degraded: Option<String>,
    /// As in [`RecallResults`](crate::RecallResults), over all pages.
    pub strength: Option<f64>,
}

/// The results of the earlier pages.
#[derive(Debug, Clone, PartialEq, Default)]
struct EarlierResults {
    /// The hash of each id, in ascending order.
    ids: Vec<[u8; ID_HASH_BYTES]>,
    /// [`Paging::is_quoted`] of the first page.
    is_quoted: Option<bool>,
}

/// Writes and reads the cursors of one search by one caller.
struct Cursors {
    key: Hmac<Sha256>,
    binding: [u8; BINDING_BYTES],
}

impl Cursors {
    fn of(secret: [u8; 32], caller: &Caller, request: &PageRequest<'_>) -> Self {
        let mut key = [0; KEY_BYTES];
        key[..secret.len()].copy_from_slice(&secret);
        let key = Hmac::new(&key.into());
        let subject = caller.principal.subject.as_deref();
        let marks = [
            u8::from(request.with_forgotten),
            u8::from(subject.is_some()),
        ];
        let parts = [
            request.query,
            caller.space.as_str(),
            subject.unwrap_or_default(),
            caller.origin,
            request.as_of.map_or("", |(_, words)| words.trim()),
        ];
        let mut binding = key.clone().chain_update(b"binding").chain_update(marks);
        for part in parts {
            // The length marks the end of each part.
            binding = binding
                .chain_update((part.len() as u64).to_le_bytes())
                .chain_update(part);
        }
        Cursors {
            binding: cut(binding),
            key,
        }
    }

    /// Returns the hash that represents an id.
    fn id_hash(&self, id: &MemoryId) -> [u8; ID_HASH_BYTES] {
        cut(self
            .key
            .clone()
            .chain_update(b"id")
            .chain_update(id.as_str()))
    }

    fn tag(&self, payload: &[u8]) -> Hmac<Sha256> {
        self.key
            .clone()
            .chain_update(b"cursor")
            .chain_update(payload)
    }

    fn write(&self, returned: &EarlierResults) -> String {
        let head = [VERSION, u8::from(returned.is_quoted == Some(true))];
        let mut bytes = [&head[..], &self.binding, returned.ids.as_flattened()].concat();
        bytes.extend(cut::<TAG_BYTES>(self.tag(&bytes)));
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Returns the content of a cursor of this search; `None` if it is invalid or of another
    /// search.
    fn read(&self, cursor: &str) -> Option<EarlierResults> {
        if cursor.len() > CURSOR_BYTES_MAX.div_ceil(3) * 4 {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
        let (payload, tag) = bytes.split_last_chunk::<TAG_BYTES>()?;
        self.tag(payload).verify_truncated_left(tag).ok()?;
        let (&[version, is_quoted], payload) = payload.split_first_chunk::<HEAD_BYTES>()?;
        let (binding, ids) = payload.split_first_chunk::<BINDING_BYTES>()?;
        let (ids, rest) = ids.as_chunks::<ID_HASH_BYTES>();
        let is_of_this = version == VERSION && *binding == self.binding && rest.is_empty();
        is_of_this.then(|| EarlierResults {
            ids: ids.to_vec(),
            is_quoted: Some(is_quoted == 1),
        })
    }
}

/// Returns the first bytes of a hash.
fn cut<const BYTES: usize>(hash: Hmac<Sha256>) -> [u8; BYTES] {
    let hash = hash.finalize().into_bytes();
    std::array::from_fn(|index| hash[index])
}

impl Search<'_> {
    /// Returns the results after the earlier pages: none twice and none left out, even if other
    /// data changed since, unless `degraded` gives a reason. Long texts show the passages that
    /// answer. A page ends where its budget ends, so it can have fewer results than requested, but
    /// at least one. Scores are comparable from page to page. If the query quotes something, either
    /// all pages contain it word for word or none does. A memory of little weight, such as a note that
    /// was not filed yet, comes later. With a time, the results are as for
    /// [`recall_as_of`](Search::recall_as_of).
    ///
    /// # Errors
    /// `invalid_argument` for a blank query or a cursor of another search or caller; `too_large`
    /// for an over-long query; `unavailable` if the store cannot be read.
    pub fn page(&self, request: &PageRequest<'_>) -> Result<HitPage> {
        check::query("query", request.query)?;
        let cursors = Cursors::of(self.store.secret()?, &self.caller, request);
        let mut returned = match request.cursor {
            Some(cursor) => cursors.read(cursor).ok_or_else(|| {
                let problem =
                    "is not one that this search gave to you; repeat the search without it";
                Error::invalid("cursor", problem)
            })?,
            None => EarlierResults::default(),
        };
        let left = limits::PAGED_RESULTS_MAX.saturating_sub(returned.ids.len());
        let limit = request
            .limit
            .min(limits::RECALL_RESULTS_MAX)
            .min(left)
            .max(1);
        let is_returned = |id: &MemoryId| {
            // The first page needs no hashes.
            !returned.ids.is_empty() && returned.ids.binary_search(&cursors.id_hash(id)).is_ok()
        };
        let paging = Paging {
            returned: returned.ids.len(),
            is_returned: &is_returned,
            is_quoted: returned.is_quoted,
            forgotten: if request.with_forgotten {
                Forgotten::Show
            } else {
                Forgotten::Hide
            },
        };
        let recall = Recall::new(request.query, limit, &|signals| {
            signals.relevance * signals.weight_share()
        });
        let (hits, ranking, has_more) = self.hits_of_page(&recall, request.as_of, &paging)?;
        let is_quoted = ranking.is_quoted;
        let mut notices: Vec<String> = ranking.degraded().into_iter().collect();
        let budget = self.budget_of(&ranking, request.budget_tokens);
        let (mut hits, is_cut) = fitting(hits, budget, request.query, limit)?;
        self.access
            .return_found(hits.iter_mut().map(|hit| &mut hit.memory))?;
        let has_more = has_more || is_cut;

        // A result represents all memories with its text, and all that stand behind it.
        let ids = hits.iter().flat_map(|hit| {
            let represented = hit.repeats.iter().chain(&hit.behind);
            std::iter::once(&hit.memory.id).chain(represented)
        });
        returned.ids.extend(ids.map(|id| cursors.id_hash(id)));
        returned.ids.sort_unstable();
        returned.is_quoted = Some(is_quoted);
        let is_end = returned.ids.len() >= limits::PAGED_RESULTS_MAX;
        if has_more && is_end {
            let results_max = limits::PAGED_RESULTS_MAX;
            notices.push(format!(
                "a search shows {results_max} results at most; ask more narrowly for the rest"
            ));
        }
        let next_cursor = (has_more && !is_end).then(|| cursors.write(&returned));
        Ok(HitPage {
            hits,
            next_cursor,
            degraded: (!notices.is_empty()).then(|| notices.join("; ")),
            strength: ranking.strength,
        })
    }

    /// Returns one result more than the page may have, the ranking, and whether there may be further
    /// results.
    fn hits_of_page(
        &self,
        recall: &Recall<'_>,
        as_of: Option<(Timestamp, &str)>,
        paging: &Paging<'_>,
    ) -> Result<(Vec<Hit>, Ranking, bool)> {
        let wanted = recall.limit + 1;
        if let Some((at, _)) = as_of {
            let (hits, ranking) = self.past_hits(recall, at, wanted, Some(paging))?;
            let has_more = hits.len() == wanted;
            return Ok((hits.into_iter().map(Hit::from).collect(), ranking, has_more));
        }
        let (hits, ranking) = self.first_hits(recall, wanted, Some(paging))?;
        let has_more = hits.len() == wanted || !ranking.is_read();
        Ok((hits, ranking, has_more))
    }
}

/// Returns the first results that fit into the page's budget, at most `limit` and at least one, and
/// true if the budget is used up.
///
/// # Errors
/// `unavailable` if the store cannot be read.
fn fitting(
    found: Vec<Hit>,
    budget: ReplyBudget<'_>,
    query: &str,
    limit: usize,
) -> Result<(Vec<Hit>, bool)> {
    let all = found.len().min(limit);
    let found = found.into_iter().take(limit).collect();
    let hits = within(found, budget, query)?;
    let is_cut = hits.len() < all;
    Ok((hits, is_cut))
}

impl HitPage {
    /// Does the same as [`RecallResults::answers`](crate::RecallResults::answers).
    pub fn answers(&self) -> u64 {
        answers(self.hits.len(), self.strength)
    }

    /// Does the same as [`RecallResults::notice`](crate::RecallResults::notice).
    pub fn notice(&self) -> Option<String> {
        notice(&self.hits, self.strength, self.degraded.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Arc;

    use loci_core::{Clock, Tier};
    use loci_testkit::{FixedClock, HashingEmbedder, NaiveStore, Random};

    use super::*;
    use crate::conversations::store_messages::{Conversation, Message, Role};
    use crate::engine::{Engine, SearchMode};
    use crate::memories::remember::Remember;

    const REQUEST: PageRequest<'_> = PageRequest {
        query: "tea",
        with_forgotten: false,
        limit: 10,
        cursor: None,
        budget_tokens: None,
        as_of: None,
    };

    fn engine() -> Engine {
        let clock: Arc<dyn Clock> = Arc::new(FixedClock::default());
        Engine::new(
            Arc::new(NaiveStore::new()),
            Arc::new(HashingEmbedder::default()),
            clock,
            SearchMode::Hybrid,
        )
    }

    /// Returns the state of pages that returned so many results, with ids of no memory.
    fn returned(count: usize) -> EarlierResults {
        let random = &mut Random::new(1);
        let mut id = || std::array::from_fn(|_| random.bits() as u8);
        let mut ids: Vec<_> = (0..count).map(|_| id()).collect();
        ids.sort_unstable();
        EarlierResults {
            ids,
            is_quoted: Some(count.is_multiple_of(2)),
        }
    }

    #[test]
    fn a_cursor_says_what_was_written() {
        let cursors = Cursors::of([7; 32], &Caller::local(), &REQUEST);
        for count in [0, 1, 2, 3, 100, limits::PAGED_RESULTS_MAX] {
            let returned = returned(count);
            assert_eq!(
                cursors.read(&cursors.write(&returned)),
                Some(returned),
                "{count}"
            );
        }
        assert_eq!(
            cursors.read(&cursors.write(&returned(limits::PAGED_RESULTS_MAX + 1))),
            None
        );
    }

    #[test]
    fn a_search_ends_after_so_many_results_and_says_so() {
        let engine = engine();
        let local = Caller::local();
        for number in 0..5 {
            engine
                .system(&local)
                .memories()
                .remember(Remember::new(format!("tea {number}"), "fact"))
                .unwrap();
        }
        let cursors = Cursors::of(engine.store.secret().unwrap(), &local, &REQUEST);
        for (left, expected, is_told) in [(2, 2, true), (5, 5, false), (6, 5, false)] {
            let cursor = cursors.write(&returned(limits::PAGED_RESULTS_MAX - left));
            let page = engine
                .system(&local)
                .search()
                .page(&PageRequest {
                    cursor: Some(&cursor),
                    ..REQUEST
                })
                .unwrap();
            assert_eq!(
                (page.hits.len(), page.next_cursor),
                (expected, None),
                "{left}"
            );
            assert_eq!(
                page.degraded
                    .is_some_and(|notice| notice.contains("10000 results")),
                is_told,
                "{left}"
            );
        }
    }

    /// A returned memory excludes its counterpart from later pages, whether or not it is found
    /// again.
    #[test]
    fn of_a_pair_only_one_is_returned_over_all_pages() {
        let engine = engine();
        let local = Caller::local();
        let number = std::cell::Cell::new(0);
        let mint = || {
            number.set(number.get() + 1);
            MemoryId::new(format!("message {}", number.get()))
        };
        for place in ["kitchen", "garden", "cellar"] {
            let content =
                format!("We always drink the green tea of the morning in the {place} of the house");
            let messages = vec![Message {
                role: Role::Human,
                content,
                tags: Vec::new(),
            }];
            engine
                .system(&local)
                .conversations()
                .store_messages(Conversation {
                    thread: "c".to_owned(),
                    messages,
                    mint: &mint,
                })
                .unwrap();
        }
        let search = |tiers: &[Tier], before: &[MemoryId]| {
            let recall = Recall {
                tiers: tiers.to_vec(),
                ..Recall::new("green tea", 100, &|signals| signals.relevance)
            };
            let is_returned = |id: &MemoryId| before.contains(id);
            let (returned, forgotten) = (before.len(), Forgotten::Hide);
            let paging = Paging {
                returned,
                is_returned: &is_returned,
                is_quoted: None,
                forgotten,
            };
            let hits = engine
                .system(&local)
                .search()
                .first_hits(&recall, 100, Some(&paging))
                .unwrap()
                .0;
            hits.into_iter().map(|hit| hit.memory).collect::<Vec<_>>()
        };
        let origin =
            |memory: &loci_core::Memory| memory.source.as_ref().unwrap_or(&memory.id).clone();
        for tier in Tier::OF_CONVERSATIONS {
            let of_tier = search(&[tier], &[]);
            assert_eq!(of_tier.len(), 3);
            for first in of_tier {
                for tiers in [&Tier::OF_CONVERSATIONS[..], &[Tier::LongTerm]] {
                    let rest = search(tiers, std::slice::from_ref(&first.id));
                    let origins: HashSet<_> = rest.iter().map(&origin).collect();
                    assert!(
                        rest.len() == 2 && origins.len() == 2 && !origins.contains(&origin(&first)),
                        "{tier:?}"
                    );
                }
            }
        }
    }
}
