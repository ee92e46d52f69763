-- What is left of texts that were forgotten: hashes alone, keyed with the salt. They outlive the memories, and
-- every wipe.
CREATE TABLE @tombstone (
    space       text COLLATE "C" NOT NULL,
    text        bytea NOT NULL CHECK (length(text) = 32),
    memory      bytea NOT NULL CHECK (length(memory) = 32),
    salt        bytea NOT NULL CHECK (length(salt) = 16),
    source      bytea CHECK (length(source) = 32),
    forgotten_at bigint NOT NULL,
    is_removed  boolean NOT NULL,              -- false while the memory is stored, out of sight
    PRIMARY KEY (space, text, memory)
);
CREATE INDEX tombstone_by_salt ON @tombstone (space, salt);
CREATE INDEX tombstone_by_age ON @tombstone (space, forgotten_at);
