PRAGMA user_version = 8;

-- An answer under a key goes with the memories whose texts it holds. Until now none said which these are: what holds
-- texts goes, and so does what is damaged, to which a copy would give a checksum that holds.
DELETE FROM keyed_answer WHERE operation = 'memory_recall' OR checksum IS NOT loci_checksum(
    row, space, owner, origin, operation, key, request, created_at, expires_at, bytes, answer);

-- No column with a checksum can be added in place: the table is made anew, with the same rows, which are counted
-- already. So that a view which somebody made over it is no obstacle:
PRAGMA legacy_alter_table = ON;

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
    memories    TEXT NOT NULL DEFAULT '[]',      -- JSON array of ids of memories of the same space
    answer      TEXT NOT NULL,
    checksum    INTEGER NOT NULL AS (loci_checksum(
        row, space, owner, origin, operation, key, request, created_at, expires_at, bytes, memories, answer
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

-- The answers that hold the text of a memory: what `memories` says, the other way round.
CREATE TABLE answer_memory (
    answer      INTEGER NOT NULL,        -- keyed_answer.row
    space       TEXT NOT NULL,
    memory      TEXT NOT NULL,
    PRIMARY KEY (answer, memory)
) STRICT, WITHOUT ROWID;

CREATE INDEX answer_memory_by_memory ON answer_memory (space, memory);

CREATE TRIGGER keyed_answer_added AFTER INSERT ON keyed_answer BEGIN
    INSERT INTO keyed_answer_total (space, owner, answers, bytes) VALUES (new.space, ifnull(new.owner, 0), 1, new.bytes)
        ON CONFLICT (space, owner) DO UPDATE SET answers = answers + 1, bytes = bytes + excluded.bytes;
    INSERT INTO answer_memory SELECT DISTINCT new.row, new.space, value FROM json_each(new.memories);
END;

CREATE TRIGGER keyed_answer_replaced AFTER UPDATE OF answer ON keyed_answer BEGIN
    UPDATE keyed_answer_total SET bytes = bytes + new.bytes - old.bytes
        WHERE space = new.space AND owner = ifnull(new.owner, 0);
    DELETE FROM answer_memory WHERE answer = old.row;
    INSERT INTO answer_memory SELECT DISTINCT new.row, new.space, value FROM json_each(new.memories);
END;

-- Of an owner without any, not even the name is left.
CREATE TRIGGER keyed_answer_removed AFTER DELETE ON keyed_answer BEGIN
    UPDATE keyed_answer_total SET answers = answers - 1, bytes = bytes - old.bytes
        WHERE space = old.space AND owner = ifnull(old.owner, 0);
    DELETE FROM keyed_answer_total WHERE space = old.space AND owner = ifnull(old.owner, 0) AND answers = 0;
    DELETE FROM answer_memory WHERE answer = old.row;
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

-- Somebody who could read it no longer can: others than its owner.
CREATE TRIGGER memory_withdrawn AFTER UPDATE OF owner, visibility ON memory
WHEN new.owner IS NOT NULL AND new.visibility <> 'common' AND (
    new.owner IS NOT old.owner OR (old.visibility <> 'private' AND old.visibility <> new.visibility)) BEGIN
    DELETE FROM keyed_answer WHERE owner IS NOT new.owner AND row IN (
        SELECT answer FROM answer_memory WHERE space = old.space AND memory = old.id);
END;
