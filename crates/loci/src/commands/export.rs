//! `loci export`: everything that is remembered, as text.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use loci_core::{
    ArchiveStore, Archived, Clock, Error, ErrorCode, FileProblem, FolderScan, NoteFile, NoteFolder,
    Record, Space,
};
use loci_vault::VaultFolder;
use serde_json::json;

use crate::archive::{Counts, JsonLines, MarkdownFolder, NOTE_FILE_BYTES_MAX, Note, NoteBytes};
use crate::cli;
use crate::commands::backup::notes;
use crate::damage;
use crate::exit::{Exit, Failure};
use crate::output::{JsonOutput, Output, status_line};
use crate::progress::Progress;
use crate::settings::Settings;
use crate::wiring::{Parts, SystemClock, Vault, real};

/// What unfinished files begin with, which a crash leaves.
const UNFINISHED: &str = ".loci-export-";

pub fn run(settings: &Settings, arguments: &cli::Export, output: Output) -> Result<(), Failure> {
    let cli::Export { target, format } = arguments;
    let usage =
        |problem: String| Failure::new(Exit::Usage, format!("{}: {problem}", target.display()));
    let cannot_write = |error: io::Error| match error.kind() {
        ErrorKind::AlreadyExists => usage(error.to_string()),
        _ => Failure::new(
            Exit::Failure,
            format!("{} cannot be written: {error}", target.display()),
        ),
    };
    let is_stdout = target == Path::new("-");
    let is_markdown = format == "markdown";
    if is_stdout && is_markdown {
        return Err(usage(
            "Markdown is many files; name a folder for them".to_owned(),
        ));
    }
    // Before all the work.
    if !is_stdout && !is_markdown && target.symlink_metadata().is_ok() {
        return Err(usage(
            "is there already; choose another name or remove it".to_owned(),
        ));
    }
    if !is_stdout {
        check_place(settings, target)?;
    }
    let parts = Parts::open_current(settings)?;
    // Where no way leads to a page any more, a file without its records would look complete.
    if let Some(failure) = damage::told(&parts.store.structure_check()?, settings) {
        return Err(failure);
    }
    let now = SystemClock.now();
    let mut export = Export::new(&parts.vault);
    let memories = parts.engine.size()?.memories;
    let read = |visit: &mut Visit<'_>| parts.store.archive(now, visit);
    if is_markdown {
        let mut folder = MarkdownFolder::create(target, now).map_err(cannot_write)?;
        export
            .write(memories, read, &mut folder)?
            .map_err(cannot_write)?;
        let counts = folder.counts().clone();
        folder.finish().map_err(cannot_write)?;
        export.tell(&counts, output)
    } else if is_stdout {
        let mut lines = JsonLines::as_of(JsonOutput(BufWriter::new(io::stdout().lock())), now);
        export.write(memories, read, &mut lines)??;
        lines.finish()?;
        export.end()
    } else {
        let folder = target
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        let file = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .tempfile_in(folder)
            .map_err(cannot_write)?;
        let mut lines = JsonLines::as_of(BufWriter::new(file.as_file()), now);
        export
            .write(memories, read, &mut lines)?
            .map_err(cannot_write)?;
        let counts = lines.counts().clone();
        lines.finish().map_err(cannot_write)?;
        file.as_file().sync_all().map_err(cannot_write)?;
        file.persist_noclobber(target)
            .map_err(|error| cannot_write(error.error))?;
        flush_folder(folder).map_err(cannot_write)?;
        export.tell(&counts, output)
    }
}

/// An error for a place whose Markdown files would be notes, or among what is exported.
fn check_place(settings: &Settings, target: &Path) -> Result<(), Failure> {
    let vault = Vault::of(settings, &settings.data)?.folder;
    let place = real(&std::path::absolute(target).unwrap_or_else(|_| target.to_owned()));
    let inside = [("folder of notes", &vault), ("data folder", &settings.data)];
    let Some((name, folder)) = inside
        .into_iter()
        .find(|(_, folder)| place.starts_with(real(folder)))
    else {
        return Ok(());
    };
    let message = format!(
        "{}: lies in the {name} {}; choose another place",
        target.display(),
        folder.display()
    );
    Err(Failure::new(Exit::Usage, message))
}

/// Makes the names in a folder durable, where the system can.
fn flush_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(folder)?.sync_all()
    } else {
        Ok(())
    }
}

/// What an export is written into.
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

/// Takes records one after the other.
pub type Visit<'a> = dyn FnMut(Archived) -> Result<(), Error> + 'a;

/// Puts the files of notes beside what is known of them.
pub struct Export {
    notes: VaultFolder,
    folder: PathBuf,
    /// Paths of notes that are written.
    seen: HashSet<String>,
    /// Files of notes that are not in the export, and why.
    pub left_out: Vec<String>,
}

impl Export {
    /// Nothing is written yet.
    pub fn new(vault: &Vault) -> Self {
        Export {
            notes: vault.notes(),
            folder: vault.folder.clone(),
            seen: HashSet::new(),
            left_out: Vec::new(),
        }
    }

    /// Writes everything that `read` hands out, about so many memories, and the notes. Within: what
    /// the sink says, or `read`.
    ///
    /// # Errors
    /// If the store or the folder of notes cannot be read.
    pub fn write<T>(
        &mut self,
        memories: u64,
        read: impl FnOnce(&mut Visit<'_>) -> Result<T, Error>,
        sink: &mut dyn Sink,
    ) -> Result<io::Result<T>, Failure> {
        let progress = Progress::new("memories");
        progress.begin(memories);
        let mut written = Ok(());
        let outcome = read(&mut |archived| {
            if matches!(archived.record, Record::Memory(_)) {
                progress.advance(1);
            }
            written = self.add(archived, sink)?;
            // What is said of it is above.
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
        // A file that nobody has looked at yet is no less somebody's.
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
        // A folder that cannot be read is named above.
        let links = notes::list(&self.folder)
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
        match archived.record {
            // Which folder it was says nothing elsewhere, and here it is found out anew.
            Record::NoteFolder(_) => Ok(Ok(())),
            Record::NoteFile(file) if archived.space == Space::default() => {
                self.add_note(file.path.clone(), Some(file), sink)
            }
            _ => Ok(sink.record(&archived)),
        }
    }

    /// Adds a file of notes as it is now: it may be newer than what is known of it, and is read
    /// again then.
    fn add_note(
        &mut self,
        path: String,
        known: Option<Box<NoteFile>>,
        sink: &mut dyn Sink,
    ) -> Result<io::Result<()>, Error> {
        let file = match self.notes.copy_of(&path, NOTE_FILE_BYTES_MAX) {
            Ok(copy) => copy.map(NoteBytes::Inline),
            Err(error) if matches!(error.code, ErrorCode::TooLarge | ErrorCode::Unavailable) => {
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

    fn tell(self, counts: &Counts, output: Output) -> Result<(), Failure> {
        let text: Vec<String> = counts
            .iter()
            .map(|(kind, count)| format!("{kind} {count}"))
            .collect();
        let text = if text.is_empty() {
            "nothing".to_owned()
        } else {
            text.join(", ")
        };
        output.either(
            &json!({"exported": counts, "left_out": self.left_out}),
            format_args!("exported {text}\n"),
        )?;
        self.end()
    }

    fn end(self) -> Result<(), Failure> {
        for problem in &self.left_out {
            status_line(problem);
        }
        match self.left_out.len() {
            0 => Ok(()),
            left_out => {
                let message = format!(
                    "{left_out} of the files and folders of notes are left out; everything else is exported"
                );
                Err(Failure::new(Exit::Failure, message))
            }
        }
    }
}
