//! A filter as SQL conditions over `@memory AS m`.

use std::fmt::Write;

use loci_core::{CollectionFilter, Filter, Forgotten, OwnerFilter, Reader, Superseded, Tier};

use crate::value::{Value, digest, values};

/// Conditions and the values of their parameters. The space is `$1` and the time `$2`.
#[derive(Debug)]
pub(crate) struct Conditions {
    /// An expression; it names the memory `m`.
    pub(crate) sql: String,
    /// Selects the id of the newest live, readable and not forgotten memory that supersedes `m`.
    pub(crate) successor: String,
    pub(crate) values: Vec<Value>,
}

impl Conditions {
    pub(crate) fn of(filter: &Filter) -> Self {
        let mut conditions = Conditions {
            sql: "m.space = $1".to_owned(),
            successor: String::new(),
            values: values![&filter.space, filter.live_at],
        };
        conditions.narrow_thread(filter);
        conditions.narrow_place(filter);
        let readable = conditions.readable(&filter.reader);
        let live = |name: &str| {
            format!(
                "{name}.deleted_at IS NULL AND ({name}.expires_at IS NULL OR {name}.expires_at > $2){}",
                readable.replace("m.", &format!("{name}."))
            )
        };
        let _ = write!(conditions.sql, " AND {}", live("m"));
        conditions.narrow(filter);
        let successors = format!(
            "FROM @memory AS s WHERE s.space = $1 AND s.supersedes = m.id AND s.forgotten_at IS NULL AND {}",
            live("s")
        );
        conditions.successor = match filter.superseded {
            Superseded::Show => {
                format!("SELECT s.id {successors} ORDER BY s.created_at DESC, s.id LIMIT 1")
            }
            Superseded::Hide => {
                let _ = write!(conditions.sql, " AND NOT EXISTS (SELECT 1 {successors})");
                // A memory that passes has none.
                "NULL::text".to_owned()
            }
        };
        conditions
    }

    /// Adds a parameter; returns its name.
    pub(crate) fn bind(&mut self, value: impl Into<Value>) -> String {
        self.values.push(value.into());
        format!("${}", self.values.len())
    }

    /// Adds a condition with one parameter, `?`.
    fn and(&mut self, condition: &str, value: impl Into<Value>) {
        let name = self.bind(value);
        let _ = write!(self.sql, " AND {}", condition.replace('?', &name));
    }

    /// Returns the condition of the access rule, beside the other conditions.
    fn readable(&mut self, reader: &Reader) -> String {
        if reader.everything {
            return String::new();
        }
        let of_others = if reader.shared {
            "<> 'private'"
        } else {
            "= 'common'"
        };
        let subject = self.bind(&reader.subject);
        let own = reader
            .own_origin
            .as_ref()
            .map(|origin| format!(" AND m.origin = {}", self.bind(origin)))
            .unwrap_or_default();
        format!(" AND (m.visibility {of_others} OR m.owner IS NULL OR (m.owner = {subject}{own}))")
    }

    fn narrow_thread(&mut self, filter: &Filter) {
        if let Some(thread) = &filter.thread {
            self.and("m.thread_key = ?", digest(&[Some(thread)]));
        }
    }

    /// Adds the conditions on collections and sections.
    fn narrow_place(&mut self, filter: &Filter) {
        match &filter.collections {
            CollectionFilter::Any => {}
            CollectionFilter::Global => self.sql.push_str(" AND m.collection IS NULL"),
            CollectionFilter::AnyNamed => self.sql.push_str(" AND m.collection IS NOT NULL"),
            CollectionFilter::Only(name) => self.and("m.collection = ?", name),
            CollectionFilter::GlobalAnd(name) => {
                self.and("(m.collection IS NULL OR m.collection = ?)", name);
            }
        }
        if !filter.sections.is_empty() {
            self.and("m.section = ANY(?)", filter.sections.as_slice());
        }
    }

    /// Adds the conditions that most queries do not have.
    fn narrow(&mut self, filter: &Filter) {
        match &filter.owner {
            OwnerFilter::Any => {}
            OwnerFilter::Only(owner) => self.and("m.owner = ?", owner),
            OwnerFilter::Nobody => self.sql.push_str(" AND m.owner IS NULL"),
        }
        if let Some(origin) = &filter.origin {
            self.and("m.origin = ?", origin);
        }
        if !filter.tiers.is_empty() {
            let tiers = Tier::ALL
                .into_iter()
                .filter(|tier| filter.tiers.contains(tier));
            let tiers: Vec<_> = tiers.map(|tier| format!("'{}'", tier.name())).collect();
            let _ = write!(self.sql, " AND m.tier IN ({})", tiers.join(", "));
        }
        if let Some(origin) = &filter.unlisted_origin {
            self.and("(m.tier <> 'apart' OR m.origin = ?)", origin);
        }
        if let Some(moment) = filter.created_from {
            self.and("m.created_at >= ?", moment);
        }
        if let Some(moment) = filter.created_until {
            self.and("m.created_at <= ?", moment);
        }
        if !filter.kinds.is_empty() {
            self.and("m.kind = ANY(?)", filter.kinds.as_slice());
        }
        if !filter.tags.is_empty() {
            self.and("m.tags @> ?", filter.tags.as_slice());
        }
        if let Some(delivery) = filter.delivery {
            // As a literal, so that the partial index on `bootstrap` can serve.
            let _ = write!(self.sql, " AND m.delivery = '{}'", delivery.name());
        }
        match filter.forgotten {
            Forgotten::Hide => self.sql.push_str(" AND m.forgotten_at IS NULL"),
            Forgotten::Show => {}
            Forgotten::Only => self.sql.push_str(" AND m.forgotten_at IS NOT NULL"),
        }
    }
}
