//! Stays with a process until it is reaped and somebody has heard of it.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{Message, tell};
use crate::house::House;
use crate::spawn::Launched;

/// A process and where it belongs.
pub(super) struct Kept {
    /// The index of its slot.
    pub(super) index: usize,
    /// Names this life of the slot.
    pub(super) life: Uuid,
    /// The process.
    pub(super) launched: Launched,
    /// Kills it.
    pub(super) kill: CancellationToken,
}

/// Keeps a process, and reports its end.
pub(super) async fn keep(house: Arc<House>, kept: Kept) {
    let Kept {
        index,
        life,
        launched,
        kill,
    } = kept;
    let exit = launched.keep(kill).await;
    let heard = tell(&house, |reply| Message::Exited {
        index,
        life,
        exit: exit.clone(),
        reply,
    });
    tokio::select! {
        biased;
        () = house.end.cancelled() => {}
        () = heard => {}
    }
}
