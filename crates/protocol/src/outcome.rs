//! What became of a request, before any era shapes it.

use crate::call::ToolResult;
use crate::shape::Shaped;
use crate::wire_error::WireError;

/// What a callback answers, the same in both eras (inventory H-21).
///
/// `T` is the result of the method: [`ToolResult`] for `tools/call`,
/// [`ReadResult`](crate::ReadResult) for `resources/read`, and so on.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Outcome<T = ToolResult> {
    /// The result, which may say that a tool failed.
    Complete(T),
    /// A protocol error: its own code, message and data.
    Refused(WireError),
}

impl<T: Shaped> From<T> for Outcome<T> {
    fn from(result: T) -> Self {
        Self::Complete(result)
    }
}

impl<T> From<WireError> for Outcome<T> {
    fn from(error: WireError) -> Self {
        Self::Refused(error)
    }
}
