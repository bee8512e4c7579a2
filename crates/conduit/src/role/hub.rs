//! A shard of the hub.

use super::child;
use crate::args::Child;
use crate::failure::Failure;

pub(crate) fn run(child: &Child) -> Result<(), Failure> {
    child::run_inner(child, |house, stop, ready| {
        conduit_hub::run(
            conduit_hub::Options::default(),
            house.links.clone(),
            house.telemetry.clone(),
            house.rolls(),
            house.window(),
            stop,
            ready,
        )
    })
}
