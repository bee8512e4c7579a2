//! The results that a face can answer with.

use crate::call::ToolResult;
use crate::complete::Completion;
use crate::era::Era;
use crate::get_prompt::PromptResult;
use crate::id::RequestId;
use crate::read::ReadResult;
use crate::shape::{Face, Rendered};

/// A result of a method that runs a callback.
///
/// The list is closed: only this crate decides what a client sees.
pub trait Shaped: sealed::Sealed {
    /// Answers a request with this result, in the shape of its era.
    fn shape(&self, face: &Face, era: Era, id: &RequestId) -> Rendered;
}

impl Shaped for ToolResult {
    fn shape(&self, face: &Face, era: Era, id: &RequestId) -> Rendered {
        face.call(era, id, self)
    }
}

impl Shaped for ReadResult {
    fn shape(&self, face: &Face, era: Era, id: &RequestId) -> Rendered {
        face.read(era, id, self)
    }
}

impl Shaped for PromptResult {
    fn shape(&self, face: &Face, era: Era, id: &RequestId) -> Rendered {
        face.prompt(era, id, self)
    }
}

impl Shaped for Completion {
    fn shape(&self, face: &Face, era: Era, id: &RequestId) -> Rendered {
        face.complete(era, id, self)
    }
}

// === Behind the handle ===

mod sealed {
    use super::{Completion, PromptResult, ReadResult, ToolResult};

    pub trait Sealed {}

    impl Sealed for ToolResult {}
    impl Sealed for ReadResult {}
    impl Sealed for PromptResult {}
    impl Sealed for Completion {}
}
