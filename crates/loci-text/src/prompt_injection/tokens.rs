//! The words of a text in one form, whatever a writer did to keep them from being read.

use loci_core::characters::is_hidden;
use unicode_normalization::char::is_combining_mark;

use super::Disguise;
use super::patterns::Patterns;
use super::word::{MAIL, Token, URL, fold};

/// The fewest letters with a space between each two that are words in disguise.
const SPACED_MIN: usize = 6;
/// The fewest letters of a word that may be several ones without spaces, if something invisible stands
/// among its letters, and if nothing does.
const JOINED_HIDDEN_MIN: usize = 12;
const JOINED_MIN: usize = 18;
/// The most letters before an apostrophe that are a word, as in "l'utilisateur".
const ELIDED_MAX: usize = 2;
/// The beginnings of addresses.
const ADDRESSES: [&str; 4] = ["https://", "http://", "hxxps://", "www."];
/// Marks that end a sentence before any character, of several scripts.
const FULL_ENDS: [char; 9] = ['。', '！', '？', '؟', '।', '॥', '۔', '\u{2028}', '\u{2029}'];
/// Marks at the beginning of a line that make it an item of a list, a heading or a row.
const LINE_MARKS: [char; 7] = ['-', '*', '+', '#', '|', '•', '>'];

/// Returns the words of a text.
pub(super) fn tokens(text: &str, patterns: &Patterns) -> Vec<Token> {
    let mut reader = Reader {
        text,
        patterns,
        tokens: Vec::new(),
        word: None,
        starts: true,
        breaks: true,
        lines: 0,
    };
    let mut at = 0;
    while let Some(character) = text[at..].chars().next() {
        at = reader.read(at, character);
    }
    reader.finish();
    respaced(patterns, reader.tokens)
}

/// Returns true for a character of a script without spaces between words.
fn is_unspaced(character: char) -> bool {
    matches!(character, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

/// Returns true for a character that a reader does not see.
fn is_unseen(character: char) -> bool {
    match character {
        '\n' | '\r' | '\t' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => false,
        '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => true,
        _ => is_hidden(character),
    }
}

/// A word that is being read.
struct Word {
    text: String,
    start: usize,
    end: usize,
    is_unspaced: bool,
    /// True if something unseen stands behind its last letter.
    was_unseen: bool,
    disguise: Option<Disguise>,
}

struct Reader<'a> {
    text: &'a str,
    patterns: &'a Patterns,
    tokens: Vec<Token>,
    word: Option<Word>,
    starts: bool,
    breaks: bool,
    /// The line ends since the last word.
    lines: usize,
}

impl Reader<'_> {
    /// Reads a character at a place, and returns the place behind it.
    fn read(&mut self, at: usize, character: char) -> usize {
        let after = at + character.len_utf8();
        if is_unseen(character) {
            if let Some(word) = &mut self.word {
                word.was_unseen = true;
            }
            return after;
        }
        let is_letter = character.is_alphanumeric() || is_combining_mark(character);
        if is_letter || (matches!(character, '\'' | '’') && self.word.is_some()) {
            if self.word.is_none()
                && let Some(end) = address_end(self.text, at)
            {
                self.push(URL.to_owned(), at, end, None);
                return end;
            }
            self.letter(at, character);
            return after;
        }
        // A mark of emphasis within a word hides nothing from a reader of the page.
        let rest = &self.text[after..];
        if character == '*' && rest.starts_with(char::is_alphanumeric) && self.word.is_some() {
            return after;
        }
        if character == '@'
            && rest.starts_with(char::is_alphanumeric)
            && let Some(word) = self.word.take()
        {
            let end = after + rest.find(ends_address).unwrap_or(rest.len());
            self.push(MAIL.to_owned(), word.start, end, None);
            return end;
        }
        self.finish();
        self.separate(character, rest);
        after
    }

    fn letter(&mut self, at: usize, character: char) {
        let is_unspaced = is_unspaced(character);
        if self
            .word
            .as_ref()
            .is_some_and(|word| word.is_unspaced != is_unspaced)
        {
            self.finish();
        }
        let word = self.word.get_or_insert_with(|| Word {
            text: String::new(),
            start: at,
            end: at,
            is_unspaced,
            was_unseen: false,
            disguise: None,
        });
        if word.was_unseen {
            (word.was_unseen, word.disguise) = (false, Some(Disguise::Hidden));
        }
        let before = word.text.len();
        fold(character, &mut word.text);
        // A full-width or mathematical letter, or one in a circle.
        let form = &word.text[before..];
        let is_accented = matches!(character, '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}');
        let is_plain = !form.is_empty() && form.bytes().all(|one| one.is_ascii_lowercase());
        if !character.is_ascii() && !is_accented && is_plain {
            word.disguise = word.disguise.or(Some(Disguise::LookAlikes));
        }
        word.end = at + character.len_utf8();
    }

    /// Notes how far apart a character sets the next word.
    fn separate(&mut self, character: char, rest: &str) {
        let is_end = || {
            rest.chars()
                .next()
                .is_none_or(|next| !next.is_alphanumeric())
        };
        match character {
            '\n' => {
                self.lines += 1;
                let line = rest.trim_start_matches([' ', '\t']);
                self.breaks |= self.lines > 1 || line.starts_with(LINE_MARKS);
                self.starts = true;
            }
            '.' | '!' | '?' | '…' if is_end() => (self.breaks, self.starts) = (true, true),
            _ if FULL_ENDS.contains(&character) => (self.breaks, self.starts) = (true, true),
            ':' | '<' | '：' => self.starts = true,
            _ => {}
        }
    }

    /// Ends the word that is being read.
    fn finish(&mut self) {
        let Some(word) = self.word.take() else { return };
        let (start, mut text) = (word.start, word.text.trim_matches('\''));
        if let Some((elided, rest)) = text.split_once('\'')
            && elided.chars().count() <= ELIDED_MAX
            && !rest.is_empty()
        {
            self.push(elided.to_owned(), start, word.end, word.disguise);
            text = rest;
        }
        let joined_min = if word.disguise == Some(Disguise::Hidden) {
            JOINED_HIDDEN_MIN
        } else {
            JOINED_MIN
        };
        let letters = text.chars().count();
        let is_joined = !word.is_unspaced
            && letters >= joined_min
            && !self.patterns.knows(text)
            && text.chars().all(char::is_alphabetic);
        if word.is_unspaced || is_joined {
            let disguise = word.disguise.or(is_joined.then_some(Disguise::Spacing));
            let parts = self.patterns.parted(text);
            for part in parts {
                self.push(part.to_owned(), start, word.end, disguise);
            }
        } else {
            self.push(text.to_owned(), start, word.end, word.disguise);
        }
    }

    fn push(&mut self, text: String, start: usize, end: usize, disguise: Option<Disguise>) {
        if text.is_empty() {
            return;
        }
        self.tokens.push(Token {
            text,
            start,
            end,
            starts: self.starts,
            breaks: self.breaks,
            disguise,
        });
        (self.starts, self.breaks, self.lines) = (false, false, 0);
    }
}

fn ends_address(character: char) -> bool {
    character.is_whitespace() || matches!(character, '<' | '>' | '"' | '\'' | '`' | ')' | ',' | ';')
}

/// Returns the end of the address of the web that begins at a place.
fn address_end(text: &str, at: usize) -> Option<usize> {
    let rest = &text[at..];
    let begins = |beginning: &str| {
        let start = rest.as_bytes().get(..beginning.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(beginning.as_bytes()))
    };
    ADDRESSES.iter().find(|beginning| begins(beginning))?;
    Some(at + rest.find(ends_address).unwrap_or(rest.len()))
}

/// Returns the tokens with runs of single letters as the words that these spell.
fn respaced(patterns: &Patterns, tokens: Vec<Token>) -> Vec<Token> {
    let is_letter = |token: &Token| {
        let mut letters = token.text.chars();
        let is_one = letters
            .next()
            .is_some_and(|one| one.is_alphabetic() && !is_unspaced(one));
        is_one && letters.next().is_none()
    };
    let mut spaced = Vec::with_capacity(tokens.len());
    let mut rest = tokens.into_iter().peekable();
    while let Some(token) = rest.next() {
        if !is_letter(&token) {
            spaced.push(token);
            continue;
        }
        let mut run = vec![token];
        while let Some(next) = rest.next_if(|next| is_letter(next) && !next.breaks) {
            run.push(next);
        }
        if run.len() < SPACED_MIN {
            spaced.extend(run);
        } else {
            spaced.extend(words_of(patterns, &run));
        }
    }
    spaced
}

/// Returns the words that a run of single letters spells: apart where the space is wider than between
/// the first two letters, or else where known words are.
fn words_of(patterns: &Patterns, run: &[Token]) -> Vec<Token> {
    let space = |one: &Token, next: &Token| next.start.saturating_sub(one.end);
    let narrow = run.windows(2).map(|pair| space(&pair[0], &pair[1])).min();
    let mut words: Vec<Vec<&Token>> = Vec::new();
    let mut before: Option<&Token> = None;
    for token in run {
        let is_near = before.is_some_and(|before| Some(space(before, token)) == narrow);
        match words.last_mut().filter(|_| is_near) {
            Some(word) => word.push(token),
            None => words.push(vec![token]),
        }
        before = Some(token);
    }
    let mut spelled = Vec::new();
    for word in words {
        let letters: String = word.iter().map(|token| token.text.as_str()).collect();
        let (Some(first), Some(last)) = (word.first(), word.last()) else {
            continue;
        };
        let parts = if patterns.knows(&letters) {
            vec![letters.as_str()]
        } else {
            patterns.parted(&letters)
        };
        for (number, part) in parts.into_iter().enumerate() {
            spelled.push(Token {
                text: part.to_owned(),
                start: first.start,
                end: last.end,
                starts: first.starts && number == 0,
                breaks: first.breaks && number == 0,
                disguise: Some(Disguise::Spacing),
            });
        }
    }
    spelled
}
