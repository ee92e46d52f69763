//! Summaries of memories that say the same, by a language model. A summary is a memory of its own that
//! is linked to its sources. It stands behind their representative, so that its words find that one and
//! it is never a result itself, and it goes as soon as a source goes or changes.

use std::collections::BTreeMap;

use loci_core::{
    Change, Citation, Expect, Link, Location, Memory, MemoryId, Provenance, Relation, Result,
    STANDS_BEHIND, SUMMARY_OF, SaidBy, limits,
};
use loci_text::{enrichment, indexed};
use uuid::Uuid;

use super::Consolidation;
use super::progress::Pass;
use crate::access::mark_key;
use crate::open_items::item_key;

/// The kind and the section of a summary.
const SUMMARY: &str = "summary";
/// The least number of different texts that are summarised: one of two says all of the other.
const TEXTS_MIN: usize = 3;
/// The most summaries of one run; the next one goes on.
const SUMMARIES_MAX: usize = 100;

impl Consolidation<'_> {
    /// Returns the summary of a representative and what stands behind it: the one that is there, or,
    /// with a language model, a new one. `None` without one.
    pub(super) fn summarised(
        &self,
        pass: &mut Pass,
        representative: &MemoryId,
        group: &[MemoryId],
    ) -> Result<Option<MemoryId>> {
        let filter = self.filter();
        let ids = std::slice::from_ref(representative);
        let Some(head) = self.store.get_all(&filter, ids)?.pop() else {
            return Ok(None);
        };
        let is_behind = |memory: &Memory| {
            let mark = format!("{} {}", mark_key(&head, memory), head.id);
            memory.attributes.get(STANDS_BEHIND) == Some(&mark)
        };
        let mut sources = self.store.get_all(&filter, group)?;
        sources.retain(&is_behind);
        sources.insert(0, head.clone());
        let mut texts: Vec<&str> = sources.iter().map(|memory| &*memory.content).collect();
        texts.sort_unstable();
        texts.dedup();
        if texts.len() < TEXTS_MIN {
            return Ok(None);
        }
        let key = item_key(SUMMARY_OF, &texts);
        let linked = head.links.iter();
        let linked = linked.filter(|link| link.relation == Relation::StandsFor);
        let linked: Vec<MemoryId> = linked.map(|link| link.target.clone()).collect();
        let known = self.store.get_all(&filter, &linked)?.into_iter();
        let is_current =
            |memory: &Memory| memory.attributes.get(SUMMARY_OF) == Some(&key) && is_behind(memory);
        if let Some(known) = known.filter(Memory::is_summary).find(is_current) {
            pass.summaries.remove(&known.id);
            return Ok(Some(known.id));
        }
        let is_ended =
            pass.report.summaries_failed > 0 || pass.report.summaries.len() >= SUMMARIES_MAX;
        let Some(enricher) = self.enricher.filter(|_| !is_ended) else {
            return Ok(None);
        };
        let judged = enricher.enrich(&texts.join("\n"));
        let judged = judged.and_then(|judged| enrichment::check(&judged).map(|()| judged));
        match judged {
            Ok(judged) => {
                let summary = self.stored(&head, &sources, key, &judged.summary)?;
                pass.report.summaries.push(summary.clone());
                Ok(Some(summary))
            }
            Err(error) => {
                tracing::warn!(%error, "what was consolidated stays without summaries, as the language model gave none");
                pass.report.summaries_failed += 1;
                Ok(None)
            }
        }
    }

    /// Stores a summary, with the least trust of its sources, and of the program that wrote it.
    fn stored(
        &self,
        head: &Memory,
        sources: &[Memory],
        key: String,
        summary: &str,
    ) -> Result<MemoryId> {
        let content = self
            .redaction
            .redact_stored(summary.trim())
            .text
            .into_owned();
        let id = MemoryId::new(Uuid::now_v7().to_string());
        let now = self.clock.now();
        let said_by = sources.iter().map(Memory::said_by).max();
        let mut citations: Vec<Citation> = Vec::new();
        for citation in sources.iter().flat_map(|memory| &memory.citations) {
            if !citations.contains(citation) && citations.len() < limits::CITATIONS_MAX {
                citations.push(citation.clone());
            }
        }
        let cited = sources.iter().take(limits::LINKS_MAX);
        let links = cited.map(|memory| Link {
            target: memory.id.clone(),
            relation: Relation::Summarises,
            similarity: 1.0,
        });
        let weight = sources.iter().map(|memory| memory.weight);
        let mut memory = Memory {
            title: head.title.clone(),
            location: Location {
                collection: head.location.collection.clone(),
                section: SUMMARY.to_owned(),
            },
            weight: weight.fold(1.0, f64::min),
            links: links.collect(),
            citations,
            attributes: BTreeMap::from([(SUMMARY_OF.to_owned(), key)]),
            origin: head.origin.clone(),
            owner: head.owner.clone(),
            provenance: Provenance {
                said_by: said_by.unwrap_or_default().least(SaidBy::Agent),
                ..self.caller.provenance()
            },
            visibility: head.visibility,
            expires_at: sources.iter().filter_map(|memory| memory.expires_at).min(),
            ..Memory::new(head.space.clone(), id.clone(), content, SUMMARY, now)
        };
        let mark = format!("{} {}", mark_key(head, &memory), head.id);
        memory.attributes.insert(STANDS_BEHIND.to_owned(), mark);
        let mut passages = indexed::passages(&memory);
        let title = memory.title.as_deref();
        let (embedding, _) = self
            .models
            .embed_at_once(title, &memory.content, &mut passages);
        self.access.commit(vec![Change::Put {
            memory: Box::new(memory),
            passages: Some(passages),
            expect: Expect::Absent,
        }])?;
        self.models.embed_soon(&embedding);
        Ok(id)
    }

    /// Removes the summaries whose sources are no group any more, or changed.
    pub(super) fn remove_summaries(&self, pass: &mut Pass) -> Result<()> {
        let ids: Vec<MemoryId> = std::mem::take(&mut pass.summaries).into_iter().collect();
        let left = self.store.get_all(&self.filter(), &ids)?;
        let left = left.into_iter().filter(Memory::is_summary);
        let removals = left.map(|memory| Change::Delete {
            id: memory.id,
            revision: memory.revision,
        });
        for removal in removals {
            match self.access.commit(vec![removal]) {
                // The next pass removes it.
                Err(error) if error.code == loci_core::ErrorCode::Conflict => {}
                outcome => outcome?,
            }
        }
        Ok(())
    }
}
