//! Pure rules of how things start, fail, restart and stop.
//!
//! The same rules serve operating-system processes (`supervisor`) and actors
//! (`actor`). Nothing here reads a clock, waits or performs I/O: whoever calls
//! hands in the time that has passed.

mod phase;
mod restart;

pub use self::phase::Phase;
pub use self::restart::{Backoff, Budget, Verdict};
