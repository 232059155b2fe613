-- What the upkeep of the store has done with a task. Without a row: nothing.
CREATE TABLE task_upkeep (
    task           INTEGER NOT NULL PRIMARY KEY REFERENCES task (id),
    -- The blobs of events up to this one are in blob_use.
    indexed_seq    BIGINT  NOT NULL,
    notes_deleted  INTEGER NOT NULL,
    blobs_released INTEGER NOT NULL
);

-- Blobs that the events of a task name.
CREATE TABLE blob_use (
    blob BLOB    NOT NULL,
    task INTEGER NOT NULL REFERENCES task (id),
    PRIMARY KEY (blob, task)
) WITHOUT ROWID;

CREATE INDEX blob_use_by_task ON blob_use (task);

-- Work that one process does at a time.
CREATE TABLE duty (
    name        TEXT   NOT NULL PRIMARY KEY,
    owner       TEXT   NOT NULL,
    lease_until BIGINT NOT NULL
) WITHOUT ROWID;
