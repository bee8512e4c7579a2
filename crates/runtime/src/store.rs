//! The way to the store: over a link, or to one inside this process.
//!
//! A store that dies over a question is asked again when it is back, until the time is
//! up: every question may be asked twice.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use conduit_link::{
    Answer, CallError, Lane, Link, Message as Wire, Refusal, TaskAnswer, TaskQuestion, ToStore,
};
use tokio::time::{Instant, sleep, timeout};
use tracing::debug;

/// Between two questions to a store that is not ready.
const AGAIN: Duration = Duration::from_millis(20);

/// A store that lives in the process of its only gateway, as on a pipe.
pub trait LocalStore: Send + Sync {
    /// Answers one question, as a store process does. It never waits for the gateway.
    fn ask(&self, question: ToStore) -> Pin<Box<dyn Future<Output = Answer> + Send>>;
}

/// Asks the store; cheap to clone.
#[derive(Clone)]
pub(crate) struct StoreDoor {
    way: Way,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Error {
    /// The store did not answer in time, could not, or is not there at all.
    #[error("the store is not available")]
    Unavailable,
    /// Its disk or its database would not take it, and nothing has changed.
    #[error("the store cannot write")]
    CannotWrite,
    /// The question is larger than one may be.
    #[error("it is too large for the store")]
    TooLarge,
}

/// An answer, and how it came about.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) answer: Answer,
    /// Whether the store may have heard the question more than once.
    pub(crate) again: bool,
}

/// What the store answers to a question about tasks, or why it would not.
pub(crate) type TaskAnswered = Result<Result<TaskAnswer, Refusal>, Error>;

impl StoreDoor {
    /// Picks the store of this process: behind a link, else a local one, else none.
    pub(crate) fn new(link: Option<Link>, local: Option<Arc<dyn LocalStore>>) -> Self {
        let way = match (link, local) {
            (Some(link), _) => Way::Link(link),
            (None, Some(local)) => Way::Local(local),
            (None, None) => Way::Nowhere,
        };
        Self { way }
    }

    /// Whether the store is another process, which the other gateways ask too.
    pub(crate) const fn is_shared(&self) -> bool {
        matches!(self.way, Way::Link(_))
    }

    /// Whether it makes sense to ask now what nobody waits for.
    pub(crate) fn is_up(&self) -> bool {
        match &self.way {
            Way::Link(link) => link.is_up(),
            Way::Local(_) => true,
            Way::Nowhere => false,
        }
    }

    /// Asks until there is an answer or the time is up.
    ///
    /// Cancel safe; whether the store has heard it stays open then.
    pub(crate) async fn ask(&self, question: ToStore, deadline: Duration) -> Result<Answer, Error> {
        let answered = self.ask_again(question, deadline).await?;
        Ok(answered.answer)
    }

    /// As [`ask`](Self::ask), and says whether the question was asked again.
    pub(crate) async fn ask_again(
        &self,
        question: ToStore,
        deadline: Duration,
    ) -> Result<Answered, Error> {
        let until = Instant::now() + deadline;
        let mut again = false;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.way.ask(question.clone(), left).await {
                // A store that is ending has answered nothing yet.
                Ok(Answer::Refused(Refusal::NotNow)) if !left.is_zero() => {
                    sleep(AGAIN.min(left)).await;
                }
                Ok(answer) => return Ok(Answered { answer, again }),
                Err(CallError::Broken) if !left.is_zero() => again = true,
                Err(error) => {
                    debug!(%error, "no answer from the store");
                    return Err(match error {
                        CallError::TooLarge => Error::TooLarge,
                        CallError::Late | CallError::Broken | CallError::Down => Error::Unavailable,
                    });
                }
            }
        }
    }

    /// Asks about tasks. What the store would not do now counts as no answer.
    pub(crate) async fn ask_of_tasks(
        &self,
        question: TaskQuestion,
        deadline: Duration,
    ) -> TaskAnswered {
        let answer = self.ask(ToStore::Task(question), deadline).await?;
        if let Answer::Task(answer) = answer {
            return Ok(Ok(answer));
        }
        if let Answer::Refused(
            refusal @ (Refusal::Full | Refusal::Fenced | Refusal::Spent | Refusal::Misplaced),
        ) = answer
        {
            return Ok(Err(refusal));
        }
        debug!(?answer, "the store refused");
        if answer == Answer::Refused(Refusal::Storage) {
            return Err(Error::CannotWrite);
        }
        Err(Error::Unavailable)
    }
}

impl fmt::Debug for StoreDoor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.way {
            Way::Link(_) => "StoreDoor::Link",
            Way::Local(_) => "StoreDoor::Local",
            Way::Nowhere => "StoreDoor::Nowhere",
        })
    }
}

// === Behind the door ===

#[derive(Clone)]
enum Way {
    Link(Link),
    Local(Arc<dyn LocalStore>),
    /// There is no store, and nothing is kept.
    Nowhere,
}

impl Way {
    async fn ask(&self, question: ToStore, left: Duration) -> Result<Answer, CallError> {
        match self {
            Self::Link(link) => link.call(Lane::Data, Wire::ToStore(question), left).await,
            Self::Local(store) => {
                let asking = store.ask(question);
                timeout(left, asking)
                    .await
                    .map_err(|_elapsed| CallError::Late)
            }
            Self::Nowhere => Err(CallError::Down),
        }
    }
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::*;

    /// Answers from a list, and then not at all.
    struct Listed(Mutex<Vec<Answer>>);

    impl LocalStore for Listed {
        fn ask(&self, _question: ToStore) -> Pin<Box<dyn Future<Output = Answer> + Send>> {
            let answer = self.0.lock().pop();
            Box::pin(async move {
                match answer {
                    Some(answer) => answer,
                    None => std::future::pending().await,
                }
            })
        }
    }

    fn door(mut answers: Vec<Answer>) -> StoreDoor {
        answers.reverse();
        StoreDoor::new(None, Some(Arc::new(Listed(Mutex::new(answers)))))
    }

    const QUESTION: ToStore = ToStore::TouchSessions { ids: Vec::new() };

    #[tokio::test(start_paused = true)]
    async fn a_store_that_is_not_ready_is_asked_again() {
        let door = door(vec![Answer::Refused(Refusal::NotNow), Answer::Done]);

        let answer = door.ask(QUESTION, Duration::from_secs(1)).await;

        assert_eq!(answer, Ok(Answer::Done));
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_does_not_answer_is_not_waited_for_beyond_the_deadline() {
        let begun = Instant::now();

        let answer = door(Vec::new()).ask(QUESTION, Duration::from_secs(1)).await;

        assert_eq!(answer, Err(Error::Unavailable));
        assert_eq!(begun.elapsed(), Duration::from_secs(1));
    }

    #[tokio::test]
    async fn nobody_answers_where_there_is_no_store() {
        let nowhere = StoreDoor::new(None, None);

        let answer = nowhere.ask(QUESTION, Duration::from_secs(1)).await;

        assert_eq!(answer, Err(Error::Unavailable));
    }
}
