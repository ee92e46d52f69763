//! The instructions of loci in a file that agents read, e.g. `CLAUDE.md` or `AGENTS.md`.

use std::borrow::Cow;

use crate::change::Addition;

/// The line before the instructions.
const BEGIN: &str = "<!-- loci:begin -->";
/// The line after the instructions.
const END: &str = "<!-- loci:end -->";

/// The instructions of loci, between two marks.
#[derive(Debug, Clone, Copy)]
pub struct InstructionBlock<'a> {
    /// The name of the server in the settings of the host.
    pub server: &'a str,
    /// The tool that finds memories.
    pub recall: &'a str,
    /// The tool that stores one.
    pub remember: &'a str,
}

impl InstructionBlock<'_> {
    /// Returns the block with its marks, without a new line at its end.
    pub fn text(&self) -> String {
        format!("{BEGIN}\n## Memory\n\n{}\n{END}", self.rules())
    }

    /// Returns what an agent should do, without a heading.
    pub(crate) fn rules(&self) -> String {
        let InstructionBlock {
            server,
            recall,
            remember,
        } = self;
        format!(
            "The MCP server `{server}` is your memory across sessions.\n\
             \n\
             - Before you begin a task, and when the user refers to earlier work, call `{recall}` with a short question.\n\
             - When you learn something that a later session needs, call `{remember}`: a decision with its reason, a \
             preference or correction of the user, a fact that took effort to find. Write one or two sentences that are \
             understood on their own.\n\
             - Store no secrets, and nothing that the files of the project say already.\n\
             - If a memory contradicts what you see, trust what you see and correct the memory."
        )
    }

    /// Returns the text with the block, in the place of the one that is there or at the end.
    ///
    /// # Errors
    /// A problem of the text: it has one mark without the other.
    pub fn put(&self, text: &str) -> Result<String, String> {
        put(text, &self.text())
    }
}

/// Returns the text without the block of loci, if it has one.
pub fn without_block(text: &str) -> Cow<'_, str> {
    match AnyBlock.is_in(text) {
        Ok(true) => AnyBlock
            .remove(text)
            .map_or(Cow::Borrowed(text), Cow::Owned),
        _ => Cow::Borrowed(text),
    }
}

/// The block of loci in a text, whatever it says.
#[derive(Debug, Clone, Copy)]
pub struct AnyBlock;

impl Addition for AnyBlock {
    fn is_in(&self, text: &str) -> Result<bool, String> {
        Ok(found(text)?.is_some())
    }

    fn put_as_in(&self, text: &str, from: &str) -> Result<String, String> {
        match found(from)? {
            Some(range) => put(text, &from[range].replace("\r\n", "\n")),
            None => Ok(text.to_owned()),
        }
    }

    fn remove(&self, text: &str) -> Result<String, String> {
        let Some(range) = found(text)? else {
            return Ok(text.to_owned());
        };
        let end = end_of_lines(text);
        let (before, after) = (&text[..range.start], &text[range.end..]);
        let after = after.strip_prefix(end).unwrap_or(after);
        // The blank line that came with the block.
        let blank = format!("{end}{end}");
        let before = if before.ends_with(&blank) && (after.is_empty() || after.starts_with(end)) {
            &before[..before.len() - end.len()]
        } else {
            before
        };
        Ok(format!("{before}{after}"))
    }
}

fn put(text: &str, block: &str) -> Result<String, String> {
    let end = end_of_lines(text);
    let block = block.replace('\n', end);
    if let Some(range) = found(text)? {
        return Ok(format!(
            "{}{block}{}",
            &text[..range.start],
            &text[range.end..]
        ));
    }
    let space = match text {
        "" => String::new(),
        text if text.ends_with('\n') => end.to_owned(),
        _ => end.repeat(2),
    };
    Ok(format!("{text}{space}{block}{end}"))
}

/// Returns the range of the block, from mark to mark.
fn found(text: &str) -> Result<Option<std::ops::Range<usize>>, String> {
    let marks = (text.matches(BEGIN).count(), text.matches(END).count());
    match (marks, text.find(BEGIN), text.find(END)) {
        ((0, 0), ..) => Ok(None),
        ((1, 1), Some(start), Some(last)) if start < last => Ok(Some(start..last + END.len())),
        _ => Err(format!(
            "it does not have the marks `{BEGIN}` and `{END}` once each, in this order"
        )),
    }
}

fn end_of_lines(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: InstructionBlock<'_> = InstructionBlock {
        server: "loci",
        recall: "recall",
        remember: "remember",
    };

    #[test]
    fn a_block_comes_changes_and_goes() {
        for text in [
            "# Mine\n",
            "# Mine\n\nText.\n",
            "a\r\nb\r\n",
            "# Mine\n\n\n",
            "\n",
        ] {
            let with = BLOCK.put(text).unwrap();
            assert!(with.starts_with(text), "{with:?}");
            assert_eq!(BLOCK.put(&with).unwrap(), with, "twice is once");
            if text.contains('\r') {
                assert_eq!(with.matches('\n').count(), with.matches("\r\n").count());
            }
            let other = InstructionBlock {
                recall: "memory_search",
                ..BLOCK
            };
            let changed = other.put(&with).unwrap();
            assert!(changed.contains("`memory_search`") && !changed.contains("`recall`"));
            assert_eq!(BLOCK.put(&changed).unwrap(), with);
            assert_eq!(AnyBlock.remove(&with).unwrap(), text);
            assert_eq!(AnyBlock.put_as_in(text, &with).unwrap(), with);
            let followed = format!("{with}after\n");
            assert_eq!(
                AnyBlock.remove(&followed).unwrap().matches("after").count(),
                1
            );
        }
        assert_eq!(BLOCK.put("").unwrap(), format!("{}\n", BLOCK.text()));
    }

    #[test]
    fn the_block_is_short() {
        assert!(BLOCK.text().split_whitespace().count() <= 120);
    }

    #[test]
    fn marks_without_a_pair_are_refused() {
        for text in [
            format!("{BEGIN}\n"),
            format!("{END}\n{BEGIN}\n"),
            format!("{BEGIN}\n{END}\n{BEGIN}\n{END}\n"),
        ] {
            assert!(BLOCK.put(&text).is_err(), "{text}");
            assert!(AnyBlock.remove(&text).is_err(), "{text}");
        }
    }
}
