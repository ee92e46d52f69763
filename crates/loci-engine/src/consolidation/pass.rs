//! One pass over the memories of a caller: comparing them in steps, then changing their marks in steps.

use std::collections::{BTreeMap, HashMap, HashSet};

use loci_core::{
    Change, CollectionFilter, ErrorCode, Filter, Link, Memory, MemoryId, Relation, Result,
    STANDS_BEHIND, Superseded, limits,
};

use super::pairing::{assigned, may_stand_behind, may_stand_for_others};
use super::progress::{Candidate, ConsolidationReport, Pass, Plan, StoodBehind};
use super::{COMPARED_AT_ONCE, CONSOLIDATE, Consolidation};
use crate::access::mark_key;
use crate::memories::update::put_next;
use crate::notes::not_note;

impl Consolidation<'_> {
    /// Starts a pass over the memories that the caller may read.
    pub(super) fn begin_pass(&self, is_dry_run: bool) -> Result<Pass> {
        let found = self.store.revisions(&self.filter(), usize::MAX)?;
        Ok(Pass {
            is_dry_run,
            ids: found.into_iter().map(|(id, _)| id).collect(),
            compared: 0,
            candidates: HashMap::new(),
            edges: HashMap::new(),
            marked: HashSet::new(),
            summaries: HashSet::new(),
            plan: None,
            report: ConsolidationReport::default(),
        })
    }

    /// Does a part of a pass; returns false after the last one.
    pub(super) fn step(&self, pass: &mut Pass) -> Result<bool> {
        if pass.is_comparing() {
            self.compare_some(pass)?;
            return Ok(true);
        }
        let Some(plan) = &mut pass.plan else {
            let plan = self.planned(pass);
            pass.report.behind = plan.behind.len();
            let of_groups = plan.left.iter().filter(|(one, _)| one.is_some());
            pass.report.representatives = of_groups.count();
            pass.plan = Some(plan);
            return Ok(true);
        };
        match plan.left.pop() {
            None => {
                if !pass.is_dry_run {
                    self.remove_summaries(pass)?;
                }
                let report = &mut pass.report;
                let not_done = report.left.len() + report.changed_meanwhile.len();
                report.behind = report.behind.saturating_sub(not_done);
                Ok(false)
            }
            Some((representative, group)) => {
                self.change_group(pass, representative.as_ref(), &group)?;
                Ok(true)
            }
        }
    }

    /// Returns the filter for all that may stand for others, also what was replaced.
    pub(super) fn filter(&self) -> Filter {
        Filter {
            superseded: Superseded::Show,
            ..self.access.filter(CollectionFilter::Any)
        }
    }

    /// Compares some memories with the ones that are near by words or by meaning.
    fn compare_some(&self, pass: &mut Pass) -> Result<()> {
        let end = (pass.compared + COMPARED_AT_ONCE).min(pass.ids.len());
        let memories = self
            .store
            .get_all(&self.filter(), &pass.ids[pass.compared..end])?;
        for memory in memories {
            let may_change = self.caller.may_write(&memory);
            if may_change && memory.is_summary() {
                pass.summaries.insert(memory.id.clone());
            } else if may_change && memory.stands_behind().is_some() {
                pass.marked.insert(memory.id.clone());
            }
            if may_stand_for_others(&memory) {
                pass.report.compared += 1;
                self.compare(pass, memory)?;
            }
        }
        pass.compared = end;
        Ok(())
    }

    fn compare(&self, pass: &mut Pass, memory: Memory) -> Result<()> {
        let collection = memory.location.collection.clone();
        let filter = Filter {
            collections: collection.map_or(CollectionFilter::Global, CollectionFilter::Only),
            ..self.filter()
        };
        let vectors = self.search.stored_opening(&memory)?;
        let near =
            self.search
                .near_in_words_or_meaning(&filter, &memory.content, vectors.as_slice())?;
        let model = vectors.as_ref().map(|vector| &vector.model);
        let mut others = Vec::new();
        self.search
            .each_near(&filter, near.first, &near.unread, |other| {
                if other.id != memory.id && may_stand_for_others(&other) {
                    others.push(other);
                }
            })?;
        if others.is_empty() {
            return Ok(());
        }
        let memory = self.candidate(memory)?;
        for other in others {
            let cosine = near.cosines.get(&other.id).copied().flatten();
            let other = self.candidate(other)?;
            let (first, second) = if memory.compare(&other).is_lt() {
                (&memory, &other)
            } else {
                (&other, &memory)
            };
            let may_change = self.caller.may_write(&second.memory);
            if may_change && first.may_stand_for(second, model.zip(cosine), &self.models) {
                let near = pass.edges.entry(second.memory.id.clone()).or_default();
                if !near.contains(&first.memory.id) {
                    near.push(first.memory.id.clone());
                }
                for one in [first, second] {
                    let known = pass.candidates.entry(one.memory.id.clone());
                    known.or_insert_with(|| one.clone());
                }
            }
        }
        Ok(())
    }

    fn candidate(&self, memory: Memory) -> Result<Candidate> {
        let newer: Vec<MemoryId> = memory.superseded_by.iter().cloned().collect();
        let newer = if newer.is_empty() {
            None
        } else {
            self.store.get_all(&self.filter(), &newer)?.pop()
        };
        Ok(Candidate::of(memory, newer.as_ref()))
    }

    /// Returns the groups, and the marks that are to go.
    fn planned(&self, pass: &Pass) -> Plan {
        let may = |one: &Candidate, other: &Candidate| one.may_stand_for(other, None, &self.models);
        let behind = assigned(&pass.candidates, &pass.edges, may);
        let mut groups: BTreeMap<MemoryId, Vec<MemoryId>> = BTreeMap::new();
        for (memory, representative) in &behind {
            let group = groups.entry(representative.clone()).or_default();
            group.push(memory.clone());
        }
        let gone = pass.marked.iter().filter(|id| !behind.contains_key(*id));
        let gone: Vec<MemoryId> = gone.cloned().collect();
        let parts = gone.chunks(COMPARED_AT_ONCE);
        let mut left: Vec<_> = parts.map(|part| (None, part.to_vec())).collect();
        left.extend(groups.into_iter().map(|(representative, mut group)| {
            group.sort();
            (Some(representative), group)
        }));
        Plan { behind, left }
    }

    /// Brings the marks of a group to what they should be, and the links of its representative.
    fn change_group(
        &self,
        pass: &mut Pass,
        representative: Option<&MemoryId>,
        group: &[MemoryId],
    ) -> Result<()> {
        let mut done = true;
        for part in group.chunks(COMPARED_AT_ONCE) {
            done &= self.change_marks(pass, representative, part)?;
        }
        let Some(representative) = representative.filter(|_| !pass.is_dry_run && done) else {
            return Ok(());
        };
        let summary = self.summarised(pass, representative, group)?;
        self.link(representative, summary.iter().chain(group))
    }

    /// Returns false if the representative is not there any more.
    fn change_marks(
        &self,
        pass: &mut Pass,
        representative: Option<&MemoryId>,
        part: &[MemoryId],
    ) -> Result<bool> {
        let mut memories = self.store.get_all(&self.filter(), part)?;
        let head = match representative {
            None => None,
            Some(id) => {
                let ids = std::slice::from_ref(id);
                let head = self.store.get_all(&self.filter(), ids)?.pop();
                let compared = pass.candidates.get(id);
                let is_same =
                    |head: &Memory| compared.is_some_and(|it| is_unchanged(&it.memory, head));
                let Some(head) = head.filter(is_same) else {
                    pass.report.changed_meanwhile.extend(part.iter().cloned());
                    return Ok(false);
                };
                Some(head)
            }
        };
        let mut meant = Vec::new();
        for memory in memories.drain(..) {
            let mark = head
                .as_ref()
                .map(|head| format!("{} {}", mark_key(head, &memory), head.id));
            if memory.attributes.get(STANDS_BEHIND) == mark.as_ref() {
                continue;
            }
            if let Some(mark) = &mark {
                let compared = pass.candidates.get(&memory.id);
                let is_same = compared.is_some_and(|it| is_unchanged(&it.memory, &memory));
                if !is_same || !may_stand_behind(&memory) {
                    pass.report.changed_meanwhile.push(memory.id);
                    continue;
                }
                if self.was_taken_back(&memory, mark)? {
                    pass.report.left.push(memory.id);
                    continue;
                }
            }
            meant.push((memory, mark));
        }
        self.commit_marks(pass, head.as_ref(), meant)?;
        Ok(true)
    }

    /// Returns true if a person took back that a memory stood behind another one, while both had the
    /// texts that they have now.
    fn was_taken_back(&self, memory: &Memory, mark: &String) -> Result<bool> {
        let versions = self.store.versions(&memory.space, &memory.id)?;
        Ok(versions.iter().any(|version| {
            let properties = version.properties.as_ref();
            let had = properties.and_then(|it| it.attributes.get(STANDS_BEHIND));
            let by = version.change.as_ref().map(|change| change.tool.as_str());
            had == Some(mark) && by != Some(CONSOLIDATE)
        }))
    }

    /// Commits marks, all at once, or one by one if other writers change some of the memories.
    fn commit_marks(
        &self,
        pass: &mut Pass,
        head: Option<&Memory>,
        meant: Vec<(Memory, Option<String>)>,
    ) -> Result<()> {
        let changed: Vec<Memory> = meant
            .into_iter()
            .map(|(mut memory, mark)| {
                match mark {
                    Some(mark) => memory.attributes.insert(STANDS_BEHIND.to_owned(), mark),
                    None => memory.attributes.remove(STANDS_BEHIND),
                };
                memory
            })
            .collect();
        let parts = if pass.is_dry_run || self.commit_changed(&changed)? {
            vec![(changed, true)]
        } else {
            let mut parts = Vec::new();
            for memory in changed {
                let is_done = self.commit_changed(std::slice::from_ref(&memory))?;
                parts.push((vec![memory], is_done));
            }
            parts
        };
        for (memories, is_done) in parts {
            let ids = memories.into_iter().map(|memory| memory.id);
            match head {
                _ if !is_done => pass.report.changed_meanwhile.extend(ids),
                None => pass.report.brought_back.extend(ids),
                Some(head) => pass.report.put_behind.extend(ids.map(|memory| StoodBehind {
                    memory,
                    representative: head.id.clone(),
                })),
            }
        }
        Ok(())
    }

    /// Commits these memories in the place of their last revisions; returns false if another writer was
    /// faster, or one became a note.
    fn commit_changed(&self, memories: &[Memory]) -> Result<bool> {
        if memories.is_empty() {
            return Ok(true);
        }
        let not_notes = memories.iter();
        let not_notes = not_notes.filter_map(|memory| not_note(&memory.space, &memory.id));
        let changes: Vec<Change> = memories
            .iter()
            .map(|memory| put_next(memory.clone(), None).0)
            .collect();
        match self.access.commit_if(not_notes.collect(), changes) {
            Ok(()) => Ok(true),
            Err(error) if error.code == ErrorCode::Conflict => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Links a representative to what stands behind it, as far as it has room for links.
    fn link<'m>(
        &self,
        representative: &MemoryId,
        behind: impl Iterator<Item = &'m MemoryId>,
    ) -> Result<()> {
        let ids = std::slice::from_ref(representative);
        let Some(mut memory) = self.store.get_all(&self.filter(), ids)?.pop() else {
            return Ok(());
        };
        let stands_for = |link: &Link| link.relation == Relation::StandsFor;
        let before = memory.links.clone();
        memory.links.retain(|link| !stands_for(link));
        let room = limits::LINKS_MAX.saturating_sub(memory.links.len());
        memory.links.extend(behind.take(room).map(|target| Link {
            target: target.clone(),
            relation: Relation::StandsFor,
            similarity: 1.0,
        }));
        if memory.links != before {
            // If another writer was faster, the next pass links it.
            self.commit_changed(&[memory])?;
        }
        Ok(())
    }
}

/// Returns true if a memory has the text that was compared.
fn is_unchanged(compared: &Memory, memory: &Memory) -> bool {
    (&compared.title, &compared.content) == (&memory.title, &memory.content)
}
