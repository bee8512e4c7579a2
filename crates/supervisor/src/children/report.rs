//! Turns what slots tell into events; the telemetry sink counts and logs them.

use conduit_link::Slot;
use conduit_telemetry::{Event, Telemetry};
use tracing::warn;

use super::effect::News;

/// Tells the world what happened in a slot.
pub(super) fn report(telemetry: &Telemetry, slot: &Slot, news: &News) {
    let name = slot.to_string();
    let event = match *news {
        News::Started { pid, delay: None } => Event::ChildStarted { slot: name, pid },
        News::Started {
            pid,
            delay: Some(delay),
        } => Event::ChildRestarted {
            slot: name,
            pid,
            delay,
        },
        News::Ready { pid, took } => Event::ChildReady {
            slot: name,
            pid,
            took,
        },
        News::Killed { pid, reason } => {
            // The exit that follows is the event.
            warn!(slot = name, pid, %reason, "killing child");
            return;
        }
        News::Exited {
            pid,
            cause,
            ref exit,
        } => Event::ChildExited {
            slot: name,
            pid: pid.unwrap_or_default(),
            cause,
            status: exit.to_string(),
        },
        News::Parked { pause } => Event::SlotParked { slot: name, pause },
    };
    telemetry.emit(event);
}
