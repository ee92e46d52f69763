//! Plain text: lines that start with a speaker (`Ann: ...`, `**Ann:** ...`) start a message, which
//! goes on until the next one; or lines that start with `>` are what a person asked, and what
//! follows is the answer, as terminals show it. Code between fences starts no message.

use std::collections::HashMap;
use std::io::{self, Read};

use loci_core::limits::SOURCE_FILE_BYTES_MAX;

use super::value::Tally;
use super::{BYTE_ORDER_MARK, Beginning, Conversation, Format, Source, Take, Whole};

/// Names of a person that speaks with a model, in lower case.
const PERSONS: [&str; 4] = ["user", "human", "you", "me"];
/// Names of a model that speaks with a person, in lower case.
const MODELS: [&str; 9] = [
    "assistant",
    "ai",
    "bot",
    "chatgpt",
    "claude",
    "codex",
    "copilot",
    "gemini",
    "gpt",
];
/// Of those, the ones that a program writes in lower case.
const ROLES: [&str; 3] = ["user", "human", "assistant"];
/// Words that stand before a colon and name no speaker, in lower case.
const NO_SPEAKERS: [&str; 22] = [
    "author",
    "bcc",
    "caution",
    "cc",
    "date",
    "error",
    "example",
    "fixme",
    "from",
    "hint",
    "important",
    "info",
    "note",
    "notes",
    "reply-to",
    "see also",
    "sent",
    "subject",
    "tip",
    "to",
    "todo",
    "warning",
];
const NAME_CHARACTERS_MAX: usize = 40;
const NAME_WORDS_MAX: usize = 4;
/// Lines with something in them that may stand before the first message of a person and a model: a
/// title, a date.
const HEAD_LINES_MAX: usize = 20;
/// The number of times that a name must start a line, and a question have an answer, to be no
/// chance.
const TURNS_MIN: usize = 2;

/// Reads such a file; none if it is no conversation.
///
/// # Errors
/// If it cannot be read, or is a conversation of more than [`SOURCE_FILE_BYTES_MAX`].
pub(super) fn read(source: &mut Source<'_>, take: &mut Take<'_>) -> io::Result<Option<Whole>> {
    let mut bytes = Vec::new();
    source
        .from(0)?
        .take(SOURCE_FILE_BYTES_MAX)
        .read_to_end(&mut bytes)?;
    let Some((conversation, repairs)) = gather(&bytes) else {
        return Ok(None);
    };
    if source.bytes > SOURCE_FILE_BYTES_MAX {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let beginning = Beginning {
        format: Format::Plain,
        is_from_start: true,
    };
    take(beginning, conversation)?;
    Ok(Some(Whole {
        format: Format::Plain,
        repairs,
        tally: Tally::default(),
    }))
}

/// Returns the conversation in a text, and the number of its repairs.
fn gather(bytes: &[u8]) -> Option<(Conversation, u64)> {
    if bytes.contains(&0) {
        return None;
    }
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let repairs = bytes
        .utf8_chunks()
        .filter(|chunk| !chunk.invalid().is_empty())
        .count();
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let is_code = fenced(&lines);
    let messages = by_speakers(&lines, &is_code).or_else(|| by_questions(&lines, &is_code))?;
    let mut conversation = Conversation::default();
    for (speaker, text) in messages {
        conversation.say(speaker, None, without_blank_lines(&text));
    }
    Some((conversation, repairs as u64))
}

/// A speaker and a text.
type Message<'a> = (&'a str, String);

/// The messages, if people are named often enough, or a person and a model are.
fn by_speakers<'a>(lines: &[&'a str], is_code: &[bool]) -> Option<Vec<Message<'a>>> {
    let turns: Vec<Option<(&str, &str)>> = lines
        .iter()
        .zip(is_code)
        .map(|(line, is_code)| if *is_code { None } else { turn(line) })
        .collect();
    let mut counts: HashMap<String, usize> = HashMap::new();
    for (name, _) in turns.iter().flatten() {
        *counts.entry(name.to_lowercase()).or_default() += 1;
    }
    let is_known = |names: &[&str]| names.iter().any(|name| counts.contains_key(*name));
    let often = counts.values().filter(|count| **count >= TURNS_MIN).count();
    let before = lines
        .iter()
        .zip(&turns)
        .take_while(|(_, turn)| turn.is_none())
        .map(|(line, _)| *line);
    let before: Vec<&str> = before.filter(|line| !line.trim().is_empty()).collect();
    let is_transcript = if is_known(&PERSONS) && is_known(&MODELS) {
        before.len() <= HEAD_LINES_MAX
    } else {
        often >= 2 && before.iter().all(|line| line.starts_with('#'))
    };
    if !is_transcript {
        return None;
    }
    let mut messages: Vec<Message<'_>> = Vec::new();
    for (line, turn) in lines.iter().zip(&turns) {
        let key = turn
            .map(|(name, _)| name.to_lowercase())
            .unwrap_or_default();
        let is_speaker = PERSONS.contains(&key.as_str())
            || MODELS.contains(&key.as_str())
            || counts.get(&key).is_some_and(|count| *count >= TURNS_MIN);
        match (turn, messages.last_mut()) {
            (Some((name, said)), _) if is_speaker => {
                messages.push((speaker(name, &key), (*said).to_owned()));
            }
            (_, Some((_, text))) => text.push_str(line),
            (_, None) => {}
        }
    }
    Some(messages)
}

/// The speaker that a line starts with, and what follows.
fn turn(line: &str) -> Option<(&str, &str)> {
    let (name, said) = match line.strip_prefix("**") {
        Some(bold) => {
            let (name, said) = bold.split_once("**")?;
            match name.strip_suffix(':') {
                Some(name) => (name, said),
                None => (name, said.strip_prefix(':')?),
            }
        }
        None => line.split_once(':')?,
    };
    let key = name.to_lowercase();
    let first = name.chars().next()?;
    let is_name = first.is_alphabetic()
        && (!first.is_lowercase() || ROLES.contains(&key.as_str()))
        && !name.ends_with(' ')
        && name.chars().count() <= NAME_CHARACTERS_MAX
        && name.split(' ').count() <= NAME_WORDS_MAX
        && name
            .chars()
            .all(|letter| letter.is_alphanumeric() || " .'’-_".contains(letter));
    let is_separate = said.is_empty() || said.starts_with(char::is_whitespace);
    let is_turn = is_name && is_separate && !NO_SPEAKERS.contains(&key.as_str());
    is_turn.then(|| (name, said.trim_start_matches([' ', '\t'])))
}

/// The usual word for one who is named by a role, else the name.
fn speaker<'a>(name: &'a str, key: &str) -> &'a str {
    match key {
        "assistant" | "ai" | "bot" => "assistant",
        _ if PERSONS.contains(&key) => "user",
        _ => name,
    }
}

/// The messages, if the text starts with a question and there are several that have answers.
fn by_questions<'a>(lines: &[&'a str], is_code: &[bool]) -> Option<Vec<Message<'a>>> {
    let mut messages: Vec<Message<'_>> = Vec::new();
    for (line, is_code) in lines.iter().zip(is_code) {
        let question = if *is_code { None } else { question(line) };
        let (speaker, text) = question.map_or(("assistant", *line), |text| ("user", text));
        match messages.last_mut() {
            Some((last, before)) if *last == speaker => before.push_str(text),
            Some(_) if speaker == "assistant" || !text.trim().is_empty() => {
                messages.push((speaker, text.to_owned()));
            }
            None if speaker == "user" => messages.push((speaker, text.to_owned())),
            None if !line.trim().is_empty() && !line.starts_with('#') => return None,
            _ => {}
        }
    }
    let is_answer =
        |(speaker, text): &&Message<'_>| *speaker == "assistant" && !text.trim().is_empty();
    let answers = messages.iter().filter(is_answer).count();
    (answers >= TURNS_MIN).then_some(messages)
}

/// Returns the question of a person in a line, with its end.
fn question(line: &str) -> Option<&str> {
    let asked = line.strip_prefix('>')?;
    asked
        .strip_prefix(' ')
        .or_else(|| asked.trim().is_empty().then_some(asked))
}

/// For each line whether it is a fence, or between one and the fence that closes it.
fn fenced(lines: &[&str]) -> Vec<bool> {
    let mut is_code = vec![false; lines.len()];
    // The shortest fence of each kind that nothing closes: none that is longer is closed either.
    let mut unclosed = HashMap::new();
    let mut place = 0;
    while place < lines.len() {
        let start = place;
        place += 1;
        let Some((mark, length, _)) = fence(lines[start]) else {
            continue;
        };
        if unclosed
            .get(&mark)
            .is_some_and(|shortest| length >= *shortest)
        {
            continue;
        }
        let closes = |line: &&str| {
            fence(line)
                .is_some_and(|(kind, count, is_bare)| kind == mark && count >= length && is_bare)
        };
        if let Some(count) = lines[place..].iter().position(closes) {
            place += count + 1;
            is_code[start..place].fill(true);
        } else {
            unclosed.insert(mark, length);
        }
    }
    is_code
}

/// The mark of a fence, how many there are, and whether nothing follows them.
fn fence(line: &str) -> Option<(char, usize, bool)> {
    let line = line.trim();
    let mark = line
        .chars()
        .next()
        .filter(|mark| matches!(mark, '`' | '~'))?;
    let rest = line.trim_start_matches(mark);
    let length = line.len() - rest.len();
    (length >= 3).then_some((mark, length, rest.is_empty()))
}

/// A text without the blank lines around it and the end of its last line.
fn without_blank_lines(text: &str) -> &str {
    let mut text = text;
    while let Some((line, rest)) = text.split_once('\n')
        && line.trim().is_empty()
    {
        text = rest;
    }
    while let Some((rest, line)) = text.rsplit_once('\n')
        && line.trim().is_empty()
    {
        text = rest;
    }
    text.strip_suffix('\r').unwrap_or(text)
}
