//! Asks which folders the client works in.

use conduit_protocol::{InputAnswer, InputRequest, Root};

use crate::Questions;
use crate::questions::{Asking, sealed};

/// Asks which folders the client works in; made by [`roots`].
#[derive(Clone, Debug)]
#[must_use = "nothing is asked before `Context::ask`"]
pub struct ListRoots {
    key: String,
}

/// Asks which folders the client works in. They tell, and grant nothing: check what a
/// path leads to as always (M-ROOT-01).
///
/// Deprecated in the modern era, where a client need not answer it.
pub fn roots(key: impl Into<String>) -> ListRoots {
    ListRoots { key: key.into() }
}

impl Questions for ListRoots {
    type Answers = Vec<Root>;

    fn put(self, asking: &mut Asking<'_>) -> Option<Vec<Root>> {
        asking.put(self.key, InputRequest::Roots, |answer| {
            let InputAnswer::Roots(roots) = answer else {
                return None;
            };
            Some(roots)
        })
    }
}

// === Behind the handle ===

impl sealed::Sealed for ListRoots {}
