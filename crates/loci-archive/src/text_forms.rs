//! The text forms of values in exports: names, times, hashes.

use std::fmt;

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use loci_core::{
    CitationKind, ContentHash, Delivery, EnrichmentStatus, FileProblemKind, MemoryId, Relation,
    SaidBy, Space, Tier, Timestamp, Visibility,
};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serializer};
use serde_with::{DeserializeAs, SerializeAs};

/// A value with a text form.
pub trait TextForm: Sized {
    /// The meaning of the text, for error messages.
    const MEANING: &'static str;
    fn text(&self) -> String;
    fn of(text: &str) -> Option<Self>;
}

/// Serializes a value as its text.
pub struct AsText;

impl<T: TextForm> SerializeAs<T> for AsText {
    fn serialize_as<S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&value.text())
    }
}

impl<'de, T: TextForm> DeserializeAs<'de, T> for AsText {
    fn deserialize_as<D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        let text = String::deserialize(deserializer)?;
        T::of(&text).ok_or_else(|| D::Error::custom(format_args!("is no {}", T::MEANING)))
    }
}

macro_rules! words {
    ($($kind:ty: $meaning:literal),+) => {
        $(impl TextForm for $kind {
            const MEANING: &'static str = $meaning;

            fn text(&self) -> String {
                self.name().to_owned()
            }

            fn of(text: &str) -> Option<Self> {
                <$kind>::from_name(text)
            }
        })+
    };
}

words!(
    CitationKind: "kind of citation",
    Delivery: "delivery",
    EnrichmentStatus: "status of enrichment",
    FileProblemKind: "kind of problem",
    Relation: "relation",
    SaidBy: "kind of speaker",
    Tier: "tier",
    Visibility: "visibility"
);

impl TextForm for MemoryId {
    const MEANING: &'static str = "id";

    fn text(&self) -> String {
        self.as_str().to_owned()
    }

    fn of(text: &str) -> Option<Self> {
        Some(MemoryId::new(text))
    }
}

impl TextForm for Space {
    const MEANING: &'static str = "name of a space";

    fn text(&self) -> String {
        self.as_str().to_owned()
    }

    fn of(text: &str) -> Option<Self> {
        Space::parse("space", text).ok()
    }
}

/// The hash in hexadecimal digits.
impl TextForm for ContentHash {
    const MEANING: &'static str = "hash of 64 hexadecimal digits";

    fn text(&self) -> String {
        HEXLOWER.encode(&self.0)
    }

    fn of(text: &str) -> Option<Self> {
        let hash = HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok()?;
        hash.try_into().ok().map(ContentHash)
    }
}

/// Serializes a time as RFC 3339 in UTC with microseconds or, beyond the years of that format, as
/// the number of microseconds since 1970.
pub struct Rfc3339Time;

impl SerializeAs<Timestamp> for Rfc3339Time {
    fn serialize_as<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        let microseconds = time.microseconds();
        match jiff::Timestamp::from_microsecond(microseconds) {
            Ok(moment) => serializer.collect_str(&format_args!("{moment:.6}")),
            Err(_) => serializer.serialize_i64(microseconds),
        }
    }
}

impl<'de> DeserializeAs<'de, Timestamp> for Rfc3339Time {
    fn deserialize_as<D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        deserializer
            .deserialize_any(MomentVisitor)
            .map(Timestamp::from_microseconds)
    }
}

struct MomentVisitor;

impl Visitor<'_> for MomentVisitor {
    type Value = i64;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a moment such as 2026-01-31T12:00:00.000000Z")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<i64, E> {
        let moment: jiff::Timestamp = text.parse().map_err(|_| E::custom("is no moment"))?;
        Ok(moment.as_microsecond())
    }

    fn visit_i64<E: Error>(self, microseconds: i64) -> Result<i64, E> {
        Ok(microseconds)
    }

    fn visit_u64<E: Error>(self, microseconds: u64) -> Result<i64, E> {
        i64::try_from(microseconds).map_err(|_| E::custom("is no moment"))
    }
}
