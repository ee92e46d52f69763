//! Writes an export: every record of a store, and the files of notes with their index entries.

use std::collections::HashSet;
use std::io::{self, Write};
use std::path::PathBuf;

use loci_core::{
    Archived, Error, ErrorCode, FileProblem, FolderScan, NoteFile, NoteFolder, Record, Space,
};
use loci_engine::is_note_of_import;
use loci_vault::VaultFolder;

use crate::{JsonLines, MarkdownFolder, NOTE_FILE_BYTES_MAX, Note, NoteBytes, listing};

/// The target of an export.
pub trait Sink {
    /// Adds a record.
    ///
    /// # Errors
    /// If it cannot be written.
    fn record(&mut self, archived: &Archived) -> io::Result<()>;

    /// Adds a file of notes.
    ///
    /// # Errors
    /// If it cannot be written.
    fn note(&mut self, note: Note) -> io::Result<()>;
}

impl<W: Write> Sink for JsonLines<W> {
    fn record(&mut self, archived: &Archived) -> io::Result<()> {
        self.write(archived)
    }

    fn note(&mut self, note: Note) -> io::Result<()> {
        self.write_note(note)
    }
}

impl Sink for MarkdownFolder {
    fn record(&mut self, archived: &Archived) -> io::Result<()> {
        self.write(archived)
    }

    fn note(&mut self, note: Note) -> io::Result<()> {
        self.write_note(note)
    }
}

/// A callback that receives the records one by one.
pub type Visit<'a> = dyn FnMut(Archived) -> Result<(), Error> + 'a;

/// Combines the files of notes with their index entries.
pub struct Export {
    notes: VaultFolder,
    folder: PathBuf,
    /// The paths of the notes that are written.
    seen: HashSet<String>,
    /// The files of notes that are not in the export, with the reasons.
    pub left_out: Vec<String>,
}

impl Export {
    /// Prepares an export with these notes, which lie in that folder. Writes nothing yet.
    pub fn new(notes: VaultFolder, folder: PathBuf) -> Self {
        Export {
            notes,
            folder,
            seen: HashSet::new(),
            left_out: Vec::new(),
        }
    }

    /// Writes all records that `read` passes, and the notes; calls `on_memory` for each memory.
    /// Returns the result of `read`, or the error of the sink.
    ///
    /// # Errors
    /// If the store or the folder of notes cannot be read.
    pub fn write<T>(
        &mut self,
        read: impl FnOnce(&mut Visit<'_>) -> Result<T, Error>,
        sink: &mut dyn Sink,
        on_memory: &dyn Fn(),
    ) -> Result<io::Result<T>, Error> {
        let mut written = Ok(());
        let outcome = read(&mut |archived| {
            if matches!(archived.record, Record::Memory(_)) {
                on_memory();
            }
            written = self.add(archived, sink)?;
            // The caller gets the error in `written` instead.
            if written.is_ok() {
                Ok(())
            } else {
                Err(Error::unavailable("the export cannot be written"))
            }
        });
        if let Err(error) = written {
            return Ok(Err(error));
        }
        let outcome = outcome?;
        // Files that no process has indexed yet are exported as well.
        let FolderScan {
            files,
            skipped,
            unreadable_folders,
            ..
        } = self.notes.scan()?;
        let skipped = skipped
            .into_iter()
            .map(|(path, FileProblem { message, .. })| format!("the note {path:?}: {message}"));
        self.left_out.extend(skipped);
        self.left_out.extend(unreadable_folders.into_iter().map(|path| {
            format!(
                "the notes in the folder {path:?}, which cannot be looked at: its permissions may not allow it, its \
                 name may be no UTF-8, it may lie too deep, or there may be too many files"
            )
        }));
        // Unreadable folders are already in the list.
        let links = listing::list(&self.folder)
            .unwrap_or_default()
            .passed_over
            .into_iter();
        let linked_folders = links.filter(|path| self.folder.join(path).is_dir());
        self.left_out.extend(
            linked_folders.map(|path| format!("the notes in the folder {path:?}, which is a link")),
        );
        for (path, _) in files {
            if !self.seen.contains(&path)
                && let Err(error) = self.add_note(path, None, sink)?
            {
                return Ok(Err(error));
            }
        }
        Ok(Ok(outcome))
    }

    fn add(&mut self, archived: Archived, sink: &mut dyn Sink) -> Result<io::Result<()>, Error> {
        match &archived.record {
            // The identity of the folder is meaningless elsewhere, and is found again here.
            Record::NoteFolder(_) => Ok(Ok(())),
            // Former texts, with which an import is taken back, are not in an export either.
            Record::Setting { name, .. } if is_note_of_import(name) => Ok(Ok(())),
            Record::NoteFile(file) if archived.space == Space::default() => {
                self.add_note(file.path.clone(), Some(file.clone()), sink)
            }
            _ => Ok(sink.record(&archived)),
        }
    }

    /// Adds a file of notes in its current state, which may be newer than its index entry; an
    /// import reads it again then.
    fn add_note(
        &mut self,
        path: String,
        known: Option<Box<NoteFile>>,
        sink: &mut dyn Sink,
    ) -> Result<io::Result<()>, Error> {
        let file = match self.notes.copy_of(&path, NOTE_FILE_BYTES_MAX) {
            Ok(copy) => copy.map(NoteBytes::Inline),
            Err(error) if error.is_unavailable() || error.code == ErrorCode::TooLarge => {
                self.left_out.push(error.message);
                None
            }
            Err(error) => return Err(error),
        };
        self.seen.insert(path.clone());
        if file.is_none() && known.is_none() {
            return Ok(Ok(()));
        }
        Ok(sink.note(Note {
            space: Space::default(),
            path,
            known,
            file,
        }))
    }
}
