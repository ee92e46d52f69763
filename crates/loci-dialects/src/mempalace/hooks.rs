//! What the hooks of hosts settle and leave behind: small values of each caller, as JSON.

use loci_core::{Error, Result};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Context;
use crate::wire::offset8601;

// A setting each, so that two processes which change one each undo nothing.
const SILENT_SAVE: &str = "hook_silent_save";
const DESKTOP_TOAST: &str = "hook_desktop_toast";
const CHECKPOINT: &str = "hook_checkpoint";

/// How hooks save transcripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HookSettings {
    /// Whether hooks save transcripts themselves, without a word, or ask the agent to file what
    /// matters.
    pub silent_save: bool,
    /// Whether the desktop shows a notice when something was saved.
    pub desktop_toast: bool,
}

/// What a hook saved last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// How many messages.
    pub message_count: u64,
    /// When: ISO 8601 with offset.
    pub timestamp: String,
}

/// The caller's settings; the usual ones, where there are none.
///
/// # Errors
/// `unavailable` if the store cannot be read.
pub fn hook_settings(context: Context<'_>) -> Result<HookSettings> {
    Ok(HookSettings {
        silent_save: read(context, SILENT_SAVE)?.unwrap_or(true),
        desktop_toast: read(context, DESKTOP_TOAST)?.unwrap_or(false),
    })
}

/// Changes those of the caller's settings that are given, all at once, and no others.
///
/// # Errors
/// `unavailable` if the store cannot be written.
pub fn put_hook_settings(
    context: Context<'_>,
    silent_save: Option<bool>,
    desktop_toast: Option<bool>,
) -> Result<()> {
    let given = [(SILENT_SAVE, silent_save), (DESKTOP_TOAST, desktop_toast)];
    let given = given
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?.to_string())));
    context.engine.put_settings(context.caller, given)
}

/// What the caller's hooks saved last; none if they never did.
///
/// # Errors
/// `unavailable` if the store cannot be read.
pub fn checkpoint(context: Context<'_>) -> Result<Option<Checkpoint>> {
    read(context, CHECKPOINT)
}

/// Notes that the caller's hooks saved so many messages now.
///
/// # Errors
/// `unavailable` if the store cannot be written.
pub fn put_checkpoint(context: Context<'_>, message_count: u64) -> Result<()> {
    write(
        context,
        CHECKPOINT,
        &Checkpoint {
            message_count,
            timestamp: offset8601(context.engine.now()),
        },
    )
}

/// A value; none if there is none, or none that can be read any more.
fn read<T: DeserializeOwned>(context: Context<'_>, name: &str) -> Result<Option<T>> {
    let value = context.engine.setting(context.caller, name)?;
    Ok(value.and_then(|value| serde_json::from_str(&value).ok()))
}

fn write(context: Context<'_>, name: &str, value: &impl Serialize) -> Result<()> {
    let value = serde_json::to_string(value)
        .map_err(|error| Error::internal(format!("{name}: {error}")))?;
    context.engine.put_setting(context.caller, name, value)
}
