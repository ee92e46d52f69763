//! Wire formats that several dialects share.

use jiff::fmt::temporal::SpanParser;
use jiff::{SignedDuration, Unit};
use loci_core::{
    Caller, Error, Fact, LINES, Memory, Result, SOURCE_FILE, Timestamp, Version, limits,
};
use loci_engine::{
    Embedding, FactAuthor, Hit, Signals, TextPage, author_of, owner_name, shown_name,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};
use std::borrow::Cow;

/// Formats a time as RFC 3339 in UTC with `Z`, with as many fractional digits as needed.
pub fn rfc3339(moment: Timestamp) -> String {
    jiff::Timestamp::from_microsecond(moment.microseconds()).map_or_else(
        |_| moment.microseconds().to_string(),
        |moment| moment.to_string(),
    )
}

/// Formats a time as ISO 8601 in UTC without zone, with as many fractional digits as needed.
pub fn iso8601(moment: Timestamp) -> String {
    rfc3339(moment).trim_end_matches('Z').to_owned()
}

/// Formats a time as ISO 8601 in UTC with the offset `+00:00`, with as many fractional digits as
/// needed.
pub fn offset8601(moment: Timestamp) -> String {
    iso8601(moment) + "+00:00"
}

/// Returns the schema of a value that is a string or null.
pub fn string_or_null(_: &mut SchemaGenerator) -> Schema {
    // `tidy` would remove the null from a list of types.
    json_schema!({"anyOf": [{"type": "string"}, {"type": "null"}]})
}

/// Rounds a number to that many decimal places.
pub fn rounded(number: f64, digits: i32) -> f64 {
    let scale = 10f64.powi(digits);
    (number * scale).round() / scale
}

/// The file that a memory comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FromFile {
    /// The path of the file that it comes from, within the folder that was mined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source_file: Option<String>,
    /// The lines of that file that are shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lines: Option<String>,
}

impl FromFile {
    /// Returns the source file and lines of a memory.
    pub fn of(memory: &Memory) -> Self {
        FromFile {
            source_file: source_file(memory),
            lines: memory.attributes.get(LINES).cloned(),
        }
    }

    /// Returns the path, followed by a colon and the lines if they are known; `None` if the memory
    /// has no source file.
    pub fn place(&self) -> Option<String> {
        let path = self.source_file.as_ref()?;
        Some(
            self.lines
                .as_ref()
                .map_or_else(|| path.clone(), |lines| format!("{path}:{lines}")),
        )
    }
}

/// Returns the path of the file that a memory comes from: relative to the mined folder, or as its
/// writer gave it. Of any other absolute path, it returns only the file name, since the location is
/// private to the owner.
pub fn source_file(memory: &Memory) -> Option<String> {
    if let Some(path) = memory.source_path() {
        return Some(path.to_owned());
    }
    let path = memory.attributes.get(SOURCE_FILE)?;
    let begins_with_drive = path.as_bytes().get(1) == Some(&b':');
    let is_absolute =
        path.starts_with(['/', '\\', '~']) || begins_with_drive || path.starts_with("file:");
    if is_absolute {
        return path
            .rsplit(['/', '\\'])
            .find(|name| !name.is_empty())
            .map(str::to_owned);
    }
    Some(path.clone())
}

/// The authorship of a memory, as shown to a reader.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Authorship {
    /// Who wrote it, if not you: the name for people, with that of the owner where it is another
    /// one; `anonymous` for a caller without a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    author: Option<String>,
    /// Who wrote the text that it has now, if that is not who wrote it first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    updated_by: Option<String>,
}

impl Authorship {
    /// Returns the authorship of a memory for this reader.
    pub fn of(reader: &Caller, memory: &Memory) -> Self {
        Authorship {
            author: author_of(reader, memory),
            updated_by: memory.updated_by.as_deref().map(shown_name),
        }
    }

    /// Returns the author, if that is not the reader.
    pub fn author(&self) -> Option<&str> {
        self.author.as_deref()
    }

    /// Returns the writer of the current text, if that is neither the reader nor the author.
    pub fn updated_by(&self) -> Option<&str> {
        self.updated_by.as_deref()
    }

    /// Returns the authorship of an item that is not a memory, from its owner.
    pub fn of_owner(reader: &Caller, owner: Option<&str>) -> Self {
        Authorship {
            author: owner_name(reader, owner),
            updated_by: None,
        }
    }
}

/// The authorship of a fact, as shown to a reader.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FactAuthorship {
    /// Who asserted it, if not you; `anonymous` for a caller without a name, null if that is not
    /// known.
    #[serde(skip_serializing_if = "is_reader", serialize_with = "serialize_author")]
    #[schemars(schema_with = "string_or_null")]
    author: FactAuthor,
}

fn is_reader(author: &FactAuthor) -> bool {
    *author == FactAuthor::Reader
}

fn serialize_author<S: Serializer>(
    author: &FactAuthor,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    match author {
        FactAuthor::Other(name) => serializer.serialize_str(name),
        FactAuthor::Reader | FactAuthor::Unknown => serializer.serialize_none(),
    }
}

impl FactAuthorship {
    /// Returns the authorship of a fact for this reader.
    pub fn of(reader: &Caller, fact: &Fact) -> Self {
        FactAuthorship {
            author: FactAuthor::of(reader, fact),
        }
    }
}

/// The most characters of a replaced text in the reply to the change.
const REPLACED_CHARACTERS: usize = 400;

/// The text that a change replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Replaced {
    /// The former text, or its first 400 characters.
    content: String,
    /// Its number of characters, if not all are here.
    #[serde(skip_serializing_if = "Option::is_none")]
    content_length: Option<usize>,
    /// When it was written.
    updated_at: String,
}

impl Replaced {
    /// Returns a text that was written at that time.
    pub fn of(text: &str, written_at: Timestamp) -> Self {
        let content: String = text.chars().take(REPLACED_CHARACTERS).collect();
        Replaced {
            content_length: (content.len() < text.len()).then(|| text.chars().count()),
            content,
            updated_at: rfc3339(written_at),
        }
    }

    /// Returns the text of a version of a memory.
    pub fn of_version(version: &Version) -> Self {
        Replaced::of(
            version.content.as_deref().unwrap_or_default(),
            version.updated_at,
        )
    }
}

/// Returns how often the text of a result was found, if more than once.
pub fn times_said(hit: &Hit) -> Option<usize> {
    Some(hit.times_said()).filter(|times| *times > 1)
}

/// The part of a text that is shown, if it is not the whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Truncation {
    /// True if the text is not the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    truncated: Option<bool>,
    /// Characters of the whole text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    length: Option<usize>,
    /// The `offset` of the next page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
    /// The call that reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    read_on: Option<String>,
}

impl Truncation {
    /// Describes an excerpt of a text of `length` characters; `call` names the call that reads it
    /// from an offset.
    pub fn of(length: Option<usize>, call: impl FnOnce(Option<usize>) -> String) -> Self {
        Truncation {
            truncated: length.map(|_| true),
            length,
            next_offset: None,
            read_on: length.map(|_| call(None)),
        }
    }

    /// Describes a page of a text; `call` names the call that reads the next page.
    pub fn of_page(page: &TextPage, call: impl FnOnce(Option<usize>) -> String) -> Self {
        let TextPage {
            length,
            next_offset,
            ..
        } = *page;
        let read_on = next_offset.map(|offset| call(Some(offset)));
        Truncation {
            truncated: length.map(|_| true),
            length,
            next_offset,
            read_on,
        }
    }
}

/// Formats the call of a tool with these arguments that reads a text, from an offset if given.
pub fn reading_call(tool: &str, arguments: &[(&str, &str)], offset: Option<usize>) -> String {
    let named = arguments
        .iter()
        .map(|(name, value)| format!("{name}={}", Value::from(*value)));
    let named: Vec<String> = named
        .chain(offset.map(|offset| format!("offset={offset}")))
        .collect();
    format!("{tool}({})", named.join(", "))
}

/// Returns a notice of how many requested records were left out of a reply that shows `shown`, and
/// of the remedy.
pub fn left_out(shown: usize, left_out: usize, what_helps: &str) -> Option<String> {
    let all = shown + left_out;
    (left_out > 0).then(|| {
        format!("{left_out} of {all} did not fit into the reply: {what_helps}, or give a larger `budget_tokens`")
    })
}

/// Joins two notices.
pub fn both(first: Option<String>, second: Option<String>) -> Option<String> {
    let said: Vec<String> = [first, second].into_iter().flatten().collect();
    (!said.is_empty()).then(|| said.join("; "))
}

/// Explains the score and rank of a result, for `_meta` and for people.
pub fn explained(hit: &Hit) -> Value {
    let Signals {
        relevance,
        words,
        meaning,
        bm25,
        cosine,
        coverage,
        words_weight,
        context,
        asked_for,
        identifiers,
        passage,
        rank_by_words,
        rank_by_meaning,
        rank_by_reranker,
        access_count,
        strength,
        ..
    } = hit.signals;
    let mut explained = json!({
        "id": hit.memory.id.as_str(),
        "said_by": hit.memory.said_by().name(),
        "program": hit.memory.provenance.program,
        "final": rounded(hit.score, 6),
        "relevance": rounded(relevance, 4),
        "words": rounded(words, 4),
        "meaning": rounded(meaning, 4),
        "coverage": rounded(coverage, 4),
        "bm25": rounded(f64::from(bm25), 4),
        "cosine": cosine.map(|cosine| rounded(f64::from(cosine), 4)),
        "words_weight": rounded(words_weight, 4),
        "context": rounded(context, 4),
        "signals": rounded(asked_for, 4),
        "identifiers": identifiers,
        "passage": passage + 1,
        "rank_by_words": rank_by_words,
        "rank_by_meaning": rank_by_meaning,
        "access_count": access_count,
        "strength": strength.map(|strength| rounded(strength, 2)),
        "weight": hit.signals.weight,
        "age_days": rounded(hit.signals.age_days, 4),
    });
    if let Some(rank) = rank_by_reranker {
        explained["rank_by_reranker"] = rank.into();
    }
    explained
}

/// Returns a notice that vector search does not find the written memory yet.
pub fn pending(done: &str, embedding: Embedding) -> Option<String> {
    match embedding {
        Embedding::Done => None,
        Embedding::Pending(reason) => Some(format!(
            "{done} and found by its words, not yet by its meaning: {reason}"
        )),
    }
}

/// A whole number of at least `MIN`. A count is clamped to its maximum, so the schema has no
/// maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whole<const MIN: u64>(pub usize);

/// The number of results.
pub type Count = Whole<1>;
/// The number of records to skip.
pub type Offset = Whole<0>;

impl<'de, const MIN: u64> Deserialize<'de> for Whole<MIN> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        // JSON Schema and some serialisers treat 5.0 as a whole number.
        f64::deserialize(deserializer).map(|number| Whole(number as usize))
    }
}

impl<const MIN: u64> JsonSchema for Whole<MIN> {
    fn schema_name() -> Cow<'static, str> {
        format!("Whole{MIN}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer", "minimum": MIN})
    }
}

/// Tags; blank ones are dropped, and white space around them is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(from = "Vec<String>")]
pub struct Tags(pub Vec<String>);

impl From<Vec<String>> for Tags {
    fn from(tags: Vec<String>) -> Self {
        let trimmed = |tag: &String| Some(tag.trim().to_owned()).filter(|tag| !tag.is_empty());
        Tags(tags.iter().filter_map(trimmed).collect())
    }
}

/// Parses a time to live and returns its seconds: `90s`, `45m`, `24h`, `7d`, `2w`, several in a row
/// (`1h30m`), or ISO 8601 (`P3D`, `PT12H`). Fractions of a second are rounded up.
///
/// # Errors
/// `invalid_argument` for any other form, for zero or a negative duration, and beyond 100 years.
pub fn ttl_seconds(argument: &str, text: &str) -> Result<u64> {
    let accepted = || {
        let problem = "must be a duration above zero such as 90s, 45m, 24h, 7d, 2w, 1h30m or P3D, at most 100 years";
        Error::invalid(argument, problem)
    };
    let text = text.trim();
    let seconds = if text.starts_with(['P', 'p']) {
        iso_seconds(text)
    } else {
        unit_seconds(text)
    };
    let seconds = seconds
        .filter(|seconds| *seconds > 0.0)
        .ok_or_else(accepted)?
        .ceil();
    let seconds_max = limits::TTL_DAYS_MAX * 86_400;
    if seconds > seconds_max as f64 {
        Err(accepted())
    } else {
        Ok(seconds as u64)
    }
}

/// Parses an ISO 8601 duration, with 30 days per month and 365 per year.
fn iso_seconds(text: &str) -> Option<f64> {
    static PARSER: SpanParser = SpanParser::new();
    let span = PARSER.parse_span(text).ok()?;
    let days = f64::from(span.get_years()) * 365.0 + f64::from(span.get_months()) * 30.0;
    let rest = span
        .years(0)
        .months(0)
        .total((Unit::Second, jiff::SpanRelativeTo::days_are_24_hours()))
        .ok()?;
    Some(days * 86_400.0 + rest)
}

/// Parses a sequence of numbers with units, as in Go, with days and weeks added.
fn unit_seconds(text: &str) -> Option<f64> {
    let mut rest = text;
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let number_end =
            rest.find(|character: char| !character.is_ascii_digit() && character != '.')?;
        let number: f64 = rest[..number_end].parse().ok()?;
        rest = &rest[number_end..];
        let unit_end = rest
            .find(|character: char| character.is_ascii_digit() || character == '.')
            .unwrap_or(rest.len());
        let unit = match &rest[..unit_end] {
            "w" => 604_800.0,
            "d" => 86_400.0,
            "h" => 3_600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "us" | "µs" | "μs" => 1e-6,
            "ns" => 1e-9,
            _ => return None,
        };
        seconds += number * unit;
        rest = &rest[unit_end..];
    }
    Some(seconds)
}

/// Formats a time to live as [`ttl_seconds`] parses it, in days and smaller units: `9d12h`.
pub fn ttl_text(from: Timestamp, to: Timestamp) -> String {
    let length = SignedDuration::from_micros(to.microseconds().saturating_sub(from.microseconds()));
    let mut seconds = length.as_secs().max(0);
    let mut text = String::new();
    for (unit, unit_seconds) in [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)] {
        if seconds >= unit_seconds {
            text += &format!("{}{unit}", seconds / unit_seconds);
            seconds %= unit_seconds;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_replaced_text_the_beginning_is_shown() {
        let at = Timestamp::from_microseconds(0);
        let rows = [
            ("ä".repeat(400), 400, None),
            ("ä".repeat(401), 400, Some(401)),
            (String::new(), 0, None),
        ];
        for (text, shown, length) in rows {
            let replaced = Replaced::of(&text, at);
            let found = (replaced.content.chars().count(), replaced.content_length);
            assert_eq!(found, (shown, length));
            assert_eq!(replaced.updated_at, "1970-01-01T00:00:00Z");
        }
    }

    #[test]
    fn times_to_live() {
        let rows = [
            ("24h", Some(86_400)),
            ("7d", Some(604_800)),
            ("1w", Some(604_800)),
            ("90s", Some(90)),
            ("45m", Some(2_700)),
            ("1h30m", Some(5_400)),
            ("1.5h", Some(5_400)),
            ("500ms", Some(1)),
            ("P3D", Some(259_200)),
            ("PT12H", Some(43_200)),
            ("P1M", Some(2_592_000)),
            ("P1DT1H", Some(90_000)),
            (" 3d ", Some(259_200)),
            ("", None),
            ("0h", None),
            ("-1h", None),
            ("-P1D", None),
            ("3", None),
            ("d", None),
            ("3 days", None),
            ("3mo", None),
            ("1e9d", None),
            ("99999999999d", None),
            ("P", None),
            ("..h", None),
            ("101y", None),
            ("3d!", None),
        ];
        for (text, expected) in rows {
            assert_eq!(ttl_seconds("ttl", text).ok(), expected, "{text:?}");
        }
    }

    #[test]
    fn times_to_live_read_back() {
        let start = Timestamp::from_microseconds(0);
        for text in ["7d", "1d", "1h30m", "45m", "10s", "1d1h1m1s"] {
            let seconds = ttl_seconds("ttl", text).unwrap();
            assert_eq!(ttl_text(start, start.plus_seconds(seconds as i64)), text);
        }
    }

    #[test]
    fn moments_are_utc() {
        assert_eq!(
            rfc3339(Timestamp::from_microseconds(1_742_034_600_000_000)),
            "2025-03-15T10:30:00Z"
        );
        assert_eq!(
            rfc3339(Timestamp::from_microseconds(1_500_000)),
            "1970-01-01T00:00:01.5Z"
        );
        assert_eq!(
            iso8601(Timestamp::from_microseconds(1_742_034_600_000_000)),
            "2025-03-15T10:30:00"
        );
        assert_eq!(
            iso8601(Timestamp::from_microseconds(1_500_000)),
            "1970-01-01T00:00:01.5"
        );
        assert_eq!(
            offset8601(Timestamp::from_microseconds(1_500_000)),
            "1970-01-01T00:00:01.5+00:00"
        );
    }
}
