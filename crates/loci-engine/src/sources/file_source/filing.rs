//! The changes that file the parts of source files, and their commits.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::{iter, mem};

use loci_core::{
    Batch, Caller, Change, CollectionFilter, Error, ErrorCode, Expect, Filter, Forgotten, Location,
    Memory, MemoryId, Page, Result, Scope, SourceFile, Thread, Timestamp,
};

use super::{ReadSource, SOURCE_FILE, SourceFiled, SourceId, SourcePart};
use crate::background::enrich::changed;
use crate::notes::in_parallel;
use crate::{Engine, SearchMode};

/// The memories, and the bytes of their texts, that one transaction stores at most, so that another
/// caller's write never waits long.
const STEP_CHANGES_MAX: usize = 256;
const STEP_BYTES_MAX: usize = 1 << 20;
/// Attempts at one file while others change its memories, or while the ids of its parts are taken.
const ATTEMPTS_MAX: u64 = 100;

/// Files the parts of source files for a caller.
pub(super) struct Filing<'a> {
    engine: &'a Engine,
    caller: &'a Caller,
    id_of: SourceId<'a>,
    now: Timestamp,
    /// The store's version when the work began.
    since: u64,
}

/// The changes that file one source file.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Changes of memories filed before: removals first, since new parts may get the ids that they
    /// free.
    edits: Vec<Change>,
    new: Vec<Memory>,
    /// Changes of the file's state.
    rows: Vec<Change>,
}

/// A part of a plan, or all of it.
#[derive(Debug, Clone, Copy, Default)]
struct Step<'a> {
    edits: &'a [Change],
    new: &'a [Memory],
    rows: &'a [Change],
}

/// A memory that was filed before.
struct Before {
    memory: Memory,
    /// The current name of its thread.
    thread: String,
    /// True if it was filed from the path that the file had before.
    is_moved: bool,
}

impl<'a> Filing<'a> {
    pub(super) fn new(engine: &'a Engine, caller: &'a Caller, id_of: SourceId<'a>) -> Result<Self> {
        Ok(Filing {
            engine,
            caller,
            id_of,
            now: engine.now(),
            since: engine.store.version()?,
        })
    }

    /// Files all of them and returns the result of each, in order.
    pub(super) fn file(&self, reads: &[ReadSource]) -> Result<Vec<Result<SourceFiled>>> {
        let mut outcomes = Vec::with_capacity(reads.len());
        let mut waiting: Vec<(&ReadSource, Plan)> = Vec::new();
        for read in reads {
            let planned = read.check().and_then(|()| self.plan(read, 0));
            let sizes = waiting
                .iter()
                .map(|(_, plan)| plan)
                .chain(planned.as_ref().ok())
                .map(Plan::size);
            if !fits(sizes) {
                self.together(mem::take(&mut waiting), &mut outcomes)?;
            }
            match planned {
                Ok(plan) => waiting.push((read, plan)),
                Err(error) => {
                    self.together(mem::take(&mut waiting), &mut outcomes)?;
                    outcomes.push(of_one_file(Err(error))?);
                }
            }
        }
        self.together(waiting, &mut outcomes)?;
        Ok(outcomes)
    }

    /// Files these in one transaction; after a conflict, or if there is only one, each alone.
    fn together(
        &self,
        waiting: Vec<(&ReadSource, Plan)>,
        outcomes: &mut Vec<Result<SourceFiled>>,
    ) -> Result<()> {
        if waiting.len() > 1 {
            let steps: Vec<Step<'_>> = waiting.iter().flat_map(|(_, plan)| plan.steps()).collect();
            match self.commit(&steps) {
                Err(error) if error.code == ErrorCode::Conflict => {}
                committed => {
                    committed?;
                    outcomes.extend(waiting.iter().map(|(read, plan)| Ok(plan.filed(read))));
                    return Ok(());
                }
            }
        }
        for (read, plan) in waiting {
            outcomes.push(of_one_file(self.alone(read, plan))?);
        }
        Ok(())
    }

    /// Files one, which may be large.
    fn alone(&self, read: &ReadSource, mut plan: Plan) -> Result<SourceFiled> {
        let mut filed = SourceFiled::default();
        for attempt in 1..=ATTEMPTS_MAX {
            match self.commit_all(&plan, &mut filed) {
                Err(error) if error.code == ErrorCode::Conflict => {
                    self.check_conflict(read, error)?;
                    plan = self.plan(read, attempt)?;
                }
                committed => {
                    committed?;
                    return Ok(SourceFiled {
                        kept: (read.parts.len() as u64).saturating_sub(filed.added),
                        ..filed
                    });
                }
            }
        }
        let message = format!(
            "what was filed from {} changes all the time; try again",
            read.file.path
        );
        Err(Error::new(ErrorCode::Conflict, message))
    }

    /// Adds the parts that were added and removed to `filed`, even if it fails.
    fn commit_all(&self, plan: &Plan, filed: &mut SourceFiled) -> Result<()> {
        for step in plan.steps() {
            self.commit(&[step])?;
            filed.added += step.new.len() as u64;
            filed.removed += removals(step.edits);
        }
        Ok(())
    }

    fn commit(&self, steps: &[Step<'_>]) -> Result<()> {
        let new: Vec<&Memory> = steps.iter().flat_map(|step| step.new).collect();
        let put = |memory: &&Memory| {
            let passages = Some(Engine::passages_of(memory));
            Ok(vec![Change::Put {
                memory: Box::new((*memory).clone()),
                passages,
                expect: Expect::Absent,
            }])
        };
        let mut changes: Vec<Change> = steps.iter().flat_map(|step| step.edits).cloned().collect();
        changes.extend(in_parallel(&new, put)?);
        changes.extend(steps.iter().flat_map(|step| step.rows).cloned());
        if changes.is_empty() {
            return Ok(());
        }
        let waits = changes.iter().any(|change| {
            matches!(
                change,
                Change::Put {
                    passages: Some(_),
                    ..
                }
            )
        });
        changes.extend(self.not_wiped());
        self.engine.commit(self.caller, changes)?;
        if waits && self.engine.search_mode != SearchMode::Words {
            self.engine.to_embed.ring();
        }
        Ok(())
    }

    fn not_wiped(&self) -> Option<Change> {
        let owner = self.caller.principal.subject.clone()?;
        Some(Change::NotWiped {
            owner,
            origin: self.caller.origin.to_owned(),
            since: self.since,
        })
    }

    /// Returns an error if a further attempt after a conflict cannot help: if another process read
    /// the file, or the caller's data was wiped.
    fn check_conflict(&self, read: &ReadSource, conflict: Error) -> Result<()> {
        let SourceFile {
            collection, path, ..
        } = &read.file;
        let (store, space) = (&self.engine.store, &self.caller.space);
        if store.source_file(space, collection.as_deref(), path)? != read.before {
            let message = format!(
                "another process read {path} meanwhile; read again what is known of it and retry"
            );
            return Err(Error::new(ErrorCode::Conflict, message));
        }
        let Some(unwiped) = self.not_wiped() else {
            return Ok(());
        };
        match store.commit(Batch {
            space: space.clone(),
            changes: vec![unwiped],
        }) {
            Err(error) if error.code == ErrorCode::Conflict => Err(conflict),
            outcome => outcome,
        }
    }

    /// Returns the changes that file this. Every further attempt tries other ids for new parts.
    pub(super) fn plan(&self, read: &ReadSource, attempt: u64) -> Result<Plan> {
        let begins = begins(read);
        let mut filed = self.filed(read, &begins, attempt > 0)?;
        filed.sort_by_key(Before::position);
        let same = matched(read, &begins, &filed);
        let mut plan = Plan::default();
        let mut counts: HashMap<(&str, &str), u64> = HashMap::new();
        for (part, same) in read.parts.iter().zip(&same) {
            let count = counts.entry((&part.section, &part.content)).or_default();
            let number = if read.file.is_whole {
                *count
            } else {
                part.position
            };
            *count += 1;
            match same {
                Some(before) => {
                    plan.edits
                        .extend(before.moved(self.engine, &read.file, Some(part))?);
                }
                None => plan.new.push(self.memory(
                    read,
                    part,
                    number.wrapping_add(attempt << u32::BITS),
                )),
            }
        }
        let same: HashSet<&MemoryId> = same
            .into_iter()
            .flatten()
            .map(|before| &before.memory.id)
            .collect();
        let rest = || {
            filed
                .iter()
                .filter(|before| !same.contains(&before.memory.id))
        };
        if read.file.is_whole {
            plan.edits.splice(0..0, rest().map(Before::removal));
        } else {
            for before in rest() {
                plan.edits
                    .extend(before.moved(self.engine, &read.file, None)?);
            }
        }
        if read.has_more {
            return Ok(plan);
        }
        if read.before.as_ref() != Some(&read.file) {
            let (file, expect) = (
                Box::new(read.file.clone()),
                read.before.clone().map(Box::new),
            );
            plan.rows.push(Change::PutSourceFile { file, expect });
        }
        if let Some(path) = &read.moved_from {
            let (store, collection) = (&self.engine.store, read.file.collection.as_deref());
            let row = store.source_file(&self.caller.space, collection, path)?;
            plan.rows.extend(row.map(|row| Change::DeleteSourceFile {
                expect: Box::new(row),
            }));
        }
        Ok(plan)
    }

    /// Returns the memories that any caller filed from the file in its threads. For a file that
    /// continues, the cost grows with the new parts only: a thread in which the caller has no
    /// memory beyond them is not read, unless the search is thorough.
    fn filed(
        &self,
        read: &ReadSource,
        begins: &BTreeMap<&str, u64>,
        is_thorough: bool,
    ) -> Result<Vec<Before>> {
        let SourceFile {
            collection, path, ..
        } = &read.file;
        let goes_on = read.goes_on() && read.moved_from.is_none() && !is_thorough;
        let subject = self.caller.principal.subject.as_deref().filter(|_| goes_on);
        let renamed = |thread: &str| {
            Some(format!(
                "{}{}",
                read.moved_from.as_ref()?,
                thread.strip_prefix(path)?
            ))
        };
        let mut filed = Vec::new();
        for (thread, begin) in begins {
            for name in iter::once((*thread).to_owned()).chain(renamed(thread)) {
                if let Some(owner) = subject
                    && self
                        .engine
                        .store
                        .thread_end(&self.caller.space, owner, &name)?
                        <= *begin
                {
                    continue;
                }
                let collections = collection
                    .clone()
                    .map_or(CollectionFilter::Global, CollectionFilter::Only);
                let filter = Filter {
                    thread: Some(name),
                    // A forgotten memory stays forgotten.
                    forgotten: Forgotten::Show,
                    ..self.engine.filter(self.caller, collections)
                };
                let memories = self.engine.store.list(
                    &filter,
                    Page {
                        offset: 0,
                        limit: usize::MAX,
                    },
                )?;
                filed.extend(memories.into_iter().filter_map(|memory| {
                    let source = memory.attributes.get(SOURCE_FILE)?;
                    let is_moved = read.moved_from.as_ref() == Some(source);
                    let is_meant = (is_moved || source == path || !read.file.is_whole)
                        && self.caller.may_write(&memory);
                    is_meant.then(|| Before {
                        memory,
                        thread: (*thread).to_owned(),
                        is_moved,
                    })
                }));
            }
        }
        Ok(filed)
    }

    /// Returns the memory of a new part.
    fn memory(&self, read: &ReadSource, part: &SourcePart, number: u64) -> Memory {
        let SourcePart {
            thread,
            position,
            content,
            section,
            kind,
            title,
            attributes,
            created_at,
        } = part;
        let Caller {
            space,
            principal,
            origin,
            ..
        } = self.caller;
        // The engine's clock alone decides which times are in the future.
        let created_at = created_at.map_or(self.now, |at| at.min(self.now));
        let id = (self.id_of)(&read.file, part, number);
        let mut attributes = attributes.clone();
        attributes.insert(SOURCE_FILE.to_owned(), read.file.path.clone());
        Memory {
            title: title.clone(),
            location: Location {
                collection: read.file.collection.clone(),
                section: section.clone(),
            },
            thread: Some(Thread {
                name: thread.clone(),
                position: *position,
            }),
            attributes,
            origin: (*origin).to_owned(),
            owner: principal.subject.clone(),
            actor: principal.actor.clone(),
            by_admin: principal.scopes.allow(Scope::Admin),
            visibility: read.visibility,
            ..Memory::new(space.clone(), id, content, kind, created_at)
        }
    }
}

impl Plan {
    /// Returns the result of the plan.
    pub(super) fn filed(&self, read: &ReadSource) -> SourceFiled {
        let added = self.new.len();
        let kept = read.parts.len() - added;
        SourceFiled {
            added: added as u64,
            kept: kept as u64,
            removed: removals(&self.edits),
        }
    }

    /// Returns the number of memories that are stored or removed, and the bytes of new texts.
    fn size(&self) -> (usize, usize) {
        (
            self.edits.len() + self.new.len(),
            self.new.iter().map(|memory| memory.content.len()).sum(),
        )
    }

    /// Returns all of it as one step or, if it is large, as several, with the state of the file in
    /// the last.
    fn steps(&self) -> Vec<Step<'_>> {
        let Plan { edits, new, rows } = self;
        if fits(iter::once(self.size())) {
            return vec![Step { edits, new, rows }];
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

impl Before {
    fn position(&self) -> u64 {
        self.memory
            .thread
            .as_ref()
            .map_or(0, |thread| thread.position)
    }

    /// Returns the change that makes it this part of the file, or only a memory of the file; `None`
    /// if it is that already.
    fn moved(
        &self,
        engine: &Engine,
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
        // The title and the path are among the indexed words; the model reads the title alone.
        let passages = if is_titled_anew || memory.source_path() != self.memory.source_path() {
            let mut passages = Engine::passages_of(&memory);
            if !is_titled_anew {
                engine.keep_vectors(&memory, &mut passages)?;
            }
            Some(passages)
        } else {
            None
        };
        Ok(Some(changed(memory, passages)))
    }

    fn removal(&self) -> Change {
        Change::Delete {
            id: self.memory.id.clone(),
            revision: self.memory.revision,
        }
    }
}

/// Returns the memory that is the same as each part, by thread and text; for a whole file, first in
/// the same section, then in any.
fn matched<'b>(
    read: &ReadSource,
    begins: &BTreeMap<&str, u64>,
    filed: &'b [Before],
) -> Vec<Option<&'b Before>> {
    let mut unmatched: HashMap<(&str, &str), VecDeque<&Before>> = HashMap::new();
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
                let fits = |before: &&Before| {
                    any_section || before.memory.location.section == part.section
                };
                let index = same.iter().position(fits)?;
                same.remove(index)
            });
        }
    }
    matched
}

/// Returns the threads of the parts and, for a whole or moved file, the path as a thread, each with
/// the position from which the parts may equal memories filed before.
fn begins(read: &ReadSource) -> BTreeMap<&str, u64> {
    let mut begins = BTreeMap::new();
    for SourcePart {
        thread, position, ..
    } in &read.parts
    {
        let first = if read.goes_on() { *position } else { 0 };
        let begin = begins.entry(thread.as_str()).or_insert(first);
        *begin = first.min(*begin);
    }
    if read.file.is_whole || read.moved_from.is_some() {
        begins.entry(&read.file.path).or_insert(0);
    }
    begins
}

fn removals(edits: &[Change]) -> u64 {
    edits
        .iter()
        .filter(|edit| matches!(edit, Change::Delete { .. }))
        .count() as u64
}

/// Reports whether changes of these sizes fit into one transaction.
fn fits(sizes: impl Iterator<Item = (usize, usize)>) -> bool {
    let (changes, bytes) = sizes.fold((0, 0), |sum, size| (sum.0 + size.0, sum.1 + size.1));
    changes <= STEP_CHANGES_MAX && bytes <= STEP_BYTES_MAX
}

/// Separates the result of one file from a failure of the store.
fn of_one_file(outcome: Result<SourceFiled>) -> Result<Result<SourceFiled>> {
    match outcome {
        Err(error) if error.is_unavailable() => Err(error),
        outcome => Ok(outcome),
    }
}
