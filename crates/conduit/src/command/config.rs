//! `conduit config`: what is in force, and from where.

use conduit_config::{Error, Sources, describe, load};

/// Returns every setting with its value and its origin, as a file that can be loaded.
pub(crate) fn answer(sources: &Sources) -> Result<String, Error> {
    load(sources).map(|loaded| describe(&loaded))
}
