PRAGMA user_version = 4;

-- The tier `apart` is new, and no check can be changed in place: the table is made anew, with the same rows.
-- Its indexes go first and come last. So the new table takes their pages, they take those of the old table,
-- the file hardly grows, and each is built from what is sorted.
DROP INDEX IF EXISTS memory_by_update;
DROP INDEX IF EXISTS memory_by_collection;
DROP INDEX IF EXISTS memory_of_bootstrap;
DROP INDEX IF EXISTS memory_by_expiry;
DROP INDEX IF EXISTS memory_by_target;
DROP INDEX IF EXISTS memory_by_owner;
DROP INDEX IF EXISTS memory_by_thread;
DROP INDEX IF EXISTS memory_pending_by_source;
DROP INDEX IF EXISTS memory_by_deletion;

-- What may be long stands last, so that whoever needs the rest need not read it.
CREATE TABLE memory_anew (
    row         INTEGER PRIMARY KEY,
    space       TEXT NOT NULL,
    id          TEXT NOT NULL,           -- unique in its space
    collection  TEXT,
    section     TEXT NOT NULL,
    kind        TEXT NOT NULL,
    weight      REAL NOT NULL,
    tier        TEXT NOT NULL CHECK (tier IN ('long_term', 'short_term', 'apart')),
    delivery    TEXT NOT NULL CHECK (delivery IN ('on_demand', 'bootstrap')),
    origin      TEXT NOT NULL,           -- the name of a tool set
    owner       TEXT,
    actor       TEXT,
    visibility  TEXT NOT NULL CHECK (visibility IN ('private', 'shared', 'common')),
    supersedes  TEXT,                    -- the id of a memory of the same space, which may not exist
    source      TEXT,                    -- another such id
    thread      TEXT,                    -- a conversation or file of the owner, and the place in it
    position    INTEGER CHECK ((position IS NULL) = (thread IS NULL)),
    enrichment  TEXT CHECK (enrichment IN ('pending', 'completed', 'failed')),
    expires_at  INTEGER,                 -- all moments: microseconds since 1970
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    deleted_at  INTEGER,                 -- since when no read shows it; a sweep removes it later
    revision    INTEGER NOT NULL,
    tags        TEXT NOT NULL,           -- JSON array of strings
    summary     TEXT,
    links       TEXT NOT NULL DEFAULT '[]',      -- JSON array of [id, relation, similarity]
    attributes  TEXT NOT NULL DEFAULT '{}',      -- JSON object of strings
    citations   TEXT NOT NULL DEFAULT '[]'       -- JSON array of [kind, reference, locator, pin, excerpt]
) STRICT;

INSERT INTO memory_anew (row, space, id, collection, section, kind, weight, tier, delivery, origin, owner,
    visibility, supersedes, source, thread, position, enrichment, expires_at, created_at, updated_at, deleted_at,
    revision, tags, summary, links)
SELECT row, space, id, collection, section, kind, weight, tier, delivery,
    -- Until now mememory and memory-mcp wrote, and the commands `loci add` and `loci import`, whose memories count
    -- as mememory's. What is told by these, only memory-mcp wrote.
    CASE WHEN tier = 'short_term' OR enrichment IS NOT NULL THEN 'memory-mcp' ELSE 'mememory' END, owner,
    visibility, supersedes, source, thread, position, enrichment, expires_at, created_at, updated_at, deleted_at,
    revision, tags, summary, links
FROM memory ORDER BY row;

DROP TABLE memory;
-- So that a view which somebody made over the table is no obstacle.
PRAGMA legacy_alter_table = ON;
ALTER TABLE memory_anew RENAME TO memory;

CREATE UNIQUE INDEX memory_by_id ON memory (space, id);
CREATE INDEX memory_by_update ON memory (space, updated_at DESC, id);
CREATE INDEX memory_by_collection ON memory (space, collection, updated_at DESC, id);
CREATE INDEX memory_of_bootstrap ON memory (space, updated_at DESC, id) WHERE delivery = 'bootstrap';
CREATE INDEX memory_by_expiry ON memory (expires_at, space, id) WHERE expires_at IS NOT NULL;
CREATE INDEX memory_by_target ON memory (space, supersedes) WHERE supersedes IS NOT NULL;
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

-- A wipe may be of one tool set, and no key can be changed in place. Until now each was of all.
CREATE TABLE wipe_anew (
    space       TEXT NOT NULL,
    owner       TEXT NOT NULL,
    origin      TEXT,                    -- the name of a tool set; none: of all
    at          INTEGER NOT NULL,
    number      INTEGER NOT NULL         -- change.number of its newest change
) STRICT;

INSERT INTO wipe_anew (space, owner, at, number) SELECT space, owner, at, number FROM wipe;

DROP TABLE wipe;
ALTER TABLE wipe_anew RENAME TO wipe;
PRAGMA legacy_alter_table = OFF;

-- NULLs would never clash; a number is no text.
CREATE UNIQUE INDEX wipe_by_owner ON wipe (space, owner, ifnull(origin, 0));
CREATE INDEX wipe_by_time ON wipe (at);
