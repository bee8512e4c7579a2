//! What a call is made of: where it runs, for how long, and what there is to run.

use std::fmt;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use conduit_protocol::{Outcome, TaskSupport, ToolResult, WireError};
use tokio::sync::Semaphore;

/// How the runtime has to treat the calls of one callback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Where the callback's code runs.
    pub run: Run,
    /// The longest that a call may take; `None` is the server's default.
    pub time_limit: Option<Duration>,
    /// The most calls of this callback at once; `None` is the server's default.
    pub concurrency: Option<NonZeroUsize>,
    /// How long a cancelled call may go on before it is aborted (asynchronous) or
    /// abandoned (blocking); `None` waits for as long as it takes.
    pub grace: Option<Duration>,
    /// Whether a client that can read a stream always gets one (R7).
    pub streams: bool,
    /// Whether what a client brings back with its answers holds for one use (R15).
    pub once: bool,
    /// How it runs as a task.
    pub task: TaskPolicy,
}

/// How the runtime has to treat the calls of a tool as tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskPolicy {
    /// Whether a call can be a task, or has to.
    pub support: TaskSupport,
    /// Whether a call starts as a call, and becomes a task when its callback says so.
    pub asks_first: bool,
    /// Whether the callback may run again when its process has died in it.
    pub restartable: bool,
    /// How long a task is kept after it was made; `None` is the server's default.
    pub ttl: Option<Duration>,
    /// After how long it is worth to look again; `None` is the server's default.
    pub poll: Option<Duration>,
}

/// Where the code of a callback runs.
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
pub enum Work<T = ToolResult> {
    /// Has to be polled. Dropping it is an abort.
    Async(Pin<Box<dyn Future<Output = Outcome<T>> + Send>>),
    /// Has to be called.
    Blocking(Box<dyn FnOnce() -> Outcome<T> + Send>),
}

/// Work, and how it is to be treated.
#[derive(Debug)]
#[must_use = "nothing happens before the work is run"]
pub struct Job<T> {
    /// What runs, as its author named it: a resource's URI, a template, a prompt.
    /// From a closed set.
    pub name: Arc<str>,
    /// Where it runs, and for how long.
    pub policy: Policy,
    /// Of which one permit is held while it runs, if its calls are limited.
    pub permits: Option<Arc<Semaphore>>,
    /// What there is to run.
    pub work: Work<T>,
}

impl Policy {
    /// How long a cancelled call may go on, unless its callback says otherwise.
    pub const DEFAULT_GRACE: Duration = Duration::from_secs(5);

    /// Returns the policy of a callback that declares only where it runs.
    #[must_use]
    pub const fn new(run: Run) -> Self {
        Self {
            run,
            time_limit: None,
            concurrency: None,
            grace: Some(Self::DEFAULT_GRACE),
            streams: false,
            once: false,
            task: TaskPolicy {
                support: TaskSupport::Forbidden,
                asks_first: false,
                restartable: false,
                ttl: None,
                poll: None,
            },
        }
    }

    /// Makes what limits the calls at once, if they are limited. All calls of a
    /// callback share one.
    #[must_use]
    pub fn permits(&self) -> Option<Arc<Semaphore>> {
        self.concurrency
            .map(|limit| Arc::new(Semaphore::new(limit.get())))
    }
}

impl<T: Send + 'static> Work<T> {
    /// Wraps a future.
    pub fn from_future(future: impl Future<Output = Outcome<T>> + Send + 'static) -> Self {
        Self::Async(Box::pin(future))
    }

    /// Wraps a closure that may block.
    pub fn from_closure(closure: impl FnOnce() -> Outcome<T> + Send + 'static) -> Self {
        Self::Blocking(Box::new(closure))
    }

    /// Wraps what is known already.
    pub fn ready(outcome: Outcome<T>) -> Self {
        Self::from_future(std::future::ready(outcome))
    }
}

impl<T: Send + 'static> Job<T> {
    /// Makes a job of which nothing is left but to refuse.
    pub fn refused(name: Arc<str>, error: WireError) -> Self {
        Self {
            name,
            policy: Policy::new(Run::Inline),
            permits: None,
            work: Work::ready(Outcome::Refused(error)),
        }
    }
}

impl<T> fmt::Debug for Work<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Async(_) => "Work::Async",
            Self::Blocking(_) => "Work::Blocking",
        })
    }
}

/// Adds to a builder with a field `policy` what an author says of it.
macro_rules! policy_methods {
    ($builder:ident) => {
        /// How the runtime treats it.
        impl $builder {
            /// Runs it right on the loop that serves the connections: the fastest, for
            /// what is small and never waits for anything. Whatever blocks there stops
            /// every client of the process.
            pub const fn inline(mut self) -> Self {
                self.policy.run = $crate::Run::Inline;
                self
            }

            /// Ends a call that takes longer; else the server's default holds.
            pub const fn time_limit(mut self, limit: std::time::Duration) -> Self {
                self.policy.time_limit = Some(limit);
                self
            }

            /// Lets only so many calls run at once; else the server's default holds.
            pub const fn concurrency(mut self, limit: std::num::NonZeroUsize) -> Self {
                self.policy.concurrency = Some(limit);
                self
            }

            /// Aborts a cancelled call that goes on for longer, or abandons its thread;
            /// else it is [`Policy::DEFAULT_GRACE`](crate::Policy::DEFAULT_GRACE).
            pub const fn grace(mut self, grace: std::time::Duration) -> Self {
                self.policy.grace = Some(grace);
                self
            }

            /// Never aborts a cancelled call: it ends when it likes, and has to look at
            /// its context to know when that should be.
            pub const fn never_aborted(mut self) -> Self {
                self.policy.grace = None;
                self
            }
        }
    };
}

pub(crate) use policy_methods;
