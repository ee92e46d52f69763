//! `loci completions`: the completion script of a shell.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::exit::Failure;
use crate::output::print;

pub fn run(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "loci", &mut script);
    Ok(print(String::from_utf8_lossy(&script))?)
}
