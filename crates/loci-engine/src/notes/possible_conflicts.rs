//! Notes whose names and texts suggest that a sync client made them of another one.

use std::collections::HashSet;

use loci_core::{FileProblem, FileProblemKind, Memory, MemoryId, NoteFile, Result};
use loci_text::analysis;

use super::folder_state::FolderState;
use super::{Notes, everything, row_at};

/// The most pairs of notes whose texts are compared.
const PAIRS_MAX: usize = 2_000;
/// Pairs that are read at once.
const PAIRS_AT_ONCE: usize = 32;
/// The share of all words of two texts that are in both, from which they are versions of one.
const SHARED_MIN: f64 = 0.6;

impl Notes<'_> {
    /// Returns the notes without another problem that may be other versions of notes beside them: a
    /// name as sync clients make it, but people too, and the same title or most of the words. Two
    /// notes that each say an id of their own do not count, e.g. two that agents wrote under one
    /// title.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub(super) fn possible_conflicts(
        &self,
        folder: &FolderState,
        rows: &[NoteFile],
    ) -> Result<Vec<(String, FileProblem)>> {
        let is_note = |row: &&NoteFile| row.missing_since.is_none() && row.memory.is_some();
        let pair = |row: &'_ NoteFile| -> Vec<(usize, usize)> {
            let index = |row: &NoteFile| rows.binary_search_by(|it| it.path.cmp(&row.path)).ok();
            let others = folder.files.other_versions(&row.path);
            let others = others.iter().filter_map(|path| row_at(rows, path));
            others
                .filter(is_note)
                .filter(|other| !(row.says_id && other.says_id))
                .filter_map(|other| Some((index(row)?, index(other)?)))
                .collect()
        };
        let notes = rows.iter().filter(is_note);
        let candidates: Vec<(usize, usize)> = notes
            .filter(|row| row.problem.is_none())
            .flat_map(pair)
            .take(PAIRS_MAX)
            .collect();
        let mut found: Vec<(String, FileProblem)> = Vec::new();
        for part in candidates.chunks(PAIRS_AT_ONCE) {
            let id = |index: usize| rows[index].memory.clone();
            let ids: HashSet<MemoryId> = part
                .iter()
                .flat_map(|(copy, original)| [id(*copy), id(*original)])
                .flatten()
                .collect();
            let ids: Vec<MemoryId> = ids.into_iter().collect();
            let memories = self.store.get_all(&everything(), &ids)?;
            let memory = |index: usize| {
                let id = rows[index].memory.as_ref()?;
                memories.iter().find(|memory| memory.id == *id)
            };
            for (copy, original) in part {
                let path = &rows[*copy].path;
                let are_versions = memory(*copy)
                    .zip(memory(*original))
                    .is_some_and(|(one, other)| are_versions(one, other));
                if are_versions && found.last().is_none_or(|(last, _)| last != path) {
                    found.push((path.clone(), possible_conflict(&rows[*original].path)));
                }
            }
        }
        Ok(found)
    }
}

/// True if two notes have the same title, or most of their words in common.
fn are_versions(one: &Memory, other: &Memory) -> bool {
    let words = |memory: &Memory| -> HashSet<String> {
        analysis::words(&memory.content)
            .map(|(_, word)| word.to_lowercase())
            .collect()
    };
    if one.title == other.title {
        return true;
    }
    let (one, other) = (words(one), words(other));
    let shared = one.intersection(&other).count() as f64;
    let all = one.union(&other).count() as f64;
    all > 0.0 && shared / all >= SHARED_MIN
}

fn possible_conflict(original: &str) -> FileProblem {
    let message = format!(
        "this may be another version of `{original}` that a sync client set beside it after a conflict: it has such a \
         name, and the same title or most of the words; merge the two and delete one, or give this one another name"
    );
    FileProblem {
        kind: FileProblemKind::PossibleConflict,
        message,
    }
}
