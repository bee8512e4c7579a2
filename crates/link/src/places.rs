//! Who may wait in an outbox: the bounds of a link's queues.

use std::sync::Arc;

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

use crate::Lane;

/// The most control frames that wait on one link.
const CONTROL: usize = 1024;

/// The most data frames that wait on one link.
const DATA: usize = 4096;

/// The most calls of one link that wait for their answer.
const CALLS: usize = 4096;

/// The places of one link, in frames and in bytes.
#[derive(Debug)]
pub(crate) struct Places {
    control: Arc<Semaphore>,
    data: Arc<Semaphore>,
    bytes: Arc<Semaphore>,
    calls: Arc<Semaphore>,
}

/// The place of one frame; dropping it gives it back.
#[derive(Debug)]
pub(crate) struct Place {
    _frame: OwnedSemaphorePermit,
    _bytes: OwnedSemaphorePermit,
}

/// The place of one open call.
#[derive(Debug)]
pub(crate) struct CallPlace {
    _call: OwnedSemaphorePermit,
}

impl Places {
    /// Makes room for `bytes`, which must be more than any one frame has.
    pub(crate) fn new(bytes: usize) -> Self {
        let semaphore = |places| Arc::new(Semaphore::new(places));
        Self {
            control: semaphore(CONTROL),
            data: semaphore(DATA),
            bytes: semaphore(bytes.min(Semaphore::MAX_PERMITS)),
            calls: semaphore(CALLS),
        }
    }

    /// Takes a place for a frame of `bytes`, if there is one.
    pub(crate) fn try_take(&self, lane: Lane, bytes: usize) -> Option<Place> {
        let frame = Arc::clone(self.lane(lane)).try_acquire_owned().ok()?;
        let bytes = Arc::clone(&self.bytes)
            .try_acquire_many_owned(permits(bytes))
            .ok()?;
        Some(Place {
            _frame: frame,
            _bytes: bytes,
        })
    }

    /// Waits for a place, in order of arrival; fails once the places are closed.
    pub(crate) async fn take(&self, lane: Lane, bytes: usize) -> Result<Place, AcquireError> {
        Ok(Place {
            _frame: Arc::clone(self.lane(lane)).acquire_owned().await?,
            _bytes: Arc::clone(&self.bytes)
                .acquire_many_owned(permits(bytes))
                .await?,
        })
    }

    /// Waits until one more call may be open.
    pub(crate) async fn open(&self) -> Result<CallPlace, AcquireError> {
        Ok(CallPlace {
            _call: Arc::clone(&self.calls).acquire_owned().await?,
        })
    }

    /// Sends everybody away, now and later.
    pub(crate) fn close(&self) {
        for places in [&self.control, &self.data, &self.bytes, &self.calls] {
            places.close();
        }
    }

    const fn lane(&self, lane: Lane) -> &Arc<Semaphore> {
        match lane {
            Lane::Control => &self.control,
            Lane::Data => &self.data,
        }
    }
}

fn permits(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_has_places_of_its_own() {
        let places = Places::new(1 << 20);
        let data: Vec<_> = std::iter::from_fn(|| places.try_take(Lane::Data, 1)).collect();

        assert_eq!(data.len(), DATA);
        assert!(places.try_take(Lane::Control, 1).is_some());
    }

    #[test]
    fn bytes_fill_the_queue_before_frames_do() {
        let places = Places::new(1000);
        let large = places.try_take(Lane::Data, 900);

        assert!(places.try_take(Lane::Data, 200).is_none());

        drop(large);
        assert!(places.try_take(Lane::Data, 200).is_some());
    }
}
