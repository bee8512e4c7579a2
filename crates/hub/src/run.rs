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
use crate::shard::{self, Handle, Letter};

/// What a hub is started with.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many gateways there are to be. The links of a hub that has just started come
    /// one after the other; mail for all others waits for this many of them.
    pub gateways: usize,
    /// The longest that it waits for them, from the start of the hub on.
    pub gathering: Duration,
    /// The most mails on their way at once; one more is refused.
    pub mails: usize,
    /// The longest that a mail may wait for its receipts, whatever its sender says;
    /// also the longest that the end may take.
    pub longest: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            gateways: 0,
            gathering: Duration::from_millis(500),
            mails: 4096,
            longest: Duration::from_secs(10),
        }
    }
}

/// Runs a shard until `stop`, or until it cannot go on.
///
/// Listens at the socket of its slot; `ready` is called once gateways may connect.
/// Starts a tree of actors, the telemetry sink among them. At the end it refuses
/// new mail and waits for the receipts of what is on its way; `links` are the
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
    if let Message::ToHub(ToHub::Mail {
        to,
        mail,
        deadline_ms,
    }) = message
        && from.role == Role::Gateway
    {
        let letter = Letter { from, to, mail };
        shard.carry(letter, Duration::from_millis(deadline_ms), answerer);
    } else {
        answerer.answer(Answer::Refused(Refusal::Misplaced));
    }
}
