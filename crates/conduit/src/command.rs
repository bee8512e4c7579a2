//! The commands that answer and end. Each makes a text; [`print()`] hands it out.

pub(crate) mod config;
mod desk;
pub(crate) mod explain;
pub(crate) mod hub;
pub(crate) mod keys;
pub(crate) mod scale;
pub(crate) mod tasks;

use std::io::{self, Write as _};
use std::path::PathBuf;

use conduit_errors::{Code, Coded};

/// Why a command has no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The code to explain does not exist.
    #[error("there is no code `{name}`; those that exist are {known}")]
    UnknownCode {
        /// What was asked for.
        name: String,
        /// All codes, separated by commas.
        known: String,
    },
    /// There is no such task, or no more.
    #[error("there is no such task; it may have expired")]
    UnknownTask,
    /// Nothing was ever started on this state directory.
    #[error("there is no database `{path}`: nothing was started there yet")]
    NoDatabase {
        /// Where it would be.
        path: PathBuf,
    },
    /// The copy could not be made.
    #[error("cannot export the tasks")]
    Export {
        /// Why.
        source: conduit_store::Error,
    },
    /// The store that runs would not do it.
    #[error("the store refuses, see its log")]
    StoreRefused,
    /// Nobody answers for the state directory.
    #[error("no supervisor answers at `{path}`: {why}")]
    NoSupervisor {
        /// The state directory.
        path: PathBuf,
        /// What is known of the reason.
        why: &'static str,
    },
    /// The supervisor cannot keep what is wished for.
    #[error("the supervisor cannot write to its state directory, see its log")]
    NotKept,
    /// The wish is kept, and not fulfilled in time.
    #[error("{done} is kept, but after {patience_s} s {missing}")]
    Unfinished {
        /// What was done.
        done: String,
        /// How long it was waited for, in seconds.
        patience_s: u64,
        /// What is not there.
        missing: String,
    },
    /// Another wish has come before this one was fulfilled.
    #[error("{done} was overtaken, {wanted} is wanted now")]
    Overtaken {
        /// What was done.
        done: String,
        /// How many processes there are to be now.
        wanted: u16,
    },
    /// Standard output did not take the answer.
    #[error("cannot write to standard output")]
    Output {
        /// What the operating system said.
        source: io::Error,
    },
}

/// Writes an answer to standard output. A reader who has seen enough is no failure.
pub(crate) fn print(answer: &str) -> Result<(), Error> {
    let mut out = io::stdout().lock();
    match out.write_all(answer.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome.map_err(|source| Error::Output { source }),
    }
}

impl Coded for Error {
    fn code(&self) -> Code {
        match self {
            Self::UnknownCode { .. } | Self::UnknownTask | Self::NoDatabase { .. } => Code::USAGE,
            Self::StoreRefused => Code::INTERNAL,
            Self::NoSupervisor { .. } => Code::SUPERVISOR_SILENT,
            Self::NotKept => Code::STATE_UNUSABLE,
            Self::Unfinished { .. } | Self::Overtaken { .. } => Code::SCALE_UNFINISHED,
            Self::Output { .. } | Self::Export { .. } => Code::OUTPUT_UNWRITABLE,
        }
    }
}
