PRAGMA user_version = 5;

-- Since when it counts as deleted for everybody who does not ask for such memories. It can be brought back.
ALTER TABLE memory ADD COLUMN forgotten_at INTEGER;
ALTER TABLE memory ADD COLUMN title TEXT;

-- What belongs to somebody. A census finds in it all that it asks for.
DROP INDEX IF EXISTS memory_by_owner;
CREATE INDEX memory_by_owner ON memory (space, owner, tier, enrichment, expires_at, deleted_at, forgotten_at)
    WHERE owner IS NOT NULL;

-- What is known of the files of a folder of notes: all of them are read at once, in the order of their paths.
CREATE TABLE note_file (
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
    PRIMARY KEY (space, path)
) STRICT, WITHOUT ROWID;

CREATE INDEX note_file_by_memory ON note_file (space, memory, missing_since) WHERE memory IS NOT NULL;

-- Which folder that is.
CREATE TABLE note_folder (
    space       TEXT PRIMARY KEY,
    identity    TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What was answered under the key of a caller.
CREATE TABLE keyed_answer (
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
    answer      TEXT NOT NULL
) STRICT;

-- NULLs would never clash; a number is no text.
CREATE UNIQUE INDEX keyed_answer_by_key ON keyed_answer (space, ifnull(owner, 0), operation, key);
CREATE INDEX keyed_answer_by_expiry ON keyed_answer (expires_at);
-- What one owner has stands together in it, the oldest first.
CREATE INDEX keyed_answer_by_age ON keyed_answer (space, ifnull(owner, 0), created_at, operation, key);

-- What each owner has of them, so that it need not be counted whenever one is kept. Nobody is the number 0.
CREATE TABLE keyed_answer_total (
    space       TEXT NOT NULL,
    owner       ANY NOT NULL,
    answers     INTEGER NOT NULL,
    bytes       INTEGER NOT NULL,
    PRIMARY KEY (space, owner)
) STRICT, WITHOUT ROWID;

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
CREATE TABLE secret (
    row         INTEGER PRIMARY KEY CHECK (row = 1),
    bytes       BLOB NOT NULL CHECK (length(bytes) = 32)
) STRICT;

INSERT INTO secret (row, bytes) VALUES (1, randomblob(32));
