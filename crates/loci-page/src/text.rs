//! The texts of the page, in every language that `messages` has.

use std::sync::LazyLock;

use fluent_bundle::concurrent::FluentBundle;
use fluent_bundle::{FluentArgs, FluentResource, FluentValue};
use fluent_langneg::{
    NegotiationStrategy, convert_vec_str_to_langids_lossy, negotiate_languages,
    parse_accepted_languages,
};
use unic_langid::LanguageIdentifier;

/// The languages and their messages. The first one has every message.
const FILES: [(&str, &str); 2] = [
    (
        "en",
        concat!(
            include_str!("../messages/en.ftl"),
            include_str!("../messages/browse_en.ftl"),
            include_str!("../messages/conversation_en.ftl")
        ),
    ),
    (
        "de",
        concat!(
            include_str!("../messages/de.ftl"),
            include_str!("../messages/browse_de.ftl"),
            include_str!("../messages/conversation_de.ftl")
        ),
    ),
];

static BUNDLES: LazyLock<Vec<Bundle>> = LazyLock::new(|| {
    FILES
        .into_iter()
        .map(|(language, source)| bundle(language, source))
        .collect()
});

struct Bundle {
    language: LanguageIdentifier,
    messages: FluentBundle<FluentResource>,
}

fn bundle(language: &str, source: &str) -> Bundle {
    // The well-formed part of a file is used; a test fails for a file with a fault.
    let resource = FluentResource::try_new(source.to_owned()).unwrap_or_else(|(partly, _)| partly);
    let language: LanguageIdentifier = language.parse().unwrap_or_default();
    let mut messages = FluentBundle::new_concurrent(vec![language.clone()]);
    messages.set_use_isolating(false);
    messages.set_formatter(match language.language.as_str() {
        "de" => Some(|value, _| grouped(value, '.')),
        _ => Some(|value, _| grouped(value, ',')),
    });
    // `NUMBER` is there already only if it was added before.
    let _ = messages.add_builtins();
    let _ = messages.add_resource(resource);
    Bundle { language, messages }
}

/// Writes a whole number in groups of three digits, e.g. 3,683.
fn grouped(value: &FluentValue<'_>, separator: char) -> Option<String> {
    let FluentValue::Number(number) = value else {
        return None;
    };
    let digits = number.as_string();
    if !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(separator);
        }
        grouped.push(digit);
    }
    Some(grouped)
}

/// Returns the names of the messages that begin like this.
pub(crate) fn names_beginning(beginning: &str) -> impl Iterator<Item = &'static str> {
    let (_, messages) = FILES[0];
    let names = messages.lines().filter_map(|line| line.split_once(" = "));
    names.filter_map(move |(name, _)| name.starts_with(beginning).then_some(name))
}

/// One of the languages of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Language(usize);

impl Language {
    /// Returns the language that suits an `Accept-Language` header best; English if none does.
    pub fn accepted(header: &str) -> Self {
        let wanted = parse_accepted_languages(header);
        let known = convert_vec_str_to_langids_lossy(FILES.map(|(language, _)| language));
        let best = negotiate_languages(&wanted, &known, None, NegotiationStrategy::Lookup);
        best.first()
            .and_then(|best| BUNDLES.iter().position(|bundle| bundle.language == **best))
            .map_or_else(Language::default, Language)
    }

    /// Returns all languages of the page.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..FILES.len()).map(Language)
    }

    /// Returns the language with a tag.
    pub fn of_tag(tag: &str) -> Option<Self> {
        Language::all().find(|language| language.tag() == tag)
    }

    /// Returns its tag, as HTML writes it.
    pub fn tag(self) -> &'static str {
        FILES[self.0].0
    }

    /// Returns a message, with these values in it. A message that this language lacks is in
    /// English; one that no file has is its own name.
    pub fn message(self, name: &str, values: &[(&'static str, Value)]) -> String {
        let mut arguments = FluentArgs::new();
        for (key, value) in values {
            arguments.set(*key, FluentValue::from(value));
        }
        let of = |bundle: &Bundle| {
            let pattern = bundle.messages.get_message(name)?.value()?;
            let mut faults = Vec::new();
            let text = bundle
                .messages
                .format_pattern(pattern, Some(&arguments), &mut faults);
            Some(text.into_owned())
        };
        of(&BUNDLES[self.0])
            .or_else(|| of(&BUNDLES[0]))
            .unwrap_or_else(|| name.to_owned())
    }
}

/// A value in a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A number, by which a language may choose a form.
    Number(u64),
    /// A text.
    Text(String),
}

impl From<&Value> for FluentValue<'_> {
    fn from(value: &Value) -> Self {
        match value {
            Value::Number(number) => FluentValue::from(*number),
            Value::Text(text) => FluentValue::from(text.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use fluent_bundle::FluentResource;

    use super::*;

    #[test]
    fn the_language_follows_the_browser() {
        let rows = [
            ("de-AT,de;q=0.9,en;q=0.8", "de"),
            ("en-GB,en;q=0.9,de;q=0.1", "en"),
            ("fr", "en"),
            ("", "en"),
            (";;;", "en"),
        ];
        for (header, tag) in rows {
            assert_eq!(Language::accepted(header).tag(), tag, "{header:?}");
        }
    }

    #[test]
    fn numbers_choose_their_form() {
        let shown = |number| {
            Language::default().message("count-memories", &[("count", Value::Number(number))])
        };
        assert_eq!([shown(1), shown(2)], ["1 memory", "2 memories"]);
        assert_eq!(shown(1_234_567), "1,234,567 memories");
        let german = Language::of_tag("de").unwrap();
        let count = ("count", Value::Number(3_683));
        assert_eq!(
            german.message("count-memories", &[count]),
            "3.683 Erinnerungen"
        );
        let rank =
            |number| Language::default().message("rank", &[("count", Value::Number(number))]);
        assert_eq!([1, 2, 13, 23].map(rank), ["1st", "2nd", "13th", "23rd"]);
    }

    /// Returns the names of messages in a file, and fails on what is not well formed.
    fn names(source: &str) -> BTreeSet<&str> {
        assert!(FluentResource::try_new(source.to_owned()).is_ok());
        let lines = source
            .lines()
            .filter(|line| line.starts_with(|first: char| first.is_ascii_lowercase()));
        let mut names = BTreeSet::new();
        for name in lines.filter_map(|line| Some(line.split_once(" =")?.0)) {
            assert!(names.insert(name), "`{name}` is there twice");
        }
        names
    }

    #[test]
    fn every_language_has_the_messages_that_the_page_uses() {
        let all: Vec<_> = FILES.map(|(_, source)| names(source)).into();
        let (english, others) = all.split_first().unwrap();
        for other in others {
            assert_eq!(other, english, "the files differ in their messages");
        }
        let mut used = BTreeSet::new();
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/templates");
        let mut sources: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap())
            .collect();
        sources.push(rust_sources(
            concat!(env!("CARGO_MANIFEST_DIR"), "/src").as_ref(),
        ));
        for source in &sources {
            for call in [".t(\"", ".n(\"", ".with(\"", "message: \"", "label: \""] {
                for rest in source.split(call).skip(1) {
                    used.insert(rest.split_once('"').unwrap().0.to_owned());
                }
            }
        }
        for name in &used {
            assert!(english.contains(name.as_str()), "no message `{name}`");
        }
    }

    fn rust_sources(folder: &std::path::Path) -> String {
        let mut all = String::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                all += &rust_sources(&path);
            } else if path.file_name().is_some_and(|name| name != "text.rs") {
                all += &std::fs::read_to_string(&path).unwrap();
            }
        }
        all
    }
}
