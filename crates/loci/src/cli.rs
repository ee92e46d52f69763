//! The command line as data. Help texts are the doc comments; those of settings come from
//! [`crate::settings`].

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueHint};
use clap_complete::Shell;
use loci_core::Scope;

use crate::exit::Exit;
use crate::settings::{self, Flags};

/// One durable memory for AI agents, over MCP
///
/// Everything lies in one folder of this machine. Agents reach it through `loci mcp` (stdio) or
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

#[derive(Args)]
#[command(next_help_heading = "Options of every command")]
pub struct Common {
    #[arg(long, global = true, value_name = "FOLDER", value_hint = ValueHint::DirPath, help = settings::DATA.help())]
    data: Option<String>,
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath, help = settings::CONFIG_MEANING)]
    config: Option<String>,
    #[arg(long, global = true, value_name = "LEVEL", help = settings::LOG.help())]
    log: Option<String>,
    #[arg(long, global = true, value_name = "MODE", help = settings::SEARCH.help())]
    search: Option<String>,
    /// Print data as JSON
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Subcommand)]
pub enum Command {
    /// Serve every dialect over HTTP, at `/mcp/<dialect>`
    ///
    /// The first start makes a token, keeps it in the data folder and prints the line to paste
    /// into a host. Stops at SIGINT or SIGTERM.
    Serve(Serve),
    /// Serve one dialect over stdin and stdout, as an MCP host starts it
    Mcp {
        /// The tool set
        #[arg(value_parser = PossibleValuesParser::new(loci_dialects::DIALECTS.iter().map(|dialect| dialect.name)))]
        dialect: String,
    },
    /// Store a memory
    Add(Add),
    /// Find memories by a question
    ///
    /// Ranked as an agent's `recall` ranks them.
    Search(Search),
    /// Browse memories, last updated first
    List(List),
    /// Show one memory
    Show {
        /// Its id
        id: String,
    },
    /// Remove one memory for good
    Forget {
        /// Its id
        id: String,
    },
    /// Count memories and what they cost
    Stats,
    /// Print what an agent reads at the start of a session
    Bootstrap {
        /// The project; without it, the global memories alone
        #[arg(long, value_name = "NAME")]
        project: Option<String>,
    },
    /// Manage the tokens of the HTTP server
    #[command(subcommand)]
    Token(Token),
    /// Print every setting with its value and where that comes from
    Config,
    /// Read the audit log: who called what, and how it went
    ///
    /// Oldest first. A process that serves writes its calls a moment later, after
    /// `audit.flush_seconds` at most. With --json, --follow prints one object a line.
    Audit(Audit),
    /// Check the data folder, the database, the model and the clock
    Doctor,
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
    /// Print the reference page
    #[command(hide = true)]
    Reference,
    /// Measure speed, size and quality
    #[command(subcommand)]
    Bench(Bench),
}

#[derive(Args)]
pub struct Serve {
    #[arg(long, value_name = "ADDRESS", help = settings::BIND.help())]
    bind: Option<String>,
    /// Let everybody on this machine in without a token; for loopback addresses alone
    #[arg(long)]
    pub no_auth: bool,
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
    #[arg(long, value_name = "WEIGHT")]
    pub weight: Option<f64>,
    /// The id of a memory that it replaces
    #[arg(long, value_name = "ID")]
    pub supersedes: Option<String>,
    /// Have it read at every session start, whatever its type
    #[arg(long)]
    pub bootstrap: bool,
}

/// Filters that searches and lists share.
#[derive(Args)]
pub struct Only {
    /// Only memories of this type
    #[arg(long, value_name = "TYPE")]
    pub r#type: Option<String>,
    /// Only memories with all of these labels
    #[arg(long, value_name = "TAGS", value_delimiter = ',')]
    pub tags: Vec<String>,
}

#[derive(Args)]
pub struct Search {
    /// What you want to know
    pub query: String,
    /// Look in this project and among the global memories; without it, everywhere
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    #[command(flatten)]
    pub only: Only,
    /// How many results at most
    #[arg(long, value_name = "NUMBER", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    /// Say why each result is where it is
    #[arg(long)]
    pub explain: bool,
}

#[derive(Args)]
pub struct List {
    /// Only memories of this project; `global` for those without one
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    #[command(flatten)]
    pub only: Only,
    /// How many at most
    #[arg(long, value_name = "NUMBER", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    /// How many to skip
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub offset: u32,
}

#[derive(Args)]
pub struct Audit {
    /// Only calls of this user
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// Only calls of this tool
    #[arg(long, value_name = "NAME")]
    pub tool: Option<String>,
    /// Only calls since then: 2026-01-31, 2026-01-31T12:00:00Z, or a time ago such as 90m or 7d
    #[arg(long, value_name = "MOMENT")]
    pub since: Option<String>,
    /// How many at most: the last ones
    #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    /// Go on with new calls as they come, until interrupted
    #[arg(long)]
    pub follow: bool,
}

#[derive(Subcommand)]
pub enum Token {
    /// Make a token and print its secret, this once
    Create {
        /// Who its bearer is; the owner of what it writes
        #[arg(long, value_name = "NAME")]
        subject: String,
        /// What it allows: read, write, admin
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

#[derive(Subcommand)]
pub enum Bench {
    /// Measure start, write, search and memory against the goals, on made-up memories
    Speed {
        /// Work in this folder, on the disk to be measured [default: a temporary one]
        #[arg(long = "in", value_name = "FOLDER", value_hint = ValueHint::DirPath)]
        folder: Option<PathBuf>,
        /// How many memories to search in
        #[arg(long, value_name = "NUMBER", default_value_t = 10_000)]
        memories: u32,
    },
    /// Measure many clients of many users over HTTP, and what a user's health and wipe cost
    Clients {
        /// Work in this folder, on the disk to be measured [default: a temporary one]
        #[arg(long = "in", value_name = "FOLDER", value_hint = ValueHint::DirPath)]
        folder: Option<PathBuf>,
        /// How many memories the users have together
        #[arg(long, value_name = "NUMBER", default_value_t = 100_000)]
        memories: u32,
        /// How many calls each client makes
        #[arg(long, value_name = "NUMBER", default_value_t = 250)]
        calls: u32,
    },
    /// Measure how well `recall` finds the evidence of LoCoMo's questions
    Locomo {
        /// The file locomo10.json
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// How many of its conversations
        #[arg(long, value_name = "NUMBER", default_value_t = 1)]
        conversations: usize,
    },
}

impl Cli {
    /// The settings among the flags of this call.
    pub fn flags(&self) -> Flags {
        let bind = match &self.command {
            Command::Serve(serve) => serve.bind.as_ref(),
            _ => None,
        };
        let common = &self.common;
        let flags = [
            (settings::DATA.flag, common.data.as_ref()),
            (Some(settings::CONFIG_FLAG), common.config.as_ref()),
            (settings::LOG.flag, common.log.as_ref()),
            (settings::SEARCH.flag, common.search.as_ref()),
            (settings::BIND.flag, bind),
        ];
        flags.into_iter().filter_map(|(flag, value)| Some((flag?, value?.clone()))).collect()
    }
}

fn scope(name: &str) -> Result<Scope, String> {
    Scope::from_name(name).ok_or_else(|| {
        let names: Vec<_> = Scope::ALL.into_iter().map(Scope::name).collect();
        format!("give some of {}", names.join(", "))
    })
}

/// The exit codes, as `loci --help` shows them.
fn exit_codes() -> String {
    let mut text = "Exit codes:\n  0  success\n".to_owned();
    for (exit, meaning) in Exit::ALL {
        text += &format!("  {}  {meaning}\n", exit as u8);
    }
    text
}
