//! Runs every case that crosses tool sets as clients do, over pipes and over HTTP.
//!
//! The cases and their runner belong to the dialects (`loci-dialects/cases/cross`,
//! `loci-dialects/tests/it/case`). Here their calls go through the protocol: over a pair of pipes,
//! whose caller is fixed when it connects, and over a socket, where a token identifies the caller.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

#[path = "../../../loci-dialects/tests/it/case/mod.rs"]
#[expect(
    dead_code,
    reason = "some of it is for the tests of the dialects alone"
)]
mod case;
mod transports;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use case::carrier::Maker;
use loci_testkit::NaiveStore;
use transports::{Http, Pipes};

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../loci-dialects/cases/cross");
    let mut cases: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    cases.sort();
    cases
}

/// Runs all cases, reports every failure, and returns the number of steps that no caller of the
/// transport could take.
fn run_all(transport: &str, carrier: &Maker) -> usize {
    let (cases, mut left_out, mut failures) = (cases(), 0, Vec::new());
    for path in &cases {
        match case::run(path, "cross", Arc::new(NaiveStore::new()), carrier) {
            Ok(steps) => left_out += steps,
            Err(problem) => failures.push(format!(
                "{}: {problem}",
                path.file_name().unwrap().display()
            )),
        }
    }
    let (failed, all) = (failures.len(), cases.len());
    assert!(
        failures.is_empty(),
        "{failed} of {all} cases fail over {transport}:\n\n{}",
        failures.join("\n\n")
    );
    left_out
}

/// A case named `<writer>_in_<reader>.yaml` is that of a pair, if both are tool sets.
#[test]
fn every_pair_of_tool_sets_has_a_case() {
    const TOOL_SETS: [&str; 8] = [
        "anthropic",
        "engram",
        "mememory",
        "memory_mcp",
        "mempalace",
        "openai",
        "reference",
        "vault",
    ];
    let pairs = TOOL_SETS
        .into_iter()
        .flat_map(|writer| TOOL_SETS.map(|reader| (writer, reader)));
    let expected: Vec<String> = pairs
        .filter(|(writer, reader)| writer != reader)
        .map(|(writer, reader)| format!("{writer}_in_{reader}.yaml"))
        .collect();
    let is_of_pair = |name: &String| {
        let pair = name
            .strip_suffix(".yaml")
            .and_then(|name| name.split_once("_in_"));
        pair.is_some_and(|(writer, reader)| {
            TOOL_SETS.contains(&writer) && TOOL_SETS.contains(&reader)
        })
    };
    let names = cases()
        .into_iter()
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned());
    assert_eq!(names.filter(is_of_pair).collect::<Vec<_>>(), expected);
}

#[test]
fn cases_over_stdio() {
    assert_eq!(
        run_all("stdio", &|engine, _| Box::new(Pipes::to(engine))),
        0
    );
}

/// Some callers cannot exist over HTTP and are left out: unnamed ones in a space other than the
/// default, and those with other scopes than a server without authentication grants.
#[test]
fn cases_over_http() {
    let left_out = run_all("HTTP", &|engine, clock| Box::new(Http::to(engine, clock)));
    assert_eq!(
        left_out, LEFT_OUT_OVER_HTTP,
        "another number of steps is left out than was known of"
    );
}

/// The number of steps of such callers in the cases.
const LEFT_OUT_OVER_HTTP: usize = 14;
