//! The check of a connection: by the host's own list of servers, or by a call of the server that
//! its file names.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::connection::{ConnectError, Connection};
use crate::entry::Target;
use crate::host::List;

/// The time for which a host may list its servers.
const LIST_TIMEOUT: Duration = Duration::from_secs(30);
/// The time for which a server may take to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// The time between two looks at a program that runs.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);
/// The bytes of a list that are read.
const LIST_BYTES_MAX: u64 = 1 << 20;
/// A revision of the protocol that every version of loci speaks.
const PROTOCOL_VERSION: &str = "2025-06-18";

impl Connection<'_> {
    /// Checks that the host is connected: asks its own command that lists servers, if that is on
    /// the path, or else starts the program that its file names and asks that for an answer. Of a
    /// server over HTTP, it checks that its port is open. Returns a sentence that says which of
    /// these was done.
    ///
    /// # Errors
    /// [`ConnectError::Unsupported`] with the fault that was found, [`ConnectError::Edit`] if the
    /// file cannot be read.
    pub fn check(&self) -> Result<String, ConnectError> {
        let faulty = |fault: String| ConnectError::Unsupported(fault);
        let file = self.file()?;
        let entry = self
            .entry()?
            .filter(|entry| self.own.dialect_of(entry).is_some());
        let target = entry.as_ref().and_then(Target::of).ok_or_else(|| {
            faulty(format!(
                "{} has no server `{}` of loci",
                file.display(),
                self.name
            ))
        })?;
        let list = self
            .host
            .list
            .and_then(|list| Some((list, self.machine.program(list.program)?)));
        let Some((list, program)) = list else {
            return answers(&target).map_err(faulty);
        };
        let listed = listed(&list, &program, self.name, self.project).map_err(faulty)?;
        if list.connects {
            return Ok(listed);
        }
        let answered = answers(&target).map_err(faulty)?;
        Ok(format!("{listed}, and {answered}"))
    }
}

/// Asks the host for its list, in the folder of the project.
fn listed(list: &List, program: &Path, name: &str, folder: &Path) -> Result<String, String> {
    let shown = format!("`{} {}`", list.program, list.arguments.join(" "));
    let mut command = Command::new(program);
    command
        .args(list.arguments)
        .current_dir(folder)
        .env("NO_COLOR", "1");
    let output = output_of(command).map_err(|error| format!("{shown} failed: {error}"))?;
    let line = line_of(&output, name).ok_or_else(|| format!("{shown} does not name `{name}`"))?;
    if line.split_whitespace().any(|word| word == list.word) {
        Ok(format!("{shown} calls it {}", list.word.to_lowercase()))
    } else {
        Err(format!("{shown} says: {line}"))
    }
}

/// Runs a command to its end, and returns all that it printed.
#[expect(
    clippy::disallowed_methods,
    reason = "the standard library cannot wait for a program until a moment"
)]
fn output_of(mut command: Command) -> io::Result<String> {
    // Files, because servers that the host leaves running would keep a pipe open.
    let (mut out, mut err) = (tempfile::tempfile()?, tempfile::tempfile()?);
    command
        .stdin(Stdio::null())
        .stdout(out.try_clone()?)
        .stderr(err.try_clone()?);
    let mut running = RunningProgram(command.spawn()?);
    let begin = Instant::now();
    while running.0.try_wait()?.is_none() {
        if begin.elapsed() > LIST_TIMEOUT {
            return Err(io::ErrorKind::TimedOut.into());
        }
        thread::sleep(LOOK_INTERVAL);
    }
    Ok(format!("{}\n{}", text_of(&mut out)?, text_of(&mut err)?))
}

fn text_of(file: &mut File) -> io::Result<String> {
    file.rewind()?;
    let mut bytes = Vec::new();
    file.take(LIST_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the line about a server in a list, without colours.
fn line_of(output: &str, name: &str) -> Option<String> {
    output
        .lines()
        .map(without_colours)
        .find(|line| {
            line.split_whitespace()
                .any(|word| word.trim_end_matches(':') == name)
        })
        .map(|line| line.trim().to_owned())
}

/// Removes the sequences by which a program colours its output.
fn without_colours(line: &str) -> String {
    let mut plain = String::new();
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        if character == '\u{1b}' {
            // A sequence ends with a letter.
            characters.by_ref().find(char::is_ascii_alphabetic);
        } else {
            plain.push(character);
        }
    }
    plain
}

/// Checks that the server of an entry answers.
fn answers(target: &Target) -> Result<String, String> {
    match target {
        Target::Stdio { program, arguments } => {
            let server = server_name(program, arguments).map_err(|error| {
                format!("{program}, which its file names, does not answer: {error}")
            })?;
            Ok(format!(
                "{program}, which its file names, answers as {server}"
            ))
        }
        Target::Http { url } => {
            let address = address_of(url).ok_or_else(|| format!("{url} in its file is no URL"))?;
            reach(&address).map_err(|error| {
                format!("nothing listens at {address}, which its file names ({error}); start `loci serve`")
            })?;
            Ok(format!(
                "a server listens at {address}, which its file names; the token was not tried"
            ))
        }
    }
}

/// Starts a server, asks it to initialize, and returns its name.
fn server_name(program: &str, arguments: &[String]) -> io::Result<String> {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut running = RunningProgram(command.spawn()?);
    let client = json!({"name": "loci connect", "version": env!("CARGO_PKG_VERSION")});
    let params =
        json!({"protocolVersion": PROTOCOL_VERSION, "capabilities": {}, "clientInfo": client});
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    // Both pipes are there, as they were asked for.
    let (Some(mut stdin), Some(stdout)) = (running.0.stdin.take(), running.0.stdout.take()) else {
        return Err(io::ErrorKind::BrokenPipe.into());
    };
    writeln!(stdin, "{request}")?;
    stdin.flush()?;
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut line = String::new();
        let stdout = stdout.take(LIST_BYTES_MAX);
        let read = BufReader::new(stdout).read_line(&mut line);
        // The other end is gone after its time is up.
        let _ = sender.send(read.map(|_| line));
    });
    let line = receiver
        .recv_timeout(ANSWER_TIMEOUT)
        .map_err(|error| match error {
            RecvTimeoutError::Timeout => io::ErrorKind::TimedOut,
            RecvTimeoutError::Disconnected => io::ErrorKind::BrokenPipe,
        })??;
    let answer: Value = serde_json::from_str(&line).map_err(io::Error::other)?;
    let name = answer["result"]["serverInfo"]["name"].as_str();
    name.map(str::to_owned)
        .ok_or_else(|| io::Error::other("its answer names no server"))
}

/// Returns the host and the port of a URL.
fn address_of(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let port = match scheme {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    let host = rest.split(['/', '?', '#']).next()?;
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| {
        !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
    });
    match host {
        "" => None,
        host if has_port => Some(host.to_owned()),
        host => Some(format!("{host}:{port}")),
    }
}

/// Opens a connection, and closes it again.
fn reach(address: &str) -> io::Result<()> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, ANSWER_TIMEOUT) {
            Ok(_) => return Ok(()),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// A program that ends with the check.
struct RunningProgram(Child);

impl Drop for RunningProgram {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_server_is_found() {
        let output = "Checking...\n\u{1b}[32m✓\u{1b}[0m loci: /bin/loci mcp x - \u{1b}[1mConnected\u{1b}[0m\nlocist: y\n";
        assert_eq!(
            line_of(output, "loci").as_deref(),
            Some("✓ loci: /bin/loci mcp x - Connected")
        );
        assert_eq!(line_of(output, "loc"), None);
    }

    #[test]
    fn addresses_of_urls() {
        for (url, expected) in [
            ("http://127.0.0.1:7821/mcp/vault", Some("127.0.0.1:7821")),
            ("https://h.example/mcp/vault?x=y", Some("h.example:443")),
            ("http://[::1]/mcp", Some("[::1]:80")),
            ("http://[::1]:7/mcp", Some("[::1]:7")),
            ("ftp://h/x", None),
            ("http:///x", None),
            ("h/x", None),
        ] {
            assert_eq!(address_of(url).as_deref(), expected, "{url}");
        }
    }

    #[test]
    fn a_port_without_a_server_is_a_fault() {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mcp/vault", free.local_addr().unwrap());
        let target = Target::Http { url };
        assert!(answers(&target).unwrap().contains("a server listens"));
        drop(free);
        assert!(answers(&target).unwrap_err().contains("nothing listens"));
    }

    #[cfg(unix)]
    #[test]
    fn a_program_is_asked_for_an_answer() {
        let ask = |script: &str| {
            let arguments = ["-c", script].map(str::to_owned).to_vec();
            let program = "sh".to_owned();
            answers(&Target::Stdio { program, arguments })
        };
        let reply = json!({"id": 1, "result": {"serverInfo": {"name": "test"}}});
        let answered = ask(&format!("read line; echo '{reply}'; cat")).unwrap();
        assert!(answered.contains("answers as test"), "{answered}");
        for script in [
            "read line; echo nonsense",
            "read line",
            "read line; echo '{}'",
        ] {
            assert!(ask(script).is_err(), "{script}");
        }
        let missing = Target::Stdio {
            program: "/no/such/program".to_owned(),
            arguments: Vec::new(),
        };
        assert!(answers(&missing).unwrap_err().contains("does not answer"));
    }

    #[cfg(unix)]
    #[test]
    fn the_list_of_a_host_is_read() {
        let list = |script: &'static str, word| {
            let list = List {
                program: "sh",
                arguments: Box::leak(Box::new(["-c", script])),
                word,
                connects: true,
            };
            listed(&list, Path::new("sh"), "loci", Path::new("/"))
        };
        assert!(list("echo 'loci: x - Connected'", "Connected").is_ok());
        assert!(list("echo 'loci: x - Connected' >&2", "Connected").is_ok());
        let fault = list("echo 'loci: x - Failed to connect'", "Connected").unwrap_err();
        assert!(fault.contains("Failed to connect"), "{fault}");
        assert!(
            list("echo none", "Connected")
                .unwrap_err()
                .contains("does not name")
        );
    }
}
