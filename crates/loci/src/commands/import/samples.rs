//! A few memories of a source, to show before an import.

use loci_core::Timestamp;
use loci_engine::Parts;
use serde_json::{Value, json};

use crate::escaped::OneLine;
use crate::time_format;

/// The number of memories that are shown.
const SAMPLES_MAX: usize = 5;
/// The largest number of characters of each.
const CHARACTERS_MAX: usize = 200;
/// The largest number of characters on a line for a person.
const LINE_CHARACTERS_MAX: usize = 80;

/// The first memories of a source, without secrets.
#[derive(Debug, Default)]
pub(super) struct Samples(Vec<Sample>);

/// A memory of a source.
#[derive(Debug)]
struct Sample {
    text: String,
    project: Option<String>,
    kind: String,
    created_at: Option<Timestamp>,
}

impl Samples {
    /// Takes a memory in, unless there are enough.
    pub(super) fn take(
        &mut self,
        parts: &Parts<'_>,
        text: &str,
        (project, kind): (Option<&str>, &str),
        created_at: Option<Timestamp>,
    ) {
        if self.0.len() >= SAMPLES_MAX {
            return;
        }
        // A secret may go on beyond what is shown, so it is removed first.
        let redacted = parts.engine().redaction().redact(text).text;
        self.0.push(Sample {
            text: redacted.chars().take(CHARACTERS_MAX).collect(),
            project: project.map(str::to_owned),
            kind: kind.to_owned(),
            created_at,
        });
    }

    /// Returns them for a program.
    pub(super) fn value(&self) -> Value {
        let value = |sample: &Sample| {
            json!({
                "content": sample.text, "project": sample.project, "type": sample.kind,
                "created_at": sample.created_at.map(time_format::format),
            })
        };
        self.0.iter().map(value).collect()
    }

    /// Returns them for a person, one on each line.
    pub(super) fn text(&self) -> String {
        let line = |sample: &Sample| {
            let Sample { project, kind, .. } = sample;
            let text: String = sample.text.chars().take(LINE_CHARACTERS_MAX).collect();
            let project = project.as_deref().unwrap_or("global");
            format!("e.g. {project}, {kind}: {}\n", OneLine(text))
        };
        self.0.iter().map(line).collect()
    }
}
