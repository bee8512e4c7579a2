//! The embedded database: one file, one writing connection.
//!
//! Write-ahead log with full synchronisation: a commit is on the disk when it
//! returns, and readers never wait for it. The file belongs to one store process
//! at a time (the supervisor's lock on the state directory); others may read it.

mod archive;
mod migrate;
mod open;
mod sessions;
mod tasks;
#[cfg(test)]
mod tests;
mod transaction;

use std::path::{Path, PathBuf};

use rusqlite::{Connection, TransactionBehavior};

pub(crate) use self::archive::SqliteArchive;
use self::transaction::{Counts, Transaction, Turn};
use crate::Error;
use crate::backend::{Backend, Body, Failure};
use crate::tally::{Census, Tally};

/// The writing connection.
#[derive(Debug)]
pub(crate) struct Sqlite {
    connection: Connection,
    path: PathBuf,
    counts: Counts,
    tally: Tally,
    turn: Turn,
}

/// Reads beside the writer.
#[derive(Debug)]
pub(crate) struct SqliteReader(Connection);

impl Sqlite {
    /// Opens the database, makes it if need be, checks it and brings its schema
    /// up to date.
    ///
    /// # Errors
    ///
    /// [`Error::File`], [`Error::Open`], [`Error::Damaged`], [`Error::TooNew`] and
    /// [`Error::Migrate`]. A file that is damaged or too new is not changed.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let mut connection = open::writer(path)?;
        migrate::to_newest(&mut connection, path)?;
        Self::count(connection, path).map_err(|source| open::failed(path, source))
    }

    /// Opens a database that is there and that nobody else has open.
    ///
    /// # Errors
    ///
    /// As [`Sqlite::open`], [`Error::TooOld`], and [`Error::Busy`] when somebody has.
    pub(crate) fn open_alone(path: &Path) -> Result<Self, Error> {
        let connection = open::alone(path)?;
        migrate::refuse_older(&connection, path)?;
        Self::count(connection, path).map_err(|source| open::failed(path, source))
    }

    fn count(connection: Connection, path: &Path) -> rusqlite::Result<Self> {
        Ok(Self {
            counts: Counts::begin(&connection)?,
            tally: tasks::tally(&connection)?,
            turn: Turn::default(),
            connection,
            path: path.to_owned(),
        })
    }

    /// Lets the file grow to this many pages and no further, as a full disk does.
    #[cfg(test)]
    pub(crate) fn limit_pages(&self, pages: i64) {
        self.connection
            .pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
            .expect("a limit");
    }
}

impl Backend for Sqlite {
    type Reader = SqliteReader;

    fn reader(&self) -> Result<SqliteReader, Failure> {
        open::reader(&self.path)
            .map(SqliteReader)
            .map_err(|error| Failure::new("open the database for reading", error))
    }

    fn transaction(&mut self, body: Body<'_>) -> Result<(), Failure> {
        let done = self.transact(body);
        if done.is_ok() {
            self.tally.commit();
        } else {
            self.tally.undo();
        }
        done
    }

    fn live(&self) -> u64 {
        self.counts.live
    }

    fn census(&self) -> Census {
        self.tally.census()
    }
}

impl SqliteReader {
    const fn connection(&self) -> &Connection {
        &self.0
    }
}

// === Behind the backend ===

impl Sqlite {
    fn transact(&mut self, body: Body<'_>) -> Result<(), Failure> {
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|error| Failure::new("begin a transaction", error))?;
        let mut tables = Transaction {
            connection: &transaction,
            counts: self.counts,
            tally: &mut self.tally,
            turn: &mut self.turn,
        };
        body(&mut tables)?;
        let counts = tables.counts;
        transaction
            .commit()
            .map_err(|error| Failure::new("commit", error))?;
        self.counts = counts;
        Ok(())
    }
}
