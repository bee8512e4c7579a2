//! What a process shows of its links.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::Slot;

/// One peer, for metrics and status.
///
/// A peer that has connected to us once stays in the list, so that it shows when
/// it is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerView {
    /// The peer's slot.
    pub slot: Slot,
    /// Whether the link is up.
    pub up: bool,
    /// Frames received from this slot so far.
    pub frames_in: u64,
    /// Frames sent to this slot so far.
    pub frames_out: u64,
    /// How often the link came up again.
    pub reconnects: u64,
    /// How often one end refused the other at hello; counted where we connect.
    pub refused: u64,
    /// Frames that wait to be written.
    pub queued: usize,
    /// How long ago the peer was last heard, while the link is up.
    pub silent: Option<Duration>,
}

/// What is counted of one slot, over all its connections.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    frames_in: AtomicU64,
    frames_out: AtomicU64,
    ups: AtomicU64,
    refused: AtomicU64,
}

impl Counters {
    pub(crate) fn received(&self) {
        self.frames_in.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn sent(&self) {
        self.frames_out.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn came_up(&self) {
        self.ups.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Fills the counted fields of a view.
    pub(crate) fn show(&self, view: &mut PeerView) {
        view.frames_in = self.frames_in.load(Ordering::Relaxed);
        view.frames_out = self.frames_out.load(Ordering::Relaxed);
        view.reconnects = self.ups.load(Ordering::Relaxed).saturating_sub(1);
        view.refused = self.refused.load(Ordering::Relaxed);
    }
}
