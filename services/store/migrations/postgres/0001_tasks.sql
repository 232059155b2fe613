-- The same as SQLite's. Times are milliseconds since 1970, UTC. Bodies are opaque to the store.

-- What is true of the store as a whole: its generation.
CREATE TABLE meta (
    key   TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);

-- Rows are updated with every append; the room in each page keeps the new version beside the old one.
CREATE TABLE task (
    -- The order of creation, for lists.
    id          BIGINT  NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name        TEXT    NOT NULL UNIQUE,
    uid         TEXT    NOT NULL,
    session     TEXT,
    -- The contract's number.
    state       INTEGER NOT NULL,
    priority    INTEGER NOT NULL,
    run_after   BIGINT  NOT NULL,
    snapshot    BYTEA   NOT NULL,
    -- Events have the numbers 1 to last_seq, without gaps, because they are taken by updating this row.
    last_seq    BIGINT  NOT NULL,
    -- Grows with every claim; whoever writes with an older one is too late.
    epoch       BIGINT  NOT NULL,
    -- NULL: nobody carries the task out.
    owner       TEXT,
    lease_until BIGINT  NOT NULL,
    create_time BIGINT  NOT NULL,
    update_time BIGINT  NOT NULL
) WITH (fillfactor = 70);

-- Finding work.
CREATE INDEX task_by_state ON task (state, priority DESC, id);
-- Listing a conversation.
CREATE INDEX task_by_session ON task (session, id) WHERE session IS NOT NULL;

CREATE TABLE event (
    task BIGINT NOT NULL REFERENCES task (id),
    seq  BIGINT NOT NULL,
    at   BIGINT NOT NULL,
    kind TEXT   NOT NULL,
    body BYTEA  NOT NULL,
    PRIMARY KEY (task, seq)
);

-- Requests that were carried out, so that a repetition is recognised.
CREATE TABLE request (
    id          TEXT   NOT NULL PRIMARY KEY,
    fingerprint BYTEA  NOT NULL,
    -- What was done, for the second answer: a name, or sequence numbers.
    done        TEXT   NOT NULL,
    expire_time BIGINT NOT NULL
);

CREATE INDEX request_by_expiry ON request (expire_time);

-- Sessions and desktops: things with a name, a body and labels.
CREATE TABLE resource (
    id          BIGINT NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name        TEXT   NOT NULL UNIQUE,
    collection  TEXT   NOT NULL,
    body        BYTEA  NOT NULL,
    create_time BIGINT NOT NULL,
    update_time BIGINT NOT NULL
);

CREATE INDEX resource_by_collection ON resource (collection, id);

-- Labels of tasks and resources, by the full name of their owner.
CREATE TABLE label (
    owner TEXT NOT NULL,
    key   TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (owner, key)
);

CREATE INDEX label_by_value ON label (key, value, owner);
