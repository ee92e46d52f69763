//! The command line as data. Help texts are the doc comments; the help of a setting comes from
//! [`crate::settings`].

mod common;
mod connect;
mod encrypt;
mod examples;
mod history;
mod import;
mod model;
mod numbers;
mod palace;
mod restore;
mod review;
mod space;
mod trust;
mod undo;

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueHint};
use clap_complete::Shell;
use loci_core::Scope;
use loci_dialects::{DIALECTS, mememory};
use loci_hosts::{Event, Host};
use loci_server::ToolPrefix;

pub use self::common::Common;
use self::common::given;
pub use self::connect::{Connect, SERVER_NAME};
pub use self::encrypt::{Encrypt, NotesForm, RemovableWay};
pub use self::examples::{command_line, examples};
pub use self::history::{Diff, History};
pub use self::import::Import;
pub use self::model::Model;
pub use self::palace::{Mine, Palace};
pub use self::restore::{Backup, Restore};
pub use self::review::{Review, ReviewList};
pub use self::space::SpaceCommand;
pub use self::trust::Trust;
pub use self::undo::{Consolidate, Undo};
use crate::exit::Exit;
use crate::settings::{self, Flags};

/// One durable memory for AI agents, over MCP
///
/// Everything lies in one folder of this machine, unless the store is on a server. Agents reach it through `loci mcp` (stdio) or
/// `loci serve` (HTTP), people through the other commands. Data goes to stdout, words go to
/// stderr.
#[derive(Parser)]
#[command(name = "loci", version, max_term_width = 100, after_help = exit_codes(), disable_help_subcommand = true)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Serve every dialect over HTTP, at `/mcp/<dialect>`
    ///
    /// The first start makes a token, keeps it in the data folder and prints the line to paste
    /// into a host. Stops at SIGINT, SIGTERM or SIGHUP.
    Serve(Serve),
    /// Open the page in a browser, on which people see what their agents know and set it right
    ///
    /// A running `loci serve` shows it at `/`; without one, this command serves until it is stopped.
    /// The address that is printed lets a browser in once, within a minute.
    Page(Page),
    /// Serve one dialect over stdin and stdout, as an MCP host starts it
    Mcp(Mcp),
    /// Connect the hosts on this machine to loci: Claude Code, Codex, Cursor and others
    ///
    /// Adds loci to the MCP servers in the settings of each host, which then starts it by itself,
    /// over stdio and without a token. Every other byte of the file stays, and a copy of the old
    /// file lies beside it. Twice is once.
    Connect(Connect),
    /// Store a memory
    Add(Add),
    /// Store many memories from a file of JSON lines, or bring an export back
    ///
    /// A file or a folder that `loci export` wrote comes back whole: every memory, note, fact,
    /// tunnel, setting, cached answer and decision; what is there already is left as it is. Of
    /// other files, each line is an object with `content` and, if wanted, id, project, type, tags,
    /// weight, delivery, supersedes, expires_at, created_at, updated_at, visibility and owner, as
    /// `loci list --json` prints them; its whole output is taken, too. A memory whose id is there
    /// already is left out, so that an import can be repeated. A line that holds no memory, or one
    /// beyond the limits, is named and left out; the rest is imported, and the exit code is 1.
    /// Memories are durable and found by their words at once; then the model reads them, which can
    /// be interrupted: whichever process serves next goes on with it.
    Import(Import),
    /// Take back a change, what a session, a program, a user or a token changed, or an import
    ///
    /// Memories that the changes stored are forgotten, facts are taken back, tunnels are deleted, and all
    /// else is what it was before; `loci history` lists the changes. Anything that was changed later stands and is named. It says what it
    /// would do, and asks at the terminal; elsewhere it needs --yes. It can be taken back in turn.
    ///
    /// Of an import, it removes what the import brought, memories, facts, tunnels and decisions, and restores the texts
    /// that it replaced.
    /// Records that were changed since stay and are counted, and so do notes, which are files.
    /// The same import can be repeated afterwards; what was forgotten before it, or since, stays
    /// forgotten. One that was cut off goes on when it is repeated.
    #[command(
        override_usage = "loci undo <ID> [--dry-run] [--yes]\n       loci undo [--session SESSION] [--client PROGRAM] [--by USER] [--token ID] [--since TIME]\n       loci undo --list"
    )]
    Undo(Undo),
    /// Write everything that is remembered as text, to read, to move or to keep
    ///
    /// Memories of every tool set, notes, facts, tunnels, settings, cached answers and decisions,
    /// as of one moment, while others go on writing. `loci import --follow` brings it back, byte for byte.
    /// Tokens, the audit log and work under way are not in it: `loci backup` keeps these, too. In the
    /// form of another memory system it has what that form has a place for, and counts the rest.
    Export(Export),
    /// Write a copy of the whole store and its notes into one file, while others go on writing
    ///
    /// The file is a tar archive with the database, the notes and a list of their checksums. It has
    /// its name only once it is whole and on the disk.
    Backup(Backup),
    /// Bring a backup back, or a former version of a memory, a fact, a tunnel or a setting
    ///
    /// The checksums of a backup and the database in it are checked first. No other loci may use the
    /// data folder during that time. A store on a server must be empty. With a version from `loci history`,
    /// the memory of that id is what it was then: text, title, tags, project, type, pin, visibility
    /// and whether it was forgotten; a fact has the end of then, and a tunnel that was deleted is there again.
    /// That is a change like any other, and can be taken back.
    #[command(
        override_usage = "loci restore <FILE> [--replace]\n       loci restore <ID> <VERSION>"
    )]
    Restore(Restore),
    /// Encrypt the store, or change what opens it
    ///
    /// Database, log, index, backups, stored replies and versions, under a key that a key file, a passphrase, the keyring
    /// of the system or the recovery key opens. Notes stay files that people edit. No other loci may use the data folder
    /// during that time. What is in the clear afterwards, and why, is said at its end. `loci mcp`, `serve`, hooks and the
    /// page find the key in the keyring, the setting `encryption.key_file` or `LOCI_PASSPHRASE`, and ask nothing.
    Encrypt(Encrypt),
    /// Put an encrypted store back into the clear
    Decrypt,
    /// Copy everything from one store into another, of any kind, and compare the two
    ///
    /// From a folder to a PostgreSQL server, or back: every record, with vectors, so that nothing is
    /// embedded again, tokens and the audit log. A copy that was cut off goes on when it is
    /// repeated. Notes stay in their folder. Stop what writes to the stores first.
    Migrate(Migrate),
    /// Find memories by a question
    ///
    /// Ranked as an agent's `recall` ranks them. Without `--project` it looks everywhere, `recall`
    /// only among the global memories, as `--project global` does.
    Search(Search),
    /// Say why a question finds a memory, or does not
    ///
    /// Searches as `loci search` does with the same options, and says in one sentence what decides,
    /// and what to do: the place of the memory by words, by meaning and fused, or what keeps it out,
    /// e.g. its project, a newer memory, the budget of the reply, or that it was forgotten.
    Why(Why),
    /// Browse memories, last updated first
    List(List),
    /// Show one memory
    Show {
        /// Its id
        id: String,
        /// As it stood then: 2026-01-31 (at its end), 2026-01-31T12:00:00Z, or a time ago such as 2h
        #[arg(long, value_name = "TIME")]
        as_of: Option<String>,
    },
    /// List the versions of a memory, a fact, a tunnel or a setting, or the last changes of all
    ///
    /// Each version has a number, the time, who made it by which program, and what changed: text,
    /// title, tags, project, type, pin, visibility, expiry, forgotten or brought back. Versions are kept
    /// as long as `history_days` says, at most 50 of a memory. `loci diff` compares two, `loci restore`
    /// brings one back, and `loci undo` takes back a change that the list without an id names. All take the
    /// id of a fact (`t_…`) or a tunnel, too, the name of a setting, and the path of a file of settings;
    /// `loci history settings` lists the changes of these.
    History(History),
    /// Compare two versions of a memory, a fact, a tunnel or a setting
    Diff(Diff),
    /// Let memories that say the same stand behind one
    ///
    /// Searches, session starts and hooks then show that one in the place of all. The others stay, `loci
    /// show` names them on both sides, `loci search --all` finds them, and `loci undo` takes the whole run
    /// back. A memory stands only for what it says all of: with the same numbers, names, negations and
    /// limits, of the same owner, project and title, and no less trusted. When it changes or goes, what
    /// stood behind it is in sight again. With `llm.url`, three or more texts get a summary that names
    /// them and never takes their place. A run that was cut off goes on when it is repeated.
    Consolidate(Consolidate),
    /// Put a memory out of sight, or all that match some conditions
    ///
    /// No list or search finds a forgotten memory; nothing is removed, and `loci unforget` brings it
    /// back. With --where, every memory that matches all of the conditions is forgotten; without
    /// --yes, --where only counts them and names the first ten. No later reading of a file or a
    /// transcript and no import brings the texts back into sight; filing a text by hand does. To
    /// remove a memory for good, `loci delete`.
    #[command(override_usage = "loci forget <ID>\n       loci forget --where [CONDITIONS] [--yes]")]
    Forget(Forget),
    /// Remove memories, facts or tunnels for good, after a question
    ///
    /// Says what goes with each: its former texts or states, the message that it was made from, and copies of
    /// its text that were read from files. Then it asks at the terminal; elsewhere it needs --yes. A
    /// note is forgotten, as by `loci forget`, and its file stays. No later reading of a file or a
    /// transcript and no import brings the texts back; filing a text by hand does.
    Delete(Delete),
    /// Bring a forgotten memory back, or all that match some conditions
    ///
    /// Takes back `loci forget`, what agents forget without deleting it, such as notes, and what
    /// memory-mcp's `delete_memory` deletes, until it is removed for good after
    /// `conversation.purge_days`. What was deleted for good, as `loci delete` does, cannot be
    /// brought back itself: its text may then be read from its file again, by the next `loci palace
    /// mine` or hook. Of texts that were deleted for good, --where knows only --project, --source
    /// and --since.
    #[command(
        override_usage = "loci unforget <ID>\n       loci unforget --where [CONDITIONS] [--yes]"
    )]
    Unforget(Unforget),
    /// Count memories and what they cost
    Stats,
    /// Print what an agent reads at the start of a session
    Bootstrap {
        /// The project; without it, only the global memories
        #[arg(long, value_name = "NAME")]
        project: Option<String>,
    },
    /// Run commands of Anthropic's memory tool, one on each line of stdin
    ///
    /// A line is a command as a model gives it, e.g. {"command": "view", "path": "/memories"}, and
    /// has one line as its reply: {"content": "…"}, with "is_error": true if it failed, so that a
    /// program in any language can be the backend of the tool. The setting `memory_tool.helper` says
    /// in the words of which SDK. Stops at the end of stdin.
    MemoryTool,
    /// Decide what waits for you: secrets, orders to agents, contradictions, outdated memories
    #[command(subcommand)]
    Review(Review),
    /// Have a reader take the directives of other authors
    ///
    /// A session starts with the directives of its reader, of administrators and of authors that
    /// the reader trusts; directives of others are quoted under their names. Without a name, the
    /// authors are listed. The setting `trusted_authors` holds for all readers.
    ///
    /// Memories that came in files, by an import or as notes, and that sessions would start with are
    /// quoted until you accept them with `--accept` or `--accept-all`, or in Review on the page.
    Trust(Trust),
    /// File projects and conversations as drawers, and look after them
    #[command(subcommand)]
    Palace(Palace),
    /// Save what is said to an agent by itself, through the hooks of its host
    #[command(subcommand)]
    Hook(Hook),
    /// Look after the folder of notes
    #[command(subcommand)]
    Vault(Vault),
    /// Manage the tokens of the HTTP server
    #[command(subcommand)]
    Token(Token),
    /// Place the spaces of a store on a cluster of servers
    #[command(subcommand)]
    Space(SpaceCommand),
    /// Choose and install the model that finds memories by their meaning
    #[command(subcommand)]
    Model(Model),
    /// Print every setting with its value and where that comes from
    Config,
    /// Read the audit log: who called what, and how it went
    ///
    /// Oldest first. A process that serves writes its calls a moment later, after
    /// `audit.flush_seconds` at most. With --json, --follow prints one object a line.
    Audit(Audit),
    /// Check the data folder, the database, the indexes, the notes, the queue, the model and the
    /// clock
    Doctor(Doctor),
    /// Rebuild what is derived from the texts: terms, counts, the index of notes
    Reindex {
        /// Have the model read every text again, too; whichever process serves goes on with it
        #[arg(long)]
        embeddings: bool,
    },
    /// Print the completion script of a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page
    Man {
        /// Write the pages of all commands into this folder instead
        #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
        out: Option<PathBuf>,
    },
    /// Print the licences of loci and of all that it contains
    Notices,
    /// Print the reference page
    #[command(hide = true)]
    Reference,
}

#[derive(Args, Default)]
pub struct Serve {
    #[arg(long, value_name = "ADDRESS", help = settings::BIND.help())]
    bind: Option<String>,
    /// Let everybody on this machine in without a token; only for loopback addresses
    #[arg(long)]
    pub no_auth: bool,
    /// Let people connect clients that take no token, e.g. claude.ai, by OAuth (docs/connectors.md)
    #[arg(long)]
    pub oauth: bool,
    #[arg(long, value_name = "URL", help = settings::PUBLIC_URL.help())]
    public_url: Option<String>,
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help = settings::TLS_CERTIFICATE.help())]
    tls_cert: Option<String>,
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help = settings::TLS_KEY.help())]
    tls_key: Option<String>,
}

#[derive(Args)]
pub struct Mcp {
    /// The tool set
    #[arg(value_parser = dialects(), default_value = loci_dialects::mememory::DIALECT.name)]
    pub dialect: String,
    /// Reply only in texts: no structured content, no schemas of replies. For a host that shows its
    /// model both; a URL asks for it with `?compact`
    #[arg(long)]
    pub compact: bool,
    /// Have the names of all tools start with this and `_`, for an agent with two tool sets
    #[arg(long, value_name = "NAME", value_parser = tool_prefix)]
    pub prefix: Option<ToolPrefix>,
}

fn tool_prefix(text: &str) -> Result<ToolPrefix, String> {
    ToolPrefix::parse("--prefix", text).map_err(|error| error.message)
}

#[derive(Args)]
pub struct Page {
    /// Print the address and open nothing
    #[arg(long)]
    pub print: bool,
}

#[derive(Args)]
pub struct Add {
    /// The text; `-` reads it from stdin
    pub text: String,
    /// The project that it belongs to; without it, it is global
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    /// fact, rule, decision, feedback, context or bootstrap [default: fact]
    #[arg(long, value_name = "TYPE")]
    pub r#type: Option<String>,
    /// Labels, separated by commas
    #[arg(long, value_name = "TAGS")]
    pub tags: Option<String>,
    /// How long to keep it: 24h, 7d, 2w, P3D; for good, if left out
    #[arg(long, value_name = "TIME")]
    pub ttl: Option<String>,
    /// Confidence or priority, 0.1 to 1 [default: 1]
    #[arg(long, value_name = "WEIGHT", value_parser = numbers::weight, allow_negative_numbers = true)]
    pub weight: Option<f64>,
    /// The id of a memory that it replaces
    #[arg(long, value_name = "ID")]
    pub supersedes: Option<String>,
    /// Have it read at every session start, whatever its type
    #[arg(long)]
    pub bootstrap: bool,
    /// Store it though a memory with the same text is there
    #[arg(long)]
    pub again: bool,
}

#[derive(Args)]
pub struct Export {
    /// The file, or the folder for Markdown; `-` is stdout
    #[arg(value_name = "TARGET", value_hint = ValueHint::AnyPath)]
    pub target: PathBuf,
    /// jsonl: one file with a record on each line; markdown: a folder with a file for each memory;
    /// obsidian, basic-memory, mempalace: a folder that these read; server-memory, mem0: a file
    #[arg(long, value_name = "FORMAT", default_value = "jsonl", value_parser = ["jsonl", "markdown", "obsidian", "basic-memory", "mempalace", "server-memory", "mem0"])]
    pub format: String,
}

#[derive(Args)]
pub struct Migrate {
    /// The store to copy: the folder of its database, or the URL of its server
    #[arg(long, value_name = "FOLDER|URL", value_hint = ValueHint::DirPath)]
    pub from: String,
    /// The store to copy into, which is made if it is not there
    #[arg(long, value_name = "FOLDER|URL", value_hint = ValueHint::DirPath)]
    pub to: String,
    /// Only compare the two
    #[arg(long)]
    pub check: bool,
}

#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct Doctor {
    /// Repair indexes, counts and permissions, and remove leftovers of crashes; rebuild a damaged
    /// database from the rows that are whole, and keep the old one
    #[arg(long, conflicts_with = "salvage")]
    pub fix: bool,
    /// Trust the clock as it is after a jump: what has expired by it is removed for good
    #[arg(long, conflicts_with = "salvage")]
    pub trust_clock: bool,
    /// Write the records of a damaged database that are whole into this file, for `loci import --follow`;
    /// changes nothing
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub salvage: Option<PathBuf>,
    /// Look for keys, tokens and passwords in what is stored, instead of everything else; prints
    /// where they are, never what they are
    #[arg(long, conflicts_with_all = ["fix", "salvage"])]
    pub secrets: bool,
    /// Take out what was found, for good: memories and decisions are rewritten, cached answers are
    /// removed
    #[arg(long, requires = "secrets")]
    pub redact: bool,
    /// Take it out without asking
    #[arg(long, requires = "redact")]
    pub yes: bool,
    /// Ask a running server whether it is ready, instead of everything else [default: the one that
    /// `loci serve` starts with these settings]
    #[arg(
        long,
        value_name = "URL",
        num_args = 0..=1,
        default_missing_value = "",
        conflicts_with_all = ["fix", "trust_clock", "salvage", "secrets"]
    )]
    pub server: Option<String>,
}

/// Filters that searches and lists share.
#[derive(Args)]
pub struct FilterFlags {
    /// Only memories of this type
    #[arg(long, value_name = "TYPE")]
    pub r#type: Option<String>,
    /// Only memories with all of these labels
    #[arg(long, value_name = "TAGS", value_delimiter = ',')]
    pub tags: Vec<String>,
}

#[derive(Args)]
pub struct Search {
    /// The question
    pub query: String,
    /// Look in this project and among the global memories; without it, everywhere
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    #[command(flatten)]
    pub only: FilterFlags,
    /// How many results at most
    #[arg(long, value_name = "NUMBER", default_value_t = 5, value_parser = numbers::count, allow_negative_numbers = true)]
    pub limit: u32,
    /// Say why each result is where it is
    #[arg(long)]
    pub explain: bool,
    /// Show each memory itself, also if it stands behind another one (`loci consolidate`)
    #[arg(long)]
    pub all: bool,
    /// Memories as they stood then, with the texts of then: 2026-01-31 (at its end), 2026-01-31T12:00:00Z,
    /// or a time ago such as 7d
    #[arg(long, value_name = "TIME")]
    pub as_of: Option<String>,
}

#[derive(Args)]
pub struct Why {
    /// The question
    pub question: String,
    /// The id of the memory that it should find
    pub id: String,
    /// Look in this project and among the global memories, as an agent's `recall` with a project
    /// does; `global` for only these, as `recall` without one; without it, everywhere
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    #[command(flatten)]
    pub only: FilterFlags,
    /// How many results the search shows at most
    #[arg(long, value_name = "NUMBER", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    /// The tokens that the reply may have [default: as `reply_tokens` says]
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..))]
    pub budget_tokens: Option<u32>,
}

#[derive(Args)]
pub struct List {
    /// Only memories of this project; `global` for those without one
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    #[command(flatten)]
    pub only: FilterFlags,
    /// How many at most
    #[arg(long, value_name = "NUMBER", default_value_t = 20, value_parser = numbers::count, allow_negative_numbers = true)]
    pub limit: u32,
    /// How many to skip
    #[arg(long, value_name = "NUMBER", default_value_t = 0, value_parser = numbers::offset, allow_negative_numbers = true)]
    pub offset: u32,
    /// Memories as they stood then, with the texts of then: 2026-01-31 (at its end), 2026-01-31T12:00:00Z,
    /// or a time ago such as 7d
    #[arg(long, value_name = "TIME")]
    pub as_of: Option<String>,
}

#[derive(Args)]
pub struct Forget {
    /// Its id
    #[arg(required_unless_present = "where", conflicts_with_all = OF_MANY)]
    pub id: Option<String>,
    #[command(flatten)]
    pub many: BulkConditions,
}

#[derive(Args)]
pub struct Delete {
    /// Their ids
    #[arg(value_name = "ID", required = true)]
    pub ids: Vec<String>,
    /// Remove them for good, which nothing takes back
    #[arg(long)]
    pub forever: bool,
    /// Remove them without asking
    #[arg(long)]
    pub yes: bool,
}

#[derive(Args)]
pub struct Unforget {
    /// Its id
    #[arg(required_unless_present = "where", conflicts_with_all = OF_MANY, conflicts_with_all = ["since", "conversation"])]
    pub id: Option<String>,
    #[command(flatten)]
    pub many: BulkConditions,
    /// Only memories of this conversation
    #[arg(long, value_name = "NAME", requires = "where")]
    pub conversation: Option<String>,
    /// Only memories forgotten or deleted then or later: 2026-01-31, 2026-01-31T12:00:00Z, or a time
    /// ago such as 90m or 7d
    #[arg(long, value_name = "MOMENT", requires = "where")]
    pub since: Option<String>,
}

/// The arguments of [`BulkConditions`]. A memory that is named by its id conflicts with each, since clap does not
/// require an argument that conflicts with a given one.
const OF_MANY: [&str; 7] = [
    "where", "project", "type", "tags", "source", "before", "yes",
];

/// Many memories, by conditions, of which all must hold.
#[derive(Args)]
pub struct BulkConditions {
    /// All memories that match the conditions, of which one at least must be given
    #[arg(long)]
    pub r#where: bool,
    /// Only memories of this project; `global` for those without one
    #[arg(long, value_name = "NAME", requires = "where")]
    pub project: Option<String>,
    /// Only memories of this type
    #[arg(long, value_name = "TYPE", requires = "where")]
    pub r#type: Option<String>,
    /// Only memories with all of these labels
    #[arg(
        long,
        value_name = "TAGS",
        value_delimiter = ',',
        alias = "tag",
        requires = "where"
    )]
    pub tags: Vec<String>,
    /// Only memories made from this file, or from files in this folder
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath, requires = "where")]
    pub source: Option<PathBuf>,
    /// Only memories first stored before then: 2026-01-31, 2026-01-31T12:00:00Z, or a time ago such
    /// as 90d
    #[arg(long, value_name = "MOMENT", requires = "where")]
    pub before: Option<String>,
    /// Do it; without it, they are only counted
    #[arg(long, requires = "where")]
    pub yes: bool,
}

#[derive(Args)]
pub struct Audit {
    /// Only calls in this space
    #[arg(long, value_name = "NAME", default_value = "main")]
    pub space: String,
    /// Calls in every space, merged by time
    #[arg(long, conflicts_with_all = ["space", "follow"])]
    pub all: bool,
    /// Only calls of this user
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// Only calls of this tool
    #[arg(long, value_name = "NAME")]
    pub tool: Option<String>,
    /// Only calls by this client, which is `command line` for commands of loci
    #[arg(long, value_name = "NAME")]
    pub client: Option<String>,
    /// Only calls that returned this record from a search, read it by its id, stored, changed or deleted it
    #[arg(long, value_name = "ID")]
    pub record: Option<String>,
    /// Only calls since then: 2026-01-31, 2026-01-31T12:00:00Z, or a time ago such as 90m or 7d
    #[arg(long, value_name = "MOMENT")]
    pub since: Option<String>,
    /// Only calls with a lower number than this, to read page by page from the last one
    #[arg(long, value_name = "NUMBER", value_parser = numbers::entry, allow_negative_numbers = true, conflicts_with_all = ["all", "follow"])]
    pub before: Option<u64>,
    /// How many at most: the last ones
    #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = numbers::count, allow_negative_numbers = true)]
    pub limit: u32,
    /// Go on with new calls as they come, until interrupted
    #[arg(long)]
    pub follow: bool,
}

#[derive(Subcommand)]
pub enum Hook {
    /// Do what an event of a host asks for: the host calls this, with its JSON on stdin
    ///
    /// Saves what the transcript has new. At the start of a session it prints what the agent should
    /// know, and at a prompt the memories that concern it.
    Run {
        /// The host
        #[arg(long, value_name = "HOST", value_parser = hosts(loci_hosts::hosts_with_hooks()))]
        host: &'static Host,
        /// The tools that the agent has, which are named to it at the start of a session
        #[arg(long, value_name = "DIALECT", default_value = mememory::DIALECT.name, value_parser = dialects())]
        dialect: String,
        /// Let the other callers in the space read what is saved; without it, only you do
        #[arg(long)]
        shared: bool,
        /// The event
        #[arg(long, value_name = "EVENT", value_parser = events())]
        event: Event,
        /// Keep keys, tokens, passwords and what is marked as private, instead of taking them out
        #[arg(long)]
        verbatim: bool,
    },
    /// Add loci's hooks to the settings of a host, after a backup; twice is once
    Install(HookInstall),
    /// Take loci's hooks out of the settings of a host, after a backup
    Uninstall(HookSettings),
}

#[derive(Args)]
pub struct HookInstall {
    #[command(flatten)]
    pub settings: HookSettings,
    /// The tools that the agent has: the last word of the host's command or path for loci [default:
    /// that of the hooks that are there, else mememory]
    #[arg(long, value_name = "DIALECT", value_parser = dialects())]
    pub dialect: Option<String>,
    /// Let the other callers in the space read what is saved; without it, only you do
    #[arg(long)]
    pub shared: bool,
    /// Have the hooks keep keys, tokens, passwords and what is marked as private, instead of taking
    /// them out
    #[arg(long)]
    pub verbatim: bool,
}

#[derive(Args)]
pub struct HookSettings {
    /// The host
    #[arg(long, value_name = "HOST", value_parser = hosts(loci_hosts::hosts_with_hooks()))]
    pub host: &'static Host,
    /// Its file of hooks [default: the host's own: ~/.claude/settings.json, ~/.codex/hooks.json, ~/.cursor/hooks.json, ~/.gemini/settings.json, ~/.config/opencode/plugins/loci.js]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,
}

#[derive(Subcommand)]
pub enum Vault {
    /// Say where the notes are, how many there are, and how their index stands
    Status,
    /// List what is wrong with the notes, and which are not indexed yet; reads no note, changes
    /// nothing
    ///
    /// Wrong are conflict copies of sync clients, broken frontmatter, two notes with one uid, files
    /// that are too large, no text or links: then it fails.
    Check,
    /// Bring the index up to the notes now, as `loci serve` and `loci mcp` do by themselves
    Reconcile {
        /// Take the notes that are not there for deleted, even if the folder is missing or another
        /// one than before
        #[arg(long)]
        accept_missing: bool,
    },
}

#[derive(Subcommand)]
pub enum Token {
    /// Make a token and print its secret, this once
    Create {
        /// Who its bearer is; the owner of what it writes
        #[arg(long, value_name = "NAME")]
        subject: String,
        /// Its scopes: read, write, admin
        #[arg(long, value_name = "SCOPES", value_delimiter = ',', default_value = "read,write", value_parser = scope)]
        scopes: Vec<Scope>,
        /// The space that it opens
        #[arg(long, value_name = "NAME", default_value = "main")]
        space: String,
        /// When it ends by itself, from now: 12h, 30d, P1Y; never, if left out
        #[arg(long, value_name = "TIME")]
        expires: Option<String>,
    },
    /// List all tokens, without their secrets
    List,
    /// Make a token useless from now on
    Revoke {
        /// Its id, as `loci token list` shows it
        id: String,
    },
}

impl Cli {
    /// Returns the settings among the flags of this call.
    pub fn flags(&self) -> Flags {
        let mut flags = self.common.flags();
        if let Command::Serve(serve) = &self.command {
            flags.extend(given([
                (settings::BIND.flag, &serve.bind),
                (settings::PUBLIC_URL.flag, &serve.public_url),
                (settings::TLS_CERTIFICATE.flag, &serve.tls_cert),
                (settings::TLS_KEY.flag, &serve.tls_key),
            ]));
        }
        flags
    }
}

fn dialects() -> PossibleValuesParser {
    PossibleValuesParser::new(DIALECTS.iter().map(|dialect| dialect.name))
}

fn hosts(
    hosts: impl Iterator<Item = &'static Host>,
) -> impl TypedValueParser<Value = &'static Host> {
    PossibleValuesParser::new(hosts.map(|host| host.name))
        .try_map(|name| loci_hosts::host(&name).ok_or("there is no host with this name"))
}

fn events() -> impl TypedValueParser<Value = Event> {
    PossibleValuesParser::new(Event::ALL.map(Event::name))
        .try_map(|name| Event::from_name(&name).ok_or("there is no event with this name"))
}

fn scope(name: &str) -> Result<Scope, String> {
    Scope::from_name(name).ok_or_else(|| {
        let names: Vec<_> = Scope::ALL.into_iter().map(Scope::name).collect();
        format!("give some of {}", names.join(", "))
    })
}

/// Returns the exit codes, as `loci --help` shows them.
fn exit_codes() -> String {
    let mut text = "Exit codes:\n  0  success\n".to_owned();
    for (exit, meaning) in Exit::ALL {
        text += &format!("  {}  {meaning}\n", exit as u8);
    }
    text
}
