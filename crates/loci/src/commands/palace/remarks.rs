//! Remarks below the counts of a report, one for each kind of thing that was not filed as it was.

use std::collections::BTreeMap;
use std::fmt::Write;

use loci_ingest::Report;

use crate::output::counted;

/// Returns a line for each kind of thing that was not filed as it was.
pub(super) fn remarks(report: &Report) -> String {
    let Report {
        drawers,
        broken,
        repairs,
        left_out,
        other_charset,
        redacted,
        ..
    } = report;
    let mut text = String::new();
    if drawers.forgotten > 0 {
        let (texts, stay) = match drawers.forgotten {
            1 => ("text", "stays"),
            _ => ("texts", "stay"),
        };
        let _ = writeln!(
            text,
            "forgotten {} {texts} {stay} forgotten; --again files what was forgotten, too",
            drawers.forgotten
        );
    }
    if *broken > 0 {
        let left_out = counted(*broken, "message");
        let _ = writeln!(
            text,
            "broken    {left_out} not in the form of the transcript, and left out"
        );
    }
    if !other_charset.is_empty() {
        let files = other_charset.join(", ");
        let _ = writeln!(
            text,
            "charset   {files}: in no character set that is read; convert to UTF-8"
        );
    }
    if *repairs > 0 {
        let places = counted(*repairs, "broken place");
        let _ = writeln!(
            text,
            "repaired  {places} in transcripts that {} no valid JSON or no text; what was said there is kept",
            if *repairs == 1 { "is" } else { "are" }
        );
    }
    if report.attachments > 0 {
        let attachments = counted(report.attachments, "attachment");
        let _ = writeln!(text, "attached  {attachments} filed with the text");
    }
    for notice in &report.notices {
        let _ = writeln!(text, "note      {notice}");
    }
    if !report.endings.is_empty() {
        let _ = writeln!(text, "not read  {}", by_ending(&report.endings));
    }
    if !left_out.is_empty() {
        let kinds = left_out
            .iter()
            .map(|(kind, count)| format!("{} {count}", kind.replace('_', " ")));
        let kinds: Vec<String> = kinds.collect();
        let _ = writeln!(text, "left out  {}", kinds.join(", "));
    }
    if !redacted.is_empty() {
        let _ = writeln!(text, "redacted  {redacted}; --verbatim keeps such secrets");
    }
    text
}

/// Returns the numbers of files by the ending of their names, the most first.
fn by_ending(endings: &BTreeMap<String, u64>) -> String {
    let mut endings: Vec<(&str, u64)> = endings
        .iter()
        .map(|(ending, count)| (ending.as_str(), *count))
        .collect();
    endings.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let named = endings.iter().map(|(ending, count)| match *ending {
        "" => format!("{count} with another ending or none"),
        ending => format!("{count} .{ending}"),
    });
    named.collect::<Vec<_>>().join(", ")
}
