//! `loci-bench background`: measures the time of a search while texts are embedded in the background,
//! by the process that is asked and by another one.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use loci::exit::{Exit, Failure};
use loci::output::{Output, status_line};
use loci_engine::Engine;
use serde_json::{Value, json};

use super::client::Client;
use super::clients::fill;
use super::corpus::{Random, question, sentence};
use super::figure::{Figure, percentile, print};
use super::http::{HttpClient, Server};
use super::speed::{engine, milliseconds, side_by_side};

/// The bytes of a drawer that is left to the background: some 60 passages.
const DRAWER_BYTES: usize = 40_000;
/// The drawers that are filed before calls beside the background.
const DRAWERS: usize = 8;
/// The calls of a client before the first ones that count: they load the index and the model.
const WARM_UP: usize = 20;
/// The rounds of calls, in turn without and with work in the background.
const ROUNDS: usize = 3;
/// The calls of a client between two looks at what waits.
const CALLS_AT_ONCE: usize = 25;
/// The pause between two looks at what waits.
const PAUSE: Duration = Duration::from_millis(50);

pub fn run(memories: usize, clients: usize, calls: usize, output: Output) -> Result<(), Failure> {
    let folder = tempfile::tempdir().map_err(broken)?;
    let data = folder.path().join("background");
    status_line(format_args!("storing {memories} memories …"));
    let engine = engine(&data)?;
    fill(&engine, memories)?;
    let server = Server::start(&data).map_err(broken)?;
    let other = Client::start(&data, "hybrid").map_err(broken)?;
    let mut bench = Bench {
        engine,
        server,
        other,
        clients,
        seed: 0,
    };
    let mut by_server = [Vec::new(), Vec::new()];
    let mut by_other = [Vec::new(), Vec::new()];
    bench.ask_server(WARM_UP)?;
    bench.ask_other(WARM_UP)?;
    for round in 1..=ROUNDS {
        status_line(format_args!("round {round} of {ROUNDS} …"));
        let calls = calls.div_ceil(ROUNDS);
        bench.measure(calls, &mut by_server, Bench::ask_server)?;
        bench.measure(calls, &mut by_other, Bench::ask_other)?;
    }
    let mut figures = figures("the process that embeds", by_server);
    figures.extend(self::figures("another process", by_other));
    print(&figures, output)
}

struct Bench {
    /// The same store, to see what waits.
    engine: Engine,
    /// Embeds in the background, because it is there first.
    server: Server,
    other: Client,
    clients: usize,
    /// Of the next random texts.
    seed: u64,
}

impl Bench {
    /// Adds the milliseconds of calls of each client, first with nothing to embed, then with more
    /// than is embedded in the time.
    fn measure(
        &mut self,
        calls: usize,
        [idle, busy]: &mut [Vec<f64>; 2],
        ask: impl Fn(&mut Self, usize) -> Result<Vec<f64>, Failure>,
    ) -> Result<(), Failure> {
        while self.waiting()? > 0 {
            pause();
        }
        idle.extend(ask(self, calls)?);
        let mut counted = 0;
        while counted < calls {
            if self.waiting()? == 0 {
                self.file()?;
            }
            let times = ask(self, CALLS_AT_ONCE)?;
            // Otherwise some calls were made with nothing to embed.
            if self.waiting()? > 0 {
                counted += CALLS_AT_ONCE;
                busy.extend(times);
            }
        }
        Ok(())
    }

    fn waiting(&self) -> Result<u64, Failure> {
        Ok(self.engine.models().pending_embeddings()?)
    }

    fn next_seed(&mut self) -> u64 {
        self.seed += 1;
        self.seed
    }

    /// Recalls that many times through each of the clients of the server at once.
    fn ask_server(&mut self, calls: usize) -> Result<Vec<f64>, Failure> {
        let seed = self.next_seed() << 16;
        let address = &self.server.address;
        let parts = side_by_side(self.clients, |number| {
            let connected = HttpClient::connect(address);
            let times = connected.and_then(|mut client| {
                recalls(calls, seed + number as u64, |arguments| {
                    client.call("mememory", "recall", arguments)
                })
            });
            times.map_err(|error| loci_core::Error::internal(error.to_string()))
        })?;
        Ok(parts.into_iter().flatten().collect())
    }

    /// Recalls that many times through another process than the server.
    fn ask_other(&mut self, calls: usize) -> Result<Vec<f64>, Failure> {
        let seed = self.next_seed() << 16;
        let mut id = seed;
        recalls(calls, seed, |arguments| {
            id += 1;
            let call = json!({"name": "recall", "arguments": arguments});
            self.other.request(id, "tools/call", &call)
        })
        .map_err(broken)
    }

    /// Files drawers, which the server embeds in the background.
    fn file(&mut self) -> Result<(), Failure> {
        let mut random = Random(self.next_seed() << 16);
        let mut client = HttpClient::connect(&self.server.address).map_err(broken)?;
        for _ in 0..DRAWERS {
            let mut content = String::new();
            while content.len() < DRAWER_BYTES {
                content = content + &sentence(&mut random) + "\n";
            }
            let drawer = json!({"wing": "bench", "room": "background", "content": content});
            client
                .call("mempalace", "mempalace_add_drawer", &drawer)
                .map_err(broken)?;
        }
        Ok(())
    }
}

/// Asks so many questions, one after the other; returns the milliseconds of each. Another seed makes
/// other questions, whose vectors are in no cache.
fn recalls(
    calls: usize,
    seed: u64,
    mut call: impl FnMut(&Value) -> io::Result<Value>,
) -> io::Result<Vec<f64>> {
    let mut random = Random(seed);
    let recall = |_| {
        let arguments = json!({"query": question(&mut random), "limit": 5});
        let begin = Instant::now();
        call(&arguments)?;
        Ok(milliseconds(begin.elapsed()))
    };
    (0..calls).map(recall).collect()
}

fn figures(by: &str, times: [Vec<f64>; 2]) -> Vec<Figure> {
    let [idle, busy] = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times
    });
    let mut figures = Vec::new();
    for (name, share, goal) in [("p50", 0.5, ""), ("p99", 0.99, "2")] {
        let [idle, busy] = [&idle, &busy].map(|times| percentile(times, share));
        let name = |rest: &str| format!("{by}, {name} {rest}");
        figures.extend([
            Figure::one(name("with nothing to embed"), idle, "ms", ""),
            Figure::one(name("while texts are embedded"), busy, "ms", ""),
            Figure::one(name("of the two, as a ratio"), busy / idle, "", goal),
        ]);
    }
    figures
}

fn broken(error: io::Error) -> Failure {
    Failure::new(Exit::Failure, error.to_string())
}

#[expect(
    clippy::disallowed_methods,
    reason = "a look without a pause measures the look"
)]
fn pause() {
    thread::sleep(PAUSE);
}
