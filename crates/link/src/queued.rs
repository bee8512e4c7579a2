//! One frame in an outbox.

use bytes::Bytes;

use crate::credit::Credit;
use crate::places::Place;

/// A frame that waits, with what it gives back when it goes.
#[derive(Debug)]
pub(crate) struct Queued {
    /// Without its length.
    pub(crate) bytes: Bytes,
    /// The id of the call that it is, if it is one.
    pub(crate) call: Option<u64>,
    _place: Option<Place>,
    _credit: Option<Credit>,
}

impl Queued {
    pub(crate) const fn event(bytes: Bytes, place: Place) -> Self {
        Self {
            bytes,
            call: None,
            _place: Some(place),
            _credit: None,
        }
    }

    pub(crate) const fn call(id: u64, bytes: Bytes, place: Place) -> Self {
        Self {
            bytes,
            call: Some(id),
            _place: Some(place),
            _credit: None,
        }
    }

    pub(crate) const fn answer(bytes: Bytes, credit: Option<Credit>) -> Self {
        Self {
            bytes,
            call: None,
            _place: None,
            _credit: credit,
        }
    }
}
