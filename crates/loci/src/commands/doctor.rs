//! `loci doctor`: checks the installation and says how to repair it. Changes no memory, unless
//! asked to redact secrets.

mod database;
mod fix;
mod languages;
mod outside;
mod place;
mod rebuild;
mod salvage;
mod secrets;
mod server;

pub use languages::{ModelLanguages, model_languages, model_offer};
#[cfg(unix)]
pub use place::open_to_others;

use std::fmt::{self, Write};
use std::io;

use loci_core::{CheckOutcome, Clock};
use loci_keys::KeyFile;
use serde_json::{Value, json};

use crate::cli;
use crate::commands::encrypt::{copies_in_the_clear, key_file};
use crate::detected_hosts::{DetectedHost, detected_hosts, double_advice};
use crate::exit::{Exit, Failure};
use crate::output::{Output, counted};
use crate::settings::Settings;
use crate::vault::Vault;
use crate::wiring::{Parts, SystemClock, open_store};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Ok,
    /// The problem was repaired just now.
    Done,
    Warn,
    /// A failure, with the exit code that a command would end with.
    Fail(Exit),
}

impl Verdict {
    /// Returns how soon it needs attention, 0 for first.
    const fn need(self) -> u8 {
        match self {
            Verdict::Fail(_) => 0,
            Verdict::Warn => 1,
            Verdict::Done | Verdict::Ok => 2,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Verdict::Ok => "ok",
            Verdict::Done => "done",
            Verdict::Warn => "warn",
            Verdict::Fail(_) => "fail",
        })
    }
}

/// The name of a check, the verdict, and the reason.
type Finding = (&'static str, Verdict, String);

/// The findings so far. Each is printed as soon as it is known, unless JSON is asked for, because a
/// check may take long.
struct Findings {
    list: Vec<Finding>,
    output: Output,
    /// The first failure to print one.
    printed: io::Result<()>,
}

impl Findings {
    fn new(output: Output) -> Self {
        Findings {
            list: Vec::new(),
            output,
            printed: Ok(()),
        }
    }

    fn push(&mut self, finding: Finding) {
        if !self.output.json && self.printed.is_ok() {
            self.printed = self.output.text(row(&finding));
        }
        self.list.push(finding);
    }

    fn extend(&mut self, findings: impl IntoIterator<Item = Finding>) {
        for finding in findings {
            self.push(finding);
        }
    }

    /// Prints the outcome of all checks, and once more the ones that need attention; fails with the
    /// code of the first failure among them.
    fn end(self) -> Result<(), Failure> {
        self.printed?;
        let findings = self.list;
        let mut text = String::new();
        if findings.len() > 1 {
            let _ = writeln!(text, "\n{}", summary(&findings));
            let needs_attention = |(_, verdict, _): &&Finding| verdict.need() < Verdict::Ok.need();
            let mut by_need: Vec<&Finding> = findings.iter().filter(needs_attention).collect();
            by_need.sort_by_key(|(_, verdict, _)| verdict.need());
            text.extend(by_need.into_iter().map(row));
        }
        let row = |(what, verdict, why): &Finding| json!({"check": what, "verdict": verdict.to_string(), "text": why});
        let first = findings.iter().min_by_key(|(_, verdict, _)| verdict.need());
        let value = json!({
            "verdict": first.map(|(_, verdict, _)| verdict.to_string()),
            "summary": summary(&findings),
            "checks": findings.iter().map(row).collect::<Value>(),
        });
        self.output.either(&value, text)?;
        let worst = findings.iter().find_map(|(_, verdict, _)| match verdict {
            Verdict::Fail(exit) => Some(*exit),
            _ => None,
        });
        worst.map_or(Ok(()), |exit| Err(Failure::new(exit, "")))
    }
}

/// Returns the line of a finding.
fn row((what, verdict, why): &Finding) -> String {
    format!("{verdict:4}  {what:12}  {why}\n")
}

pub fn run(settings: &Settings, arguments: &cli::Doctor, output: Output) -> Result<(), Failure> {
    if let Some(file) = &arguments.salvage {
        return salvage::run(settings, file, output);
    }
    if arguments.secrets {
        return secrets::run(settings, arguments.redact, arguments.yes, output);
    }
    if let Some(url) = &arguments.server {
        return server::run(settings, url, output);
    }
    let mut findings = Findings::new(output);
    if arguments.fix {
        findings.extend(fix::run(settings));
        findings.extend(outside::sweep());
    }
    if arguments.trust_clock {
        findings.push(fix::trust_clock(settings));
    }
    look(settings, &mut findings);
    findings.end()
}

/// Returns the outcome of all checks in one line.
fn summary(findings: &[Finding]) -> String {
    let count = |need: u8| {
        let found = findings
            .iter()
            .filter(|(_, verdict, _)| verdict.need() == need);
        found.count() as u64
    };
    let (failures, warnings) = (count(0), count(1));
    let checks = counted(findings.len() as u64, "check");
    match (failures, warnings) {
        (0, 0) => format!("all is well: {checks}"),
        (0, warnings) => format!(
            "loci works, with {} in {checks}",
            counted(warnings, "warning")
        ),
        (failures, warnings) => format!(
            "something is wrong: {} and {} in {checks}",
            counted(failures, "failure"),
            counted(warnings, "warning")
        ),
    }
}

/// The finding of a check or a repair that failed.
fn failed(what: &'static str, failure: Failure) -> Finding {
    (what, Verdict::Fail(failure.exit), failure.message)
}

/// Runs all checks.
fn look(settings: &Settings, findings: &mut Findings) {
    let data = &settings.data;
    let location = settings.store_for(data);
    let is_shared = location.is_shared();
    findings.push(match location.existing() {
        Err(absent) if !data.exists() => failed("data folder", absent),
        _ => place::folder(data),
    });
    if is_shared {
        store_server(settings, findings);
    }
    if data.is_dir() && !is_shared {
        let files = settings.store_files();
        if let Ok(files) = &files {
            findings.extend(place::disk(&**files));
        }
        database(settings, findings);
        findings.extend(place::processes(settings));
        if let Ok(files) = &files {
            findings.extend(place::leftovers_finding(&**files));
        }
    }
    if data.is_dir() {
        findings.extend(place::permissions(data));
        findings.extend(place::password_file(settings));
        findings.push(place::backups(settings));
        findings.extend(encryption(settings));
    }
    findings.push(outside::model(settings));
    findings.extend(outside::reranker(settings));
    findings.extend(outside::identity_provider(settings));
    findings.extend(outside::certificate(settings));
    findings.push(outside::clock());
    let hosts = detected_hosts(settings);
    findings.extend(silent_hosts(&hosts));
    findings.extend(outside::leftovers());
    let doubled = hosts.iter().filter(|host| host.is_doubled());
    findings.extend(doubled.map(|host| ("hosts", Verdict::Warn, double_advice(host.host))));
}

/// Says that the store is encrypted and by which ways it opens, and names copies in the clear.
fn encryption(settings: &Settings) -> Vec<Finding> {
    const WHAT: &str = "encryption";
    let file = match key_file(settings) {
        Ok(Some(file)) => file,
        Ok(None) => return Vec::new(),
        Err(failure) => return vec![failed(WHAT, failure)],
    };
    let nouns: Vec<_> = file.ways().iter().map(|way| way.noun()).collect();
    let mut findings = vec![(
        WHAT,
        Verdict::Ok,
        format!(
            "the store is encrypted, and opens with {}; notes are {}",
            nouns.join(", "),
            if file.seals_notes() {
                "sealed"
            } else {
                "files in the clear"
            }
        ),
    )];
    findings.extend(notes_in_the_clear(settings, &file));
    let copies = copies_in_the_clear(settings);
    if let Some(first) = copies.first() {
        let why = format!(
            "{} of the database or backups are in the clear, e.g. {}: `loci encrypt --remove-copies` removes them",
            counted(copies.len() as u64, "copy"),
            first.display()
        );
        findings.push((WHAT, Verdict::Warn, why));
    }
    findings
}

/// Names notes that are not sealed, where notes are: ones that another program wrote.
fn notes_in_the_clear(settings: &Settings, file: &KeyFile) -> Option<Finding> {
    if !file.seals_notes() {
        return None;
    }
    let vault = Vault::of(settings, &settings.data).ok()?;
    let paths = vault.notes().in_the_clear().ok()?;
    let first = paths.first()?;
    let why = format!(
        "{} in the clear, e.g. {first}: `loci encrypt --notes sealed` seals what another program wrote",
        counted(paths.len() as u64, "note")
    );
    Some(("encryption", Verdict::Warn, why))
}

/// Names the hosts that start loci and have not called a tool yet: a hint, since they may be new.
fn silent_hosts(hosts: &[DetectedHost]) -> Option<Finding> {
    let silent: Vec<&str> = hosts
        .iter()
        .filter(|host| host.is_silent())
        .map(|host| host.host.title)
        .collect();
    let why = format!(
        "connected, and no call recorded yet: {}; start it again, and ask it what it remembers; `loci connect --check` \
         asks it whether it sees loci",
        silent.join(", ")
    );
    (!silent.is_empty()).then_some(("hosts", Verdict::Ok, why))
}

/// Checks the database, if it opens.
fn database(settings: &Settings, findings: &mut Findings) {
    const WHAT: &str = "database";
    // A server has its tables made by this command, as an administrator may want.
    let is_shared = settings.store_for(&settings.data).is_shared();
    let opened = if is_shared {
        Parts::open(settings)
    } else {
        Parts::open_to_read(settings)
    };
    match opened {
        Ok(parts) => database::look(settings, &parts, findings),
        Err(failure) if failure.exit == Exit::Usage => {
            let why = format!(
                "not looked at, since the settings are wrong: {}",
                failure.message
            );
            findings.push((WHAT, Verdict::Warn, why));
        }
        Err(Failure { exit, message }) => {
            let why = place::naming_holders(settings, message);
            findings.push((WHAT, Verdict::Fail(exit), why));
        }
    }
}

/// Checks the server that the store is on, and the database if the server can be used.
fn store_server(settings: &Settings, findings: &mut Findings) {
    let store = match open_store(settings, &settings.data) {
        Ok(store) => store,
        Err(failure) => return findings.push(failed("server", failure)),
    };
    let mut is_usable = true;
    store.server_checks(SystemClock.now(), &mut |check| {
        let verdict = match check.outcome {
            CheckOutcome::Sound => Verdict::Ok,
            CheckOutcome::Doubtful => Verdict::Warn,
            CheckOutcome::Faulty => Verdict::Fail(Exit::DataFolder),
        };
        is_usable &= check.outcome != CheckOutcome::Faulty;
        findings.push((check.subject, verdict, check.text));
    });
    if is_usable {
        database(settings, findings);
    }
}
