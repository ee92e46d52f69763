-- What facts and tunnels were before each change, and who changed them in which call. They outlast a tunnel that was
-- deleted. The soft deletion of a memory has a row, too, without a state.
CREATE TABLE @record_version (
    space       text COLLATE "C" NOT NULL,
    kind        text COLLATE "C" NOT NULL CHECK (kind IN ('fact', 'tunnel', 'deletion')),
    id          text COLLATE "C" NOT NULL,     -- of the fact, the tunnel or the memory
    number      bigint NOT NULL,
    owner       text COLLATE "C",              -- the author of the fact, the owner of the others
    state       text COLLATE "C",              -- JSON object; NULL for the time in which the record was not there
    changed_at  bigint NOT NULL,               -- the change that ended it
    changed_by  text COLLATE "C",
    tool        text COLLATE "C" NOT NULL,
    program     text COLLATE "C",
    session     text COLLATE "C",
    token       text COLLATE "C",
    call        bigint NOT NULL,
    PRIMARY KEY (space, kind, id, number)
);
CREATE INDEX record_version_by_owner ON @record_version (space, owner) WHERE owner IS NOT NULL;
CREATE INDEX record_version_by_changer ON @record_version (space, changed_by) WHERE changed_by IS NOT NULL;
CREATE INDEX record_version_by_change ON @record_version (space, changed_at);
