//! What an event does to which counter: no clock, no channel, no `async`.

use crate::event::Event;
use crate::instruments::Instruments;

/// Counts an event, unless its sender has.
pub(super) fn count(event: &Event, instruments: &Instruments) {
    match event {
        Event::RequestStopped { .. }
        | Event::ToolExecuted { .. }
        | Event::ResourceRead { .. }
        | Event::PromptGot { .. }
        | Event::InputRequired { .. }
        | Event::TaskRun { .. }
        | Event::SubscriptionStarted { .. }
        | Event::SubscriptionStopped { .. }
        | Event::CallRefused { .. }
        | Event::CallbackPanicked { .. }
        | Event::ChildStarted { .. }
        | Event::ChildReady { .. }
        | Event::SlotParked { .. }
        | Event::LinkUp { .. }
        | Event::LinkDown { .. } => {}
        Event::RequestCancelled { by, .. } => {
            instruments
                .cancelled
                .with_label_values(&[by.as_str()])
                .inc();
        }
        Event::WorkerAbandoned { pool, .. } => {
            instruments
                .worker_abandonments
                .with_label_values(&[pool.as_str()])
                .inc();
        }
        Event::LoopStalled { .. } => instruments.loop_stalls.inc(),
        Event::ChildExited { slot, cause, .. } => {
            instruments
                .child_exits
                .with_label_values(&[slot, cause.as_str()])
                .inc();
        }
        Event::ChildRestarted { slot, .. } => instruments.restarts.with_label_values(&[slot]).inc(),
        Event::ScrapeMissed { slot } => instruments.scrapes_missed.with_label_values(&[slot]).inc(),
    }
}
