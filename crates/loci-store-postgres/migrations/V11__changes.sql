-- What else than texts people change of a memory, and who changed it in which call. NULL in what is there already: it is
-- not known. A text is NULL where a change left it: it is that of the next version, or of the memory.
ALTER TABLE @version
    ALTER COLUMN content DROP NOT NULL,
    ADD COLUMN properties text COLLATE "C",        -- JSON object
    ADD COLUMN changed_at bigint,                  -- the change that ended it, and who made it, if that was not the owner
    ADD COLUMN changed_by text COLLATE "C",
    ADD COLUMN tool text COLLATE "C",
    ADD COLUMN program text COLLATE "C",
    ADD COLUMN session text COLLATE "C",
    ADD COLUMN token text COLLATE "C",
    ADD COLUMN call bigint;
CREATE INDEX version_by_changer ON @version (space, changed_by) WHERE changed_by IS NOT NULL;
CREATE INDEX version_by_change ON @version (space, changed_at) WHERE changed_at IS NOT NULL;
