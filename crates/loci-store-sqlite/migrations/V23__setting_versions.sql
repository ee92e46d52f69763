PRAGMA user_version = 23;

-- What settings of users were before each change has rows, too. A check cannot be changed in place: the rows move to
-- another table, which takes the name.
DROP INDEX IF EXISTS record_version_by_record;
DROP INDEX IF EXISTS record_version_by_owner;
DROP INDEX IF EXISTS record_version_by_changer;
DROP INDEX IF EXISTS record_version_by_change;
-- So that a view which refers to the table is no obstacle:
PRAGMA legacy_alter_table = ON;

CREATE TABLE record_version_next (
    row         INTEGER PRIMARY KEY,
    space       TEXT NOT NULL,
    kind        TEXT NOT NULL CHECK (kind IN ('fact', 'tunnel', 'setting', 'deletion')),
    id          TEXT NOT NULL,           -- of the fact, the tunnel, the setting or the memory
    owner       TEXT,                    -- the author of the fact, the owner of the others
    number      INTEGER NOT NULL,
    state       TEXT,                    -- JSON object; NULL for the time in which the record was not there
    changed_at  INTEGER NOT NULL,        -- the change that ended it
    changed_by  TEXT,
    tool        TEXT NOT NULL,
    program     TEXT,
    session     TEXT,
    token       TEXT,
    call        INTEGER NOT NULL,
    checksum    INTEGER NOT NULL AS (loci_checksum(
        row, space, kind, id, owner, number, state, changed_at, changed_by, tool, program, session, token, call
    )) STORED
) STRICT;
-- A copy gets a checksum that holds. So that a damaged row does not pass for a whole one, it gets a text that is none.
INSERT INTO record_version_next (row, space, kind, id, owner, number, state, changed_at, changed_by, tool, program, session,
    token, call)
SELECT row, space, kind, id, owner, number,
    iif(checksum IS loci_checksum(
        row, space, kind, id, owner, number, state, changed_at, changed_by, tool, program, session, token, call
    ), state, CAST(x'ff' AS TEXT)), changed_at, changed_by, tool, program, session, token, call
    FROM record_version ORDER BY row;
DROP TABLE record_version;
ALTER TABLE record_version_next RENAME TO record_version;

PRAGMA legacy_alter_table = OFF;

CREATE UNIQUE INDEX record_version_by_record ON record_version (space, kind, id, number);
CREATE INDEX record_version_by_owner ON record_version (space, owner) WHERE owner IS NOT NULL;
CREATE INDEX record_version_by_changer ON record_version (space, changed_by) WHERE changed_by IS NOT NULL;
CREATE INDEX record_version_by_change ON record_version (changed_at);
