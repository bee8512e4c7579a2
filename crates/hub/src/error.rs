//! Why a hub cannot start, or has to end.

use conduit_actor::SpawnFailed;
use conduit_errors::{Code, Coded};

/// Why a hub cannot start, or has to end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The actors could not be started.
    #[error("cannot start the actors of the hub")]
    Actors(#[from] SpawnFailed),
    /// The telemetry sink could not be started.
    #[error("cannot start telemetry")]
    Telemetry(#[from] conduit_telemetry::Error),
    /// The socket for gateways could not be bound.
    #[error("cannot listen for gateways")]
    Listen(#[from] conduit_link::Error),
    /// An actor failed more often than its budget allows.
    #[error("actor `{name}` failed too often")]
    ActorFailed {
        /// Which.
        name: &'static str,
    },
}

impl Coded for Error {
    fn code(&self) -> Code {
        match self {
            Self::Listen(error) => error.code(),
            Self::Actors(_) | Self::Telemetry(_) | Self::ActorFailed { .. } => Code::INTERNAL,
        }
    }
}
