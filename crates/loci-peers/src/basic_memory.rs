//! The projects of basic-memory (0.24.1): folders of Markdown files, which are the truth, with a
//! database elsewhere that has what no file has.
//!
//! The database writes the local time of its machine without a zone; the time at which the file changed,
//! in seconds since 1970, stands beside, and tells the offset.

mod known;
mod own;
mod syntax;

use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

use self::known::{Known, Note, Row};
use self::syntax::{Holds, LINKS_TO, Observation, Statements, holds_between};
use crate::database::{Database, is_database};
use crate::folder::{self, Hidden, TextFile, relative};
use crate::repetitions::Numbers;
use crate::times::Offsets;
use crate::write::{OWN_FACTS, OWN_ID};
use crate::{Outlet, PeerError, PeerFact, PeerMemory, PeerRecord, Result, frontmatter};

/// The folder of the database in the home folder.
const FOLDER: &str = ".basic-memory";
const FILE: &str = "memory.db";
/// The ending of the names of notes.
const ENDING: &str = "md";
/// The number of files that are looked at to tell whose a folder is.
const LOOKED_AT: usize = 20;

/// A project: its folder, and its place in the database.
struct Project {
    name: String,
    /// `None` if its folder is not there.
    folder: Option<PathBuf>,
    /// `None` if the database has only one, or does not know it.
    number: Option<i64>,
}

/// Returns the database that a path names, or that is beside it or above.
fn database_of(path: &Path) -> Option<PathBuf> {
    let above = path.ancestors().skip(1);
    let places = [path.to_owned(), path.join(FILE)].into_iter().chain(
        std::iter::once(path)
            .chain(above)
            .map(|folder| folder.join(FOLDER).join(FILE)),
    );
    places.filter(|file| is_database(file)).find(|file| {
        Database::copied(file)
            .and_then(|database| database.has(&["entity", "observation", "relation"]))
            .unwrap_or(false)
    })
}

/// Returns true if basic-memory wrote the database, or a note in the folder.
pub fn wrote(path: &Path) -> bool {
    match database_of(path) {
        Some(file) if is_within(&file, path) => true,
        Some(file) => open(&file).is_ok_and(|(database, _)| {
            projects(&database, &file)
                .is_ok_and(|projects| projects.iter().any(|project| project.is_at(path)))
        }),
        None => path.is_dir() && has_notes(path),
    }
}

/// Returns true if a path is that of the database, of its folder, or of the folder above.
fn is_within(database: &Path, path: &Path) -> bool {
    database.ancestors().take(3).any(|place| place == path)
}

/// Returns true if the folder, or one right below it, has a file with keys that only basic-memory
/// writes.
fn has_notes(path: &Path) -> bool {
    let entries = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        entries.filter_map(|entry| Some(entry.ok()?.path()))
    };
    let below = entries(path)
        .filter(|folder| folder.is_dir())
        .flat_map(|folder| entries(&folder));
    let files = entries(path)
        .chain(below)
        .filter(|file| is_note(file) && file.is_file());
    let mut report = crate::Report::default();
    files.take(LOOKED_AT).any(|file| {
        let Ok(Some(TextFile { text, .. })) = folder::text(&file, &mut report) else {
            return false;
        };
        let (keys, _) = frontmatter::split(&text);
        ["title", "type", "permalink"]
            .iter()
            .all(|key| frontmatter::text(&keys, key).is_some())
    })
}

fn is_note(file: &Path) -> bool {
    file.extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case(ENDING))
}

fn open(file: &Path) -> Result<(Database, Option<String>)> {
    let database = Database::copied(file)?;
    let notice = database.notice();
    Ok((database, notice))
}

impl Project {
    /// Returns the project that a folder is if no database knows it.
    fn alone(path: &Path) -> Self {
        Project {
            name: name_of(path),
            folder: Some(path.to_owned()),
            number: None,
        }
    }

    fn is_at(&self, path: &Path) -> bool {
        let own = |path: &Path| path.canonicalize().ok();
        self.folder
            .as_deref()
            .is_some_and(|folder| own(folder).is_some() && own(folder) == own(path))
    }
}

pub fn read(path: &Path, outlet: &mut Outlet<'_>) -> Result<()> {
    let mut offsets = Offsets::default();
    let file = database_of(path);
    let Some(file) = file else {
        if !path.is_dir() {
            let message = format!("{} is neither a folder of notes nor {FILE}", path.display());
            return Err(PeerError::Form(message));
        }
        outlet.report.notice(format!(
            "no {FOLDER}/{FILE} is beside or above {}: only it has when a note was made, and the times of the files \
             count",
            path.display()
        ));
        return read_projects(vec![Project::alone(path)], None, &offsets, outlet);
    };
    let (database, notice) = open(&file)?;
    if let Some(notice) = notice {
        outlet.report.notice(notice);
    }
    let mut projects = projects(&database, &file)?;
    let known = Known { database };
    if !is_within(&file, path) {
        projects.retain(|project| project.is_at(path));
        if projects.is_empty() {
            // The database knows no file in it.
            return read_projects(vec![Project::alone(path)], None, &offsets, outlet);
        }
    }
    for project in &projects {
        known.measure(project, &mut offsets)?;
    }
    read_projects(projects, Some(&known), &offsets, outlet)
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Returns the projects of a database. A folder that was moved with the database is looked for beside
/// it.
fn projects(database: &Database, file: &Path) -> Result<Vec<Project>> {
    let home = file.parent().and_then(Path::parent).unwrap_or(file);
    let mut projects = Vec::new();
    if !database.has(&["project"])? {
        let folder = Some(home.join("basic-memory")).filter(|folder| folder.is_dir());
        return Ok(vec![Project {
            name: "main".to_owned(),
            folder,
            number: None,
        }]);
    }
    database.rows("SELECT * FROM project ORDER BY id", &[], |cells| {
        let path = PathBuf::from(cells.text("path").unwrap_or_default());
        let moved = path.file_name().map(|name| home.join(name));
        let folder = moved
            .into_iter()
            .chain([path])
            .find(|folder| folder.is_dir());
        projects.push(Project {
            name: cells.text("name").unwrap_or_default(),
            folder,
            number: cells.number("id"),
        });
        Ok(())
    })?;
    Ok(projects)
}

/// Passes on the notes of projects. Their names are gathered first, because they link to one another.
fn read_projects(
    projects: Vec<Project>,
    known: Option<&Known>,
    offsets: &Offsets,
    outlet: &mut Outlet<'_>,
) -> Result<()> {
    let mut ids = Numbers::default();
    for project in projects {
        let notes = notes(&project, known, &mut ids, outlet)?;
        if project.folder.is_none() && !notes.is_empty() {
            outlet.report.notice(format!(
                "the folder of the project {} is not there; its notes come as the database has them",
                project.name
            ));
        }
        let reading = Reading {
            project: &project,
            known,
            offsets,
            names: names(&project, &notes),
            notes: &notes,
        };
        for note in &notes {
            reading.put(note, outlet)?;
        }
    }
    Ok(())
}

/// Returns the notes of a project; files that are no notes are left out.
fn notes(
    project: &Project,
    known: Option<&Known>,
    ids: &mut Numbers,
    outlet: &mut Outlet<'_>,
) -> Result<Vec<Note>> {
    let mut notes = Vec::new();
    let Some(root) = &project.folder else {
        let paths = known.map_or(Ok(Vec::new()), |known| known.paths(project))?;
        for path in paths {
            notes.extend(note(project, known, &path, ids, outlet)?);
        }
        return Ok(notes);
    };
    let mut found = Numbers::default();
    for file in folder::files(root, Hidden::LeftOut, &mut outlet.report)? {
        let path = relative(root, &file);
        found.number(&path);
        notes.extend(note(project, known, &path, ids, outlet)?);
    }
    if let Some(known) = known {
        known.rows(project, None, |cells| {
            let path = cells.text("file_path");
            if path.is_some_and(|path| found.of(&path).is_none()) {
                outlet
                    .report
                    .leave_out("entries of the database whose file is gone");
            }
            Ok(())
        })?;
    }
    Ok(notes)
}

/// Returns the names of a note; `None` for a file that is left out.
fn note(
    project: &Project,
    known: Option<&Known>,
    path: &str,
    ids: &mut Numbers,
    outlet: &mut Outlet<'_>,
) -> Result<Option<Note>> {
    if !is_note(Path::new(path)) {
        outlet.report.leave_out("files that are no Markdown");
        return Ok(None);
    }
    let row = known.map_or(Ok(None), |known| known.row(project, path))?;
    let (mut title, mut id) = row.map_or((None, None), |row| (row.title, row.permalink));
    let mut own_id = None;
    if let Some(root) = &project.folder {
        let Some(file) = folder::text(&root.join(path), &mut outlet.report)? else {
            return Ok(None);
        };
        let (keys, _) = frontmatter::split(&file.text);
        title = frontmatter::text(&keys, "title").or(title);
        id = frontmatter::text(&keys, "permalink").or(id);
        own_id = frontmatter::text(&keys, OWN_ID);
    }
    let stem = Path::new(path).file_stem().unwrap_or_default();
    let title = title.unwrap_or_else(|| stem.to_string_lossy().into_owned());
    let mut id = id.unwrap_or_else(|| path.to_owned());
    if ids.of(&id).is_some() {
        id = format!("{}/{path}", project.name);
    }
    ids.number(&id);
    Ok(Some(Note::new(&id, &title, path, own_id.as_deref())))
}

/// Returns the place of each note by the names that links may give it: permalink, path, title.
fn names(project: &Project, notes: &[Note]) -> Numbers {
    let mut names = Numbers::default();
    let prefix = format!("{}/", project.name);
    for (place, note) in (0_u32..).zip(notes) {
        let path = note.path();
        let path = path.rsplit_once('.').map_or(path, |(path, _)| path);
        let short = note.id().strip_prefix(&prefix);
        for name in [Some(note.id()), short, Some(path)].into_iter().flatten() {
            names.give(name, place);
        }
    }
    for (place, note) in (0_u32..).zip(notes) {
        names.give(note.title(), place);
    }
    names
}

/// The notes of a project while they are passed on.
struct Reading<'a> {
    project: &'a Project,
    known: Option<&'a Known>,
    offsets: &'a Offsets,
    names: Numbers,
    notes: &'a [Note],
}

impl Reading<'_> {
    /// Returns the text of a note: that of its file, or the one that the database has.
    fn text(
        &self,
        note: &Note,
        row: Option<&Row>,
        outlet: &mut Outlet<'_>,
    ) -> Result<Option<TextFile>> {
        if let Some(root) = &self.project.folder {
            // A file that is left out was counted when the names were gathered.
            return folder::text(&root.join(note.path()), &mut crate::Report::default());
        }
        let mut text = None;
        if let (Some(Known { database }), Some(row)) = (self.known, row)
            && database.has(&["note_content"])?
        {
            let query = "SELECT markdown_content FROM note_content WHERE entity_id = ?1";
            database.rows(query, &[&row.entity], |cells| {
                text = cells.text("markdown_content");
                Ok(())
            })?;
        }
        if text.is_none() {
            outlet
                .report
                .leave_out("notes whose text is neither in a file nor in the database");
        }
        Ok(text.map(|text| TextFile {
            text,
            modified: None,
        }))
    }

    fn put(&self, note: &Note, outlet: &mut Outlet<'_>) -> Result<()> {
        let row = self.known;
        let row = row.map_or(Ok(None), |known| known.row(self.project, note.path()))?;
        let row = row.as_ref();
        let Some(TextFile { text, modified }) = self.text(note, row, outlet)? else {
            return Ok(());
        };
        let (keys, body) = frontmatter::split(&text);
        if keys.contains_key(OWN_FACTS) {
            return self.put_facts(note, &syntax::read(body), row, outlet);
        }
        if let Some(own_id) = note.own_id() {
            return outlet.put_memory(self.own(note, own_id, &keys, body, modified));
        }
        let statements = syntax::read(body);
        let mut memory = PeerMemory::new(note.id(), &*text);
        memory.title = Some(note.title().to_owned());
        memory.container = Some(self.project.name.clone());
        memory.kind = frontmatter::text(&keys, "type");
        memory.tags = frontmatter::tags(&keys);
        memory.note("source_file", note.path());
        memory.note(
            "permalink",
            &frontmatter::text(&keys, "permalink").unwrap_or_default(),
        );
        // Of a file that changed after the database last looked, only the file knows when.
        let known = row.filter(|row| {
            let checksum = HEXLOWER.encode(&Sha256::digest(&text));
            modified.is_none() || row.checksum.as_ref() == Some(&checksum)
        });
        memory.updated_at = known.and_then(|row| row.changed).or(modified);
        let written = ["created", "created_at"]
            .iter()
            .find_map(|key| frontmatter::text(&keys, key));
        let made = row.and_then(|row| row.created_at.clone()).or(written);
        memory.created_at = made
            .and_then(|clock| {
                if self.offsets.is_empty() {
                    outlet.moment(&clock)
                } else {
                    self.offsets.moment(&clock, &outlet.zone)
                }
            })
            .or(memory.updated_at);
        if let Some(row) = row {
            memory.note(
                "external_id",
                row.external_id.as_deref().unwrap_or_default(),
            );
        }
        for relation in &statements.relations {
            if let Some(place) = self.target(relation.target) {
                memory
                    .links
                    .push((place.id().to_owned(), relation.kind.to_owned()));
            }
        }
        outlet.put_memory(memory)?;
        self.put_facts(note, &statements, row, outlet)
    }

    /// Passes on the named relations, and the observations with a time, as facts.
    fn put_facts(
        &self,
        note: &Note,
        statements: &Statements<'_>,
        row: Option<&Row>,
        outlet: &mut Outlet<'_>,
    ) -> Result<()> {
        for relation in statements
            .relations
            .iter()
            .filter(|one| one.kind != LINKS_TO)
        {
            let target = self.target(relation.target).map(Note::title);
            let fact = fact(
                note,
                relation.kind,
                target.unwrap_or(relation.target),
                (None, None),
            );
            outlet.put(PeerRecord::Fact(fact))?;
        }
        for observation in &statements.observations {
            if let Some(holds) = self.holds(observation, row, outlet)? {
                let fact = fact(note, observation.category, observation.text, holds);
                outlet.put(PeerRecord::Fact(fact))?;
            }
        }
        Ok(())
    }

    /// Returns the note that a link leads to. A part behind `|` or `#` is no part
    /// of the name, unless a note is called so.
    fn target(&self, target: &str) -> Option<&Note> {
        let bare = target.split(['|', '#']).next().unwrap_or(target).trim();
        let mut names = [target, bare].into_iter();
        let place = names.find_map(|name| self.names.of(name))?;
        self.notes.get(usize::try_from(place).ok()?)
    }

    /// Returns when an observation holds, if a time is written before it. Words that only the package
    /// reads as a time are looked up in its database.
    fn holds(
        &self,
        observation: &Observation<'_>,
        row: Option<&Row>,
        outlet: &mut Outlet<'_>,
    ) -> Result<Option<Holds>> {
        let Some(qualifier) = &observation.qualifier else {
            return Ok(None);
        };
        if qualifier.is_aside {
            return Ok(Some((None, None)));
        }
        let mut holds = qualifier.holds();
        if let (None, Some(Known { database }), Some(row)) = (&holds, self.known, row) {
            let query = "SELECT * FROM memory_time_index WHERE entity_id = ?1 AND source_text = ?2";
            if database.has(&["memory_time_index"])? {
                database.rows(query, &[&row.entity, &qualifier.token], |cells| {
                    let bound = |value, inclusive| {
                        let value: Option<String> = cells.text(value);
                        (
                            value.unwrap_or_default(),
                            cells.number(inclusive) == Some(1),
                        )
                    };
                    let lower = bound("lower_value", "lower_inclusive");
                    let upper = bound("upper_value", "upper_inclusive");
                    holds = holds_between((&lower.0, lower.1), (&upper.0, upper.1));
                    Ok(())
                })?;
            }
        }
        if holds.is_none() {
            outlet
                .report
                .leave_out("observations whose time is in words, as facts");
        }
        Ok(holds)
    }
}

fn fact(note: &Note, predicate: &str, object: &str, (from, to): Holds) -> PeerFact {
    PeerFact {
        subject: note.title().to_owned(),
        predicate: predicate.to_owned(),
        object: object.to_owned(),
        valid_from: from,
        valid_to: to,
        source: Some(note.path().to_owned()),
    }
}
