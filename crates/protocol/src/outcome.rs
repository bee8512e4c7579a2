//! What became of a request, before any era shapes it.

use crate::call::ToolResult;
use crate::input::InputRequired;
use crate::shape::Shaped;
use crate::task::NewTask;
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
    /// The callback goes on once the client has answered these (M-MRTR-01). Only
    /// `tools/call`, `resources/read` and `prompts/get` may.
    InputRequired(InputRequired),
    /// The work goes on as a task. Only `tools/call` may (T-TASK-05).
    Task(NewTask),
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

impl<T> From<InputRequired> for Outcome<T> {
    fn from(input: InputRequired) -> Self {
        Self::InputRequired(input)
    }
}

impl<T> From<NewTask> for Outcome<T> {
    fn from(task: NewTask) -> Self {
        Self::Task(task)
    }
}
