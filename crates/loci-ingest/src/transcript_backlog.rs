//! Records how unfinished transcripts were read, for the process of the same machine that reads the
//! rest.

use loci_core::Result;
use loci_engine::Parts;
use serde_json::json;

use crate::setting_of_machine;

/// The setting with the transcripts that the other callers in the space may read.
pub const SHARED: &str = "shared_transcripts";
/// The setting with the transcripts that are filed with their secrets.
pub const VERBATIM: &str = "verbatim_transcripts";
/// The largest number of transcripts that a setting names, the last ones.
const TRANSCRIPTS_MAX: usize = 256;

/// Returns the paths of the unfinished transcripts that a setting names.
///
/// # Errors
/// `unavailable` if the store cannot be read.
pub fn named_by(parts: &Parts<'_>, setting: &str) -> Result<Vec<String>> {
    let setting = setting_of_machine(parts, setting);
    Ok(paths(parts.settings().get(&setting)?))
}

/// Adds a transcript to a setting, or removes it.
///
/// # Errors
/// `unavailable` if the store cannot be used.
pub fn name(parts: &Parts<'_>, setting: &str, path: &str, is_named: bool) -> Result<()> {
    let setting = setting_of_machine(parts, setting);
    parts.settings().note(|draft| {
        let mut paths = paths(draft.get(&setting)?);
        if paths.iter().any(|known| known == path) == is_named {
            return Ok(());
        }
        paths.retain(|known| known != path);
        paths.extend(is_named.then(|| path.to_owned()));
        paths.drain(..paths.len().saturating_sub(TRANSCRIPTS_MAX));
        draft.put(&setting, json!(paths).to_string())
    })
}

/// Returns the paths in a setting. One that cannot be read counts as empty.
fn paths(text: Option<String>) -> Vec<String> {
    text.and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default()
}
