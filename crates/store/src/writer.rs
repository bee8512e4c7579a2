//! The one writer: a thread that commits in groups.
//!
//! Callers put jobs into a bounded queue and wait. The thread takes what has
//! gathered, up to [`Options::batch`], runs it in one transaction and answers
//! after the commit: the more wait, the more share one. It never waits for a
//! group to grow, and sleeps while there is nothing to do.
//!
//! A group that fails is undone and tried again one job at a time, so that a job
//! that cannot be done (a new session on a full disk) takes none of the others
//! with it.
//!
//! When the thread ends, every caller hears [`Refused::Gone`], and the process
//! has to end too ([`Thread::ended`]).

#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use conduit_errors::chain;
use conduit_telemetry::{TaskState, Telemetry};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::backend::{Backend, Failure, Tables};
use crate::trouble::Trouble;

/// Reaches the writer; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    queue: mpsc::Sender<Order>,
    /// Tasks that are ready since the last commit: written by the thread alone.
    ready: Arc<AtomicU64>,
}

/// How the writer works.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    /// The most jobs that share a transaction.
    pub(crate) batch: NonZeroUsize,
    /// The most jobs that wait in the queue; more wait for a place in it.
    pub(crate) queue: NonZeroUsize,
}

/// The writer's thread, to be waited for.
#[derive(Debug)]
pub(crate) struct Thread {
    thread: JoinHandle<()>,
    ended: CancellationToken,
}

/// Why a job was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The database would not take it, and nothing has changed. This was logged.
    Failed,
    /// The writer has ended. Whether the job was committed is unknown.
    Gone,
}

impl Writer {
    /// Starts the thread, which owns `backend` and closes it at its end.
    ///
    /// # Errors
    ///
    /// Fails when the operating system gives no thread.
    pub(crate) fn start(
        backend: impl Backend,
        options: Options,
        telemetry: Telemetry,
    ) -> io::Result<(Self, Thread)> {
        let (queue, orders) = mpsc::channel(options.queue.get());
        let ended = CancellationToken::new();
        let alive = ended.clone().drop_guard();
        let ready = Arc::new(AtomicU64::new(backend.census().ready()));
        let mut desk = Desk {
            backend,
            telemetry,
            ready: Arc::clone(&ready),
            trouble: Trouble::with("writing"),
        };
        let thread = thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || {
                let _alive = alive;
                desk.work(orders, options.batch);
            })?;
        Ok((Self { queue, ready }, Thread { thread, ended }))
    }

    /// Does `job` in a transaction and returns what it returned, once that is
    /// durable.
    ///
    /// `job` may run twice; what its first run did is undone before the second.
    ///
    /// # Errors
    ///
    /// [`Refused`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future before the job is in the queue takes it back; later
    /// the job is done and nobody hears of it.
    pub(crate) async fn run<T, F>(&self, job: F) -> Result<T, Refused>
    where
        T: Send + 'static,
        F: FnMut(&mut dyn Tables) -> Result<T, Failure> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let job = Box::new(Waiting {
            job,
            done: None,
            reply,
        });
        if self.queue.send(Order::Do(job)).await.is_err() {
            return Err(Refused::Gone);
        }
        answer.await.unwrap_or(Err(Refused::Gone))
    }

    /// Returns how many tasks wait for somebody to do their work. Whoever was answered
    /// sees what the own job has changed.
    pub(crate) fn ready(&self) -> u64 {
        self.ready.load(Ordering::Acquire)
    }

    /// Ends the thread after the jobs that are in the queue now.
    pub(crate) async fn close(&self) {
        if self.queue.send(Order::Close).await.is_err() {
            debug!("writer has ended already");
        }
    }
}

impl Thread {
    /// Waits until the thread ends, for whatever reason.
    ///
    /// # Cancel safety
    ///
    /// Safe: the end stays known.
    pub(crate) async fn ended(&self) {
        self.ended.cancelled().await;
    }

    /// Waits for the end and tells whether the thread came to it without a panic.
    pub(crate) async fn join(self) -> bool {
        self.ended().await;
        self.thread.join().is_ok()
    }
}

// === Behind the handle ===

enum Order {
    Do(Box<dyn Job>),
    Close,
}

/// A job, whatever it returns.
trait Job: Send {
    /// Does it, and keeps what it returned.
    fn attempt(&mut self, tables: &mut dyn Tables) -> Result<(), Failure>;
    /// Answers what it returned: that is durable now.
    fn committed(self: Box<Self>);
    /// Answers that it was not done.
    fn failed(self: Box<Self>);
}

struct Waiting<T, F> {
    job: F,
    done: Option<T>,
    reply: oneshot::Sender<Result<T, Refused>>,
}

impl<T, F> Job for Waiting<T, F>
where
    T: Send,
    F: FnMut(&mut dyn Tables) -> Result<T, Failure> + Send,
{
    fn attempt(&mut self, tables: &mut dyn Tables) -> Result<(), Failure> {
        self.done = Some((self.job)(tables)?);
        Ok(())
    }

    fn committed(self: Box<Self>) {
        if let Some(done) = self.done
            && self.reply.send(Ok(done)).is_err()
        {
            debug!("caller of a committed job is gone");
        }
    }

    fn failed(self: Box<Self>) {
        if self.reply.send(Err(Refused::Failed)).is_err() {
            debug!("caller of a failed job is gone");
        }
    }
}

impl fmt::Debug for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Do(_) => "Do",
            Self::Close => "Close",
        })
    }
}

/// What the thread works with.
struct Desk<B> {
    backend: B,
    telemetry: Telemetry,
    ready: Arc<AtomicU64>,
    trouble: Trouble,
}

impl<B: Backend> Desk<B> {
    fn work(&mut self, mut orders: mpsc::Receiver<Order>, batch: NonZeroUsize) {
        self.show_counts();
        let mut jobs = Vec::new();
        while gather(&mut orders, &mut jobs, batch) {
            self.commit(&mut jobs);
            self.show_counts();
        }
        self.commit(&mut jobs);
    }

    fn commit(&mut self, jobs: &mut Vec<Box<dyn Job>>) {
        if jobs.is_empty() {
            return;
        }
        match self.transact(jobs) {
            Ok(()) => jobs.drain(..).for_each(|job| job.committed()),
            Err(failure) if jobs.len() > 1 => {
                debug!(jobs = jobs.len(), error = %chain(&failure), "group failed, trying one by one");
                jobs.drain(..).for_each(|job| self.commit_alone(job));
            }
            Err(failure) => {
                self.trouble.failed(&failure);
                jobs.drain(..).for_each(|job| job.failed());
            }
        }
    }

    fn commit_alone(&mut self, mut job: Box<dyn Job>) {
        match self.transact(std::slice::from_mut(&mut job)) {
            Ok(()) => job.committed(),
            Err(failure) => {
                self.trouble.failed(&failure);
                job.failed();
            }
        }
    }

    fn transact(&mut self, jobs: &mut [Box<dyn Job>]) -> Result<(), Failure> {
        let start = Instant::now();
        self.backend
            .transaction(&mut |tables| jobs.iter_mut().try_for_each(|job| job.attempt(tables)))?;
        self.telemetry.store_commit(start.elapsed());
        let ready = self.backend.census().ready();
        self.ready.store(ready, Ordering::Release);
        self.trouble.succeeded();
        Ok(())
    }

    fn show_counts(&self) {
        let number = |number| usize::try_from(number).unwrap_or(usize::MAX);
        self.telemetry.store_sessions(number(self.backend.live()));
        let census = self.backend.census();
        for (state, tasks) in [
            (TaskState::Working, census.working),
            (TaskState::InputRequired, census.input_required),
            (TaskState::Completed, census.completed),
            (TaskState::Failed, census.failed),
            (TaskState::Cancelled, census.cancelled),
        ] {
            self.telemetry.store_tasks(state, number(tasks));
        }
        self.telemetry
            .store_tasks_at_work(number(census.held), number(census.ready()));
    }
}

/// Waits for a job and takes those that wait behind it; tells whether there will
/// be more.
fn gather(
    orders: &mut mpsc::Receiver<Order>,
    jobs: &mut Vec<Box<dyn Job>>,
    batch: NonZeroUsize,
) -> bool {
    let mut next = orders.blocking_recv();
    loop {
        match next {
            Some(Order::Do(job)) => jobs.push(job),
            Some(Order::Close) | None => return false,
        }
        if jobs.len() >= batch.get() {
            return true;
        }
        match orders.try_recv() {
            Ok(order) => next = Some(order),
            Err(_none_now) => return true,
        }
    }
}
