PRAGMA user_version = 14;

-- What is left of texts that were forgotten: hashes alone, keyed with the salt. They outlive the memories, and every
-- wipe.
CREATE TABLE tombstone (
    space       TEXT NOT NULL,
    text        BLOB NOT NULL CHECK (length(text) = 32),
    memory      BLOB NOT NULL CHECK (length(memory) = 32),
    salt        BLOB NOT NULL CHECK (length(salt) = 16),
    source      BLOB CHECK (length(source) = 32),
    forgotten_at INTEGER NOT NULL,
    is_removed  INTEGER NOT NULL,        -- 0 while the memory is stored, out of sight
    checksum    INTEGER NOT NULL AS (loci_checksum(
        space, text, memory, salt, source, forgotten_at, is_removed
    )) STORED,
    PRIMARY KEY (space, text, memory)
) STRICT, WITHOUT ROWID;

CREATE INDEX tombstone_by_salt ON tombstone (space, salt);
CREATE INDEX tombstone_by_age ON tombstone (space, forgotten_at);
