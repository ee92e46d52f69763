//! Memories of loci in the forms of other systems, so that a person can go back to one.
//!
//! Each [`Form`] is what its package reads; texts are written byte for byte. A part that a form has no
//! place for is counted by its name in [`Written`], and what loci's own reader needs to give the same record
//! back, e.g. its id, stands in keys of the person's own where the form has such keys.

mod mem0;
mod mempalace;
mod notes;
mod server_memory;

use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::{Owner, PeerError, PeerFact, PeerMemory, PeerRecord, PeerTunnel, Result, Sharing};

/// The key of a memory's id in loci.
pub(crate) const OWN_ID: &str = "loci_id";
/// The key of a memory's project in loci.
pub(crate) const OWN_PROJECT: &str = "loci_project";

pub(crate) use self::notes::{END_OF_TEXT, FACTS as OWN_FACTS, OWN_TITLE};

/// A form that another system reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// The file of the reference memory server.
    ServerMemory,
    /// A list as mem0 exports it.
    Mem0,
    /// A project of basic-memory: notes in Markdown.
    BasicMemory,
    /// A vault of Obsidian: the same notes.
    Obsidian,
    /// A palace of mempalace on SQLite.
    Mempalace,
}

impl Form {
    /// Every form.
    pub const ALL: [Form; 5] = [
        Form::ServerMemory,
        Form::Mem0,
        Form::BasicMemory,
        Form::Obsidian,
        Form::Mempalace,
    ];

    /// Returns the name by which a user names it.
    pub const fn name(self) -> &'static str {
        match self {
            Form::ServerMemory => "server-memory",
            Form::Mem0 => "mem0",
            Form::BasicMemory => "basic-memory",
            Form::Obsidian => "obsidian",
            Form::Mempalace => "mempalace",
        }
    }

    /// Returns the form with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.name() == name)
    }

    /// Returns true if it is a folder of files, and not one file.
    pub const fn is_folder(self) -> bool {
        !matches!(self, Form::ServerMemory | Form::Mem0)
    }

    /// Returns true if it has a place for this part of a memory.
    const fn holds(self, part: Part) -> bool {
        match part {
            Part::Kind => true,
            Part::Title => !matches!(self, Form::Mempalace),
            Part::Project | Part::Tags | Part::Times => !matches!(self, Form::ServerMemory),
            Part::Links => matches!(self, Form::BasicMemory | Form::Obsidian),
            Part::Expiry | Part::Owner | Part::Attributes => matches!(self, Form::Mem0),
            Part::Replaces
            | Part::Sharing
            | Part::Summary
            | Part::Weight
            | Part::Citations
            | Part::SessionStarts => false,
        }
    }
}

/// A part of a memory besides its text.
#[derive(Debug, Clone, Copy)]
enum Part {
    Title,
    Project,
    Kind,
    Tags,
    Times,
    Expiry,
    Links,
    Replaces,
    Owner,
    Sharing,
    Summary,
    Weight,
    Citations,
    Attributes,
    SessionStarts,
}

impl Part {
    const ALL: [Part; 15] = [
        Part::Title,
        Part::Project,
        Part::Kind,
        Part::Tags,
        Part::Times,
        Part::Expiry,
        Part::Links,
        Part::Replaces,
        Part::Owner,
        Part::Sharing,
        Part::Summary,
        Part::Weight,
        Part::Citations,
        Part::Attributes,
        Part::SessionStarts,
    ];

    const fn name(self) -> &'static str {
        match self {
            Part::Title => "titles",
            Part::Project => "projects",
            Part::Kind => "types",
            Part::Tags => "lists of tags",
            Part::Times => "times",
            Part::Expiry => "times of expiry",
            Part::Links => "lists of links",
            Part::Replaces => "marks of what a memory replaces",
            Part::Owner => "owners",
            Part::Sharing => "marks of who may read",
            Part::Summary => "summaries",
            Part::Weight => "weights",
            Part::Citations => "lists of citations",
            Part::Attributes => "lists of attributes",
            Part::SessionStarts => "marks of what sessions start with",
        }
    }

    fn is_in(self, memory: &PeerMemory) -> bool {
        match self {
            Part::Title => memory.title.is_some(),
            Part::Project => memory.container.is_some(),
            Part::Kind => memory.kind.is_some(),
            Part::Tags => !memory.tags.is_empty(),
            Part::Times => memory.created_at.is_some(),
            Part::Expiry => memory.expires_at.is_some(),
            Part::Links => !memory.links.is_empty(),
            Part::Replaces => memory.supersedes.is_some(),
            Part::Owner => matches!(memory.owner, Owner::User(_)),
            Part::Sharing => memory.sharing == Sharing::Private,
            Part::Summary => memory.summary.is_some(),
            Part::Weight => memory.weight.is_some(),
            Part::Citations => !memory.citations.is_empty(),
            Part::Attributes => !memory.attributes.is_empty(),
            Part::SessionStarts => memory.is_at_start,
        }
    }
}

/// The counts of records that were written, and of parts that the form has no place for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Written {
    /// Memories.
    pub memories: u64,
    /// Facts.
    pub facts: u64,
    /// Tunnels.
    pub tunnels: u64,
    /// Records and parts that were left out, by their names.
    pub left_out: BTreeMap<String, u64>,
}

impl Written {
    fn leave_out(&mut self, what: &str) {
        *self.left_out.entry(what.to_owned()).or_default() += 1;
    }
}

/// A form that is being written.
trait Target {
    fn memory(&mut self, memory: &PeerMemory, written: &mut Written) -> io::Result<()>;

    /// Writes a fact; returns what it is called if the form has no place for it.
    fn fact(&mut self, fact: &PeerFact, written: &mut Written) -> io::Result<Option<&'static str>>;

    /// Writes a tunnel; returns false if the form has no place for it.
    fn tunnel(&mut self, _: &PeerTunnel) -> io::Result<bool> {
        Ok(false)
    }

    fn finish(&mut self) -> io::Result<()>;
}

/// Writes memories in a form of another system.
pub struct Writer {
    form: Form,
    path: PathBuf,
    target: Box<dyn Target>,
    written: Written,
}

impl Writer {
    /// Creates the file or folder, which must not be there; an empty folder may be. A record without
    /// a time gets `now`.
    ///
    /// # Errors
    /// If something is there, or it cannot be created.
    pub fn create(form: Form, path: &Path, now: Timestamp) -> Result<Self> {
        let failed = |source: io::Error| PeerError::File {
            file: path.display().to_string(),
            source,
        };
        if form.is_folder() {
            make_folder(path).map_err(failed)?;
        }
        let target: Box<dyn Target> = match form {
            Form::ServerMemory => Box::new(server_memory::Graph::create(path).map_err(failed)?),
            Form::Mem0 => Box::new(mem0::List::create(path).map_err(failed)?),
            Form::BasicMemory | Form::Obsidian => Box::new(notes::Notes::new(path)),
            Form::Mempalace => Box::new(mempalace::Palace::create(path, now).map_err(failed)?),
        };
        Ok(Writer {
            form,
            path: path.to_owned(),
            target,
            written: Written::default(),
        })
    }

    /// Writes a record, and counts its parts that the form cannot hold.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn put(&mut self, record: &PeerRecord) -> Result<()> {
        let outcome = match record {
            PeerRecord::Memory(memory) => {
                let lost = Part::ALL.into_iter().filter(|part| part.is_in(memory));
                for part in lost.filter(|part| !self.form.holds(*part)) {
                    self.written.leave_out(part.name());
                }
                self.written.memories += 1;
                self.target.memory(memory, &mut self.written)
            }
            PeerRecord::Fact(fact) => {
                let outcome = self.target.fact(fact, &mut self.written);
                outcome.map(|left_out| match left_out {
                    None => self.written.facts += 1,
                    Some(what) => self.written.leave_out(what),
                })
            }
            PeerRecord::Tunnel(tunnel) => self.target.tunnel(tunnel).map(|is_there| {
                if is_there {
                    self.written.tunnels += 1;
                } else {
                    self.written.leave_out("tunnels");
                }
            }),
            PeerRecord::Decision(_) => {
                self.written.leave_out("decisions");
                Ok(())
            }
        };
        outcome.map_err(|source| PeerError::File {
            file: self.path.display().to_string(),
            source,
        })
    }

    /// Counts a record of a kind that no form has, e.g. `settings`.
    pub fn leave_out(&mut self, what: &str) {
        self.written.leave_out(what);
    }

    /// Writes the rest, durably; returns what was written.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self) -> Result<Written> {
        self.target.finish().map_err(|source| PeerError::File {
            file: self.path.display().to_string(),
            source,
        })?;
        Ok(self.written)
    }
}

/// Makes a private folder, unless it is there and empty.
fn make_folder(path: &Path) -> io::Result<()> {
    if std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none()) {
        return Ok(());
    }
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Creates a private file, which must not be there.
fn make_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Returns a time as RFC 3339.
fn moment(time: Timestamp) -> String {
    time.to_string()
}
