PRAGMA user_version = 13;

-- The texts that memories had before, each as of the last revision that had it. They go with their memory.
CREATE TABLE version (
    row         INTEGER PRIMARY KEY,
    memory      INTEGER NOT NULL,        -- memory.row
    id          TEXT NOT NULL,           -- of the memory, by which salvage tells it from a later one in its row
    revision    INTEGER NOT NULL,
    collection  TEXT,
    section     TEXT NOT NULL,
    title       TEXT,
    tags        TEXT NOT NULL,           -- JSON array of strings
    updated_by  TEXT,                    -- who wrote the text, if that was not the owner
    updated_at  INTEGER NOT NULL,
    content     TEXT NOT NULL,
    checksum    INTEGER NOT NULL AS (loci_checksum(
        row, memory, id, revision, collection, section, title, tags, updated_by, updated_at, content
    )) STORED
) STRICT;

CREATE UNIQUE INDEX version_by_memory ON version (memory, revision);
CREATE INDEX version_by_writer ON version (updated_by) WHERE updated_by IS NOT NULL;
