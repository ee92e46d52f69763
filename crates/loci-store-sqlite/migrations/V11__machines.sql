PRAGMA user_version = 11;

-- The machine that has a file is a part of its key. The files that are known already lie where the database does. No
-- column of a key can be added in place: the rows move to another table, which takes the name.
DROP INDEX IF EXISTS source_file_by_path;
DROP INDEX IF EXISTS source_file_pending;
-- So that a view which refers to the table is no obstacle:
PRAGMA legacy_alter_table = ON;

CREATE TABLE source_file_next (
    space       TEXT NOT NULL,
    machine     TEXT NOT NULL,           -- empty for the machine that the database lies on
    collection  ANY NOT NULL,            -- none is the number 0
    path        TEXT NOT NULL,
    root        TEXT NOT NULL,
    format      TEXT NOT NULL,
    bytes       INTEGER NOT NULL,
    modified    INTEGER NOT NULL,        -- nanoseconds since 1970
    bytes_read  INTEGER NOT NULL,
    hash        BLOB NOT NULL CHECK (length(hash) = 32),
    parts       INTEGER NOT NULL,
    is_pending  INTEGER NOT NULL,
    is_whole    INTEGER NOT NULL,        -- whether its memories go when it goes
    checksum    INTEGER NOT NULL AS (loci_checksum(
        space, machine, collection, path, root, format, bytes, modified, bytes_read, hash, parts, is_pending, is_whole
    )) STORED,
    PRIMARY KEY (space, machine, collection, path)
) STRICT, WITHOUT ROWID;
-- A copy gets a checksum that holds. So that a damaged row does not pass for a whole one, it gets a format that is no
-- text.
INSERT INTO source_file_next (space, machine, collection, path, root, format, bytes, modified, bytes_read, hash, parts,
    is_pending, is_whole)
SELECT space, '', collection, path, root,
    iif(checksum IS loci_checksum(
        space, collection, path, root, format, bytes, modified, bytes_read, hash, parts, is_pending, is_whole
    ), format, CAST(x'ff' AS TEXT)),
    bytes, modified, bytes_read, hash, parts, is_pending, is_whole FROM source_file;
DROP TABLE source_file;
ALTER TABLE source_file_next RENAME TO source_file;

CREATE INDEX source_file_by_path ON source_file (space, machine, path, collection);
CREATE INDEX source_file_pending ON source_file (space, machine, path, collection) WHERE is_pending;

PRAGMA legacy_alter_table = OFF;
