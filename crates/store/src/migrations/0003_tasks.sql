-- Who owns tasks, under a number of our own; tasks that belong to whoever knows their
-- id have none. Goes with its last task.
CREATE TABLE task_owners (
    number INTEGER NOT NULL PRIMARY KEY,
    owner  BLOB    NOT NULL UNIQUE,
    -- How many tasks it has: counting them anew for each new one is too slow.
    tasks  INTEGER NOT NULL
) STRICT;

-- Tasks. Times are milliseconds since 1970.
--
-- Ids are random, so a table in their order would take each new task on a page of its
-- own: with a million of them, of a quarter of a gigabyte, and each transaction of 512
-- would write 512 such pages. Here rows are in the order of their creation. New ones
-- share the last page, those that expire together lie together, and only the index of
-- ids is hit at random: 25 bytes a task, which stay in the cache. A look-up reads that
-- index and one row, three pages each.
--
-- What only the work needs, and the outcome, is apart: a change rewrites its row.
CREATE TABLE tasks (
    number      INTEGER NOT NULL PRIMARY KEY,
    id          BLOB    NOT NULL UNIQUE CHECK (length(id) = 16),
    server      TEXT    NOT NULL,
    era         INTEGER NOT NULL,
    owner       INTEGER NOT NULL, -- its number, or 0
    tool        TEXT    NOT NULL,
    version     INTEGER NOT NULL,
    status      INTEGER NOT NULL,
    created_ms  INTEGER NOT NULL,
    updated_ms  INTEGER NOT NULL,
    ttl_ms      INTEGER,
    expires_ms  INTEGER,
    poll_ms     INTEGER,
    message     TEXT,
    attempts    INTEGER NOT NULL,
    attempt     INTEGER NOT NULL,
    fence       INTEGER NOT NULL,
    ready       INTEGER NOT NULL,
    holder      BLOB,
    holder_slot INTEGER,
    leased_ms   INTEGER
) STRICT;

-- Each index has only the tasks that somebody looks for by it: most of them are empty
-- most of the time.
CREATE INDEX tasks_by_expiry ON tasks (expires_ms) WHERE expires_ms IS NOT NULL;
CREATE INDEX tasks_by_owner ON tasks (owner, server, era, created_ms, id) WHERE owner <> 0;
CREATE INDEX tasks_by_holder ON tasks (holder) WHERE holder IS NOT NULL;
CREATE INDEX tasks_ready ON tasks (created_ms) WHERE ready = 1;
CREATE INDEX tasks_ready_by_owner ON tasks (server, owner, created_ms) WHERE ready = 1;

-- What the work of a task needs.
CREATE TABLE task_work (
    task    INTEGER NOT NULL PRIMARY KEY REFERENCES tasks (number) ON DELETE CASCADE,
    input   BLOB    NOT NULL,
    journal BLOB    NOT NULL
) STRICT;

-- What the client of a task is asked, and has answered since its last round.
CREATE TABLE task_questions (
    task     INTEGER NOT NULL REFERENCES tasks (number) ON DELETE CASCADE,
    place    INTEGER NOT NULL,
    key      TEXT    NOT NULL,
    question BLOB    NOT NULL,
    answer   BLOB,
    PRIMARY KEY (task, place)
) STRICT, WITHOUT ROWID;

-- The results and errors of tasks that have ended.
CREATE TABLE task_outcomes (
    task    INTEGER NOT NULL PRIMARY KEY REFERENCES tasks (number) ON DELETE CASCADE,
    outcome BLOB    NOT NULL
) STRICT;

-- Sealed states that held for one use and were used.
CREATE TABLE spent_states (
    nonce    BLOB    NOT NULL PRIMARY KEY CHECK (length(nonce) = 16),
    until_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX spent_states_by_end ON spent_states (until_ms);
