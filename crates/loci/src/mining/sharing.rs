//! Transcripts that the other callers in the space may read, too: the process that reads on has to know them.

use std::io;

use loci_core::Result;
use loci_engine::Engine;

/// The setting with the paths of transcripts that were left unread and are shared, at most so many, the last ones.
const SHARED: &str = "shared_transcripts";
const SHARED_MAX: usize = 64;

/// The paths of transcripts that are shared and were not read to their end when they were last read. Of one that is
/// not among them, what is left is private.
///
/// # Errors
/// `unavailable` if the store cannot be read.
pub fn shared(engine: &Engine) -> Result<Vec<String>> {
    let text = engine.setting(&super::caller(), SHARED)?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
}

/// Remembers whether what is left of a transcript is shared.
///
/// # Errors
/// `unavailable` if the store cannot be used.
pub fn remember(engine: &Engine, path: &str, is_shared: bool) -> Result<()> {
    let mut paths = shared(engine)?;
    if paths.iter().any(|known| known == path) == is_shared {
        return Ok(());
    }
    paths.retain(|known| known != path);
    paths.extend(is_shared.then(|| path.to_owned()));
    let text = serde_json::to_string(&paths[paths.len().saturating_sub(SHARED_MAX)..]).map_err(io::Error::from);
    let text = text.map_err(|error| loci_core::Error::internal(error.to_string()))?;
    engine.put_setting(&super::caller(), SHARED, text)
}
