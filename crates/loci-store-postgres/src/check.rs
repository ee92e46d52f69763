//! The checks of `loci doctor`: whether all tables are there, whether the rows can be read and keep
//! the rules, and whether the passages belong to the texts.

use std::collections::HashMap;

use loci_core::{Error, ErrorCode, MemoryId, Problem, ProblemKind, Space};
use loci_index::codec::{decode_owned_terms, stored_space};
use loci_index::records::ReadColumns;
use loci_text::indexed;
use tokio_postgres::Row;

use crate::citus;
use crate::counts;
use crate::definitions::{self, Definition, DefinitionKind};
use crate::failure::Result;
use crate::migration_lock;
use crate::row::{WHOLE_COLUMNS, WHOLE_TABLES, read_whole};
use crate::row_security::{POLICY, RowSecurityStatus};
use crate::rules::{RULES, Remedy, Rule};
use crate::scope::Scope;
use crate::server::Server;
use crate::session::Session;
use crate::transaction::check_analysis;
use crate::value::{Columns, values};

/// Rows that a problem names, at most; the others are counted.
const NAMED_MAX: usize = 20;
/// Memories that are read at once.
pub(crate) const PAGE: usize = 200;

/// Returns the problems of the store; with `words`, texts are analysed again.
pub(crate) fn check(server: &Server, words: bool) -> Result<Vec<Problem>, Error> {
    let mut problems = server.read(Scope::AllSpaces, async |session| {
        definitions(session, server).await
    })?;
    if problems
        .iter()
        .any(|problem| problem.kind == ProblemKind::Damaged)
    {
        return Ok(problems);
    }
    for space in spaces(server)? {
        let found = server.read_snapshot(&space, async |session| {
            check_space(session, &space, words).await
        });
        match found {
            Ok(found) => problems.extend(found),
            // A page of the database that fails its checksum, say.
            Err(error) if error.code == ErrorCode::Corrupt => {
                problems.push(damaged(format!(
                    "the space `{space}` cannot be read: {error}"
                )));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(problems)
}

/// Returns the spaces of the store, in order.
pub(crate) fn spaces(server: &Server) -> Result<Vec<Space>, Error> {
    let names = server.read(Scope::AllSpaces, async |session| {
        let sql = "SELECT space FROM @space WHERE space <> '' ORDER BY space";
        let rows = session.query(sql, &[]).await?;
        let names = rows.iter().map(|row| Ok(row.try_get::<_, String>(0)?));
        names.collect::<Result<Vec<_>>>()
    })?;
    names.iter().map(|name| stored_space(name)).collect()
}

fn damaged(text: String) -> Problem {
    Problem {
        kind: ProblemKind::Damaged,
        text,
    }
}

fn derived(text: String) -> Problem {
    Problem {
        kind: ProblemKind::Derived,
        text,
    }
}

/// Looks for tables and indexes that are missing, that cannot be used, or that loci did not make.
async fn definitions(session: &Session, server: &Server) -> Result<Vec<Problem>> {
    let schema = &server.options().schema;
    let mut problems = Vec::new();
    for definition in definitions::missing(session, schema).await? {
        let Definition { kind, name, .. } = definition;
        problems.push(match kind {
            DefinitionKind::Table => damaged(format!(
                "the table {name} is missing: restore the database from a backup"
            )),
            DefinitionKind::Index => derived(format!("the index {name} is missing or invalid")),
        });
    }
    let is_complete = problems.is_empty();
    for table in definitions::with_statistics(session, schema).await? {
        problems.push(derived(format!(
            "statistics are kept on the column space of the table {table}, which makes statements slow"
        )));
    }
    let wall = RowSecurityStatus::look(session, schema).await?;
    for table in &wall.without_policy {
        problems.push(derived(format!(
            "the table {table} lacks the policy of row security"
        )));
    }
    for table in wall.gaps() {
        problems.push(derived(format!(
            "row security is off in the table {table}, and on in others"
        )));
    }
    problems.extend(foreign(session, schema).await?);
    if is_complete && definitions::lacks_secret(session).await? {
        problems.push(damaged(
            "the row of the table installation is missing: restore the database from a backup"
                .to_owned(),
        ));
    }
    Ok(problems)
}

async fn foreign(session: &Session, schema: &str) -> Result<Vec<Problem>> {
    let ours = definitions::all();
    let mut problems = Vec::new();
    let mut name_foreign = |kind: &str, name: &str, remedy: String| {
        problems.push(Problem {
            kind: ProblemKind::Foreign,
            text: format!("the {kind} {name:?} was not made by loci; remove it: {remedy}"),
        });
    };
    let sql = "SELECT c.relname::text, CASE c.relkind WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' \
        WHEN 'S' THEN 'sequence' WHEN 'f' THEN 'foreign table' ELSE 'table' END \
        FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace \
        WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f') AND NOT c.relispartition ORDER BY 1";
    for row in session.query(sql, &values![schema]).await? {
        let (name, kind): (String, String) = (row.try_get(0)?, row.try_get(1)?);
        let is_ours = ours
            .iter()
            .any(|it| it.kind == DefinitionKind::Table && it.name == name);
        let is_ours = is_ours || citus::is_of_cluster(&name);
        if !is_ours && name != "migration" && name != migration_lock::TABLE {
            let remedy = format!("DROP {} \"{schema}\".\"{name}\"", kind.to_uppercase());
            name_foreign(&kind, &name, remedy);
        }
    }
    let sql = "SELECT t.tgname::text, c.relname::text FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid \
        JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND NOT t.tgisinternal ORDER BY 1, 2";
    for row in session.query(sql, &values![schema]).await? {
        let (name, table): (String, String) = (row.try_get(0)?, row.try_get(1)?);
        let remedy = format!("DROP TRIGGER \"{name}\" ON \"{schema}\".\"{table}\"");
        name_foreign("trigger", &name, remedy);
    }
    let sql = "SELECT p.polname::text, c.relname::text FROM pg_policy AS p JOIN pg_class AS c ON c.oid = p.polrelid \
        JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND p.polname <> $2 ORDER BY 1, 2";
    for row in session.query(sql, &values![schema, POLICY]).await? {
        let (name, table): (String, String) = (row.try_get(0)?, row.try_get(1)?);
        let remedy = format!("DROP POLICY \"{name}\" ON \"{schema}\".\"{table}\"");
        name_foreign("policy", &name, remedy);
    }
    Ok(problems)
}

async fn check_space(session: &Session, space: &Space, words: bool) -> Result<Vec<Problem>> {
    let sql = "SELECT analysis FROM @space WHERE space = $1";
    if let Some(row) = session.query_one(sql, &values![space]).await? {
        check_analysis(row.try_get(0)?)?;
    }
    let mut problems = Vec::new();
    let mut report = |kind: ProblemKind, rows: &str, names: &[String]| {
        if !names.is_empty() {
            let named: Vec<_> = names
                .iter()
                .take(NAMED_MAX)
                .map(|name| format!("`{name}`"))
                .collect();
            let more = names.len() - named.len();
            let more = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            let text = format!(
                "{} {rows} in the space `{space}`: {}{more}",
                names.len(),
                named.join(", ")
            );
            problems.push(Problem { kind, text });
        }
    };
    for rule in &RULES {
        let names: Vec<String> = broken(session, space.as_str(), rule)
            .await?
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        report(rule.kind, rule.rows, &names);
    }
    let Texts { unreadable, wrong } = texts(session, space, words).await?;
    report(
        ProblemKind::Damaged,
        "memories that cannot be read",
        &unreadable,
    );
    report(
        ProblemKind::Derived,
        "memories with other passages or words than their texts give, which search may not find by their words",
        &wrong,
    );
    let differences = counts::differences(session, space.as_str()).await?;
    if differences > 0 {
        problems.push(derived(format!(
            "{differences} differences between the counts of places and their memories in the space `{space}`"
        )));
    }
    Ok(problems)
}

/// Returns the names of what breaks a rule, with the rows of their memories.
pub(crate) async fn broken(
    session: &Session,
    space: &str,
    rule: &Rule,
) -> Result<Vec<(String, i64)>> {
    let rows = session.query(rule.find, &values![space]).await?;
    rows.iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
        .collect()
}

/// Returns true if a rule is put right by making the passages from the texts again.
pub(crate) fn needs_passages(rule: &Rule) -> bool {
    matches!(rule.remedy, Remedy::Passages)
}

/// The memories that a look at all texts found.
#[derive(Default)]
struct Texts {
    unreadable: Vec<String>,
    wrong: Vec<String>,
}

async fn texts(session: &Session, space: &Space, words: bool) -> Result<Texts> {
    let mut found = Texts::default();
    let mut last = 0_i64;
    loop {
        let rows = page(session, space.as_str(), last).await?;
        let Some(newest) = rows.last() else {
            return Ok(found);
        };
        let first = last + 1;
        last = newest.try_get("row")?;
        let passages = if words {
            passages(session, space.as_str(), first, last).await?
        } else {
            HashMap::new()
        };
        for row in &rows {
            let (number, id): (i64, String) = (row.try_get("row")?, row.try_get("id")?);
            let Ok(memory) = read_whole(row) else {
                found.unreadable.push(id);
                continue;
            };
            let stored = passages.get(&number).map_or(&[][..], Vec::as_slice);
            if words && !indexed::fit(&memory, stored) {
                found.wrong.push(MemoryId::new(id).to_string());
            }
        }
    }
}

/// Returns the next memories after a row that are not soft-deleted, with their rows.
pub(crate) async fn page(session: &Session, space: &str, after: i64) -> Result<Vec<Row>> {
    let sql = format!(
        "SELECT {WHOLE_COLUMNS}, NULL::text AS superseded_by, m.row FROM {WHOLE_TABLES} WHERE m.space = $1 \
         AND m.row > $2 AND m.deleted_at IS NULL ORDER BY m.row LIMIT $3"
    );
    session.query(&sql, &values![space, after, PAGE]).await
}

type StoredPassages = Vec<(std::ops::Range<usize>, Vec<loci_core::Term>)>;

/// Returns the passages of the memories in a range of rows, by row. One that cannot be read has no
/// terms.
async fn passages(
    session: &Session,
    space: &str,
    first: i64,
    last: i64,
) -> Result<HashMap<i64, StoredPassages>> {
    let sql = "SELECT memory, position, first_byte, end_byte, terms FROM @passage \
        WHERE space = $1 AND memory BETWEEN $2 AND $3 ORDER BY memory, position";
    let mut passages: HashMap<i64, StoredPassages> = HashMap::new();
    for row in session.query(sql, &values![space, first, last]).await? {
        let mut columns = Columns::of(&row);
        let (memory, position): (i64, u64) = (columns.take()?, columns.number()?);
        let range = columns.number()? as usize..columns.number()? as usize;
        let terms = decode_owned_terms(columns.take()?).unwrap_or_default();
        let of_memory = passages.entry(memory).or_default();
        if of_memory.len() as u64 == position {
            of_memory.push((range, terms));
        }
    }
    Ok(passages)
}
