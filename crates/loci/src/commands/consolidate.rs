//! `loci consolidate`: memories that say the same stand behind one.

use loci_core::MemoryId;
use loci_engine::{CONSOLIDATE, ConsolidationReport, Effect, StoodBehind, short_id};
use serde_json::{Value, json};

use crate::commands::history::format_call;
use crate::escaped::OneLine;
use crate::exit::Failure;
use crate::output::{Output, counted};
use crate::settings::Settings;
use crate::wiring::{CommandInfo, Parts};

/// A consolidation, in the audit log.
const INFO: CommandInfo = (CONSOLIDATE, "memory:write", Effect::Write);
/// The memories that a text names.
const NAMED_MAX: usize = 20;
/// The characters of a text that a line shows.
const CHARACTERS_MAX: usize = 60;

pub fn run(settings: &Settings, is_dry_run: bool, output: Output) -> Result<(), Failure> {
    let parts = Parts::open_current(settings)?;
    if is_dry_run {
        let report = parts.looking().consolidation().consolidate(true)?;
        let mut value = value_of(&report);
        value["dry_run"] = json!(true);
        let text = format!(
            "nothing is changed; without --dry-run it would be:\n{}",
            said(&parts, &report)
        );
        return Ok(output.either(&value, text)?);
    }
    let report = parts.logged(INFO, |call| Ok(call.consolidation().consolidate(false)?))?;
    let mut value = value_of(&report);
    let mut text = said(&parts, &report);
    let changes = parts.looking().changes().last(1)?;
    let own = changes.first().filter(|change| {
        let memories = report.put_behind.iter().map(|pair| &pair.memory);
        let memories = memories
            .chain(&report.brought_back)
            .chain(&report.summaries);
        let mut memories = memories.filter(|id| change.memories.contains(id));
        change.note.tool == CONSOLIDATE && memories.next().is_some()
    });
    if let Some(own) = own {
        let change = format_call(own.note.call);
        text += &format!("`loci undo {change}` takes it back\n");
        value["change"] = json!(change);
    }
    Ok(output.either(&value, text)?)
}

fn value_of(report: &ConsolidationReport) -> Value {
    let ids = |ids: &[MemoryId]| ids.iter().map(MemoryId::as_str).collect::<Value>();
    let pair = |pair: &StoodBehind| json!({"id": pair.memory.as_str(), "representative": pair.representative.as_str()});
    let ConsolidationReport {
        compared,
        behind,
        representatives,
        put_behind,
        brought_back,
        left,
        changed_meanwhile,
        summaries,
        summaries_failed,
    } = report;
    json!({
        "compared": compared, "behind": behind, "representatives": representatives,
        "put_behind": put_behind.iter().map(pair).collect::<Value>(), "brought_back": ids(brought_back),
        "left": ids(left), "changed_meanwhile": ids(changed_meanwhile), "summaries": ids(summaries),
        "summaries_failed": summaries_failed,
    })
}

/// Says what was done.
fn said(parts: &Parts, report: &ConsolidationReport) -> String {
    let memories = |count: usize| {
        let noun = if count == 1 { "memory" } else { "memories" };
        format!("{count} {noun}")
    };
    let mut text = format!(
        "{} compared: {} stand behind {}, {} new\n",
        memories(report.compared),
        report.behind,
        counted(report.representatives as u64, "other"),
        report.put_behind.len()
    );
    let first = |id: &MemoryId| {
        let memory = parts.looking().memories().show(id);
        let content = memory.map_or_else(|_| String::new(), |memory| memory.content);
        let first: String = content.chars().take(CHARACTERS_MAX).collect();
        format!("{} {}", OneLine(short_id(id.as_str())), OneLine(first))
    };
    for StoodBehind {
        memory,
        representative,
    } in report.put_behind.iter().take(NAMED_MAX)
    {
        text += &format!(
            "  {}\n    behind {}\n",
            first(memory),
            first(representative)
        );
    }
    if report.put_behind.len() > NAMED_MAX {
        text += &format!("  and {} more\n", report.put_behind.len() - NAMED_MAX);
    }
    for (ids, what) in [
        (
            &report.brought_back,
            "are back in sight, because their representative says something else",
        ),
        (
            &report.left,
            "stay in sight, because you took the same back",
        ),
        (
            &report.changed_meanwhile,
            "were changed by others meanwhile; run it again for them",
        ),
        (&report.summaries, "are new summaries"),
    ] {
        if !ids.is_empty() {
            text += &format!("{} {what}\n", memories(ids.len()));
        }
    }
    if report.summaries_failed > 0 {
        text += "the language model gave no summary; see the log, and run it again\n";
    }
    text
}
