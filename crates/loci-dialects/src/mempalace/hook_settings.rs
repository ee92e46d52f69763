//! `mempalace_hook_settings`: how hooks save transcripts.

use loci_core::{Result, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use super::hooks::{HookSettings, hook_settings, put_hook_settings};
use crate::{Context, Hints, Reply, TypedTool};

pub struct SetHooks;

/// See or change how the hooks of your host save what is said. Without arguments nothing is changed.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// True to save transcripts without a word, as by default; false to ask you to file what matters.
    silent_save: Option<bool>,
    /// True to show a notice on the desktop when something was saved; false, as by default, not to.
    desktop_toast: Option<bool>,
}

impl TypedTool for SetHooks {
    const NAME: &'static str = "mempalace_hook_settings";
    const TITLE: &'static str = "Settings of hooks";
    const SCOPE: Scope = Scope::Write;
    const HINTS: Hints = Hints { read_only: false, destructive: false, idempotent: true, open_world: false };
    const OPERATION: &'static str = "settings:write";
    type Arguments = Arguments;
    type Output = HookSettings;

    fn run(context: Context<'_>, arguments: Arguments) -> Result<Reply> {
        let before = hook_settings(context)?;
        let settings = HookSettings {
            silent_save: arguments.silent_save.unwrap_or(before.silent_save),
            desktop_toast: arguments.desktop_toast.unwrap_or(before.desktop_toast),
        };
        if settings != before {
            put_hook_settings(context, settings)?;
        }
        Ok(Reply::json(crate::tool::to_value(&settings)?))
    }
}
