//! The database as an operator sees it, whether or not a store runs on it.
//!
//! Everything here blocks: it is for the command line. Nothing here is changed but by
//! [`Archive::cancel`], which needs the file for itself; while a store runs, it is the
//! store that cancels.

#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use conduit_link::{Slot, TaskRecord, TaskStatus};
use uuid::Uuid;

use crate::Error;
use crate::backend::Backend;
use crate::clock::Clock;
use crate::sqlite::{Sqlite, SqliteArchive};

/// Reads a database.
#[derive(Debug)]
pub struct Archive {
    path: PathBuf,
    sqlite: SqliteArchive,
    clock: Clock,
}

/// Which tasks to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Those of this status.
    pub status: Option<TaskStatus>,
    /// Those of this server.
    pub server: Option<String>,
}

/// A part of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The tasks, the newest first, without outcomes and questions.
    pub tasks: Vec<TaskRecord>,
    /// Where the next page begins, if there may be one.
    pub next: Option<String>,
}

/// A task, with what only an operator sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// What its clients see.
    pub record: TaskRecord,
    /// Who does its work.
    pub holder: Option<Slot>,
    /// That process' life.
    pub life: Option<Uuid>,
    /// When it was last given to somebody, in milliseconds since 1970.
    pub leased_ms: Option<u64>,
    /// How often it was started without having ended a round.
    pub attempt: u16,
    /// How often it may be.
    pub attempts: u16,
    /// How many bytes it was called with.
    pub input_bytes: u64,
    /// How many bytes it has noted for its next round.
    pub journal_bytes: u64,
}

/// What became of a task that was to be cancelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cancelled {
    /// The task.
    pub record: TaskRecord,
    /// Whether it had ended before.
    pub had_ended: bool,
}

impl Archive {
    /// Opens a database for reading. A store that runs on it does not notice.
    ///
    /// # Errors
    ///
    /// [`Error::Open`] when there is none, [`Error::TooNew`] and [`Error::TooOld`] when
    /// another version of this program wrote it, [`Error::Damaged`].
    pub fn open(path: &Path) -> Result<Self, Error> {
        Ok(Self {
            path: path.to_owned(),
            sqlite: SqliteArchive::open(path)?,
            clock: Clock::start(),
        })
    }

    /// Lists tasks, the newest first, at most `limit` of those behind `after`, which is
    /// the [`Page::next`] of the page before.
    ///
    /// # Errors
    ///
    /// [`Error::Read`].
    pub fn list(&self, filter: &Filter, limit: usize, after: Option<&str>) -> Result<Page, Error> {
        self.sqlite
            .list(filter, limit, after, self.clock.moment())
            .map_err(|source| self.failed(source))
    }

    /// Shows a task.
    ///
    /// # Errors
    ///
    /// [`Error::Read`].
    pub fn show(&self, id: Uuid) -> Result<Option<Shown>, Error> {
        self.sqlite
            .show(id, self.clock.moment())
            .map_err(|source| self.failed(source))
    }

    /// Copies the whole database, as it is at one moment, into a new file `to` of mode
    /// 0600, which is on the disk when this returns. Writers do not wait for it.
    ///
    /// # Errors
    ///
    /// [`Error::File`] when the file exists or cannot be made, [`Error::Export`]; then
    /// there is no new file.
    pub fn export(&self, to: &Path) -> Result<(), Error> {
        let failed = |source| Error::File {
            path: to.to_owned(),
            source,
        };
        SqliteArchive::new_file(to).map_err(failed)?;
        let copied = self
            .sqlite
            .copy(to)
            .map_err(|source| Error::Export {
                path: to.to_owned(),
                source,
            })
            .and_then(|()| flush(to).map_err(failed));
        if copied.is_err() {
            // What went wrong first is what matters.
            drop(fs::remove_file(to));
        }
        copied
    }

    /// Cancels a task of a database on which no store runs.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`] when another process has the file open, and those of
    /// [`Archive::open`]; [`Error::Write`] when the change failed.
    pub fn cancel(path: &Path, id: Uuid) -> Result<Option<Cancelled>, Error> {
        let mut sqlite = Sqlite::open_alone(path)?;
        let now = Clock::start().moment();
        let mut cancelled = None;
        sqlite
            .transaction(&mut |tables| {
                cancelled = tables.cancel(id, None, now)?;
                Ok(())
            })
            .map_err(|failure| Error::Write {
                source: Box::new(failure),
            })?;
        Ok(cancelled.map(|cancelled| Cancelled {
            record: cancelled.record,
            had_ended: cancelled.had_ended,
        }))
    }

    fn failed(&self, source: rusqlite::Error) -> Error {
        Error::Read {
            path: self.path.clone(),
            source,
        }
    }
}

/// Brings a file and its name to the disk.
fn flush(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()?;
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => File::open(folder)?.sync_all(),
        _ => File::open(".")?.sync_all(),
    }
}
