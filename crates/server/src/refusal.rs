//! What a callback says instead of a result.

use std::borrow::Cow;
use std::error::Error;

use conduit_protocol::{
    Code, Completion, InputRequired, NewTask, Outcome, PromptResult, ReadResult, Shaped,
    ToolResult, WireError,
};

use crate::Cancelled;

/// Why a callback could not do what it was asked.
///
/// Usually a text. Of a tool it becomes a result with `isError: true`, which a model
/// reads and can act on. So say what to do better. Of a resource, a prompt or a
/// completion, whose results know no failure, it becomes an internal error with that
/// text. Any [`Error`] turns into one by `?`, with its own sentence and not that of its
/// causes; map it first where that sentence is nobody's business.
///
/// What [`Context::ask`](crate::Context::ask) and
/// [`Context::become_task`](crate::Context::become_task) return in their `Err` turns
/// into one too, and is then no failure: it ends this run of the callback, and not the
/// call.
///
/// ```
/// use conduit_server::ToolError;
///
/// fn parse(port: &str) -> Result<u16, ToolError> {
///     let port: u16 = port.parse()?;
///     if port < 1024 {
///         return Err(ToolError::new(format!("port {port} is reserved, choose one from 1024 up")));
///     }
///     Ok(port)
/// }
/// # assert!(parse("80").is_err());
/// # assert!(parse("x").is_err());
/// ```
#[derive(Debug)]
pub struct ToolError(Kind);

/// What may stand in the `Err` of the result of a callback that answers with `T`.
pub trait IntoRefusal<T = ToolResult> {
    /// Turns it into what the client gets.
    fn into_refusal(self) -> Outcome<T>;
}

/// What a callback answers with, and what its failure looks like.
pub trait Answer: Shaped + Send + Sized + 'static {
    /// Turns the text of a failure into what the client gets (R14).
    fn failure(text: Cow<'static, str>) -> Outcome<Self>;
}

impl ToolError {
    /// Makes a failure of the callback's own, with a text that a model can act on.
    #[must_use]
    pub fn new(text: impl Into<Cow<'static, str>>) -> Self {
        Self(Kind::Own(text.into()))
    }

    /// Makes a protocol error, which the client gets as it is. Models don't see
    /// those: it is for what is wrong with the program that calls.
    #[must_use]
    pub const fn protocol(error: WireError) -> Self {
        Self(Kind::Protocol(error))
    }
}

impl<E: Error> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self::new(error.to_string())
    }
}

impl<T: Answer> IntoRefusal<T> for ToolError {
    fn into_refusal(self) -> Outcome<T> {
        match self.0 {
            Kind::Own(text) => T::failure(text),
            Kind::Protocol(error) => error.into_refusal(),
            Kind::Asking(required) => Outcome::InputRequired(required),
            Kind::Becoming(task) => Outcome::Task(task),
        }
    }
}

impl<T> IntoRefusal<T> for WireError {
    fn into_refusal(self) -> Outcome<T> {
        Outcome::Refused(self)
    }
}

impl<T: Answer> IntoRefusal<T> for String {
    fn into_refusal(self) -> Outcome<T> {
        T::failure(self.into())
    }
}

impl<T: Answer> IntoRefusal<T> for &'static str {
    fn into_refusal(self) -> Outcome<T> {
        T::failure(self.into())
    }
}

impl<T: Answer> IntoRefusal<T> for Cancelled {
    fn into_refusal(self) -> Outcome<T> {
        T::failure(self.to_string().into())
    }
}

impl<T> IntoRefusal<T> for std::convert::Infallible {
    fn into_refusal(self) -> Outcome<T> {
        match self {}
    }
}

impl Answer for ToolResult {
    fn failure(text: Cow<'static, str>) -> Outcome<Self> {
        Outcome::Complete(Self::failure(text))
    }
}

impl Answer for ReadResult {
    fn failure(text: Cow<'static, str>) -> Outcome<Self> {
        internal(text)
    }
}

impl Answer for PromptResult {
    fn failure(text: Cow<'static, str>) -> Outcome<Self> {
        internal(text)
    }
}

impl Answer for Completion {
    fn failure(text: Cow<'static, str>) -> Outcome<Self> {
        internal(text)
    }
}

// === Behind the handle ===

#[derive(Debug)]
enum Kind {
    Own(Cow<'static, str>),
    Protocol(WireError),
    /// Wants to hear from the client first.
    Asking(InputRequired),
    /// Wants to go on as a task.
    Becoming(NewTask),
}

impl ToolError {
    pub(crate) const fn asking(required: InputRequired) -> Self {
        Self(Kind::Asking(required))
    }

    pub(crate) const fn becoming(task: NewTask) -> Self {
        Self(Kind::Becoming(task))
    }
}

/// Source: M-RES-03, M-PROMPT-02.
fn internal<T>(text: Cow<'static, str>) -> Outcome<T> {
    Outcome::Refused(WireError::new(Code::INTERNAL_ERROR, text))
}
