//! Shows each scrape what the slots are doing.

use std::sync::{Arc, Weak};

use conduit_lifecycle::Phase;
use conduit_link::Role;
use conduit_telemetry::{SlotSample, Telemetry};

use crate::house::House;

/// Lets each scrape see the slots.
pub(crate) fn install(house: &Arc<House>) {
    // The house holds the telemetry, so the telemetry must not hold the house.
    let held: Weak<House> = Arc::downgrade(house);
    house.telemetry.collect_with(move |telemetry| {
        if let Some(house) = held.upgrade() {
            slots(&house, telemetry);
        }
    });
}

// === Behind the collector ===

fn slots(house: &House, telemetry: &Telemetry) {
    let now = house.now();
    let table = house.table.lock();
    for (member, grip) in table.slots() {
        if member.has_left() {
            telemetry.forget_slot(&member.slot.to_string());
            continue;
        }
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
