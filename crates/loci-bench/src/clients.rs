//! `loci-bench clients`: measures many concurrent users over HTTP, and the cost of one user's data.

use std::path::Path;
use std::time::Instant;

use loci::exit::{Exit, Failure};
use loci::output::{Output, status_line};
use loci_core::{Caller, MemoryId, Principal, Scope, Scopes, Space, Visibility};
use loci_dialects::memory_mcp;
use loci_engine::{Conversation, Engine, Message, Remember, Role};
use serde_json::{Value, json};

use super::corpus::{Random, memory, question, sentence};
use super::figure::percentile;
use super::http::{HttpClient, Server};
use super::speed::{engine, milliseconds, side_by_side};

/// The number of clients, each with its own user and connection.
pub const CLIENTS: usize = 16;
/// One call of this many stores; the others recall.
const CALLS_PER_STORE: usize = 5;
/// The most calls until the index is loaded.
const WARM_UP_CALLS: usize = 60;
/// The number of users of the large store.
const USERS: usize = 1_000;
/// The number of users of the small store.
const USERS_FEW: usize = 10;
/// The number of messages that each client stored.
const MESSAGES_EACH: usize = 100;
/// The number of users that are wiped, one after the other.
const WIPES: usize = 5;

pub fn run(
    folder: Option<&Path>,
    memories: usize,
    calls: usize,
    output: Output,
) -> Result<(), Failure> {
    let parent = folder.map_or_else(std::env::temp_dir, Path::to_owned);
    let folder = tempfile::tempdir_in(&parent).map_err(|error| {
        let message = format!(
            "no folder can be made in {}: {error}; choose another with --in",
            parent.display()
        );
        Failure::new(Exit::Failure, message)
    })?;
    let data = folder.path().join("clients");
    status_line(format_args!("storing {memories} memories …"));
    fill(&engine(&data)?, memories)?;
    status_line(format_args!("{CLIENTS} clients call …"));
    let traffic = traffic(&data, calls)?;
    status_line(format_args!(
        "storing conversations of {USERS_FEW} and of {USERS} users …"
    ));
    let few = one_user(&folder.path().join("few"), USERS_FEW)?;
    let many = one_user(&folder.path().join("many"), USERS)?;

    let users = |users: usize, [health, wipe]: [f64; 2]| json!({"users": users, "health_ms": health, "wipe_ms": wipe});
    let value = json!({"clients": traffic.value(memories), "users": [users(USERS_FEW, few), users(USERS, many)]});
    let mut text = traffic.text(memories);
    text += &format!("one user with {MESSAGES_EACH} memories        health     wipe\n");
    for (users, [health, wipe]) in [(USERS_FEW, few), (USERS, many)] {
        text += &format!("  among {users:5} users              {health:6.3} ms {wipe:6.3} ms\n");
    }
    let ratio = |index: usize| many[index] / few[index];
    text += &format!(
        "  ratio                            {:6.2}    {:6.2}\n",
        ratio(0),
        ratio(1)
    );
    Ok(output.either(&value, text)?)
}

fn user(number: usize) -> Caller {
    let principal = Principal::new(
        format!("user-{number}"),
        Scopes::of(&[Scope::Read, Scope::Write]),
    );
    // These tools and the wipe find memories of this origin.
    memory_mcp::DIALECT.caller(&Caller::new(Space::default(), principal))
}

/// Stores that many private memories for the clients' users.
pub fn fill(engine: &Engine, memories: usize) -> Result<(), Failure> {
    side_by_side(CLIENTS, |number| {
        let mut random = Random(number as u64);
        (number..memories).step_by(CLIENTS).try_for_each(|_| {
            let request = Remember {
                content: sentence(&mut random),
                visibility: Visibility::Private,
                ..memory(&mut random)
            };
            engine
                .system(&user(number))
                .memories()
                .remember(request)
                .map(|_| ())
        })
    })
    .map(|_: Vec<()>| ())
}

/// The times and errors of the calls.
#[derive(Default)]
pub struct Traffic {
    seconds: f64,
    recalls: Vec<f64>,
    stores: Vec<f64>,
    pub errors: Vec<String>,
}

impl Traffic {
    /// The times of each tool, in order.
    pub fn kinds(&self) -> [(&'static str, &Vec<f64>); 2] {
        [
            ("recall_memory", &self.recalls),
            ("store_memory", &self.stores),
        ]
    }

    /// The calls in a second.
    pub fn rate(&self) -> f64 {
        (self.recalls.len() + self.stores.len()) as f64 / self.seconds
    }

    fn value(&self, memories: usize) -> Value {
        let kind = |(name, times): (&str, &Vec<f64>)| json!({"tool": name, "calls": times.len(), "p50_ms": percentile(times, 0.5), "p99_ms": percentile(times, 0.99)});
        json!({
            "clients": CLIENTS,
            "memories": memories,
            "calls_per_second": self.rate(),
            "tools": self.kinds().map(kind),
            "errors": self.errors.len(),
        })
    }

    fn text(&self, memories: usize) -> String {
        let mut text = format!(
            "{CLIENTS} clients of {CLIENTS} users, {memories} memories: {:.0} calls/s\n",
            self.rate()
        );
        for (name, times) in self.kinds() {
            let (p50, p99) = (percentile(times, 0.5), percentile(times, 0.99));
            text += &format!(
                "  {name:14} {:6} calls  p50 {p50:7.2} ms  p99 {p99:7.2} ms\n",
                times.len()
            );
        }
        text += &format!("  errors         {:6}\n", self.errors.len());
        if let Some(first) = self.errors.first() {
            text += &format!("  the first: {first}\n");
        }
        text
    }
}

fn traffic(data: &Path, calls: usize) -> Result<Traffic, Failure> {
    let server = Server::start(data);
    let server = server.map_err(|error| Failure::new(Exit::Failure, error.to_string()))?;
    traffic_of(&server, calls)
}

/// Lets all clients call a server at once.
pub fn traffic_of(server: &Server, calls: usize) -> Result<Traffic, Failure> {
    let broken = |error: std::io::Error| Failure::new(Exit::Failure, error.to_string());
    // The first calls load the index and the model, and are not measured.
    let warm_up = json!({"user_id": "user-0", "query": question(&mut Random(0))});
    let mut client = HttpClient::connect(&server.address).map_err(broken)?;
    let mut warmed = client.call("memory-mcp", "recall_memory", &warm_up);
    // Each call waits a while for the index.
    for _ in 0..WARM_UP_CALLS {
        if warmed.is_ok() {
            break;
        }
        warmed = client.call("memory-mcp", "recall_memory", &warm_up);
    }
    warmed.map_err(broken)?;
    let begin = Instant::now();
    let parts = side_by_side(CLIENTS, |number| {
        Ok(one_client(&server.address, number, calls))
    })?;
    let mut whole = Traffic {
        seconds: begin.elapsed().as_secs_f64(),
        ..Traffic::default()
    };
    for part in parts {
        whole.recalls.extend(part.recalls);
        whole.stores.extend(part.stores);
        whole.errors.extend(part.errors);
    }
    whole.recalls.sort_by(f64::total_cmp);
    whole.stores.sort_by(f64::total_cmp);
    Ok(whole)
}

fn one_client(address: &str, number: usize, calls: usize) -> Traffic {
    let mut traffic = Traffic::default();
    let mut client = match HttpClient::connect(address) {
        Ok(client) => client,
        Err(error) => {
            return Traffic {
                errors: vec![error.to_string()],
                ..traffic
            };
        }
    };
    let mut random = Random((1 << 40) + number as u64);
    let user = format!("user-{number}");
    for call in 0..calls {
        let stores = call % CALLS_PER_STORE == number % CALLS_PER_STORE;
        let (tool, arguments) = if stores {
            let message = json!({"role": "human", "content": sentence(&mut random)});
            (
                "store_memory",
                json!({"user_id": user, "conversation_id": "bench", "messages": [message]}),
            )
        } else {
            (
                "recall_memory",
                json!({"user_id": user, "query": question(&mut random)}),
            )
        };
        let begin = Instant::now();
        let reply = client.call("memory-mcp", tool, &arguments);
        let time = milliseconds(begin.elapsed());
        match reply {
            Ok(_) if stores => traffic.stores.push(time),
            Ok(_) => traffic.recalls.push(time),
            Err(error) => traffic.errors.push(error.to_string()),
        }
    }
    traffic
}

/// Returns the median times of counting one user's memories by status, and of wiping a user, in
/// milliseconds.
fn one_user(data: &Path, users: usize) -> Result<[f64; 2], Failure> {
    let engine = engine(data)?;
    side_by_side(USERS_FEW, |writer| {
        let mut random = Random(writer as u64);
        (writer..users)
            .step_by(USERS_FEW)
            .try_for_each(|number| converse(&engine, number, &mut random))
    })?;
    let (mut healths, mut wipes) = (Vec::new(), Vec::new());
    for number in 0..WIPES {
        let begin = Instant::now();
        engine.system(&user(number)).listings().count_by_status()?;
        healths.push(milliseconds(begin.elapsed()));
    }
    for number in 0..WIPES {
        let begin = Instant::now();
        engine.system(&user(number)).wipe()?;
        wipes.push(milliseconds(begin.elapsed()));
    }
    healths.sort_by(f64::total_cmp);
    wipes.sort_by(f64::total_cmp);
    Ok([percentile(&healths, 0.5), percentile(&wipes, 0.5)])
}

/// Stores messages of one user, as the assistant's, which leave no work to the background.
fn converse(engine: &Engine, number: usize, random: &mut Random) -> Result<(), loci_core::Error> {
    let message = |_| Message {
        role: Role::Assistant,
        content: sentence(random),
        tags: Vec::new(),
    };
    let messages = (0..MESSAGES_EACH).map(message).collect();
    let counter = std::cell::Cell::new(0);
    let mint = || {
        counter.set(counter.get() + 1);
        MemoryId::new(format!("{number}-{}", counter.get()))
    };
    engine
        .system(&user(number))
        .conversations()
        .store_messages(Conversation {
            thread: "bench".to_owned(),
            messages,
            mint: &mint,
        })
        .map(|_| ())
}
