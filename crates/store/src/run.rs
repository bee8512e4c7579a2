//! The life of a store process: open, listen, keep, end.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use conduit_actor::{Tree, TreeOptions};
use conduit_link::{
    Answer, Answerer, Delivery, Link, Links, Message, Receiver, Refusal, Role, TaskQuestion,
    ToStore,
};
use conduit_telemetry::Telemetry;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::door::{self, Handle};
use crate::gateways::{Gateways, Line};
use crate::house::House;
use crate::keeper::Lives;
use crate::task::Holder;
use crate::{Error, Options};

/// Runs the store until `stop`, or until it cannot go on.
///
/// Listens at the store's socket of `links`; `ready` is called once gateways may
/// connect. Starts a tree of actors, the telemetry sink among them. At the end
/// it refuses new calls, finishes those at hand and closes the database; `links`
/// are the caller's to stop.
///
/// `lives` are the lives of gateways that may be running, as the supervisor said last
/// ([`ToChild::Gateways`](conduit_link::ToChild::Gateways)); nothing before it has.
///
/// # Errors
///
/// [`Error`], at the start for a database that cannot be used, later when the
/// writer or an actor is beyond help. The process has to end then.
///
/// # Cancel safety
///
/// Not safe: the database is left open until the writer notices.
pub async fn run(
    options: Options,
    links: Links,
    telemetry: Telemetry,
    lives: Lives,
    stop: CancellationToken,
    ready: impl FnOnce(),
) -> Result<(), Error> {
    let house = House::open(&options, telemetry.clone()).await?;
    let tree = Tree::start(TreeOptions::default()).await?;
    telemetry.start_in(&tree).await?;
    let door = door::start(&tree, Arc::clone(&house.keeper), house.tasks.clone()).await?;
    links.listen(receiver(Arc::clone(&house.gateways), door, telemetry))?;
    ready();

    let ended = tokio::select! {
        biased;
        () = stop.cancelled() => Ok(()),
        () = house.writer_ended() => Err(Error::WriterEnded),
        name = tree.failed() => Err(Error::ActorFailed { name }),
        () = house.keep_for_ever(lives) => Ok(()),
    };
    tree.stop().await;
    house.close().await;
    ended
}

// === Behind the run ===

/// Sorts what comes over links. Runs on the link thread.
fn receiver(gateways: Arc<Gateways>, door: Handle, telemetry: Telemetry) -> Receiver {
    Arc::new(move |link: Link, delivery| {
        telemetry.tell_of_link(&link, &delivery);
        match delivery {
            Delivery::Up(hello) if hello.slot.role == Role::Gateway => {
                let holder = Holder {
                    life: hello.life,
                    slot: hello.slot.index,
                };
                gateways.attach(Line::Link(link), holder);
            }
            Delivery::Up(_) => {}
            Delivery::Down(_) => gateways.detach(&link),
            Delivery::Call(incoming, answerer) => {
                take(&gateways, &door, &link, incoming.message, answerer);
            }
            Delivery::Event(_) => debug!(peer = %link.slot(), "the store hears no events"),
        }
    })
}

/// Gateways may ask anything, an operator may cancel.
fn take(gateways: &Gateways, door: &Handle, link: &Link, message: Message, answerer: Answerer) {
    let asked = match (link.slot().role, message) {
        (Role::Gateway, Message::ToStore(question)) => gateways
            .behind(link)
            .map(|gateway| (Some(gateway), question)),
        (
            Role::Operator,
            Message::ToStore(question @ ToStore::Task(TaskQuestion::Cancel { asker: None, .. })),
        ) => Some((None, question)),
        _ => None,
    };
    match asked {
        Some((asker, question)) => door.ask(asker, question, answerer),
        None => answerer.answer(Answer::Refused(Refusal::Misplaced)),
    }
}
