PRAGMA user_version = 16;

-- The calls of a day that have the same user, tool set, client, tool and outcome. They outlive the audit log, with whose
-- entries they are written.
CREATE TABLE daily (
    row         INTEGER PRIMARY KEY,
    space       TEXT NOT NULL,
    day         INTEGER NOT NULL,        -- since 1970-01-01, UTC
    user        TEXT NOT NULL,           -- empty for anonymous callers
    via         TEXT NOT NULL,           -- the tool set
    client      TEXT NOT NULL,           -- empty if it gave no name
    tool        TEXT NOT NULL,
    outcome     TEXT NOT NULL,
    calls       INTEGER NOT NULL,
    results     INTEGER NOT NULL,
    weak        INTEGER NOT NULL,
    tokens_start INTEGER NOT NULL,
    tokens_prompt INTEGER NOT NULL,
    tokens_reply INTEGER NOT NULL,
    stored      INTEGER NOT NULL,
    t0          INTEGER NOT NULL,        -- calls below 1 ms, then each class with twice the bound
    t1          INTEGER NOT NULL,
    t2          INTEGER NOT NULL,
    t3          INTEGER NOT NULL,
    t4          INTEGER NOT NULL,
    t5          INTEGER NOT NULL,
    t6          INTEGER NOT NULL,
    t7          INTEGER NOT NULL,
    t8          INTEGER NOT NULL,
    t9          INTEGER NOT NULL,
    t10         INTEGER NOT NULL,
    t11         INTEGER NOT NULL,
    checksum    INTEGER NOT NULL AS (loci_checksum(
        row, space, day, user, via, client, tool, outcome, calls, results, weak, tokens_start, tokens_prompt,
        tokens_reply, stored, t0, t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11
    )) STORED
) STRICT;
CREATE UNIQUE INDEX daily_by_day ON daily (space, day, user, via, client, tool, outcome);
CREATE INDEX daily_by_user ON daily (space, user, day, via, client, tool, outcome);
CREATE INDEX daily_by_age ON daily (day);

-- What the log has so far. The outcome is that of DailyCount::of; damaged entries do not count.
INSERT INTO daily (space, day, user, via, client, tool, outcome, calls, results, weak, tokens_start, tokens_prompt,
    tokens_reply, stored, t0, t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11)
SELECT space, day, user, via, client, tool, outcome, count(*), sum(results), sum(outcome = 'found' AND is_weak),
    sum(iif(of_hook AND at_start, tokens, 0)), sum(iif(of_hook AND NOT at_start, tokens, 0)),
    sum(iif(of_hook, 0, tokens)), sum(stored),
    sum(bucket = 0), sum(bucket = 1), sum(bucket = 2), sum(bucket = 3), sum(bucket = 4), sum(bucket = 5),
    sum(bucket = 6), sum(bucket = 7), sum(bucket = 8), sum(bucket = 9), sum(bucket = 10), sum(bucket = 11)
FROM (
    SELECT *, CASE
        WHEN code IS NOT NULL THEN iif(is_recall, 'recall ', '') || code
        WHEN NOT is_recall THEN 'done'
        WHEN is_empty THEN 'nothing'
        ELSE 'found' END AS outcome
    FROM (
        SELECT a.space, a.at / 86400000000 - (a.at % 86400000000 < 0) AS day, ifnull(a.user, '') AS user,
            a.dialect AS via, ifnull(a.client, '') AS client, a.tool, a.code, ifnull(a.results, 0) AS results,
            ifnull(a.reply_tokens, 0) AS tokens, a.dialect = 'hook' AS of_hook, a.tool = 'session_start' AS at_start,
            a.query IS NOT NULL OR a.dialect = 'hook' OR EXISTS (
                SELECT 1 FROM audit_record AS r WHERE r.entry = a.number AND r.verb = 'returned') AS is_recall,
            ifnull(a.results, 0) = 0 AND NOT EXISTS (
                SELECT 1 FROM audit_record AS r WHERE r.entry = a.number AND r.verb IN ('returned', 'read')
            ) AS is_empty,
            a.results IS 0 AND EXISTS (
                SELECT 1 FROM audit_record AS r WHERE r.entry = a.number AND r.verb IN ('returned', 'read')
            ) AS is_weak,
            (SELECT count(*) FROM audit_record AS r WHERE r.entry = a.number AND r.verb = 'stored') AS stored,
            CASE WHEN a.duration < 1000 THEN 0 WHEN a.duration < 2000 THEN 1 WHEN a.duration < 4000 THEN 2
                WHEN a.duration < 8000 THEN 3 WHEN a.duration < 16000 THEN 4 WHEN a.duration < 32000 THEN 5
                WHEN a.duration < 64000 THEN 6 WHEN a.duration < 128000 THEN 7 WHEN a.duration < 256000 THEN 8
                WHEN a.duration < 512000 THEN 9 WHEN a.duration < 1024000 THEN 10 ELSE 11 END AS bucket
        FROM audit AS a
        WHERE a.checksum IS loci_checksum(a.number, a.space, a.at, a.user, a.caller, a.dialect, a.tool, a.operation,
            a.duration, a.query, a.results, a.code, a.message, a.client, a.session, a.reply_tokens)
            AND (a.user IS NULL OR a.user NOT GLOB 'wiped-????????????????????????????????')
    )
)
GROUP BY space, day, user, via, client, tool, outcome;
