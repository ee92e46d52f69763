-- The calls of a day that have the same user, tool set, client, tool and outcome. They outlive the audit log, with
-- whose entries they are written.
CREATE TABLE @daily (
    space       text COLLATE "C" NOT NULL,
    day         bigint NOT NULL,               -- since 1970-01-01, UTC
    "user"      text COLLATE "C" NOT NULL,     -- empty for anonymous callers
    via         text COLLATE "C" NOT NULL,     -- the tool set
    client      text COLLATE "C" NOT NULL,     -- empty if it gave no name
    tool        text COLLATE "C" NOT NULL,
    outcome     text COLLATE "C" NOT NULL,
    calls       bigint NOT NULL,
    results     bigint NOT NULL,
    weak        bigint NOT NULL,
    tokens_start bigint NOT NULL,
    tokens_prompt bigint NOT NULL,
    tokens_reply bigint NOT NULL,
    stored      bigint NOT NULL,
    t0          bigint NOT NULL,               -- calls below 1 ms, then each class with twice the bound
    t1          bigint NOT NULL,
    t2          bigint NOT NULL,
    t3          bigint NOT NULL,
    t4          bigint NOT NULL,
    t5          bigint NOT NULL,
    t6          bigint NOT NULL,
    t7          bigint NOT NULL,
    t8          bigint NOT NULL,
    t9          bigint NOT NULL,
    t10         bigint NOT NULL,
    t11         bigint NOT NULL,
    PRIMARY KEY (space, day, "user", via, client, tool, outcome)
);
CREATE INDEX daily_by_user ON @daily (space, "user", day);

-- What the log has so far. The outcome is that of DailyCount::of.
INSERT INTO @daily (space, day, "user", via, client, tool, outcome, calls, results, weak, tokens_start, tokens_prompt,
    tokens_reply, stored, t0, t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11)
SELECT space, day, "user", via, client, tool, outcome, count(*), sum(results)::bigint,
    count(*) FILTER (WHERE outcome = 'found' AND is_weak),
    coalesce(sum(tokens) FILTER (WHERE of_hook AND at_start), 0)::bigint,
    coalesce(sum(tokens) FILTER (WHERE of_hook AND NOT at_start), 0)::bigint,
    coalesce(sum(tokens) FILTER (WHERE NOT of_hook), 0)::bigint, sum(stored)::bigint,
    count(*) FILTER (WHERE bucket = 0), count(*) FILTER (WHERE bucket = 1), count(*) FILTER (WHERE bucket = 2),
    count(*) FILTER (WHERE bucket = 3), count(*) FILTER (WHERE bucket = 4), count(*) FILTER (WHERE bucket = 5),
    count(*) FILTER (WHERE bucket = 6), count(*) FILTER (WHERE bucket = 7), count(*) FILTER (WHERE bucket = 8),
    count(*) FILTER (WHERE bucket = 9), count(*) FILTER (WHERE bucket = 10), count(*) FILTER (WHERE bucket = 11)
FROM (
    SELECT *, CASE
        WHEN code IS NOT NULL THEN (CASE WHEN is_recall THEN 'recall ' ELSE '' END) || code
        WHEN NOT is_recall THEN 'done'
        WHEN is_empty THEN 'nothing'
        ELSE 'found' END AS outcome
    FROM (
        SELECT a.space, (a.at - mod(mod(a.at, 86400000000) + 86400000000, 86400000000)) / 86400000000 AS day,
            coalesce(a."user", '') AS "user", a.dialect AS via, coalesce(a.client, '') AS client, a.tool, a.code,
            coalesce(a.results, 0) AS results, coalesce(a.reply_tokens, 0) AS tokens, a.dialect = 'hook' AS of_hook,
            a.tool = 'session_start' AS at_start,
            a.query IS NOT NULL OR a.dialect = 'hook' OR EXISTS (
                SELECT 1 FROM @audit_record AS r WHERE r.space = a.space AND r.entry = a.number AND r.verb = 'returned'
            ) AS is_recall,
            coalesce(a.results, 0) = 0 AND NOT EXISTS (
                SELECT 1 FROM @audit_record AS r WHERE r.space = a.space AND r.entry = a.number
                AND r.verb IN ('returned', 'read')
            ) AS is_empty,
            coalesce(a.results = 0, false) AND EXISTS (
                SELECT 1 FROM @audit_record AS r WHERE r.space = a.space AND r.entry = a.number
                AND r.verb IN ('returned', 'read')
            ) AS is_weak,
            (SELECT count(*) FROM @audit_record AS r WHERE r.space = a.space AND r.entry = a.number
                AND r.verb = 'stored') AS stored,
            CASE WHEN a.duration < 1000 THEN 0 WHEN a.duration < 2000 THEN 1 WHEN a.duration < 4000 THEN 2
                WHEN a.duration < 8000 THEN 3 WHEN a.duration < 16000 THEN 4 WHEN a.duration < 32000 THEN 5
                WHEN a.duration < 64000 THEN 6 WHEN a.duration < 128000 THEN 7 WHEN a.duration < 256000 THEN 8
                WHEN a.duration < 512000 THEN 9 WHEN a.duration < 1024000 THEN 10 ELSE 11 END AS bucket
        FROM @audit AS a
        WHERE a."user" IS NULL OR a."user" !~ '^wiped-.{32}$'
    ) AS called
) AS counted
GROUP BY space, day, "user", via, client, tool, outcome;
