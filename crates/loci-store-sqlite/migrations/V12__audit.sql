PRAGMA user_version = 12;

-- An entry of the audit log says which client called, in which session, and how long the reply was; a record that it
-- names may be one that a search returned. No column with a checksum can be added in place, and no list of values
-- changed: the rows move to other tables, which take the names.
DROP INDEX IF EXISTS audit_by_time;
DROP INDEX IF EXISTS audit_by_user;
DROP INDEX IF EXISTS audit_by_caller;
DROP INDEX IF EXISTS audit_record_by_id;
-- So that a view which refers to a table is no obstacle:
PRAGMA legacy_alter_table = ON;

-- A number is never given twice, so that whoever follows the log misses nothing.
CREATE TABLE audit_next (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,
    space       TEXT NOT NULL,
    at          INTEGER NOT NULL,
    user        TEXT,
    caller      TEXT,                    -- if somebody else
    dialect     TEXT NOT NULL,
    tool        TEXT NOT NULL,
    operation   TEXT NOT NULL,
    duration    INTEGER NOT NULL,        -- microseconds
    query       TEXT,
    results     INTEGER,
    code        TEXT,                    -- of the failure
    message     TEXT,
    client      TEXT,                    -- the name of the program that called
    session     TEXT,                    -- of the client
    reply_tokens INTEGER,                -- about how many
    checksum    INTEGER NOT NULL AS (loci_checksum(
        number, space, at, user, caller, dialect, tool, operation, duration, query, results, code, message, client,
        session, reply_tokens
    )) STORED
) STRICT;
-- A copy gets a checksum that holds. So that a damaged row does not pass for a whole one, it gets a dialect that is no
-- text.
INSERT INTO audit_next (number, space, at, user, caller, dialect, tool, operation, duration, query, results, code,
    message)
SELECT number, space, at, user, caller,
    iif(checksum IS loci_checksum(
        number, space, at, user, caller, dialect, tool, operation, duration, query, results, code, message
    ), dialect, CAST(x'ff' AS TEXT)),
    tool, operation, duration, query, results, code, message FROM audit ORDER BY number;
-- The numbers of what is no longer there stay given.
DELETE FROM sqlite_sequence WHERE name = 'audit_next';
INSERT INTO sqlite_sequence (name, seq) SELECT 'audit_next', seq FROM sqlite_sequence WHERE name = 'audit';
DROP TABLE audit;
ALTER TABLE audit_next RENAME TO audit;

-- The records that a call returned from a search, read by their ids, stored, changed or deleted.
CREATE TABLE audit_record_next (
    entry       INTEGER NOT NULL,        -- audit.number
    position    INTEGER NOT NULL,        -- from 0, in the order in which the call came to them
    verb        TEXT NOT NULL CHECK (verb IN ('returned', 'read', 'changed', 'stored', 'deleted')),
    id          TEXT NOT NULL,
    is_own      INTEGER NOT NULL,        -- whether a wipe of the user would have removed it then
    further     INTEGER NOT NULL,        -- of the last one, how many more there were; else 0
    checksum    INTEGER NOT NULL AS (loci_checksum(entry, position, verb, id, is_own, further)) STORED,
    PRIMARY KEY (entry, position)
) STRICT, WITHOUT ROWID;
INSERT INTO audit_record_next (entry, position, verb, id, is_own, further)
SELECT entry, position, verb,
    iif(checksum IS loci_checksum(entry, position, verb, id, is_own, further), id, CAST(x'ff' AS TEXT)),
    is_own, further FROM audit_record;
DROP TABLE audit_record;
ALTER TABLE audit_record_next RENAME TO audit_record;

PRAGMA legacy_alter_table = OFF;

-- No sweep looks at calls under the pseudonym of a wiped user, which stay.
CREATE INDEX audit_by_time ON audit (at) WHERE user IS NULL OR user NOT GLOB 'wiped-????????????????????????????????';
-- Of one user, in the order of numbers.
CREATE INDEX audit_by_user ON audit (user) WHERE user IS NOT NULL;
CREATE INDEX audit_by_caller ON audit (space, caller) WHERE caller IS NOT NULL;
CREATE INDEX audit_record_by_id ON audit_record (id);

CREATE TRIGGER audit_removed AFTER DELETE ON audit BEGIN
    DELETE FROM audit_record WHERE entry = old.number;
END;
