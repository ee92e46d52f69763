PRAGMA user_version = 15;

-- Who asserted a fact. No column with a checksum can be added in place: the rows, which are counted already, move to
-- another table, which takes the name. Indexes go first and come last, for the reasons of V4.
DROP INDEX IF EXISTS fact_by_id;
DROP INDEX IF EXISTS fact_open;
DROP INDEX IF EXISTS fact_by_subject;
DROP INDEX IF EXISTS fact_by_object;
DROP INDEX IF EXISTS fact_by_beginning;
DROP INDEX IF EXISTS fact_by_end;
-- So that a view which refers to the table is no obstacle:
PRAGMA legacy_alter_table = ON;

CREATE TABLE fact_next (
    row         INTEGER PRIMARY KEY,
    space       TEXT NOT NULL,
    id          TEXT NOT NULL,
    subject     TEXT NOT NULL,           -- graph_name.key, as the next two
    predicate   TEXT NOT NULL,
    object      TEXT NOT NULL,
    from_first  INTEGER,                 -- the first and the last moment of a period
    from_last   INTEGER CHECK ((from_last IS NULL) = (from_first IS NULL)),
    to_first    INTEGER,
    to_last     INTEGER CHECK ((to_last IS NULL) = (to_first IS NULL)),
    source      TEXT,
    author      TEXT,                    -- NULL if that is not known
    created_at  INTEGER NOT NULL,
    checksum    INTEGER NOT NULL AS (loci_checksum(
        row, space, id, subject, predicate, object, from_first, from_last, to_first, to_last, source, author,
        created_at
    )) STORED
) STRICT;
-- A copy gets a checksum that holds. So that a damaged row does not pass for a whole one, it gets a source that is no
-- text.
INSERT INTO fact_next (row, space, id, subject, predicate, object, from_first, from_last, to_first, to_last, source,
    created_at)
SELECT row, space, id, subject, predicate, object, from_first, from_last, to_first, to_last,
    iif(checksum IS loci_checksum(
        row, space, id, subject, predicate, object, from_first, from_last, to_first, to_last, source, created_at
    ), source, CAST(x'ff' AS TEXT)),
    created_at FROM fact ORDER BY row;
DROP TABLE fact;
ALTER TABLE fact_next RENAME TO fact;

PRAGMA legacy_alter_table = OFF;

CREATE UNIQUE INDEX fact_by_id ON fact (space, id);
CREATE UNIQUE INDEX fact_open ON fact (space, subject, predicate, object) WHERE to_last IS NULL;
CREATE INDEX fact_by_subject ON fact (space, subject, predicate, object);
CREATE INDEX fact_by_object ON fact (space, object);
CREATE INDEX fact_by_beginning ON fact (space, from_first, created_at, id);
CREATE INDEX fact_by_end ON fact (space, to_last) WHERE to_last IS NOT NULL;
CREATE INDEX fact_by_author ON fact (space, author) WHERE author IS NOT NULL;

CREATE TRIGGER fact_added AFTER INSERT ON fact BEGIN
    INSERT INTO graph_count (space, things, facts) VALUES (new.space, 0, 1)
        ON CONFLICT (space) DO UPDATE SET facts = facts + 1;
END;
