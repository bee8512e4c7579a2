//! `conduit keys`: what states are sealed with.

use conduit_auth::{KeyRing, Rotated};
use conduit_config::{Sources, load};

use crate::failure::Failure;
use crate::role::keys;

/// Adds a key to the ring; processes that run take it at once. Keys that were replaced
/// longer ago than a state can be used are dropped.
pub(crate) fn rotate(sources: &Sources) -> Result<String, Failure> {
    let settings = load(sources)?.settings;
    let (path, keep) = (
        keys::path(&settings),
        settings.input.state_lifetime_ms.duration(),
    );
    let Rotated { id, dropped } =
        KeyRing::rotate(&path, keep).map_err(Failure::coded("cannot rotate the keys"))?;
    let dropped = dropped.iter().map(|id| format!("dropped    {id}\n"));
    Ok(format!("new key    {id}\n{}", dropped.collect::<String>()))
}
