//! What the hooks of hosts settle and leave behind: small values of each caller, as JSON.

use loci_core::{Error, Result};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Context;
use crate::wire::offset8601;

const SETTINGS: &str = "hook_settings";
const CHECKPOINT: &str = "hook_checkpoint";

/// How hooks save transcripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HookSettings {
    /// Whether hooks save transcripts themselves, without a word, or ask the agent to file what matters.
    pub silent_save: bool,
    /// Whether the desktop shows a notice when something was saved.
    pub desktop_toast: bool,
}

impl Default for HookSettings {
    fn default() -> Self {
        HookSettings { silent_save: true, desktop_toast: false }
    }
}

/// What a hook saved last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// How many messages.
    pub message_count: u64,
    /// When: ISO 8601 with offset.
    pub timestamp: String,
}

/// The caller's settings; the usual ones, if there are none.
///
/// # Errors
/// `unavailable` if the store cannot be read.
pub fn hook_settings(context: Context<'_>) -> Result<HookSettings> {
    Ok(read(context, SETTINGS)?.unwrap_or_default())
}

/// Stores the caller's settings.
///
/// # Errors
/// `unavailable` if the store cannot be written.
pub fn put_hook_settings(context: Context<'_>, settings: HookSettings) -> Result<()> {
    write(context, SETTINGS, &settings)
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
    write(context, CHECKPOINT, &Checkpoint { message_count, timestamp: offset8601(context.engine.now()) })
}

/// A value; none if there is none, or none that can be read any more.
fn read<T: DeserializeOwned>(context: Context<'_>, name: &str) -> Result<Option<T>> {
    let value = context.engine.setting(context.caller, name)?;
    Ok(value.and_then(|value| serde_json::from_str(&value).ok()))
}

fn write(context: Context<'_>, name: &str, value: &impl Serialize) -> Result<()> {
    let value = serde_json::to_string(value).map_err(|error| Error::internal(format!("{name}: {error}")))?;
    context.engine.put_setting(context.caller, name, value)
}
