-- "loci" in ASCII: what `file` and we recognise the database by.
PRAGMA application_id = 0x6c6f6369;
PRAGMA user_version = 1;

-- Everything about a memory but its text, so that lists and counts read little.
CREATE TABLE memory (
    row         INTEGER PRIMARY KEY,
    space       TEXT NOT NULL,
    id          TEXT NOT NULL,
    collection  TEXT,
    section     TEXT NOT NULL,
    kind        TEXT NOT NULL,
    tags        TEXT NOT NULL,           -- JSON array of strings
    weight      REAL NOT NULL,
    delivery    TEXT NOT NULL CHECK (delivery IN ('on_demand', 'bootstrap')),
    owner       TEXT,
    visibility  TEXT NOT NULL CHECK (visibility IN ('private', 'shared', 'common')),
    supersedes  TEXT,                    -- the id of a memory of the same space, which may not exist
    expires_at  INTEGER,                 -- all moments: microseconds since 1970
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    revision    INTEGER NOT NULL,
    UNIQUE (space, id)
) STRICT;

CREATE INDEX memory_by_update ON memory (space, updated_at DESC, id);
CREATE INDEX memory_by_collection ON memory (space, collection, updated_at DESC, id);
CREATE INDEX memory_of_bootstrap ON memory (space, updated_at DESC, id) WHERE delivery = 'bootstrap';
CREATE INDEX memory_by_expiry ON memory (expires_at, space, id) WHERE expires_at IS NOT NULL;
CREATE INDEX memory_by_target ON memory (space, supersedes) WHERE supersedes IS NOT NULL;

CREATE TABLE content (
    memory      INTEGER PRIMARY KEY,     -- memory.row
    text        TEXT NOT NULL
) STRICT;

-- One row for each passage. The key holds both the memory and the position in it, so that the
-- passages of a memory lie together and a whole read is sequential.
CREATE TABLE passage (
    row         INTEGER PRIMARY KEY,     -- memory.row * 2^20 + position
    first_byte  INTEGER NOT NULL,
    end_byte    INTEGER NOT NULL,
    terms       BLOB NOT NULL,           -- for each term: count, length (both LEB128), UTF-8
    model       INTEGER,                 -- model.row; none until a model has read the passage
    scale       REAL,
    vector      BLOB                     -- signed bytes
) STRICT;

CREATE INDEX passage_by_model ON passage (model);

CREATE TABLE model (
    row         INTEGER PRIMARY KEY,
    fingerprint TEXT NOT NULL UNIQUE
) STRICT;

-- Which memories changed, in order, so that every process keeps its index current. Trimmed from
-- the old end; the newest row always stays, so numbers never repeat.
CREATE TABLE change (
    number      INTEGER PRIMARY KEY,
    memory      INTEGER NOT NULL         -- memory.row, then or before
) STRICT;

CREATE TABLE token (
    id          TEXT PRIMARY KEY,
    hash        BLOB NOT NULL UNIQUE,    -- SHA-256 of the secret
    space       TEXT NOT NULL,
    subject     TEXT NOT NULL,
    scopes      TEXT NOT NULL,           -- names, separated by spaces
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER,
    revoked_at  INTEGER
) STRICT;
