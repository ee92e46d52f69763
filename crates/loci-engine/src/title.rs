//! The title under which a memory is shown.

use std::borrow::Cow;

use loci_core::Memory;

/// The most characters of a title that is taken from a text.
const TITLE_CHARACTERS_MAX: usize = 80;

/// Returns the title of a memory, or else the first line of its text that is not blank, cut after
/// 80 characters.
pub fn shown_title(memory: &Memory) -> Cow<'_, str> {
    if let Some(title) = &memory.title {
        return title.into();
    }
    let line = memory
        .content
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default();
    match line.char_indices().nth(TITLE_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()).into(),
        None => line.into(),
    }
}

#[cfg(test)]
mod tests {
    use loci_core::{MemoryId, Space, Timestamp};

    use super::*;

    #[test]
    fn a_memory_without_title_is_shown_by_its_first_line() {
        let long = "é".repeat(81);
        let cut = format!("{}…", "é".repeat(80));
        let rows = [
            (Some("Title"), "text", "Title"),
            (None, "\n  \n  first \nsecond", "first"),
            (None, &"é".repeat(80), &"é".repeat(80)),
            (None, &long, &cut),
        ];
        let now = Timestamp::from_microseconds(0);
        for (title, content, expected) in rows {
            let mut memory =
                Memory::new(Space::default(), MemoryId::new("m"), content, "fact", now);
            memory.title = title.map(str::to_owned);
            assert_eq!(shown_title(&memory), expected);
        }
    }
}
