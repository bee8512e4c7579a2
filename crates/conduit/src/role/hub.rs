//! A shard of the hub.

use super::{child, settings};
use crate::args::Child;
use crate::failure::Failure;

pub(crate) fn run(child: &Child) -> Result<(), Failure> {
    child::run_inner(child, |house, stop, ready| {
        let options = conduit_hub::Options {
            gateways: settings::gateways(&house.settings).into(),
            ..conduit_hub::Options::default()
        };
        conduit_hub::run(
            options,
            house.links.clone(),
            house.telemetry.clone(),
            stop,
            ready,
        )
    })
}
