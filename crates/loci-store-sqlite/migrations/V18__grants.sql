PRAGMA user_version = 18;

-- Tokens that a client got by OAuth, and renews. No column with a checksum can be added in place: the rows move to
-- another table, which takes the name.
-- So that a view which refers to the table is no obstacle:
PRAGMA legacy_alter_table = ON;

CREATE TABLE token_next (
    id          TEXT PRIMARY KEY,
    hash        BLOB NOT NULL UNIQUE,    -- SHA-256 of the secret
    space       TEXT NOT NULL,
    subject     TEXT NOT NULL,
    scopes      TEXT NOT NULL,           -- names, separated by spaces
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER,
    revoked_at  INTEGER,
    client_id   TEXT,                    -- this and the next six: of a token that its client renews
    client      TEXT,                    -- its name for people
    resource    TEXT,                    -- the URL that the token is for
    parent      TEXT,                    -- the token with which the person signed in
    family      BLOB UNIQUE,             -- SHA-256 of the first part of every code and refresh token
    secret      BLOB,                    -- SHA-256 of the one that is good now
    renewable_until INTEGER,
    redirect_uri TEXT,                   -- this and the next one: until the code is redeemed
    challenge   TEXT CHECK ((challenge IS NULL) = (redirect_uri IS NULL)),
    checksum    INTEGER NOT NULL AS (loci_checksum(
        id, hash, space, subject, scopes, created_at, expires_at, revoked_at, client_id, client, resource, parent,
        family, secret, renewable_until, redirect_uri, challenge
    )) STORED
) STRICT;
-- A copy gets a checksum that holds. So that a damaged row does not pass for a whole one, it gets a space that is no
-- text.
INSERT INTO token_next (id, hash, space, subject, scopes, created_at, expires_at, revoked_at)
SELECT id, hash,
    iif(checksum IS loci_checksum(
        id, hash, space, subject, scopes, created_at, expires_at, revoked_at
    ), space, CAST(x'ff' AS TEXT)),
    subject, scopes, created_at, expires_at, revoked_at FROM token ORDER BY rowid;
DROP TABLE token;
ALTER TABLE token_next RENAME TO token;

PRAGMA legacy_alter_table = OFF;

CREATE INDEX token_by_parent ON token (parent) WHERE parent IS NOT NULL;
CREATE INDEX token_by_end ON token (renewable_until) WHERE renewable_until IS NOT NULL;
