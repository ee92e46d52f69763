//! Agents that write at random, and their replies.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use loci_testkit::Random;
use loci_testkit::crash::{Agent, Call, Event, Ledger};
use serde_json::Value;

use crate::place::{DIALECTS, Place};

/// The longest wait for a reply.
pub const PATIENCE: Duration = Duration::from_mins(1);
/// The number of open calls of one agent.
const OPEN_MAX: usize = 3;

/// Some agents on one folder, with all their calls.
pub struct Run {
    pub ledger: Ledger,
    agents: BTreeMap<usize, (Agent, &'static str)>,
    /// The agent of each open call.
    asked: BTreeMap<u64, usize>,
    /// The calls in the order in which they were made, by process.
    pub calls: Vec<(u32, Call)>,
    /// The calls without a reply because the agent was killed.
    pub doubtful: Vec<Call>,
    events: Receiver<Event>,
    sender: Sender<Event>,
    started: usize,
    /// The lines of agents on stderr, for a failure.
    pub words: Vec<String>,
    /// The number of agents that a signal has ended.
    pub kills: u64,
    /// The exit codes of the other agents that ended before they were told to.
    pub exits: Vec<i32>,
}

/// The reply of an agent to a call, or its error.
pub type Outcome = Result<Value, Value>;

impl Run {
    pub fn new() -> Self {
        let (sender, events) = channel();
        Run {
            ledger: Ledger::default(),
            agents: BTreeMap::new(),
            asked: BTreeMap::new(),
            calls: Vec::new(),
            doubtful: Vec::new(),
            events,
            sender,
            started: 0,
            words: Vec::new(),
            kills: 0,
            exits: Vec::new(),
        }
    }

    /// Starts an agent; returns its number.
    pub fn start(&mut self, command: Command, dialect: &'static str) -> usize {
        self.started += 1;
        self.agents.insert(
            self.started,
            (Agent::start(self.started, command, &self.sender), dialect),
        );
        self.started
    }

    /// Returns the agents that were started and have not ended.
    pub fn agents(&self) -> Vec<usize> {
        self.agents.keys().copied().collect()
    }

    pub fn kill(&mut self, agent: usize) {
        if let Some((agent, _)) = self.agents.get_mut(&agent) {
            agent.kill();
        }
    }

    /// Gives random calls to every agent that has too few.
    pub fn feed(&mut self, random: &mut Random) {
        for number in self.agents() {
            while self
                .asked
                .values()
                .filter(|asked| **asked == number)
                .count()
                < OPEN_MAX
            {
                let dialect = self.agents[&number].1;
                let call = self.ledger.call(dialect, random);
                self.ask(number, call);
            }
        }
    }

    /// Sends a call to an agent.
    pub fn ask(&mut self, agent: usize, call: Call) {
        let (running, _) = self.agents.get_mut(&agent).unwrap();
        self.asked.insert(call.id, agent);
        self.calls.push((running.process(), call.clone()));
        self.ledger.begin(call.clone());
        running.call(call.id, call.tool, &call.arguments);
    }

    /// Waits for the next reply or end. Returns `None` if an agent has ended, and removes it.
    pub fn next(&mut self) -> Option<(Call, Outcome)> {
        loop {
            let event = match self.events.recv_timeout(PATIENCE) {
                Ok(event) => event,
                Err(RecvTimeoutError::Timeout) => {
                    panic!("no answer comes; {:?}\n{:?}", self.ledger.open, self.words)
                }
                Err(RecvTimeoutError::Disconnected) => unreachable!("a sender is kept"),
            };
            match event {
                Event::Reply { id, outcome, .. } => {
                    self.asked
                        .remove(&id)
                        .unwrap_or_else(|| panic!("an answer to a call that nobody made: {id}"));
                    let call = self.ledger.open[&id].clone();
                    if let Ok(reply) = &outcome {
                        self.ledger.acknowledge(id, reply);
                    }
                    return Some((call, outcome));
                }
                Event::Nonsense { line, .. } => panic!("this is no answer: {line}"),
                Event::Words { line, .. } => {
                    assert!(!line.contains("panicked"), "{line}");
                    self.words.push(line);
                }
                Event::End { agent } => {
                    self.end(agent);
                    return None;
                }
            }
        }
    }

    fn end(&mut self, number: usize) {
        let asked = &mut self.asked;
        self.doubtful.extend(
            self.ledger
                .give_up(|call| asked.get(&call.id) == Some(&number)),
        );
        asked.retain(|_, agent| *agent != number);
        let Some((agent, _)) = self.agents.remove(&number) else {
            return;
        };
        match agent.wait() {
            Some(code) => self.exits.push(code),
            None => self.kills += 1,
        }
    }

    /// Waits for a successful reply, or for the end of an agent, and then returns false.
    pub fn next_success(&mut self) -> bool {
        match self.next() {
            Some((_, Ok(_))) => true,
            Some((call, Err(error))) => panic!(
                "{} was refused: {error}\n{call:?}\n{:?}",
                call.tool, self.words
            ),
            None => false,
        }
    }

    /// Lets all agents end by themselves after their replies; panics if one fails.
    pub fn finish(&mut self) {
        while !self.asked.is_empty() {
            self.next_success();
        }
        for number in self.agents() {
            let (agent, _) = self.agents.remove(&number).unwrap();
            assert_eq!(agent.wait(), Some(0), "{:?}", self.words);
        }
        // Consumes the remaining events of their ends.
        while self.events.recv_timeout(Duration::ZERO).is_ok() {}
    }

    /// Repeats the unanswered calls under their idempotency keys: in any case, their effects are
    /// stored once afterwards.
    pub fn ask_again(&mut self, place: &Place) {
        let keyed: Vec<Call> = self
            .doubtful
            .drain(..)
            .filter(|call| call.is_keyed)
            .collect();
        if keyed.is_empty() {
            return;
        }
        let agent = self.start(place.command(&["mcp", "vault"]), "vault");
        for call in keyed {
            self.ask(agent, call);
            assert!(self.next_success());
        }
        self.finish();
    }
}

/// Makes the data folder, with the locations that tunnels connect.
pub fn prepare(run: &mut Run, command: Command) {
    let mut agent = Agent::start(usize::MAX, command, &run.sender);
    for (number, arguments) in Ledger::anchors().iter().enumerate() {
        agent.call(
            i64::MAX as u64 - number as u64,
            "mempalace_add_drawer",
            arguments,
        );
    }
    // Log lines of a busy machine are not failures.
    let next = || loop {
        match run.events.recv_timeout(PATIENCE) {
            Ok(Event::Words { line, .. }) => assert!(!line.contains("panicked"), "{line}"),
            event => return event,
        }
    };
    for _ in 0..Ledger::anchors().len() {
        let event = next();
        assert!(
            matches!(event, Ok(Event::Reply { outcome: Ok(_), .. })),
            "{event:?}"
        );
    }
    assert_eq!(agent.wait(), Some(0));
    let event = next();
    assert!(matches!(event, Ok(Event::End { .. })), "{event:?}");
}

/// Returns some dialects, of which one may occur twice.
pub fn dialects(random: &mut Random) -> Vec<&'static str> {
    (0..2 + random.below(3))
        .map(|_| random.pick(&DIALECTS))
        .collect()
}
