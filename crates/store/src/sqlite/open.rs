//! Opens the file, with the settings that durability rests on.

use std::fs::{self, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::migrate;
use crate::Error;

/// Nobody but the user that we run as reads the file.
const MODE: u32 = 0o600;

/// How long the writer waits for another process that holds the file, such as a
/// backup.
const WRITER_PATIENCE: Duration = Duration::from_secs(5);

/// Readers wait for nobody in this journal mode, but for a recovery.
const READER_PATIENCE: Duration = Duration::from_millis(250);

/// After a checkpoint the write-ahead log is cut to this size, in bytes.
const LOG_LIMIT: i64 = 16 * 1024 * 1024;

/// The most pages that the writer keeps in memory, in KiB: the index of the ids of a
/// million tasks.
const WRITER_CACHE: i64 = 32 * 1024;

/// As many statements as there are in all, so that none is prepared twice.
const STATEMENTS: usize = 64;

/// Opens the writing connection. The file is not changed before it has proved to
/// be sound, and not too new.
pub(super) fn writer(path: &Path) -> Result<Connection, Error> {
    private_file(path).map_err(|source| Error::File {
        path: path.to_owned(),
        source,
    })?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let fail = |source| failed(path, source);
    let connection = Connection::open_with_flags(path, flags).map_err(fail)?;
    connection.busy_timeout(WRITER_PATIENCE).map_err(fail)?;
    migrate::refuse_newer(&connection, path)?;
    check(&connection, path)?;
    configure(&connection).map_err(fail)?;
    Ok(connection)
}

/// Opens a writing connection to a file that nobody else has open, and keeps others
/// from it.
pub(super) fn alone(path: &Path) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let fail = |source| failed(path, source);
    let connection = Connection::open_with_flags(path, flags).map_err(fail)?;
    connection.busy_timeout(READER_PATIENCE).map_err(fail)?;
    // Whoever has the file open in this journal mode holds a lock on it.
    connection
        .pragma_update_and_check(None, "locking_mode", "EXCLUSIVE", |_mode| Ok(()))
        .map_err(fail)?;
    migrate::refuse_newer(&connection, path)?;
    configure(&connection).map_err(fail)?;
    Ok(connection)
}

/// Opens a connection that only reads.
pub(super) fn reader(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(READER_PATIENCE)?;
    keep_statements(&connection)?;
    Ok(connection)
}

/// Tells damage, which nobody can mend by trying again, from other failures.
pub(super) fn failed(path: &Path, source: rusqlite::Error) -> Error {
    let path = path.to_owned();
    match source.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Error::Damaged {
            path,
            finding: source.to_string(),
        },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Busy { path, source },
        _ => Error::Open { path, source },
    }
}

/// Makes the file if need be. `SQLite` gives its log the mode of the database.
fn private_file(path: &Path) -> io::Result<()> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(MODE)
        .open(path)?;
    fs::set_permissions(path, Permissions::from_mode(MODE))
}

/// Makes a file that must not exist.
pub(super) fn new_file(path: &Path) -> io::Result<()> {
    OpenOptions::new()
        .create_new(true)
        .write(true)
        .mode(MODE)
        .open(path)
        .map(drop)
}

fn check(connection: &Connection, path: &Path) -> Result<(), Error> {
    let finding: String = connection
        .pragma_query_value(None, "quick_check", |row| row.get(0))
        .map_err(|source| failed(path, source))?;
    if finding == "ok" {
        return Ok(());
    }
    Err(Error::Damaged {
        path: path.to_owned(),
        finding,
    })
}

/// Lets statements be prepared once. Without the promise that plans do not depend on
/// values, each is prepared anew for each use: the cache clears what was bound, and
/// partial indexes make the plan a matter of values.
fn keep_statements(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    let stable = DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG;
    connection.set_db_config(stable, true).map(drop)
}

fn configure(connection: &Connection) -> rusqlite::Result<()> {
    keep_statements(connection)?;
    connection.pragma_update(None, "cache_size", -WRITER_CACHE)?;
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_mode| Ok(()))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update_and_check(None, "journal_size_limit", LOG_LIMIT, |_limit| Ok(()))
}
