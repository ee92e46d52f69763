//! A client of a `loci mcp` process, started as by a host.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

use loci::exit::{Exit, Failure};
use loci::settings::{CONFIG_VARIABLE, Setting, settings};
use serde_json::{Value, json};

/// The server process and both ends of its pipes. Dropping it ends the server.
pub struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Client {
    /// Starts the server without the user's own settings, and sends the handshake, whose reply
    /// [`Client::request`] skips.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(data: &Path, search: &str) -> io::Result<Self> {
        let mut command = loci(data)?;
        command.arg("mcp").arg("mememory").arg("--data").arg(data);
        command.args(["--search", search]);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let stdout = BufReader::new(stdout.ok_or(io::ErrorKind::BrokenPipe)?);
        let mut client = Client {
            child,
            stdin,
            stdout,
        };
        let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}});
        client
            .send(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}))?;
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(client)
    }

    /// Sends a request and waits for its reply.
    ///
    /// # Errors
    /// If the server ends, or fails the request.
    pub fn request(&mut self, id: u64, method: &str, params: &Value) -> io::Result<Value> {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        loop {
            let mut line = String::new();
            if self.stdout.read_line(&mut line)? == 0 {
                return Err(io::Error::other("the server that is measured ended"));
            }
            let mut reply: Value = serde_json::from_str(&line)?;
            if reply["id"] != json!(id) {
                continue;
            }
            if reply["result"].is_null() || reply["result"]["isError"] == json!(true) {
                return Err(io::Error::other(format!(
                    "the server that is measured answered {line}"
                )));
            }
            return Ok(reply["result"].take());
        }
    }

    fn send(&mut self, message: &Value) -> io::Result<()> {
        let stdin = self.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        writeln!(stdin, "{message}")
    }

    /// Returns its proportional memory in bytes, if Linux reports it: its private memory, and its
    /// part of the memory that it shares with other processes, e.g. the program itself.
    pub fn proportional_bytes(&self) -> Option<u64> {
        memory(&format!("/proc/{}/smaps_rollup", self.child.id()), "Pss:")
    }

    /// Returns its part of the memory that is not the content of files, if Linux reports it.
    pub fn proportional_anonymous_bytes(&self) -> Option<u64> {
        memory(
            &format!("/proc/{}/smaps_rollup", self.child.id()),
            "Pss_Anon:",
        )
    }

    /// Returns its resident memory in bytes, if Linux reports it.
    pub fn resident_bytes(&self) -> Option<u64> {
        resident_bytes(&self.child.id().to_string())
    }
}

/// Returns the resident memory in bytes of a process (or `self`), if Linux reports it.
pub fn resident_bytes(process: &str) -> Option<u64> {
    memory(&format!("/proc/{process}/status"), "VmRSS:")
}

/// Returns the most resident memory in bytes that a process had, if Linux reports it.
pub fn peak_bytes(process: &str) -> Option<u64> {
    memory(&format!("/proc/{process}/status"), "VmHWM:")
}

/// Returns the resident memory in bytes of a process that is not the content of files, if Linux
/// reports it. The system can drop unchanged pages of files at any time, and processes share them.
pub fn anonymous_bytes(process: &str) -> Option<u64> {
    memory(&format!("/proc/{process}/status"), "RssAnon:")
}

/// Reads a number of kB from a file of Linux, in bytes.
fn memory(file: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}

/// Returns a command for the measured `loci`, without the user's own settings: the program that
/// `LOCI_BIN` names, or the one next to this program.
///
/// # Errors
/// `NotFound` if there is no such program; a file that cannot be written.
pub fn loci(data: &Path) -> io::Result<Command> {
    let program = match std::env::var_os("LOCI_BIN") {
        Some(program) => PathBuf::from(program),
        None => {
            std::env::current_exe()?.with_file_name(format!("loci{}", std::env::consts::EXE_SUFFIX))
        }
    };
    if !program.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::NotFound,
            format!(
                "there is no loci at {}: build it with `cargo build --release --package loci`, or \
                 name it with LOCI_BIN",
                program.display()
            ),
        ));
    }
    without_settings(Command::new(program), data)
}

/// Returns a command for the program of this process, without the user's own settings.
///
/// # Errors
/// A file that cannot be written.
pub fn loci_bench(data: &Path) -> io::Result<Command> {
    without_settings(Command::new(std::env::current_exe()?), data)
}

fn without_settings(mut command: Command, data: &Path) -> io::Result<Command> {
    for variable in settings().flat_map(Setting::variables) {
        command.env_remove(variable);
    }
    let no_settings = data.join("no-settings.toml");
    fs::write(&no_settings, "")?;
    command.env(CONFIG_VARIABLE, no_settings);
    Ok(command)
}

impl Drop for Client {
    fn drop(&mut self) {
        // The server ends at the end of its input.
        drop(self.stdin.take());
        let _ = self.child.wait();
    }
}

/// Returns the failure of a measured process.
pub fn succeed(done: &Output) -> Result<(), Failure> {
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    Err(Failure::new(
        Exit::Failure,
        format!("a process that is measured failed: {}", said.trim_end()),
    ))
}
