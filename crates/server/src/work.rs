//! What a call is made of: where it runs, for how long, and what there is to run.

use std::fmt;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::time::Duration;

use conduit_protocol::Outcome;

/// How the runtime has to treat the calls of one tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Where the tool's code runs.
    pub run: Run,
    /// The longest that a call may take; `None` is the server's default.
    pub time_limit: Option<Duration>,
    /// The most calls of this tool at once; `None` is the server's default.
    pub concurrency: Option<NonZeroUsize>,
    /// How long a cancelled call may go on before it is aborted (asynchronous) or
    /// abandoned (blocking); `None` waits for as long as it takes.
    pub grace: Option<Duration>,
}

/// Where the code of a tool runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Run {
    /// On the worker pool, as an asynchronous task. It must not block.
    Pool,
    /// On a thread of its own while it lasts. It may block.
    Blocking,
    /// On the loop that serves the connections: for what is small and never
    /// waits. The cheapest, and the one that stops everybody when it is not true.
    Inline,
}

/// One call, ready to run. Nothing has happened yet, not even the parsing of its
/// arguments.
pub enum Work {
    /// Has to be polled. Dropping it is an abort.
    Async(Pin<Box<dyn Future<Output = Outcome> + Send>>),
    /// Has to be called.
    Blocking(Box<dyn FnOnce() -> Outcome + Send>),
}

impl Policy {
    /// How long a cancelled call may go on, unless its tool says otherwise.
    pub const DEFAULT_GRACE: Duration = Duration::from_secs(5);

    /// Returns the policy of a tool that declares only where it runs.
    #[must_use]
    pub const fn new(run: Run) -> Self {
        Self {
            run,
            time_limit: None,
            concurrency: None,
            grace: Some(Self::DEFAULT_GRACE),
        }
    }
}

impl Work {
    /// Wraps a future.
    pub fn from_future(future: impl Future<Output = Outcome> + Send + 'static) -> Self {
        Self::Async(Box::pin(future))
    }

    /// Wraps a closure that may block.
    pub fn from_closure(closure: impl FnOnce() -> Outcome + Send + 'static) -> Self {
        Self::Blocking(Box::new(closure))
    }
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Async(_) => "Work::Async",
            Self::Blocking(_) => "Work::Blocking",
        })
    }
}
