//! Arguments that several tools of views take.

use loci_core::{Error, ErrorCode, Forgotten, Memory, MemoryId, Result, Tier};
use loci_engine::Parts;

/// Returns a memory of any tier that the caller may read, also a forgotten one.
pub(crate) fn named(parts: &Parts<'_>, argument: &str, id: &str) -> Result<Memory> {
    let id = MemoryId::parse(argument, id)?;
    parts.memories().show_of(&id, &Tier::ALL, Forgotten::Show)
}

/// Requires the revision that the person saw.
pub(crate) fn require_revision(memory: &Memory, seen: u64) -> Result<()> {
    if memory.revision == seen {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::Conflict,
        "this memory was changed after it was shown; look at it again, and repeat your change",
    ))
}
