-- Resources that legacy sessions want to hear of.
CREATE TABLE session_subscriptions (
    session BLOB NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    uri     TEXT NOT NULL,
    PRIMARY KEY (session, uri)
) STRICT, WITHOUT ROWID;
