//! The tool `mempalace_hook_settings`: reads or changes how hooks save transcripts.

use loci_core::{Result, Scope};
use loci_engine::{Call, denial};
use schemars::JsonSchema;
use serde::Deserialize;

use super::hooks::{HookSettings, hook_settings, put_hook_settings};
use crate::{Hints, Reply, TypedTool};

pub struct SetHooks;

/// See or change how the hooks of your host save what is said. Without arguments nothing changes; a
/// change needs the scope `write`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// True (the default) to save transcripts without a word; false to ask you to file what
    /// matters.
    silent_save: Option<bool>,
    /// True to show a notice on the desktop after saving.
    desktop_toast: Option<bool>,
}

impl TypedTool for SetHooks {
    const NAME: &'static str = "mempalace_hook_settings";
    const TITLE: &'static str = "Settings of hooks";
    // The scope for reading them; a change needs more.
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints::ADDS_ONCE;
    const OPERATION: &'static str = "settings:write";
    type Arguments = Arguments;
    type Output = HookSettings;

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let changes = arguments.silent_save.is_some() || arguments.desktop_toast.is_some();
        if changes && !call.caller().principal.scopes.allow(Scope::Write) {
            return Err(denial(Self::NAME, &[Scope::Write]));
        }
        put_hook_settings(call, arguments.silent_save, arguments.desktop_toast)?;
        Reply::json(&hook_settings(call)?, None)
    }
}
