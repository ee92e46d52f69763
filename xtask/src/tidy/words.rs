//! Comments, messages and documents are plain English: a sentence has a subject and a verb, and
//! names the thing that it is about.
//!
//! Each habit that makes a sentence hard to read has a rate for 10,000 words, taken from the comments
//! of well-read projects (e.g. ripgrep and tantivy write "of them" twice in that many). A place is
//! held to it as a whole, because the rate of a single file says little: a crate with its comments
//! and messages, the tools, the decision records, or the other documents. The ratchet file holds the
//! count of a habit in a place that is still above the rate; the count may only shrink.

use std::collections::BTreeMap;

use super::rust_source::RustSource;
use super::{Fault, Tree};

const RATCHET: &str = "xtask/words-ratchet.txt";
/// Documents that tell what was, or that others wrote.
const UNCOUNTED: [&str; 3] = ["CHANGELOG.md", "THIRD-PARTY-NOTICES.txt", "plugins/"];
/// The fewest words of a string literal that is a message. Shorter ones are names and codes.
const MESSAGE_WORDS_MIN: usize = 4;
/// The most files that a fault names.
const FILES_SHOWN: usize = 5;

/// A word and what stands before it.
struct Word<'a> {
    text: &'a str,
    /// The word before it in the same clause, or nothing.
    previous: &'a str,
    opens: Opens,
}

/// The largest thing of which a word is the first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Opens {
    Nothing,
    Sentence,
    /// A block of doc comments (`///` or `//!`).
    Doc,
}

impl Word<'_> {
    fn is_any(&self, words: &[&str]) -> bool {
        words
            .iter()
            .any(|word| self.text.eq_ignore_ascii_case(word))
    }

    fn follows(&self, words: &[&str]) -> bool {
        words
            .iter()
            .any(|word| self.previous.eq_ignore_ascii_case(word))
    }
}

/// A habit, and how often it may occur.
struct Habit {
    name: &'static str,
    /// In 100,000 words.
    rate: usize,
    advice: &'static str,
    is_met: fn(&Word<'_>) -> bool,
}

const HABITS: [Habit; 10] = [
    Habit {
        name: "what",
        rate: 80,
        advice: "start the sentence with its subject or a verb instead of \"What\"",
        is_met: |word| word.opens != Opens::Nothing && word.text == "What",
    },
    Habit {
        name: "question",
        rate: 50,
        advice: "start a doc comment with a noun or a verb (e.g. \"Returns whether ..\", \
                 \"The number of ..\") instead of What, Whether, How, Which or Those",
        is_met: |word| {
            word.opens == Opens::Doc && word.is_any(&["What", "Whether", "How", "Which", "Those"])
        },
    },
    Habit {
        name: "nobody",
        rate: 20,
        advice: "name the caller, process or user instead of somebody, nobody, everybody or whoever",
        is_met: |word| word.is_any(&["somebody", "nobody", "everybody", "whoever"]),
    },
    Habit {
        name: "anew",
        rate: 0,
        advice: "write \"again\" or \"rebuild\" instead of \"anew\"",
        is_met: |word| word.is_any(&["anew"]),
    },
    Habit {
        name: "those",
        rate: 20,
        advice: "repeat the noun instead of \"those that\" or \"those of\"",
        is_met: |word| word.is_any(&["that", "of"]) && word.follows(&["those"]),
    },
    Habit {
        name: "of-it",
        rate: 30,
        advice: "write \"its\", \"their\" or the noun instead of \"of it\" or \"of them\"",
        is_met: |word| word.is_any(&["it", "them"]) && word.follows(&["of"]),
    },
    Habit {
        name: "alone",
        rate: 30,
        advice: "write \"only\" instead of \"alone\"",
        is_met: |word| word.is_any(&["alone"]),
    },
    Habit {
        name: "none",
        rate: 5,
        advice: "write \"there is no ..\" or \"not a ..\" instead of \"is none\" or \"are none\"",
        is_met: |word| word.is_any(&["none"]) && word.follows(&["is", "are"]),
    },
    Habit {
        name: "meanwhile",
        rate: 10,
        advice: "say what happens first, with \"while\", \"until\" or \"since\", instead of \"meanwhile\"",
        is_met: |word| word.is_any(&["meanwhile"]),
    },
    Habit {
        name: "begin",
        rate: 30,
        advice: "write \"start\" instead of \"begin\"",
        // `BEGIN` starts a transaction in SQL, or a file in PEM.
        is_met: |word| word.text != "BEGIN" && word.is_any(&["begin", "begins", "began", "begun"]),
    },
];

/// The words of a place, and how often each habit occurs among them.
#[derive(Default)]
struct Tally {
    words: usize,
    counts: [usize; HABITS.len()],
    /// The files in which each habit occurs, in order.
    files: [Vec<String>; HABITS.len()],
}

impl Tally {
    /// Counts a file, and notes which habits it has.
    fn count(&mut self, path: &str, count: impl FnOnce(&mut Tally)) {
        let before = self.counts;
        count(self);
        for ((before, after), files) in before.iter().zip(self.counts).zip(&mut self.files) {
            if after > *before {
                files.push(path.to_owned());
            }
        }
    }

    /// The most occurrences of a habit, rounded, so that the places together keep to the rate.
    fn limit(&self, habit: &Habit) -> usize {
        (habit.rate * self.words + 50_000) / 100_000
    }
}

/// Holds each place against the rates, or its lines of the ratchet file: `PLACE HABIT COUNT`.
pub fn check(tree: &Tree, sources: &BTreeMap<String, RustSource>) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut ratchet = ratchet(tree);
    for (place, tally) in tallies(tree, sources) {
        for ((habit, count), files) in HABITS.iter().zip(tally.counts).zip(&tally.files) {
            let limit = tally.limit(habit);
            let key = format!("{place} {}", habit.name);
            let advice = format!("{} (in {})", habit.advice, shown(files));
            let message = match ratchet.remove(&key) {
                None if count > limit => {
                    format!("{key} occurs {count} times, more than {limit}: {advice}")
                }
                Some(_) if count <= limit => format!("{key} is within {limit}: remove it"),
                Some(allowed) if count < allowed => {
                    format!("{key} shrank to {count}: write {count} for {allowed}")
                }
                Some(allowed) if count > allowed => {
                    format!("{key} grew from {allowed} to {count}: {advice}")
                }
                _ => continue,
            };
            faults.push(Fault::new(RATCHET, message));
        }
    }
    let gone = ratchet.into_keys();
    faults.extend(gone.map(|key| Fault::new(RATCHET, format!("there is no {key}: remove it"))));
    faults
}

/// The first files, and the number of the others.
fn shown(files: &[String]) -> String {
    let (first, rest) = files.split_at(files.len().min(FILES_SHOWN));
    match rest.len() {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

fn ratchet(tree: &Tree) -> BTreeMap<String, usize> {
    let text = tree.text(RATCHET).unwrap_or_default();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| line.rsplit_once(' '))
        .filter_map(|(key, count)| Some((key.to_owned(), count.parse().ok()?)))
        .collect()
}

fn tallies(tree: &Tree, sources: &BTreeMap<String, RustSource>) -> BTreeMap<String, Tally> {
    let mut tallies = BTreeMap::<String, Tally>::new();
    for (path, text) in tree.texts("rs") {
        let product = sources
            .get(path)
            .filter(|source| path.starts_with("crates/") && !source.is_test);
        let messages = product.map(RustSource::strings).unwrap_or_default();
        let tally = tallies.entry(place_of(path)).or_default();
        tally.count(path, |tally| {
            count_comments(text, tally);
            for message in messages {
                if message.split_whitespace().count() >= MESSAGE_WORDS_MIN {
                    count_lines(message.lines(), tally);
                }
            }
        });
    }
    for (path, text) in tree.texts("md") {
        if !UNCOUNTED.iter().any(|other| path.starts_with(other)) {
            let tally = tallies.entry(place_of(path)).or_default();
            tally.count(path, |tally| count_document(text, tally));
        }
    }
    tallies
}

/// The place that the file at `path` belongs to, e.g. `crates/loci-core`, `docs/adr` or `docs`.
fn place_of(path: &str) -> String {
    let mut parts = path.split('/');
    match (parts.next(), parts.next(), parts.next()) {
        (Some("crates"), Some(name), Some(_)) => format!("crates/{name}"),
        (Some("docs"), Some("adr"), Some(_)) => "docs/adr".to_owned(),
        _ if matches!(path.rsplit_once('.'), Some((_, "md"))) => "docs".to_owned(),
        (Some(folder), _, _) => folder.to_owned(),
        (None, _, _) => String::new(),
    }
}

/// Counts the lines of a file that are comments.
fn count_comments(text: &str, tally: &mut Tally) {
    let mut counter = Counter::default();
    let mut in_doc = false;
    for line in text.lines() {
        let Some(rest) = line.trim_start().strip_prefix("//") else {
            counter.opens = Opens::Sentence;
            in_doc = false;
            continue;
        };
        let is_doc = rest.starts_with(['/', '!']);
        if is_doc && !in_doc {
            counter.opens = Opens::Doc;
        }
        in_doc = is_doc;
        counter.line(rest.trim_start_matches(['/', '!']).trim(), tally);
    }
}

/// Counts a Markdown document, without its blocks of code.
fn count_document(text: &str, tally: &mut Tally) {
    let mut in_code = false;
    let prose = text.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    });
    count_lines(prose, tally);
}

fn count_lines<'a>(lines: impl Iterator<Item = &'a str>, tally: &mut Tally) {
    let mut counter = Counter::default();
    for line in lines {
        counter.line(line.trim(), tally);
    }
}

/// Reads lines word by word, across their ends.
struct Counter {
    opens: Opens,
    /// The word before, unless a mark ended the clause there.
    previous: String,
    /// True if the next word stands between backticks, as names of code do.
    in_code: bool,
}

impl Default for Counter {
    fn default() -> Self {
        Counter {
            opens: Opens::Sentence,
            previous: String::new(),
            in_code: false,
        }
    }
}

impl Counter {
    fn line(&mut self, line: &str, tally: &mut Tally) {
        if line.is_empty() {
            self.in_code = false;
        }
        if self.opens != Opens::Nothing || line.is_empty() {
            self.previous.clear();
            if self.opens == Opens::Nothing {
                self.opens = Opens::Sentence;
            }
        }
        for word in line.split_whitespace() {
            let starts_in_code = self.in_code || word.starts_with('`');
            self.in_code ^= word.matches('`').count() % 2 == 1;
            let text = word.trim_matches(|letter: char| !letter.is_alphanumeric());
            if text.is_empty() {
                continue;
            }
            tally.words += 1;
            if !starts_in_code {
                let word = Word {
                    text,
                    previous: &self.previous,
                    opens: self.opens,
                };
                for (habit, count) in HABITS.iter().zip(&mut tally.counts) {
                    *count += usize::from((habit.is_met)(&word));
                }
            }
            self.opens = if word.ends_with(['.', '!', '?', ':']) {
                Opens::Sentence
            } else {
                Opens::Nothing
            };
            self.previous.clear();
            if !word.ends_with(|letter: char| letter.is_ascii_punctuation()) {
                self.previous.push_str(text);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rust_source::parse_all;

    fn faults_of(path: &str, text: &str, ratchet: &str) -> Vec<String> {
        let tree = Tree::from([(path, text), (RATCHET, ratchet)]);
        let (sources, _) = parse_all(&tree);
        check(&tree, &sources)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    fn comment_faults(text: &str, ratchet: &str) -> Vec<String> {
        faults_of("crates/a/src/lib.rs", text, ratchet)
    }

    #[test]
    fn plain_comments_and_code_pass() {
        for text in [
            "//! Says what a word is.\nfn f() { let anew = \"What nobody knows\"; } // anew\n",
            "/// Calls `begin`, then `those of`, e.g. of its file.\nfn f() {}\n",
            "/// Not those, that are of another kind. Of course it is. None of that.\nfn f() {}\n",
            "#[cfg(test)]\nmod tests { fn f() { g(\"this one was made anew here\"); } }\n",
            "fn f() { g(\"BEGIN ISOLATION LEVEL READ COMMITTED\"); }\n",
        ] {
            assert_eq!(comment_faults(text, ""), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn a_habit_above_its_rate_is_a_fault() {
        for text in [
            "// What it says.\n",
            "// The end. What follows.\n",
            "/// Whether it is so.\n",
            "//! Nobody knows.\n",
            "/// Made anew.\n",
            "/// Reads those\n/// that remain.\n",
            "/// The first of them.\n",
            "/// Reads this alone.\n",
            "/// Where there is none.\n",
            "/// Waits meanwhile.\n",
            "/// A text that begins here.\n",
            "fn f() { fail!(\"the index was written anew\"); }\n",
        ] {
            assert_eq!(comment_faults(text, "").len(), 1, "{text}");
        }
        let long = format!("// {}\n// What it says.\n", "word ".repeat(1_250));
        assert_eq!(comment_faults(&long, ""), Vec::<String>::new());
    }

    #[test]
    fn documents_count_without_their_code() {
        let text = "# Title\n\nMade anew.\n\n```sh\nmake anew\n```\n\nAs `anew` says.\n";
        for (path, expected) in [
            ("docs/adr/0001-a.md", "docs/adr anew occurs 1 times"),
            ("docs/a.md", "docs anew occurs 1 times"),
            ("README.md", "docs anew occurs 1 times"),
        ] {
            let faults = faults_of(path, text, "");
            assert_eq!(faults.len(), 1, "{path}");
            assert!(faults[0].contains(expected), "{}", faults[0]);
        }
        assert_eq!(faults_of("CHANGELOG.md", text, ""), Vec::<String>::new());
    }

    #[test]
    fn the_ratchet_only_shrinks() {
        let text = "/// Made anew.\n\n/// Written anew.\n";
        assert_eq!(
            comment_faults(text, "# counts\ncrates/a anew 2\n"),
            Vec::<String>::new()
        );
        assert!(comment_faults(text, "crates/a anew 3\n")[0].contains("write 2 for 3"));
        assert!(comment_faults(text, "crates/a anew 1\n")[0].contains("grew from 1 to 2"));
        assert!(comment_faults(text, "")[0].contains("(in crates/a/src/lib.rs)"));
        assert!(comment_faults("/// Made.\n", "crates/a anew 1\n")[0].contains("remove it"));
        assert!(comment_faults("/// Made.\n", "crates/b anew 1\n")[0].contains("there is no"));
    }
}
