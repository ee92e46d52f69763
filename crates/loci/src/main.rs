//! The `loci` binary; the library of the same crate holds the commands.

use std::process::ExitCode;

fn main() -> ExitCode {
    loci::main()
}
