//! The changes that file one source file, and the memories that were filed from it before.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::iter;

use loci_core::{Change, Memory, MemoryId, Result, SourceFile, Thread};
use loci_text::indexed;

use super::{ReadSource, SOURCE_FILE, SourceCounts, SourcePart};
use crate::background::enrich::changed;
use crate::sources::Sources;

/// The memories, and the bytes of their texts, that one transaction stores at most, so that another
/// caller's write never waits long.
const STEP_CHANGES_MAX: usize = 256;
const STEP_BYTES_MAX: usize = 1 << 20;

/// The changes that file one source file.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Changes of memories filed before: removals first, because new parts may get the ids that
    /// they free.
    pub(super) edits: Vec<Change>,
    pub(super) new: Vec<Memory>,
    /// The ids of new memories whose texts were forgotten, and come back.
    pub(super) again: Vec<MemoryId>,
    /// The number of parts that are not filed, because their texts were forgotten.
    pub(super) forgotten: u64,
    /// The number of parts that are filed without some lines, because those were forgotten.
    pub(super) shortened: u64,
    /// Changes of the file's state.
    pub(super) rows: Vec<Change>,
}

/// A part of a plan, or the whole plan.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Step<'a> {
    pub(super) edits: &'a [Change],
    pub(super) new: &'a [Memory],
    pub(super) again: &'a [MemoryId],
    pub(super) rows: &'a [Change],
}

/// A memory that was filed before.
pub(super) struct FiledMemory {
    pub(super) memory: Memory,
    /// The current name of its thread.
    pub(super) thread: String,
    /// True if it was filed from the path that the file had before.
    pub(super) is_moved: bool,
}

impl Plan {
    /// Returns the result of the plan.
    pub(super) fn filed(&self, read: &ReadSource) -> SourceCounts {
        let added = self.new.len() as u64;
        let parts = read.parts.len() as u64;
        SourceCounts {
            added,
            kept: parts.saturating_sub(added + self.forgotten),
            removed: removals(&self.edits),
            forgotten: self.forgotten + self.shortened,
        }
    }

    /// Returns the number of memories that are stored or removed, and the bytes of new texts.
    pub(super) fn size(&self) -> (usize, usize) {
        (
            self.edits.len() + self.new.len(),
            self.new.iter().map(|memory| memory.content.len()).sum(),
        )
    }

    /// Returns the whole plan as one step or, if it is large, as several, with the state of the
    /// file in the last.
    pub(super) fn steps(&self) -> Vec<Step<'_>> {
        let Plan {
            edits,
            new,
            again,
            rows,
            ..
        } = self;
        if fits(iter::once(self.size())) {
            return vec![Step {
                edits,
                new,
                again,
                rows,
            }];
        }
        let edits = edits.chunks(STEP_CHANGES_MAX).map(|edits| Step {
            edits,
            ..Step::default()
        });
        let mut rest = new.as_slice();
        let new = iter::from_fn(move || {
            let mut bytes = 0;
            let fitting = rest.iter().take(STEP_CHANGES_MAX).take_while(|memory| {
                let is_first = bytes == 0;
                bytes += memory.content.len();
                is_first || bytes <= STEP_BYTES_MAX
            });
            let (new, after) = rest.split_at(fitting.count());
            rest = after;
            (!new.is_empty()).then_some(Step {
                new,
                again,
                ..Step::default()
            })
        });
        edits
            .chain(new)
            .chain([Step {
                rows,
                ..Step::default()
            }])
            .collect()
    }
}

impl FiledMemory {
    pub(super) fn position(&self) -> u64 {
        self.memory
            .thread
            .as_ref()
            .map_or(0, |thread| thread.position)
    }

    /// Returns the change that makes it this part of the file, or only a memory of the file; `None`
    /// if it is that already.
    pub(super) fn moved(
        &self,
        sources: &Sources<'_>,
        file: &SourceFile,
        part: Option<&SourcePart>,
    ) -> Result<Option<Change>> {
        let mut memory = self.memory.clone();
        let position = part.map_or_else(|| self.position(), |part| part.position);
        memory.thread = Some(Thread {
            name: self.thread.clone(),
            position,
        });
        if let Some(part) = part {
            memory.title.clone_from(&part.title);
            memory.attributes.extend(part.attributes.clone());
            // A memory that outlives its file keeps the section that a caller gave it since.
            if file.is_whole {
                memory.location.section.clone_from(&part.section);
            }
        }
        if self.is_moved {
            memory
                .attributes
                .insert(SOURCE_FILE.to_owned(), file.path.clone());
        }
        if memory == self.memory {
            return Ok(None);
        }
        let is_titled_anew = memory.title != self.memory.title;
        // The title and the path are among the indexed words; the model reads only the title.
        let passages = if is_titled_anew || memory.source_path() != self.memory.source_path() {
            let mut passages = indexed::passages(&memory);
            if !is_titled_anew {
                sources.notes.keep_vectors(&memory, &mut passages)?;
            }
            Some(passages)
        } else {
            None
        };
        Ok(Some(changed(memory, passages)))
    }

    pub(super) fn removal(&self) -> Change {
        Change::Delete {
            id: self.memory.id.clone(),
            revision: self.memory.revision,
        }
    }
}

/// Returns the memory that is the same as each part, by thread and text; for a whole file, first in
/// the same section, then in any.
pub(super) fn matched<'b>(
    read: &ReadSource,
    begins: &BTreeMap<String, u64>,
    filed: &'b [FiledMemory],
) -> Vec<Option<&'b FiledMemory>> {
    let mut unmatched: HashMap<(&str, &str), VecDeque<&FiledMemory>> = HashMap::new();
    for before in filed {
        let begin = begins
            .get(before.thread.as_str())
            .copied()
            .unwrap_or_default();
        if before.position() >= begin {
            unmatched
                .entry((&before.thread, &before.memory.content))
                .or_default()
                .push_back(before);
        }
    }
    let mut matched = vec![None; read.parts.len()];
    for any_section in [!read.file.is_whole, true] {
        for (part, matched) in read
            .parts
            .iter()
            .zip(&mut matched)
            .filter(|(_, matched)| matched.is_none())
        {
            let same = unmatched.get_mut(&(part.thread.as_str(), part.content.as_str()));
            *matched = same.and_then(|same| {
                let fits = |before: &&FiledMemory| {
                    any_section || before.memory.location.section == part.section
                };
                let index = same.iter().position(fits)?;
                same.remove(index)
            });
        }
    }
    matched
}

/// Returns the threads of the parts and, for a whole or moved file, the thread of the file, each with
/// the position from which the parts may equal memories filed before.
pub(super) fn begins(read: &ReadSource) -> BTreeMap<String, u64> {
    let mut begins = BTreeMap::new();
    for SourcePart {
        thread, position, ..
    } in &read.parts
    {
        let first = if read.goes_on() { *position } else { 0 };
        let begin = begins.entry(thread.clone()).or_insert(first);
        *begin = first.min(*begin);
    }
    if read.file.is_whole || read.moved_from.is_some() {
        begins.entry(read.file.thread()).or_insert(0);
    }
    begins
}

pub(super) fn removals(edits: &[Change]) -> u64 {
    edits
        .iter()
        .filter(|edit| matches!(edit, Change::Delete { .. }))
        .count() as u64
}

/// Reports whether changes of these sizes fit into one transaction.
pub(super) fn fits(sizes: impl Iterator<Item = (usize, usize)>) -> bool {
    let (changes, bytes) = sizes.fold((0, 0), |sum, size| (sum.0 + size.0, sum.1 + size.1));
    changes <= STEP_CHANGES_MAX && bytes <= STEP_BYTES_MAX
}
