//! A store without links, for a process that serves alone.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use conduit_link::{Answer, FromStore, Refusal, ToStore};
use conduit_telemetry::Telemetry;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;
use tracing::error;
use uuid::Uuid;

use crate::gateways::{Gateway, Line};
use crate::house::House;
use crate::keeper::operation;
use crate::task::Holder;
use crate::{Error, Options};

/// A store with one gateway, which is in the same process.
#[derive(Debug)]
pub struct Local {
    house: Arc<House>,
    gateway: Arc<Gateway>,
    stop: CancellationToken,
    keeping: TaskTracker,
    /// A store that is dropped closes by itself, and nobody hears when.
    _dropped: DropGuard,
}

impl Local {
    /// Opens the database and keeps it until [`Local::close`].
    ///
    /// `life` names this process: what another life held is taken from it. `tell` hears
    /// what a gateway would; whatever it is told counts as done once it returns, and it
    /// must not block.
    ///
    /// # Errors
    ///
    /// [`Error`], when the database cannot be used.
    ///
    /// # Cancel safety
    ///
    /// Not safe: the database is left open until the writer notices.
    pub async fn start(
        options: Options,
        life: Uuid,
        telemetry: Telemetry,
        tell: impl Fn(FromStore) + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        let house = Arc::new(House::open(&options, telemetry).await?);
        let gateway = house
            .gateways
            .attach(Line::Local(Box::new(tell)), Holder { life, slot: 0 });
        let (stop, keeping) = (CancellationToken::new(), TaskTracker::new());
        keeping.spawn(keep(Arc::clone(&house), life, stop.clone()));
        Ok(Self {
            house,
            gateway,
            _dropped: stop.clone().drop_guard(),
            stop,
            keeping,
        })
    }

    /// Answers as the store answers a gateway. After [`Local::close`] has begun, and if
    /// the store cannot go on, everything is refused.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves open whether it is done.
    pub async fn ask(&self, question: ToStore) -> Answer {
        if self.stop.is_cancelled() {
            return Answer::Refused(Refusal::NotNow);
        }
        let start = Instant::now();
        let keeper = &self.house.keeper;
        let operation = operation(&question);
        let answer = match keeper.look(&question) {
            Some(answer) => answer,
            None => keeper.answer(question, Some(&self.gateway)).await,
        };
        keeper.answered(operation, &answer, start.elapsed());
        answer
    }

    /// Waits until the store cannot go on: then everything is refused.
    ///
    /// # Cancel safety
    ///
    /// Safe.
    pub async fn failed(&self) {
        self.house.writer_ended().await;
    }

    /// Finishes the calls at hand and closes the database.
    ///
    /// # Cancel safety
    ///
    /// Not safe: the database is left open until the writer notices.
    pub async fn close(self) {
        self.stop.cancel();
        self.keeping.close();
        self.keeping.wait().await;
        match Arc::try_unwrap(self.house) {
            Ok(house) => house.close().await,
            Err(_shared) => error!("somebody still keeps the store, it is not closed"),
        }
    }
}

// === Behind the store ===

async fn keep(house: Arc<House>, life: Uuid, stop: CancellationToken) {
    let (_alone, lives) = watch::channel(Some(vec![life]));
    tokio::select! {
        biased;
        () = stop.cancelled() => {}
        () = house.writer_ended() => {}
        () = house.keep_for_ever(lives) => {}
    }
}
