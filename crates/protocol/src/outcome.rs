//! What became of a request, before any era shapes it.

use crate::call::ToolResult;
use crate::wire_error::WireError;

/// What a callback answers, the same in both eras (inventory H-21).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// The result, which may say that the tool failed.
    Complete(ToolResult),
    /// A protocol error: its own code, message and data.
    Refused(WireError),
}

impl From<ToolResult> for Outcome {
    fn from(result: ToolResult) -> Self {
        Self::Complete(result)
    }
}

impl From<WireError> for Outcome {
    fn from(error: WireError) -> Self {
        Self::Refused(error)
    }
}
