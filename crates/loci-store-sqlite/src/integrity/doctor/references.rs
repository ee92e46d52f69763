//! References between rows, and the rows that are counted or derived from others.

use loci_core::ProblemKind::{Damaged, Derived};
use loci_core::{Problem, ProblemKind};
use rusqlite::Connection;

use super::{ProblemRows, damaged};
use crate::failure::{Result, damage};
use crate::statements::passages::POSITION_BITS;
use crate::statements::tunnels::holds;

/// Something that rows must not be.
pub(crate) struct Rule {
    pub(crate) what: &'static str,
    pub(crate) kind: ProblemKind,
    /// SQL that returns the name of each such row, and `memory`, the row of the memory that it
    /// belongs to; 0 for none.
    pub(crate) found: &'static str,
    /// SQL that repairs it; empty if only a backup can.
    pub(crate) repair: &'static str,
}

const fn rule(
    what: &'static str,
    kind: ProblemKind,
    found: &'static str,
    repair: &'static str,
) -> Rule {
    Rule {
        what,
        kind,
        found,
        repair,
    }
}

const _: () = assert!(POSITION_BITS == 20);

/// The rules that only the rows can break. A row is repaired after the rows that refer to it. Rules
/// for damage use no index, because the index may be wrong.
pub(crate) const RULES: [Rule; 14] = [
    rule(
        "memories without content",
        Damaged,
        "SELECT id, 0 AS memory FROM memory AS t NOT INDEXED
            WHERE NOT EXISTS (SELECT 1 FROM content WHERE memory = t.row)",
        "",
    ),
    rule(
        "memories with a text that is not theirs, or not of the time of their record",
        Damaged,
        // Where the text itself is damaged, its checksum says so.
        "SELECT id, 0 AS memory FROM memory AS t NOT INDEXED JOIN content AS c ON c.memory = t.row
            WHERE text_checksum IS NOT loci_checksum(c.text) AND c.checksum IS loci_checksum(c.memory, c.text)",
        "",
    ),
    rule(
        // Both are written and removed together: the text is what is left of one that was lost.
        "texts whose memories are gone, by their rows",
        Damaged,
        "SELECT memory AS name, 0 AS memory FROM content AS t NOT INDEXED
            WHERE NOT EXISTS (SELECT 1 FROM memory WHERE row = t.memory)",
        "",
    ),
    rule(
        // The passages of what is removed for good go first. They are made with the words.
        "memories without passages, which no search finds",
        Derived,
        "SELECT id, row AS memory FROM memory AS t WHERE deleted_at IS NULL AND NOT EXISTS (
            SELECT 1 FROM passage WHERE row BETWEEN t.row << 20 AND (t.row + 1 << 20) - 1)",
        "",
    ),
    rule(
        "further vectors without a passage",
        Derived,
        "SELECT passage, passage >> 20 AS memory FROM further_vector AS t
            WHERE NOT EXISTS (SELECT 1 FROM passage WHERE row = t.passage)",
        "DELETE FROM further_vector WHERE passage NOT IN (SELECT row FROM passage)",
    ),
    rule(
        "passages without a memory",
        Derived,
        "SELECT row, row >> 20 AS memory FROM passage AS t WHERE NOT EXISTS (SELECT 1 FROM memory WHERE row = t.row >> 20)",
        "DELETE FROM further_vector WHERE passage >> 20 NOT IN (SELECT row FROM memory);
         DELETE FROM passage WHERE row >> 20 NOT IN (SELECT row FROM memory)",
    ),
    rule(
        "vectors of an unknown model",
        Derived,
        "SELECT ifnull((SELECT id FROM memory WHERE row = t.row >> 20), t.row >> 20), t.row >> 20 AS memory FROM passage AS t
            WHERE model IS NOT NULL AND model NOT IN (SELECT row FROM model)
         UNION ALL SELECT passage, passage >> 20 FROM further_vector WHERE model NOT IN (SELECT row FROM model)
         UNION ALL SELECT id, 0 FROM cache_entry
            WHERE model IS NOT NULL AND model NOT IN (SELECT row FROM model)",
        "DELETE FROM further_vector WHERE model NOT IN (SELECT row FROM model);
         UPDATE passage SET model = NULL, scale = NULL, vector = NULL
            WHERE model IS NOT NULL AND model NOT IN (SELECT row FROM model);
         UPDATE cache_entry SET model = NULL, scale = NULL, vector = NULL
            WHERE model IS NOT NULL AND model NOT IN (SELECT row FROM model)",
    ),
    rule(
        "passages with a part of a vector",
        Derived,
        "SELECT ifnull((SELECT id FROM memory WHERE row = t.row >> 20), t.row >> 20), t.row >> 20 AS memory FROM passage AS t
            WHERE (model IS NULL) <> (vector IS NULL) OR (model IS NULL) <> (scale IS NULL)",
        "UPDATE passage SET model = NULL, scale = NULL, vector = NULL
            WHERE (model IS NULL) <> (vector IS NULL) OR (model IS NULL) <> (scale IS NULL)",
    ),
    rule(
        "jobs without a memory",
        Derived,
        "SELECT memory AS name, 0 AS memory FROM job AS t WHERE NOT EXISTS (SELECT 1 FROM memory WHERE row = t.memory)",
        "DELETE FROM job WHERE memory NOT IN (SELECT row FROM memory)",
    ),
    rule(
        "memories that wait to be judged, or could not be, which no job tells of",
        Derived,
        "SELECT id, 0 AS memory FROM memory AS t
            WHERE enrichment IN ('pending', 'failed') AND deleted_at IS NULL AND row NOT IN (SELECT memory FROM job)",
        "INSERT INTO job (memory, due_at, attempts) SELECT row, iif(enrichment = 'pending', 0, NULL), 0 FROM memory
            WHERE enrichment IN ('pending', 'failed') AND deleted_at IS NULL AND row NOT IN (SELECT memory FROM job)",
    ),
    rule(
        "counts of returns without a memory",
        Derived,
        "SELECT memory AS name, 0 AS memory FROM access AS t WHERE NOT EXISTS (SELECT 1 FROM memory WHERE row = t.memory)",
        "DELETE FROM access WHERE memory NOT IN (SELECT row FROM memory)",
    ),
    rule(
        "former versions without a memory",
        Derived,
        "SELECT memory AS name, 0 AS memory FROM version AS t WHERE NOT EXISTS (SELECT 1 FROM memory WHERE row = t.memory)",
        "DELETE FROM version WHERE memory NOT IN (SELECT row FROM memory)",
    ),
    rule(
        "ends of tunnels at a memory that is not there",
        Derived,
        // Not of what is damaged, to which a change would give a checksum that holds.
        concat!(
            "SELECT id, 0 AS memory FROM tunnel AS t WHERE source_memory IS NOT NULL AND ",
            holds!(),
            " AND NOT EXISTS (SELECT 1 FROM memory WHERE space = t.space AND id = t.source_memory)
             UNION ALL SELECT id, 0 FROM tunnel AS t WHERE target_memory IS NOT NULL AND ",
            holds!(),
            " AND NOT EXISTS (SELECT 1 FROM memory WHERE space = t.space AND id = t.target_memory)"
        ),
        concat!(
            "UPDATE tunnel SET source_memory = NULL WHERE source_memory IS NOT NULL AND ",
            holds!(),
            " AND NOT EXISTS (SELECT 1 FROM memory WHERE space = tunnel.space AND id = tunnel.source_memory);
             UPDATE tunnel SET target_memory = NULL WHERE target_memory IS NOT NULL AND ",
            holds!(),
            " AND NOT EXISTS (SELECT 1 FROM memory WHERE space = tunnel.space AND id = tunnel.target_memory)"
        ),
    ),
    rule("secrets that are not there", Damaged, "SELECT 1, 0 AS memory WHERE NOT EXISTS (SELECT 1 FROM secret)", ""),
];

/// Vectors of another length than most of their model. That it has one is no rule of the store's.
pub(crate) const VECTORS: Rule = rule(
    "vectors that are not as long as others of their model",
    Derived,
    "WITH counted AS (
         SELECT model, length(vector) AS bytes, count(*) AS n FROM passage WHERE model IS NOT NULL GROUP BY 1, 2),
     usual AS (SELECT model, bytes, max(n) FROM counted GROUP BY model)
     SELECT ifnull((SELECT id FROM memory WHERE row = t.row >> 20), t.row >> 20), t.row >> 20 AS memory
     FROM passage AS t JOIN usual USING (model) WHERE length(t.vector) <> usual.bytes",
    "UPDATE passage SET model = NULL, scale = NULL, vector = NULL WHERE row IN (
         WITH counted AS (
             SELECT model, length(vector) AS bytes, count(*) AS n FROM passage WHERE model IS NOT NULL GROUP BY 1, 2),
         usual AS (SELECT model, bytes, max(n) FROM counted GROUP BY model)
         SELECT t.row FROM passage AS t JOIN usual USING (model) WHERE length(t.vector) <> usual.bytes)",
);

/// A count that the store keeps.
pub(crate) struct Count {
    pub(crate) table: &'static str,
    pub(crate) what: &'static str,
    /// SQL that counts it again.
    pub(crate) afresh: &'static str,
}

pub(crate) const COUNTS: [Count; 4] = [
    Count {
        table: "place_count",
        what: "the counts of places and their memories",
        afresh: "SELECT space, visibility, owner, collection, section, kind, tier, origin, is_forgotten, count(*)
            FROM countable GROUP BY space, visibility, owner, collection, section, kind, tier, origin, is_forgotten",
    },
    Count {
        table: "graph_count",
        what: "the counts of facts and the facts",
        afresh: "SELECT space, sum(is_thing), sum(is_fact) FROM (
                SELECT space, NOT is_relation AS is_thing, 0 AS is_fact FROM graph_name
                UNION ALL SELECT space, 0, 1 FROM fact) GROUP BY space",
    },
    Count {
        table: "keyed_answer_total",
        what: "the counts of answers under keys and the answers",
        afresh: "SELECT space, ifnull(owner, 0), count(*), sum(bytes) FROM keyed_answer GROUP BY space, ifnull(owner, 0)",
    },
    Count {
        table: "answer_memory",
        what: "the list of the memories in answers under keys and the answers",
        afresh:
            "SELECT DISTINCT row, space, value FROM keyed_answer, json_each(iif(json_valid(memories), memories, '[]'))
            WHERE json_each.type = 'text'",
    },
];

/// Returns the number of rows that only the count has, and that only a fresh count has.
pub(crate) fn differences(
    connection: &Connection,
    Count { table, afresh, .. }: &Count,
) -> Result<i64> {
    let sql = format!(
        "WITH afresh AS ({afresh}) SELECT (SELECT count(*) FROM (SELECT * FROM {table} EXCEPT SELECT * FROM afresh))
             + (SELECT count(*) FROM (SELECT * FROM afresh EXCEPT SELECT * FROM {table}))"
    );
    Ok(connection.query_row(&sql, [], |row| row.get(0))?)
}

/// Returns whether what was filed is all there.
pub(super) fn check_filed(connection: &Connection, problems: &mut Vec<Problem>) -> Result<()> {
    RULES
        .iter()
        .filter(|rule| rule.kind == Damaged)
        .try_for_each(|rule| check_rule(connection, rule, problems))
}

/// Returns whether what is derived is what it would be now.
pub(super) fn check_derived(connection: &Connection, problems: &mut Vec<Problem>) -> Result<()> {
    RULES
        .iter()
        .filter(|rule| rule.kind == Derived)
        .try_for_each(|rule| check_rule(connection, rule, problems))?;
    for count in &COUNTS {
        let mut found = 0;
        let problem =
            damage(differences(connection, count).map(|differences| found = differences))?;
        if found > 0 {
            problems.push(Problem {
                kind: Derived,
                text: format!("{found} differences between {}", count.what),
            });
        }
        problems.extend(
            problem.map(|problem| damaged(format!("{} cannot be compared: {problem}", count.what))),
        );
    }
    Ok(())
}

pub(super) fn check_vectors(connection: &Connection, problems: &mut Vec<Problem>) -> Result<()> {
    check_rule(connection, &VECTORS, problems)
}

fn check_rule(connection: &Connection, rule: &Rule, problems: &mut Vec<Problem>) -> Result<()> {
    let mut found = ProblemRows::default();
    let problem = damage((|| {
        let mut statement = connection.prepare(rule.found)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            found.add(row.get_ref(0)?);
        }
        Ok(())
    })())?;
    found.report(rule.kind, rule.what, "", problems);
    problems.extend(
        problem.map(|problem| damaged(format!("{} cannot be looked for: {problem}", rule.what))),
    );
    Ok(())
}
