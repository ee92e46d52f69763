//! Comments are plain English: a sentence has a subject and a verb, and names the thing that it is
//! about.
//!
//! Each habit that makes a comment hard to read has a rate, in sentences or words for each 10,000
//! words of comments. The ratchet file holds the count of a habit that is still above its rate; the
//! count may only shrink.

use std::collections::BTreeMap;

use super::{Fault, Tree};

const RATCHET: &str = "xtask/words-ratchet.txt";
/// Where the comments are.
const SOURCES: &str = "crates/";

/// A habit, and how often it may occur in 10,000 words of comments.
struct Habit {
    name: &'static str,
    rate: usize,
    advice: &'static str,
    /// Whether it is this word, at the beginning of a sentence or not.
    is_met: fn(word: &str, begins_sentence: bool) -> bool,
}

const HABITS: [Habit; 3] = [
    Habit {
        name: "what",
        rate: 8,
        advice: "begin the sentence with its subject or a verb instead of \"What\"",
        is_met: |word, begins_sentence| begins_sentence && word == "What",
    },
    Habit {
        name: "nobody",
        rate: 2,
        advice: "name the caller, process or user instead of somebody, nobody, everybody or whoever",
        is_met: |word, _| {
            ["somebody", "nobody", "everybody", "whoever"]
                .iter()
                .any(|person| word.eq_ignore_ascii_case(person))
        },
    },
    Habit {
        name: "anew",
        rate: 0,
        advice: "write \"again\" or \"rebuild\" instead of \"anew\"",
        is_met: |word, _| word.eq_ignore_ascii_case("anew"),
    },
];

/// Holds the comments against the rate of each habit, or the ratchet.
pub fn check(tree: &Tree) -> Vec<Fault> {
    let mut words = 0;
    let mut counts = [0; HABITS.len()];
    for (path, text) in tree.texts("rs") {
        if path.starts_with(SOURCES) {
            words += count(text, &mut counts);
        }
    }
    let ratchet: BTreeMap<&str, usize> = tree
        .text(RATCHET)
        .unwrap_or_default()
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(name, count)| Some((name, count.parse().ok()?)))
        .collect();
    let mut faults = Vec::new();
    for (habit, count) in HABITS.iter().zip(counts) {
        let most = habit.rate * words / 10_000;
        let message = match ratchet.get(habit.name) {
            None if count > most => format!(
                "{} occurs {count} times in the comments under {SOURCES}, more than {most}: {}",
                habit.name, habit.advice
            ),
            Some(_) if count <= most => format!("{} is within {most}: remove it", habit.name),
            Some(allowed) if count < *allowed => format!(
                "{} shrank to {count}: write {count} for {allowed}",
                habit.name
            ),
            Some(allowed) if count > *allowed => format!(
                "{} grew from {allowed} to {count}: {}",
                habit.name, habit.advice
            ),
            _ => continue,
        };
        faults.push(Fault::new(RATCHET, message));
    }
    faults
}

/// Adds the habits in the comments of a file to `counts`; returns the number of words.
fn count(text: &str, counts: &mut [usize; HABITS.len()]) -> usize {
    let mut words = 0;
    let mut begins_sentence = true;
    for line in text.lines() {
        let Some(comment) = comment(line) else {
            begins_sentence = true;
            continue;
        };
        begins_sentence |= comment.is_empty();
        for word in comment.split_whitespace() {
            let bare = word.trim_matches(|letter: char| !letter.is_alphanumeric());
            words += usize::from(!bare.is_empty());
            for (habit, count) in HABITS.iter().zip(counts.iter_mut()) {
                *count += usize::from((habit.is_met)(bare, begins_sentence));
            }
            begins_sentence = word.ends_with(['.', '!', '?', ':']);
        }
    }
    words
}

/// The text of a line that is a comment.
fn comment(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("//")?;
    Some(rest.trim_start_matches(['/', '!']).trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults_of(text: &str, ratchet: &str) -> Vec<String> {
        let tree = Tree::from([("crates/a/src/lib.rs", text), (RATCHET, ratchet)]);
        check(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn plain_comments_and_code_pass() {
        let text = "//! Says what a word is.\nlet anew = \"What nobody knows\"; // anew\n";
        assert_eq!(faults_of(text, ""), Vec::<String>::new());
    }

    #[test]
    fn a_habit_above_its_rate_is_a_fault() {
        for text in [
            "/// What it says.\n",
            "// The end. What follows.\n",
            "//! Nobody knows.\n",
            "/// Made anew.\n",
        ] {
            assert_eq!(faults_of(text, "").len(), 1, "{text}");
        }
        let long = format!("/// {}\n/// What it says.\n", "word ".repeat(1_250));
        assert_eq!(faults_of(&long, ""), Vec::<String>::new());
    }

    #[test]
    fn the_ratchet_only_shrinks() {
        let text = "/// Made anew.\n\n/// Written anew.\n";
        assert_eq!(faults_of(text, "# counts\nanew 2\n"), Vec::<String>::new());
        assert!(faults_of(text, "anew 3\n")[0].contains("write 2 for 3"));
        assert!(faults_of(text, "anew 1\n")[0].contains("grew from 1 to 2"));
        assert!(faults_of("/// Made.\n", "anew 1\n")[0].contains("remove it"));
    }
}
