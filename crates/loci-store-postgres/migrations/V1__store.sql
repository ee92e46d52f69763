-- `@` before a name stands for the schema of the store. Every key begins with the space, so that
-- each statement concerns one part of tables that are partitioned or distributed by space. All
-- texts compare by their bytes. All moments are microseconds since 1970. Names that together
-- exceed the key of an index stand there as a digest.

-- One row for each space, which a transaction locks before it writes in the space. It hands out the
-- numbers of rows and changes, so that they have no gaps and come in the order of the commits. The
-- space with the empty name, which no caller can have, holds what belongs to the whole store.
CREATE TABLE @space (
    space       text COLLATE "C" PRIMARY KEY,
    version     bigint NOT NULL DEFAULT 0,     -- the number of the newest change
    rows        bigint NOT NULL DEFAULT 0,     -- the newest number of a row
    audits      bigint NOT NULL DEFAULT 0,     -- the newest number of an audit entry
    -- The fingerprint of a model that has embedded all passages; none if that is not known.
    embedded    text COLLATE "C",
    -- No row of the space has a time before these: the earliest expiry, soft deletion, audit entry
    -- and wipe. None if there is no such row.
    expires_from bigint,
    deleted_from bigint,
    audited_from bigint,
    wiped_from  bigint,
    trimmed     bigint NOT NULL DEFAULT 0,     -- the newest change that was trimmed from the log
    analysis    bigint NOT NULL                -- the version of the analysis of its passages
) WITH (fillfactor = 50);

CREATE TABLE @memory (
    space       text COLLATE "C" NOT NULL,
    row         bigint NOT NULL,
    id          text COLLATE "C" NOT NULL,
    collection  text COLLATE "C",
    section     text COLLATE "C" NOT NULL,
    kind        text COLLATE "C" NOT NULL,
    weight      double precision NOT NULL,
    tier        text COLLATE "C" NOT NULL CHECK (tier IN ('long_term', 'short_term', 'apart')),
    delivery    text COLLATE "C" NOT NULL CHECK (delivery IN ('on_demand', 'bootstrap')),
    origin      text COLLATE "C" NOT NULL,     -- the name of a tool set
    owner       text COLLATE "C",
    actor       text COLLATE "C",
    updated_by  text COLLATE "C",              -- the writer of the current text, if that is not the owner
    by_admin    boolean NOT NULL,              -- whether an administrator wrote that text
    visibility  text COLLATE "C" NOT NULL CHECK (visibility IN ('private', 'shared', 'common')),
    supersedes  text COLLATE "C",              -- the id of a memory, which may not exist
    source      text COLLATE "C",              -- another such id
    thread      text COLLATE "C",              -- a conversation or file of the owner, and the position in it
    thread_key  bytea,
    position    bigint CHECK ((position IS NULL) = (thread IS NULL)),
    enrichment  text COLLATE "C" CHECK (enrichment IN ('pending', 'completed', 'failed')),
    expires_at  bigint,
    created_at  bigint NOT NULL,
    updated_at  bigint NOT NULL,
    deleted_at  bigint,                        -- no read returns it since; a sweep removes it later
    forgotten_at bigint,
    revision    bigint NOT NULL,
    title       text COLLATE "C",
    tags        text[] COLLATE "C" NOT NULL,
    summary     text COLLATE "C",
    links       text COLLATE "C" NOT NULL,     -- JSON array of [id, relation, similarity]
    attributes  text COLLATE "C" NOT NULL,     -- JSON object of strings
    citations   text COLLATE "C" NOT NULL,     -- JSON array of [kind, reference, locator, pin, excerpt]
    content     text COLLATE "C" NOT NULL,
    PRIMARY KEY (space, row)
);
CREATE UNIQUE INDEX memory_by_id ON @memory (space, id);
CREATE INDEX memory_by_update ON @memory (space, updated_at DESC, id);
CREATE INDEX memory_by_collection ON @memory (space, collection, updated_at DESC);
CREATE INDEX memory_filed_in_collection ON @memory (space, collection, row);
CREATE INDEX memory_of_bootstrap ON @memory (space, updated_at DESC, id) WHERE delivery = 'bootstrap';
CREATE INDEX memory_by_target ON @memory (space, supersedes) WHERE supersedes IS NOT NULL;
CREATE INDEX memory_by_source ON @memory (space, source) WHERE source IS NOT NULL;
CREATE INDEX memory_by_owner ON @memory (space, owner) WHERE owner IS NOT NULL;
CREATE INDEX memory_by_writer ON @memory (space, updated_by) WHERE updated_by IS NOT NULL;
CREATE INDEX memory_by_expiry ON @memory (space, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX memory_by_deletion ON @memory (space, deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX memory_by_thread ON @memory (space, thread_key) WHERE thread_key IS NOT NULL;
-- The order of a thread: two short-term memories of one never have the same position.
CREATE UNIQUE INDEX memory_position ON @memory (space, thread_key, owner, position)
    WHERE tier = 'short_term' AND thread_key IS NOT NULL;

-- How often a memory was returned: apart, so that counting rewrites no memory.
CREATE TABLE @access (
    space       text COLLATE "C" NOT NULL,
    memory      bigint NOT NULL,               -- memory.row
    count       bigint NOT NULL,
    last        bigint,
    PRIMARY KEY (space, memory)
);

CREATE TABLE @model (
    space       text COLLATE "C" NOT NULL,
    row         bigint NOT NULL,
    fingerprint text COLLATE "C" NOT NULL,
    PRIMARY KEY (space, row)
);

-- The vector lies beside the terms, uncompressed, so that an index is loaded by one read in order.
CREATE TABLE @passage (
    space       text COLLATE "C" NOT NULL,
    memory      bigint NOT NULL,               -- memory.row
    position    bigint NOT NULL,
    first_byte  bigint NOT NULL,
    end_byte    bigint NOT NULL,
    terms       bytea NOT NULL,                -- for each term: count, length (both LEB128), UTF-8
    model       bigint,                        -- model.row; none until a model has embedded the passage
    scale       real,
    vector      bytea,                         -- signed bytes
    PRIMARY KEY (space, memory, position)
);
CREATE INDEX passage_by_model ON @passage (space, model, memory);

CREATE TABLE @further_vector (
    space       text COLLATE "C" NOT NULL,
    memory      bigint NOT NULL,
    position    bigint NOT NULL,
    model       bigint NOT NULL,
    scale       real NOT NULL,
    vector      bytea NOT NULL,
    PRIMARY KEY (space, memory, position, model)
);
CREATE INDEX further_vector_by_model ON @further_vector (space, model, memory);

-- The memories that changed, in order, so that every process keeps its index current. Trimmed from
-- the old end; the newest row always stays.
CREATE TABLE @change (
    space       text COLLATE "C" NOT NULL,
    number      bigint NOT NULL,
    memory      bigint NOT NULL,               -- memory.row, then or before; 0: something else
    writer      bigint NOT NULL,               -- a random number of the transaction
    PRIMARY KEY (space, number)
);
-- The transactions that changed nothing that counts as a change. A sweep removes them.
CREATE TABLE @writer (
    space       text COLLATE "C" NOT NULL,
    writer      bigint NOT NULL,
    PRIMARY KEY (space, writer)
);

CREATE TABLE @place_count (
    space       text COLLATE "C" NOT NULL,
    place       bytea NOT NULL,                -- a digest of the next eight
    visibility  text COLLATE "C" NOT NULL,
    owner       text COLLATE "C",
    collection  text COLLATE "C",
    section     text COLLATE "C" NOT NULL,
    kind        text COLLATE "C" NOT NULL,
    tier        text COLLATE "C" NOT NULL,
    origin      text COLLATE "C" NOT NULL,
    is_forgotten boolean NOT NULL,
    memories    bigint NOT NULL,
    PRIMARY KEY (space, place)
);

CREATE TABLE @job (
    space       text COLLATE "C" NOT NULL,
    memory      bigint NOT NULL,               -- memory.row
    due_at      bigint,                        -- none: parked
    attempts    bigint NOT NULL,
    lease       text COLLATE "C",
    leased_until bigint,
    problem     text COLLATE "C",
    PRIMARY KEY (space, memory)
);
-- These two serve the statements that look for work in all spaces.
CREATE INDEX job_by_due ON @job (due_at);
CREATE INDEX job_by_lease ON @job (leased_until) WHERE leased_until IS NOT NULL;

CREATE TABLE @lease (
    space       text COLLATE "C" NOT NULL,     -- always the empty name
    name        text COLLATE "C" NOT NULL,
    holder      text COLLATE "C" NOT NULL,
    until       bigint NOT NULL,
    PRIMARY KEY (space, name)
);

CREATE TABLE @cache_entry (
    space       text COLLATE "C" NOT NULL,
    id          text COLLATE "C" NOT NULL,
    owner       text COLLATE "C" NOT NULL,
    created_at  bigint NOT NULL,
    expires_at  bigint NOT NULL,
    query       text COLLATE "C" NOT NULL,
    model       text COLLATE "C",              -- the fingerprint; none if only the same words find it
    scale       real,
    vector      bytea,
    response    text COLLATE "C" NOT NULL,
    PRIMARY KEY (space, id)
);
CREATE INDEX cache_entry_by_owner ON @cache_entry (space, owner);
CREATE INDEX cache_entry_by_expiry ON @cache_entry (space, expires_at);

CREATE TABLE @decision (
    space       text COLLATE "C" NOT NULL,
    decision    bytea NOT NULL,                -- a digest of owner and key
    owner       text COLLATE "C" NOT NULL,
    key         text COLLATE "C" NOT NULL,
    value       text COLLATE "C" NOT NULL,
    created_at  bigint NOT NULL,
    updated_at  bigint NOT NULL,
    expires_at  bigint,
    PRIMARY KEY (space, decision)
);
CREATE INDEX decision_by_owner ON @decision (space, owner);
CREATE INDEX decision_by_expiry ON @decision (space, expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE @reply (
    space       text COLLATE "C" NOT NULL,
    reply       bytea NOT NULL,                -- a digest of owner, operation and key
    owner       text COLLATE "C",
    origin      text COLLATE "C" NOT NULL,
    operation   text COLLATE "C" NOT NULL,
    key         text COLLATE "C" NOT NULL,
    request     bytea NOT NULL CHECK (length(request) = 32),
    created_at  bigint NOT NULL,
    expires_at  bigint NOT NULL,
    bytes       bigint NOT NULL,
    memories    text[] COLLATE "C" NOT NULL,
    answer      text COLLATE "C" NOT NULL,
    PRIMARY KEY (space, reply)
);
CREATE INDEX reply_by_expiry ON @reply (space, expires_at);
-- All that an owner has, the oldest first, with what their total is made of.
CREATE INDEX reply_by_age ON @reply (space, owner, created_at) INCLUDE (bytes);

-- The replies that hold the text of a memory.
CREATE TABLE @reply_memory (
    space       text COLLATE "C" NOT NULL,
    memory      text COLLATE "C" NOT NULL,     -- memory.id
    reply       bytea NOT NULL,
    PRIMARY KEY (space, memory, reply)
);
CREATE INDEX reply_memory_by_reply ON @reply_memory (space, reply);

CREATE TABLE @graph_name (
    space       text COLLATE "C" NOT NULL,
    is_relation boolean NOT NULL,
    key         text COLLATE "C" NOT NULL,
    spelling    text COLLATE "C" NOT NULL,
    PRIMARY KEY (space, is_relation, key)
);

CREATE TABLE @fact (
    space       text COLLATE "C" NOT NULL,
    row         bigint NOT NULL,
    id          text COLLATE "C" NOT NULL,
    subject     text COLLATE "C" NOT NULL,     -- graph_name.key, as the next two
    predicate   text COLLATE "C" NOT NULL,
    object      text COLLATE "C" NOT NULL,
    triple      bytea NOT NULL,                -- a digest of the three
    from_first  bigint,                        -- the first and the last moment of a period
    from_last   bigint CHECK ((from_last IS NULL) = (from_first IS NULL)),
    to_first    bigint,
    to_last     bigint CHECK ((to_last IS NULL) = (to_first IS NULL)),
    source      text COLLATE "C",
    created_at  bigint NOT NULL,
    PRIMARY KEY (space, row)
);
CREATE UNIQUE INDEX fact_by_id ON @fact (space, id);
CREATE INDEX fact_by_triple ON @fact (space, triple);
CREATE INDEX fact_by_subject ON @fact (space, subject);
CREATE INDEX fact_by_object ON @fact (space, object);
CREATE INDEX fact_by_beginning ON @fact (space, from_first NULLS FIRST, created_at, id);
CREATE INDEX fact_by_end ON @fact (space, to_last) WHERE to_last IS NOT NULL;

-- The ids are those of memories of the same space.
CREATE TABLE @tunnel (
    space       text COLLATE "C" NOT NULL,
    id          text COLLATE "C" NOT NULL,
    source_collection text COLLATE "C",
    source_section text COLLATE "C" NOT NULL,
    source_memory text COLLATE "C",
    target_collection text COLLATE "C",
    target_section text COLLATE "C" NOT NULL,
    target_memory text COLLATE "C",
    label       text COLLATE "C" NOT NULL,
    owner       text COLLATE "C",
    is_common   boolean NOT NULL,
    created_at  bigint NOT NULL,
    updated_at  bigint NOT NULL,
    PRIMARY KEY (space, id)
);
CREATE INDEX tunnel_by_source_memory ON @tunnel (space, source_memory) WHERE source_memory IS NOT NULL;
CREATE INDEX tunnel_by_target_memory ON @tunnel (space, target_memory) WHERE target_memory IS NOT NULL;
CREATE INDEX tunnel_by_owner ON @tunnel (space, owner) WHERE owner IS NOT NULL;

CREATE TABLE @setting (
    space       text COLLATE "C" NOT NULL,
    setting     bytea NOT NULL,                -- a digest of owner and name
    owner       text COLLATE "C",
    name        text COLLATE "C" NOT NULL,
    value       text COLLATE "C" NOT NULL,
    PRIMARY KEY (space, setting)
);
CREATE INDEX setting_by_owner ON @setting (space, owner) WHERE owner IS NOT NULL;

CREATE TABLE @note_file (
    space       text COLLATE "C" NOT NULL,
    note        bytea NOT NULL,                -- a digest of the path
    path        text COLLATE "C" NOT NULL,
    bytes       bigint NOT NULL,
    modified    bigint NOT NULL,               -- nanoseconds since 1970
    settled     boolean NOT NULL,
    hash        bytea NOT NULL CHECK (length(hash) = 32),
    memory      text COLLATE "C",              -- the id of a memory, which may not exist
    says_id     boolean NOT NULL,
    missing_since bigint,
    problem     text COLLATE "C",              -- its kind
    message     text COLLATE "C" CHECK ((message IS NULL) = (problem IS NULL)),
    links       text[] COLLATE "C" NOT NULL,
    PRIMARY KEY (space, note)
);
CREATE INDEX note_file_by_memory ON @note_file (space, memory) WHERE memory IS NOT NULL;

CREATE TABLE @note_folder (
    space       text COLLATE "C" PRIMARY KEY,
    identity    text COLLATE "C" NOT NULL
);

CREATE TABLE @source_file (
    space       text COLLATE "C" NOT NULL,
    file        bytea NOT NULL,                -- a digest of machine, collection and path
    at_path     bytea NOT NULL,                -- a digest of machine and path
    machine     text COLLATE "C" NOT NULL,     -- that has the file; empty if the store lies on it
    collection  text COLLATE "C",
    path        text COLLATE "C" NOT NULL,
    root        text COLLATE "C" NOT NULL,
    format      text COLLATE "C" NOT NULL,
    bytes       bigint NOT NULL,
    modified    bigint NOT NULL,               -- nanoseconds since 1970
    bytes_read  bigint NOT NULL,
    hash        bytea NOT NULL CHECK (length(hash) = 32),
    parts       bigint NOT NULL,
    is_pending  boolean NOT NULL,
    is_whole    boolean NOT NULL,
    PRIMARY KEY (space, file)
);
CREATE INDEX source_file_by_path ON @source_file (space, at_path);
CREATE INDEX source_file_by_collection ON @source_file (space, machine, collection);
CREATE INDEX source_file_pending ON @source_file (space, machine) WHERE is_pending;

CREATE TABLE @wipe (
    space       text COLLATE "C" NOT NULL,
    owner       text COLLATE "C" NOT NULL,
    origin      text COLLATE "C",              -- the name of a tool set; none: of all
    at          bigint NOT NULL,
    number      bigint NOT NULL                -- change.number of its newest change
);
CREATE UNIQUE INDEX wipe_by_owner ON @wipe (space, owner, origin) NULLS NOT DISTINCT;
CREATE INDEX wipe_by_time ON @wipe (space, at);

CREATE TABLE @audit (
    space       text COLLATE "C" NOT NULL,
    number      bigint NOT NULL,
    at          bigint NOT NULL,
    "user"      text COLLATE "C",
    caller      text COLLATE "C",              -- if that is not the user
    dialect     text COLLATE "C" NOT NULL,
    tool        text COLLATE "C" NOT NULL,
    operation   text COLLATE "C" NOT NULL,
    duration    bigint NOT NULL,               -- microseconds
    query       text COLLATE "C",
    results     bigint,
    code        text COLLATE "C",              -- of the failure
    message     text COLLATE "C",
    PRIMARY KEY (space, number)
);
CREATE INDEX audit_by_time ON @audit (space, at);
CREATE INDEX audit_by_user ON @audit (space, "user", number) WHERE "user" IS NOT NULL;
CREATE INDEX audit_by_caller ON @audit (space, caller) WHERE caller IS NOT NULL;

-- The records that a call in the audit log read by their ids, stored, changed or deleted.
CREATE TABLE @audit_record (
    space       text COLLATE "C" NOT NULL,
    entry       bigint NOT NULL,               -- audit.number
    position    bigint NOT NULL,
    verb        text COLLATE "C" NOT NULL CHECK (verb IN ('read', 'changed', 'stored', 'deleted')),
    id          text COLLATE "C" NOT NULL,
    is_own      boolean NOT NULL,
    further     bigint NOT NULL,               -- records of the call that are not named
    PRIMARY KEY (space, entry, position)
);
CREATE INDEX audit_record_by_id ON @audit_record (space, id);

CREATE TABLE @token (
    space       text COLLATE "C" NOT NULL,     -- always the empty name
    id          text COLLATE "C" NOT NULL,
    hash        bytea NOT NULL CHECK (length(hash) = 32),
    of_space    text COLLATE "C" NOT NULL,     -- the space that the token opens
    subject     text COLLATE "C" NOT NULL,
    scopes      text COLLATE "C" NOT NULL,     -- names, separated by spaces
    created_at  bigint NOT NULL,
    expires_at  bigint,
    revoked_at  bigint,
    PRIMARY KEY (space, id)
);
CREATE UNIQUE INDEX token_by_hash ON @token (space, hash);

-- One row: the store's random bytes, and the oldest version of the schema that an older loci must
-- know to use this one.
CREATE TABLE @installation (
    space       text COLLATE "C" PRIMARY KEY,  -- always the empty name
    secret      bytea NOT NULL CHECK (length(secret) = 32),
    readable_from bigint NOT NULL
);

ALTER TABLE @passage ALTER vector SET STORAGE PLAIN, ALTER terms SET STORAGE MAIN;
ALTER TABLE @passage SET (toast_tuple_target = 8160);
ALTER TABLE @further_vector ALTER vector SET STORAGE PLAIN;
