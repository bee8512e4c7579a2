//! The life of a hub process: listen, carry, end.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use conduit_actor::{Tree, TreeOptions};
use conduit_link::{
    Answer, Answerer, Delivery, Link, Links, Message, Receiver, Refusal, Role, ToHub,
};
use conduit_telemetry::Telemetry;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::Error;
use crate::shard::{self, Handle, Letter, Load};

/// What a hub is started with.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many gateways there are to be. The links of a hub that has just started come
    /// one after the other; mail for all others, and changes, wait until this many have
    /// settled.
    pub gateways: usize,
    /// The longest that they wait, from the start of the hub on.
    pub gathering: Duration,
    /// The most mails and changes on their way at once; one more is refused.
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
            gateways: 0,
            gathering: Duration::from_millis(500),
            mails: 4096,
            topics: 1_000_000,
            longest: Duration::from_secs(10),
        }
    }
}

/// Runs a shard until `stop`, or until it cannot go on.
///
/// Listens at the socket of its slot; `ready` is called once gateways may connect.
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
    stop: CancellationToken,
    ready: impl FnOnce(),
) -> Result<(), Error> {
    let (tree, shard) = start(&options, &links, &telemetry).await?;
    ready();
    let ended = tokio::select! {
        biased;
        () = stop.cancelled() => Ok(()),
        name = tree.failed() => Err(Error::ActorFailed { name }),
    };
    shard.finish(options.longest).await;
    tree.stop().await;
    ended
}

// === Behind the run ===

async fn start(
    options: &Options,
    links: &Links,
    telemetry: &Telemetry,
) -> Result<(Tree, Handle), Error> {
    let tree = Tree::start(TreeOptions::default()).await?;
    telemetry.start_in(&tree).await?;
    let shard = shard::start(&tree, options, telemetry.clone()).await?;
    links.listen(receiver(shard.clone(), telemetry.clone()))?;
    Ok((tree, shard))
}

/// Sorts what comes over links. Runs on the link thread.
fn receiver(shard: Handle, telemetry: Telemetry) -> Receiver {
    Arc::new(move |link: Link, delivery| {
        telemetry.tell_of_link(&link, &delivery);
        match delivery {
            Delivery::Up(hello) if hello.slot.role == Role::Gateway => {
                shard.attach(link, hello.life);
            }
            Delivery::Up(_) => {}
            Delivery::Down(_) => shard.detach(&link),
            Delivery::Call(incoming, answerer) => take(&shard, &link, incoming.message, answerer),
            Delivery::Event(_) => debug!(peer = %link.slot(), "the hub hears no events"),
        }
    })
}

fn take(shard: &Handle, sender: &Link, message: Message, answerer: Answerer) {
    let from = sender.slot();
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
        ToHub::Publish { topic, deadline_ms } => {
            let change = Load::Change(topic);
            shard.carry(change, Duration::from_millis(deadline_ms), answerer);
        }
        // Done here and now, so that they are done in the order in which they came.
        ToHub::Register { topics } => answerer.answer(shard.register(sender, topics)),
        ToHub::Unregister { topics } => answerer.answer(shard.unregister(sender, &topics)),
        ToHub::Settle => answerer.answer(shard.settle(sender)),
    }
}
