//! Why the store cannot start, or has to end.

use std::error::Error as StdError;
use std::io;
use std::path::PathBuf;

use conduit_actor::SpawnFailed;
use conduit_errors::{Code, Coded};

/// Why the store cannot start, or has to end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The database file cannot be made, or its mode cannot be set.
    #[error("cannot prepare the database file `{path}`")]
    File {
        /// The database.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// `SQLite` cannot use the file.
    #[error("cannot open the database `{path}`")]
    Open {
        /// The database.
        path: PathBuf,
        /// What `SQLite` said.
        source: rusqlite::Error,
    },
    /// Another process has the file open, and it is needed alone.
    #[error("another process uses the database `{path}`")]
    Busy {
        /// The database.
        path: PathBuf,
        /// What `SQLite` said.
        source: rusqlite::Error,
    },
    /// The file is no database, or a damaged one. It is left as it is.
    #[error("the database `{path}` is damaged: {finding}")]
    Damaged {
        /// The database.
        path: PathBuf,
        /// What the check found first.
        finding: String,
    },
    /// A newer version of this program wrote the file. It is left as it is.
    #[error(
        "the database `{path}` has schema version {found}, this program knows versions up to {known}"
    )]
    TooNew {
        /// The database.
        path: PathBuf,
        /// The version of the file.
        found: i64,
        /// The newest version that we know.
        known: i64,
    },
    /// An older version of this program wrote the file, and no store has brought it up
    /// to date. It is left as it is.
    #[error(
        "the database `{path}` has schema version {found}, which the store brings to {known} when it starts"
    )]
    TooOld {
        /// The database.
        path: PathBuf,
        /// The version of the file.
        found: i64,
        /// The newest version that we know.
        known: i64,
    },
    /// The database cannot be read.
    #[error("cannot read the database `{path}`")]
    Read {
        /// The database.
        path: PathBuf,
        /// What `SQLite` said.
        source: rusqlite::Error,
    },
    /// The database cannot be changed. Nothing has changed.
    #[error("cannot change the database")]
    Write {
        /// What the database said.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The database cannot be copied.
    #[error("cannot copy the database to `{path}`")]
    Export {
        /// The copy.
        path: PathBuf,
        /// What `SQLite` said.
        source: rusqlite::Error,
    },
    /// A step to a newer schema failed and was undone.
    #[error("cannot bring the database `{path}` to schema version {version}")]
    Migrate {
        /// The database.
        path: PathBuf,
        /// The version that was not reached.
        version: i64,
        /// What `SQLite` said.
        source: rusqlite::Error,
    },
    /// The database cannot be opened a second time, for reading.
    #[error("cannot open the database for reading")]
    Reader {
        /// What the database said.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The operating system gave no thread to the writer.
    #[error("cannot start the writer's thread")]
    Thread {
        /// What the operating system said.
        source: io::Error,
    },
    /// The writer's thread has ended; what it had not committed is refused.
    #[error("the writer ended before the store did")]
    WriterEnded,
    /// The actors could not be started.
    #[error("cannot start the actors of the store")]
    Actors(#[from] SpawnFailed),
    /// The telemetry sink could not be started.
    #[error("cannot start telemetry")]
    Telemetry(#[from] conduit_telemetry::Error),
    /// An actor failed more often than its budget allows.
    #[error("actor `{name}` failed too often")]
    ActorFailed {
        /// Which.
        name: &'static str,
    },
    /// The socket for gateways could not be bound.
    #[error("cannot listen for gateways")]
    Listen(#[from] conduit_link::Error),
}

impl Coded for Error {
    fn code(&self) -> Code {
        match self {
            Self::File { .. }
            | Self::Open { .. }
            | Self::Busy { .. }
            | Self::Read { .. }
            | Self::Write { .. }
            | Self::Export { .. }
            | Self::Migrate { .. }
            | Self::Reader { .. } => Code::STATE_UNUSABLE,
            Self::Damaged { .. } | Self::TooNew { .. } | Self::TooOld { .. } => {
                Code::DATABASE_UNUSABLE
            }
            Self::Listen(error) => error.code(),
            Self::Thread { .. }
            | Self::WriterEnded
            | Self::Actors(_)
            | Self::Telemetry(_)
            | Self::ActorFailed { .. } => Code::INTERNAL,
        }
    }
}
