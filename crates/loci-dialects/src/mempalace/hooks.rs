//! The settings and the last checkpoint of a host's hooks: small JSON values for each caller.

use loci_core::{Error, Result};
use loci_engine::Parts;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::wire::offset8601;

// Each is a separate setting, so that concurrent changes do not overwrite each other.
const SILENT_SAVE: &str = "hook_silent_save";
const DESKTOP_TOAST: &str = "hook_desktop_toast";
const CHECKPOINT: &str = "hook_checkpoint";

/// The settings for how hooks save transcripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HookSettings {
    /// True if hooks save transcripts themselves, without a word; false if they ask the agent to
    /// file what matters.
    pub silent_save: bool,
    /// True if the desktop shows a notice when something was saved.
    pub desktop_toast: bool,
}

/// The last save of a hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The number of messages saved.
    pub message_count: u64,
    /// The time of the save, in ISO 8601 with offset.
    pub timestamp: String,
}

/// Returns the caller's settings, or the defaults.
///
/// # Errors
/// `unavailable` if the store cannot be read.
pub fn hook_settings(parts: &Parts<'_>) -> Result<HookSettings> {
    Ok(HookSettings {
        silent_save: read(parts, SILENT_SAVE)?.unwrap_or(true),
        desktop_toast: read(parts, DESKTOP_TOAST)?.unwrap_or(false),
    })
}

/// Changes only the given ones among the caller's settings, atomically.
///
/// # Errors
/// `unavailable` if the store cannot be written.
pub fn put_hook_settings(
    parts: &Parts<'_>,
    silent_save: Option<bool>,
    desktop_toast: Option<bool>,
) -> Result<()> {
    let given = [(SILENT_SAVE, silent_save), (DESKTOP_TOAST, desktop_toast)];
    parts.settings().change(|draft| {
        let mut given = given.iter();
        given.try_for_each(|(name, value)| match value {
            Some(value) => draft.put(name, value.to_string()),
            None => Ok(()),
        })
    })
}

/// Returns the last save of the caller's hooks; `None` if they never saved.
///
/// # Errors
/// `unavailable` if the store cannot be read.
pub fn checkpoint(parts: &Parts<'_>) -> Result<Option<Checkpoint>> {
    read(parts, CHECKPOINT)
}

/// Records that the caller's hooks saved this number of messages now.
///
/// # Errors
/// `unavailable` if the store cannot be written.
pub fn put_checkpoint(parts: &Parts<'_>, message_count: u64) -> Result<()> {
    write(
        parts,
        CHECKPOINT,
        &Checkpoint {
            message_count,
            timestamp: offset8601(parts.engine().now()),
        },
    )
}

/// Reads a value; `None` if it is missing or cannot be parsed.
fn read<T: DeserializeOwned>(parts: &Parts<'_>, name: &str) -> Result<Option<T>> {
    let value = parts.settings().get(name)?;
    Ok(value.and_then(|value| serde_json::from_str(&value).ok()))
}

fn write(parts: &Parts<'_>, name: &str, value: &impl Serialize) -> Result<()> {
    let value = serde_json::to_string(value)
        .map_err(|error| Error::internal(format!("{name}: {error}")))?;
    parts.settings().put(name, value)
}
