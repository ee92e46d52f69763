//! Looking for damage, and for what is derived and not as it would be made now.

pub(crate) mod integrity;
mod parts;
pub(crate) mod references;
pub(crate) mod structure;
pub(crate) mod tables;

use std::collections::BTreeSet;

use loci_core::{Problem, ProblemKind};
use rusqlite::Connection;
use rusqlite::types::ValueRef;

pub(crate) use self::parts::check_in_parts;
use self::tables::ChecksumReport;
use crate::failure::{Result, damage, readable};
use crate::key::StoreKey;
use crate::opening::schema::Definition;
use crate::opening::{reanalysis, schema};

/// Rows that a problem names, at most; the others are counted.
const NAMED_MAX: usize = 20;
/// Problems of each kind that are told.
const TOLD_MAX: usize = 100;

/// Rows of one problem.
#[derive(Debug, Default)]
pub(crate) struct ProblemRows {
    names: Vec<String>,
    count: usize,
}

impl ProblemRows {
    pub(crate) fn add(&mut self, name: ValueRef<'_>) {
        self.count += 1;
        if self.names.len() < NAMED_MAX {
            self.names.push(format!("`{}`", readable(name)));
        }
    }

    fn report(self, kind: ProblemKind, what: &str, why: &str, problems: &mut Vec<Problem>) {
        if self.count > 0 {
            let more = self.count - self.names.len();
            let more = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            problems.push(Problem {
                kind,
                text: format!(
                    "{} {what}: {}{more}{why}",
                    self.count,
                    self.names.join(", ")
                ),
            });
        }
    }
}

/// The problems of the database as of one moment. Reads the whole database; with `words`, also
/// analyses every text again and compares the outcome with what is stored.
pub(crate) fn check(
    connection: &Connection,
    key: Option<&StoreKey>,
    words: bool,
) -> Result<Vec<Problem>> {
    let snapshot = connection.unchecked_transaction()?;
    let mut problems = structure::check(&snapshot, key)?;
    let has_sound_structure = problems.is_empty();
    if definitions(&snapshot, schema::definitions()?, &mut problems)? {
        let ChecksumReport { broken, .. } =
            tables::check_checksums(&snapshot, &BTreeSet::new(), &mut problems)?;
        references::check_filed(&snapshot, &mut problems)?;
        // The further questions use indexes, and could not tell damage to them from damage to rows.
        if has_sound_structure {
            tables::check_values(&snapshot, &broken, &BTreeSet::new(), &mut problems)?;
            references::check_derived(&snapshot, &mut problems)?;
            if words {
                references::check_vectors(&snapshot, &mut problems)?;
                check_words(&snapshot, &mut problems)?;
            }
        }
    }
    snapshot.finish()?;
    Ok(told(problems))
}

/// The first of each kind, and how many more there are.
fn told(problems: Vec<Problem>) -> Vec<Problem> {
    let mut told = Vec::new();
    for kind in [
        ProblemKind::Damaged,
        ProblemKind::Derived,
        ProblemKind::Foreign,
    ] {
        let mut of_kind = problems.iter().filter(|problem| problem.kind == kind);
        told.extend(of_kind.by_ref().take(TOLD_MAX).cloned());
        let more = of_kind.count();
        if more > 0 {
            told.push(Problem {
                kind,
                text: format!("{more} more"),
            });
        }
    }
    told
}

/// The same for a database of an older schema, of which only the structure is known.
pub(crate) fn check_older(connection: &Connection) -> Result<Vec<Problem>> {
    let lines = integrity::integrity_check(connection, integrity::LINES_MAX)?;
    Ok(told(lines.into_iter().map(damaged).collect()))
}

/// The same for one that comes from elsewhere: it may have no definitions beyond that schema.
pub(crate) fn check_foreign(
    connection: &Connection,
    key: Option<&StoreKey>,
    schema: i64,
) -> Result<Vec<Problem>> {
    let mut problems = structure::check(connection, key)?;
    foreign_definitions(
        connection,
        &schema::definitions_of(schema)?,
        false,
        &mut problems,
    )?;
    Ok(told(problems))
}

fn derived(text: String) -> Problem {
    Problem {
        kind: ProblemKind::Derived,
        text,
    }
}

fn damaged(text: String) -> Problem {
    Problem {
        kind: ProblemKind::Damaged,
        text,
    }
}

/// Returns whether every table and index is as loci makes it; without that, no further question can
/// be asked.
fn definitions(
    connection: &Connection,
    ours: &[Definition],
    problems: &mut Vec<Problem>,
) -> Result<bool> {
    foreign_definitions(connection, ours, true, problems)?;
    let mut are_ours = true;
    for Definition { name, sql, .. } in ours {
        let find = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = ?1 AND sql = ?2)";
        let mut is_ours = false;
        let problem = damage((|| {
            is_ours = connection
                .prepare_cached(find)?
                .query_row([name, sql], |row| row.get(0))?;
            Ok(())
        })())?;
        if !is_ours {
            let problem = problem.map_or_else(String::new, |problem| format!(": {problem}"));
            problems.push(damaged(format!(
                "the definition of {name} is not what loci writes{problem}"
            )));
            are_ours = false;
        }
    }
    Ok(are_ours)
}

/// Names the tables, indexes, triggers and views that no migration makes: a trigger acts on what is
/// written, and each may call functions. With `spares_altered`, a table or an index of ours with
/// another definition is left out.
fn foreign_definitions(
    connection: &Connection,
    ours: &[Definition],
    spares_altered: bool,
    problems: &mut Vec<Problem>,
) -> Result<()> {
    // SQLite's own: the statistics of ANALYZE, and the last numbers of tables.
    const OF_SQLITE: [&str; 3] = ["sqlite_stat1", "sqlite_stat4", "sqlite_sequence"];
    let is_known = |kind: &str, name: &str, sql: &str| {
        let is_ours = |it: &Definition| (&*it.kind, &*it.name, &*it.sql) == (kind, name, sql);
        ours.iter().any(is_ours) || (kind == "table" && OF_SQLITE.contains(&name))
    };
    let is_named = |name: &str| ours.iter().any(|it| it.name == name);
    let mut foreign = Vec::new();
    let problem = damage((|| {
        let mut statement = connection
            .prepare("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let text = |column| {
                row.get_ref(column)
                    .map(|value| String::from_utf8_lossy(value.as_bytes().unwrap_or_default()))
            };
            let (kind, name, sql) = (text(0)?, text(1)?, text(2)?);
            let is_altered =
                spares_altered && matches!(&*kind, "table" | "index") && is_named(&name);
            if !is_known(&kind, &name, &sql) && !is_altered {
                let text = format!(
                    "the {kind} {name:?} was not made by loci; remove it: DROP {}",
                    kind.to_uppercase()
                );
                foreign.push(Problem {
                    kind: ProblemKind::Foreign,
                    text,
                });
            }
        }
        Ok(())
    })())?;
    problems.append(&mut foreign);
    problems.extend(
        problem.map(|problem| damaged(format!("the definitions cannot be read: {problem}"))),
    );
    Ok(())
}

/// Returns whether every text would be cut and analysed now as it was.
fn check_words(connection: &Connection, problems: &mut Vec<Problem>) -> Result<()> {
    let mut wrong = ProblemRows::default();
    let problem = damage(each_wrong_text(connection, |_, id| wrong.add(id)))?;
    problems.extend(
        problem.map(|problem| damaged(format!("not all texts can be analysed again: {problem}"))),
    );
    let why = ", which search may not find by their words";
    wrong.report(
        ProblemKind::Derived,
        "memories with other passages or words than their texts give",
        why,
        problems,
    );
    Ok(())
}

/// Names the rows and ids of the memories whose passages are not what their texts give. Damaged
/// texts are passed over.
pub(crate) fn each_wrong_text(
    connection: &Connection,
    mut wrong: impl FnMut(i64, ValueRef<'_>),
) -> Result<()> {
    let mut statement =
        connection.prepare("SELECT row, id FROM memory WHERE deleted_at IS NULL ORDER BY row")?;
    let mut rows = statement.query([])?;
    while let Some(memory) = rows.next()? {
        let row = memory.get(0)?;
        match reanalysis::fits(connection, row) {
            Ok(true) => {}
            Ok(false) => wrong(row, memory.get_ref(1)?),
            Err(failure) if failure.is_damage() => {}
            Err(failure) => return Err(failure),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
