PRAGMA user_version = 17;

-- What people should decide about memories. A step in the background makes it from the memories.
CREATE TABLE open_item (
    space       TEXT NOT NULL,
    key         TEXT NOT NULL,
    memory      TEXT NOT NULL,           -- memory.id; of a pair, the newer one
    revision    INTEGER NOT NULL,        -- of the memory, that was examined
    kind        TEXT NOT NULL,
    other       TEXT,                    -- memory.id of the older one of a pair
    certainty   INTEGER NOT NULL,        -- in thousandths
    PRIMARY KEY (space, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX open_item_by_memory ON open_item (memory, space);
CREATE INDEX open_item_by_other ON open_item (other, space);

-- How far the memories were examined: one row, or none before the first step.
CREATE TABLE examined (
    number      INTEGER PRIMARY KEY CHECK (number = 1),
    rules       INTEGER NOT NULL,        -- the version of the rules
    change      INTEGER NOT NULL,        -- change.number of the last one that was looked at
    row         INTEGER NOT NULL         -- memory.row, before which the memories are still to be examined
) STRICT;

-- The planner would take the primary key, and read all items of a space.
CREATE TRIGGER open_item_removed AFTER DELETE ON memory BEGIN
    DELETE FROM open_item WHERE +space = old.space AND memory = old.id;
    DELETE FROM open_item WHERE +space = old.space AND other = old.id;
END;
CREATE TRIGGER open_item_hidden AFTER UPDATE OF deleted_at ON memory WHEN new.deleted_at IS NOT NULL BEGIN
    DELETE FROM open_item WHERE +space = old.space AND memory = old.id;
    DELETE FROM open_item WHERE +space = old.space AND other = old.id;
END;
