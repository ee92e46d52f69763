//! The conditions of queries as SQL, for the stores whose database has the tables of memories.
//!
//! The tables have the same columns in each database, so a condition is written here once. What
//! differs is how a statement names its parameters and compares lists, e.g. `:owner` and
//! `json_each` in `SQLite`, `$3` and `ANY` in `PostgreSQL`: that is the [`Dialect`] of a store.

use loci_core::{
    AuditQuery, CollectionFilter, Direction, EntityQuery, FactQuery, Filter, Forgotten,
    OwnerFilter, Period, Reader, Superseded, Tier, Timestamp,
};

/// The SQL of a database, as far as it differs between databases. A constant with a condition has
/// `?` in the place of its parameter.
pub trait Dialect: Sized {
    /// The value of a parameter. Times are microseconds.
    type Value: From<String> + From<i64> + From<Option<String>>;
    /// The value as a statement takes it, e.g. with the name of its parameter.
    type Bound;

    /// The text before the name of a table.
    const PREFIX: &'static str;
    /// The condition that a memory is of a thread and of the space of the first parameter.
    const OF_THREAD: &'static str;
    /// The condition, after a column, that its text is in a list.
    const IN_LIST: &'static str;
    /// The condition that a memory has every tag of a list.
    const HAS_TAGS: &'static str;
    /// The condition that an entry of the audit log, of the space of the first parameter, names a
    /// record.
    const NAMES_RECORD: &'static str;

    /// Returns how a statement names the parameter that has this name and this place, from 1 on,
    /// and its value for the statement. The first parameter is always `:space`.
    fn parameter(name: &'static str, place: usize, value: Self::Value) -> (String, Self::Bound);

    /// Returns the value for a list of texts.
    fn list(texts: &[String]) -> Self::Value;

    /// Returns the value that stands for a thread in [`OF_THREAD`](Self::OF_THREAD).
    fn thread(name: &str) -> Self::Value;

    /// Returns the condition that the fact `f` is of the space of the first parameter and meets this
    /// condition, for which the facts of a space have an index.
    fn indexed_fact(condition: &str) -> String;

    /// Returns the columns in which a fact with these keys of subject, predicate and object differs
    /// from others, with the names of their parameters.
    fn triple([subject, predicate, object]: &[String; 3]) -> Vec<KeyColumn<Self>> {
        vec![
            (":subject", "subject", subject.clone().into()),
            (":predicate", "predicate", predicate.clone().into()),
            (":object", "object", object.clone().into()),
        ]
    }
}

/// The name of a parameter, the column that has to equal it, and its value.
pub type KeyColumn<D> = (&'static str, &'static str, <D as Dialect>::Value);

/// The conditions of a [`Filter`], over the memory `m`.
#[derive(Debug)]
pub struct Conditions<D: Dialect> {
    /// An expression that is true for the memories that pass.
    pub sql: String,
    /// The part of it that asks for a space, a thread, collections and sections.
    pub place: String,
    /// Selects the id of the newest live, readable and not forgotten memory that supersedes `m`.
    pub successor: String,
    /// The values of the parameters of both: the space, the time, then the others.
    pub values: Vec<D::Bound>,
}

impl<D: Dialect> Conditions<D> {
    /// Returns the conditions of a filter.
    pub fn of(filter: &Filter) -> Self {
        Self::among(filter, "IS NULL")
    }

    /// Returns the same conditions for soft-deleted memories, which no filter matches otherwise.
    pub fn of_deleted(filter: &Filter) -> Self {
        Self::among(filter, "IS NOT NULL")
    }

    /// Returns the conditions for memories whose time of deletion is as given.
    fn among(filter: &Filter, deleted_at: &str) -> Self {
        let mut clauses = Clauses::<D>::new();
        let space = clauses.bind(":space", filter.space.as_str().to_owned());
        let now = clauses.bind(":now", filter.live_at.microseconds());
        match &filter.thread {
            None => clauses.sql.push_str(&format!("m.space = {space}")),
            // A thread has few of a space's memories: nothing shall look at the others for the sake
            // of some order.
            Some(thread) => {
                let thread = clauses.bind(":thread", D::thread(thread));
                clauses.sql.push_str(&D::OF_THREAD.replace('?', &thread));
            }
        }
        narrow_place(filter, &mut clauses);
        let place = clauses.sql.clone();
        let readable = readable(&filter.reader, &mut clauses);
        let live = |name: &str, deleted_at: &str| {
            format!(
                "{name}.deleted_at {deleted_at} AND ({name}.expires_at IS NULL OR {name}.expires_at > {now}){}",
                readable.replace("m.", &format!("{name}."))
            )
        };
        clauses.and(&live("m", deleted_at));
        narrow(filter, &mut clauses);
        let successors = format!(
            "FROM {}memory AS s WHERE s.space = {space} AND s.supersedes = m.id AND s.forgotten_at IS NULL AND {}",
            D::PREFIX,
            live("s", "IS NULL")
        );
        let successor = match filter.superseded {
            Superseded::Show => {
                format!("SELECT s.id {successors} ORDER BY s.created_at DESC, s.id LIMIT 1")
            }
            Superseded::Hide => {
                clauses.and(&format!("NOT EXISTS (SELECT 1 {successors})"));
                // A memory that passes has none.
                "CAST(NULL AS text)".to_owned()
            }
        };
        Conditions {
            sql: clauses.sql,
            place,
            successor,
            values: clauses.values,
        }
    }
}

/// Returns what follows the table in the statement that reads the entries of the audit log, with
/// its values. Without [`AuditQuery::after`], it reads the last ones first.
pub fn of_audit<D: Dialect>(query: &AuditQuery) -> (String, Vec<D::Bound>) {
    let mut clauses = Clauses::<D>::new();
    let space = clauses.bind(":space", query.space.as_str().to_owned());
    clauses.sql = format!("WHERE space = {space}");
    for (name, condition, number) in [
        (":after", "number > ?", query.after),
        (":before", "number < ?", query.before),
    ] {
        clauses.and_if(condition, name, number.map(count));
    }
    clauses.and_if(
        "at >= ?",
        ":since",
        query.since.map(Timestamp::microseconds),
    );
    for (name, condition, text) in [
        (":user", "\"user\" = ?", &query.user),
        (":tool", "tool = ?", &query.tool),
        (":client", "client = ?", &query.client),
        (":record", D::NAMES_RECORD, &query.record),
    ] {
        clauses.and_if(condition, name, text.clone());
    }
    let limit = clauses.bind(":limit", count(query.limit as u64));
    let order = if query.after.is_some() { "" } else { " DESC" };
    clauses
        .sql
        .push_str(&format!(" ORDER BY number{order} LIMIT {limit}"));
    (clauses.sql, clauses.values)
}

/// Returns the facts `f` of a query with their order, which follow `FROM` in the statement that
/// reads them, with its values. Facts that meet the condition `or`, too, are returned whatever their
/// validity is.
pub fn of_facts<D: Dialect>(query: &FactQuery, or: &str) -> (String, Vec<D::Bound>) {
    let mut clauses = Clauses::<D>::new();
    let space = clauses.bind(":space", query.space.as_str().to_owned());
    let mut conditions = Vec::new();
    if let Some((entity, direction)) = &query.entity {
        let entity = clauses.bind(":entity", entity.clone());
        let is_in = |column: &str| D::indexed_fact(&format!("{column} = {entity}"));
        conditions.push(match direction {
            Direction::Outgoing => is_in("subject"),
            Direction::Incoming => is_in("object"),
            Direction::Both => format!("({} OR {})", is_in("subject"), is_in("object")),
        });
    }
    let relation = query.relation.as_ref().map(|[subject, predicate]| {
        vec![
            (":relating", "subject", subject.clone().into()),
            (":relation", "predicate", predicate.clone().into()),
        ]
    });
    for columns in query
        .triple
        .as_ref()
        .map(D::triple)
        .into_iter()
        .chain(relation)
    {
        let equal = |(name, column, value): KeyColumn<D>| {
            format!("{column} = {}", clauses.bind(name, value))
        };
        let equal: Vec<_> = columns.into_iter().map(equal).collect();
        conditions.push(D::indexed_fact(&equal.join(" AND ")));
    }
    if conditions.is_empty() {
        conditions.push(format!("f.space = {space}"));
    }
    if let Some(Period { first, last }) = query.as_of {
        let over = clauses.bind(":over", Period::last_over_at(first).microseconds());
        let last = clauses.bind(":last", last.microseconds());
        conditions.push(format!(
            "((from_first IS NULL OR from_first <= {last}) AND (to_last IS NULL OR to_last > {over}){or})"
        ));
    }
    if let Some(place) = &query.beyond {
        let created = clauses.bind(":created", place.created_at.microseconds());
        let id = clauses.bind(":id", place.id.clone());
        conditions.push(match place.valid_from {
            None => {
                format!("(f.from_first IS NOT NULL OR (f.created_at, f.id) > ({created}, {id}))")
            }
            Some(from) => {
                let from = clauses.bind(":from", from.microseconds());
                format!("(f.from_first, f.created_at, f.id) > ({from}, {created}, {id})")
            }
        });
    }
    let limit = clauses.bind(":limit", count(query.limit as u64));
    let offset = clauses.bind(":offset", count(query.offset as u64));
    let order = "ORDER BY f.from_first NULLS FIRST, f.created_at, f.id";
    // The further columns come last, because they are read only for facts that are returned.
    let sql = format!(
        "(SELECT f.* FROM {}fact AS f WHERE {} {order} LIMIT {limit} OFFSET {offset}) AS f {order}",
        D::PREFIX,
        conditions.join(" AND ")
    );
    (sql, clauses.values)
}

/// Returns the statement that lists entities by `key`, with the numbers of their facts that hold
/// (`holding`) and that are over (`ended`), and its values. It reads no row where indexes of the facts
/// by subject, by object, and of those about one entity alone have the ends, too.
pub fn of_entities<D: Dialect>(query: &EntityQuery) -> (String, Vec<D::Bound>) {
    let mut clauses = Clauses::<D>::new();
    let space = clauses.bind(":space", query.space.as_str().to_owned());
    let mut held = |[over_name, last_name]: [&'static str; 2], period: Period| {
        let over = Period::last_over_at(period.first).microseconds();
        let over = clauses.bind(over_name, over);
        let last = clauses.bind(last_name, period.last.microseconds());
        let is_open = format!("(to_last IS NULL OR to_last > {over})");
        let held = format!("(from_first IS NULL OR from_first <= {last}) AND {is_open}");
        [held, format!("to_last <= {over}")]
    };
    let [counted, _] = held([":over", ":last"], query.as_of);
    let now = Period {
        first: query.now,
        last: query.now,
    };
    let [holding, ended] = held([":over_now", ":now"], now);
    let text = (!query.text.is_empty()).then(|| clauses.bind(":text", query.text.clone()));
    let of = |name: &str, sign: &str, further: &str| {
        // Databases have no function of one name that looks for a text.
        let has_text = text.as_ref().map_or_else(String::new, |text| {
            format!(" AND replace({name}, {text}, '') <> {name}")
        });
        format!(
            "SELECT {name} AS key, {sign}count(*) FILTER (WHERE {holding}) AS holding, \
             {sign}count(*) FILTER (WHERE {ended}) AS ended FROM {}fact \
             WHERE space = {space} AND {counted}{has_text}{further} GROUP BY {name}",
            D::PREFIX
        )
    };
    let (subjects, objects) = (of("subject", "", ""), of("object", "", ""));
    // They were counted twice.
    let about_themselves = of("subject", "-", " AND object = subject");
    let limit = clauses.bind(":limit", count(query.limit as u64));
    let sql = format!(
        "SELECT key, CAST(sum(holding) AS bigint) AS holding, CAST(sum(ended) AS bigint) AS ended \
         FROM ({subjects} UNION ALL {objects} UNION ALL {about_themselves}) AS counted GROUP BY key \
         ORDER BY sum(holding + ended) DESC, key LIMIT {limit}"
    );
    (sql, clauses.values)
}

/// A number as databases have them, the greatest if it is above all of theirs.
fn count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Conditions that are put together, with the values of their parameters.
struct Clauses<D: Dialect> {
    sql: String,
    values: Vec<D::Bound>,
}

impl<D: Dialect> Clauses<D> {
    /// No conditions and no parameters.
    fn new() -> Self {
        Clauses {
            sql: String::new(),
            values: Vec::new(),
        }
    }

    fn bind(&mut self, name: &'static str, value: impl Into<D::Value>) -> String {
        let (name, value) = D::parameter(name, self.values.len() + 1, value.into());
        self.values.push(value);
        name
    }

    fn and(&mut self, condition: &str) {
        self.sql.push_str(" AND ");
        self.sql.push_str(condition);
    }

    /// Adds a condition with a parameter, in the place of each `?`, if there is a value for it.
    fn and_if<V: Into<D::Value>>(&mut self, condition: &str, name: &'static str, value: Option<V>) {
        if let Some(value) = value {
            let name = self.bind(name, value);
            self.and(&condition.replace('?', &name));
        }
    }
}

/// Returns the condition of the access rule, to follow another one.
fn readable<D: Dialect>(reader: &Reader, clauses: &mut Clauses<D>) -> String {
    if reader.everything {
        return String::new();
    }
    let of_others = if reader.shared {
        "<> 'private'"
    } else {
        "= 'common'"
    };
    let subject = clauses.bind(":subject", reader.subject.clone());
    let own = reader
        .own_origin
        .as_ref()
        .map(|origin| {
            format!(
                " AND m.origin = {}",
                clauses.bind(":own_origin", origin.clone())
            )
        })
        .unwrap_or_default();
    format!(" AND (m.visibility {of_others} OR m.owner IS NULL OR (m.owner = {subject}{own}))")
}

/// Adds the conditions on collections and sections.
fn narrow_place<D: Dialect>(filter: &Filter, clauses: &mut Clauses<D>) {
    match &filter.collections {
        CollectionFilter::Any => {}
        CollectionFilter::Global => clauses.and("m.collection IS NULL"),
        CollectionFilter::AnyNamed => clauses.and("m.collection IS NOT NULL"),
        CollectionFilter::Only(name) => {
            clauses.and_if("m.collection = ?", ":collection", Some(name.clone()));
        }
        CollectionFilter::GlobalAnd(name) => clauses.and_if(
            "(m.collection IS NULL OR m.collection = ?)",
            ":collection",
            Some(name.clone()),
        ),
        CollectionFilter::AnyOf(names) => {
            in_list_or_null(names, "m.collection", ":collections", clauses);
        }
    }
    match filter.sections.as_slice() {
        // So that an index has what is in one section in its order.
        [section] => clauses.and_if("m.section = ?", ":section", Some(section.clone())),
        sections => in_list(sections, "m.section", ":sections", clauses),
    }
}

/// Adds the conditions that most queries do not have.
fn narrow<D: Dialect>(filter: &Filter, clauses: &mut Clauses<D>) {
    match &filter.owner {
        OwnerFilter::Any => {}
        OwnerFilter::Only(owner) => clauses.and_if("m.owner = ?", ":owner", Some(owner.clone())),
        OwnerFilter::Nobody => clauses.and("m.owner IS NULL"),
        OwnerFilter::AnyOf(owners) => in_list_or_null(owners, "m.owner", ":owners", clauses),
    }
    in_list(&filter.origins, "m.origin", ":origins", clauses);
    in_list(&filter.programs, "m.program", ":programs", clauses);
    if !filter.tiers.is_empty() {
        let tiers = Tier::ALL
            .into_iter()
            .filter(|tier| filter.tiers.contains(tier));
        let tiers: Vec<_> = tiers.map(|tier| format!("'{}'", tier.name())).collect();
        clauses.and(&format!("m.tier IN ({})", tiers.join(", ")));
    }
    clauses.and_if(
        "(m.tier <> 'apart' OR m.origin = ?)",
        ":unlisted_origin",
        filter.unlisted_origin.clone(),
    );
    for (name, condition, moment) in [
        (":from", "m.created_at >= ?", filter.created_from),
        (":until", "m.created_at <= ?", filter.created_until),
    ] {
        clauses.and_if(condition, name, moment.map(Timestamp::microseconds));
    }
    in_list(&filter.kinds, "m.kind", ":kinds", clauses);
    if !filter.tags.is_empty() {
        clauses.and_if(D::HAS_TAGS, ":tags", Some(D::list(&filter.tags)));
    }
    if let Some(delivery) = filter.delivery {
        // As a literal, so that the partial index on `bootstrap` can serve.
        clauses.and(&format!("m.delivery = '{}'", delivery.name()));
    }
    match filter.forgotten {
        Forgotten::Hide => clauses.and("m.forgotten_at IS NULL"),
        Forgotten::Show => {}
        Forgotten::Only => clauses.and("m.forgotten_at IS NOT NULL"),
    }
}

/// Adds the condition that a column has one of these values; if there are no values, nothing passes.
fn in_list_or_null<D: Dialect>(
    any_of: &[Option<String>],
    column: &str,
    name: &'static str,
    clauses: &mut Clauses<D>,
) {
    let texts: Vec<String> = any_of.iter().flatten().cloned().collect();
    let has_null = any_of.iter().any(Option::is_none);
    match (texts.is_empty(), has_null) {
        (true, true) => clauses.and(&format!("{column} IS NULL")),
        (true, false) => clauses.and("FALSE"),
        (false, has_null) => {
            let or_null = if has_null {
                format!(" OR {column} IS NULL")
            } else {
                String::new()
            };
            let condition = format!("({column} {}{or_null})", D::IN_LIST);
            clauses.and_if(&condition, name, Some(D::list(&texts)));
        }
    }
}

/// Adds the condition that a column has one of these texts, if there are any.
fn in_list<D: Dialect>(
    texts: &[String],
    column: &str,
    name: &'static str,
    clauses: &mut Clauses<D>,
) {
    if !texts.is_empty() {
        let condition = format!("{column} {}", D::IN_LIST);
        clauses.and_if(&condition, name, Some(D::list(texts)));
    }
}
