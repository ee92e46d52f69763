//! The report of `loci connect`: a line for each host and each file, or JSON.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use loci_hosts::{Change, ConnectError, Host};
use serde_json::{Value, json};

use crate::cli::Connect;
use crate::exit::{Exit, Failure};
use crate::output::{Output, status_line};

/// A part of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Server,
    Hooks,
    /// Both, in one file.
    ServerAndHooks,
    Instructions,
}

impl Part {
    const fn name(self) -> &'static str {
        match self {
            Part::Server => "server",
            Part::Hooks => "hooks",
            Part::ServerAndHooks => "server and hooks",
            Part::Instructions => "instructions",
        }
    }
}

/// The outcome for one host.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// A part of the connection is new or has changed.
    Connected,
    /// Everything was there.
    Already,
    /// The host has no place for the connection, for this reason.
    Skipped(String),
    /// A part of the connection was removed.
    Disconnected,
    /// There was nothing to remove.
    Nothing,
    /// The connection was checked in this way.
    Checked(String),
    /// The entry and the link that installs it.
    Printed { text: String, link: Option<String> },
}

impl Outcome {
    pub fn of(has_changed: bool) -> Self {
        if has_changed {
            Outcome::Connected
        } else {
            Outcome::Already
        }
    }

    /// Returns the outcome with that of a further part.
    pub fn and(self, has_changed: bool) -> Self {
        if has_changed {
            Outcome::Connected
        } else {
            self
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Outcome::Connected => "connected",
            Outcome::Already => "already connected",
            Outcome::Skipped(_) => "skipped",
            Outcome::Disconnected => "disconnected",
            Outcome::Nothing => "not connected",
            Outcome::Checked(_) => "checked",
            Outcome::Printed { .. } => "printed",
        }
    }
}

/// A report under way.
pub struct Report<'a> {
    arguments: &'a Connect,
    output: Output,
    /// The hosts, as JSON.
    hosts: Vec<Value>,
    /// The files of the host under way, as JSON and as lines.
    files: Vec<Value>,
    lines: Vec<String>,
    /// The copies and advice for the host under way, for stderr.
    notes: Vec<String>,
    /// The files whose difference was shown, which hosts may share.
    shown: HashSet<PathBuf>,
    failed: Vec<&'static str>,
    has_connected: bool,
    has_undone: bool,
}

/// Returns the sentence about a file with text that another program wrote at the same time.
pub fn kept_sentence(file: &Path) -> String {
    format!(
        "another program wrote at the same time, and what it wrote is in {}; compare the two, and delete it",
        file.display()
    )
}

impl<'a> Report<'a> {
    pub fn new(arguments: &'a Connect, output: Output) -> Self {
        Report {
            arguments,
            output,
            hosts: Vec::new(),
            files: Vec::new(),
            lines: Vec::new(),
            notes: Vec::new(),
            shown: HashSet::new(),
            failed: Vec::new(),
            has_connected: false,
            has_undone: false,
        }
    }

    /// True if a host was connected, or would be.
    pub fn has_connected(&self) -> bool {
        self.has_connected
    }

    /// Keeps a sentence for the user.
    pub fn note(&mut self, sentence: String) {
        self.notes.push(sentence);
    }

    /// Makes a change, or shows it if nothing is to be changed. Returns whether it changes the file.
    pub fn make(&mut self, part: Part, change: &Change<'_>) -> Result<bool, ConnectError> {
        let shown = change.file.display();
        if self.arguments.dry_run {
            let difference = change.difference();
            if self.shown.insert(change.file.clone()) && !difference.is_empty() {
                self.lines.push(difference.trim_end().to_owned());
            }
            self.files.push(json!({
                "part": part.name(),
                "file": change.file.to_string_lossy(),
                "changed": false,
                "difference": difference,
            }));
            return Ok(change.has_changed());
        }
        let edited = change.apply()?;
        let backup = edited.backup.as_ref().map(|copy| copy.to_string_lossy());
        self.files.push(json!({
            "part": part.name(),
            "file": change.file.to_string_lossy(),
            "changed": edited.has_changed,
            "backup": backup,
        }));
        if edited.has_changed {
            self.lines
                .push(match (self.arguments.undo, edited.is_removed) {
                    (true, true) => {
                        format!("  {}: removed {shown}, which loci had made", part.name())
                    }
                    (true, false) => format!("  {}: out of {shown}", part.name()),
                    (false, _) if edited.is_made => {
                        format!("  {}: in {shown}, a new file", part.name())
                    }
                    (false, _) => format!("  {}: in {shown}", part.name()),
                });
        } else if !self.arguments.undo {
            self.lines
                .push(format!("  {}: already in {shown}", part.name()));
        }
        if let Some(copy) = backup {
            self.notes
                .push(format!("a copy of the file as it was is {copy}"));
        }
        self.notes
            .extend(edited.kept.iter().map(|file| kept_sentence(file)));
        Ok(edited.has_changed)
    }

    /// Ends a host.
    pub fn end(
        &mut self,
        host: &'static Host,
        outcome: Result<Outcome, ConnectError>,
    ) -> Result<(), Failure> {
        let (files, lines) = (
            std::mem::take(&mut self.files),
            std::mem::take(&mut self.lines),
        );
        let notes = std::mem::take(&mut self.notes);
        let mut value = json!({"host": host.name, "files": files, "notes": notes});
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(error) => {
                value["outcome"] = json!("failed");
                value["problem"] = json!(error.to_string());
                self.hosts.push(value);
                self.failed.push(host.name);
                return self.say(&format!("{}: {error}\n", host.name), &lines, &[]);
            }
        };
        value["outcome"] = json!(outcome.name());
        self.has_connected |= matches!(outcome, Outcome::Connected);
        self.has_undone |= matches!(outcome, Outcome::Disconnected);
        let line = match &outcome {
            Outcome::Skipped(reason) => {
                value["problem"] = json!(reason);
                format!("{}: skipped: {reason}\n", host.name)
            }
            Outcome::Checked(way) => {
                value["way"] = json!(way);
                format!("{}: connected: {way}\n", host.name)
            }
            Outcome::Printed { text, link } => {
                value["entry"] = json!(text);
                value["link"] = json!(link);
                let link = link
                    .as_ref()
                    .map_or_else(String::new, |link| format!("{link}\n"));
                format!("{text}{link}")
            }
            Outcome::Nothing => String::new(),
            Outcome::Connected | Outcome::Disconnected if self.arguments.dry_run => {
                format!("{}: would be {}\n", host.name, outcome.name())
            }
            other => format!("{}: {}\n", host.name, other.name()),
        };
        self.hosts.push(value);
        self.say(&line, &lines, &notes)
    }

    /// Prints what is known of a host, unless JSON is asked for, which comes at the end.
    fn say(&self, line: &str, lines: &[String], notes: &[String]) -> Result<(), Failure> {
        if !self.output.json {
            let lines = [lines, &[String::new()]].concat().join("\n");
            self.output.text(format_args!("{line}{lines}"))?;
            if !self.arguments.dry_run {
                notes.iter().for_each(status_line);
            }
        }
        Ok(())
    }

    /// Ends the report. Fails if a host failed.
    pub fn finish(self) -> Result<(), Failure> {
        if self.output.json {
            self.output.either(&json!({"hosts": self.hosts}), "")?;
        } else if self.arguments.undo && !self.has_undone && self.failed.is_empty() {
            self.output
                .text("there was nothing of loci to take out\n")?;
        }
        if self.failed.is_empty() {
            return Ok(());
        }
        let said = if self.arguments.undo {
            "disconnected"
        } else {
            "connected"
        };
        let message = format!("not {said}: {}", self.failed.join(", "));
        Err(Failure::new(Exit::Failure, message))
    }
}
