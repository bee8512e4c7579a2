//! Sessions (and, later, tasks), durable in SQLite.
