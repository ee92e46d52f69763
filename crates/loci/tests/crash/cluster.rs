//! Several `loci serve` with one store on a PostgreSQL server, and clients that write through each one
//! over HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use loci_testkit::Random;
use loci_testkit::crash::{Call, Ledger};
use serde_json::{Value, json};

use crate::observe::inspect_server;
use crate::place::{DIALECTS, Place};
use crate::run::PATIENCE;

/// The number of front ends.
const FRONT_ENDS: usize = 3;

/// The id of the machine that all front ends say they are, because a client may name a source file
/// through one and remove what it brought through another.
const MACHINE: &str = "00c0ffee00c0ffee";

/// A `loci serve`, which is killed at the end.
struct FrontEnd {
    child: Child,
    address: String,
    place: Place,
}

impl FrontEnd {
    /// Starts one on the store at a URL. Its lines on stderr go to `words`.
    fn start(store: &str, words: &Arc<Mutex<Vec<String>>>) -> Self {
        let place = Place::new();
        std::fs::create_dir(place.data()).unwrap();
        std::fs::write(place.data().join("machine"), MACHINE).unwrap();
        let mut child = place
            .command(&["serve", "--bind", "127.0.0.1:0"])
            .env("LOCI_STORE", store)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut said = Vec::new();
        let address = loop {
            let Some(line) = lines.next() else {
                panic!("a front end ended: {said:?}");
            };
            let line = line.unwrap();
            if let Some((_, address)) = line.split_once("listening on http://") {
                break address.trim().to_owned();
            }
            said.push(line);
        };
        let words = Arc::clone(words);
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                words
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(line);
            }
        });
        FrontEnd {
            child,
            address,
            place,
        }
    }
}

impl FrontEnd {
    /// Returns a new token that may act for every user.
    fn make_token(&self, store: &str) -> String {
        let output = self
            .place
            .command(&["token", "create", "--subject", "admin", "--scopes", "admin"])
            .env("LOCI_STORE", store)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }
}

impl Drop for FrontEnd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The answer to a call.
enum Answer {
    Done(Value),
    /// It was refused, and nothing happened.
    Refused(String),
    /// It may have happened or not, as the answer says.
    Unknown(String),
}

/// A client of one front end and one tool set. It makes one call at a time.
struct Client {
    dialect: &'static str,
    calls: Sender<Call>,
    /// The call without an answer yet.
    asked: Option<u64>,
}

/// The front ends of a store, and the clients that write through them.
pub struct Cluster {
    pub ledger: Ledger,
    /// The calls of which the answer said that their outcome is not known, or that were refused and
    /// may have happened in part.
    doubtful: Vec<Call>,
    clients: Vec<Client>,
    answers: Receiver<(usize, u64, Result<Answer, String>)>,
    front_ends: Vec<FrontEnd>,
    words: Arc<Mutex<Vec<String>>>,
    /// The answers of calls that were refused.
    pub refused: Vec<String>,
    /// The answers that left the outcome of their calls open.
    pub unknown: Vec<String>,
    /// When the newest call was acknowledged.
    pub last_success: Option<Instant>,
}

impl Cluster {
    /// Starts the front ends of the store at a URL, and a client of each tool set but that of notes for
    /// each.
    pub fn start(store: &str) -> Self {
        let words = Arc::default();
        let front_ends: Vec<_> = (0..FRONT_ENDS)
            .map(|_| FrontEnd::start(store, &words))
            .collect();
        let token = front_ends[0].make_token(store);
        for arguments in Ledger::anchors() {
            let answer = post(
                &front_ends[0].address,
                &token,
                "mempalace",
                "mempalace_add_drawer",
                &arguments,
            );
            assert!(
                matches!(answer, Ok(Answer::Done(_))),
                "the anchors are stored"
            );
        }
        let (sender, answers) = channel();
        let mut clients = Vec::new();
        for front_end in &front_ends {
            for &dialect in &DIALECTS[1..] {
                let number = clients.len();
                let (calls, asked) = channel::<Call>();
                let (address, token) = (front_end.address.clone(), token.clone());
                let sender = sender.clone();
                thread::spawn(move || {
                    for call in asked {
                        let answer = post(&address, &token, dialect, call.tool, &call.arguments);
                        if sender.send((number, call.id, answer)).is_err() {
                            return;
                        }
                    }
                });
                clients.push(Client {
                    dialect,
                    calls,
                    asked: None,
                });
            }
        }
        Cluster {
            ledger: Ledger::default(),
            doubtful: Vec::new(),
            clients,
            answers,
            front_ends,
            words,
            refused: Vec::new(),
            unknown: Vec::new(),
            last_success: None,
        }
    }

    /// Returns the number of clients.
    pub fn clients(&self) -> usize {
        self.clients.len()
    }

    /// Gives a random call to each client that waits for none, and takes the next answer, if one comes
    /// soon.
    pub fn step(&mut self, random: &mut Random) {
        for client in &mut self.clients {
            if client.asked.is_none() {
                let call = self.ledger.call(client.dialect, random);
                client.asked = Some(call.id);
                self.ledger.begin(call.clone());
                client.calls.send(call).unwrap();
            }
        }
        self.take(Duration::from_millis(20));
    }

    /// Takes the next answer, if one comes in this time.
    fn take(&mut self, wait: Duration) {
        let Ok((client, id, answer)) = self.answers.recv_timeout(wait) else {
            return;
        };
        self.clients[client].asked = None;
        match answer.unwrap() {
            Answer::Done(reply) => {
                self.ledger.acknowledge(id, &reply);
                self.last_success = Some(Instant::now());
            }
            Answer::Refused(why) => {
                self.doubtful.extend(self.ledger.refuse(id));
                self.refused.push(why);
            }
            Answer::Unknown(why) => {
                self.doubtful
                    .extend(self.ledger.give_up(|call| call.id == id));
                self.unknown.push(why);
            }
        }
    }

    /// Writes for this time.
    pub fn write_for(&mut self, time: Duration, random: &mut Random) {
        let begun = Instant::now();
        while begun.elapsed() < time {
            self.step(random);
        }
    }

    /// Waits for the answers to all calls, and compares what the store at a URL has with what was
    /// acknowledged.
    pub fn check(&mut self, store: &str) {
        let begun = Instant::now();
        while self.clients.iter().any(|client| client.asked.is_some()) {
            assert!(
                begun.elapsed() < PATIENCE,
                "no answer comes: {:?}",
                self.words()
            );
            self.take(Duration::from_millis(100));
        }
        let (found, mut problems) = inspect_server(store).unwrap();
        problems.extend(self.ledger.compare(&found, &self.doubtful, false));
        assert!(problems.is_empty(), "{problems:#?}\n{:?}", self.words());
        self.ledger.settle(&found);
        self.doubtful.clear();
        for front_end in &mut self.front_ends {
            assert_eq!(front_end.child.try_wait().unwrap(), None, "it runs on");
        }
        let words = self.words();
        let panic = words.iter().find(|line| line.contains("panicked"));
        assert_eq!(panic, None);
    }

    /// Returns what the front ends said.
    fn words(&self) -> Vec<String> {
        let words = self.words.lock();
        words.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Calls a tool over HTTP. An error is an answer that no call may get.
fn post(
    address: &str,
    token: &str,
    dialect: &str,
    tool: &str,
    arguments: &Value,
) -> Result<Answer, String> {
    let params = json!({"name": tool, "arguments": arguments});
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let request = format!(
        "POST /mcp/{dialect} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let send = || {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(request.as_bytes())?;
        let mut reply = String::new();
        stream.read_to_string(&mut reply)?;
        Ok(reply)
    };
    let reply = send().map_err(|error: std::io::Error| format!("{tool}: {error}"))?;
    let wrong = || format!("{tool} {arguments}: {reply}");
    let (head, body) = reply.split_once("\r\n\r\n").ok_or_else(wrong)?;
    match head.split(' ').nth(1) {
        Some("200") => {}
        Some("503") => return Ok(Answer::Refused(body.to_owned())),
        _ => return Err(wrong()),
    }
    let mut message: Value = serde_json::from_str(body).map_err(|_| wrong())?;
    let result = message["result"].take();
    if result["isError"] == json!(false) {
        return Ok(Answer::Done(result["structuredContent"].clone()));
    }
    if result["_meta"]["loci/error"]["code"] != "unavailable" {
        return Err(wrong());
    }
    let why = format!("{tool}: {}", result["content"][0]["text"]);
    Ok(if why.contains("look whether it is there") {
        Answer::Unknown(why)
    } else {
        Answer::Refused(why)
    })
}
