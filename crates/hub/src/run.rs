//! The life of a hub process: listen, carry, end.

#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use conduit_actor::{Tree, TreeOptions};
use conduit_link::{
    Answer, Answerer, Delivery, Link, Links, Message, Receiver, Refusal, Role, Roll, ShardView,
    Slot, ToHub,
};
use conduit_telemetry::Telemetry;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::Error;
use crate::shard::{self, Handle, Letter, Load, Roster};

/// What a hub is started with.
#[derive(Clone, Debug)]
pub struct Options {
    /// The most mails and batches of changes on their way at once; one more is refused.
    pub mails: usize,
    /// The most topics that gateways may have registered, counted once for each gateway;
    /// whoever would register more is refused. How long a topic may be is the gateway's
    /// to say.
    pub topics: usize,
    /// The longest that a mail or a change may wait for its receipts, whatever its sender
    /// says; also the longest that the end may take.
    pub longest: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            mails: 4096,
            topics: 1_000_000,
            longest: Duration::from_secs(10),
        }
    }
}

/// Shows a shard to operators; cheap to clone. Shows nothing until the shard runs.
#[derive(Clone, Debug, Default)]
pub struct Window {
    shown: Arc<OnceLock<Shown>>,
}

impl Window {
    /// Shows how the shard is now.
    #[must_use]
    pub fn view(&self) -> Option<ShardView> {
        self.shown.get().map(Shown::view)
    }
}

/// Runs a shard until `stop`, or until it cannot go on.
///
/// Listens at the socket of its slot; `ready` is called once gateways may connect. It
/// tells nobody of any change before the first of `rolls` is there.
/// Starts a tree of actors, the telemetry sink among them. At the end it refuses
/// new mail and changes, and waits for the receipts of what is on its way; `links` are the
/// caller's to stop.
///
/// # Errors
///
/// [`Error`]; the process has to end then.
///
/// # Cancel safety
///
/// Not safe: the actors go on until the runtime ends.
pub async fn run(
    options: Options,
    links: Links,
    telemetry: Telemetry,
    mut rolls: watch::Receiver<Option<Roll>>,
    window: Window,
    stop: CancellationToken,
    ready: impl FnOnce(),
) -> Result<(), Error> {
    let tree = Tree::start(TreeOptions::default()).await?;
    telemetry.start_in(&tree).await?;
    let roster = Roster::new(options.topics, telemetry.clone());
    let shard = shard::start(&tree, &options, &roster, telemetry.clone()).await?;
    let shown = Shown {
        slot: links.slot(),
        started: Instant::now(),
        links: links.clone(),
        roster: roster.clone(),
        shard: shard.clone(),
        telemetry: telemetry.clone(),
    };
    if window.shown.set(shown).is_err() {
        debug!("the window shows a shard already");
    }
    links.listen(receiver(roster.clone(), shard.clone(), telemetry))?;
    ready();
    let rolling = async {
        loop {
            let roll = rolls.borrow_and_update().clone();
            if let Some(roll) = roll {
                roster.roll(roll);
            }
            if rolls.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    };
    let ended = tokio::select! {
        biased;
        () = stop.cancelled() => Ok(()),
        name = tree.failed() => Err(Error::ActorFailed { name }),
        () = rolling => Ok(()),
    };
    shard.finish(options.longest).await;
    tree.stop().await;
    ended
}

// === Behind the run ===

#[derive(Debug)]
struct Shown {
    slot: Slot,
    started: Instant,
    links: Links,
    roster: Roster,
    shard: Handle,
    telemetry: Telemetry,
}

impl Shown {
    fn view(&self) -> ShardView {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let (published, delivered) = self.telemetry.hub_counts();
        let mut view = ShardView {
            slot: self.slot.clone(),
            epoch: 0,
            is_open: false,
            topics: 0,
            registrations: 0,
            gateways: 0,
            in_flight: self.shard.on_their_way() as u64,
            published,
            delivered,
            lag_ms: millis(self.links.lag()),
            uptime_ms: millis(self.started.elapsed()),
        };
        self.roster.show(&mut view);
        view
    }
}

/// Sorts what comes over links. Runs on the link thread.
fn receiver(roster: Roster, shard: Handle, telemetry: Telemetry) -> Receiver {
    Arc::new(move |link: Link, delivery| {
        telemetry.tell_of_link(&link, &delivery);
        match delivery {
            Delivery::Up(hello) if hello.slot.role == Role::Gateway => {
                roster.attach(&link, hello.life);
            }
            Delivery::Up(_) => {}
            Delivery::Down(_) => roster.detach(&link),
            Delivery::Call(incoming, answerer) => {
                take(&roster, &shard, &link, incoming.message, answerer);
            }
            Delivery::Event(_) => debug!(peer = %link.slot(), "the hub hears no events"),
        }
    })
}

fn take(roster: &Roster, shard: &Handle, link: &Link, message: Message, answerer: Answerer) {
    let from = link.slot();
    let Message::ToHub(question) = message else {
        return answerer.answer(Answer::Refused(Refusal::Misplaced));
    };
    if from.role != Role::Gateway {
        return answerer.answer(Answer::Refused(Refusal::Misplaced));
    }
    match question {
        ToHub::Mail {
            to,
            mail,
            deadline_ms,
        } => {
            let letter = Load::Letter(Letter { from, to, mail });
            shard.carry(letter, Duration::from_millis(deadline_ms), answerer);
        }
        ToHub::Publish {
            epoch,
            changes,
            deadline_ms,
        } => {
            shard.published(changes.len());
            let load = Load::Changes { epoch, changes };
            shard.carry(load, Duration::from_millis(deadline_ms), answerer);
        }
        // Done here and now, so that they are done in the order in which they came.
        ToHub::Enter { epoch } => answerer.answer(roster.enter(link, epoch)),
        ToHub::Register { epoch, topics } => roster.register(link, epoch, topics, answerer),
        ToHub::Unregister { topics } => answerer.answer(roster.unregister(link, &topics)),
        ToHub::Settle { epoch } => answerer.answer(roster.settle(link, epoch)),
    }
}
