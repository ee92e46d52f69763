//! The changes that file the parts of source files, and their commits.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::{iter, mem};

use loci_core::{
    Batch, Caller, Change, CollectionFilter, Condition, Error, ErrorCode, Expect, Filter,
    Forgotten, Location, Memory, MemoryId, Page, Provenance, Result, SPEAKER, SaidBy, Salt, Scope,
    SourceFile, Thread, Timestamp,
};
use loci_text::indexed;

use super::plan::{FiledMemory, Plan, Step, begins, fits, matched, removals};
use super::{ReadSource, SOURCE_FILE, SourceCounts, SourceId, SourcePart};
use crate::actor::Actor;
use crate::engine::SearchMode;
use crate::imports::batch::FileNotes;
use crate::notes::in_parallel;
use crate::sources::Sources;
use crate::sources::machine::note_machine;

/// Attempts at one file while others change its memories, or while the ids of its parts are taken.
const ATTEMPTS_MAX: u64 = 100;

/// Files the parts of source files for a caller.
pub(super) struct SourceFiler<'a> {
    sources: &'a Sources<'a>,
    caller: Actor<'a>,
    id_of: SourceId<'a>,
    now: Timestamp,
    /// The store's version when the work started.
    since: u64,
    /// The salts of the tombstones of the space.
    salts: Vec<Salt>,
}

impl<'a> SourceFiler<'a> {
    pub(super) fn new(sources: &'a Sources<'a>, id_of: SourceId<'a>) -> Result<Self> {
        Ok(SourceFiler {
            sources,
            caller: sources.caller,
            id_of,
            now: sources.clock.now(),
            since: sources.store.version(&sources.caller.space)?,
            salts: sources.tombstones.salts(&sources.caller.space)?,
        })
    }

    /// Files all parts and returns the result of each, in order.
    pub(super) fn file(&self, reads: &[ReadSource]) -> Result<Vec<Result<SourceCounts>>> {
        let mut outcomes = Vec::with_capacity(reads.len());
        let mut waiting: Vec<(&ReadSource, Plan)> = Vec::new();
        for read in reads {
            let planned = read
                .check(self.sources.machine)
                .and_then(|()| self.plan(read, 0));
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

    /// Files these in one transaction; after a conflict, or if there is only one, each by itself.
    fn together(
        &self,
        waiting: Vec<(&ReadSource, Plan)>,
        outcomes: &mut Vec<Result<SourceCounts>>,
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
    fn alone(&self, read: &ReadSource, mut plan: Plan) -> Result<SourceCounts> {
        let mut filed = SourceCounts::default();
        for attempt in 1..=ATTEMPTS_MAX {
            match self.commit_all(&plan, &mut filed) {
                Err(error) if error.code == ErrorCode::Conflict => {
                    self.check_conflict(read, error)?;
                    plan = self.plan(read, attempt)?;
                }
                committed => {
                    committed?;
                    return Ok(SourceCounts {
                        kept: (read.parts.len() as u64)
                            .saturating_sub(filed.added + plan.forgotten),
                        forgotten: plan.forgotten + plan.shortened,
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
    fn commit_all(&self, plan: &Plan, filed: &mut SourceCounts) -> Result<()> {
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
            let passages = Some(indexed::passages(memory));
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
        let again: Vec<MemoryId> = steps.iter().flat_map(|step| step.again).cloned().collect();
        let noted = self.sources.imports.noted_of_files(&changes, &again)?;
        let (noted, files) = noted.map(FileNotes::into_parts).unzip();
        changes.extend(noted);
        let not_wiped = Vec::from_iter(self.not_wiped());
        self.sources.access.commit_filed(not_wiped, changes)?;
        if let Some(files) = files {
            self.sources.imports.count_noted(files);
        }
        if waits && self.sources.search_mode != SearchMode::Words {
            self.sources.to_embed.ring();
        }
        Ok(())
    }

    fn not_wiped(&self) -> Option<Condition> {
        let owner = self.caller.principal.subject.clone()?;
        Some(Condition::NotWiped {
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
        let space = &self.caller.space;
        let known = self.sources.source_file(collection.as_deref(), path)?;
        if known != read.before {
            let message = format!(
                "another process read {path} meanwhile; read again what is known of it and retry"
            );
            return Err(Error::new(ErrorCode::Conflict, message));
        }
        let Some(unwiped) = self.not_wiped() else {
            return Ok(());
        };
        match self.sources.store.commit(Batch {
            conditions: vec![unwiped],
            ..Batch::new(space.clone(), Vec::new())
        }) {
            Err(error) if error.code == ErrorCode::Conflict => Err(conflict),
            outcome => outcome,
        }
    }

    /// Returns the changes that file this. Every further attempt tries other ids for new parts.
    pub(super) fn plan(&self, read: &ReadSource, attempt: u64) -> Result<Plan> {
        let begins = begins(read);
        let mut filed = self.filed(read, &begins, attempt > 0)?;
        filed.sort_by_key(FiledMemory::position);
        let mut same = matched(read, &begins, &filed);
        let mut plan = Plan::default();
        let shortened = self.without_forgotten_lines(read, &same, &mut plan)?;
        let read = shortened.as_ref().unwrap_or(read);
        if shortened.is_some() {
            same = matched(read, &begins, &filed);
        }
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
                        .extend(before.moved(self.sources, &read.file, Some(part))?);
                }
                None => plan.new.push(self.memory(
                    read,
                    part,
                    number.wrapping_add(attempt << u32::BITS),
                )),
            }
        }
        self.leave_out_forgotten(&mut plan)?;
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
            plan.edits.splice(0..0, rest().map(FiledMemory::removal));
        } else {
            for before in rest() {
                plan.edits
                    .extend(before.moved(self.sources, &read.file, None)?);
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
            let collection = read.file.collection.as_deref();
            let row = self.sources.source_file(collection, path)?;
            plan.rows.extend(row.map(|row| Change::DeleteSourceFile {
                expect: Box::new(row),
            }));
        }
        Ok(plan)
    }

    /// Takes the new memories whose texts were forgotten out of the plan, or has it lift their
    /// tombstones.
    fn leave_out_forgotten(&self, plan: &mut Plan) -> Result<()> {
        let new: Vec<&Memory> = plan.new.iter().collect();
        let space = &self.caller.space;
        let forgotten = self.sources.tombstones.among(space, &self.salts, &new)?;
        if self.sources.files_again {
            let comes_back = |(memory, texts): (&Memory, &Vec<_>)| {
                (!texts.is_empty()).then(|| memory.id.clone())
            };
            plan.again = plan
                .new
                .iter()
                .zip(&forgotten)
                .filter_map(comes_back)
                .collect();
            let texts: Vec<_> = forgotten.into_iter().flatten().collect();
            if !texts.is_empty() {
                plan.edits.push(Change::DeleteTombstones { texts });
            }
            return Ok(());
        }
        let mut forgotten = forgotten.iter();
        let parts = plan.new.len();
        plan.new
            .retain(|_| forgotten.next().is_none_or(Vec::is_empty));
        plan.forgotten += (parts - plan.new.len()) as u64;
        Ok(())
    }

    /// Returns the reading of a file of a project without the lines that were forgotten in it, as
    /// far as they are in new parts; `None` if no line was forgotten. A part may be another one by
    /// now, because small sections of a file stand together.
    fn without_forgotten_lines(
        &self,
        read: &ReadSource,
        same: &[Option<&FiledMemory>],
        plan: &mut Plan,
    ) -> Result<Option<ReadSource>> {
        let new: Vec<&str> = read
            .parts
            .iter()
            .zip(same)
            .filter(|(_, same)| same.is_none())
            .map(|(part, _)| part.content.as_str())
            .collect();
        if self.salts.is_empty() || new.is_empty() || !read.file.is_whole {
            return Ok(None);
        }
        let SourceFile { machine, path, .. } = &read.file;
        let paths: Vec<&str> = iter::once(path.as_str())
            .chain(read.moved_from.as_deref())
            .collect();
        let lines = self.sources.tombstones.lines_among(
            &self.caller.space,
            &self.salts,
            (machine, &paths),
            &new,
        )?;
        if lines.forgotten.is_empty() {
            return Ok(None);
        }
        if self.sources.files_again {
            let texts = lines.forgotten.into_iter().collect();
            plan.edits.push(Change::DeleteTombstones { texts });
            return Ok(None);
        }
        if read.moved_from.is_some() {
            let moved = lines.of_moved(machine, path, &new);
            plan.edits.push(Change::PutTombstones(moved));
        }
        let mut shortened = read.clone();
        let mut same = same.iter();
        shortened.parts.retain_mut(|part| {
            let is_new = same.next().is_none_or(Option::is_none);
            let left = is_new.then(|| lines.without(&part.content)).flatten();
            match left {
                None => return true,
                Some(left) if left.is_empty() => plan.forgotten += 1,
                Some(left) => {
                    part.content = left;
                    plan.shortened += 1;
                    return true;
                }
            }
            false
        });
        Ok(Some(shortened))
    }

    /// Returns the memories that any caller filed from the file in its threads. For a file that
    /// continues, the cost grows with the new parts only: a thread in which the caller has no
    /// memory beyond them is not read, unless the search is thorough.
    fn filed(
        &self,
        read: &ReadSource,
        begins: &BTreeMap<String, u64>,
        is_thorough: bool,
    ) -> Result<Vec<FiledMemory>> {
        let SourceFile {
            collection, path, ..
        } = &read.file;
        let goes_on = read.goes_on() && read.moved_from.is_none() && !is_thorough;
        let subject = self.caller.principal.subject.as_deref().filter(|_| goes_on);
        let (own_thread, moved_thread) = (read.file.thread(), read.thread_before());
        let renamed = |thread: &str| {
            let rest = thread.strip_prefix(&own_thread)?;
            Some(format!("{}{rest}", moved_thread.as_ref()?))
        };
        let mut filed = Vec::new();
        for (thread, begin) in begins {
            for name in iter::once(thread.clone()).chain(renamed(thread)) {
                if let Some(owner) = subject
                    && self
                        .sources
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
                    ..self.sources.access.filter(collections)
                };
                let memories = self.sources.store.list(
                    &filter,
                    Page {
                        offset: 0,
                        limit: usize::MAX,
                    },
                )?;
                filed.extend(memories.into_iter().filter_map(|memory| {
                    let source = memory.attributes.get(SOURCE_FILE)?;
                    let is_here = memory.source_machine() == read.file.machine;
                    let is_moved = is_here && read.moved_from.as_ref() == Some(source);
                    let is_of_file = is_here && source == path;
                    let is_meant = (is_moved || is_of_file || !read.file.is_whole)
                        && self.caller.may_write(&memory);
                    is_meant.then(|| FiledMemory {
                        memory,
                        thread: thread.clone(),
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
        } = self.caller.caller;
        // Only the engine's clock decides which times are in the future.
        let created_at = created_at.map_or(self.now, |at| at.min(self.now));
        let id = (self.id_of)(&read.file, part, number);
        let mut attributes = attributes.clone();
        attributes.insert(SOURCE_FILE.to_owned(), read.file.path.clone());
        note_machine(&mut attributes, &read.file.machine);
        let speaker = attributes.get(SPEAKER);
        let said_by = speaker.map_or(SaidBy::File, |name| SaidBy::of_speaker(name));
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
            provenance: Provenance {
                said_by,
                ..self.caller.provenance()
            },
            visibility: read.visibility,
            ..Memory::new(space.clone(), id, content, kind, created_at)
        }
    }
}

/// Separates the result of one file from a failure of the store.
fn of_one_file(outcome: Result<SourceCounts>) -> Result<Result<SourceCounts>> {
    match outcome {
        Err(error) if error.is_unavailable() => Err(error),
        outcome => Ok(outcome),
    }
}
