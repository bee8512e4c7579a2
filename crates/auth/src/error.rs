//! Why a key ring cannot be used.

use std::io;
use std::path::PathBuf;

use conduit_errors::{Code, Coded};

/// Why a key ring cannot be used. No message repeats what is in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be made, or a changed one cannot take its place.
    #[error("cannot write the key ring `{path}`")]
    Write {
        /// The ring.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The file is not there, or cannot be read.
    #[error("cannot read the key ring `{path}`")]
    Read {
        /// The ring.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// Others than its owner may use the file.
    #[error("the key ring `{path}` has mode {mode:04o}: it must be closed to others, such as 0600")]
    Exposed {
        /// The ring.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The file is larger than a ring can be.
    #[error("the key ring `{path}` is larger than {limit_bytes} bytes")]
    TooLarge {
        /// The ring.
        path: PathBuf,
        /// The most bytes that are read.
        limit_bytes: u64,
    },
    /// A line of the file is no key.
    #[error("line {line} of the key ring `{path}` {flaw}")]
    Line {
        /// The ring.
        path: PathBuf,
        /// Which line; the first one is 1.
        line: usize,
        /// What is wrong with it.
        flaw: Flaw,
    },
    /// The file has no key.
    #[error("the key ring `{path}` has no key")]
    Empty {
        /// The ring.
        path: PathBuf,
    },
}

/// What is wrong with a line of a key ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// There are more or fewer fields, or what is there is not text.
    #[error("is not an id, a time and a secret")]
    Fields,
    /// The first field is no id.
    #[error("has an id that is not 8 digits of lower-case hexadecimal")]
    Id,
    /// The second field is no time.
    #[error("has a time that is not a number of seconds")]
    Created,
    /// The third field is no secret.
    #[error("has a secret that is not 32 bytes in base64url")]
    Secret,
    /// Another line has the same id.
    #[error("has the id of an earlier line")]
    Repeated,
}

impl Coded for Error {
    fn code(&self) -> Code {
        match self {
            Self::Write { .. } | Self::Read { .. } => Code::STATE_UNUSABLE,
            Self::Exposed { .. }
            | Self::TooLarge { .. }
            | Self::Line { .. }
            | Self::Empty { .. } => Code::KEYS_UNUSABLE,
        }
    }
}
