//! The form in which stores keep former states of facts and tunnels: JSON, without the space, the id
//! and the owner, which have columns of their own.

use loci_core::{
    Error, Fact, MemoryId, Name, Period, RecordKind, RecordState, RecordVersion, SettingState,
    Space, Timestamp, Tunnel, TunnelEnd,
};
use serde::{Deserialize, Serialize};

use crate::codec::{damaged, damaged_json};
use crate::records::{ReadColumns, StoredRecord, read_change};

/// The columns of a [`RecordVersion`], of `record_version AS v`.
pub const RECORD_VERSION: &str = "v.space, v.kind, v.id, v.owner, v.number, v.state, v.changed_at, v.changed_by, \
    v.tool, v.program, v.session, v.token, v.call";

/// The key and the spelling of a name.
type NameJson = (String, String);
/// The first and the last microsecond of a period.
type PeriodJson = (i64, i64);
/// The collection, the section and the memory of an end of a tunnel.
type EndJson = (Option<String>, String, Option<String>);

/// A fact as JSON. Keys are short, because each version has them, and a missing one is the usual
/// value.
#[derive(Serialize, Deserialize)]
struct FactJson {
    #[serde(rename = "s")]
    subject: NameJson,
    #[serde(rename = "p")]
    predicate: NameJson,
    #[serde(rename = "o")]
    object: NameJson,
    #[serde(rename = "f", default, skip_serializing_if = "Option::is_none")]
    valid_from: Option<PeriodJson>,
    #[serde(rename = "t", default, skip_serializing_if = "Option::is_none")]
    valid_to: Option<PeriodJson>,
    #[serde(rename = "q", default, skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    #[serde(rename = "c")]
    created_at: i64,
}

/// A tunnel as JSON.
#[derive(Serialize, Deserialize)]
struct TunnelJson {
    #[serde(rename = "s")]
    source: EndJson,
    #[serde(rename = "t")]
    target: EndJson,
    #[serde(rename = "l")]
    label: String,
    #[serde(rename = "a")]
    is_common: bool,
    #[serde(rename = "c")]
    created_at: i64,
    #[serde(rename = "u")]
    updated_at: i64,
}

/// A setting as JSON.
#[derive(Serialize, Deserialize)]
struct SettingJson {
    #[serde(rename = "v")]
    value: String,
}

/// Encodes a state of a fact, a tunnel or a setting as a JSON object, without its space, id and owner.
pub fn encode_record_state(state: &RecordState) -> String {
    match state {
        RecordState::Fact(fact) => serde_json::json!(FactJson {
            subject: name_json(&fact.subject),
            predicate: name_json(&fact.predicate),
            object: name_json(&fact.object),
            valid_from: fact.valid_from.map(period_json),
            valid_to: fact.valid_to.map(period_json),
            source: fact.source.clone(),
            created_at: fact.created_at.microseconds(),
        }),
        RecordState::Tunnel(tunnel) => serde_json::json!(TunnelJson {
            source: end_json(&tunnel.source),
            target: end_json(&tunnel.target),
            label: tunnel.label.clone(),
            is_common: tunnel.is_common,
            created_at: tunnel.created_at.microseconds(),
            updated_at: tunnel.updated_at.microseconds(),
        }),
        RecordState::Setting(setting) => serde_json::json!(SettingJson {
            value: setting.value.clone(),
        }),
    }
    .to_string()
}

/// Decodes the state in such an object, of the record with this space, kind, id and owner.
///
/// # Errors
/// `corrupt` if it is no such object.
pub fn decode_record_state(
    (space, kind, id, owner): (&Space, RecordKind, &str, Option<&str>),
    json: &str,
) -> Result<RecordState, Error> {
    let (space, id, owner) = (space.clone(), id.to_owned(), owner.map(str::to_owned));
    Ok(match kind {
        RecordKind::Fact => {
            let json: FactJson = serde_json::from_str(json).map_err(damaged_json)?;
            RecordState::Fact(Fact {
                space,
                id,
                subject: name(json.subject),
                predicate: name(json.predicate),
                object: name(json.object),
                valid_from: json.valid_from.map(period).transpose()?,
                valid_to: json.valid_to.map(period).transpose()?,
                source: json.source,
                author: owner,
                created_at: Timestamp::from_microseconds(json.created_at),
            })
        }
        RecordKind::Deletion => return Err(damaged()),
        RecordKind::Setting => {
            let json: SettingJson = serde_json::from_str(json).map_err(damaged_json)?;
            RecordState::Setting(SettingState {
                space,
                id,
                owner,
                value: json.value,
            })
        }
        RecordKind::Tunnel => {
            let json: TunnelJson = serde_json::from_str(json).map_err(damaged_json)?;
            RecordState::Tunnel(Tunnel {
                space,
                id,
                source: end(json.source),
                target: end(json.target),
                label: json.label,
                owner,
                is_common: json.is_common,
                created_at: Timestamp::from_microseconds(json.created_at),
                updated_at: Timestamp::from_microseconds(json.updated_at),
            })
        }
    })
}

impl StoredRecord for RecordVersion {
    const NOUN: &'static str = "former state of the fact or the tunnel";
    const KEY: usize = 2;

    fn read<'a, C: ReadColumns<'a>>(columns: &mut C) -> Result<Self, C::Error> {
        let space = columns.space()?;
        let kind = columns.named(RecordKind::from_name)?;
        let (id, owner) = (columns.string()?, columns.string_or_null()?);
        let number = columns.number()?;
        let state = columns.text_or_null()?;
        let state =
            state.map(|json| decode_record_state((&space, kind, &id, owner.as_deref()), json));
        Ok(RecordVersion {
            state: state.transpose()?,
            change: read_change(columns)?.ok_or_else(damaged)?,
            space,
            kind,
            id,
            owner,
            number,
        })
    }
}

fn name_json(name: &Name) -> NameJson {
    (name.key.clone(), name.spelling.clone())
}

fn name((key, spelling): NameJson) -> Name {
    Name { key, spelling }
}

fn period_json(period: Period) -> PeriodJson {
    (period.first.microseconds(), period.last.microseconds())
}

fn period((first, last): PeriodJson) -> Result<Period, Error> {
    let [first, last] = [first, last].map(Timestamp::from_microseconds);
    (first <= last)
        .then_some(Period { first, last })
        .ok_or_else(damaged)
}

fn end_json(end: &TunnelEnd) -> EndJson {
    let memory = end.memory.as_ref().map(|id| id.as_str().to_owned());
    (end.collection.clone(), end.section.clone(), memory)
}

fn end((collection, section, memory): EndJson) -> TunnelEnd {
    TunnelEnd {
        collection,
        section,
        memory: memory.map(MemoryId::new),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Any text, with what JSON escapes among it.
    const TEXT: &str = "(.|[\"\\\\\n]){0,20}";

    fn any_name() -> impl Strategy<Value = Name> {
        (TEXT, TEXT).prop_map(|(key, spelling)| Name { key, spelling })
    }

    fn any_period() -> impl Strategy<Value = Option<Period>> {
        let period = (any::<i64>(), any::<i64>()).prop_map(|(one, other)| Period {
            first: Timestamp::from_microseconds(one.min(other)),
            last: Timestamp::from_microseconds(one.max(other)),
        });
        proptest::option::of(period)
    }

    fn any_end() -> impl Strategy<Value = TunnelEnd> {
        let option = || proptest::option::of(TEXT);
        (option(), TEXT, option()).prop_map(end)
    }

    proptest! {
        #[test]
        fn facts_come_back(
            (subject, predicate, object) in (any_name(), any_name(), any_name()),
            (valid_from, valid_to) in (any_period(), any_period()),
            (source, author) in (proptest::option::of(TEXT), proptest::option::of(TEXT)),
            created_at in any::<i64>(),
        ) {
            let created_at = Timestamp::from_microseconds(created_at);
            let (space, id) = (Space::default(), "t_1".to_owned());
            let fact = Fact { space, id, subject, predicate, object, valid_from, valid_to, source, author, created_at };
            let whose = (&fact.space.clone(), RecordKind::Fact, &*fact.id.clone(), fact.author.clone());
            let state = RecordState::Fact(fact);
            let whose = (whose.0, whose.1, whose.2, whose.3.as_deref());
            prop_assert_eq!(decode_record_state(whose, &encode_record_state(&state)).unwrap(), state);
        }

        #[test]
        fn tunnels_come_back(
            (source, target, label) in (any_end(), any_end(), TEXT),
            (created_at, updated_at, is_common) in (any::<i64>(), any::<i64>(), any::<bool>()),
        ) {
            let [created_at, updated_at] = [created_at, updated_at].map(Timestamp::from_microseconds);
            let (space, id) = (Space::default(), "1".to_owned());
            let owner = Some("ann".to_owned());
            let tunnel = Tunnel { space, id, source, target, label, owner, is_common, created_at, updated_at };
            let state = RecordState::Tunnel(tunnel);
            let whose = (&Space::default(), RecordKind::Tunnel, "1", Some("ann"));
            prop_assert_eq!(decode_record_state(whose, &encode_record_state(&state)).unwrap(), state);
        }
    }

    #[test]
    fn what_loci_did_not_write_is_an_error() {
        for json in [
            "",
            "{}",
            "[]",
            r#"{"s":["a","A"],"p":["k","K"],"o":["b","B"],"f":[2,1],"c":1}"#,
        ] {
            for kind in RecordKind::ALL {
                let whose = (&Space::default(), kind, "1", None);
                assert!(decode_record_state(whose, json).is_err(), "{json}");
            }
        }
    }
}
