//! A word of a text in the form in which words are compared.

use std::iter::once;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::canonical_combining_class;

use super::Disguise;

/// The text of the token of an address of the web, and of one of mail.
pub(super) const URL: &str = "<url>";
pub(super) const MAIL: &str = "<mail>";
/// A word of a text, in the form in which patterns are compared with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) text: String,
    pub(super) start: usize,
    pub(super) end: usize,
    /// True if it is the first word of a sentence, of a line, or behind a colon.
    pub(super) starts: bool,
    /// True if no order that begins before it goes on with it.
    pub(super) breaks: bool,
    pub(super) disguise: Option<Disguise>,
}

/// Returns a word in the form in which words are compared: small letters, without accents, of one form
/// of each letter.
pub(super) fn folded(word: &str) -> String {
    let mut folded = String::with_capacity(word.len());
    for character in word.chars() {
        fold(character, &mut folded);
    }
    folded
}

/// Adds the form of a character. Signs of vowels and the virama (combining classes 0 and 9) are letters
/// of Indian scripts; the other combining marks are accents.
pub(super) fn fold(character: char, folded: &mut String) {
    if character.is_ascii() {
        folded.push(character.to_ascii_lowercase());
        return;
    }
    for part in once(character).nfkd() {
        if !matches!(canonical_combining_class(part), 0 | 9) {
            continue;
        }
        match part {
            '’' | '‘' | 'ʼ' => folded.push('\''),
            // Arabic and Persian forms of one letter, and the stroke that only stretches a word.
            'ی' | 'ى' | 'ے' => folded.push('ي'),
            'ک' => folded.push('ك'),
            'ہ' | 'ھ' | 'ة' | 'ۃ' => folded.push('ه'),
            'ں' => folded.push('ن'),
            'ٱ' => folded.push('ا'),
            'ـ' => {}
            _ => folded.extend(part.to_lowercase()),
        }
    }
}
