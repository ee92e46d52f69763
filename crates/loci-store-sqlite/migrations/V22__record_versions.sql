PRAGMA user_version = 22;

-- What facts and tunnels were before each change, and who changed them in which call. They outlast a tunnel that was
-- deleted. The soft deletion of a memory has a row, too, without a state.
CREATE TABLE record_version (
    row         INTEGER PRIMARY KEY,
    space       TEXT NOT NULL,
    kind        TEXT NOT NULL CHECK (kind IN ('fact', 'tunnel', 'deletion')),
    id          TEXT NOT NULL,           -- of the fact, the tunnel or the memory
    owner       TEXT,                    -- the author of the fact, the owner of the others
    number      INTEGER NOT NULL,
    state       TEXT,                    -- JSON object; NULL for the time in which the record was not there
    changed_at  INTEGER NOT NULL,        -- the change that ended it
    changed_by  TEXT,
    tool        TEXT NOT NULL,
    program     TEXT,
    session     TEXT,
    token       TEXT,
    call        INTEGER NOT NULL,
    checksum    INTEGER NOT NULL AS (loci_checksum(
        row, space, kind, id, owner, number, state, changed_at, changed_by, tool, program, session, token, call
    )) STORED
) STRICT;
CREATE UNIQUE INDEX record_version_by_record ON record_version (space, kind, id, number);
CREATE INDEX record_version_by_owner ON record_version (space, owner) WHERE owner IS NOT NULL;
CREATE INDEX record_version_by_changer ON record_version (space, changed_by) WHERE changed_by IS NOT NULL;
CREATE INDEX record_version_by_change ON record_version (changed_at);
