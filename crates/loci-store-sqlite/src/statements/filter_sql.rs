//! A filter as SQL conditions over `memory AS m`.

use std::fmt::Write;

use loci_core::{CollectionFilter, Filter, Forgotten, OwnerFilter, Reader, Superseded, Tier};
use rusqlite::ToSql;
use rusqlite::types::Value;

use loci_index::codec::encode_names;

/// Conditions and the values of their parameters.
#[derive(Debug)]
pub(crate) struct Conditions {
    /// An expression; it names the memory `m`.
    pub(crate) sql: String,
    /// The part that asks for a space, collections and sections.
    pub(crate) place: String,
    /// Selects the id of the newest live, readable and not forgotten memory that replaces `m`.
    pub(crate) successor: String,
    /// Parameters, with their names.
    pub(crate) values: Vec<(&'static str, Value)>,
}

impl Conditions {
    pub(crate) fn of(filter: &Filter) -> Self {
        let mut values = vec![
            (":space", Value::from(filter.space.as_str().to_owned())),
            (":now", Value::from(filter.live_at.microseconds())),
        ];
        let live = |name: &str| {
            format!(
                "{name}.deleted_at IS NULL AND ({name}.expires_at IS NULL OR {name}.expires_at > :now)"
            )
        };
        let successors = format!(
            "FROM memory AS s WHERE s.space = m.space AND s.supersedes = m.id AND s.forgotten_at IS NULL AND {}{}",
            live("s"),
            readable(&filter.reader, "s")
        );
        // A thread has few of a space's memories: nothing shall look at the others for the sake of
        // some order.
        let among = match filter.thread {
            Some(_) => {
                "m.row IN (SELECT row FROM memory WHERE space = :space AND thread = :thread)"
            }
            None => "m.space = :space",
        };
        values.extend(
            filter
                .thread
                .clone()
                .map(|thread| (":thread", Value::from(thread))),
        );
        let mut place = among.to_owned();
        narrow_place(filter, &mut place, &mut values);
        let mut sql = format!("{place} AND {}{}", live("m"), readable(&filter.reader, "m"));
        if !filter.reader.everything {
            values.push((":subject", Value::from(filter.reader.subject.clone())));
            values.extend(
                filter
                    .reader
                    .own_origin
                    .clone()
                    .map(|origin| (":own_origin", Value::from(origin))),
            );
        }
        narrow(filter, &mut sql, &mut values);
        let successor = match filter.superseded {
            Superseded::Show => {
                format!("SELECT s.id {successors} ORDER BY s.created_at DESC, s.id LIMIT 1")
            }
            Superseded::Hide => {
                let _ = write!(sql, " AND NOT EXISTS (SELECT 1 {successors})");
                // A memory that passes has none.
                "NULL".to_owned()
            }
        };
        Conditions {
            sql,
            place,
            successor,
            values,
        }
    }
}

/// Returns the condition of the access rule, beside the other conditions.
fn readable(reader: &Reader, name: &str) -> String {
    if reader.everything {
        return String::new();
    }
    let of_others = if reader.shared {
        "<> 'private'"
    } else {
        "= 'common'"
    };
    let own = if reader.own_origin.is_some() {
        format!(" AND {name}.origin = :own_origin")
    } else {
        String::new()
    };
    format!(
        " AND ({name}.visibility {of_others} OR {name}.owner IS NULL OR ({name}.owner = :subject{own}))"
    )
}

/// The conditions on collections and sections.
fn narrow_place(filter: &Filter, sql: &mut String, values: &mut Vec<(&'static str, Value)>) {
    let collection = match &filter.collections {
        CollectionFilter::Any => None,
        CollectionFilter::Global => Some((" AND m.collection IS NULL", None)),
        CollectionFilter::AnyNamed => Some((" AND m.collection IS NOT NULL", None)),
        CollectionFilter::Only(name) => Some((" AND m.collection = :collection", Some(name))),
        CollectionFilter::GlobalAnd(name) => Some((
            " AND (m.collection IS NULL OR m.collection = :collection)",
            Some(name),
        )),
    };
    if let Some((condition, name)) = collection {
        sql.push_str(condition);
        values.extend(name.map(|name| (":collection", Value::from(name.clone()))));
    }
    match filter.sections.as_slice() {
        [] => {}
        // So that what is in one section is found in its order.
        [section] => {
            sql.push_str(" AND m.section = :section");
            values.push((":section", Value::from(section.clone())));
        }
        sections => {
            sql.push_str(" AND m.section IN (SELECT value FROM json_each(:sections))");
            values.push((":sections", Value::from(encode_names(sections))));
        }
    }
}

/// The conditions that most queries do not have.
fn narrow(filter: &Filter, sql: &mut String, values: &mut Vec<(&'static str, Value)>) {
    match &filter.owner {
        OwnerFilter::Any => {}
        OwnerFilter::Only(owner) => {
            sql.push_str(" AND m.owner = :owner");
            values.push((":owner", Value::from(owner.clone())));
        }
        OwnerFilter::Nobody => sql.push_str(" AND m.owner IS NULL"),
    }
    if let Some(origin) = &filter.origin {
        sql.push_str(" AND m.origin = :origin");
        values.push((":origin", Value::from(origin.clone())));
    }
    if !filter.tiers.is_empty() {
        let tiers = Tier::ALL
            .into_iter()
            .filter(|tier| filter.tiers.contains(tier));
        let tiers: Vec<_> = tiers.map(|tier| format!("'{}'", tier.name())).collect();
        let _ = write!(sql, " AND m.tier IN ({})", tiers.join(", "));
    }
    if let Some(origin) = &filter.unlisted_origin {
        sql.push_str(" AND (m.tier <> 'apart' OR m.origin = :unlisted_origin)");
        values.push((":unlisted_origin", Value::from(origin.clone())));
    }
    for (name, condition, moment) in [
        (":from", " AND m.created_at >= :from", filter.created_from),
        (
            ":until",
            " AND m.created_at <= :until",
            filter.created_until,
        ),
    ] {
        if let Some(moment) = moment {
            sql.push_str(condition);
            values.push((name, Value::from(moment.microseconds())));
        }
    }
    if !filter.kinds.is_empty() {
        sql.push_str(" AND m.kind IN (SELECT value FROM json_each(:kinds))");
        values.push((":kinds", Value::from(encode_names(&filter.kinds))));
    }
    if !filter.tags.is_empty() {
        sql.push_str(
            " AND NOT EXISTS (SELECT 1 FROM json_each(:tags) AS wanted \
             WHERE wanted.value NOT IN (SELECT value FROM json_each(m.tags)))",
        );
        values.push((":tags", Value::from(encode_names(&filter.tags))));
    }
    if let Some(delivery) = filter.delivery {
        // As a literal, so that the partial index on `bootstrap` can serve.
        let _ = write!(sql, " AND m.delivery = '{}'", delivery.name());
    }
    match filter.forgotten {
        Forgotten::Hide => sql.push_str(" AND m.forgotten_at IS NULL"),
        Forgotten::Show => {}
        Forgotten::Only => sql.push_str(" AND m.forgotten_at IS NOT NULL"),
    }
}

/// Makes a statement read the rows of the owner through their index, if the filter names an owner
/// and no thread. Other indexes have the order that it asks for, but an owner has few of a space's
/// memories.
pub(crate) fn by_owner(filter: &Filter) -> &'static str {
    let is_by_owner = matches!(filter.owner, OwnerFilter::Only(_)) && filter.thread.is_none();
    if is_by_owner {
        " INDEXED BY memory_by_owner"
    } else {
        ""
    }
}

/// A number of rows as a parameter.
pub(crate) fn bound(number: usize) -> Value {
    Value::from(i64::try_from(number).unwrap_or(i64::MAX))
}

/// Named parameters, as a statement takes them.
pub(crate) fn parameters<'a>(values: &'a [(&'static str, Value)]) -> Vec<(&'a str, &'a dyn ToSql)> {
    values
        .iter()
        .map(|(name, value)| (*name, value as &dyn ToSql))
        .collect()
}
