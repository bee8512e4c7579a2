//! The keys that this instance seals with, in its state directory.

use std::path::PathBuf;

use conduit_auth::{KeyRing, Sealer};
use conduit_config::Settings;

use crate::failure::Failure;

/// Where the ring is.
pub(crate) fn path(settings: &Settings) -> PathBuf {
    settings.state.dir.join("keys")
}

/// Opens the ring, and makes it if there is none yet.
pub(crate) fn open(settings: &Settings) -> Result<KeyRing, Failure> {
    KeyRing::open(path(settings)).map_err(Failure::coded("cannot use the keys"))
}

/// Seals with the ring that all processes of this instance share.
pub(crate) fn sealer(settings: &Settings) -> Result<Sealer, Failure> {
    Ok(seal_with(open(settings)?, settings))
}

/// Seals with a key that ends with this process: nobody else has to open what it seals.
pub(crate) fn own_sealer(settings: &Settings) -> Sealer {
    seal_with(KeyRing::ephemeral(), settings)
}

fn seal_with(ring: KeyRing, settings: &Settings) -> Sealer {
    Sealer::new(ring, settings.input.state_lifetime_ms.duration())
}
