//! Why the tree of processes could not come up.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use conduit_actor::SpawnFailed;
use conduit_errors::{Code, Coded};

/// Why the supervisor could not start, or not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The state directory cannot be made, read or written.
    #[error("state directory is unusable at `{path}`")]
    StateUnusable {
        /// The directory or file that stands in the way.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// Another instance uses the state directory.
    #[error("state directory `{path}` is in use by another instance{}", holder(*.pid))]
    StateHeld {
        /// The state directory.
        path: PathBuf,
        /// The process id that the other instance has left there.
        pid: Option<u32>,
    },
    /// An address is taken, or this machine does not have it.
    #[error("cannot listen at {address}")]
    AddressUnavailable {
        /// The address.
        address: SocketAddr,
        /// What the operating system said.
        source: io::Error,
    },
    /// Something that every child needs could not be prepared.
    #[error("cannot prepare {what} for the child processes")]
    Unprepared {
        /// What it is.
        what: &'static str,
        /// What the operating system said.
        source: io::Error,
    },
    /// The links to the children could not be opened.
    #[error("cannot open the control links")]
    Links {
        /// Why.
        #[from]
        source: conduit_link::Error,
    },
    /// An actor of the supervisor could not be started.
    #[error("cannot start the actors of the supervisor")]
    Actors {
        /// Why.
        #[from]
        source: SpawnFailed,
    },
    /// The telemetry of the supervisor could not be started.
    #[error("cannot start the telemetry of the supervisor")]
    Telemetry {
        /// Why.
        #[from]
        source: conduit_telemetry::Error,
    },
    /// An actor of the supervisor failed too often.
    #[error("actor `{actor}` of the supervisor failed too often")]
    ActorFailed {
        /// Its name.
        actor: &'static str,
    },
}

impl Coded for Error {
    fn code(&self) -> Code {
        match self {
            Self::StateHeld { .. } => Code::STATE_HELD,
            Self::AddressUnavailable { .. } => Code::ADDRESS_UNAVAILABLE,
            Self::Unprepared { .. } => Code::CHILD_UNSTARTABLE,
            // Links fail where no socket can be bound in the run directory.
            Self::StateUnusable { .. } | Self::Links { .. } => Code::STATE_UNUSABLE,
            Self::Actors { .. } | Self::Telemetry { .. } | Self::ActorFailed { .. } => {
                Code::INTERNAL
            }
        }
    }
}

// === Behind the messages ===

fn holder(pid: Option<u32>) -> String {
    pid.map_or_else(String::new, |pid| format!(" (process {pid})"))
}
