//! One reconciliation pass: finds the changed files of the folder and updates the index.

mod identity;
mod links;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use loci_core::{
    Change, ContentHash, FileProblem, FileProblemKind, FileSnapshot, FileStamp, FolderScan,
    MemoryId, NoteFile, Result, Space, Timestamp,
};

use super::folder_state::FolderState;
use super::index::duplicate_uid;
use super::standing::without_bookkeeping;
use super::{FileUpdate, Notes, READING, everything, row_at};
use crate::notes::ReconciliationReport;
use identity::Identity;

/// Files that one transaction indexes, so that other writers do not wait long.
const INDEX_BATCH_MAX: usize = 256;
/// Bytes of files that one transaction indexes, except for a single larger file.
const INDEX_BATCH_BYTES: u64 = 8 << 20;
/// Notes whose links one transaction changes; each note is read as a whole.
const LINK_BATCH_MAX: usize = 64;
/// Seconds for which the row of a missing file is kept (400 days).
const MISSING_SECONDS: i64 = 400 * 86_400;
/// Seconds after which a new file with the content of a missing one is another note, because only
/// the text is the same.
const MOVED_SECONDS: i64 = 600;

/// The extent of a reconciliation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All files that exist.
    Everything,
    /// The same, but missing files count as gone even if the folder seems to be another one.
    AcceptingMissing,
    /// The known files, also under other paths. New files are ignored.
    Known,
}

/// The state of one pass: the known rows, the scan, and the results so far.
pub(super) struct Reconciliation<'a> {
    pub(super) notes: Notes<'a>,
    pub(super) folder: &'a FolderState,
    extent: Extent,
    /// True if the files were last read by a version of loci that found less in them.
    is_read_anew: bool,
    now: Timestamp,
    scan: FolderScan,
    /// The rows at the beginning, in the order of paths.
    pub(super) before: Vec<NoteFile>,
    /// The new rows of files that were read or are gone; `None` for a row to delete.
    pub(super) after: BTreeMap<String, Option<NoteFile>>,
    /// The files of the memories.
    pub(super) holders: HashMap<MemoryId, String>,
    /// Files that have just gone, by the hash of their content.
    pub(super) gone: HashMap<ContentHash, Vec<String>>,
    /// The memories of indexed notes.
    found: HashSet<MemoryId>,
    /// Paths of files to read.
    pub(super) queue: VecDeque<String>,
    /// The same paths, as a set.
    pub(super) waiting: HashSet<String>,
    /// Readings to commit next.
    readings: Vec<FileUpdate>,
    bytes: u64,
    /// Files whose links may have other targets than the stored ones.
    relinked: BTreeSet<String>,
    /// Files whose rows are stored as not settled until their links are up to date, so that the
    /// next pass completes the links if this one is interrupted.
    unlinked: BTreeSet<String>,
    /// Files that the previous pass linked, but that have to be read again.
    linked: HashMap<String, (MemoryId, ContentHash)>,
    new_problems: BTreeMap<FileProblemKind, usize>,
    report: ReconciliationReport,
}

impl Notes<'_> {
    /// Brings the index up to date with the folder, whose lock the caller holds. The file at
    /// `suspect` is read even if it seems unchanged.
    ///
    /// # Errors
    /// `unavailable` if the store or the folder cannot be read or written.
    pub(crate) fn reconcile_folder(
        &self,
        folder: &FolderState,
        extent: Extent,
        suspect: Option<&str>,
    ) -> Result<ReconciliationReport> {
        let space = Space::default();
        let before = self.store.note_files(&space)?;
        let scan = without_bookkeeping(folder.files.scan()?);
        let (noted, is_read_anew) = self.noted_folder()?;
        let away = folder
            .unavailable_reason(&before, &scan, noted.as_ref())
            .filter(|_| extent != Extent::AcceptingMissing);
        folder.set_unavailable(away.as_ref());
        if away.is_some() {
            return Ok(ReconciliationReport {
                away,
                ..ReconciliationReport::default()
            });
        }
        let identity = scan
            .identity
            .clone()
            .filter(|identity| is_read_anew || Some(identity) != noted.as_ref());
        let mut look = Reconciliation {
            notes: *self,
            folder,
            extent,
            is_read_anew,
            now: self.clock.now(),
            scan,
            before,
            after: BTreeMap::new(),
            holders: HashMap::new(),
            gone: HashMap::new(),
            found: self
                .store
                .notes_among(&everything(), usize::MAX)?
                .into_iter()
                .collect(),
            queue: VecDeque::new(),
            waiting: HashSet::new(),
            readings: Vec::new(),
            bytes: 0,
            relinked: BTreeSet::new(),
            unlinked: BTreeSet::new(),
            linked: std::mem::take(&mut folder.state().linked),
            new_problems: BTreeMap::new(),
            report: ReconciliationReport::default(),
        };
        look.read_changed(suspect)?;
        let gone = look.find_gone();
        // Links come before the rows of missing files, so that the next pass repeats this one if it
        // is interrupted here.
        look.relink()?;
        look.remove(gone)?;
        self.commit_notes(
            identity
                .map(|identity| Change::PutNoteFolder {
                    identity: identity + READING,
                })
                .into_iter()
                .collect(),
        )?;
        folder.state().linked = look.linked_unsettled();
        look.log();
        Ok(look.report)
    }
}

impl Reconciliation<'_> {
    /// Returns the current row of the file.
    pub(super) fn row(&self, path: &str) -> Option<&NoteFile> {
        match self.after.get(path) {
            Some(row) => row.as_ref(),
            None => row_at(&self.before, path),
        }
    }

    pub(super) fn is_there(&self, path: &str) -> bool {
        self.scan
            .files
            .binary_search_by(|(file, _)| file.as_str().cmp(path))
            .is_ok()
    }

    /// Returns true if nothing is known about this path.
    pub(super) fn is_hidden(&self, path: &str) -> bool {
        let is_in = |folder: &String| {
            folder.is_empty()
                || path
                    .strip_prefix(folder.as_str())
                    .is_some_and(|rest| rest.starts_with('/'))
        };
        let is_it = |(skipped, problem): &(String, FileProblem)| {
            skipped == path && problem.kind == FileProblemKind::Unreadable
        };
        self.scan.unreadable_folders.iter().any(is_in) || self.scan.skipped.iter().any(is_it)
    }

    fn read_changed(&mut self, suspect: Option<&str>) -> Result<()> {
        let mut changed = self.changed(suspect);
        self.report.unchanged = self.scan.files.len() - changed.len();
        if changed.is_empty() {
            return Ok(());
        }
        // The older one of a file and its copy comes first.
        changed.sort_by(|left, right| (left.0, &left.1).cmp(&(right.0, &right.1)));
        self.queue = changed.into_iter().map(|(_, path)| path).collect();
        self.waiting = self.queue.iter().cloned().collect();
        for row in &self.before {
            let Some(id) = &row.memory else { continue };
            self.holders.insert(id.clone(), row.path.clone());
            let is_recent = row
                .missing_since
                .is_none_or(|since| since.plus_seconds(MOVED_SECONDS) >= self.now);
            if is_recent && !row.says_id && !self.is_there(&row.path) && !self.is_hidden(&row.path)
            {
                self.gone
                    .entry(row.hash)
                    .or_default()
                    .push(row.path.clone());
            }
        }
        while let Some(path) = self.queue.pop_front() {
            self.waiting.remove(&path);
            match self.folder.files.read(&path) {
                Ok(Some(read)) => self.apply_read(path, read),
                // The file was removed since: the next pass finds it missing.
                Ok(None) => {}
                Err(error) => tracing::warn!(%error, "a note cannot be read"),
            }
            if self.readings.len() >= INDEX_BATCH_MAX || self.bytes >= INDEX_BATCH_BYTES {
                self.flush()?;
            }
        }
        self.flush()
    }

    /// Returns the files to read, with the times of their last modification.
    fn changed(&self, suspect: Option<&str>) -> Vec<(i64, String)> {
        let known =
            |path: &str| row_at(&self.before, path).filter(|row| row.missing_since.is_none());
        let is_new = |(path, _): &(String, FileStamp)| known(path).is_none();
        let is_gone = |row: &NoteFile| row.missing_since.is_none() && !self.is_there(&row.path);
        // Other files determine which one is a copy.
        let are_others = self.scan.files.iter().any(is_new) || self.before.iter().any(is_gone);
        let is_unchanged = |path: &str, stamp: FileStamp| {
            let Some(row) = known(path).filter(|row| row.stamp == stamp && row.is_settled) else {
                return false;
            };
            let is_found = row
                .memory
                .as_ref()
                .map_or(row.problem.is_some(), |id| self.found.contains(id));
            let is_certain = match row.problem.as_ref().map(|problem| problem.kind) {
                Some(FileProblemKind::Unreadable) => false,
                Some(FileProblemKind::ConflictCopy | FileProblemKind::DuplicateUid) => !are_others,
                _ => true,
            };
            is_found && is_certain && suspect != Some(path) && !self.is_read_anew
        };
        let changed = self
            .scan
            .files
            .iter()
            .filter(|(path, stamp)| !is_unchanged(path, *stamp));
        changed
            .map(|(path, stamp)| (stamp.modified_nanoseconds, path.clone()))
            .collect()
    }

    /// Processes the content of a file that was read.
    fn apply_read(&mut self, path: String, read: FileSnapshot) {
        let FileSnapshot {
            stamp,
            is_settled,
            hash,
            content,
            problem,
        } = read;
        let is_unreadable = problem
            .as_ref()
            .is_some_and(|problem| problem.kind == FileProblemKind::Unreadable);
        let is_plain = problem
            .as_ref()
            .is_none_or(|problem| problem.kind.leaves_text());
        let content = content.filter(|_| is_plain);
        let before = self.row(&path).cloned();
        let blank = NoteFile {
            path: path.clone(),
            stamp,
            is_settled,
            hash,
            memory: None,
            says_id: false,
            links: content
                .as_ref()
                .map_or_else(Vec::new, |content| content.links.clone()),
            problem,
            missing_since: None,
        };
        if let Some(row) = &before
            && (is_unreadable || !self.is_read_anew && is_same(row, &blank, content.is_some()))
            && row.memory.as_ref().is_none_or(|id| self.found.contains(id))
        {
            self.add(FileUpdate::of(NoteFile {
                stamp,
                is_settled,
                problem: blank.problem,
                ..row.clone()
            }));
            return;
        }
        let own = before.as_ref().and_then(|row| row.memory.clone());
        // The memory of a missing file is gone already, or stays without the file.
        let held = own.clone().filter(|_| {
            before
                .as_ref()
                .is_some_and(|row| row.missing_since.is_none())
        });
        let leaves_new = self.extent == Extent::Known && before.is_none();
        let Some(content) = content else {
            if leaves_new {
                return;
            }
            if let Some(id) = &own {
                self.holders.remove(id);
            }
            self.add(FileUpdate {
                left: held,
                ..FileUpdate::of(blank)
            });
            return;
        };
        let Identity {
            id,
            says_id,
            is_duplicate,
            is_moved,
            others,
        } = self.identify(&path, &content, hash);
        if leaves_new && others.is_empty() {
            return;
        }
        if let Some(own) = own.filter(|own| *own != id) {
            self.holders.remove(&own);
        }
        let left = held.filter(|held| *held != id);
        self.holders.insert(id.clone(), path);
        self.report.moved += usize::from(is_moved);
        // Another file than the expected one may exist at this path.
        let is_other = |row: &NoteFile| row.is_expected() && row.hash != hash && !says_id;
        let is_new = self.found.insert(id.clone()) || before.as_ref().is_some_and(is_other);
        self.report.indexed +=
            usize::from(!is_moved && (is_new || before.is_none_or(|row| row.hash != hash)));
        let problem = blank.problem.or_else(|| is_duplicate.then(duplicate_uid));
        let row = NoteFile {
            memory: Some(id),
            says_id,
            problem,
            ..blank
        };
        self.add(FileUpdate {
            content: Some(content),
            is_new,
            others,
            left,
            ..FileUpdate::of(row)
        });
    }

    /// Adds a reading to the next commit.
    fn add(&mut self, mut reading: FileUpdate) {
        let row = &mut reading.row;
        self.after.insert(row.path.clone(), Some(row.clone()));
        let stored = row_at(&self.before, &row.path);
        let known = stored
            .and_then(|row| row.problem.as_ref())
            .map(|problem| problem.kind);
        if let Some(problem) = row
            .problem
            .as_ref()
            .filter(|problem| Some(problem.kind) != known)
        {
            *self.new_problems.entry(problem.kind).or_default() += 1;
        }
        let had_links = stored.is_some_and(|stored| !stored.links.is_empty());
        let is_renamed = self.name_before(&row.path) != self.name_after(&row.path);
        if is_renamed || stored.is_some_and(|stored| stored.links != row.links) {
            if had_links || !row.links.is_empty() || (reading.content.is_some() && !reading.is_new)
            {
                self.relinked.insert(row.path.clone());
            }
            if row.is_settled {
                self.unlinked.insert(row.path.clone());
                row.is_settled = false;
            }
        }
        reading.is_known = stored == Some(row);
        self.bytes += row.stamp.bytes;
        self.readings.push(reading);
    }

    /// Commits the readings so far.
    fn flush(&mut self) -> Result<()> {
        self.bytes = 0;
        let mut readings = std::mem::take(&mut self.readings);
        let ids: Vec<Option<MemoryId>> = readings
            .iter()
            .map(|reading| reading.row.memory.clone())
            .collect();
        self.notes.index_all(self.folder, &mut readings)?;
        // A reading gets another id if its own was taken.
        let parted = readings
            .into_iter()
            .zip(ids)
            .filter(|(reading, id)| reading.row.memory != *id);
        for (FileUpdate { row, .. }, _) in parted {
            let Some(Some(after)) = self.after.get_mut(&row.path) else {
                continue;
            };
            *after = NoteFile {
                is_settled: after.is_settled,
                ..row
            };
            self.holders
                .extend(after.memory.clone().map(|id| (id, after.path.clone())));
            self.found.extend(after.memory.clone());
        }
        Ok(())
    }

    /// Finds the files that are gone, and marks their rows as missing.
    fn find_gone(&mut self) -> Vec<NoteFile> {
        let is_known = |row: &NoteFile| {
            self.after.contains_key(&row.path)
                || self.is_there(&row.path)
                || self.is_hidden(&row.path)
        };
        let gone: Vec<NoteFile> = self
            .before
            .iter()
            .filter(|row| !is_known(row))
            .cloned()
            .collect();
        let was_there = gone.iter().filter(|row| row.missing_since.is_none());
        let missing = was_there.map(|row| NoteFile {
            missing_since: Some(self.now),
            ..row.clone()
        });
        self.after.extend(
            missing
                .map(|row| (row.path.clone(), Some(row)))
                .collect::<Vec<_>>(),
        );
        gone
    }

    /// Records that files are gone, and removes their memories. Deletes the rows of files that have
    /// been missing for [`MISSING_SECONDS`].
    fn remove(&mut self, gone: Vec<NoteFile>) -> Result<()> {
        let now = self.now;
        let mut changes = Vec::new();
        for row in gone {
            match row.missing_since {
                None if row.memory.is_some() => {
                    self.report.removed += 1;
                    let left = row.memory.clone();
                    let row = NoteFile {
                        missing_since: Some(now),
                        ..row
                    };
                    self.readings.push(FileUpdate {
                        left,
                        ..FileUpdate::of(row)
                    });
                }
                Some(since) if !row.is_expected() && since.plus_seconds(MISSING_SECONDS) >= now => {
                }
                _ => changes.push(Change::DeleteNoteFile { path: row.path }),
            }
            if self.readings.len() == INDEX_BATCH_MAX {
                self.flush()?;
            }
        }
        self.notes.commit_notes(changes)?;
        self.flush()
    }

    fn log(&self) {
        for (kind, files) in &self.new_problems {
            tracing::warn!(%kind, files, "files of notes have a problem; `loci vault check` names them");
        }
        let ReconciliationReport {
            indexed,
            moved,
            removed,
            unchanged,
            away: _,
        } = &self.report;
        tracing::debug!(
            indexed,
            moved,
            removed,
            unchanged,
            "the index of the notes is up to date"
        );
    }
}

/// Returns true if a file equals its stored row, regardless of its size and time.
fn is_same(row: &NoteFile, read: &NoteFile, is_note: bool) -> bool {
    row.missing_since.is_none()
        && row.hash == read.hash
        && row.links == read.links
        && row.problem == read.problem
        && row.memory.is_some() == is_note
}
