//! `loci` without a command, in a terminal: where the memory is, which hosts use it, and the next
//! step.

use std::fmt::Write;

use indicatif::DecimalBytes;
use loci_core::{Clock, Timestamp};

use crate::detected_hosts::{DetectedHost, HostConnection, detected_hosts};
use crate::exit::Failure;
use crate::output::{Output, counted};
use crate::settings::Settings;
use crate::time_format::ago;
use crate::wiring::{Parts, SystemClock};

/// The hosts that are shown: with them, the text has at most 12 lines.
const HOSTS_SHOWN_MAX: usize = 6;

/// The contents of the store.
struct StoreTotals {
    memories: u64,
    projects: u64,
    disk_bytes: u64,
}

pub fn run(settings: &Settings, output: Output) -> Result<(), Failure> {
    let place = settings.store_for(&settings.data);
    let mut text = format!("store     {}\n", place.shown());
    let held = place.holds_store().then(|| held(settings));
    let _ = match &held {
        None => writeln!(text, "memories  none yet"),
        Some(Err(failure)) => writeln!(text, "memories  unknown: {}", failure.message),
        Some(Ok(held)) => writeln!(
            text,
            "memories  {} in {}, {}",
            held.memories,
            counted(held.projects, "project"),
            DecimalBytes(held.disk_bytes)
        ),
    };
    let hosts = detected_hosts(settings);
    text += &host_lines(&hosts, SystemClock.now());
    let step = next_step(held.as_ref(), &hosts);
    let _ = writeln!(
        text,
        "next      {step}\n\n`loci search QUESTION` finds, `loci add TEXT` stores, `loci page` shows all in a browser;\n\
         `loci --help` lists the commands."
    );
    Ok(output.text(text)?)
}

/// Returns a line for each host, the connected ones first, as far as they are shown.
fn host_lines(hosts: &[DetectedHost], now: Timestamp) -> String {
    let (mut shown, others): (Vec<_>, Vec<_>) = hosts.iter().partition(|host| host.is_connected());
    shown.extend(others);
    let mut lines: Vec<String> = shown
        .iter()
        .map(|host| format!("{:16}  {}", host.host.title, described(host, now)))
        .collect();
    if lines.is_empty() {
        lines.push("none is found on this machine".to_owned());
    }
    let more = lines.len().saturating_sub(HOSTS_SHOWN_MAX);
    if more > 0 {
        lines.truncate(HOSTS_SHOWN_MAX - 1);
        lines.push(format!(
            "and {} more: `loci connect --dry-run` names them",
            more + 1
        ));
    }
    let labels = std::iter::once("hosts").chain(std::iter::repeat(""));
    let mut text = String::new();
    for (label, line) in labels.zip(lines) {
        let _ = writeln!(text, "{label:8}  {line}");
    }
    text
}

/// Counts what the local user can list.
fn held(settings: &Settings) -> Result<StoreTotals, Failure> {
    let parts = Parts::open_to_read(settings)?;
    let system = parts.looking();
    let listings = system.listings();
    Ok(StoreTotals {
        memories: listings.count()?,
        projects: listings.collections()?.len() as u64,
        disk_bytes: parts.engine.size()?.disk_bytes,
    })
}

fn described(host: &DetectedHost, now: Timestamp) -> String {
    let connection = match &host.connection {
        Err(problem) => return format!("unknown: {problem}"),
        Ok(HostConnection::None) => "not connected".to_owned(),
        Ok(HostConnection::Plugin) => "connected by its plug-in".to_owned(),
        Ok(HostConnection::Stdio(dialect)) => format!("connected ({dialect})"),
        Ok(HostConnection::Http(dialect)) => format!("connected over HTTP ({dialect})"),
    };
    match host.called_at {
        Some(at) => format!("{connection}, last called {}", ago(now, at)),
        None if host.is_silent() => format!("{connection}, has not called yet"),
        None => connection,
    }
}

/// Returns the one thing to do next.
fn next_step(held: Option<&Result<StoreTotals, Failure>>, hosts: &[DetectedHost]) -> String {
    if matches!(held, Some(Err(_))) {
        return "`loci doctor` says what is wrong, and how to repair it".to_owned();
    }
    let is_empty = match held {
        Some(Ok(held)) => held.memories == 0,
        _ => true,
    };
    if hosts.is_empty() {
        return "`loci connect HOST` connects a host; `loci connect --help` lists the hosts that loci knows"
            .to_owned();
    }
    if !hosts.iter().any(DetectedHost::is_connected) {
        return "`loci connect` connects the hosts on this machine".to_owned();
    }
    if let Some(silent) = hosts.iter().find(|host| host.is_silent()) {
        let title = silent.host.title;
        return format!("start {title} again, and ask it what it remembers");
    }
    if is_empty {
        return "`loci palace mine FOLDER` files a project, so that there is something to remember"
            .to_owned();
    }
    match hosts.iter().find(|host| host.is_unconnected()) {
        Some(other) => format!(
            "`loci connect {}` connects {}",
            other.host.name, other.host.title
        ),
        None => "`loci search QUESTION` finds what your agents remember".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str, connection: HostConnection, called_at: Option<i64>) -> DetectedHost {
        DetectedHost {
            host: loci_hosts::host(name).unwrap(),
            connection: Ok(connection),
            has_plugin: connection == HostConnection::Plugin,
            has_hooks: false,
            called_at: called_at.map(Timestamp::from_microseconds),
        }
    }

    /// The contents of the store, the hosts, and what the next step should say.
    type Row = (
        Option<Result<StoreTotals, Failure>>,
        Vec<DetectedHost>,
        &'static str,
    );

    #[test]
    fn the_next_step_is_the_first_that_is_missing() {
        use HostConnection::{None as No, Plugin, Stdio};
        let holding = |memories| {
            Some(Ok(StoreTotals {
                memories,
                projects: 1,
                disk_bytes: 1,
            }))
        };
        let failed = Some(Err(Failure::new(crate::exit::Exit::Database, "broken")));
        let rows: [Row; 9] = [
            (
                holding(1),
                vec![host("codex", Plugin, None)],
                "start Codex again",
            ),
            (failed, Vec::new(), "loci doctor"),
            (None, Vec::new(), "loci connect HOST"),
            (None, vec![host("zed", No, None)], "`loci connect` "),
            (
                holding(1),
                vec![host("zed", No, None), host("codex", Stdio("vault"), None)],
                "start Codex again",
            ),
            (
                holding(0),
                vec![host("codex", Stdio("vault"), Some(1))],
                "loci palace mine",
            ),
            (
                holding(1),
                vec![
                    host("codex", Stdio("vault"), Some(1)),
                    host("zed", No, None),
                ],
                "loci connect zed",
            ),
            (
                holding(1),
                vec![host("codex", Stdio("vault"), Some(1))],
                "loci search",
            ),
            (
                holding(1),
                vec![host("codex", HostConnection::Http("vault"), None)],
                "loci search",
            ),
        ];
        for (held, hosts, expected) in rows {
            let step = next_step(held.as_ref(), &hosts);
            assert!(step.contains(expected), "{step} should say {expected}");
        }
    }

    #[test]
    fn no_number_of_hosts_makes_the_start_long() {
        let now = Timestamp::from_microseconds(0);
        let of = |count: usize| {
            let mut hosts: Vec<DetectedHost> = loci_hosts::HOSTS
                .iter()
                .take(count)
                .map(|known| host(known.name, HostConnection::None, None))
                .collect();
            if let Some(last) = hosts.last_mut() {
                last.connection = Ok(HostConnection::Stdio("vault"));
            }
            host_lines(&hosts, now)
        };
        for (count, lines) in [(0, 1), (1, 1), (6, 6), (7, 6), (11, 6)] {
            let text = of(count);
            assert_eq!(text.lines().count(), lines, "{text}");
        }
        let text = of(8);
        assert!(
            text.starts_with("hosts     ")
                && text
                    .lines()
                    .next()
                    .is_some_and(|line| line.contains("connected (vault)"))
                && text.ends_with("and 3 more: `loci connect --dry-run` names them\n"),
            "{text}"
        );
    }
}
