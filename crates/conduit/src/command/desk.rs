//! Where an operator's command speaks with the supervisor that runs.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use conduit_config::Settings;
use conduit_link::{
    Answer, CallError, Lane, Link, Links, Message, Operation, Options, Refusal, Slot, TreeView,
};
use tokio::time::{Instant, MissedTickBehavior, interval};
use uuid::Uuid;

use super::Error;
use crate::failure::Failure;

/// A link to the supervisor of a state directory, while a command lasts.
pub(super) struct Desk {
    state_dir: PathBuf,
    links: Links,
    supervisor: Link,
}

impl Desk {
    /// Sits down; whether anybody is there shows with the first question.
    pub(super) fn open(settings: &Settings) -> Result<Self, Failure> {
        let build = conduit_link::build_id().map_err(Failure::of("cannot tell this build"))?;
        let state_dir = settings.state.dir.clone();
        let life = Uuid::new_v4();
        let slot = slot(life);
        let options = Options::new(state_dir.join("run"), slot, life, build);
        let links = Links::start(options).map_err(|_unusable| Error::NoSupervisor {
            path: state_dir.clone(),
            why: "nothing runs there",
        })?;
        let supervisor = links.connect(Slot::SUPERVISOR, Arc::new(|_link, _delivery| {}));
        Ok(Self {
            state_dir,
            links,
            supervisor,
        })
    }

    /// Asks, and asks again when the link breaks meanwhile.
    ///
    /// # Errors
    ///
    /// [`Error::NoSupervisor`] when nobody answers, or not to us; [`Error::NotKept`].
    pub(super) async fn ask(&self, operation: Operation) -> Result<Answer, Failure> {
        self.ask_within(PATIENCE, operation).await
    }

    /// Looks at the tree.
    ///
    /// # Errors
    ///
    /// [`Error::NoSupervisor`] when nobody answers soon, or not to us.
    pub(super) async fn look(&self) -> Result<TreeView, Failure> {
        let answer = self.ask_within(LOOK_PATIENCE, Operation::ShowTree).await?;
        let Answer::Tree(tree) = answer else {
            return Err(Self::misunderstood());
        };
        Ok(tree)
    }

    /// Says that an answer is not one to the question.
    pub(super) fn misunderstood() -> Failure {
        let cause = "the answer of the supervisor is none to the question";
        Failure::internal("cannot go on")(cause.into())
    }

    /// Leaves.
    pub(super) async fn close(self) {
        self.links.stop(Duration::ZERO).await;
    }
}

/// Returns the slot of a command.
///
/// Whoever is asked remembers each slot that ever came, so they are few; two commands that
/// meet in one put each other off, and ask again.
pub(super) fn slot(life: Uuid) -> Slot {
    let [index, ..] = life.into_bytes();
    Slot::operator(index.into())
}

// === Behind the desk ===

/// How long a supervisor may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long it may take to show the tree, for which it waits for nobody.
const LOOK_PATIENCE: Duration = Duration::from_secs(2);
/// How often a command looks whether it was turned away.
const LOOK: Duration = Duration::from_millis(50);

impl Desk {
    async fn ask_within(
        &self,
        patience: Duration,
        operation: Operation,
    ) -> Result<Answer, Failure> {
        let answer = tokio::select! {
            biased;
            answer = self.call(patience, operation) => answer,
            () = self.turned_away() => {
                return Err(self.silent("it runs another build, or as another user"));
            }
        };
        match answer {
            Ok(Answer::Refused(Refusal::Storage)) => Err(Error::NotKept.into()),
            Ok(Answer::Refused(Refusal::NotNow)) => Err(self.silent("it is stopping, or busy")),
            Ok(Answer::Refused(_)) => Err(self.silent("it refuses, others ask too much of it")),
            Ok(answer) => Ok(answer),
            Err(_unanswered) => Err(self.silent("nothing runs there, or it hangs")),
        }
    }

    async fn call(&self, patience: Duration, operation: Operation) -> Result<Answer, CallError> {
        let until = Instant::now() + patience;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let question = Message::Operation(operation.clone());
            match self.supervisor.call(Lane::Control, question, left).await {
                Err(CallError::Broken) if !left.is_zero() => {}
                answered => return answered,
            }
        }
    }

    /// Waits until one end has refused the other.
    async fn turned_away(&self) {
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while self.links.peers().iter().all(|peer| peer.refused == 0) {
            looks.tick().await;
        }
    }

    fn silent(&self, why: &'static str) -> Failure {
        let path = self.state_dir.clone();
        Error::NoSupervisor { path, why }.into()
    }
}
