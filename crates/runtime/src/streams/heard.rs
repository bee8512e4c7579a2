//! Who waits to know that changes were noted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use conduit_actor::Reply;
use conduit_link::{Answer, Answerer};
use parking_lot::Mutex;

/// A part in noting changes. Whoever waits hears so when each part was told; once one of
/// them was dropped, nothing.
#[derive(Debug)]
pub(crate) struct Heard {
    waits: Arc<Waits>,
    is_told: bool,
}

#[derive(Debug)]
struct Waits {
    who: Mutex<Option<Who>>,
    is_lost: AtomicBool,
}

#[derive(Debug)]
enum Who {
    /// The hub.
    Hub(Answerer),
    /// Somebody here.
    Here(Reply<()>),
}

impl Heard {
    /// The hub waits.
    pub(crate) fn hub(answerer: Answerer) -> Self {
        Self::new(Who::Hub(answerer))
    }

    /// Somebody here waits.
    pub(crate) fn here(reply: Reply<()>) -> Self {
        Self::new(Who::Here(reply))
    }

    /// Makes another part.
    pub(crate) fn part(&self) -> Self {
        Self {
            waits: Arc::clone(&self.waits),
            is_told: false,
        }
    }

    /// Says that this part was noted.
    pub(crate) fn tell(mut self) {
        self.is_told = true;
    }

    fn new(who: Who) -> Self {
        Self {
            waits: Arc::new(Waits {
                who: Mutex::new(Some(who)),
                is_lost: AtomicBool::new(false),
            }),
            is_told: false,
        }
    }
}

impl Drop for Heard {
    fn drop(&mut self) {
        if !self.is_told {
            self.waits.is_lost.store(true, Ordering::Release);
        }
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        if self.is_lost.load(Ordering::Acquire) {
            // Dropping an answerer refuses.
            return;
        }
        match self.who.lock().take() {
            Some(Who::Hub(answerer)) => answerer.answer(Answer::Done),
            Some(Who::Here(reply)) => drop(reply.send(())),
            None => {}
        }
    }
}
