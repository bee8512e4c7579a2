//! What a callback says instead of a result.

use std::borrow::Cow;
use std::error::Error;

use conduit_protocol::{Outcome, ToolResult, WireError};

use crate::Cancelled;

/// Why a tool could not do what it was asked.
///
/// Usually a text: it becomes a result with `isError: true`, which a model reads
/// and can act on. So say what to do better. Any [`Error`] turns into
/// one by `?`, with its own sentence and not that of its causes; map it first where
/// that sentence is nobody's business.
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

/// What may stand in the `Err` of a handler's result.
pub trait IntoRefusal {
    /// Turns it into what the client gets.
    fn into_refusal(self) -> Outcome;
}

impl ToolError {
    /// Makes a failure of the tool's own, with a text that a model can act on.
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

impl IntoRefusal for ToolError {
    fn into_refusal(self) -> Outcome {
        match self.0 {
            Kind::Own(text) => ToolResult::failure(text).into(),
            Kind::Protocol(error) => error.into_refusal(),
        }
    }
}

impl IntoRefusal for WireError {
    fn into_refusal(self) -> Outcome {
        Outcome::Refused(self)
    }
}

impl IntoRefusal for String {
    fn into_refusal(self) -> Outcome {
        ToolResult::failure(self).into()
    }
}

impl IntoRefusal for &'static str {
    fn into_refusal(self) -> Outcome {
        ToolResult::failure(self).into()
    }
}

impl IntoRefusal for Cancelled {
    fn into_refusal(self) -> Outcome {
        ToolResult::failure(self.to_string()).into()
    }
}

impl IntoRefusal for std::convert::Infallible {
    fn into_refusal(self) -> Outcome {
        match self {}
    }
}

// === Behind the handle ===

#[derive(Debug)]
enum Kind {
    Own(Cow<'static, str>),
    Protocol(WireError),
}
