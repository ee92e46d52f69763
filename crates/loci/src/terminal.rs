//! Asks a person at the terminal for a secret, which it does not show.

use std::path::Path;

use zeroize::Zeroizing;

/// Asks for the passphrase of the store in a folder; none if no person sits there.
pub fn passphrase_of(folder: &Path) -> Option<Zeroizing<String>> {
    hidden_line(&format!(
        "passphrase of the store in {}: ",
        folder.display()
    ))
}

/// Asks for a line, which is not shown; none without a terminal, or if the person gives none.
#[cfg(unix)]
pub fn hidden_line(question: &str) -> Option<Zeroizing<String>> {
    use std::fs::File;
    use std::io::{self, BufRead, BufReader, IsTerminal, Write};

    use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

    if !io::stdin().is_terminal() {
        return None;
    }
    let mut terminal = File::options()
        .read(true)
        .write(true)
        .open("/dev/tty")
        .ok()?;
    let shown = tcgetattr(&terminal).ok()?;
    let mut hidden = shown.clone();
    hidden.local_modes.remove(LocalModes::ECHO);
    tcsetattr(&terminal, OptionalActions::Flush, &hidden).ok()?;
    let asked = terminal.write_all(question.as_bytes());
    let mut line = Zeroizing::new(String::new());
    let read = asked.and_then(|()| BufReader::new(&terminal).read_line(&mut line));
    let _ = tcsetattr(&terminal, OptionalActions::Flush, &shown);
    let _ = terminal.write_all(b"\n");
    read.ok()?;
    let line = Zeroizing::new(line.trim_end_matches(['\n', '\r']).to_owned());
    (!line.is_empty()).then_some(line)
}

/// Elsewhere a secret comes from the environment or a file.
#[cfg(not(unix))]
pub fn hidden_line(_question: &str) -> Option<Zeroizing<String>> {
    None
}
