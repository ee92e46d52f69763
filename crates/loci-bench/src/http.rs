//! A `loci serve` process, and its lightweight client.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{anonymous_bytes, loci, peak_bytes, resident_bytes};

/// The server process. Dropping it ends the server.
pub struct Server {
    child: Child,
    /// The address on which it listens.
    pub address: String,
}

impl Server {
    /// Starts the server on a free port of this machine, without authentication and without the
    /// user's own settings.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(data: &Path) -> io::Result<Self> {
        Server::start_with(data, &["--no-auth"])
    }

    /// Starts the server in the same way, but for callers with tokens.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start_for_tokens(data: &Path) -> io::Result<Self> {
        Server::start_with(data, &[])
    }

    /// Starts the server in the same way, for callers with tokens of a store on a PostgreSQL server,
    /// and without a model.
    ///
    /// # Errors
    /// If it cannot be started.
    #[cfg(unix)]
    pub fn start_on(data: &Path, store: &str, schema: &str) -> io::Result<Self> {
        let mut command = loci(data)?;
        command
            .env("LOCI_STORE", store)
            .env("LOCI_STORE_SCHEMA", schema)
            .env("LOCI_EMBEDDING_PROVIDER", "none");
        Server::run(command, data, &[])
    }

    /// Starts the server in the same way as [`Server::start`], with the key file of its store.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start_encrypted(data: &Path, key_file: &Path) -> io::Result<Self> {
        let mut command = loci(data)?;
        command.env("LOCI_ENCRYPTION_KEY_FILE", key_file);
        Server::run(command, data, &["--no-auth"])
    }

    fn start_with(data: &Path, flags: &[&str]) -> io::Result<Self> {
        Server::run(loci(data)?, data, flags)
    }

    fn run(mut command: Command, data: &Path, flags: &[&str]) -> io::Result<Self> {
        command
            .arg("serve")
            .args(flags)
            .args(["--bind", "127.0.0.1:0", "--log", "error", "--data"])
            .arg(data);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut lines = BufReader::new(child.stderr.take().ok_or(io::ErrorKind::BrokenPipe)?);
        let mut line = String::new();
        let address = loop {
            line.clear();
            if lines.read_line(&mut line)? == 0 {
                return Err(io::Error::other(
                    "the server that is measured did not start",
                ));
            }
            if let Some(address) = line.trim_end().strip_prefix("listening on http://") {
                break address.to_owned();
            }
        };
        // The server would block on a full pipe.
        std::thread::spawn(move || io::copy(&mut lines, &mut io::sink()));
        Ok(Server { child, address })
    }

    /// Returns its resident memory in bytes, if Linux reports it.
    pub fn resident_bytes(&self) -> Option<u64> {
        resident_bytes(&self.child.id().to_string())
    }

    /// Returns the most resident memory in bytes that it had since [`Server::forget_peak`], or since
    /// its start, if Linux reports it.
    pub fn peak_bytes(&self) -> Option<u64> {
        peak_bytes(&self.child.id().to_string())
    }

    /// Forgets the peak of its resident memory so far.
    ///
    /// # Errors
    /// If the system is not Linux.
    pub fn forget_peak(&self) -> io::Result<()> {
        std::fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5")
    }

    /// Returns its resident memory in bytes that is not the content of files, if Linux reports it.
    pub fn anonymous_bytes(&self) -> Option<u64> {
        anonymous_bytes(&self.child.id().to_string())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connection that is kept open.
pub struct HttpClient {
    stream: BufReader<TcpStream>,
    address: String,
    /// The cookie of a session on the page.
    cookie: String,
    /// The header with its token; empty without one.
    authorization: String,
    requests: u64,
}

impl HttpClient {
    /// Connects to a server.
    ///
    /// # Errors
    /// If no server listens.
    pub fn connect(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(HttpClient {
            stream: BufReader::new(stream),
            address: address.to_owned(),
            cookie: String::new(),
            authorization: String::new(),
            requests: 0,
        })
    }

    /// Sends this token with each call.
    #[must_use]
    pub fn with_token(mut self, token: &str) -> Self {
        self.authorization = format!("Authorization: Bearer {token}\r\n");
        self
    }

    /// Calls a tool and waits for its reply.
    ///
    /// # Errors
    /// If the connection breaks, or the tool fails.
    pub fn call(&mut self, dialect: &str, tool: &str, arguments: &Value) -> io::Result<Value> {
        self.requests += 1;
        let params = json!({"name": tool, "arguments": arguments});
        let body = json!({"jsonrpc": "2.0", "id": self.requests, "method": "tools/call", "params": params}).to_string();
        let head = format!(
            "POST /mcp/{dialect} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: application/json, \
             text/event-stream\r\nMCP-Protocol-Version: 2025-06-18\r\n{}Content-Length: {}\r\n\r\n",
            self.address,
            self.authorization,
            body.len()
        );
        self.stream.get_mut().write_all((head + &body).as_bytes())?;
        let mut reply: Value = serde_json::from_slice(&self.read_reply()?)?;
        let failed = reply["result"].is_null() || reply["result"]["isError"] == json!(true);
        if failed {
            Err(io::Error::other(format!("the server answered {reply}")))
        } else {
            Ok(reply["result"].take())
        }
    }

    /// Asks for a view of the page as a browser does, in the session of the last reply that started
    /// one. Returns the time to its first byte, and the bytes of its text.
    ///
    /// # Errors
    /// If the connection breaks, or the view fails.
    pub fn view(&mut self, path: &str) -> io::Result<(Duration, usize)> {
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nAccept: text/html\r\nCookie: {}\r\n\r\n",
            self.address, self.cookie
        );
        let begin = Instant::now();
        self.stream.get_mut().write_all(head.as_bytes())?;
        let status = self.status()?;
        let first_byte = begin.elapsed();
        let body = self.read_reply()?;
        if status.contains(" 200 ") {
            Ok((first_byte, body.len()))
        } else {
            Err(io::Error::other(format!("{path} answered {status}")))
        }
    }

    /// Reads the first line of a reply.
    fn status(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        Ok(line)
    }

    fn read_reply(&mut self) -> io::Result<Vec<u8>> {
        let (mut length, mut chunked) = (0, false);
        let mut line = String::new();
        loop {
            line.clear();
            if self.stream.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if line.trim_end().is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':') {
                match name.to_ascii_lowercase().as_str() {
                    "content-length" => length = value.trim().parse().map_err(io::Error::other)?,
                    "transfer-encoding" => chunked = true,
                    "set-cookie" => {
                        let pair = value.split(';').next().unwrap_or_default();
                        pair.trim().clone_into(&mut self.cookie);
                    }
                    _ => {}
                }
            }
        }
        let mut body = Vec::new();
        if !chunked {
            self.read_part(length, &mut body)?;
            return Ok(body);
        }
        loop {
            line.clear();
            self.stream.read_line(&mut line)?;
            let length = usize::from_str_radix(line.trim_end(), 16).map_err(io::Error::other)?;
            self.read_part(length, &mut body)?;
            self.stream.read_line(&mut line)?;
            if length == 0 {
                return Ok(body);
            }
        }
    }

    fn read_part(&mut self, length: usize, body: &mut Vec<u8>) -> io::Result<()> {
        let begin = body.len();
        body.resize(begin + length, 0);
        self.stream.read_exact(&mut body[begin..])
    }
}
