//! Why a command or a role failed, with a code and an exit status.

use std::error::Error;
use std::fmt;

use conduit_errors::{Code, Coded};

/// Any failure that ends the process.
#[derive(Debug)]
pub(crate) struct Failure {
    code: Code,
    attempt: &'static str,
    cause: Box<dyn Error + Send + Sync>,
}

impl Failure {
    /// Something that should have worked did not: our fault.
    pub(crate) fn internal(
        attempt: &'static str,
    ) -> impl FnOnce(Box<dyn Error + Send + Sync>) -> Self {
        move |cause| Self {
            code: Code::INTERNAL,
            attempt,
            cause,
        }
    }

    /// As [`Failure::internal`], for any error.
    pub(crate) fn of<E: Error + Send + Sync + 'static>(
        attempt: &'static str,
    ) -> impl FnOnce(E) -> Self {
        move |cause| Self::internal(attempt)(Box::new(cause))
    }

    /// The author's server could not be built.
    pub(crate) fn server<E: Error + Send + Sync + 'static>(cause: E) -> Self {
        Self {
            code: Code::SERVER_INVALID,
            attempt: "cannot build the server",
            cause: Box::new(cause),
        }
    }

    /// The command line names no server of this program, where it has to.
    pub(crate) fn unknown_server(cause: Box<dyn Error + Send + Sync>) -> Self {
        Self {
            code: Code::USAGE,
            attempt: "cannot tell which server is meant",
            cause,
        }
    }

    /// Something of the supervisor failed while `attempt` was made.
    pub(crate) fn at(attempt: &'static str) -> impl FnOnce(conduit_supervisor::Error) -> Self {
        move |cause| Self {
            attempt,
            ..Self::from(cause)
        }
    }

    /// Something that knows its code failed while `attempt` was made.
    pub(crate) fn coded<E: Coded + Send + Sync + 'static>(
        attempt: &'static str,
    ) -> impl FnOnce(E) -> Self {
        move |cause| Self {
            code: cause.code(),
            attempt,
            cause: Box::new(cause),
        }
    }

    /// No child can be started in this environment.
    pub(crate) fn unstartable(cause: Box<dyn Error + Send + Sync>) -> Self {
        Self {
            code: Code::CHILD_UNSTARTABLE,
            attempt: "cannot start the processes",
            cause,
        }
    }

    /// A child was started, and its supervisor is not there.
    pub(crate) fn orphaned(cause: std::io::Error) -> Self {
        Self {
            code: Code::CHILD_ORPHANED,
            attempt: "cannot find the supervisor",
            cause: Box::new(cause),
        }
    }

    /// A child was started without what only a supervisor can hand it.
    pub(crate) fn listener(cause: std::io::Error) -> Self {
        Self {
            code: Code::LISTENER_MISSING,
            attempt: "cannot take over the listening socket",
            cause: Box::new(cause),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.attempt)
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.cause)
    }
}

impl Coded for Failure {
    fn code(&self) -> Code {
        self.code
    }
}

impl From<conduit_config::Error> for Failure {
    fn from(cause: conduit_config::Error) -> Self {
        Self {
            code: cause.code(),
            attempt: "cannot load the settings",
            cause: Box::new(cause),
        }
    }
}

impl From<conduit_supervisor::Error> for Failure {
    fn from(cause: conduit_supervisor::Error) -> Self {
        Self {
            code: cause.code(),
            attempt: "cannot start",
            cause: Box::new(cause),
        }
    }
}

impl From<crate::command::Error> for Failure {
    fn from(cause: crate::command::Error) -> Self {
        Self {
            code: cause.code(),
            attempt: "cannot answer",
            cause: Box::new(cause),
        }
    }
}
