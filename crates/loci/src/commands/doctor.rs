//! `loci doctor`: checks the installation and says how to repair it. Changes no memory, unless
//! asked to redact secrets.

mod database;
mod fix;
mod languages;
mod outside;
mod place;
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

/// Runs all checks.
fn look(settings: &Settings) -> Vec<Finding> {
    let data = &settings.data;
    let mut findings = vec![place::folder(data)];
    if data.exists() {
        findings.extend(place::disk(data));
        // Before the database is opened, since opening it overwrites the unreadable part of its
        // log.
        let log = database::log(data);
        let is_safe = !matches!(log, Some((_, Verdict::Fail(_), _)));
        findings.extend(log);
        match is_safe.then(|| Parts::open_to_read(settings)) {
            None => {
                let why =
                    "not looked at, since the log of who opens it is made good first".to_owned();
                findings.push(("database", Verdict::Warn, why));
            }
            Some(Ok(parts)) => findings.extend(database::look(settings, &parts)),
            Some(Err(failure)) if failure.exit == Exit::Usage => {
                let why = format!(
                    "not looked at, since the settings are wrong: {}",
                    failure.message
                );
                findings.push(("database", Verdict::Warn, why));
            }
            Some(Err(Failure { exit, message })) => {
                findings.push((
                    "database",
                    Verdict::Fail(exit),
                    place::naming_holders(data, message),
                ));
            }
        }
        findings.extend(place::processes(data));
        findings.extend(place::permissions(data));
        findings.extend(place::leftovers_finding(data));
        findings.extend(place::damaged_logs(data));
        findings.push(place::backups(data));
    }
    findings.push(outside::model(settings));
    findings.extend(outside::identity_provider(settings));
    findings.extend(outside::certificate(settings));
    findings.push(outside::clock());
    findings
}
