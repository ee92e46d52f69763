//! `loci-bench clients --encrypted`: the same calls to a store in the clear and to an encrypted copy,
//! in turn, so that the ratio counts on a machine that does other things as well.

use std::io;
use std::path::Path;

use loci::exit::{Exit, Failure};
use loci::output::{Output, status_line};
use serde_json::{Value, json};

use super::client::loci;
use super::clients::{CLIENTS, Traffic, fill, traffic_of};
use super::figure::percentile;
use super::http::Server;
use super::laboratory::copy;
use super::speed::{engine, folder_in};

/// The runs of each store, in turn.
const ROUNDS: usize = 4;

/// The figures of one store: calls in a second, then p50 and p99 of each tool in milliseconds.
type Figures = [f64; 5];
const NAMES: [&str; 5] = [
    "calls_per_second",
    "recall_p50_ms",
    "recall_p99_ms",
    "store_p50_ms",
    "store_p99_ms",
];

pub fn run(
    folder: Option<&Path>,
    memories: usize,
    calls: usize,
    output: Output,
) -> Result<(), Failure> {
    let broken = |error: io::Error| Failure::new(Exit::Failure, error.to_string());
    let folder = folder_in(folder)?;
    let [clear, encrypted, key_file] =
        ["clear", "encrypted", "loci.key"].map(|name| folder.path().join(name));
    status_line(format_args!("storing {memories} memories …"));
    fill(&engine(&clear)?, memories)?;
    copy(&clear, &encrypted).map_err(broken)?;
    let mut encrypt = loci(&encrypted).map_err(broken)?;
    encrypt
        .args(["encrypt", "--key-file"])
        .arg(&key_file)
        .arg("--data")
        .arg(&encrypted);
    let encrypt = encrypt.output().map_err(broken)?;
    if !encrypt.status.success() {
        let problem = String::from_utf8_lossy(&encrypt.stderr).into_owned();
        return Err(Failure::new(Exit::Failure, problem));
    }
    let mut figures: [Vec<Figures>; 2] = [Vec::new(), Vec::new()];
    for round in 0..ROUNDS {
        status_line(format_args!("{CLIENTS} clients call, round {round} …"));
        // Which one is first changes, because the disk may still write what the other stored.
        let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
        for store in order {
            let server = match store {
                0 => Server::start(&clear),
                _ => Server::start_encrypted(&encrypted, &key_file),
            };
            let traffic = traffic_of(&server.map_err(broken)?, calls)?;
            figures[store].push(figures_of(&traffic)?);
        }
    }
    tell(&figures, memories, calls, output)
}

fn figures_of(traffic: &Traffic) -> Result<Figures, Failure> {
    if let Some(error) = traffic.errors.first() {
        return Err(Failure::new(Exit::Failure, error.clone()));
    }
    let [(_, recalls), (_, stores)] = traffic.kinds();
    Ok([
        traffic.rate(),
        percentile(recalls, 0.5),
        percentile(recalls, 0.99),
        percentile(stores, 0.5),
        percentile(stores, 0.99),
    ])
}

/// Prints the medians of both stores and their ratios.
fn tell(
    figures: &[Vec<Figures>; 2],
    memories: usize,
    calls: usize,
    output: Output,
) -> Result<(), Failure> {
    let median = |store: usize, figure: usize| {
        let mut values: Vec<f64> = figures[store].iter().map(|run| run[figure]).collect();
        values.sort_by(f64::total_cmp);
        percentile(&values, 0.5)
    };
    let mut text = format!(
        "{CLIENTS} clients, {memories} memories, {calls} calls each, {ROUNDS} rounds: medians\n\
         {:18} {:>10} {:>10} {:>7}\n",
        "", "clear", "encrypted", "ratio"
    );
    let mut rows = Vec::new();
    for (figure, name) in NAMES.iter().enumerate() {
        let (clear, encrypted) = (median(0, figure), median(1, figure));
        let ratio = encrypted / clear;
        text += &format!("{name:18} {clear:10.2} {encrypted:10.2} {ratio:7.3}\n");
        rows.push(json!({"figure": name, "clear": clear, "encrypted": encrypted, "ratio": ratio}));
    }
    let value = json!({"memories": memories, "rounds": ROUNDS, "figures": Value::from(rows)});
    Ok(output.either(&value, text)?)
}
