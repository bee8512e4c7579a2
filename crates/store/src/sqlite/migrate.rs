//! Brings the schema to the newest version, a numbered step at a time.
//!
//! The file's `user_version` counts the steps that it has taken. A step that was
//! released never changes; a new one is a new file.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::open;
use crate::Error;

/// All steps; the first leads to version 1.
const STEPS: &[&str] = &[
    include_str!("../migrations/0001_sessions.sql"),
    include_str!("../migrations/0002_session_subscriptions.sql"),
    include_str!("../migrations/0003_tasks.sql"),
];

/// Refuses a file whose schema we do not know.
pub(super) fn refuse_newer(connection: &Connection, path: &Path) -> Result<(), Error> {
    let found = version(connection).map_err(|source| open::failed(path, source))?;
    let known = newest();
    if found <= known {
        return Ok(());
    }
    Err(Error::TooNew {
        path: path.to_owned(),
        found,
        known,
    })
}

/// Refuses a file that lacks steps, where none may be taken.
pub(super) fn refuse_older(connection: &Connection, path: &Path) -> Result<(), Error> {
    let found = version(connection).map_err(|source| open::failed(path, source))?;
    let known = newest();
    if found >= known {
        return Ok(());
    }
    Err(Error::TooOld {
        path: path.to_owned(),
        found,
        known,
    })
}

/// Takes every step that is missing, each in a transaction of its own.
pub(super) fn to_newest(connection: &mut Connection, path: &Path) -> Result<(), Error> {
    let taken = version(connection).map_err(|source| open::failed(path, source))?;
    for (version, step) in (1..).zip(STEPS).filter(|&(version, _)| version > taken) {
        take(connection, version, step).map_err(|source| Error::Migrate {
            path: path.to_owned(),
            version,
            source,
        })?;
    }
    Ok(())
}

/// Returns the newest version that we know.
pub(super) fn newest() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}

pub(super) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

fn take(connection: &mut Connection, version: i64, step: &str) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(step)?;
    transaction.pragma_update(None, "user_version", version)?;
    transaction.commit()
}
