//! The store: sessions on disk.

use tokio_util::sync::CancellationToken;

use super::child::{self, House};
use super::{block_on, settings};
use crate::args::Child;
use crate::failure::Failure;

pub(crate) fn run(child: &Child) -> Result<(), Failure> {
    let settings = child::read_settings()?;
    block_on(async {
        let mut house = House::enter(child, settings, false)?;
        let (stop, herald) = (CancellationToken::new(), house.herald());
        let role = conduit_store::run(
            settings::store(&house.settings),
            house.links.clone(),
            house.telemetry.clone(),
            stop.clone(),
            move || herald.announce(Vec::new()),
        );
        let ended = house.attend(role, &stop).await;
        house.leave(0).await;
        ended.map_err(Failure::of("cannot go on"))
    })
}
