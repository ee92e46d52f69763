PRAGMA user_version = 20;

-- What else than texts people change of a memory, and who changed it in which call. NULL in what is there already: it is
-- not known. A text is NULL where a change left it: it is that of the next version, or of the memory. No column with a
-- checksum can be added in place: the rows move to another table, which takes the name.
DROP INDEX IF EXISTS version_by_memory;
DROP INDEX IF EXISTS version_by_writer;
-- So that a view which refers to the table is no obstacle:
PRAGMA legacy_alter_table = ON;

CREATE TABLE version_next (
    row         INTEGER PRIMARY KEY,
    memory      INTEGER NOT NULL,        -- memory.row
    id          TEXT NOT NULL,           -- of the memory, by which salvage tells it from a later one in its row
    revision    INTEGER NOT NULL,        -- the last one in this state; 0 for the time before the memory was stored
    collection  TEXT,
    section     TEXT NOT NULL,
    title       TEXT,
    tags        TEXT NOT NULL,           -- JSON array of strings
    updated_by  TEXT,                    -- who wrote the text, if that was not the owner
    updated_at  INTEGER NOT NULL,
    content     TEXT,
    properties  TEXT,                    -- JSON object
    changed_at  INTEGER,                 -- the change that ended it, and who made it, if that was not the owner
    changed_by  TEXT,
    tool        TEXT,
    program     TEXT,
    session     TEXT,
    token       TEXT,
    call        INTEGER,
    checksum    INTEGER NOT NULL AS (loci_checksum(
        row, memory, id, revision, collection, section, title, tags, updated_by, updated_at, content, properties,
        changed_at, changed_by, tool, program, session, token, call
    )) STORED
) STRICT;
-- A copy gets a checksum that holds. So that a damaged row does not pass for a whole one, it gets a text that is none.
INSERT INTO version_next (row, memory, id, revision, collection, section, title, tags, updated_by, updated_at, content)
SELECT row, memory, id, revision, collection, section, title, tags, updated_by, updated_at,
    iif(checksum IS loci_checksum(
        row, memory, id, revision, collection, section, title, tags, updated_by, updated_at, content
    ), content, CAST(x'ff' AS TEXT))
    FROM version ORDER BY row;
DROP TABLE version;
ALTER TABLE version_next RENAME TO version;

PRAGMA legacy_alter_table = OFF;

CREATE UNIQUE INDEX version_by_memory ON version (memory, revision);
CREATE INDEX version_by_writer ON version (updated_by) WHERE updated_by IS NOT NULL;
CREATE INDEX version_by_changer ON version (changed_by) WHERE changed_by IS NOT NULL;
CREATE INDEX version_by_change ON version (changed_at) WHERE changed_at IS NOT NULL;
