//! The keyring of the system, through the system's own programs: `secret-tool` of libsecret on
//! Linux, `security` on macOS. A secret goes to them and comes back through pipes, so that no list
//! of processes shows it.

use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use zeroize::Zeroizing;

/// The longest wait for a program: a keyring that is locked may ask its owner, and a server or a
/// hook cannot wait for that.
const WAIT_MAX: Duration = Duration::from_secs(5);
/// The name under which secrets are kept.
const SERVICE: &str = "loci";

/// The keyring of the system.
#[derive(Debug, Clone, Copy, Default)]
pub struct Keyring;

impl Keyring {
    /// Keeps a secret under a name.
    ///
    /// # Errors
    /// The system has no keyring, or it refuses, in words.
    pub fn keep(self, name: &str, secret: &str) -> io::Result<()> {
        if cfg!(target_os = "macos") {
            let line = format!(
                "add-generic-password -U -s {SERVICE} -a {name} -l \"loci store {name}\" -w {secret}\n"
            );
            return run("security", &["-i"], &line).map(drop);
        }
        if cfg!(target_os = "linux") {
            let label = format!("--label=loci store {name}");
            let arguments = ["store", &label, "service", SERVICE, "store", name];
            return run("secret-tool", &arguments, secret).map(drop);
        }
        Err(unsupported())
    }

    /// Returns the secret that is kept under a name, if there is one.
    ///
    /// # Errors
    /// The system has no keyring, or it does not answer.
    pub fn find(self, name: &str) -> io::Result<Option<Zeroizing<String>>> {
        let found = if cfg!(target_os = "macos") {
            let arguments = ["find-generic-password", "-s", SERVICE, "-a", name, "-w"];
            run("security", &arguments, "")?
        } else if cfg!(target_os = "linux") {
            let arguments = ["lookup", "service", SERVICE, "store", name];
            run("secret-tool", &arguments, "")?
        } else {
            return Err(unsupported());
        };
        let secret = found.trim_end_matches(['\n', '\r']);
        Ok((!secret.is_empty()).then(|| Zeroizing::new(secret.to_owned())))
    }

    /// Removes the secret that is kept under a name.
    ///
    /// # Errors
    /// The system has no keyring, or it refuses, in words.
    pub fn forget(self, name: &str) -> io::Result<()> {
        if cfg!(target_os = "macos") {
            let arguments = ["delete-generic-password", "-s", SERVICE, "-a", name];
            return run("security", &arguments, "").map(drop);
        }
        if cfg!(target_os = "linux") {
            let arguments = ["clear", "service", SERVICE, "store", name];
            return run("secret-tool", &arguments, "").map(drop);
        }
        Err(unsupported())
    }
}

fn unsupported() -> io::Error {
    io::Error::new(
        io::ErrorKind::Unsupported,
        "loci knows no keyring of this system: use a key file or a passphrase",
    )
}

/// Runs a program with this input; returns its output. One that finds nothing fails without a
/// message.
fn run(program: &str, arguments: &[&str], input: &str) -> io::Result<Zeroizing<String>> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| {
            let problem = format!(
                "the program {program}, by which loci asks the keyring, cannot be run: {error}"
            );
            io::Error::new(error.kind(), problem)
        })?;
    if let Some(mut pipe) = child.stdin.take() {
        // A program that reads nothing has ended, and says why.
        let _ = pipe.write_all(input.as_bytes());
    }
    let (ended, end) = channel();
    thread::Builder::new()
        .name("loci-keyring".to_owned())
        .spawn(move || ended.send(child.wait_with_output()))?;
    let output = end.recv_timeout(WAIT_MAX).map_err(|_| {
        let problem = format!(
            "the keyring did not answer within {} s: is it locked?",
            WAIT_MAX.as_secs()
        );
        io::Error::new(io::ErrorKind::TimedOut, problem)
    })??;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() && !said.trim().is_empty() && !said.contains("could not be found") {
        let problem = format!("{program}: {}", said.trim());
        return Err(io::Error::other(problem));
    }
    let text = String::from_utf8(output.stdout).unwrap_or_default();
    Ok(Zeroizing::new(text))
}
