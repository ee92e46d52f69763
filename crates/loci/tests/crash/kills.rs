//! Agents of all dialects write into one folder and are killed: at random instants, before and
//! after file operations, one while others go on, or all.

use std::process::Stdio;
use std::time::{Duration, Instant};

use loci_testkit::Random;
use loci_testkit::crash::{Action, DiskLibrary, Fault};

use crate::observe::inspect;
use crate::place::{Budget, Place, library, report};
use crate::run::{Run, dialects, prepare};

/// The number of rounds after which the doctor runs, too.
const DOCTOR_EVERY: u64 = 5;
/// The longest time between a reply and a kill: longer than a write takes.
const DELAY_MICROSECONDS: usize = 4_000;

#[test]
fn what_was_acknowledged_outlives_kills() {
    outlives_kills("kills", Place::new());
}

#[test]
fn what_was_acknowledged_in_an_encrypted_store_outlives_kills() {
    outlives_kills("kills, encrypted", Place::encrypted());
}

fn outlives_kills(name: &str, mut place: Place) {
    let Some(library) = library() else { return };
    let mut budget = Budget::new(name);
    place.index_file_memories = Some("1");
    let mut run = Run::new();
    prepare(&mut run, place.command(&["mcp", "mempalace"]));
    budget.begin();
    let mut rounds = 0;
    while !budget.is_over() {
        rounds += 1;
        round(&place, &mut run, &library, &mut budget.random);
        check(&place, &mut run, rounds % DOCTOR_EVERY == 0);
    }
    check(&place, &mut run, true);
    report(&format!(
        "{name}: {} processes killed in {rounds} rounds, {} calls acknowledged, {} things",
        run.kills,
        run.ledger.acknowledged,
        run.ledger.things.len()
    ));
    assert!(run.kills > 0);
    assert!(
        place.data().join("index").exists(),
        "processes wrote the index as a file"
    );
}

#[test]
fn what_was_embedded_outlives_kills() {
    let Some(library) = library() else { return };
    let mut budget = Budget::new("kills with a model");
    let mut place = Place::new();
    place.provider = "bundled";
    place.index_file_memories = Some("1");
    let mut run = Run::new();
    prepare(&mut run, place.command(&["mcp", "mempalace"]));
    for _ in 0..2 {
        round(&place, &mut run, &library, &mut budget.random);
        check(&place, &mut run, false);
    }
    check(&place, &mut run, true);
}

/// Starts some agents, has them write, and kills them.
fn round(place: &Place, run: &mut Run, library: &DiskLibrary, random: &mut Random) {
    for dialect in dialects(random) {
        let arguments = ["mcp", dialect];
        let command = if random.chance(50) {
            place.watched_command(&arguments, library, false, Some(&kill_at(random)))
        } else {
            place.command(&arguments)
        };
        run.start(command, dialect);
    }
    let mut server = random.chance(30).then(|| {
        let mut command = place.command(&["serve", "--no-auth", "--bind", "127.0.0.1:0"]);
        command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    });
    for _ in 0..=random.below(60) {
        run.feed(random);
        if run.agents().is_empty() || !run.next_success() && run.agents().is_empty() {
            break;
        }
    }
    let is_one_by_one = random.chance(60);
    while let Some(agent) = run.agents().first().copied() {
        wait(random);
        for agent in if is_one_by_one {
            vec![agent]
        } else {
            run.agents()
        } {
            run.kill(agent);
        }
        // The other agents go on until it is their turn.
        while run.agents().contains(&agent) {
            run.feed(random);
            run.next_success();
        }
    }
    if let Some(server) = &mut server {
        server.kill().unwrap();
        server.wait().unwrap();
        run.kills += 1;
    }
    assert_eq!(
        run.exits,
        Vec::<i32>::new(),
        "an agent ended by itself: {:?}",
        run.words
    );
}

/// Returns the moment before or after some file operation.
fn kill_at(random: &mut Random) -> Fault {
    let (kinds, most) = random.pick(&[
        ("*", 300),
        ("w", 200),
        ("s", 60),
        ("rl", 20),
        ("t", 4),
        ("u", 10),
        ("o", 60),
    ]);
    let action = random.pick(&[Action::KillBefore, Action::KillAfter]);
    Fault {
        kinds: kinds.to_owned(),
        first: 1 + random.below(most) as u64,
        count: 1,
        action,
    }
}

fn wait(random: &mut Random) {
    let (begun, delay) = (
        Instant::now(),
        Duration::from_micros(random.below(DELAY_MICROSECONDS) as u64),
    );
    while begun.elapsed() < delay {
        std::hint::spin_loop();
    }
}

/// Compares the stored records with the acknowledged ones, before and after the notes are
/// reconciled.
fn check(place: &Place, run: &mut Run, with_doctor: bool) {
    for with_index in [false, true] {
        let (found, mut problems) = inspect(&place.data(), with_index).unwrap();
        problems.extend(run.ledger.compare(&found, &run.doubtful, with_index));
        assert!(problems.is_empty(), "{problems:#?}\n{:?}", run.words);
        if with_index {
            run.ledger.settle(&found);
        } else {
            place.succeed(&["vault", "reconcile"]);
        }
    }
    if with_doctor {
        let problems = place.problems();
        assert!(problems.is_empty(), "{problems:#?}");
    }
    run.ask_again(place);
    run.doubtful.clear();
    run.words.clear();
}
