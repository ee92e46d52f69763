//! Symbols that people use like words: emoji, arrows, signs of currencies and of mathematics.

use unicode_segmentation::UnicodeSegmentation;

/// Calls `emit` with each symbol of a text and with each emoji that is made of several, e.g. a
/// profession or a flag. Colours of skin and the choice between picture and text make no other
/// symbol.
pub(super) fn symbols(text: &str, emit: &mut impl FnMut(&str)) {
    if text.is_ascii() || !text.contains(is_symbol) {
        return;
    }
    for cluster in text.graphemes(true) {
        if !cluster.starts_with(is_symbol) {
            continue;
        }
        let whole: String = cluster
            .chars()
            .filter(|part| !is_variation(*part))
            .collect();
        emit(&whole);
        if whole.chars().any(is_regional) {
            // Half a flag says nothing.
            continue;
        }
        let mut parts = whole.chars().filter(|part| is_symbol(*part)).peekable();
        let mut symbol = [0; 4];
        if let Some(first) = parts.next()
            && first.len_utf8() < whole.len()
        {
            for part in std::iter::once(first).chain(parts) {
                emit(part.encode_utf8(&mut symbol));
            }
        }
    }
}

/// Returns true for the letters of which flags are made.
fn is_regional(character: char) -> bool {
    matches!(character, '\u{1f1e6}'..='\u{1f1ff}')
}

/// Returns true for what changes only the looks of the symbol before it.
fn is_variation(character: char) -> bool {
    matches!(
        character,
        '\u{fe0e}' | '\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}'
    )
}

/// Returns true for a symbol. Lines and blocks of which programs draw tables, Braille of which they
/// draw clocks, and characters that only one font has say nothing.
fn is_symbol(character: char) -> bool {
    matches!(character,
        '\u{a2}'..='\u{a7}' | '\u{a9}' | '\u{ac}' | '\u{ae}' | '\u{b0}' | '\u{b1}' | '\u{b6}' | '\u{d7}' | '\u{f7}'
        | '\u{20a0}'..='\u{20cf}' | '\u{2100}'..='\u{214f}' | '\u{2190}'..='\u{2307}' | '\u{230c}'..='\u{2328}'
        | '\u{232b}'..='\u{23ff}' | '\u{25a0}'..='\u{2767}' | '\u{2794}'..='\u{27c4}' | '\u{27c7}'..='\u{27e5}'
        | '\u{27f0}'..='\u{27ff}' | '\u{2900}'..='\u{2982}' | '\u{2999}'..='\u{29d7}' | '\u{29dc}'..='\u{29fb}'
        | '\u{29fe}'..='\u{2bff}' | '\u{1f000}'..='\u{1f3fa}' | '\u{1f400}'..='\u{1faff}')
        && !character.is_alphanumeric()
}
