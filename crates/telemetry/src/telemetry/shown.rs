//! What is, rather than happens: shown to each scrape by collectors.

use std::time::Duration;

use conduit_actor::ChildView;
use conduit_link::{Links, Role};

use super::{Telemetry, set};
use crate::instruments::raise_to;
use crate::label::Direction;

/// What a slot of the tree is doing, for a collector.
#[derive(Clone, Copy, Debug)]
pub struct SlotSample {
    /// Whether its process is ready.
    pub up: bool,
    /// Whether it failed too often and is left alone.
    pub parked: bool,
    /// Since it last answered a probe; none when it never did or is never asked.
    pub probe_age: Option<Duration>,
}

/// What a link is doing, for a collector.
#[derive(Clone, Copy, Debug)]
pub struct LinkSample {
    /// Whether both hellos were heard and the peer is not silent.
    pub up: bool,
    /// Frames from the peer so far.
    pub frames_in: u64,
    /// Frames to the peer so far.
    pub frames_out: u64,
    /// Times that the link was made anew so far.
    pub reconnects: u64,
    /// Frames that wait for the link.
    pub queued: usize,
    /// Since the last frame of the peer; none when there was none.
    pub silence: Option<Duration>,
}

impl Telemetry {
    /// Lets each encoding show the links of this process and the lag of its loop.
    ///
    /// Holds on to them, so that [`Links::stop`] alone ends their thread.
    pub fn watch_links(&self, links: &Links) {
        let links = links.clone();
        self.collect_with(move |telemetry| {
            telemetry.loop_lag(links.lag());
            let peers = links.peers().into_iter();
            // A command is gone before anybody looks at its link.
            for peer in peers.filter(|peer| peer.slot.role != Role::Operator) {
                let sample = LinkSample {
                    up: peer.up,
                    frames_in: peer.frames_in,
                    frames_out: peer.frames_out,
                    reconnects: peer.reconnects,
                    queued: peer.queued,
                    silence: peer.silent,
                };
                telemetry.link(&peer.slot.to_string(), sample);
            }
        });
    }

    /// Shows what a slot is doing; its restarts are counted from zero then.
    pub fn slot(&self, slot: &str, sample: SlotSample) {
        let SlotSample {
            up,
            parked,
            probe_age,
        } = sample;
        let instruments = &self.shared.instruments;
        instruments
            .slot_up
            .with_label_values(&[slot])
            .set(i64::from(up));
        instruments
            .slot_parked
            .with_label_values(&[slot])
            .set(i64::from(parked));
        set_age(&instruments.probe_age, slot, probe_age);
        drop(instruments.restarts.with_label_values(&[slot]));
    }

    /// Shows nothing of a slot any more: it was scaled away.
    pub fn forget_slot(&self, slot: &str) {
        let instruments = &self.shared.instruments;
        // What was not there has been forgotten before.
        drop(instruments.slot_up.remove_label_values(&[slot]));
        drop(instruments.slot_parked.remove_label_values(&[slot]));
        drop(instruments.probe_age.remove_label_values(&[slot]));
        drop(instruments.restarts.remove_label_values(&[slot]));
    }

    /// Shows what the link to a peer is doing.
    pub fn link(&self, peer: &str, sample: LinkSample) {
        let LinkSample {
            up,
            frames_in,
            frames_out,
            reconnects,
            queued,
            silence,
        } = sample;
        let instruments = &self.shared.instruments;
        instruments
            .link_up
            .with_label_values(&[peer])
            .set(i64::from(up));
        for (direction, frames) in [(Direction::In, frames_in), (Direction::Out, frames_out)] {
            let labels = [peer, direction.as_str()];
            raise_to(&instruments.link_frames.with_label_values(&labels), frames);
        }
        raise_to(
            &instruments.link_reconnects.with_label_values(&[peer]),
            reconnects,
        );
        set(&instruments.link_queued.with_label_values(&[peer]), queued);
        set_age(&instruments.link_silence, peer, silence);
    }

    /// Shows what actors are doing, as [`Tree::viewer`](conduit_actor::Tree::viewer) tells.
    pub fn actors(&self, actors: &[ChildView]) {
        let instruments = &self.shared.instruments;
        for actor in actors {
            set(
                &instruments.mailbox_depth.with_label_values(&[actor.name]),
                actor.depth,
            );
            raise_to(
                &instruments.actor_restarts.with_label_values(&[actor.name]),
                actor.restarts,
            );
        }
    }

    /// Shows how late the loop of the process is.
    pub fn loop_lag(&self, lag: Duration) {
        self.shared.instruments.loop_lag.set(lag.as_secs_f64());
    }
}

// === Behind the samples ===

/// Shows an age, or no sample at all where there is none.
fn set_age(gauges: &prometheus::GaugeVec, label: &str, age: Option<Duration>) {
    match age {
        Some(age) => gauges.with_label_values(&[label]).set(age.as_secs_f64()),
        None => drop(gauges.remove_label_values(&[label])),
    }
}
