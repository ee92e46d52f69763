//! Runs this test binary as another process.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const FOLDER: &str = "LOCI_TEST_FOLDER";
const NAME: &str = "LOCI_TEST_NAME";

/// Starts a child that runs one test of this binary as its body.
pub fn child(command: Command, test: &str, folder: &Path, name: &str) -> Child {
    let mut command = command;
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]);
    command
        .env(FOLDER, folder)
        .env(NAME, name)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

pub fn start_child(test: &str, folder: &Path, name: &str) -> Child {
    child(
        Command::new(std::env::current_exe().unwrap()),
        test,
        folder,
        name,
    )
}

/// Returns the folder and the name in a child; `None` in an ordinary run of the tests.
pub fn as_child() -> Option<(PathBuf, String)> {
    Some((std::env::var_os(FOLDER)?.into(), std::env::var(NAME).ok()?))
}

/// Sends a line to the parent, bypassing the capture of the test harness.
pub fn tell_parent(line: &str) {
    let mut output = std::io::stdout().lock();
    writeln!(output, "\n> {line}")
        .and_then(|()| output.flush())
        .unwrap();
}

/// Returns the lines of the child until its end. A line that a kill cut off is skipped.
pub fn heard(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    let mut output = BufReader::new(child.stdout.take().unwrap());
    std::iter::from_fn(move || {
        loop {
            let mut line = String::new();
            let length = output.read_line(&mut line).unwrap();
            if length == 0 {
                return None;
            }
            if let Some(said) = line
                .strip_prefix("> ")
                .and_then(|line| line.strip_suffix('\n'))
            {
                return Some(said.to_owned());
            }
        }
    })
}

pub fn skip(reason: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED: {reason}");
}
