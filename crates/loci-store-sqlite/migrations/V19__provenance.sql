PRAGMA user_version = 19;

-- Who said what a memory says, and which program filed it in which session. NULL in what is there already: it is not
-- known. No column with a checksum can be added in place: the rows, which are counted already, move to another table,
-- which takes the name. Indexes go first and come last, for the reasons of V4.
DROP INDEX IF EXISTS memory_by_id;
DROP INDEX IF EXISTS memory_of_bootstrap;
DROP INDEX IF EXISTS memory_by_expiry;
DROP INDEX IF EXISTS memory_by_target;
DROP INDEX IF EXISTS memory_by_owner;
DROP INDEX IF EXISTS memory_by_writer;
DROP INDEX IF EXISTS memory_by_source;
DROP INDEX IF EXISTS memory_by_deletion;
DROP INDEX IF EXISTS memory_by_update;
DROP INDEX IF EXISTS memory_by_collection;
DROP INDEX IF EXISTS memory_by_thread;
DROP INDEX IF EXISTS memory_expiring;
DROP INDEX IF EXISTS memory_filed;
DROP INDEX IF EXISTS memory_filed_in_collection;
DROP INDEX IF EXISTS memory_filed_in_section;
-- So that a view which refers to the table is no obstacle:
PRAGMA legacy_alter_table = ON;

CREATE TABLE memory_next (
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
    updated_by  TEXT,                    -- who wrote the text that it has now, if that is not the owner
    by_admin    INTEGER NOT NULL DEFAULT 0 CHECK (by_admin IN (0, 1)),   -- whether an administrator wrote that text
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
    -- Since when it counts as deleted for all who do not ask for such memories. It can be brought back.
    forgotten_at INTEGER,
    revision    INTEGER NOT NULL,
    -- Of the text in `content`, which lies in another page: by it the two are known to belong together.
    text_checksum INTEGER NOT NULL,
    title       TEXT,
    tags        TEXT NOT NULL,           -- JSON array of strings
    summary     TEXT,
    links       TEXT NOT NULL DEFAULT '[]',      -- JSON array of [id, relation, similarity]
    attributes  TEXT NOT NULL DEFAULT '{}',      -- JSON object of strings
    citations   TEXT NOT NULL DEFAULT '[]',      -- JSON array of [kind, reference, locator, pin, excerpt]
    -- Who said it: the least trusted of those who had a part in the text; NULL if that is not known.
    said_by     TEXT CHECK (said_by IN ('user', 'agent', 'import', 'file', 'tool', 'web')),
    program     TEXT,                    -- the program that filed it
    session     TEXT,                    -- the session of that program
    -- Whether all who ask for nothing in particular see it.
    is_plain    INTEGER GENERATED ALWAYS AS (
        tier = 'long_term' AND (visibility = 'common' OR owner IS NULL) AND expires_at IS NULL AND deleted_at IS NULL
        AND forgotten_at IS NULL) VIRTUAL,
    checksum    INTEGER NOT NULL AS (loci_checksum(
        row, space, id, collection, section, kind, weight, tier, delivery, origin, owner, actor, updated_by,
        by_admin, visibility, supersedes, source, thread, position, enrichment, expires_at, created_at, updated_at,
        deleted_at, forgotten_at, revision, text_checksum, title, tags, summary, links, attributes, citations,
        said_by, program, session
    )) STORED
) STRICT;
-- A copy gets a checksum that holds. So that a damaged row does not pass for a whole one, its text is told from it by
-- a checksum that no text has.
INSERT INTO memory_next (row, space, id, collection, section, kind, weight, tier, delivery, origin, owner, actor, updated_by,
    by_admin, visibility, supersedes, source, thread, position, enrichment, expires_at, created_at, updated_at,
    deleted_at, forgotten_at, revision, text_checksum, title, tags, summary, links, attributes, citations)
SELECT row, space, id, collection, section, kind, weight, tier, delivery, origin, owner, actor, updated_by,
    by_admin, visibility, supersedes, source, thread, position, enrichment, expires_at, created_at, updated_at,
    deleted_at, forgotten_at, revision,
    iif(checksum IS loci_checksum(
        row, space, id, collection, section, kind, weight, tier, delivery, origin, owner, actor, updated_by,
        by_admin, visibility, supersedes, source, thread, position, enrichment, expires_at, created_at, updated_at,
        deleted_at, forgotten_at, revision, text_checksum, title, tags, summary, links, attributes, citations
    ), text_checksum, -1),
    title, tags, summary, links, attributes, citations FROM memory ORDER BY row;
DROP TABLE memory;
ALTER TABLE memory_next RENAME TO memory;

CREATE UNIQUE INDEX memory_by_id ON memory (space, id);
CREATE INDEX memory_of_bootstrap ON memory (space, updated_at DESC, id) WHERE delivery = 'bootstrap';
CREATE INDEX memory_by_expiry ON memory (expires_at, space, id) WHERE expires_at IS NOT NULL;
CREATE INDEX memory_by_target ON memory (space, supersedes) WHERE supersedes IS NOT NULL;
-- The memories that have an owner. A census finds in it all that it asks for.
CREATE INDEX memory_by_owner ON memory (space, owner, tier, enrichment, expires_at, deleted_at, forgotten_at)
    WHERE owner IS NOT NULL;
CREATE INDEX memory_by_writer ON memory (space, updated_by) WHERE updated_by IS NOT NULL;
CREATE INDEX memory_by_source ON memory (space, source) WHERE source IS NOT NULL;
CREATE INDEX memory_by_deletion ON memory (deleted_at) WHERE deleted_at IS NOT NULL;
-- The newest comes last, so that pages are filled before the next one is begun; where it comes first or
-- in the middle, they stay half empty.
CREATE INDEX memory_by_update ON memory (space, updated_at, id DESC);
CREATE INDEX memory_by_collection ON memory (space, collection, updated_at, id DESC);
-- By the thread first, of all owners. Of short-term memories alone no two have one position; NULLs never clash.
CREATE UNIQUE INDEX memory_by_thread
    ON memory (space, thread, owner, position, CASE tier WHEN 'short_term' THEN 1 END)
    WHERE thread IS NOT NULL;
-- The memories that are to expire, of one tier without the others.
CREATE INDEX memory_expiring ON memory (space, tier, expires_at) WHERE expires_at IS NOT NULL;
-- The order in which memories came. Of what a page skips, that which is plain is not read.
CREATE INDEX memory_filed ON memory (space, row, section, is_plain);
CREATE INDEX memory_filed_in_collection ON memory (space, collection, row, is_plain);
CREATE INDEX memory_filed_in_section ON memory (space, collection, section, row, is_plain);

CREATE TRIGGER memory_counted AFTER INSERT ON memory BEGIN
    INSERT INTO place_count
        SELECT space, visibility, owner, collection, section, kind, tier, origin, is_forgotten, 1
        FROM countable WHERE row = new.row
        ON CONFLICT DO UPDATE SET memories = memories + 1;
END;

CREATE TRIGGER memory_counted_anew AFTER UPDATE ON memory BEGIN
    INSERT INTO place_count
        SELECT space, visibility, owner, collection, section, kind, tier, origin, is_forgotten, 1
        FROM countable WHERE row = new.row
        ON CONFLICT DO UPDATE SET memories = memories + 1;
END;

-- Before, while the memory is as it was counted.
CREATE TRIGGER memory_changed BEFORE UPDATE ON memory BEGIN
    UPDATE place_count SET memories = memories - 1
        WHERE (space, visibility, owner, collection, section, kind, tier, origin, is_forgotten) = (
            SELECT space, visibility, owner, collection, section, kind, tier, origin, is_forgotten
            FROM countable WHERE row = old.row);
END;

CREATE TRIGGER memory_removed BEFORE DELETE ON memory BEGIN
    UPDATE place_count SET memories = memories - 1
        WHERE (space, visibility, owner, collection, section, kind, tier, origin, is_forgotten) = (
            SELECT space, visibility, owner, collection, section, kind, tier, origin, is_forgotten
            FROM countable WHERE row = old.row);
    UPDATE tunnel SET source_memory = NULL WHERE space = old.space AND source_memory = old.id;
    UPDATE tunnel SET target_memory = NULL WHERE space = old.space AND target_memory = old.id;
END;

CREATE TRIGGER memory_gone AFTER DELETE ON memory BEGIN
    DELETE FROM keyed_answer WHERE row IN (
        SELECT answer FROM answer_memory WHERE space = old.space AND memory = old.id);
END;

CREATE TRIGGER memory_hidden AFTER UPDATE OF deleted_at, forgotten_at ON memory
WHEN new.deleted_at IS NOT NULL OR new.forgotten_at IS NOT NULL BEGIN
    DELETE FROM keyed_answer WHERE row IN (
        SELECT answer FROM answer_memory WHERE space = old.space AND memory = old.id);
END;

-- Others than its owner could read it and no longer can.
CREATE TRIGGER memory_withdrawn AFTER UPDATE OF owner, visibility ON memory
WHEN new.owner IS NOT NULL AND new.visibility <> 'common' AND (
    new.owner IS NOT old.owner OR (old.visibility <> 'private' AND old.visibility <> new.visibility)) BEGIN
    DELETE FROM keyed_answer WHERE owner IS NOT new.owner AND row IN (
        SELECT answer FROM answer_memory WHERE space = old.space AND memory = old.id);
END;

CREATE TRIGGER open_item_removed AFTER DELETE ON memory BEGIN
    DELETE FROM open_item WHERE +space = old.space AND memory = old.id;
    DELETE FROM open_item WHERE +space = old.space AND other = old.id;
END;

CREATE TRIGGER open_item_hidden AFTER UPDATE OF deleted_at ON memory WHEN new.deleted_at IS NOT NULL BEGIN
    DELETE FROM open_item WHERE +space = old.space AND memory = old.id;
    DELETE FROM open_item WHERE +space = old.space AND other = old.id;
END;

PRAGMA legacy_alter_table = OFF;
