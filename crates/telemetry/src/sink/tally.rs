//! What an event does to which counter: no clock, no channel, no `async`.

use crate::board::Board;
use crate::event::Event;

/// Counts an event, unless its sender has.
pub(super) fn count(event: &Event, board: &Board) {
    match event {
        Event::RequestStopped { .. }
        | Event::ToolExecuted { .. }
        | Event::CallRefused { .. }
        | Event::CallbackPanicked { .. }
        | Event::ChildStarted { .. }
        | Event::ChildReady { .. }
        | Event::SlotParked { .. }
        | Event::LinkUp { .. }
        | Event::LinkDown { .. } => {}
        Event::RequestCancelled { by, .. } => {
            board.cancelled.with_label_values(&[by.as_str()]).inc();
        }
        Event::WorkerAbandoned { pool, .. } => {
            board
                .worker_abandonments
                .with_label_values(&[pool.as_str()])
                .inc();
        }
        Event::LoopStalled { .. } => board.loop_stalls.inc(),
        Event::ChildExited { slot, cause, .. } => {
            board
                .child_exits
                .with_label_values(&[slot, cause.as_str()])
                .inc();
        }
        Event::ChildRestarted { slot, .. } => board.restarts.with_label_values(&[slot]).inc(),
        Event::ScrapeMissed { slot } => board.scrapes_missed.with_label_values(&[slot]).inc(),
    }
}
