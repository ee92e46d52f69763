PRAGMA user_version = 6;

-- What is written last comes last, so that pages are filled before the next one is begun; where it comes first or
-- in the middle, they stay half empty.
DROP INDEX IF EXISTS memory_by_update;
DROP INDEX IF EXISTS memory_by_collection;
-- By the thread first, whoever's.
DROP INDEX IF EXISTS memory_by_thread;

CREATE INDEX memory_by_update ON memory (space, updated_at, id DESC);
CREATE INDEX memory_by_collection ON memory (space, collection, updated_at, id DESC);
-- Of short-term memories alone no two have one position; NULLs never clash.
CREATE UNIQUE INDEX memory_by_thread
    ON memory (space, thread, owner, position, CASE tier WHEN 'short_term' THEN 1 END)
    WHERE thread IS NOT NULL;
-- What is to expire, of one tier without the others.
CREATE INDEX memory_expiring ON memory (space, tier, expires_at) WHERE expires_at IS NOT NULL;

-- Whether everybody sees it who does not ask for something in particular.
ALTER TABLE memory ADD COLUMN is_plain INTEGER GENERATED ALWAYS AS (
    tier = 'long_term' AND (visibility = 'common' OR owner IS NULL) AND expires_at IS NULL AND deleted_at IS NULL
    AND forgotten_at IS NULL) VIRTUAL;

-- The order in which memories came. Of what a page skips, that which is plain is not read.
CREATE INDEX memory_filed ON memory (space, row, section, is_plain);
CREATE INDEX memory_filed_in_collection ON memory (space, collection, row, is_plain);
CREATE INDEX memory_filed_in_section ON memory (space, collection, section, row, is_plain);

-- What every read may count without a look at its moment. Everybody may read what is common and what is nobody's,
-- whoever's it was. Nobody, and no collection, are the number 0.
CREATE VIEW countable AS
SELECT row, space, iif(owner IS NULL, 'common', visibility) AS visibility,
    iif(visibility = 'common', 0, ifnull(owner, 0)) AS owner, ifnull(collection, 0) AS collection, section, kind,
    tier, origin, forgotten_at IS NOT NULL AS is_forgotten
FROM memory WHERE expires_at IS NULL AND deleted_at IS NULL;

-- How many of them there are, so that they need not be counted.
CREATE TABLE place_count (
    space       TEXT NOT NULL,
    visibility  TEXT NOT NULL,
    owner       ANY NOT NULL,
    collection  ANY NOT NULL,
    section     TEXT NOT NULL,
    kind        TEXT NOT NULL,
    tier        TEXT NOT NULL,
    origin      TEXT NOT NULL,
    is_forgotten INTEGER NOT NULL,
    memories    INTEGER NOT NULL,
    PRIMARY KEY (space, visibility, owner, collection, section, kind, tier, origin, is_forgotten)
) STRICT, WITHOUT ROWID;

INSERT INTO place_count
SELECT space, visibility, owner, collection, section, kind, tier, origin, is_forgotten, count(*)
FROM countable GROUP BY space, visibility, owner, collection, section, kind, tier, origin, is_forgotten;

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

-- Of a place without memories not even the name is left.
CREATE TRIGGER place_emptied AFTER UPDATE ON place_count WHEN new.memories = 0 BEGIN
    DELETE FROM place_count
        WHERE (space, visibility, owner, collection, section, kind, tier, origin, is_forgotten) = (new.space,
            new.visibility, new.owner, new.collection, new.section, new.kind, new.tier, new.origin,
            new.is_forgotten);
END;

-- What facts name, each as it was spelled first: things, and apart from them relations.
CREATE TABLE graph_name (
    space       TEXT NOT NULL,
    is_relation INTEGER NOT NULL,
    key         TEXT NOT NULL,
    spelling    TEXT NOT NULL,
    PRIMARY KEY (space, is_relation, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE fact (
    row         INTEGER PRIMARY KEY,
    space       TEXT NOT NULL,
    id          TEXT NOT NULL,
    subject     TEXT NOT NULL,           -- graph_name.key, as the next two
    predicate   TEXT NOT NULL,
    object      TEXT NOT NULL,
    from_first  INTEGER,                 -- the first and the last moment of a period
    from_last   INTEGER CHECK ((from_last IS NULL) = (from_first IS NULL)),
    to_first    INTEGER,
    to_last     INTEGER CHECK ((to_last IS NULL) = (to_first IS NULL)),
    source      TEXT,
    created_at  INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX fact_by_id ON fact (space, id);
CREATE UNIQUE INDEX fact_open ON fact (space, subject, predicate, object) WHERE to_last IS NULL;
CREATE INDEX fact_by_subject ON fact (space, subject, predicate, object);
CREATE INDEX fact_by_object ON fact (space, object);
CREATE INDEX fact_by_beginning ON fact (space, from_first, created_at, id);
CREATE INDEX fact_by_end ON fact (space, to_last) WHERE to_last IS NOT NULL;

-- How many facts there are, and things in them. None is ever removed.
CREATE TABLE graph_count (
    space       TEXT PRIMARY KEY,
    things      INTEGER NOT NULL,
    facts       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER fact_added AFTER INSERT ON fact BEGIN
    INSERT INTO graph_count (space, things, facts) VALUES (new.space, 0, 1)
        ON CONFLICT (space) DO UPDATE SET facts = facts + 1;
END;

CREATE TRIGGER thing_added AFTER INSERT ON graph_name WHEN NOT new.is_relation BEGIN
    INSERT INTO graph_count (space, things, facts) VALUES (new.space, 1, 0)
        ON CONFLICT (space) DO UPDATE SET things = things + 1;
END;

-- Ties between two places. The ids are those of memories of the same space.
CREATE TABLE tunnel (
    row         INTEGER PRIMARY KEY,
    space       TEXT NOT NULL,
    id          TEXT NOT NULL,
    source_collection TEXT,
    source_section TEXT NOT NULL,
    source_memory TEXT,
    target_collection TEXT,
    target_section TEXT NOT NULL,
    target_memory TEXT,
    label       TEXT NOT NULL,
    owner       TEXT,
    is_common   INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX tunnel_by_id ON tunnel (space, id);
CREATE INDEX tunnel_by_source_memory ON tunnel (space, source_memory) WHERE source_memory IS NOT NULL;
CREATE INDEX tunnel_by_target_memory ON tunnel (space, target_memory) WHERE target_memory IS NOT NULL;
CREATE INDEX tunnel_by_owner ON tunnel (space, owner) WHERE owner IS NOT NULL;

-- Nobody is the number 0.
CREATE TABLE setting (
    space       TEXT NOT NULL,
    owner       ANY NOT NULL,
    name        TEXT NOT NULL,
    value       TEXT NOT NULL,
    PRIMARY KEY (space, owner, name)
) STRICT, WITHOUT ROWID;

-- Files that memories were made from. No collection is the number 0.
CREATE TABLE source_file (
    space       TEXT NOT NULL,
    collection  ANY NOT NULL,
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
    PRIMARY KEY (space, collection, path)
) STRICT, WITHOUT ROWID;

CREATE INDEX source_file_by_path ON source_file (space, path, collection);
CREATE INDEX source_file_pending ON source_file (space, path, collection) WHERE is_pending;
