-- Tokens that a client got by OAuth, and renews; NULL in other tokens.
ALTER TABLE @token
    ADD COLUMN client_id text COLLATE "C",
    ADD COLUMN client text COLLATE "C",         -- its name for people
    ADD COLUMN resource text COLLATE "C",       -- the URL that the token is for
    ADD COLUMN parent text COLLATE "C",         -- the token with which the person signed in
    ADD COLUMN family bytea CHECK (length(family) = 32), -- SHA-256 of the first part of every code and refresh token
    ADD COLUMN secret bytea CHECK (length(secret) = 32), -- SHA-256 of the one that is good now
    ADD COLUMN renewable_until bigint,
    ADD COLUMN redirect_uri text COLLATE "C",   -- this and the next one: until the code is redeemed
    ADD COLUMN challenge text COLLATE "C";
CREATE UNIQUE INDEX token_by_family ON @token (space, family) WHERE family IS NOT NULL;
CREATE INDEX token_by_parent ON @token (space, parent) WHERE parent IS NOT NULL;
CREATE INDEX token_by_end ON @token (space, renewable_until) WHERE renewable_until IS NOT NULL;
