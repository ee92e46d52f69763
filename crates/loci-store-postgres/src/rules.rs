//! Rules that the rows of a space keep, each as the statements that find what breaks it and repair
//! it. `$1` is the space.

use loci_core::ProblemKind::{self, Damaged, Derived};

/// The way in which a row that breaks a rule is put right.
pub(crate) enum Remedy {
    /// Only a backup has what is missing.
    Backup,
    /// The passages are made from the texts again.
    Passages,
    /// These statements.
    Statements(&'static [&'static str]),
    /// A new job for each memory that was found.
    Jobs,
    /// The rows that say which memories a reply holds are written again.
    Replies,
    /// The numbers that the space hands out are raised, and its bounds of times set again.
    Numbers,
}

/// A rule.
pub(crate) struct Rule {
    /// Describes the rows that break it.
    pub(crate) rows: &'static str,
    pub(crate) kind: ProblemKind,
    /// Returns the name of each such row as text, and the row of its memory; 0 for none.
    pub(crate) find: &'static str,
    pub(crate) remedy: Remedy,
}

pub(crate) const RULES: [Rule; 15] = [
    Rule {
        rows: "facts whose names are not known",
        kind: Damaged,
        find: "SELECT f.id, 0::bigint FROM @fact AS f WHERE f.space = $1 AND (NOT EXISTS (\
               SELECT 1 FROM @graph_name AS n WHERE n.space = $1 AND NOT n.is_relation AND n.key = f.subject) \
               OR NOT EXISTS (\
               SELECT 1 FROM @graph_name AS n WHERE n.space = $1 AND NOT n.is_relation AND n.key = f.object) \
               OR NOT EXISTS (\
               SELECT 1 FROM @graph_name AS n WHERE n.space = $1 AND n.is_relation AND n.key = f.predicate))",
        remedy: Remedy::Backup,
    },
    Rule {
        rows: "memories without passages, which no search finds",
        kind: Derived,
        find: "SELECT m.id, m.row FROM @memory AS m WHERE m.space = $1 AND m.deleted_at IS NULL AND NOT EXISTS (\
               SELECT 1 FROM @passage AS p WHERE p.space = $1 AND p.memory = m.row)",
        remedy: Remedy::Passages,
    },
    Rule {
        rows: "further vectors without a passage",
        kind: Derived,
        find: "SELECT f.memory::text, f.memory FROM @further_vector AS f WHERE f.space = $1 AND NOT EXISTS (\
               SELECT 1 FROM @passage AS p WHERE p.space = $1 AND p.memory = f.memory AND p.position = f.position)",
        remedy: Remedy::Statements(&[
            "DELETE FROM @further_vector AS f WHERE f.space = $1 AND NOT EXISTS (\
             SELECT 1 FROM @passage AS p WHERE p.space = $1 AND p.memory = f.memory AND p.position = f.position)",
        ]),
    },
    Rule {
        rows: "passages without a memory",
        kind: Derived,
        find: "SELECT p.memory::text, p.memory FROM @passage AS p WHERE p.space = $1 AND NOT EXISTS (\
               SELECT 1 FROM @memory AS m WHERE m.space = $1 AND m.row = p.memory)",
        remedy: Remedy::Statements(&[
            "DELETE FROM @further_vector AS f WHERE f.space = $1 AND NOT EXISTS (\
             SELECT 1 FROM @memory AS m WHERE m.space = $1 AND m.row = f.memory)",
            "DELETE FROM @passage AS p WHERE p.space = $1 AND NOT EXISTS (\
             SELECT 1 FROM @memory AS m WHERE m.space = $1 AND m.row = p.memory)",
        ]),
    },
    Rule {
        rows: "vectors of an unknown model",
        kind: Derived,
        find: "SELECT p.memory::text, p.memory FROM @passage AS p WHERE p.space = $1 AND p.model IS NOT NULL \
               AND NOT EXISTS (SELECT 1 FROM @model AS o WHERE o.space = $1 AND o.row = p.model) \
               UNION ALL SELECT f.memory::text, f.memory FROM @further_vector AS f WHERE f.space = $1 \
               AND NOT EXISTS (SELECT 1 FROM @model AS o WHERE o.space = $1 AND o.row = f.model)",
        remedy: Remedy::Statements(&[
            "DELETE FROM @further_vector AS f WHERE f.space = $1 AND NOT EXISTS (\
             SELECT 1 FROM @model AS o WHERE o.space = $1 AND o.row = f.model)",
            "UPDATE @passage AS p SET model = NULL, scale = NULL, vector = NULL WHERE p.space = $1 \
             AND p.model IS NOT NULL AND NOT EXISTS (\
             SELECT 1 FROM @model AS o WHERE o.space = $1 AND o.row = p.model)",
        ]),
    },
    Rule {
        rows: "passages with a part of a vector",
        kind: Derived,
        find: "SELECT p.memory::text, p.memory FROM @passage AS p WHERE p.space = $1 \
               AND num_nulls(p.model, p.scale, p.vector) NOT IN (0, 3)",
        remedy: Remedy::Statements(&[
            "UPDATE @passage SET model = NULL, scale = NULL, vector = NULL WHERE space = $1 \
             AND num_nulls(model, scale, vector) NOT IN (0, 3)",
        ]),
    },
    Rule {
        rows: "vectors that are not as long as others of their model",
        kind: Derived,
        find: "SELECT p.memory::text, p.memory FROM @passage AS p WHERE p.space = $1 AND p.model IS NOT NULL \
               AND length(p.vector) <> (SELECT mode() WITHIN GROUP (ORDER BY length(o.vector)) \
               FROM @passage AS o WHERE o.space = $1 AND o.model = p.model)",
        remedy: Remedy::Statements(&[
            "UPDATE @passage AS p SET model = NULL, scale = NULL, vector = NULL WHERE p.space = $1 \
             AND p.model IS NOT NULL AND length(p.vector) <> (\
             SELECT mode() WITHIN GROUP (ORDER BY length(o.vector)) \
             FROM @passage AS o WHERE o.space = $1 AND o.model = p.model)",
        ]),
    },
    Rule {
        rows: "memories without a vector in a space that is noted as embedded",
        kind: Derived,
        find: "SELECT p.memory::text, p.memory FROM @passage AS p WHERE p.space = $1 AND p.model IS NULL \
               AND EXISTS (SELECT 1 FROM @space AS s WHERE s.space = $1 AND s.embedded IS NOT NULL)",
        remedy: Remedy::Statements(&[]),
    },
    Rule {
        rows: "jobs without a memory",
        kind: Derived,
        find: "SELECT j.memory::text, 0::bigint FROM @job AS j WHERE j.space = $1 AND NOT EXISTS (\
               SELECT 1 FROM @memory AS m WHERE m.space = $1 AND m.row = j.memory)",
        remedy: Remedy::Statements(
            &["DELETE FROM @job AS j WHERE j.space = $1 AND NOT EXISTS (\
             SELECT 1 FROM @memory AS m WHERE m.space = $1 AND m.row = j.memory)"],
        ),
    },
    Rule {
        rows: "memories that wait to be judged, or could not be, which no job tells of",
        kind: Derived,
        find: "SELECT m.id, m.row FROM @memory AS m WHERE m.space = $1 AND m.enrichment IN ('pending', 'failed') \
               AND m.deleted_at IS NULL AND NOT EXISTS (\
               SELECT 1 FROM @job AS j WHERE j.space = $1 AND j.memory = m.row)",
        remedy: Remedy::Jobs,
    },
    Rule {
        rows: "counts of returns without a memory",
        kind: Derived,
        find: "SELECT a.memory::text, 0::bigint FROM @access AS a WHERE a.space = $1 AND NOT EXISTS (\
               SELECT 1 FROM @memory AS m WHERE m.space = $1 AND m.row = a.memory)",
        remedy: Remedy::Statements(&[
            "DELETE FROM @access AS a WHERE a.space = $1 AND NOT EXISTS (\
             SELECT 1 FROM @memory AS m WHERE m.space = $1 AND m.row = a.memory)",
        ]),
    },
    Rule {
        rows: "former versions without a memory",
        kind: Derived,
        find: "SELECT v.memory::text, 0::bigint FROM @version AS v WHERE v.space = $1 AND NOT EXISTS (\
               SELECT 1 FROM @memory AS m WHERE m.space = $1 AND m.row = v.memory)",
        remedy: Remedy::Statements(&[
            "DELETE FROM @version AS v WHERE v.space = $1 AND NOT EXISTS (\
             SELECT 1 FROM @memory AS m WHERE m.space = $1 AND m.row = v.memory)",
        ]),
    },
    Rule {
        rows: "ends of tunnels at a memory that is not there",
        kind: Derived,
        find: "SELECT t.id, 0::bigint FROM @tunnel AS t WHERE t.space = $1 AND (\
               (t.source_memory IS NOT NULL AND NOT EXISTS (\
               SELECT 1 FROM @memory AS m WHERE m.space = $1 AND m.id = t.source_memory)) \
               OR (t.target_memory IS NOT NULL AND NOT EXISTS (\
               SELECT 1 FROM @memory AS m WHERE m.space = $1 AND m.id = t.target_memory)))",
        remedy: Remedy::Statements(&[
            "UPDATE @tunnel AS t SET source_memory = NULL WHERE t.space = $1 AND t.source_memory IS NOT NULL \
             AND NOT EXISTS (SELECT 1 FROM @memory AS m WHERE m.space = $1 AND m.id = t.source_memory)",
            "UPDATE @tunnel AS t SET target_memory = NULL WHERE t.space = $1 AND t.target_memory IS NOT NULL \
             AND NOT EXISTS (SELECT 1 FROM @memory AS m WHERE m.space = $1 AND m.id = t.target_memory)",
        ]),
    },
    Rule {
        rows: "replies under idempotency keys whose memories are not listed",
        kind: Derived,
        find: "SELECT r.operation || ' ' || r.key, 0::bigint FROM @reply AS r WHERE r.space = $1 AND EXISTS (\
               SELECT 1 FROM unnest(r.memories) AS id WHERE NOT EXISTS (\
               SELECT 1 FROM @reply_memory AS l WHERE l.space = $1 AND l.memory = id AND l.reply = r.reply))",
        remedy: Remedy::Replies,
    },
    Rule {
        rows: "spaces with a number or a time that its rows exceed",
        kind: Derived,
        find: "SELECT s.space, 0::bigint FROM @space AS s, LATERAL (SELECT \
               (SELECT max(number) FROM @change WHERE space = $1) AS version, \
               (SELECT max(row) FROM @memory WHERE space = $1) AS memory, \
               (SELECT max(row) FROM @fact WHERE space = $1) AS fact, \
               (SELECT max(number) FROM @audit WHERE space = $1) AS audits, \
               least((SELECT min(expires_at) FROM @memory WHERE space = $1), \
               (SELECT min(expires_at) FROM @cache_entry WHERE space = $1), \
               (SELECT min(expires_at) FROM @decision WHERE space = $1), \
               (SELECT min(expires_at) FROM @reply WHERE space = $1)) AS expires_from, \
               (SELECT min(deleted_at) FROM @memory WHERE space = $1) AS deleted_from, \
               (SELECT min(at) FROM @wipe WHERE space = $1) AS wiped_from) AS r \
               WHERE s.space = $1 AND (s.version < r.version OR s.rows < greatest(r.memory, r.fact) \
               OR s.audits < r.audits OR coalesce(s.expires_from > r.expires_from, r.expires_from IS NOT NULL) \
               OR coalesce(s.deleted_from > r.deleted_from, r.deleted_from IS NOT NULL) \
               OR coalesce(s.wiped_from > r.wiped_from, r.wiped_from IS NOT NULL))",
        remedy: Remedy::Numbers,
    },
];
