//! The file of a store, read beside it, or filled while nobody has it open.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail};
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, named_params};

use crate::stored;

/// What the columns of a task that are numbers take, about: five times and some small
/// ones.
const NUMBERS: u64 = 40;

/// Returns about how many bytes a task has that is stored and not done.
pub(super) fn bytes_of_a_task(database: &Path) -> anyhow::Result<usize> {
    let average: f64 = open(database)?
        .query_row(
            "SELECT avg(length(t.id) + length(t.server) + length(t.tool)
                 + length(w.input) + length(w.journal))
             FROM tasks t JOIN task_work w ON w.task = t.number",
            (),
            |row| row.get(0),
        )
        .context("cannot weigh the tasks")?;
    // It is a few hundred.
    let texts = average.round().clamp(0.0, f64::from(u32::MAX));
    let bytes = format!("{texts:.0}").parse::<u64>()? + NUMBERS;
    Ok(usize::try_from(bytes)?)
}

/// Says whether some task is done.
pub(super) fn has_done(database: &Path) -> anyhow::Result<bool> {
    Ok(done(&open(database)?)?.is_some())
}

/// Says whether a task is there whose time was over then.
pub(super) fn has_expired(database: &Path, end: SystemTime) -> anyhow::Result<bool> {
    let end = millis(end)?;
    open(database)?
        .query_row(
            "SELECT EXISTS (SELECT 1 FROM tasks WHERE expires_ms <= :end)",
            named_params! { ":end": end },
            |row| row.get(0),
        )
        .context("cannot look for tasks that have expired")
}

/// Stores so many tasks, each a copy of one that is done, until a time.
pub(super) fn fill(database: &Path, count: u64, end: SystemTime) -> anyhow::Result<()> {
    let end = millis(end)?;
    let mut connection = Connection::open(database).context("cannot open the database")?;
    connection.pragma_update(None, "synchronous", "OFF")?;
    let Some(pattern) = done(&connection)? else {
        bail!("no task is done that could be copied");
    };
    let columns = columns(&connection, "tasks", &["number", "id", "expires_ms"])?;
    let filling = connection.transaction()?;
    {
        let mut task = filling.prepare(&format!(
            "INSERT INTO tasks (id, expires_ms, {columns})
             SELECT :id, :end, {columns} FROM tasks WHERE number = :pattern"
        ))?;
        let mut work = copy(&filling, "task_work")?;
        let mut outcome = copy(&filling, "task_outcomes")?;
        for number in 0..count {
            let id = stored::id(number);
            task.execute(named_params! {
                ":id": id.as_bytes(),
                ":end": end,
                ":pattern": pattern,
            })?;
            let number = filling.last_insert_rowid();
            for part in [&mut work, &mut outcome] {
                part.execute(named_params! { ":task": number, ":pattern": pattern })?;
            }
        }
    }
    filling.commit().context("cannot fill the database")?;
    connection
        .pragma_update_and_check(None, "wal_checkpoint", "TRUNCATE", |_| Ok(()))
        .context("cannot empty the log of the database")
}

// === Behind the file ===

fn open(database: &Path) -> anyhow::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(database, flags).context("cannot open the database")
}

/// Returns the number of a task that is done.
fn done(connection: &Connection) -> anyhow::Result<Option<i64>> {
    connection
        .query_row("SELECT task FROM task_outcomes LIMIT 1", (), |row| {
            row.get(0)
        })
        .optional()
        .context("cannot look for a task that is done")
}

/// Returns the columns of a table, but for some.
fn columns(connection: &Connection, table: &str, but: &[&str]) -> anyhow::Result<String> {
    let mut names = connection.prepare("SELECT name FROM pragma_table_info(:table)")?;
    let names = names.query_map(named_params! { ":table": table }, |row| {
        row.get::<_, String>(0)
    })?;
    let mut names = names.collect::<Result<Vec<_>, _>>()?;
    names.retain(|name| !but.contains(&name.as_str()));
    Ok(names.join(", "))
}

/// Prepares to copy what belongs to a task.
fn copy<'c>(connection: &'c Connection, table: &str) -> anyhow::Result<rusqlite::Statement<'c>> {
    let columns = columns(connection, table, &["task"])?;
    Ok(connection.prepare(&format!(
        "INSERT INTO {table} (task, {columns})
         SELECT :task, {columns} FROM {table} WHERE task = :pattern"
    ))?)
}

fn millis(time: SystemTime) -> anyhow::Result<i64> {
    let since = time.duration_since(UNIX_EPOCH).context("before 1970")?;
    Ok(i64::try_from(since.as_millis())?)
}
