//! The links of notes after a reconciliation.

use std::collections::HashMap;

use loci_core::{Change, ContentHash, MemoryId, NoteFile, Result};

use super::{INDEX_BATCH_MAX, LINK_BATCH_MAX, Reconciliation};
use crate::notes::names::{NoteNames, name_key};
use crate::notes::row_at;

impl Reconciliation<'_> {
    /// Returns the note that the name of this file meant when links were last resolved.
    pub(super) fn name_before(&self, path: &str) -> Option<&MemoryId> {
        let row = row_at(&self.before, path).filter(|row| row.missing_since.is_none())?;
        let id = row.memory.as_ref()?;
        let is_linked = || {
            self.linked
                .get(path)
                .is_some_and(|(linked, hash)| linked == id && *hash == row.hash)
        };
        (row.is_settled || is_linked()).then_some(id)
    }

    /// Returns the note that it means now.
    pub(super) fn name_after(&self, path: &str) -> Option<&MemoryId> {
        self.row(path)
            .filter(|row| row.missing_since.is_none())?
            .memory
            .as_ref()
    }

    /// Returns the other names by which links meant the note of this file when they were last
    /// resolved.
    fn aliases_before(&self, path: &str) -> impl Iterator<Item = &str> {
        let row = self
            .name_before(path)
            .and_then(|_| row_at(&self.before, path));
        row.into_iter().flat_map(NoteFile::aliases)
    }

    /// Returns the other names by which links mean it now.
    fn aliases_after(&self, path: &str) -> impl Iterator<Item = &str> {
        let row = self.name_after(path).and_then(|_| self.row(path));
        row.into_iter().flat_map(NoteFile::aliases)
    }

    /// Updates the links of notes to the current names.
    pub(super) fn relink(&mut self) -> Result<()> {
        let is_renamed = self.after.keys().any(|path| {
            self.name_before(path) != self.name_after(path)
                || !self.aliases_before(path).eq(self.aliases_after(path))
        });
        let links = if is_renamed || !self.relinked.is_empty() {
            self.links(is_renamed)
        } else {
            Vec::new()
        };
        for part in links.chunks(LINK_BATCH_MAX) {
            self.notes.link_notes(part)?;
        }
        let unlinked: Vec<String> = std::mem::take(&mut self.unlinked).into_iter().collect();
        for part in unlinked.chunks(INDEX_BATCH_MAX) {
            let rows = part.iter().filter_map(|path| self.row(path).cloned());
            self.notes
                .commit_notes(rows.map(|row| Change::PutNoteFile(Box::new(row))).collect())?;
        }
        Ok(())
    }

    /// Returns the files whose links are up to date, but that have to be read again.
    pub(super) fn linked_unsettled(&self) -> HashMap<String, (MemoryId, ContentHash)> {
        let unsettled = self
            .after
            .values()
            .flatten()
            .filter(|row| !row.is_settled && row.missing_since.is_none());
        unsettled
            .filter_map(|row| Some((row.path.clone(), (row.memory.clone()?, row.hash))))
            .collect()
    }

    /// Returns the notes whose links may have other targets than the stored ones, with their
    /// targets. If no name has another meaning than before, only notes with changed links are
    /// checked.
    fn links(&self, is_renamed: bool) -> Vec<(MemoryId, Vec<MemoryId>)> {
        let mut paths: Vec<&str> = self.before.iter().map(|row| row.path.as_str()).collect();
        paths.extend(self.after.keys().map(String::as_str));
        paths.sort_unstable();
        paths.dedup();
        let keys: Vec<String> = paths.iter().map(|path| name_key(path)).collect();
        let mut names = NoteNames::default();
        for (path, key) in paths.iter().zip(&keys) {
            let (before, after) = (self.name_before(path), self.name_after(path));
            if before.is_some() || after.is_some() {
                names.add(key, before, after);
            }
            for alias in self.aliases_before(path) {
                names.add_alias(alias, before, None);
            }
            for alias in self.aliases_after(path) {
                names.add_alias(alias, None, after);
            }
        }
        let mut links = Vec::new();
        for (path, key) in paths.into_iter().zip(&keys) {
            let Some(row) = self.row(path) else { continue };
            let Some(id) = self.name_after(path) else {
                continue;
            };
            let (mut is_changed, mut targets) = (self.relinked.contains(path), Vec::new());
            if !is_changed && !is_renamed {
                continue;
            }
            for link in row.targets() {
                let (before, after) = names.meaning(key, link);
                is_changed |= before != after;
                targets.extend(
                    after
                        .filter(|target| *target != id && !targets.contains(*target))
                        .cloned(),
                );
            }
            if is_changed {
                links.push((id.clone(), targets));
            }
        }
        links
    }
}
