//! A call that is not over at once: on the worker pool, round after round.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use conduit_protocol::{InputRequired, Method, NewTask, Outcome, WireError};
use conduit_server::Job;
use tokio::time::sleep;

use super::ending::bridges;
use super::{Asked, Ending, Prepare, Streams, tasked};
use crate::cancellation::Tracked;
use crate::gateway::Shared;
use crate::rounds::{Carried, SingleUse};
use crate::watchdog::Named;
use crate::workers::{Bounds, Ended};
use crate::{bridge, rounds};

/// A call that may stream opens its stream after this long without a result (R29).
const SILENCE: Duration = Duration::from_secs(15);

/// A call on its way.
pub(super) struct Flight<P> {
    pub(super) shared: Arc<Shared>,
    pub(super) ending: Ending,
    pub(super) named: Arc<Named>,
    pub(super) streams: Streams,
    /// The state that it came with, until that is used.
    pub(super) single_use: Option<SingleUse>,
    pub(super) prepare: P,
}

/// One round of a call.
pub(super) enum Leg<T> {
    /// It is to be run.
    Run(Job<T>),
    /// It was run, within this limit.
    Ended(Ended<T>, Duration),
}

/// What follows a round.
enum Next<T> {
    /// Nothing.
    Over(Ended<T>),
    /// Its client is asked, and then it runs again.
    Ask(InputRequired),
    /// It goes on as a task.
    Task(NewTask),
}

impl<P> Flight<P> {
    /// Goes on with the call on the worker pool.
    pub(super) fn take_off<T: Asked>(self, leg: Leg<T>)
    where
        P: Prepare<T>,
    {
        let limit = match &leg {
            Leg::Run(job) => self.limit(job),
            Leg::Ended(_, limit) => *limit,
        };
        let (callback, streams) = match &leg {
            Leg::Run(job) => (Arc::clone(&job.name), job.policy.streams),
            Leg::Ended(..) => (Arc::clone(&self.named.callback), false),
        };
        let tracked = self.ending.track(&self.shared, callback, limit);
        if streams && self.streams == Streams::InSession {
            self.ending.responder.open();
        }
        let workers = Arc::clone(&self.shared.workers);
        workers.spawn(self.fly(leg, tracked));
    }

    async fn fly<T: Asked>(self, leg: Leg<T>, tracked: Tracked)
    where
        P: Prepare<T>,
    {
        let (streams, responder) = (self.streams, Arc::clone(&self.ending.responder));
        let flying = self.land(leg, tracked);
        if streams == Streams::Never {
            return flying.await;
        }
        let mut flying = std::pin::pin!(flying);
        tokio::select! {
            biased;
            () = flying.as_mut() => {}
            () = sleep(SILENCE) => {
                responder.open();
                flying.await;
            }
        }
    }

    async fn land<T: Asked>(mut self, mut leg: Leg<T>, tracked: Tracked)
    where
        P: Prepare<T>,
    {
        loop {
            let (ended, limit) = match leg {
                Leg::Run(job) => {
                    if let Err(refused) = self.spend(job.policy.once).await {
                        drop(tracked);
                        return self.ending.hand_over::<T>(Err(refused));
                    }
                    let limit = self.limit(&job);
                    (self.run(job, limit).await, limit)
                }
                Leg::Ended(ended, limit) => (ended, limit),
            };
            leg = match self.next(ended) {
                Next::Over(ended) => {
                    drop(tracked);
                    return self.ending.finish(&self.shared, ended, limit);
                }
                Next::Task(new) => {
                    let begun = tasked::begin(&self.shared, &self.ending, new).await;
                    drop(tracked);
                    return self.ending.hand_over::<T>(begun);
                }
                Next::Ask(asked) => self.ask(asked, &tracked).await,
            };
        }
    }
}

// === Behind the flight ===

impl<P> Flight<P> {
    fn limit<T>(&self, job: &Job<T>) -> Duration {
        let default = self.ending.call.hosted.time_limit;
        job.policy.time_limit.unwrap_or(default)
    }

    /// Uses up the state that the call came with, if it holds for one use (R15).
    async fn spend(&mut self, once: bool) -> Result<(), WireError> {
        match self.single_use.take() {
            Some(state) if once => rounds::spend(&self.shared, state).await,
            Some(_) | None => Ok(()),
        }
    }

    async fn run<T: Asked>(&mut self, job: Job<T>, time_limit: Duration) -> Ended<T> {
        let Job {
            name,
            policy,
            permits,
            work,
        } = job;
        if *self.named.callback != *name {
            self.named = Arc::new(Named {
                server: Arc::clone(&self.named.server),
                callback: name,
            });
        }
        let bounds = Bounds {
            named: Arc::clone(&self.named),
            time_limit,
            grace: policy.grace,
            concurrency: permits,
            token: self.ending.responder.call().token().clone(),
        };
        self.shared.workers.run(work, &bounds).await
    }

    fn next<T: Asked>(&self, ended: Ended<T>) -> Next<T> {
        match ended {
            Ended::Returned(Outcome::InputRequired(asked))
                if T::ASKS && bridges(&self.shared, self.streams) =>
            {
                let client = self.ending.context.client_capabilities();
                let may_ask = rounds::check(&asked)
                    .and_then(|()| rounds::check_declared(&asked.requests, client));
                if may_ask.is_ok() {
                    return Next::Ask(asked);
                }
                // R6: where the client cannot be asked, it is as without a session.
                Next::Over(Ended::Returned(Outcome::InputRequired(asked)))
            }
            Ended::Returned(Outcome::Task(new)) if T::METHOD == Method::ToolsCall => {
                match tasked::check(&self.ending) {
                    Ok(()) => Next::Task(new),
                    Err(refused) => Next::Over(Ended::Returned(Outcome::Refused(refused))),
                }
            }
            ended @ (Ended::Returned(_) | Ended::Panicked | Ended::OutOfTime | Ended::Aborted) => {
                Next::Over(ended)
            }
        }
    }

    /// Asks the client of a legacy session and prepares the next round (R6).
    async fn ask<T: Asked>(&mut self, asked: InputRequired, tracked: &Tracked) -> Leg<T>
    where
        P: Prepare<T>,
    {
        let limit = self.ending.call.hosted.time_limit;
        let refused = |error| Leg::Ended(Ended::Returned(Outcome::Refused(error)), limit);
        let Self { shared, ending, .. } = self;
        let mut next = Carried::after(ending.round, &ending.input, asked.state);
        let Some(session) = &ending.call.session else {
            return refused(WireError::input_not_possible());
        };
        if next.round > shared.options.input_rounds {
            return refused(rounds::too_many(shared, &ending.call.subject));
        }
        Ending::extend(tracked, shared.options.bridge_patience);
        let token = ending.responder.call().token().clone();
        let answers = bridge::ask(
            shared,
            session,
            &ending.responder,
            asked.requests,
            None,
            &token,
        );
        match answers.await {
            Ok(answers) => next.add(answers),
            Err(unanswered) => return refused(unanswered.into_error()),
        }
        ending.round = next.round;
        ending.input = next.into_input();
        ending.context = ending.context.with_input(Arc::clone(&ending.input));
        let context = ending.context.clone();
        let prepare = &mut self.prepare;
        let prepared = AssertUnwindSafe(|| prepare(context));
        let leg = match std::panic::catch_unwind(prepared) {
            Ok(Ok(job)) => Leg::Run(job),
            Ok(Err(outcome)) => Leg::Ended(Ended::Returned(outcome), limit),
            Err(_panic) => {
                self.shared.telemetry.emit(self.named.panicked());
                Leg::Ended(Ended::Panicked, limit)
            }
        };
        if let Leg::Run(job) = &leg {
            Ending::extend(tracked, self.limit(job));
        }
        leg
    }
}
