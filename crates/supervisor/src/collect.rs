//! Shows metrics what is, whenever they are asked for.

use std::sync::{Arc, Weak};

use conduit_actor::ChildView;
use conduit_lifecycle::Phase;
use conduit_link::Role;
use conduit_telemetry::{LinkSample, SlotSample, Telemetry};

use crate::house::House;

/// Lets each scrape see the slots, the links and the actors.
pub(crate) fn install(
    house: &Arc<House>,
    actors: impl Fn() -> Vec<ChildView> + Send + Sync + 'static,
) {
    // The house holds the telemetry, so the telemetry must not hold the house.
    let held: Weak<House> = Arc::downgrade(house);
    house.telemetry.collect_with(move |telemetry| {
        if let Some(house) = held.upgrade() {
            slots(&house, telemetry);
            links(&house, telemetry);
            telemetry.actors(&actors());
        }
    });
}

// === Behind the collector ===

fn slots(house: &House, telemetry: &Telemetry) {
    let now = house.now();
    let table = house.table.lock();
    for (member, grip) in table.slots() {
        let asked = member.slot.role == Role::Gateway;
        let phase = member.place.phase();
        telemetry.slot(
            &member.slot.to_string(),
            SlotSample {
                up: phase == Phase::Serving,
                parked: phase == Phase::Parked,
                probe_age: grip
                    .answer
                    .filter(|_| asked)
                    .map(|answer| now.saturating_sub(answer.at)),
            },
        );
    }
}

fn links(house: &House, telemetry: &Telemetry) {
    for peer in house.links.peers() {
        telemetry.link(
            &peer.slot.to_string(),
            LinkSample {
                up: peer.up,
                frames_in: peer.frames_in,
                frames_out: peer.frames_out,
                reconnects: peer.reconnects,
                queued: peer.queued,
                silence: peer.silent,
            },
        );
    }
    telemetry.loop_lag(house.links.lag());
}
