//! The database as an operator reads it.

use std::io;
use std::path::Path;

use conduit_link::Slot;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OptionalExtension, named_params};
use uuid::Uuid;

use super::tasks::row::{NEXT, Row, select, status_code, unsigned};
use super::{migrate, open, tasks};
use crate::Error;
use crate::archive::{Filter, Page, Shown};
use crate::clock::Moment;

/// How many pages are copied at a time.
const PAGES: i32 = 1024;

/// A connection that reads for an operator.
#[derive(Debug)]
pub(crate) struct SqliteArchive(Connection);

impl SqliteArchive {
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let connection = open::reader(path).map_err(|source| open::failed(path, source))?;
        migrate::refuse_newer(&connection, path)?;
        migrate::refuse_older(&connection, path)?;
        Ok(Self(connection))
    }

    /// Makes a file for a copy, which must not exist.
    pub(crate) fn new_file(path: &Path) -> io::Result<()> {
        open::new_file(path)
    }

    pub(crate) fn list(
        &self,
        filter: &Filter,
        limit: usize,
        after: Option<&str>,
        now: Moment,
    ) -> rusqlite::Result<Page> {
        let before = after.and_then(|after| after.parse().ok());
        let rows: Vec<Row> = self
            .0
            .prepare_cached(select!(
                "",
                "WHERE t.number < :before
                   AND (t.expires_ms IS NULL OR t.expires_ms > :now)
                   AND (:status IS NULL OR t.status = :status)
                   AND (:server IS NULL OR t.server = :server)
                 ORDER BY t.number DESC LIMIT :limit"
            ))?
            .query_map(
                named_params! {
                    ":before": before.unwrap_or(i64::MAX),
                    ":now": now.since_1970(),
                    ":status": filter.status.map(status_code),
                    ":server": filter.server,
                    ":limit": i64::try_from(limit).unwrap_or(i64::MAX),
                },
                Row::read,
            )?
            .collect::<rusqlite::Result<_>>()?;
        let is_full = rows.len() >= limit;
        let last = rows.last().filter(|_| is_full);
        Ok(Page {
            next: last.map(|row| row.number.to_string()),
            tasks: rows.iter().map(Row::record).collect(),
        })
    }

    pub(crate) fn show(&self, id: Uuid, now: Moment) -> rusqlite::Result<Option<Shown>> {
        // Two statements are one look: nothing changes within a transaction.
        let reading = self.0.unchecked_transaction()?;
        let Some(record) = tasks::look(&reading, id, now)? else {
            return Ok(None);
        };
        reading
            .prepare_cached(select!(
                ", length(w.input), length(w.journal)",
                "JOIN task_work w ON w.task = t.number WHERE t.id = :id"
            ))?
            .query_row(named_params! { ":id": id.as_bytes() }, |columns| {
                let course = Row::read(columns)?.course;
                Ok(Shown {
                    record,
                    holder: course.holder.map(|holder| Slot::gateway(holder.slot)),
                    life: course.holder.map(|holder| holder.life),
                    leased_ms: course.leased.map(Moment::unsigned),
                    attempt: course.attempt,
                    attempts: course.attempts,
                    input_bytes: columns.get(NEXT).map(unsigned)?,
                    journal_bytes: columns.get(NEXT + 1).map(unsigned)?,
                })
            })
            .optional()
    }

    /// Copies everything into an empty file.
    pub(crate) fn copy(&self, to: &Path) -> rusqlite::Result<()> {
        // A copy begins anew when somebody writes meanwhile, and might never end; within
        // a transaction nobody's writing is seen.
        let reading = self.0.unchecked_transaction()?;
        reading.query_row("SELECT count(*) FROM sqlite_schema", (), |_| Ok(()))?;
        let mut copy = Connection::open(to)?;
        let backup = Backup::new(&reading, &mut copy)?;
        while backup.step(PAGES)? != StepResult::Done {}
        drop(backup);
        // One file, which can be read where nothing can be written.
        copy.pragma_update_and_check(None, "journal_mode", "DELETE", |_mode| Ok(()))?;
        copy.close().map_err(|(_connection, error)| error)
    }
}
