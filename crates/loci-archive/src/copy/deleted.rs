//! The messages that are softly deleted: they come back by `loci unforget`, so a copy has them, too.

use std::collections::{BTreeSet, HashMap, HashSet};

use loci_core::{
    Archived, Batch, Change, Filter, Memory, MemoryId, OpenStore, Page, Reader, Record, Result,
    SoftDeleted, Space, Timestamp,
};

use super::Copy;

/// The softly deleted memories that are read and copied together.
const DELETED_BATCH: usize = 200;

/// Returns the spaces in which there may be softly deleted memories: the ones with other records, and the ones
/// of the audit log, which has the call that deleted a memory.
pub(super) fn spaces_of(
    store: &dyn OpenStore,
    with_records: &BTreeSet<Space>,
) -> Result<BTreeSet<Space>> {
    let mut spaces = with_records.clone();
    spaces.extend(store.audited_spaces()?);
    Ok(spaces)
}

/// Passes on the softly deleted memories of a space, some at a time.
pub(super) fn each(
    store: &dyn OpenStore,
    space: &Space,
    now: Timestamp,
    mut visit: impl FnMut(Vec<SoftDeleted>) -> Result<()>,
) -> Result<()> {
    let filter = everything(space, now);
    let mut page = Page {
        offset: 0,
        limit: DELETED_BATCH,
    };
    loop {
        let mut deleted = store.soft_deleted(&filter, None, Timestamp::MIN, page)?;
        for found in &mut deleted {
            // As an archive has it: derived from the memory that replaced it.
            found.memory.superseded_by = None;
        }
        let read = deleted.len();
        visit(deleted)?;
        if read < DELETED_BATCH {
            return Ok(());
        }
        page.offset += read;
    }
}

fn everything(space: &Space, now: Timestamp) -> Filter {
    Filter::of(space.clone(), Reader::everything(), now)
}

/// Returns the memories with the ids of these that the store has, and that are not deleted there.
fn living(
    store: &dyn OpenStore,
    filter: &Filter,
    deleted: &[SoftDeleted],
) -> Result<HashMap<MemoryId, Memory>> {
    let ids: Vec<MemoryId> = deleted.iter().map(|it| it.memory.id.clone()).collect();
    let found = store.get_all(filter, &ids)?.into_iter();
    Ok(found.map(|memory| (memory.id.clone(), memory)).collect())
}

impl Copy<'_> {
    /// Copies the softly deleted memories of a space with their versions, as deleted at the same time.
    /// One that is there stays as it is, deleted or brought back, unless it is as it was when it was
    /// deleted: then a copy was cut off in between.
    pub(super) fn take_deleted(
        &mut self,
        from: &dyn OpenStore,
        to: &dyn OpenStore,
        space: &Space,
        now: Timestamp,
    ) -> Result<()> {
        let filter = everything(space, now);
        let mut known: HashSet<MemoryId> = HashSet::new();
        each(to, space, now, |deleted| {
            known.extend(deleted.into_iter().map(|found| found.memory.id));
            Ok(())
        })?;
        each(from, space, now, |mut deleted| {
            let there = living(to, &filter, &deleted)?;
            let present = deleted.len();
            deleted.retain(|SoftDeleted { memory, .. }| {
                let there = there.get(&memory.id);
                let is_same = there.is_none_or(|there| there.revision == memory.revision);
                is_same && !known.contains(&memory.id)
            });
            self.report.present += (present - deleted.len()) as u64;
            for found in &deleted {
                self.take(Archived {
                    space: space.clone(),
                    record: Record::Memory(Box::new(found.memory.clone())),
                })?;
            }
            self.store()?;
            let copied = living(to, &filter, &deleted)?;
            for SoftDeleted { memory, deleted_at } in &deleted {
                // The other ones were refused, and are named.
                if copied.contains_key(&memory.id) {
                    let versions = from.versions(space, &memory.id)?.into_iter();
                    let versions: Vec<_> = versions.map(Box::new).map(Change::PutVersion).collect();
                    if !versions.is_empty() {
                        to.commit(Batch::new(space.clone(), versions))?;
                    }
                    to.soft_delete(&filter, Some(&memory.id), *deleted_at, 1)?;
                }
            }
            Ok(())
        })
    }
}
