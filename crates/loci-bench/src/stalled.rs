//! `loci-bench stalled`: measures what a burst of senders that stop in the middle of their requests
//! costs a server, in memory, and the agents that call it, in time.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use loci::exit::{Exit, Failure};
use loci::output::{Output, status_line};
use serde_json::{Value, json};

use super::client::loci;
use super::clients::fill;
use super::corpus::{Random, question};
use super::figure::{Figure, print};
use super::http::{HttpClient, Server};
use super::speed::{engine, milliseconds};

/// The users that the senders with a token are.
const SENDING_USERS: usize = 4;
/// The bytes of a body that is announced, and how many come at once.
const ANNOUNCED_BYTES: usize = 8 << 20;
const LARGE_BYTES: usize = 7 << 20;
/// The bytes that come at once of a small body: less than what needs a share of memory, and of a
/// stranger's than what is read.
const SMALL_BYTES: usize = 7_000;
const SMALL_BYTES_OF_STRANGER: usize = 3_000;
/// The time between two bytes of a sender that has stopped: the server gives up who is silent.
const DRIP_PAUSE: Duration = Duration::from_secs(3);
/// The most bytes that are written at a time.
static PIECE: [u8; 64 << 10] = [b'x'; 64 << 10];
/// The pause between two rounds over all senders.
const ROUND_PAUSE: Duration = Duration::from_millis(20);
/// The pause of the agent between two calls, so that they spread over the burst.
const CALL_PAUSE: Duration = Duration::from_millis(50);
/// The calls before the first one that counts: they load the index and the model.
const WARM_UP: usize = 20;
/// The time after which no burst is left: the server gives up a body that takes longer.
const BURST_MAX: Duration = Duration::from_mins(1);

pub fn run(memories: usize, senders: usize, calls: usize, output: Output) -> Result<(), Failure> {
    let broken = |error: io::Error| Failure::new(Exit::Failure, error.to_string());
    let folder = tempfile::tempdir().map_err(broken)?;
    let data = folder.path().join("stalled");
    status_line(format_args!("storing {memories} memories …"));
    fill(&engine(&data)?, memories)?;
    let figures = measure(&data, senders, calls).map_err(broken)?;
    print(&figures, output)
}

fn measure(data: &Path, senders: usize, calls: usize) -> io::Result<Vec<Figure>> {
    let agent = token(data, "agent")?;
    let users: Vec<String> = (0..SENDING_USERS)
        .map(|number| token(data, &format!("sender-{number}")))
        .collect::<io::Result<_>>()?;
    let server = Server::start_for_tokens(data)?;
    let mut agent = HttpClient::connect(&server.address)?.with_token(&agent);
    status_line(format_args!("calling {calls} times …"));
    recalls(&mut agent, WARM_UP, 11, || false)?;
    let without = recalls(&mut agent, calls, 12, || false)?;
    let before = server.resident_bytes();
    let has_peak = server.forget_peak().is_ok();
    status_line(format_args!("calling beside {senders} senders …"));
    let is_over = AtomicBool::new(false);
    let (beside, ended) = thread::scope(|scope| {
        let sending = scope.spawn(|| burst(&server.address, &users, senders, &is_over));
        let begin = Instant::now();
        let is_late = || begin.elapsed() > BURST_MAX || sending.is_finished();
        let beside = recalls(&mut agent, calls, 13, is_late);
        is_over.store(true, Ordering::Relaxed);
        let ended = sending.join();
        let ended = ended.unwrap_or_else(|_| Err(io::Error::other("the senders panicked")));
        Ok::<_, io::Error>((beside?, ended?))
    })?;
    let peak = server.peak_bytes().filter(|_| has_peak);
    for (answer, count) in ended {
        status_line(format_args!("{count} senders: {answer}"));
    }
    Ok(figures(before, peak, without, beside))
}

fn figures(
    before: Option<u64>,
    peak: Option<u64>,
    without: Vec<f64>,
    beside: Vec<f64>,
) -> Vec<Figure> {
    let megabytes = |bytes: Option<u64>| bytes.map_or(f64::NAN, |bytes| bytes as f64 / 1e6);
    let more = megabytes(peak) - megabytes(before);
    let calls = beside.len() as f64;
    let without = Figure::many("a recall before the burst", without, "ms", "");
    let beside = Figure::many("a recall beside the burst", beside, "ms", "");
    let ratio = |name: &str, [before, after]: [f64; 2]| {
        Figure::one(
            format!("{name}, times that before"),
            after / before,
            "",
            "2",
        )
    };
    let p95 = |figure: &Figure| figure.p95.unwrap_or(f64::NAN);
    let ratios = [
        ratio("the median beside the burst", [without.p50, beside.p50]),
        ratio("p95 beside the burst", [p95(&without), p95(&beside)]),
    ];
    let memory = [
        Figure::one("server, before the burst", megabytes(before), "MB", ""),
        Figure::one(
            "server, the most beside the burst",
            megabytes(peak),
            "MB",
            "",
        ),
        Figure::one("server, what the burst added", more, "MB", "64"),
        Figure::one("recalls beside the burst", calls, "", ""),
    ];
    memory
        .into_iter()
        .chain([without, beside])
        .chain(ratios)
        .collect()
}

/// Makes a token of a user that reads and writes.
fn token(data: &Path, user: &str) -> io::Result<String> {
    let mut command = loci(data)?;
    let arguments = ["token", "create", "--subject", user, "--json", "--data"];
    let made = command.args(arguments).arg(data).output()?;
    let made: Value = serde_json::from_slice(&made.stdout)?;
    let token = made["token"].as_str().map(str::to_owned);
    token.ok_or_else(|| io::Error::other("no token was made"))
}

/// Asks so many questions, each after a pause, or until it is late; returns the milliseconds of each.
/// Another seed makes other questions, whose vectors are in no cache.
fn recalls(
    agent: &mut HttpClient,
    calls: usize,
    seed: u64,
    is_late: impl Fn() -> bool,
) -> io::Result<Vec<f64>> {
    let mut random = Random(seed);
    let mut times = Vec::with_capacity(calls);
    while times.len() < calls && !is_late() {
        let arguments = json!({"query": question(&mut random), "limit": 5});
        let begin = Instant::now();
        agent.call("mememory", "recall", &arguments)?;
        times.push(milliseconds(begin.elapsed()));
        rest(CALL_PAUSE);
    }
    Ok(times)
}

/// A sender, and what it has still to send before it stops.
struct Sender {
    stream: TcpStream,
    left: usize,
    sent_at: Instant,
}

impl Sender {
    /// Connects, and sends the head of a request. The routes and the lengths of bodies take turns.
    fn connect(address: &str, users: &[String], number: usize) -> io::Result<Self> {
        let route = number % 3;
        let is_large = (number / 3).is_multiple_of(2);
        let (path, form) = match route {
            0 => ("/sign-in", "application/x-www-form-urlencoded"),
            1 => ("/api/v1/facts/add", "application/json"),
            _ => ("/mcp/mememory", "application/json"),
        };
        let left = match (is_large, route) {
            (true, _) => LARGE_BYTES,
            (false, 0) => SMALL_BYTES_OF_STRANGER,
            (false, _) => SMALL_BYTES,
        };
        let authorization = match users.get(number % users.len().max(1)) {
            Some(token) if route != 0 => format!("Authorization: Bearer {token}\r\n"),
            _ => String::new(),
        };
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nOrigin: http://{address}\r\nContent-Type: {form}\r\n\
             Accept: application/json, text/event-stream\r\n{authorization}Content-Length: {ANNOUNCED_BYTES}\r\n\r\n"
        );
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(head.as_bytes())?;
        stream.set_nonblocking(true)?;
        Ok(Sender {
            stream,
            left,
            sent_at: Instant::now(),
        })
    }

    /// Sends what is due and fits; returns the answer of the server, if there is one.
    fn go_on(&mut self) -> Option<String> {
        let due = match self.left {
            0 if self.sent_at.elapsed() < DRIP_PAUSE => 0,
            0 => 1,
            left => left.min(PIECE.len()),
        };
        if due > 0 {
            // A connection that was closed shows when it is read.
            let sent = self.stream.write(&PIECE[..due]).unwrap_or(0);
            self.left = self.left.saturating_sub(sent);
            self.sent_at = Instant::now();
        }
        let mut said = [0; 64];
        match self.stream.read(&mut said) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => None,
            Ok(0) => Some("closed without an answer".to_owned()),
            Err(error) => Some(format!("{}", error.kind())),
            Ok(count) => {
                let said = String::from_utf8_lossy(&said[..count]);
                let status = said.split(' ').nth(1).unwrap_or("no HTTP");
                Some(format!("answered {status}"))
            }
        }
    }
}

/// Opens all senders and goes on until the end, or until each was answered; returns how many ended
/// in which way.
fn burst(
    address: &str,
    users: &[String],
    count: usize,
    is_over: &AtomicBool,
) -> io::Result<BTreeMap<String, usize>> {
    let mut ended = BTreeMap::new();
    let mut senders = Vec::with_capacity(count);
    for number in 0..count {
        senders.push(Sender::connect(address, users, number)?);
    }
    while !is_over.load(Ordering::Relaxed) && !senders.is_empty() {
        senders.retain_mut(|sender| match sender.go_on() {
            Some(answer) => {
                *ended.entry(answer).or_default() += 1;
                false
            }
            None => true,
        });
        rest(ROUND_PAUSE);
    }
    if !senders.is_empty() {
        ended.insert("not answered until the end".to_owned(), senders.len());
    }
    Ok(ended)
}

#[expect(
    clippy::disallowed_methods,
    reason = "agents and senders that do not pause measure the processor"
)]
fn rest(pause: Duration) {
    thread::sleep(pause);
}
