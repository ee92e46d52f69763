-- The texts that memories had before, each as of the last revision that had it. They go with their
-- memory.
CREATE TABLE @version (
    space       text COLLATE "C" NOT NULL,
    memory      bigint NOT NULL,               -- memory.row
    revision    bigint NOT NULL,
    collection  text COLLATE "C",
    section     text COLLATE "C" NOT NULL,
    title       text COLLATE "C",
    tags        text[] COLLATE "C" NOT NULL,
    updated_by  text COLLATE "C",              -- who wrote the text, if that was not the owner
    updated_at  bigint NOT NULL,
    content     text COLLATE "C" NOT NULL,
    PRIMARY KEY (space, memory, revision)
);
CREATE INDEX version_by_writer ON @version (space, updated_by) WHERE updated_by IS NOT NULL;
