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

#[cfg(unix)]
pub use place::open_to_others;

use std::fmt::{self, Write};

use serde_json::{Value, json};

use crate::cli;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::settings::Settings;
use crate::wiring::Parts;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Ok,
    /// The problem was repaired just now.
    Done,
    Warn,
    /// A failure, with the exit code that a command would end with.
    Fail(Exit),
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

pub fn run(settings: &Settings, arguments: &cli::Doctor, output: Output) -> Result<(), Failure> {
    if let Some(file) = &arguments.salvage {
        return salvage::run(settings, file, output);
    }
    if arguments.secrets {
        return secrets::run(settings, arguments.redact, arguments.yes, output);
    }
    let mut findings = if arguments.fix {
        fix::run(settings)
    } else {
        Vec::new()
    };
    if arguments.trust_clock {
        findings.push(fix::trust_clock(settings));
    }
    findings.extend(look(settings));

    let mut text = String::new();
    for (what, verdict, why) in &findings {
        let _ = writeln!(text, "{verdict:4}  {what:12}  {why}");
    }
    let row = |(what, verdict, why): &Finding| json!({"check": what, "verdict": verdict.to_string(), "text": why});
    output.either(&findings.iter().map(row).collect::<Value>(), text)?;
    let worst = findings.iter().find_map(|(_, verdict, _)| match verdict {
        Verdict::Fail(exit) => Some(*exit),
        _ => None,
    });
    worst.map_or(Ok(()), |exit| Err(Failure::new(exit, "")))
}

/// The finding of a check or a repair that failed.
fn failed(what: &'static str, failure: Failure) -> Finding {
    (what, Verdict::Fail(failure.exit), failure.message)
}

/// Runs all checks.
fn look(settings: &Settings) -> Vec<Finding> {
    let data = &settings.data;
    let mut findings = vec![place::folder(data)];
    if data.exists() {
        let files = settings.store_files();
        if let Ok(files) = &files {
            findings.extend(place::disk(&**files));
        }
        match Parts::open_to_read(settings) {
            Ok(parts) => findings.extend(database::look(settings, &parts)),
            Err(failure) if failure.exit == Exit::Usage => {
                let why = format!(
                    "not looked at, since the settings are wrong: {}",
                    failure.message
                );
                findings.push(("database", Verdict::Warn, why));
            }
            Err(Failure { exit, message }) => {
                findings.push((
                    "database",
                    Verdict::Fail(exit),
                    place::naming_holders(settings, message),
                ));
            }
        }
        findings.extend(place::processes(settings));
        findings.extend(place::permissions(data));
        if let Ok(files) = &files {
            findings.extend(place::leftovers_finding(&**files));
        }
        findings.push(place::backups(settings));
    }
    findings.push(outside::model(settings));
    findings.extend(outside::identity_provider(settings));
    findings.extend(outside::certificate(settings));
    findings.push(outside::clock());
    findings
}
