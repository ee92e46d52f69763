//! The number of requests that this machine sent to others, by day, purpose and host: files in the data folder.
//!
//! The length of a file is the number of requests, because each one appends a byte: so processes need
//! no lock to count together, and a crash loses nothing.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};

use loci_archive::files::create_private_folder;
use loci_core::{Clock, day_of, start_of_day};
use loci_http::observe_requests;
use loci_page::SentRequests;

use crate::wiring::SystemClock;

/// The folder of the days, in the data folder.
const FOLDER: &str = "sent";
/// The days that are kept, the current one included.
const DAYS: i64 = 30;

/// Counts every request of this process to another machine in this data folder.
pub fn count_requests(data: &Path) {
    let folder = data.join(FOLDER);
    observe_requests(Box::new(move |purpose, host| {
        if let Err(error) = count(&folder, today(), purpose, host) {
            tracing::debug!(%error, "a request to another machine was not counted");
        }
    }));
}

fn today() -> i64 {
    day_of(SystemClock.now())
}

/// Returns the folder of a day since 1970, e.g. `20787`.
fn folder_of(folder: &Path, day: i64) -> PathBuf {
    folder.join(day.to_string())
}

fn count(folder: &Path, day: i64, purpose: &str, host: &str) -> io::Result<()> {
    let of_day = folder_of(folder, day);
    if !of_day.is_dir() {
        create_private_folder(&of_day)?;
        remove_old(folder, day)?;
    }
    let path = of_day.join(file_name(purpose, host));
    let mut file = fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)?;
    file.write_all(b".")
}

/// Removes the days that are not kept on this day.
fn remove_old(folder: &Path, today: i64) -> io::Result<()> {
    for (day, path) in days(folder) {
        if day <= today - DAYS {
            fs::remove_dir_all(path)?;
        }
    }
    Ok(())
}

/// Returns the days that have a folder.
fn days(folder: &Path) -> Vec<(i64, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let day = |entry: fs::DirEntry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path()));
    entries.filter_map(day).collect()
}

/// Returns the name of the file for a purpose and a host, e.g. `llm@models.example`. An address of IPv6
/// has `_` in the place of `:`, which no name of a file on Windows may have.
fn file_name(purpose: &str, host: &str) -> String {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let host = host.to_ascii_lowercase().replace(':', "_");
    format!("{purpose}@{host}")
}

/// Returns the purpose and the host of a file.
fn purpose_and_host(file_name: &str) -> Option<(String, String)> {
    let (purpose, host) = file_name.split_once('@')?;
    let address = host.replace('_', ":");
    let is_address = address.parse::<Ipv6Addr>().is_ok();
    let host = if is_address { &address } else { host };
    Some((purpose.to_owned(), host.to_owned()))
}

/// Returns the requests of the last 30 days, by purpose and host. A file that cannot be read counts as
/// none.
pub fn sent_requests(data: &Path) -> Vec<SentRequests> {
    sent_until(&data.join(FOLDER), today())
}

fn sent_until(folder: &Path, today: i64) -> Vec<SentRequests> {
    let mut sent: BTreeMap<(String, String), (u64, i64)> = BTreeMap::new();
    let kept = days(folder)
        .into_iter()
        .filter(|(day, _)| (today - DAYS + 1..=today).contains(day));
    for (day, path) in kept {
        for file in fs::read_dir(path).into_iter().flatten().flatten() {
            let name = file.file_name();
            let named = name.to_str().and_then(purpose_and_host);
            if let (Some(named), Ok(metadata)) = (named, file.metadata()) {
                let (requests, last_day) = sent.entry(named).or_default();
                *requests += metadata.len();
                *last_day = day.max(*last_day);
            }
        }
    }
    let shown = |((purpose, host), (requests, last_day))| {
        SentRequests::new(purpose, host, requests, start_of_day(last_day))
    };
    sent.into_iter().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(folder: &Path, today: i64) -> Vec<(String, String, u64)> {
        let sent = sent_until(folder, today);
        let row = |sent: SentRequests| (sent.purpose, sent.host, sent.requests);
        sent.into_iter().map(row).collect()
    }

    #[test]
    fn requests_count_by_purpose_and_host_for_thirty_days() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join(FOLDER);
        assert_eq!(counts(&folder, 100), []);
        for (day, purpose, host) in [
            (100, "llm", "Models.Example"),
            (100, "llm", "models.example"),
            (129, "llm", "models.example"),
            (129, "embedding", "[2001:db8::1]"),
            (129, "oidc", "a_b.example"),
        ] {
            count(&folder, day, purpose, host).unwrap();
        }
        let row =
            |purpose: &str, host: &str, requests| (purpose.to_owned(), host.to_owned(), requests);
        let addresses = [
            row("embedding", "2001:db8::1", 1),
            row("llm", "models.example", 3),
            row("oidc", "a_b.example", 1),
        ];
        assert_eq!(counts(&folder, 129), addresses);
        assert_eq!(counts(&folder, 130)[1], row("llm", "models.example", 1));
        count(&folder, 130, "llm", "models.example").unwrap();
        assert!(!folder_of(&folder, 100).exists(), "an old day is removed");
    }
}
