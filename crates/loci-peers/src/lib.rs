//! The stores and exports of other memory systems, read as they are, and forms that these read.
//!
//! Each [`Peer`] is a system whose store, or export, [`read`] turns into [`PeerRecord`]s. Nothing is
//! written beside the owner's files: a database is copied with its write-ahead log into a temporary
//! folder first, so that a running owner is not disturbed. A record that is left out is
//! counted by its reason in the [`Report`], so that the records of a source are the ones that were
//! passed on and the ones in the report.
//!
//! The form of each store is known from the package that its module names, run and looked at.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, reason = "a test that fails may panic")
)]

mod basic_memory;
mod bson;
mod chat_gpt;
mod chroma;
mod claude_ai;
mod claude_mem;
mod database;
mod engram;
mod folder;
mod frontmatter;
mod graphiti;
mod json_file;
mod json_walk;
mod langgraph;
mod letta;
mod mcp_memory_service;
mod mem0;
mod mememory;
mod memory_mcp;
mod memory_stores;
mod memory_tool;
mod mempalace;
mod open_memory;
pub mod pickle;
mod repetitions;
mod server_memory;
mod sql_dump;
mod times;
mod write;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use loci_databases::DatabaseError;

pub use self::write::{Form, Writer, Written};

/// A memory system whose data loci reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Peer {
    /// A palace of mempalace, on Chroma or on SQLite, with its graph and its tunnels.
    Mempalace,
    /// The database of claude-mem.
    ClaudeMem,
    /// The database of mcp-memory-service, or its export in JSON.
    McpMemoryService,
    /// The file of the reference memory server.
    ServerMemory,
    /// The history of mem0 with its local Qdrant folder, or an export in JSON, of OpenMemory too.
    Mem0,
    /// Any folder of Chroma.
    Chroma,
    /// The SQLite store of LangGraph.
    LangGraph,
    /// A project of basic-memory, or all projects.
    BasicMemory,
    /// An export of graphiti as JSON lines.
    Graphiti,
    /// Agents of Letta as a file.
    Letta,
    /// A dump of the database of mememory, or its export in JSON.
    Mememory,
    /// An export or a dump of the collections of memory-mcp.
    MemoryMcp,
    /// The points of engram's collection, as Qdrant returns them.
    Engram,
    /// The memory of Claude.ai in the export of an account.
    ClaudeAi,
    /// The memory of ChatGPT in the export of an account.
    ChatGpt,
    /// The folder of Anthropic's memory tool, or pages of a memory store.
    MemoryTool,
}

impl Peer {
    /// Every peer, in the order in which a path is tried.
    pub const ALL: [Peer; 16] = [
        Peer::Mempalace,
        Peer::ClaudeMem,
        Peer::McpMemoryService,
        Peer::ServerMemory,
        Peer::Mem0,
        Peer::Chroma,
        Peer::LangGraph,
        Peer::BasicMemory,
        Peer::Graphiti,
        Peer::Letta,
        Peer::Mememory,
        Peer::MemoryMcp,
        Peer::Engram,
        Peer::ClaudeAi,
        Peer::ChatGpt,
        Peer::MemoryTool,
    ];

    /// Returns the name of the package, by which a user names it.
    pub const fn name(self) -> &'static str {
        match self {
            Peer::Mempalace => "mempalace",
            Peer::ClaudeMem => "claude-mem",
            Peer::McpMemoryService => "mcp-memory-service",
            Peer::ServerMemory => "server-memory",
            Peer::Mem0 => "mem0",
            Peer::Chroma => "chromadb",
            Peer::LangGraph => "langgraph",
            Peer::BasicMemory => "basic-memory",
            Peer::Graphiti => "graphiti",
            Peer::Letta => "letta",
            Peer::Mememory => "mememory",
            Peer::MemoryMcp => "memory-mcp",
            Peer::Engram => "engram",
            Peer::ClaudeAi => "claude-ai",
            Peer::ChatGpt => "chatgpt",
            Peer::MemoryTool => "anthropic-memory",
        }
    }

    /// Returns the peer with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|peer| peer.name() == name)
    }

    /// Returns the peer that a file or folder belongs to, told by its content; `None` if it belongs
    /// to another program.
    pub fn of(path: &Path) -> Option<Self> {
        loci_databases::copied_once(|| Self::ALL.into_iter().find(|peer| peer.wrote(path)))
    }

    fn wrote(self, path: &Path) -> bool {
        match self {
            Peer::Mempalace => mempalace::wrote(path),
            Peer::ClaudeMem => claude_mem::wrote(path),
            Peer::McpMemoryService => mcp_memory_service::wrote(path),
            Peer::ServerMemory => server_memory::wrote(path),
            Peer::Mem0 => mem0::wrote(path),
            Peer::Chroma => chroma::wrote(path),
            Peer::LangGraph => langgraph::wrote(path),
            Peer::BasicMemory => basic_memory::wrote(path),
            Peer::Graphiti => graphiti::wrote(path),
            Peer::Letta => letta::wrote(path),
            Peer::Mememory => mememory::wrote(path),
            Peer::MemoryMcp => memory_mcp::wrote(path),
            Peer::Engram => engram::wrote(path),
            Peer::ClaudeAi => claude_ai::wrote(path),
            Peer::ChatGpt => chat_gpt::wrote(path),
            Peer::MemoryTool => memory_tool::wrote(path) || memory_stores::wrote(path),
        }
    }

    /// Returns where the peer keeps its data on this machine unless it is told otherwise; `variable`
    /// returns a variable of the environment.
    pub fn places(self, home: &Path, variable: &dyn Fn(&str) -> Option<String>) -> Vec<PathBuf> {
        let set = |name: &str| {
            variable(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        match self {
            Peer::Mempalace => [
                set("MEMPALACE_HOME"),
                Some(home.join(".mempalace")),
                set("XDG_CONFIG_HOME").map(|folder| folder.join("mempalace")),
                Some(home.join(".config/mempalace")),
            ]
            .into_iter()
            .flatten()
            .collect(),
            Peer::ClaudeMem => {
                vec![set("CLAUDE_MEM_DATA_DIR").unwrap_or_else(|| home.join(".claude-mem"))]
            }
            Peer::McpMemoryService => vec![set("MCP_MEMORY_SQLITE_PATH").unwrap_or_else(|| {
                let base = set("MCP_MEMORY_BASE_DIR").unwrap_or_else(|| {
                    if cfg!(target_os = "macos") {
                        home.join("Library/Application Support/mcp-memory")
                    } else {
                        home.join(".local/share/mcp-memory")
                    }
                });
                base.join("sqlite_vec.db")
            })],
            Peer::ServerMemory => set("MEMORY_FILE_PATH").into_iter().collect(),
            Peer::Mem0 => vec![set("MEM0_DIR").unwrap_or_else(|| home.join(".mem0"))],
            Peer::BasicMemory => {
                vec![set("BASIC_MEMORY_CONFIG_DIR").unwrap_or_else(|| home.join(".basic-memory"))]
            }
            // They have no place of their own.
            Peer::Chroma
            | Peer::LangGraph
            | Peer::Graphiti
            | Peer::Letta
            | Peer::Mememory
            | Peer::MemoryMcp
            | Peer::Engram
            | Peer::ClaudeAi
            | Peer::ChatGpt
            | Peer::MemoryTool => Vec::new(),
        }
    }
}

/// A memory of another system.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is what some system says, and is true or not whatever the others are"
)]
pub struct PeerMemory {
    /// Its id in that system, unique in the source.
    pub id: String,
    /// The id that it has in loci, if loci wrote the source; its links lead to such ids then.
    pub own_id: Option<String>,
    /// Its text, byte for byte.
    pub text: String,
    /// Its title.
    pub title: Option<String>,
    /// Its project, store or collection.
    pub container: Option<String>,
    /// Its type, category or room.
    pub kind: Option<String>,
    /// Its tags.
    pub tags: Vec<String>,
    /// The user or agent who wrote it.
    pub author: Option<String>,
    /// The time at which it was first stored.
    pub created_at: Option<Timestamp>,
    /// The time at which its text last changed.
    pub updated_at: Option<Timestamp>,
    /// The time at which it expires.
    pub expires_at: Option<Timestamp>,
    /// The id of the memory that it replaces.
    pub supersedes: Option<String>,
    /// The ids of the memories that it is linked to, each with the relation.
    pub links: Vec<(String, String)>,
    /// Its further attributes, by name.
    pub attributes: BTreeMap<String, String>,
    /// True for an entry of a diary, which only its own room shows.
    pub is_diary: bool,
    /// True if every session started with it.
    pub is_at_start: bool,
    /// True if every prompt was given it, too.
    pub is_pinned: bool,
    /// True if agents there do not see it, although it was not deleted.
    pub is_hidden: bool,
    /// True for a finding about code, which only a search for findings shows.
    pub is_discovery: bool,
    /// True if its importance, type and summary are still to be found.
    pub is_unread: bool,
    /// The user that it belongs to.
    pub owner: Owner,
    /// Who else may read and change it.
    pub sharing: Sharing,
    /// The name of its writer for people, if that is not the owner's.
    pub actor: Option<String>,
    /// Its confidence, priority or importance, 0 to 1.
    pub weight: Option<f64>,
    /// Its summary.
    pub summary: Option<String>,
    /// True for a message, which expires; its kind is its speaker.
    pub is_message: bool,
    /// The conversation that it is a message of, or was made from.
    pub conversation: Option<String>,
    /// The id of the memory that it was made from.
    pub source: Option<String>,
    /// Its sources.
    pub citations: Vec<PeerCitation>,
}

/// The user that a memory belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Owner {
    /// Whoever imports it, because its system has one user.
    #[default]
    Importer,
    /// No user.
    Nobody,
    /// The user with this name.
    User(String),
}

/// Who else may read and change a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sharing {
    /// Others read and change it.
    #[default]
    Common,
    /// Others read it.
    Shared,
    /// Only its owner reads it.
    Private,
}

/// A source that a memory rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerCitation {
    /// `file`, `commit`, `url` or `repo`.
    pub kind: String,
    /// Its path, URL or name.
    pub reference: String,
    /// The place in it.
    pub locator: Option<String>,
    /// Its version.
    pub pin: Option<String>,
    /// The text at that place.
    pub excerpt: Option<String>,
}

/// A decision of a user, under a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerDecision {
    /// The user.
    pub owner: String,
    /// Its key, unique for the user.
    pub key: String,
    /// The decision itself.
    pub value: String,
    /// The time at which it was first stored.
    pub created_at: Option<Timestamp>,
    /// The time at which it was last stored.
    pub updated_at: Option<Timestamp>,
    /// The time at which it expires.
    pub expires_at: Option<Timestamp>,
}

impl PeerMemory {
    /// Creates a memory that has only an id and a text.
    pub fn new(id: impl Into<String>, text: impl Into<String>) -> Self {
        PeerMemory {
            id: id.into(),
            own_id: None,
            text: text.into(),
            title: None,
            container: None,
            kind: None,
            tags: Vec::new(),
            author: None,
            created_at: None,
            updated_at: None,
            expires_at: None,
            supersedes: None,
            links: Vec::new(),
            attributes: BTreeMap::new(),
            is_diary: false,
            is_at_start: false,
            is_pinned: false,
            is_hidden: false,
            is_discovery: false,
            is_unread: false,
            owner: Owner::default(),
            sharing: Sharing::default(),
            actor: None,
            weight: None,
            summary: None,
            is_message: false,
            conversation: None,
            source: None,
            citations: Vec::new(),
        }
    }

    /// Notes an attribute, unless the value is blank.
    fn note(&mut self, name: &str, value: &str) {
        if !value.trim().is_empty() {
            self.attributes.insert(name.to_owned(), value.to_owned());
        }
    }
}

/// A fact of another system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerFact {
    /// The subject.
    pub subject: String,
    /// The relation.
    pub predicate: String,
    /// The object.
    pub object: String,
    /// The first and the last moment of the time from which it holds: of a day both ends.
    pub valid_from: Option<(Timestamp, Timestamp)>,
    /// The same of the time until which it holds.
    pub valid_to: Option<(Timestamp, Timestamp)>,
    /// The source that it was read from.
    pub source: Option<String>,
}

/// A link between two places of another system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerTunnel {
    /// The place that it leads from: a wing and a room.
    pub source: (String, String),
    /// The place that it leads to.
    pub target: (String, String),
    /// The reason for the link.
    pub label: String,
}

/// A record of another system.
#[derive(Debug, Clone, PartialEq)]
pub enum PeerRecord {
    /// A memory.
    Memory(Box<PeerMemory>),
    /// A fact.
    Fact(PeerFact),
    /// A link between two places.
    Tunnel(PeerTunnel),
    /// A decision of a user.
    Decision(PeerDecision),
}

/// The notices of a reading, and the records that it left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// The number of records that were left out, by their reason.
    pub left_out: BTreeMap<String, u64>,
    /// Notices for the person: a file that is missing, a time that was taken for granted.
    pub notices: Vec<String>,
}

impl Report {
    fn leave_out(&mut self, reason: impl Into<String>) {
        self.leave_out_many(reason, 1);
    }

    /// Counts as many as a database says; nothing for none.
    fn leave_out_many(&mut self, reason: impl Into<String>, count: i64) {
        if let Ok(count @ 1..) = u64::try_from(count) {
            *self.left_out.entry(reason.into()).or_default() += count;
        }
    }

    fn notice(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.notices.contains(&text) {
            self.notices.push(text);
        }
    }
}

/// The reason why a source cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    /// The source has another form than the peer gives it.
    #[error("{0}")]
    Form(String),
    /// A file cannot be read or copied.
    #[error("{file} cannot be read: {source}")]
    File {
        /// The path of the file.
        file: String,
        /// The error of the system.
        source: std::io::Error,
    },
    /// A database cannot be read.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The receiver of the records stopped.
    #[error("{0}")]
    Stopped(String),
}

/// The result of a reader.
pub type Result<T> = std::result::Result<T, PeerError>;

/// Receives the records of a source, one by one; an error ends the reading.
pub type Sink<'a> = dyn FnMut(PeerRecord) -> std::result::Result<(), String> + 'a;

/// The sink of the records, and the report about them.
struct Outlet<'a> {
    sink: &'a mut Sink<'a>,
    report: Report,
    /// The zone of times without one.
    zone: TimeZone,
}

impl Outlet<'_> {
    fn put(&mut self, record: PeerRecord) -> Result<()> {
        (self.sink)(record).map_err(PeerError::Stopped)
    }

    /// Returns the moment of a time. One without a zone is of the zone for these, which the report says.
    fn moment(&mut self, text: &str) -> Option<Timestamp> {
        if matches!(times::told(text), Some(times::WrittenTime::Local(_))) {
            let zone = self
                .zone
                .iana_name()
                .unwrap_or("of this machine")
                .to_owned();
            self.report.notice(format!(
                "some times name no zone and have no moment beside them; they were taken as of the zone {zone} (`--zone` \
                 names another)"
            ));
        }
        times::in_zone(text, &self.zone)
    }

    /// Passes on a memory; one with a blank text is left out.
    fn put_memory(&mut self, memory: PeerMemory) -> Result<()> {
        if memory.text.trim().is_empty() {
            self.report.leave_out("memories without a text");
            return Ok(());
        }
        self.put(PeerRecord::Memory(Box::new(memory)))
    }
}

/// Reads what a peer keeps at `path`, a file or a folder, and passes each record to `sink`. A time
/// without a zone that nothing beside it tells is of `zone`.
///
/// # Errors
/// If the path is not the peer's, a file cannot be read, or `sink` stops. Records that were passed
/// on before stand.
pub fn read<'a>(peer: Peer, path: &Path, zone: TimeZone, sink: &'a mut Sink<'a>) -> Result<Report> {
    let mut outlet = Outlet {
        sink,
        report: Report::default(),
        zone,
    };
    match peer {
        Peer::Mempalace => mempalace::read(path, &mut outlet),
        Peer::ClaudeMem => claude_mem::read(path, &mut outlet),
        Peer::McpMemoryService => mcp_memory_service::read(path, &mut outlet),
        Peer::ServerMemory => server_memory::read(path, &mut outlet),
        Peer::Mem0 => mem0::read(path, &mut outlet),
        Peer::Chroma => chroma::read(path, &mut outlet),
        Peer::LangGraph => langgraph::read(path, &mut outlet),
        Peer::BasicMemory => basic_memory::read(path, &mut outlet),
        Peer::Graphiti => graphiti::read(path, &mut outlet),
        Peer::Letta => letta::read(path, &mut outlet),
        Peer::Mememory => mememory::read(path, &mut outlet),
        Peer::MemoryMcp => memory_mcp::read(path, &mut outlet),
        Peer::Engram => engram::read(path, &mut outlet),
        Peer::ClaudeAi => claude_ai::read(path, &mut outlet),
        Peer::ChatGpt => chat_gpt::read(path, &mut outlet),
        Peer::MemoryTool if path.is_file() => memory_stores::read(path, &mut outlet),
        Peer::MemoryTool => memory_tool::read(path, &mut outlet),
    }?;
    Ok(outlet.report)
}
