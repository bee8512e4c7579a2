//! The embedded database: one file, one writing connection.
//!
//! Write-ahead log with full synchronisation: a commit is on the disk when it
//! returns, and readers never wait for it. The file belongs to one store process
//! at a time (the supervisor's lock on the state directory); others may read it.

mod migrate;
mod open;
mod sessions;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use rusqlite::{Connection, TransactionBehavior};

use crate::Error;
use crate::backend::{Backend, Body, Failure};

pub(crate) use self::sessions::SqliteReader;

/// The writing connection.
#[derive(Debug)]
pub(crate) struct Sqlite {
    connection: Connection,
    path: PathBuf,
    /// Sessions in the table: counting them anew for each new one is too slow.
    live: u64,
}

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
        let live = sessions::count(&connection).map_err(|source| Error::Open {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self {
            connection,
            path: path.to_owned(),
            live,
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
            .map(SqliteReader::new)
            .map_err(|error| Failure::new("open the database for reading", error))
    }

    fn transaction(&mut self, body: Body<'_>) -> Result<(), Failure> {
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|error| Failure::new("begin a transaction", error))?;
        let mut tables = sessions::Transaction::new(&transaction, self.live);
        body(&mut tables)?;
        let live = tables.live();
        transaction
            .commit()
            .map_err(|error| Failure::new("commit", error))?;
        self.live = live;
        Ok(())
    }

    fn live(&self) -> u64 {
        self.live
    }
}
