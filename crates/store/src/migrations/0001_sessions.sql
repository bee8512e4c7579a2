-- Legacy sessions. Times are seconds since 1970.
CREATE TABLE sessions (
    id           BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    server       TEXT    NOT NULL,
    version      TEXT    NOT NULL,
    principal    TEXT,
    capabilities BLOB    NOT NULL,
    client       BLOB    NOT NULL,
    level        TEXT,
    opened_at    INTEGER NOT NULL,
    used_at      INTEGER NOT NULL
) STRICT;

-- Who leaves first, and whose time is over.
CREATE INDEX sessions_by_use ON sessions (used_at);
