//! Folds characters that count as the same.

use std::borrow::Cow;

use unicode_normalization::{
    IsNormalized, UnicodeNormalization, char::is_combining_mark, is_nfkc_quick,
};

/// Converts full-width and other compatibility forms to the ordinary ones (NFKC); case and accents
/// stay, for the split at changes of case.
pub(crate) fn fold_width(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_nfkc_quick(text.chars()) == IsNormalized::Yes {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.nfkc().collect())
}

/// Converts text to lower case without diacritics. Marks that make another letter or carry a vowel
/// (Japanese voicing, Indic signs, the breve of й) stay.
pub(crate) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut before = ' ';
    let without_marks = text.nfkd().filter(|&character| {
        let stays = !is_dropped(character) || is_part_of_letter(before, character);
        before = character;
        stays
    });
    let mut folded = String::with_capacity(text.len());
    let composed: String = without_marks.nfc().collect();
    for character in composed.chars().flat_map(char::to_lowercase) {
        match letter(character) {
            Some(letters) => folded.push_str(letters),
            None => folded.push(digit(character).unwrap_or(character)),
        }
    }
    folded
}

/// Returns true for combining marks of European scripts, Hebrew points, Arabic vowel signs, hamza
/// and elongation, joiners, soft hyphens and variation selectors.
fn is_dropped(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}' | '\u{5c2}' | '\u{5c4}'
        | '\u{5c5}' | '\u{5c7}' | '\u{640}' | '\u{64b}'..='\u{65f}' | '\u{670}' | '\u{200b}'..='\u{200d}'
        | '\u{fe00}'..='\u{fe0f}')
}

/// Returns true for the breve of й and ў and the dots of ї.
fn is_part_of_letter(before: char, mark: char) -> bool {
    matches!(
        (before, mark),
        ('и' | 'И' | 'у' | 'У', '\u{306}') | ('і' | 'І', '\u{308}')
    )
}

/// Folds letters that are often written in another way, though Unicode does not decompose them.
fn letter(character: char) -> Option<&'static str> {
    Some(match character {
        'ß' => "ss",
        'æ' => "ae",
        'œ' => "oe",
        'ø' => "o",
        'ł' => "l",
        'đ' | 'ð' => "d",
        'þ' => "th",
        'ı' => "i",
        'ς' => "σ",
        // Arabic: alef wasla, ta marbuta, alef maqsura; Persian kaf and ya.
        'ٱ' => "ا",
        'ة' => "ه",
        'ى' | 'ی' => "ي",
        'ک' => "ك",
        '\u{2019}' => "'",
        _ => return None,
    })
}

/// Returns the ASCII digit for a digit of another script.
fn digit(character: char) -> Option<char> {
    // Arabic, Persian, Devanagari, Bengali, Thai, Lao, Burmese, Khmer.
    const ZEROS: [u32; 8] = [0x660, 0x6f0, 0x966, 0x9e6, 0xe50, 0xed0, 0x1040, 0x17e0];
    let value = ZEROS.iter().find_map(|zero| {
        u32::from(character)
            .checked_sub(*zero)
            .filter(|value| *value < 10)
    })?;
    char::from_digit(value, 10)
}

/// Removes the article and its attached prefixes from a folded Arabic word, if two letters remain
/// (the prefixes of the light stemmer of Larkey, Ballesteros and Connell, 2002).
pub(super) fn without_arabic_article(word: &str) -> &str {
    let prefixes = ["وال", "بال", "كال", "فال", "ال", "لل"];
    let rest = prefixes.iter().find_map(|prefix| word.strip_prefix(prefix));
    rest.filter(|rest| rest.chars().nth(1).is_some())
        .unwrap_or(word)
}

/// Returns true for letters, digits, and the marks and joiners that belong to them.
pub(crate) fn is_word_character(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_alphanumeric();
    }
    character.is_alphanumeric()
        || is_combining_mark(character)
        || matches!(character, '\u{ad}' | '\u{200b}'..='\u{200d}')
}

/// True if the character belongs to a script that is written without spaces between words, or
/// (Korean) inflects within them.
pub(crate) fn is_unspaced(character: char) -> bool {
    // Thai, Lao, Burmese and Khmer; Chinese, Japanese and Korean.
    matches!(character,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1100}'..='\u{11ff}' | '\u{1780}'..='\u{17ff}'
        | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{312f}' | '\u{3130}'..='\u{318f}' | '\u{31a0}'..='\u{31bf}'
        | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// True if the character is often a word by itself: Chinese characters and Korean syllables.
pub(crate) fn may_be_a_word(character: char) -> bool {
    matches!(character,
        '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

/// Returns the characters of a run, each with the marks that follow it.
pub(crate) fn clusters(run: &str) -> impl Iterator<Item = &str> {
    let mut rest = run;
    std::iter::from_fn(move || {
        let mut characters = rest.char_indices();
        characters.next()?;
        let end = characters
            .find(|(_, character)| !is_combining_mark(*character))
            .map_or(rest.len(), |(end, _)| end);
        let (cluster, after) = rest.split_at(end);
        rest = after;
        Some(cluster)
    })
}
