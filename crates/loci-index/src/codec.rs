//! The form in which stores keep terms, vectors and lists: the terms and the vector of a passage as
//! bytes, and the lists of a memory as JSON.

use std::collections::BTreeMap;

use loci_core::{
    Citation, CitationKind, ClockJump, Delivery, Error, Link, MemoryId, Properties, Relation,
    SaidBy, Space, Term, Timestamp, Visibility,
};
use serde::{Deserialize, Serialize};

/// The end of every message about a corrupt database.
pub const DAMAGED: &str =
    " is damaged; stop loci, and run `loci doctor`, which says what is damaged and how to go on";

/// Returns the error for a database that holds something that no version of loci writes.
pub fn damaged() -> Error {
    Error::corrupt(format!("the database{DAMAGED}"))
}

/// Returns the space with the name that a store keeps.
///
/// # Errors
/// `corrupt` if no space has such a name.
pub fn stored_space(name: &str) -> Result<Space, Error> {
    Space::parse("space", name).map_err(|error| damaged().caused_by(error))
}

/// The name of a lease that no process takes: its end is the newest time that the clock is trusted
/// to have shown, and its holder the [jump](encode_clock_jump) of the clock since.
pub const CLOCK_LEASE: &str = "clock";

/// Encodes the jump of a clock: the time that it showed last, in microseconds, and the seconds for
/// which it has gone on; empty for none.
pub fn encode_clock_jump(jump: Option<ClockJump>) -> String {
    let Some(ClockJump {
        seen,
        stood_seconds,
    }) = jump
    else {
        return String::new();
    };
    let stood = stood_seconds.map_or_else(|| "watched".to_owned(), |seconds| seconds.to_string());
    format!("{} {stood}", seen.microseconds())
}

/// Decodes the jump in such a text; `None` also for any other text.
pub fn decode_clock_jump(text: &str) -> Option<ClockJump> {
    let (seen, stood) = text.split_once(' ')?;
    Some(ClockJump {
        seen: Timestamp::from_microseconds(seen.parse().ok()?),
        stood_seconds: stood.parse().ok(),
    })
}

/// Encodes terms: of each its count, the length of its text (both LEB128), then the text.
pub fn encode_terms(terms: &[Term]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(terms.iter().map(|term| term.text.len() + 2).sum());
    for term in terms {
        write_number(&mut bytes, u64::from(term.count));
        write_number(&mut bytes, term.text.len() as u64);
        bytes.extend_from_slice(term.text.as_bytes());
    }
    bytes
}

/// Decodes the terms in such bytes, with their counts.
///
/// # Errors
/// `corrupt` if [`encode_terms`] did not make the bytes.
pub fn decode_terms(mut bytes: &[u8]) -> Result<Vec<(&str, u32)>, Error> {
    let mut terms = Vec::with_capacity(bytes.len() / 6);
    while !bytes.is_empty() {
        terms.push(read_term(&mut bytes).ok_or_else(damaged)?);
    }
    Ok(terms)
}

/// Reads the same terms, to keep them longer than the bytes.
///
/// # Errors
/// `corrupt` as there.
pub fn decode_owned_terms(bytes: &[u8]) -> Result<Vec<Term>, Error> {
    let terms = decode_terms(bytes)?.into_iter();
    let owned = |(text, count): (&str, u32)| Term {
        text: text.to_owned(),
        count,
    };
    Ok(terms.map(owned).collect())
}

fn read_term<'a>(bytes: &mut &'a [u8]) -> Option<(&'a str, u32)> {
    let count = u32::try_from(read_number(bytes)?).ok()?;
    let length = usize::try_from(read_number(bytes)?).ok()?;
    let (text, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some((std::str::from_utf8(text).ok()?, count))
}

fn write_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn read_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// Encodes the components of a vector, a byte for each.
pub fn encode_vector(values: &[i8]) -> Vec<u8> {
    values.iter().map(|value| value.cast_unsigned()).collect()
}

/// Puts the components that such bytes hold into `values`, in the place of its contents.
pub fn decode_vector(bytes: &[u8], values: &mut Vec<i8>) {
    values.clear();
    values.extend(bytes.iter().map(|byte| byte.cast_signed()));
}

/// Encodes a name as a JSON string, as it stands in the forms of this module.
pub fn encode_name(name: &str) -> String {
    serde_json::Value::from(name).to_string()
}

/// Returns the same for JSON. The words of the parser are left out, because they quote the text.
pub(crate) fn damaged_json(_: serde_json::Error) -> Error {
    damaged()
}

/// Encodes names as a JSON array.
pub fn encode_names(names: &[String]) -> String {
    serde_json::Value::from(names).to_string()
}

/// Decodes the names in a JSON array.
///
/// # Errors
/// `corrupt` if it is no such array.
pub fn decode_names(json: &str) -> Result<Vec<String>, Error> {
    // Most have none, and a whole index is read.
    if json == "[]" {
        Ok(Vec::new())
    } else {
        serde_json::from_str(json).map_err(damaged_json)
    }
}

/// Encodes links as a JSON array of target, relation and similarity.
pub fn encode_links(links: &[Link]) -> String {
    let link = |link: &Link| {
        serde_json::json!([link.target.as_str(), link.relation.name(), link.similarity])
    };
    links
        .iter()
        .map(link)
        .collect::<serde_json::Value>()
        .to_string()
}

/// Decodes the links in such an array.
///
/// # Errors
/// `corrupt` if it is no such array.
pub fn decode_links(json: &str) -> Result<Vec<Link>, Error> {
    let links: Vec<(String, String, f64)> = serde_json::from_str(json).map_err(damaged_json)?;
    let link = |(target, relation, similarity): (String, String, f64)| {
        let relation = Relation::from_name(&relation).ok_or_else(damaged)?;
        Ok(Link {
            target: MemoryId::new(target),
            relation,
            similarity: similarity as f32,
        })
    };
    links.into_iter().map(link).collect()
}

/// Encodes citations as a JSON array of kind, reference, locator, pin and excerpt.
pub fn encode_citations(citations: &[Citation]) -> String {
    let citation = |citation: &Citation| {
        let Citation {
            kind,
            reference,
            locator,
            pin,
            excerpt,
        } = citation;
        serde_json::json!([kind.name(), reference, locator, pin, excerpt])
    };
    citations
        .iter()
        .map(citation)
        .collect::<serde_json::Value>()
        .to_string()
}

/// Decodes the citations in such an array.
///
/// # Errors
/// `corrupt` if it is no such array.
pub fn decode_citations(json: &str) -> Result<Vec<Citation>, Error> {
    type Parts = (
        String,
        String,
        Option<String>,
        Option<String>,
        Option<String>,
    );
    let citations: Vec<Parts> = serde_json::from_str(json).map_err(damaged_json)?;
    let citation = |(kind, reference, locator, pin, excerpt): Parts| {
        let kind = CitationKind::from_name(&kind).ok_or_else(damaged)?;
        Ok(Citation {
            kind,
            reference,
            locator,
            pin,
            excerpt,
        })
    };
    citations.into_iter().map(citation).collect()
}

/// Encodes attributes as a JSON object.
pub fn encode_attributes(attributes: &BTreeMap<String, String>) -> String {
    attributes
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect::<serde_json::Value>()
        .to_string()
}

/// Decodes the attributes in a JSON object.
///
/// # Errors
/// `corrupt` if it is no such object.
pub fn decode_attributes(json: &str) -> Result<BTreeMap<String, String>, Error> {
    serde_json::from_str(json).map_err(damaged_json)
}

/// The properties of a former version as JSON. Keys are short, because each version has them, and
/// a missing one is the usual value.
#[derive(Serialize, Deserialize)]
struct PropertiesJson {
    #[serde(rename = "k")]
    kind: String,
    /// As text, which comes back exactly.
    #[serde(rename = "w")]
    weight: String,
    #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    #[serde(rename = "d", default, skip_serializing_if = "Option::is_none")]
    delivery: Option<String>,
    #[serde(rename = "v")]
    visibility: String,
    #[serde(rename = "e", default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<i64>,
    #[serde(rename = "f", default, skip_serializing_if = "Option::is_none")]
    forgotten_at: Option<i64>,
    #[serde(rename = "r", default, skip_serializing_if = "Option::is_none")]
    supersedes: Option<String>,
    #[serde(rename = "a", default, skip_serializing_if = "std::ops::Not::not")]
    by_admin: bool,
    #[serde(rename = "b", default, skip_serializing_if = "Option::is_none")]
    said_by: Option<String>,
    #[serde(rename = "c", default, skip_serializing_if = "Option::is_none")]
    citations: Option<String>,
    #[serde(rename = "x", default, skip_serializing_if = "BTreeMap::is_empty")]
    attributes: BTreeMap<String, String>,
}

/// Encodes the properties of a former version as a JSON object.
pub fn encode_properties(properties: &Properties) -> String {
    let microseconds = |at: Option<Timestamp>| at.map(Timestamp::microseconds);
    let json = PropertiesJson {
        kind: properties.kind.clone(),
        weight: properties.weight.to_string(),
        summary: properties.summary.clone(),
        delivery: (properties.delivery != Delivery::OnDemand)
            .then(|| properties.delivery.name().to_owned()),
        visibility: properties.visibility.name().to_owned(),
        expires_at: microseconds(properties.expires_at),
        forgotten_at: microseconds(properties.forgotten_at),
        supersedes: properties
            .supersedes
            .as_ref()
            .map(|id| id.as_str().to_owned()),
        by_admin: properties.by_admin,
        said_by: (properties.said_by != SaidBy::Unknown)
            .then(|| properties.said_by.name().to_owned()),
        citations: (!properties.citations.is_empty())
            .then(|| encode_citations(&properties.citations)),
        attributes: properties.attributes.clone(),
    };
    serde_json::json!(json).to_string()
}

/// Decodes the properties in such an object.
///
/// # Errors
/// `corrupt` if it is no such object.
pub fn decode_properties(json: &str) -> Result<Properties, Error> {
    let json: PropertiesJson = serde_json::from_str(json).map_err(damaged_json)?;
    let time = |at: Option<i64>| at.map(Timestamp::from_microseconds);
    let delivery = json.delivery.as_deref().map(Delivery::from_name);
    let said_by = json.said_by.as_deref().map(SaidBy::from_name);
    Ok(Properties {
        kind: json.kind,
        weight: json.weight.parse().map_err(|_| damaged())?,
        summary: json.summary,
        delivery: delivery
            .unwrap_or(Some(Delivery::OnDemand))
            .ok_or_else(damaged)?,
        visibility: Visibility::from_name(&json.visibility).ok_or_else(damaged)?,
        expires_at: time(json.expires_at),
        forgotten_at: time(json.forgotten_at),
        supersedes: json.supersedes.map(MemoryId::new),
        by_admin: json.by_admin,
        said_by: said_by
            .unwrap_or(Some(SaidBy::Unknown))
            .ok_or_else(damaged)?,
        citations: json
            .citations
            .as_deref()
            .map_or_else(|| Ok(Vec::new()), decode_citations)?,
        attributes: json.attributes,
    })
}

#[cfg(test)]
mod tests {
    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    /// Any text, with what JSON escapes among it.
    const TEXT: &str = "(.|[\"\\\\\n\0]){0,20}";

    fn option() -> impl Strategy<Value = Option<String>> {
        proptest::option::of(TEXT)
    }

    proptest! {
        #[test]
        fn terms_come_back(terms in vec((".{0,200}", any::<u32>()), 0..20)) {
            let written: Vec<Term> = terms.into_iter().map(|(text, count)| Term { text, count }).collect();
            let bytes = encode_terms(&written);
            let read = decode_terms(&bytes).unwrap();
            let read: Vec<Term> = read.into_iter().map(|(text, count)| Term { text: text.to_owned(), count }).collect();
            prop_assert_eq!(read, written);
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes in vec(any::<u8>(), 0..100)) {
            let _ = decode_terms(&bytes);
        }

        #[test]
        fn vectors_come_back(values in vec(any::<i8>(), 0..50)) {
            let mut read = vec![1];
            decode_vector(&encode_vector(&values), &mut read);
            prop_assert_eq!(read, values);
        }
    }

    proptest! {
        #[test]
        fn links_come_back(similarities in vec(-1.0_f32..=1.0, 0..5)) {
            let relation = |number: usize| Relation::ALL[number % Relation::ALL.len()];
            let links: Vec<Link> = similarities
                .into_iter()
                .enumerate()
                .map(|(number, similarity)| {
                    let target = MemoryId::new(format!("a\"{number}"));
                    Link { target, relation: relation(number), similarity }
                })
                .collect();
            prop_assert_eq!(decode_links(&encode_links(&links)).unwrap(), links);
        }

        #[test]
        fn citations_come_back(citations in vec((select(&CitationKind::ALL), TEXT, option(), option(), option()), 0..5)) {
            let citation = |(kind, reference, locator, pin, excerpt)| Citation { kind, reference, locator, pin, excerpt };
            let citations: Vec<Citation> = citations.into_iter().map(citation).collect();
            prop_assert_eq!(decode_citations(&encode_citations(&citations)).unwrap(), citations);
        }

        #[test]
        fn attributes_come_back(attributes in btree_map(TEXT, TEXT, 0..5)) {
            prop_assert_eq!(decode_attributes(&encode_attributes(&attributes)).unwrap(), attributes);
        }
    }

    #[test]
    fn jumps_of_a_clock_come_back() {
        let seen = Timestamp::from_microseconds(-7);
        for stood_seconds in [None, Some(90)] {
            let jump = Some(ClockJump {
                seen,
                stood_seconds,
            });
            assert_eq!(decode_clock_jump(&encode_clock_jump(jump)), jump);
        }
        assert_eq!(decode_clock_jump(&encode_clock_jump(None)), None);
    }

    #[test]
    fn names_come_back() {
        let names = [
            "a\"b".to_owned(),
            "\0".to_owned(),
            String::new(),
            "日本".to_owned(),
        ];
        assert_eq!(decode_names(&encode_names(&names)).unwrap(), names);
        assert!(decode_names("{}").is_err());
        assert!(decode_links(r#"[["a", "unheard of", 0.5]]"#).is_err());
        assert!(decode_citations(r#"[["unheard of", "a", null, null, null]]"#).is_err());
        assert!(decode_citations(r#"[["file", "a"]]"#).is_err());
        assert!(decode_attributes(r#"{"a": 1}"#).is_err());
    }
}
