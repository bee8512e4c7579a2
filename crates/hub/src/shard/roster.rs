//! Who is attached, who listens to what, and what each gateway knows of that: the shared
//! state of a shard, and what has to follow when it changes.

use std::sync::Arc;
use std::time::Duration;

use conduit_interest::{NotAttached, Number, Refused, Shard, Tell};
use conduit_link::{
    Answer, Answerer, FromHub, Lane, Link, Message as Frame, Refusal, Roll, ShardView, Slot, Topic,
};
use conduit_telemetry::Telemetry;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use tracing::{debug, warn};
use uuid::Uuid;

/// How long a gateway may take to note what others listen to. One that takes longer has to
/// connect anew: what it believes is not known any more.
const NOTING: Duration = Duration::from_secs(10);
/// How long the answer to a registration may wait until everybody knows.
const KNOWING: Duration = Duration::from_secs(10);

/// The shared state; cheap to clone.
#[derive(Clone)]
pub(crate) struct Roster {
    shared: Arc<Shared>,
}

struct Shared {
    book: Mutex<Shard<Link>>,
    /// Something has changed that others may wait for.
    moved: Notify,
    /// Where gateways are told of things, whoever changed them.
    runtime: Handle,
    tellings: TaskTracker,
    telemetry: Telemetry,
}

impl Roster {
    /// Has to be made on the runtime on which gateways shall be told.
    pub(crate) fn new(registrations: usize, telemetry: Telemetry) -> Self {
        Self {
            shared: Arc::new(Shared {
                book: Mutex::new(Shard::new(registrations)),
                moved: Notify::new(),
                runtime: Handle::current(),
                tellings: TaskTracker::new(),
                telemetry,
            }),
        }
    }

    /// Asks the state something. Whoever asks may speak of a newer map, which others wait
    /// for.
    pub(crate) fn ask<T>(&self, ask: impl FnOnce(&mut Shard<Link>) -> T) -> T {
        let (answer, is_newer) = {
            let mut book = self.shared.book.lock();
            let before = book.epoch();
            let answer = ask(&mut book);
            (answer, book.epoch() > before)
        };
        if is_newer {
            self.shared.moved.notify_waiters();
        }
        answer
    }

    /// Resolves when something has changed since the call.
    pub(crate) fn moved(&self) -> impl Future<Output = ()> {
        self.shared.moved.notified()
    }

    /// The supervisor says whom to wait for.
    pub(crate) fn roll(&self, roll: Roll) {
        self.change(|book| book.roll(roll));
    }

    /// A gateway is there, in this life.
    pub(crate) fn attach(&self, link: &Link, life: Uuid) {
        let (slot, id) = (link.slot(), link.id());
        match self.change(|book| book.attach(slot, life, id, link.clone())) {
            Ok(()) => {}
            Err(NotAttached::Dead) => link.close(),
            Err(NotAttached::Full) => {
                warn!(gateway = %link.slot(), "more gateways than a shard knows, one is refused");
                link.close();
            }
        }
    }

    /// A link to a gateway is down.
    pub(crate) fn detach(&self, link: &Link) {
        self.change(|book| book.detach(link.id()));
    }

    /// A gateway follows a map.
    pub(crate) fn enter(&self, link: &Link, epoch: u64) -> Answer {
        answer(self.change(|book| book.enter(link.id(), epoch)))
    }

    /// A gateway wants to hear of topics. Answered once that is known everywhere. It holds
    /// until the gateway takes it back, leaves it out on its next link, or is dead.
    pub(crate) fn register(&self, link: &Link, epoch: u64, topics: Vec<Topic>, answerer: Answerer) {
        let number = match self.change(|book| book.register(link.id(), epoch, topics)) {
            Ok(number) => number,
            Err(refused) => {
                if refused == Refused::Full {
                    self.shared.telemetry.hub_registration_refused();
                }
                return answerer.answer(answer(Err(refused)));
            }
        };
        if let Some(known) = self.known(number, epoch) {
            return answerer.answer(known);
        }
        let roster = self.clone();
        let waiting = async move {
            let known = timeout(KNOWING, roster.until_known(number, epoch)).await;
            answerer.answer(known.unwrap_or(Answer::Refused(Refusal::NotNow)));
        };
        self.shared.tellings.spawn_on(waiting, &self.shared.runtime);
    }

    /// A gateway has registered all that it wants to hear of.
    pub(crate) fn settle(&self, link: &Link, epoch: u64) -> Answer {
        let settled = self.change(|book| book.settle(link.id(), epoch));
        if settled.is_ok() {
            self.shared.telemetry.hub_resynced();
        }
        answer(settled)
    }

    /// A gateway no longer wants to hear of topics.
    pub(crate) fn unregister(&self, link: &Link, topics: &[Topic]) -> Answer {
        answer(self.change(|book| book.unregister(link.id(), topics)))
    }

    /// Returns the link to the gateway in a slot.
    pub(crate) fn one(&self, slot: &Slot) -> Option<Link> {
        let book = self.shared.book.lock();
        let links = book.links().filter(|(_, other, _)| *other == slot);
        let newest = links.max_by_key(|(id, _, _)| *id);
        newest.map(|(_, _, link)| link.clone())
    }

    /// Returns the links to all but the sender. Who is not attached has no requests and
    /// gets no mail.
    pub(crate) fn others(&self, from: &Slot) -> Vec<Link> {
        let book = self.shared.book.lock();
        let others = book.links().filter(|(_, slot, _)| *slot != from);
        others.map(|(_, _, link)| link.clone()).collect()
    }

    /// Waits until every gateway that may have something is attached.
    pub(crate) async fn gathered(&self) {
        loop {
            let moved = self.moved();
            if self.shared.book.lock().is_gathered() {
                return;
            }
            moved.await;
        }
    }

    /// Shows the state.
    pub(crate) fn show(&self, view: &mut ShardView) {
        let book = self.shared.book.lock();
        view.epoch = book.epoch();
        view.is_open = book.is_open();
        view.topics = book.topics() as u64;
        view.registrations = book.registrations() as u64;
        view.gateways = book.links().count() as u64;
    }
}

impl std::fmt::Debug for Roster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Roster").finish_non_exhaustive()
    }
}

// === Behind the roster ===

impl Roster {
    /// Changes the state, and sees to what follows: gateways are told what is new for
    /// them, and whoever waits looks again.
    fn change<T>(&self, change: impl FnOnce(&mut Shard<Link>) -> T) -> T {
        let (changed, tells) = {
            let mut book = self.shared.book.lock();
            let changed = change(&mut book);
            let telemetry = &self.shared.telemetry;
            telemetry.hub_topics().set(book.topics());
            telemetry.hub_registrations().set(book.registrations());
            (changed, next_tells(&mut book))
        };
        for (link, tell) in tells {
            let telling = self.clone().tell(link, tell);
            self.shared.tellings.spawn_on(telling, &self.shared.runtime);
        }
        self.shared.moved.notify_waiters();
        changed
    }

    /// Tells a gateway what others listen to.
    async fn tell(self, link: Link, tell: Tell) {
        let Tell {
            added,
            removed,
            complete,
        } = tell;
        let interest = Frame::FromHub(FromHub::Interest {
            added,
            removed,
            complete,
        });
        match link.call(Lane::Data, interest, NOTING).await {
            Ok(Answer::Done) => self.change(|book| book.noted(link.id())),
            other => {
                debug!(?other, gateway = %link.slot(), "a gateway does not note who listens");
                link.close();
            }
        }
    }

    /// Returns the answer to a registration by the map of this epoch, once there is one.
    fn known(&self, number: Number, epoch: u64) -> Option<Answer> {
        let book = self.shared.book.lock();
        if book.epoch() > epoch {
            // Its gateway asks again once it has entered the newer map, and everybody
            // waits for that.
            return Some(Answer::Refused(Refusal::Stale));
        }
        book.is_known(number).then_some(Answer::Done)
    }

    async fn until_known(&self, number: Number, epoch: u64) -> Answer {
        loop {
            let moved = self.moved();
            if let Some(known) = self.known(number, epoch) {
                return known;
            }
            moved.await;
        }
    }
}

fn next_tells(book: &mut Shard<Link>) -> Vec<(Link, Tell)> {
    let links = book.links().map(|(id, _, link)| (id, link.clone()));
    let links: Vec<(u64, Link)> = links.collect();
    let tells = links.into_iter().filter_map(|(id, link)| {
        let tell = book.next_tell(id)?;
        Some((link, tell))
    });
    tells.collect()
}

fn answer(done: Result<(), Refused>) -> Answer {
    match done {
        Ok(()) => Answer::Done,
        Err(Refused::Stale) => Answer::Refused(Refusal::Stale),
        Err(Refused::Detached) => Answer::Refused(Refusal::NotNow),
        Err(Refused::Full) => Answer::Refused(Refusal::Full),
    }
}
