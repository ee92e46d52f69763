//! What both tools say of a memory.

use loci_core::{Memory, MemoryId};
use loci_engine::Call;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The characters of an id that a path has in an encoded form.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// Returns the address of a memory on the page.
pub fn url(call: &Call<'_>, id: &MemoryId) -> String {
    let id = utf8_percent_encode(id.as_str(), ENCODED);
    format!("{}/memory/{id}", call.engine().page_url())
}

/// Returns the title under which a memory is shown.
pub fn title(memory: &Memory) -> String {
    loci_engine::shown_title(memory).into_owned()
}
