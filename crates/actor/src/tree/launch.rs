//! Makes incarnations of one child, in the shape that ractor expects.

use std::marker::PhantomData;
use std::pin::Pin;

use ractor::{ActorCell, ActorProcessingErr, ActorRef};

use super::SpawnFailed;
use crate::seat::Counted;
use crate::{Actor, Seat};

pub(super) type Launched<'a> =
    Pin<Box<dyn Future<Output = Result<ActorCell, SpawnFailed>> + Send + 'a>>;

/// Makes incarnations of one child, whatever its message type.
pub(super) trait Launch: Send + Sync {
    /// Starts an incarnation under `parent`.
    fn launch(&self, parent: ActorCell) -> Launched<'_>;
    /// Empties the seat.
    fn vacate(&self);
    /// Returns how many messages are in the mailbox.
    fn depth(&self) -> usize;
}

/// Starts incarnations of an [`Actor`] and puts each into the seat.
pub(super) struct Launcher<A: Actor, F> {
    seat: Seat<A::Message>,
    make: F,
}

impl<A: Actor, F> Launcher<A, F> {
    pub(super) const fn new(seat: Seat<A::Message>, make: F) -> Self {
        Self { seat, make }
    }
}

impl<A: Actor, F: Fn() -> A + Send + Sync + 'static> Launch for Launcher<A, F> {
    fn launch(&self, parent: ActorCell) -> Launched<'_> {
        Box::pin(async move {
            let actor = (self.make)();
            let (reference, _joined) =
                ractor::Actor::spawn_linked(None, Shell(PhantomData), actor, parent)
                    .await
                    .map_err(SpawnFailed::from)?;
            let cell = reference.get_cell();
            self.seat.fill(Some(reference));
            Ok(cell)
        })
    }

    fn vacate(&self) {
        self.seat.fill(None);
    }

    fn depth(&self) -> usize {
        self.seat.depth()
    }
}

// === Behind the launcher ===

/// Gives an [`Actor`] the shape that ractor expects.
struct Shell<A>(PhantomData<fn() -> A>);

impl<A: Actor> ractor::Actor for Shell<A> {
    type Msg = Counted<A::Message>;
    type State = A;
    type Arguments = A;

    async fn pre_start(
        &self,
        _myself: ActorRef<Self::Msg>,
        actor: A,
    ) -> Result<A, ActorProcessingErr> {
        Ok(actor)
    }

    async fn handle(
        &self,
        _myself: ActorRef<Self::Msg>,
        mut counted: Self::Msg,
        actor: &mut A,
    ) -> Result<(), ActorProcessingErr> {
        if let Some(message) = counted.take() {
            actor.handle(message).await?;
        }
        Ok(())
    }
}
