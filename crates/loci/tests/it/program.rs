//! The `loci` program with its own folder, home and environment.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::scratch;

/// The environment of commands: isolated from the machine's own configuration, and without a model
/// unless a test sets one.
pub struct Place {
    folder: TempDir,
    variables: Vec<(String, String)>,
}

/// The result of a command.
#[derive(Debug)]
pub struct Ended {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Place {
    pub fn new() -> Self {
        Place {
            folder: scratch::folder(),
            variables: Vec::new(),
        }
        .with("LOCI_EMBEDDING_PROVIDER", "none")
    }

    pub fn with(mut self, variable: &str, value: &str) -> Self {
        self.variables.retain(|(name, _)| name != variable);
        self.variables.push((variable.to_owned(), value.to_owned()));
        self
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn data(&self) -> PathBuf {
        self.path("data")
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(crate::PROGRAM);
        command.current_dir(self.folder.path());
        let kept: Vec<_> = std::env::vars_os()
            .filter(|(name, _)| {
                !name.to_string_lossy().starts_with("LOCI_")
                    && !name.to_string_lossy().starts_with("XDG_")
            })
            .collect();
        command
            .args(arguments)
            .env_clear()
            .envs(kept)
            .env("HOME", self.folder.path())
            .env("LOCI_DATA", self.data());
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Ended {
        ended(self.command(arguments).spawn().unwrap())
    }

    pub fn run_with_stdin(&self, arguments: &[&str], stdin: &[u8]) -> Ended {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that refuses its input may close it before it has read all.
        let _ = child.stdin.take().unwrap().write_all(stdin);
        ended(child)
    }

    /// Returns the JSON that a command prints.
    pub fn json(&self, arguments: &[&str]) -> Value {
        let outcome = self.run(&[&["--json"], arguments].concat());
        assert_eq!(outcome.code, 0, "{outcome:?}");
        serde_json::from_str(&outcome.stdout).unwrap()
    }

    /// Returns the list in the JSON that a command prints.
    pub fn rows(&self, arguments: &[&str]) -> Value {
        list_in(&self.json(arguments))
    }

    /// Makes an empty store, which no command makes that only reads.
    pub fn with_store(self) -> Self {
        self.run(&["vault", "reconcile"]).succeeded();
        self
    }

    /// Stores a memory; returns its id.
    pub fn add(&self, arguments: &[&str]) -> String {
        self.json(&[&["add"], arguments].concat())["id"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// Stores global memories with a single process.
    pub fn add_all(&self, texts: impl IntoIterator<Item = String>) {
        let mut lines = String::new();
        let mut count = 0;
        for text in texts {
            let params = json!({"name": "remember", "arguments": {"content": text}, "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            }});
            count += 1;
            lines += &format!(
                "{}\n",
                json!({"jsonrpc": "2.0", "id": count, "method": "tools/call", "params": params})
            );
        }
        let ended = self
            .run_with_stdin(&["mcp", "mememory"], lines.as_bytes())
            .succeeded();
        let stored = ended
            .stdout
            .lines()
            .filter(|line| line.contains("structuredContent"))
            .count();
        assert_eq!(
            stored,
            count,
            "{}",
            ended.stdout.lines().next().unwrap_or_default()
        );
    }
}

/// Waits for the end and returns the result.
pub fn ended(child: Child) -> Ended {
    let output = child.wait_with_output().unwrap();
    Ended {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Ended {
    #[track_caller]
    pub fn succeeded(self) -> Self {
        assert_eq!(self.code, 0, "{self:?}");
        self
    }

    /// Asserts that the command failed with this code and this text on stderr.
    #[track_caller]
    pub fn failed(self, code: i32, words: &str) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        assert!(self.stderr.contains(words), "{self:?} should say {words}");
        assert!(!self.stderr.contains("panicked"), "{self:?}");
        self
    }
}

/// Returns true if the tests run as root, whom no permission stops.
#[cfg(unix)]
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Returns a file's permissions.
#[cfg(unix)]
pub fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Returns the list in the JSON of a command that lists something: its only list.
pub fn list_in(value: &Value) -> Value {
    let mut lists = value
        .as_object()
        .into_iter()
        .flat_map(|object| object.values())
        .filter(|value| value.is_array());
    let list = lists.next().unwrap_or_else(|| panic!("no list: {value}"));
    assert!(lists.next().is_none(), "more than one list: {value}");
    list.clone()
}

/// Returns the reply of a tool, or the error of the call.
pub fn call(place: &Place, dialect: &str, tool: &str, arguments: &Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let answer = place
        .run_with_stdin(&["mcp", dialect], format!("{call}\n").as_bytes())
        .succeeded()
        .stdout;
    serde_json::from_str::<Value>(&answer).unwrap()["result"].clone()
}
