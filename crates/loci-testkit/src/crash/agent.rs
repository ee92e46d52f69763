//! A child process that speaks MCP over stdio, and its client.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};

use serde_json::{Value, json};

/// A running process, which is killed on drop.
#[derive(Debug)]
pub struct Agent {
    /// Its number among the agents that report to the same receiver.
    pub number: usize,
    child: Child,
    stdin: Option<ChildStdin>,
    readers: Vec<JoinHandle<()>>,
}

/// An event of an [`Agent`].
#[derive(Debug)]
pub enum Event {
    /// It answered a request with a result or an error.
    Reply {
        /// The agent.
        agent: usize,
        /// The id of the request.
        id: u64,
        /// Its structured content, or the error of the tool or the protocol.
        outcome: Result<Value, Value>,
    },
    /// It wrote a line that is not an answer.
    Nonsense {
        /// The agent.
        agent: usize,
        /// The line.
        line: String,
    },
    /// It wrote a line to stderr.
    Words {
        /// The agent.
        agent: usize,
        /// The line.
        line: String,
    },
    /// It closed its output.
    End {
        /// The agent.
        agent: usize,
    },
}

impl Agent {
    /// Starts a command that speaks MCP over stdio and sends its events to `events`.
    ///
    /// # Panics
    /// If the command cannot be started.
    pub fn start(number: usize, mut command: Command, events: &Sender<Event>) -> Self {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let stdin = child.stdin.take();
        let mut readers = Vec::new();
        if let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) {
            let events = events.clone();
            let words = events.clone();
            readers.push(thread::spawn(move || {
                for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                    let _ = words.send(Event::Words {
                        agent: number,
                        line,
                    });
                }
            }));
            readers.push(thread::spawn(move || {
                let mut stdout = BufReader::new(stdout);
                let mut line = String::new();
                // A line that a kill cut off is ignored.
                while stdout.read_line(&mut line).is_ok_and(|length| length > 0)
                    && line.ends_with('\n')
                {
                    let _ = events.send(event(number, &line));
                    line.clear();
                }
                let _ = events.send(Event::End { agent: number });
            }));
        }
        Agent {
            number,
            child,
            stdin,
            readers,
        }
    }

    /// Returns its process id.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Calls a tool. Does nothing if the process is gone, which [`Event::End`] reports.
    pub fn call(&mut self, id: u64, tool: &str, arguments: &Value) {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "crash", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
        let line = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        if let Some(stdin) = &mut self.stdin {
            let _ = stdin
                .write_all(format!("{line}\n").as_bytes())
                .and_then(|()| stdin.flush());
        }
    }

    /// Kills it, as `kill -9` does. Earlier output still arrives.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
    }

    /// Closes its input, upon which it exits.
    pub fn close(&mut self) {
        self.stdin = None;
    }

    /// Waits until it exits and returns its exit code; `None` if a signal ended it.
    ///
    /// # Panics
    /// If the system does not report the exit.
    pub fn wait(mut self) -> Option<i32> {
        self.stdin = None;
        let status = self
            .child
            .wait()
            .expect("the program is a child of this one");
        for reader in std::mem::take(&mut self.readers) {
            let _ = reader.join();
        }
        status.code()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Parses a line of output.
fn event(agent: usize, line: &str) -> Event {
    let nonsense = || Event::Nonsense {
        agent,
        line: line.to_owned(),
    };
    let Ok(message) = serde_json::from_str::<Value>(line) else {
        return nonsense();
    };
    let Some(id) = message["id"].as_u64() else {
        return nonsense();
    };
    let result = &message["result"];
    let outcome = match result["isError"].as_bool() {
        Some(false) => Ok(result["structuredContent"].clone()),
        Some(true) => Err(result["_meta"]["loci/error"].clone()),
        None if message["error"].is_object() => Err(message["error"].clone()),
        None => return nonsense(),
    };
    Event::Reply { agent, id, outcome }
}
