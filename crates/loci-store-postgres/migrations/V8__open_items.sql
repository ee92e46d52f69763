-- What people should decide about memories. A step in the background makes it from the memories.
CREATE TABLE @open_item (
    space       text COLLATE "C" NOT NULL,
    key         text COLLATE "C" NOT NULL,
    memory      text COLLATE "C" NOT NULL,     -- memory.id; of a pair, the newer one
    revision    bigint NOT NULL,               -- of the memory, that was examined
    kind        text COLLATE "C" NOT NULL,
    other       text COLLATE "C",              -- memory.id of the older one of a pair
    certainty   bigint NOT NULL,               -- in thousandths
    PRIMARY KEY (space, key)
);
CREATE INDEX open_item_by_memory ON @open_item (space, memory);
CREATE INDEX open_item_by_other ON @open_item (space, other) WHERE other IS NOT NULL;

-- How far the memories of a space were examined; no row before the first step.
CREATE TABLE @examined (
    space       text COLLATE "C" PRIMARY KEY,
    rules       bigint NOT NULL,               -- the version of the rules
    change      bigint NOT NULL,               -- change.number of the last one that was looked at
    row         bigint NOT NULL                -- memory.row, before which the memories are still to be examined
);
