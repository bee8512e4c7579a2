//! The keys that this instance seals with, in its state directory.

use std::path::PathBuf;

use conduit_auth::{KeyRing, Sealer};
use conduit_config::Settings;
use conduit_errors::{Coded as _, chain};
use tracing::error;

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
///
/// A ring that became unusable while the instance ran does not stop its gateways from
/// serving what needs no key: then states are sealed with a key of this process alone,
/// and other gateways refuse them.
pub(crate) fn sealer(settings: &Settings) -> Sealer {
    let ring = open(settings).unwrap_or_else(|failure| {
        let code = failure.code();
        error!(target: "conduit", %code, error = %chain(&failure), "states of clients end with this process");
        KeyRing::ephemeral()
    });
    seal_with(ring, settings)
}

/// Seals with a key that ends with this process: nobody else has to open what it seals.
pub(crate) fn own_sealer(settings: &Settings) -> Sealer {
    seal_with(KeyRing::ephemeral(), settings)
}

fn seal_with(ring: KeyRing, settings: &Settings) -> Sealer {
    Sealer::new(ring, settings.input.state_lifetime_ms.duration())
}
