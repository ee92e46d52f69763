//! `loci doctor --secrets`: finds keys, tokens and passwords in stored texts, and redacts them.

use std::collections::BTreeMap;
use std::fmt::Write;

use loci_core::Redactions;
use loci_engine::{Call, Effect, StoredSecret};
use serde_json::{Value, json};

use crate::exit::Failure;
use crate::output::{Output, counted, is_confirmed, status_line};
use crate::settings::Settings;
use crate::wiring::Parts;

/// Scans all stored texts and prints what was found, never the secrets themselves. Redacts them if
/// `redacts`, after a question at the terminal unless `is_sure`.
///
/// # Errors
/// [`Exit::Usage`](crate::exit::Exit::Usage) if secrets are to be redacted and stdin is not a terminal to ask at; the error
/// of a store that cannot be used.
pub fn run(
    settings: &Settings,
    redacts: bool,
    is_sure: bool,
    output: Output,
) -> Result<(), Failure> {
    let parts = Parts::open_current(settings)?;
    let found = parts.system().secrets().find_secrets()?;
    let redactable = found
        .iter()
        .filter(|stored| stored.holder.can_be_redacted())
        .count();
    let is_wanted = redacts && redactable > 0 && (is_sure || may_redact(redactable as u64)?);
    let redacted = if is_wanted {
        let info = ("doctor secrets", "memory:write", Effect::Destroy);
        parts.logged_in_all(info, |call| redact(call, &found))?
    } else {
        0
    };
    let pending = if redacted > 0 {
        super::super::import::embed_pending(&parts, settings, true)?
    } else {
        0
    };
    report(&found, redacted, pending, output)?;
    if redacted > 0 {
        status_line(
            "backups and exports that were made before keep what they hold; change the keys that were in them",
        );
    } else if redactable > 0 {
        status_line("nothing is changed; --redact takes out what can be taken out");
    }
    let left = found.len() - redactable;
    if left > 0 {
        status_line(format_args!(
            "{} stay as they are: change the file, the fact or the tunnel; store again under another name what has a \
             secret in its id, place or key, and forget it there; kept answers and audit entries expire",
            counted(left as u64, "record")
        ));
    }
    Ok(())
}

fn report(
    found: &[StoredSecret],
    redacted: u64,
    pending: u64,
    output: Output,
) -> Result<(), Failure> {
    let mut counts = Redactions::default();
    for stored in found {
        counts.add_all(&stored.redactions);
    }
    let by_kind = |redactions: &Redactions| -> Value {
        json!(
            redactions
                .iter()
                .map(|(kind, count)| (kind.to_owned(), count))
                .collect::<BTreeMap<_, _>>()
        )
    };
    let row = |stored: &StoredSecret| {
        json!({
            "space": stored.space.as_str(),
            "holder": stored.holder.name(),
            "id": stored.id,
            "secrets": by_kind(&stored.redactions),
            "can_be_redacted": stored.holder.can_be_redacted(),
        })
    };
    let value = json!({
        "secrets": by_kind(&counts),
        "found": found.iter().map(row).collect::<Value>(),
        "redacted": redacted,
        "pending_embeddings": pending,
    });
    let mut text = String::new();
    for StoredSecret {
        space,
        id,
        redactions,
        holder,
    } in found
    {
        let _ = writeln!(
            text,
            "{:14}  {space}  {}  {redactions}",
            holder.name(),
            id.escape_debug()
        );
    }
    let total = if counts.is_empty() {
        "none".to_owned()
    } else {
        counts.to_string()
    };
    let _ = writeln!(text, "secrets   {total}");
    if redacted > 0 {
        let _ = writeln!(text, "redacted  {}", counted(redacted, "record"));
    }
    Ok(output.either(&value, text)?)
}

/// Asks the user at the terminal.
fn may_redact(records: u64) -> Result<bool, Failure> {
    let records = counted(records, "record");
    let question = format!(
        "take the secrets out of {records} for good? What is taken out cannot be brought back. [y/N]"
    );
    is_confirmed(question, "--yes to --redact")
}

/// Redacts the secrets in all records that can be rewritten; returns the number of these.
fn redact(call: &Call<'_>, found: &[StoredSecret]) -> Result<u64, Failure> {
    let mut redacted = 0;
    for stored in found {
        redacted += u64::from(call.secrets().redact_stored(stored)?);
    }
    Ok(redacted)
}
