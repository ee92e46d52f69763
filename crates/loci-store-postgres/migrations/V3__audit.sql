-- Which client called, in which session, and about how many tokens the reply had. A record may be one
-- that a search returned.
ALTER TABLE @audit
    ADD COLUMN client text COLLATE "C",
    ADD COLUMN session text COLLATE "C",
    ADD COLUMN reply_tokens bigint;
ALTER TABLE @audit_record DROP CONSTRAINT audit_record_verb_check;
ALTER TABLE @audit_record
    ADD CONSTRAINT audit_record_verb_check CHECK (verb IN ('returned', 'read', 'changed', 'stored', 'deleted'));
