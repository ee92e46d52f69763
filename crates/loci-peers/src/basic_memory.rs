//! The projects of basic-memory (0.24.1): folders of Markdown files, which are the truth, with a
//! database elsewhere that has what no file has.
//!
//! The database writes the local time of its machine without a zone; the time at which the file changed,
//! in seconds since 1970, stands beside, and tells the offset.

mod own;
mod syntax;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use self::syntax::{Holds, LINKS_TO, Observation, Statements, holds_between};
use crate::database::{Database, is_database};
use crate::folder::{self, Hidden, TextFile, relative};
use crate::times::{self, Offsets};
use crate::write::{OWN_FACTS, OWN_ID};
use crate::{Outlet, PeerError, PeerFact, PeerMemory, PeerRecord, Result, frontmatter};

/// The folder of the database in the home folder.
const FOLDER: &str = ".basic-memory";
const FILE: &str = "memory.db";
/// The ending of the names of notes.
const ENDING: &str = "md";
/// The number of files that are looked at to tell whose a folder is.
const LOOKED_AT: usize = 20;

/// A project: its folder, and what the database knows of its files.
struct Project {
    name: String,
    /// `None` if its folder is not there.
    folder: Option<PathBuf>,
    /// The rows of its files in the database, by the path in the folder.
    rows: BTreeMap<String, Row>,
}

/// The row of a file in the database.
struct Row {
    entity: i64,
    title: Option<String>,
    permalink: Option<String>,
    external_id: Option<String>,
    checksum: Option<String>,
    created_at: Option<String>,
    /// The time at which the file changed, on the clock of the machine.
    changed_at: Option<String>,
    /// The same as a moment.
    changed: Option<Timestamp>,
}

/// A note of which the text is not read yet.
struct Note {
    id: String,
    title: String,
    path: String,
    /// The id in loci of a note that loci wrote.
    own_id: Option<String>,
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
        let project = Project {
            name: name_of(path),
            folder: Some(path.to_owned()),
            rows: BTreeMap::new(),
        };
        return read_projects(vec![project], None, &offsets, outlet);
    };
    let (database, notice) = open(&file)?;
    if let Some(notice) = notice {
        outlet.report.notice(notice);
    }
    let mut projects = projects(&database, &file)?;
    if !is_within(&file, path) {
        projects.retain(|project| project.is_at(path));
        if projects.is_empty() {
            projects.push(Project {
                name: name_of(path),
                folder: Some(path.to_owned()),
                rows: BTreeMap::new(),
            });
        }
    }
    for row in projects
        .iter_mut()
        .flat_map(|project| project.rows.values_mut())
    {
        if let (Some(clock), Some(changed)) = (&row.changed_at, row.changed) {
            row.changed = offsets.measure(clock, changed).or(row.changed);
        }
    }
    read_projects(projects, Some(&database), &offsets, outlet)
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Returns the projects of a database with what it knows of their files. A folder that was moved with
/// the database is looked for beside it.
fn projects(database: &Database, file: &Path) -> Result<Vec<Project>> {
    let home = file.parent().and_then(Path::parent).unwrap_or(file);
    let mut projects: Vec<(Option<i64>, Project)> = Vec::new();
    if database.has(&["project"])? {
        database.rows("SELECT * FROM project ORDER BY id", &[], |cells| {
            let path = PathBuf::from(cells.text("path").unwrap_or_default());
            let moved = path.file_name().map(|name| home.join(name));
            let folder = moved
                .into_iter()
                .chain([path])
                .find(|folder| folder.is_dir());
            let project = Project {
                name: cells.text("name").unwrap_or_default(),
                folder,
                rows: BTreeMap::new(),
            };
            projects.push((cells.number("id"), project));
            Ok(())
        })?;
    } else {
        let folder = Some(home.join("basic-memory")).filter(|folder| folder.is_dir());
        let project = Project {
            name: "main".to_owned(),
            folder,
            rows: BTreeMap::new(),
        };
        projects.push((None, project));
    }
    database.rows("SELECT * FROM entity ORDER BY id", &[], |cells| {
        let of = cells.number("project_id");
        let project = projects
            .iter_mut()
            .find(|(id, _)| id.is_none() || *id == of)
            .map(|(_, project)| project);
        if let (Some(project), Some(entity), Some(path)) =
            (project, cells.number("id"), cells.text("file_path"))
        {
            let row = Row {
                entity,
                title: cells.filled("title"),
                permalink: cells.filled("permalink"),
                external_id: cells.filled("external_id"),
                checksum: cells.filled("checksum"),
                created_at: cells.filled("created_at"),
                changed_at: cells.filled("updated_at"),
                changed: cells.real("mtime").and_then(times::seconds),
            };
            project.rows.insert(path, row);
        }
        Ok(())
    })?;
    Ok(projects.into_iter().map(|(_, project)| project).collect())
}

/// Passes on the notes of projects. Their names are gathered first, because they link to one another.
fn read_projects(
    projects: Vec<Project>,
    database: Option<&Database>,
    offsets: &Offsets,
    outlet: &mut Outlet<'_>,
) -> Result<()> {
    let mut ids = HashSet::new();
    for project in projects {
        if project.folder.is_none() && !project.rows.is_empty() {
            outlet.report.notice(format!(
                "the folder of the project {} is not there; its notes come as the database has them",
                project.name
            ));
        }
        let notes = notes(&project, &mut ids, outlet)?;
        let reading = Reading {
            project: &project,
            database,
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
    ids: &mut HashSet<String>,
    outlet: &mut Outlet<'_>,
) -> Result<Vec<Note>> {
    let mut notes = Vec::new();
    let paths: Vec<String> = match &project.folder {
        Some(root) => {
            let files = folder::files(root, Hidden::LeftOut, &mut outlet.report)?;
            files.iter().map(|file| relative(root, file)).collect()
        }
        None => project.rows.keys().cloned().collect(),
    };
    if project.folder.is_some() {
        let found: HashSet<&str> = paths.iter().map(String::as_str).collect();
        let gone = project
            .rows
            .keys()
            .filter(|path| !found.contains(path.as_str()));
        for _ in gone {
            outlet
                .report
                .leave_out("entries of the database whose file is gone");
        }
    }
    for path in paths {
        if !is_note(Path::new(&path)) {
            outlet.report.leave_out("files that are no Markdown");
            continue;
        }
        let row = project.rows.get(&path);
        let mut title = row.and_then(|row| row.title.clone());
        let mut id = row.and_then(|row| row.permalink.clone());
        let mut own_id = None;
        if let Some(root) = &project.folder {
            let Some(file) = folder::text(&root.join(&path), &mut outlet.report)? else {
                continue;
            };
            let (keys, _) = frontmatter::split(&file.text);
            title = frontmatter::text(&keys, "title").or(title);
            id = frontmatter::text(&keys, "permalink").or(id);
            own_id = frontmatter::text(&keys, OWN_ID);
        }
        let stem = Path::new(&path).file_stem().unwrap_or_default();
        let title = title.unwrap_or_else(|| stem.to_string_lossy().into_owned());
        let mut id = id.unwrap_or_else(|| path.clone());
        if !ids.insert(id.clone()) {
            id = format!("{}/{path}", project.name);
            ids.insert(id.clone());
        }
        notes.push(Note {
            id,
            title,
            path,
            own_id,
        });
    }
    Ok(notes)
}

/// Returns the place of each note by the names that links may give it: permalink, path, title.
fn names(project: &Project, notes: &[Note]) -> HashMap<String, usize> {
    let mut names = HashMap::new();
    let prefix = format!("{}/", project.name);
    let own = notes.iter().enumerate().flat_map(|(place, note)| {
        let path = note
            .path
            .rsplit_once('.')
            .map_or(&*note.path, |(path, _)| path);
        let short = note.id.strip_prefix(&prefix);
        [Some(&*note.id), short, Some(path)]
            .into_iter()
            .flatten()
            .map(move |name| (name.to_owned(), place))
    });
    let titles = notes
        .iter()
        .enumerate()
        .map(|(place, note)| (note.title.clone(), place));
    for (name, place) in own.chain(titles) {
        names.entry(name).or_insert(place);
    }
    names
}

/// The notes of a project while they are passed on.
struct Reading<'a> {
    project: &'a Project,
    database: Option<&'a Database>,
    offsets: &'a Offsets,
    names: HashMap<String, usize>,
    notes: &'a [Note],
}

impl Reading<'_> {
    /// Returns the text of a note: that of its file, or the one that the database has.
    fn text(&self, note: &Note, outlet: &mut Outlet<'_>) -> Result<Option<TextFile>> {
        if let Some(root) = &self.project.folder {
            // A file that is left out was counted when the names were gathered.
            return folder::text(&root.join(&note.path), &mut crate::Report::default());
        }
        let (mut text, row) = (None, self.project.rows.get(&note.path));
        if let (Some(database), Some(row)) = (self.database, row)
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
        let Some(TextFile { text, modified }) = self.text(note, outlet)? else {
            return Ok(());
        };
        let row = self.project.rows.get(&note.path);
        let (keys, body) = frontmatter::split(&text);
        if keys.contains_key(OWN_FACTS) {
            return self.put_facts(note, &syntax::read(body), row, outlet);
        }
        if let Some(own_id) = &note.own_id {
            return outlet.put_memory(self.own(note, own_id, &keys, body, modified));
        }
        let statements = syntax::read(body);
        let mut memory = PeerMemory::new(&*note.id, &*text);
        memory.title = Some(note.title.clone());
        memory.container = Some(self.project.name.clone());
        memory.kind = frontmatter::text(&keys, "type");
        memory.tags = frontmatter::tags(&keys);
        memory.note("source_file", &note.path);
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
                    .push((self.notes[place].id.clone(), relation.kind.to_owned()));
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
            let target = self
                .target(relation.target)
                .map(|place| &*self.notes[place].title);
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

    /// Returns the place of the note that a link leads to. A part behind `|` or `#` is no part
    /// of the name, unless a note is called so.
    fn target(&self, target: &str) -> Option<usize> {
        let bare = target.split(['|', '#']).next().unwrap_or(target).trim();
        let mut names = [target, bare].into_iter();
        names.find_map(|name| self.names.get(name)).copied()
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
        if let (None, Some(database), Some(row)) = (&holds, self.database, row) {
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
        subject: note.title.clone(),
        predicate: predicate.to_owned(),
        object: object.to_owned(),
        valid_from: from,
        valid_to: to,
        source: Some(note.path.clone()),
    }
}
