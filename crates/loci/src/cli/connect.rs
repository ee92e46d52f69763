//! The arguments of `loci connect`.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use loci_hosts::{HOSTS, Host, Scope};

use super::dialects;

/// The name of the server in a host, if the user chooses no other.
pub const SERVER_NAME: &str = "loci";

#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct Connect {
    /// The hosts [default: all that are found on this machine]
    #[arg(value_name = "HOST", value_parser = all_hosts())]
    pub hosts: Vec<&'static Host>,
    /// Connect to the server at this URL, such as http://127.0.0.1:7821, instead of having the host
    /// start loci. The host takes the token from the environment variable LOCI_TOKEN
    #[arg(long, value_name = "URL")]
    pub http: Option<String>,
    /// The tools that the agent gets [default: the tools that it has already, else mememory]
    #[arg(long, value_name = "DIALECT", value_parser = dialects())]
    pub dialect: Option<String>,
    /// user: every session of yours; project: the sessions in the folder you are in
    #[arg(long, value_name = "SCOPE", default_value = Scope::User.name(), value_parser = scopes())]
    pub scope: Scope,
    /// The name of the server in the host
    #[arg(long, value_name = "NAME", default_value = SERVER_NAME, value_parser = server_name)]
    pub name: String,
    /// Have the host save what is said by itself, too, as `loci hook install` does
    #[arg(long)]
    pub hooks: bool,
    /// Tell the agent when to recall and what to store, in a marked block of the file that it reads
    /// (CLAUDE.md, AGENTS.md, GEMINI.md, ...)
    #[arg(long)]
    pub instructions: bool,
    /// Show the changes, and make none
    #[arg(long)]
    pub dry_run: bool,
    /// Take the server, the hooks and the instructions of loci out again; files that nothing else
    /// has changed are as they were before
    #[arg(long, conflicts_with_all = ["http", "dialect", "hooks", "instructions"])]
    pub undo: bool,
    /// Ask the host's own list of servers whether loci is connected, or the server itself where the
    /// host has no list
    #[arg(long, conflicts_with_all = ["http", "dialect", "hooks", "instructions", "dry_run", "undo"])]
    pub check: bool,
    /// Print what would be written for these hosts, and the link that installs it where there is
    /// one
    #[arg(long, requires = "hosts", conflicts_with_all = ["hooks", "instructions", "dry_run", "undo", "check"])]
    pub print: bool,
}

fn all_hosts() -> impl TypedValueParser<Value = &'static Host> {
    PossibleValuesParser::new(HOSTS.map(|host| host.name))
        .try_map(|name| loci_hosts::host(&name).ok_or("there is no host with this name"))
}

fn scopes() -> impl TypedValueParser<Value = Scope> {
    PossibleValuesParser::new(Scope::ALL.map(Scope::name))
        .try_map(|name| Scope::from_name(&name).ok_or("there is no scope with this name"))
}

/// Parses the name of a server. Hosts make names of tools from it.
fn server_name(name: &str) -> Result<String, String> {
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    if name.is_empty() || name.len() > 64 || !name.chars().all(is_name) {
        return Err("give 1 to 64 letters (a to z), digits, - and _".to_owned());
    }
    Ok(name.to_owned())
}
