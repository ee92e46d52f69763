-- Who said what a memory says, and which program filed it in which session. NULL in what is there already: it is not
-- known.
ALTER TABLE @memory
    -- The least trusted of those who had a part in the text.
    ADD COLUMN said_by text COLLATE "C",
    ADD COLUMN program text COLLATE "C",
    ADD COLUMN session text COLLATE "C";
ALTER TABLE @memory ADD CONSTRAINT memory_said_by_check
    CHECK (said_by IN ('user', 'agent', 'import', 'file', 'tool', 'web'));
