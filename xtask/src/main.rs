//! Tasks of the repository that are no part of the product: `cargo xtask tidy` holds the house
//! rules, `cargo xtask licences` the rules of `deny.toml`, `cargo xtask notices` writes the notices
//! of third parties, `cargo xtask postgres` runs a command beside a PostgreSQL server.

use std::process::ExitCode;

use anyhow::{Context, Result};
use cargo_metadata::MetadataCommand;

mod licences;
mod notices;
#[cfg(unix)]
mod postgres;
mod tidy;

#[expect(
    clippy::print_stderr,
    reason = "this is a command line, and its words go to stderr"
)]
fn main() -> Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .as_slice()
    {
        ["tidy"] => {}
        ["licences"] => return licences::run().map(|()| ExitCode::SUCCESS),
        ["notices"] => return notices::run(false).map(|()| ExitCode::SUCCESS),
        ["notices", "--check"] => return notices::run(true).map(|()| ExitCode::SUCCESS),
        #[cfg(unix)]
        ["postgres", "--", command @ ..] => return postgres::run(command),
        _ => {
            eprintln!(
                "usage: cargo xtask tidy | licences | notices [--check] | postgres -- COMMAND"
            );
            return Ok(ExitCode::from(2));
        }
    }
    // Without dependencies nothing is resolved or downloaded: what the manifests declare is enough.
    let metadata = MetadataCommand::new()
        .no_deps()
        .exec()
        .context("cannot read the workspace with cargo metadata")?;
    let tree = tidy::Tree::load(metadata.workspace_root.as_std_path())?;
    let faults = tidy::check(&tree, &metadata);
    for fault in &faults {
        eprintln!("{fault}");
    }
    eprintln!("tidy: {} files, {} faults", tree.len(), faults.len());
    Ok(if faults.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
