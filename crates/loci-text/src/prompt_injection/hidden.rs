//! Texts in characters that no reader sees, and texts that are shown in the other direction.

use std::ops::Range;

/// The fewest characters of a run that carries a text.
const RUN_MIN: usize = 4;
/// The fewest characters of a run of zeros and ones: two letters.
const BITS_MIN: usize = 16;
/// A black flag, which tags make the flag of a region, e.g. of Scotland.
const FLAG: char = '\u{1f3f4}';
/// The most tags of such a flag.
const FLAG_TAGS_MAX: usize = 8;
const RIGHT_TO_LEFT: char = '\u{202e}';
const POP: char = '\u{202c}';

/// A text that is not read where it stands.
pub(super) struct HiddenText {
    pub(super) range: Range<usize>,
    pub(super) text: String,
    /// True if nothing of it can be seen.
    pub(super) is_invisible: bool,
}

/// Returns the hidden texts in a text.
pub(super) fn passages(text: &str) -> Vec<HiddenText> {
    let mut passages = turned(text);
    let carries = |character: char| {
        tag(character).is_some() || byte(character).is_some() || is_bit(character)
    };
    let mut from = 0;
    while let Some(start) = text[from..].find(carries).map(|start| from + start) {
        let rest = &text[start..];
        let end = start + rest.find(|one| !carries(one)).unwrap_or(rest.len());
        from = end;
        let run: Vec<char> = text[start..end].chars().collect();
        let tags: String = run.iter().copied().filter_map(tag).collect();
        let is_flag = text[..start].ends_with(FLAG) && tags.len() <= FLAG_TAGS_MAX;
        let bytes: Vec<u8> = run.iter().copied().filter_map(byte).collect();
        let mut decoded = vec![if is_flag { String::new() } else { tags }];
        decoded.push(String::from_utf8_lossy(&bytes).into_owned());
        decoded.extend(of_bits(&run));
        let decoded = decoded.into_iter().filter(|text| is_text(text));
        passages.extend(decoded.map(|text| HiddenText {
            range: start..end,
            text,
            is_invisible: true,
        }));
    }
    passages
}

fn is_text(text: &str) -> bool {
    let plain = text
        .chars()
        .filter(|one| one.is_alphanumeric() || matches!(one, ' ' | '.' | ',' | ':'));
    let all = text.chars().count();
    all >= RUN_MIN && plain.count() * 10 >= all * 8
}

/// Returns the ASCII character that a tag stands for.
fn tag(character: char) -> Option<char> {
    let code = u32::from(character).checked_sub(0xe0000)?;
    (0x20..0x7f).contains(&code).then(|| char::from_u32(code))?
}

/// Returns the byte that a variation selector stands for, as programs that hide texts count them.
fn byte(character: char) -> Option<u8> {
    let code = match character {
        '\u{fe00}'..='\u{fe0f}' => u32::from(character) - 0xfe00,
        '\u{e0100}'..='\u{e01ef}' => u32::from(character) - 0xe0100 + 16,
        _ => return None,
    };
    u8::try_from(code).ok()
}

fn is_bit(character: char) -> bool {
    matches!(character, '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{2062}'..='\u{2064}' | '\u{feff}')
}

/// Returns the texts of a run of two characters that stand for zeros and ones, for either is the one.
fn of_bits(run: &[char]) -> Vec<String> {
    let bits: Vec<char> = run.iter().copied().filter(|one| is_bit(*one)).collect();
    let mut kinds = bits.clone();
    kinds.sort_unstable();
    kinds.dedup();
    if kinds.len() != 2 || bits.len() < BITS_MIN {
        return Vec::new();
    }
    let decoded = |one: &char| {
        let bytes = bits.chunks_exact(8).map(|bits| {
            bits.iter()
                .fold(0_u8, |byte, bit| (byte << 1) | u8::from(bit == one))
        });
        String::from_utf8_lossy(&bytes.collect::<Vec<u8>>()).into_owned()
    };
    kinds.iter().map(decoded).collect()
}

/// Returns the passages that are shown from right to left, as they are read then.
fn turned(text: &str) -> Vec<HiddenText> {
    let starts = text.match_indices(RIGHT_TO_LEFT);
    let mut behind = 0;
    let mut turned = Vec::new();
    for (start, _) in starts {
        // A passage within another one was read with it.
        if start < behind {
            continue;
        }
        let rest = &text[start..];
        let end = rest.find([POP, '\n']).unwrap_or(rest.len());
        behind = start + end;
        turned.push(HiddenText {
            range: start..behind,
            text: rest[..end]
                .chars()
                .rev()
                .filter(|one| *one != RIGHT_TO_LEFT)
                .collect(),
            is_invisible: false,
        });
    }
    turned
}
