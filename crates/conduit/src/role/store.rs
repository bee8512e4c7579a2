//! The store: sessions and tasks on disk.

use super::{child, settings};
use crate::args::Child;
use crate::failure::Failure;

pub(crate) fn run(child: &Child) -> Result<(), Failure> {
    child::run_inner(child, |house, stop, ready| {
        let options = settings::store(&house.settings, settings::database(&house.settings));
        conduit_store::run(
            options,
            house.links.clone(),
            house.telemetry.clone(),
            house.gateways(),
            stop,
            ready,
        )
    })
}
