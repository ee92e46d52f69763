PRAGMA user_version = 7;

-- Each row of what cannot be made again carries a checksum of its stored columns, which every write of the row makes
-- by itself. No such column can be added in place: each table is made anew, with the same rows.
-- Where there is much, indexes go first and come last, for the reasons of V4.
DROP INDEX IF EXISTS memory_by_id;
DROP INDEX IF EXISTS memory_by_update;
DROP INDEX IF EXISTS memory_by_collection;
DROP INDEX IF EXISTS memory_of_bootstrap;
DROP INDEX IF EXISTS memory_by_expiry;
DROP INDEX IF EXISTS memory_by_target;
DROP INDEX IF EXISTS memory_by_owner;
DROP INDEX IF EXISTS memory_by_thread;
DROP INDEX IF EXISTS memory_pending_by_source;
DROP INDEX IF EXISTS memory_by_deletion;
DROP INDEX IF EXISTS memory_expiring;
DROP INDEX IF EXISTS memory_filed;
DROP INDEX IF EXISTS memory_filed_in_collection;
DROP INDEX IF EXISTS memory_filed_in_section;
DROP INDEX IF EXISTS passage_by_model;
-- So that a view which somebody made over a table is no obstacle.
PRAGMA legacy_alter_table = ON;

-- What may be long stands last, so that whoever needs the rest need not read it. It is counted already: the triggers
-- come when the rows are there.
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
    -- Since when it counts as deleted for everybody who does not ask for such memories. It can be brought back.
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
    -- Whether everybody sees it who does not ask for something in particular.
    is_plain    INTEGER GENERATED ALWAYS AS (
        tier = 'long_term' AND (visibility = 'common' OR owner IS NULL) AND expires_at IS NULL AND deleted_at IS NULL
        AND forgotten_at IS NULL) VIRTUAL,
    checksum    INTEGER NOT NULL AS (loci_checksum(
        row, space, id, collection, section, kind, weight, tier, delivery, origin, owner, actor, visibility,
        supersedes, source, thread, position, enrichment, expires_at, created_at, updated_at, deleted_at,
        forgotten_at, revision, text_checksum, title, tags, summary, links, attributes, citations
    )) STORED
) STRICT;
INSERT INTO memory_anew (row, space, id, collection, section, kind, weight, tier, delivery, origin, owner, actor,
    visibility, supersedes, source, thread, position, enrichment, expires_at, created_at, updated_at, deleted_at,
    forgotten_at, revision, text_checksum, title, tags, summary, links, attributes, citations)
SELECT row, space, id, collection, section, kind, weight, tier, delivery, origin, owner, actor, visibility,
    supersedes, source, thread, position, enrichment, expires_at, created_at, updated_at, deleted_at, forgotten_at,
    revision, ifnull((SELECT loci_checksum(text) FROM content WHERE memory = row), 0), title, tags, summary, links,
    attributes, citations FROM memory ORDER BY row;
DROP TABLE memory;
ALTER TABLE memory_anew RENAME TO memory;

CREATE UNIQUE INDEX memory_by_id ON memory (space, id);
CREATE INDEX memory_of_bootstrap ON memory (space, updated_at DESC, id) WHERE delivery = 'bootstrap';
CREATE INDEX memory_by_expiry ON memory (expires_at, space, id) WHERE expires_at IS NOT NULL;
CREATE INDEX memory_by_target ON memory (space, supersedes) WHERE supersedes IS NOT NULL;
-- What belongs to somebody. A census finds in it all that it asks for.
CREATE INDEX memory_by_owner ON memory (space, owner, tier, enrichment, expires_at, deleted_at, forgotten_at)
    WHERE owner IS NOT NULL;
CREATE INDEX memory_pending_by_source ON memory (space, source)
    WHERE enrichment = 'pending' AND source IS NOT NULL;
CREATE INDEX memory_by_deletion ON memory (deleted_at) WHERE deleted_at IS NOT NULL;
-- What is written last comes last, so that pages are filled before the next one is begun; where it comes first or
-- in the middle, they stay half empty.
CREATE INDEX memory_by_update ON memory (space, updated_at, id DESC);
CREATE INDEX memory_by_collection ON memory (space, collection, updated_at, id DESC);
-- By the thread first, whoever's. Of short-term memories alone no two have one position; NULLs never clash.
CREATE UNIQUE INDEX memory_by_thread
    ON memory (space, thread, owner, position, CASE tier WHEN 'short_term' THEN 1 END)
    WHERE thread IS NOT NULL;
-- What is to expire, of one tier without the others.
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

CREATE TABLE content_anew (
    memory      INTEGER PRIMARY KEY,     -- memory.row
    text        TEXT NOT NULL,
    checksum    INTEGER NOT NULL AS (loci_checksum(memory, text)) STORED
) STRICT;
INSERT INTO content_anew (memory, text)
SELECT memory, text FROM content ORDER BY memory;
DROP TABLE content;
ALTER TABLE content_anew RENAME TO content;

-- One row for each passage. The key holds both the memory and the position in it, so that the passages of a memory
-- lie together and a whole read is sequential.
CREATE TABLE passage_anew (
    row         INTEGER PRIMARY KEY,     -- memory.row * 2^20 + position
    first_byte  INTEGER NOT NULL,
    end_byte    INTEGER NOT NULL,
    terms       BLOB NOT NULL,           -- for each term: count, length (both LEB128), UTF-8
    model       INTEGER,                 -- model.row; none until a model has read the passage
    scale       REAL,
    vector      BLOB,                    -- signed bytes
    checksum    INTEGER NOT NULL AS (loci_checksum(row, first_byte, end_byte, terms, model, scale, vector)) STORED
) STRICT;
INSERT INTO passage_anew (row, first_byte, end_byte, terms, model, scale, vector)
SELECT row, first_byte, end_byte, terms, model, scale, vector FROM passage ORDER BY row;
DROP TABLE passage;
ALTER TABLE passage_anew RENAME TO passage;

CREATE INDEX passage_by_model ON passage (model);

-- What other models than that of the passage's own row made of it, while one model takes the place of another.
CREATE TABLE further_vector (
    passage     INTEGER NOT NULL,        -- passage.row
    model       INTEGER NOT NULL,        -- model.row
    scale       REAL NOT NULL,
    vector      BLOB NOT NULL,           -- signed bytes
    checksum    INTEGER NOT NULL AS (loci_checksum(passage, model, scale, vector)) STORED,
    PRIMARY KEY (passage, model)
) STRICT, WITHOUT ROWID;

CREATE INDEX further_vector_by_model ON further_vector (model);

CREATE TABLE model_anew (
    row         INTEGER PRIMARY KEY,
    fingerprint TEXT NOT NULL UNIQUE,
    -- With the table's name, since the values of `content` have the same types: what is salvaged from pages without
    -- a tree is told by its checksum alone.
    checksum    INTEGER NOT NULL AS (loci_checksum('model', row, fingerprint)) STORED
) STRICT;
INSERT INTO model_anew (row, fingerprint)
SELECT row, fingerprint FROM model;
DROP TABLE model;
ALTER TABLE model_anew RENAME TO model;

CREATE TABLE token_anew (
    id          TEXT PRIMARY KEY,
    hash        BLOB NOT NULL UNIQUE,    -- SHA-256 of the secret
    space       TEXT NOT NULL,
    subject     TEXT NOT NULL,
    scopes      TEXT NOT NULL,           -- names, separated by spaces
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER,
    revoked_at  INTEGER,
    checksum    INTEGER NOT NULL AS (loci_checksum(
        id, hash, space, subject, scopes, created_at, expires_at, revoked_at
    )) STORED
) STRICT;
INSERT INTO token_anew (id, hash, space, subject, scopes, created_at, expires_at, revoked_at)
SELECT id, hash, space, subject, scopes, created_at, expires_at, revoked_at FROM token ORDER BY rowid;
DROP TABLE token;
ALTER TABLE token_anew RENAME TO token;

-- How often a memory was returned: apart, so that counting rewrites no memory and is no change.
CREATE TABLE access_anew (
    memory      INTEGER PRIMARY KEY,     -- memory.row
    count       INTEGER NOT NULL,
    last        INTEGER,
    checksum    INTEGER NOT NULL AS (loci_checksum(memory, count, last)) STORED
) STRICT;
INSERT INTO access_anew (memory, count, last)
SELECT memory, count, last FROM access;
DROP TABLE access;
ALTER TABLE access_anew RENAME TO access;

-- Enrichments to do, at most one for a memory.
CREATE TABLE job_anew (
    memory      INTEGER PRIMARY KEY,     -- memory.row
    due_at      INTEGER,                 -- none: parked
    attempts    INTEGER NOT NULL,
    lease       TEXT,                    -- the name of the last lease, until the job is settled
    leased_until INTEGER,
    problem     TEXT,                    -- what went wrong the last time
    checksum    INTEGER NOT NULL AS (loci_checksum(memory, due_at, attempts, lease, leased_until, problem)) STORED
) STRICT;
INSERT INTO job_anew (memory, due_at, attempts, lease, leased_until, problem)
SELECT memory, due_at, attempts, lease, leased_until, problem FROM job;
DROP TABLE job;
ALTER TABLE job_anew RENAME TO job;

CREATE INDEX job_by_due ON job (due_at);
CREATE INDEX job_by_lease ON job (leased_until) WHERE leased_until IS NOT NULL;

CREATE TABLE cache_entry_anew (
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
    checksum    INTEGER NOT NULL AS (loci_checksum(
        row, space, id, owner, created_at, expires_at, query, model, scale, vector, response
    )) STORED,
    UNIQUE (space, id)
) STRICT;
INSERT INTO cache_entry_anew (row, space, id, owner, created_at, expires_at, query, model, scale, vector, response)
SELECT row, space, id, owner, created_at, expires_at, query, model, scale, vector, response FROM cache_entry ORDER BY
    row;
DROP TABLE cache_entry;
ALTER TABLE cache_entry_anew RENAME TO cache_entry;

CREATE INDEX cache_entry_by_owner ON cache_entry (space, owner, id);
CREATE INDEX cache_entry_by_expiry ON cache_entry (expires_at);

CREATE TABLE decision_anew (
    space       TEXT NOT NULL,
    owner       TEXT NOT NULL,
    key         TEXT NOT NULL,
    value       TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    expires_at  INTEGER,
    checksum    INTEGER NOT NULL AS (loci_checksum(
        space, owner, key, value, created_at, updated_at, expires_at
    )) STORED,
    PRIMARY KEY (space, owner, key)
) STRICT;
INSERT INTO decision_anew (space, owner, key, value, created_at, updated_at, expires_at)
SELECT space, owner, key, value, created_at, updated_at, expires_at FROM decision ORDER BY rowid;
DROP TABLE decision;
ALTER TABLE decision_anew RENAME TO decision;

CREATE INDEX decision_by_expiry ON decision (expires_at) WHERE expires_at IS NOT NULL;

-- Calls. A number is never given twice, so that whoever follows the log misses nothing.
CREATE TABLE audit_anew (
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
    message     TEXT,
    checksum    INTEGER NOT NULL AS (loci_checksum(
        number, space, at, user, caller, dialect, tool, operation, duration, query, results, code, message
    )) STORED
) STRICT;
INSERT INTO audit_anew (number, space, at, user, caller, dialect, tool, operation, duration, query, results, code,
    message)
SELECT number, space, at, user, caller, dialect, tool, operation, duration, query, results, code, message FROM audit
    ORDER BY number;
-- The numbers of what is no longer there stay given.
DELETE FROM sqlite_sequence WHERE name = 'audit_anew';
INSERT INTO sqlite_sequence (name, seq) SELECT 'audit_anew', seq FROM sqlite_sequence WHERE name = 'audit';
DROP TABLE audit;
ALTER TABLE audit_anew RENAME TO audit;

CREATE INDEX audit_by_time ON audit (at);
-- Of one user, in the order of numbers.
CREATE INDEX audit_by_user ON audit (user) WHERE user IS NOT NULL;
CREATE INDEX audit_by_caller ON audit (space, caller) WHERE caller IS NOT NULL;

-- Whose data was removed, so that no write which was under way brings any of it back.
CREATE TABLE wipe_anew (
    space       TEXT NOT NULL,
    owner       TEXT NOT NULL,
    origin      TEXT,                    -- the name of a tool set; none: of all
    at          INTEGER NOT NULL,
    number      INTEGER NOT NULL,        -- change.number of its newest change
    checksum    INTEGER NOT NULL AS (loci_checksum(space, owner, origin, at, number)) STORED
) STRICT;
INSERT INTO wipe_anew (space, owner, origin, at, number)
SELECT space, owner, origin, at, number FROM wipe;
DROP TABLE wipe;
ALTER TABLE wipe_anew RENAME TO wipe;

-- NULLs would never clash; a number is no text.
CREATE UNIQUE INDEX wipe_by_owner ON wipe (space, owner, ifnull(origin, 0));
CREATE INDEX wipe_by_time ON wipe (at);

CREATE TABLE analysis_anew (
    row         INTEGER PRIMARY KEY CHECK (row = 1),
    version     INTEGER NOT NULL,
    checksum    INTEGER NOT NULL AS (loci_checksum(row, version)) STORED
) STRICT;
INSERT INTO analysis_anew (row, version)
SELECT row, version FROM analysis;
DROP TABLE analysis;
ALTER TABLE analysis_anew RENAME TO analysis;

-- What is known of the files of a folder of notes: all of them are read at once, in the order of their paths.
CREATE TABLE note_file_anew (
    space       TEXT NOT NULL,
    path        TEXT NOT NULL,
    bytes       INTEGER NOT NULL,
    modified    INTEGER NOT NULL,        -- nanoseconds since 1970
    settled     INTEGER NOT NULL,        -- whether every later change shows in these two
    hash        BLOB NOT NULL CHECK (length(hash) = 32),
    memory      TEXT,                    -- the id of a memory of the same space, which may not exist
    says_id     INTEGER NOT NULL,        -- whether that id stands in the file
    missing_since INTEGER,
    problem     TEXT,                    -- its kind
    message     TEXT CHECK ((message IS NULL) = (problem IS NULL)),
    links       TEXT NOT NULL,           -- JSON array of strings
    checksum    INTEGER NOT NULL AS (loci_checksum(
        space, path, bytes, modified, settled, hash, memory, says_id, missing_since, problem, message, links
    )) STORED,
    PRIMARY KEY (space, path)
) STRICT, WITHOUT ROWID;
INSERT INTO note_file_anew (space, path, bytes, modified, settled, hash, memory, says_id, missing_since, problem,
    message, links)
SELECT space, path, bytes, modified, settled, hash, memory, says_id, missing_since, problem, message, links FROM
    note_file;
DROP TABLE note_file;
ALTER TABLE note_file_anew RENAME TO note_file;

CREATE INDEX note_file_by_memory ON note_file (space, memory, missing_since) WHERE memory IS NOT NULL;

-- Which folder that is.
CREATE TABLE note_folder_anew (
    space       TEXT PRIMARY KEY,
    identity    TEXT NOT NULL,
    checksum    INTEGER NOT NULL AS (loci_checksum(space, identity)) STORED
) STRICT, WITHOUT ROWID;
INSERT INTO note_folder_anew (space, identity)
SELECT space, identity FROM note_folder;
DROP TABLE note_folder;
ALTER TABLE note_folder_anew RENAME TO note_folder;

-- What was answered under the key of a caller. It is counted already.
CREATE TABLE keyed_answer_anew (
    row         INTEGER PRIMARY KEY,
    space       TEXT NOT NULL,
    owner       TEXT,
    origin      TEXT NOT NULL,           -- the name of a tool set
    operation   TEXT NOT NULL,
    key         TEXT NOT NULL,
    request     BLOB NOT NULL CHECK (length(request) = 32),
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    bytes       INTEGER NOT NULL AS (octet_length(answer)) STORED,
    answer      TEXT NOT NULL,
    checksum    INTEGER NOT NULL AS (loci_checksum(
        row, space, owner, origin, operation, key, request, created_at, expires_at, bytes, answer
    )) STORED
) STRICT;
INSERT INTO keyed_answer_anew (row, space, owner, origin, operation, key, request, created_at, expires_at, answer)
SELECT row, space, owner, origin, operation, key, request, created_at, expires_at, answer FROM keyed_answer ORDER BY
    row;
DROP TABLE keyed_answer;
ALTER TABLE keyed_answer_anew RENAME TO keyed_answer;

-- NULLs would never clash; a number is no text.
CREATE UNIQUE INDEX keyed_answer_by_key ON keyed_answer (space, ifnull(owner, 0), operation, key);
CREATE INDEX keyed_answer_by_expiry ON keyed_answer (expires_at);
-- What one owner has stands together in it, the oldest first.
CREATE INDEX keyed_answer_by_age ON keyed_answer (space, ifnull(owner, 0), created_at, operation, key);

CREATE TRIGGER keyed_answer_added AFTER INSERT ON keyed_answer BEGIN
    INSERT INTO keyed_answer_total (space, owner, answers, bytes) VALUES (new.space, ifnull(new.owner, 0), 1, new.bytes)
        ON CONFLICT (space, owner) DO UPDATE SET answers = answers + 1, bytes = bytes + excluded.bytes;
END;

CREATE TRIGGER keyed_answer_replaced AFTER UPDATE OF answer ON keyed_answer BEGIN
    UPDATE keyed_answer_total SET bytes = bytes + new.bytes - old.bytes
        WHERE space = new.space AND owner = ifnull(new.owner, 0);
END;

-- Of an owner without any, not even the name is left.
CREATE TRIGGER keyed_answer_removed AFTER DELETE ON keyed_answer BEGIN
    UPDATE keyed_answer_total SET answers = answers - 1, bytes = bytes - old.bytes
        WHERE space = old.space AND owner = ifnull(old.owner, 0);
    DELETE FROM keyed_answer_total WHERE space = old.space AND owner = ifnull(old.owner, 0) AND answers = 0;
END;

-- Random bytes of this database, of a generator that is seeded by the operating system.
CREATE TABLE secret_anew (
    row         INTEGER PRIMARY KEY CHECK (row = 1),
    bytes       BLOB NOT NULL CHECK (length(bytes) = 32),
    checksum    INTEGER NOT NULL AS (loci_checksum(row, bytes)) STORED
) STRICT;
INSERT INTO secret_anew (row, bytes)
SELECT row, bytes FROM secret;
DROP TABLE secret;
ALTER TABLE secret_anew RENAME TO secret;

-- What facts name, each as it was spelled first: things, and apart from them relations. They are counted already, as
-- are facts.
CREATE TABLE graph_name_anew (
    space       TEXT NOT NULL,
    is_relation INTEGER NOT NULL,
    key         TEXT NOT NULL,
    spelling    TEXT NOT NULL,
    -- With the table's name, since the values of `setting` may have the same types.
    checksum    INTEGER NOT NULL AS (loci_checksum('graph_name', space, is_relation, key, spelling)) STORED,
    PRIMARY KEY (space, is_relation, key)
) STRICT, WITHOUT ROWID;
INSERT INTO graph_name_anew (space, is_relation, key, spelling)
SELECT space, is_relation, key, spelling FROM graph_name;
DROP TABLE graph_name;
ALTER TABLE graph_name_anew RENAME TO graph_name;

CREATE TRIGGER thing_added AFTER INSERT ON graph_name WHEN NOT new.is_relation BEGIN
    INSERT INTO graph_count (space, things, facts) VALUES (new.space, 1, 0)
        ON CONFLICT (space) DO UPDATE SET things = things + 1;
END;

CREATE TABLE fact_anew (
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
    created_at  INTEGER NOT NULL,
    checksum    INTEGER NOT NULL AS (loci_checksum(
        row, space, id, subject, predicate, object, from_first, from_last, to_first, to_last, source, created_at
    )) STORED
) STRICT;
INSERT INTO fact_anew (row, space, id, subject, predicate, object, from_first, from_last, to_first, to_last, source,
    created_at)
SELECT row, space, id, subject, predicate, object, from_first, from_last, to_first, to_last, source, created_at FROM
    fact ORDER BY row;
DROP TABLE fact;
ALTER TABLE fact_anew RENAME TO fact;

CREATE UNIQUE INDEX fact_by_id ON fact (space, id);
CREATE UNIQUE INDEX fact_open ON fact (space, subject, predicate, object) WHERE to_last IS NULL;
CREATE INDEX fact_by_subject ON fact (space, subject, predicate, object);
CREATE INDEX fact_by_object ON fact (space, object);
CREATE INDEX fact_by_beginning ON fact (space, from_first, created_at, id);
CREATE INDEX fact_by_end ON fact (space, to_last) WHERE to_last IS NOT NULL;

CREATE TRIGGER fact_added AFTER INSERT ON fact BEGIN
    INSERT INTO graph_count (space, things, facts) VALUES (new.space, 0, 1)
        ON CONFLICT (space) DO UPDATE SET facts = facts + 1;
END;

-- Ties between two places. The ids are those of memories of the same space.
CREATE TABLE tunnel_anew (
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
    updated_at  INTEGER NOT NULL,
    checksum    INTEGER NOT NULL AS (loci_checksum(
        row, space, id, source_collection, source_section, source_memory, target_collection, target_section,
        target_memory, label, owner, is_common, created_at, updated_at
    )) STORED
) STRICT;
INSERT INTO tunnel_anew (row, space, id, source_collection, source_section, source_memory, target_collection,
    target_section, target_memory, label, owner, is_common, created_at, updated_at)
SELECT row, space, id, source_collection, source_section, source_memory, target_collection, target_section,
    target_memory, label, owner, is_common, created_at, updated_at FROM tunnel;
DROP TABLE tunnel;
ALTER TABLE tunnel_anew RENAME TO tunnel;

CREATE UNIQUE INDEX tunnel_by_id ON tunnel (space, id);
CREATE INDEX tunnel_by_source_memory ON tunnel (space, source_memory) WHERE source_memory IS NOT NULL;
CREATE INDEX tunnel_by_target_memory ON tunnel (space, target_memory) WHERE target_memory IS NOT NULL;
CREATE INDEX tunnel_by_owner ON tunnel (space, owner) WHERE owner IS NOT NULL;

-- Nobody is the number 0.
CREATE TABLE setting_anew (
    space       TEXT NOT NULL,
    owner       ANY NOT NULL,
    name        TEXT NOT NULL,
    value       TEXT NOT NULL,
    checksum    INTEGER NOT NULL AS (loci_checksum(space, owner, name, value)) STORED,
    PRIMARY KEY (space, owner, name)
) STRICT, WITHOUT ROWID;
INSERT INTO setting_anew (space, owner, name, value)
SELECT space, owner, name, value FROM setting;
DROP TABLE setting;
ALTER TABLE setting_anew RENAME TO setting;

-- Files that memories were made from. No collection is the number 0.
CREATE TABLE source_file_anew (
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
    checksum    INTEGER NOT NULL AS (loci_checksum(
        space, collection, path, root, format, bytes, modified, bytes_read, hash, parts, is_pending, is_whole
    )) STORED,
    PRIMARY KEY (space, collection, path)
) STRICT, WITHOUT ROWID;
INSERT INTO source_file_anew (space, collection, path, root, format, bytes, modified, bytes_read, hash, parts,
    is_pending, is_whole)
SELECT space, collection, path, root, format, bytes, modified, bytes_read, hash, parts, is_pending, is_whole FROM
    source_file;
DROP TABLE source_file;
ALTER TABLE source_file_anew RENAME TO source_file;

CREATE INDEX source_file_by_path ON source_file (space, path, collection);
CREATE INDEX source_file_pending ON source_file (space, path, collection) WHERE is_pending;

PRAGMA legacy_alter_table = OFF;
