PRAGMA user_version = 2;

ALTER TABLE memory ADD COLUMN summary TEXT;
ALTER TABLE memory ADD COLUMN tier TEXT NOT NULL DEFAULT 'long_term' CHECK (tier IN ('long_term', 'short_term'));
-- A conversation or file of the owner, and the place in it.
ALTER TABLE memory ADD COLUMN thread TEXT;
ALTER TABLE memory ADD COLUMN position INTEGER CHECK ((position IS NULL) = (thread IS NULL));
-- The id of a memory of the same space, which may not exist.
ALTER TABLE memory ADD COLUMN source TEXT;
ALTER TABLE memory ADD COLUMN enrichment TEXT CHECK (enrichment IN ('pending', 'completed', 'failed'));
-- JSON array of [id, relation, similarity].
ALTER TABLE memory ADD COLUMN links TEXT NOT NULL DEFAULT '[]';
-- Since when no read shows it; a sweep removes it later.
ALTER TABLE memory ADD COLUMN deleted_at INTEGER;

-- What belongs to somebody. A census finds in it all that it asks for.
CREATE INDEX memory_by_owner ON memory (space, owner, tier, enrichment, expires_at, deleted_at)
    WHERE owner IS NOT NULL;
-- The order of threads. Of short-term memories alone no two have one position; NULLs never clash.
CREATE UNIQUE INDEX memory_by_thread
    ON memory (space, owner, thread, position, CASE tier WHEN 'short_term' THEN 1 END)
    WHERE thread IS NOT NULL;
CREATE INDEX memory_pending_by_source ON memory (space, source)
    WHERE enrichment = 'pending' AND source IS NOT NULL;
CREATE INDEX memory_by_deletion ON memory (deleted_at) WHERE deleted_at IS NOT NULL;

-- How often a memory was returned: apart, so that counting rewrites no memory and is no change.
CREATE TABLE access (
    memory      INTEGER PRIMARY KEY,     -- memory.row
    count       INTEGER NOT NULL,
    last        INTEGER
) STRICT;

-- Enrichments to do, at most one for a memory.
CREATE TABLE job (
    memory      INTEGER PRIMARY KEY,     -- memory.row
    due_at      INTEGER,                 -- none: parked
    attempts    INTEGER NOT NULL,
    lease       TEXT,                    -- the name of the last lease, until the job is settled
    leased_until INTEGER,
    problem     TEXT                     -- what went wrong the last time
) STRICT;

CREATE INDEX job_by_due ON job (due_at);
CREATE INDEX job_by_lease ON job (leased_until) WHERE leased_until IS NOT NULL;

-- What one process alone may do at a time.
CREATE TABLE lease (
    name        TEXT PRIMARY KEY,
    holder      TEXT NOT NULL,
    until       INTEGER NOT NULL
) STRICT;

CREATE TABLE cache_entry (
    row         INTEGER PRIMARY KEY,
    space       TEXT NOT NULL,
    id          TEXT NOT NULL,
    owner       TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    query       TEXT NOT NULL,
    model       INTEGER,                 -- model.row; none if only the same words find it
    scale       REAL,
    vector      BLOB,                    -- signed bytes
    response    TEXT NOT NULL,           -- last, so that a search for the nearest passes over it
    UNIQUE (space, id)
) STRICT;

CREATE INDEX cache_entry_by_owner ON cache_entry (space, owner, id);
CREATE INDEX cache_entry_by_expiry ON cache_entry (expires_at);

CREATE TABLE decision (
    space       TEXT NOT NULL,
    owner       TEXT NOT NULL,
    key         TEXT NOT NULL,
    value       TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    expires_at  INTEGER,
    PRIMARY KEY (space, owner, key)
) STRICT;

CREATE INDEX decision_by_expiry ON decision (expires_at) WHERE expires_at IS NOT NULL;

-- Calls. A number is never given twice, so that whoever follows the log misses nothing.
CREATE TABLE audit (
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
    message     TEXT
) STRICT;

CREATE INDEX audit_by_time ON audit (at);
-- Of one user, in the order of numbers.
CREATE INDEX audit_by_user ON audit (user) WHERE user IS NOT NULL;

CREATE INDEX audit_by_caller ON audit (space, caller) WHERE caller IS NOT NULL;

-- Whose data was removed, so that no write which was under way brings any of it back.
CREATE TABLE wipe (
    space       TEXT NOT NULL,
    owner       TEXT NOT NULL,
    at          INTEGER NOT NULL,
    number      INTEGER NOT NULL,        -- change.number of its newest change
    PRIMARY KEY (space, owner)
) STRICT;

CREATE INDEX wipe_by_time ON wipe (at);
