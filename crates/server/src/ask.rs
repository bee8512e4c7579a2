//! How a callback asks its client, and remembers until the answer comes.

#[cfg(test)]
mod tests;

use conduit_protocol::{InputRequired, Outcome, WireError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::questions::Asking;
use crate::{Answer, Context, IntoRefusal, Questions, ToolError};

/// There is no answer yet. A callback passes it on with `?`, and runs again from its
/// start once there is one.
///
/// No [`Error`](std::error::Error), because it is none: what makes a text of it loses
/// the question. It becomes a [`ToolError`] by `?`.
#[derive(Debug)]
#[must_use = "nothing is asked before the callback passes it on with `?`"]
pub struct Unanswered(Kind);

/// What it can ask its client.
impl Context {
    /// Returns the answers to questions, or asks them: `?` ends this run, and the
    /// callback runs again from its start, in any process, once the client has
    /// answered. What stands before an `ask` is done again each time, so it should
    /// change nothing.
    ///
    /// An answer that does not fit its question is asked for again. What was answered
    /// stays answered in later runs, as long as each of them asks for it.
    ///
    /// Each question has a key of 1 to 64 characters, under which its answer comes
    /// back. It has to be the same in each run, and another one for each question.
    ///
    /// Ask only what the client [can be asked for](Self::client_capabilities), else the
    /// call is refused (R31).
    ///
    /// # Errors
    ///
    /// [`Unanswered`], which a callback passes on with `?`.
    ///
    /// Source: 6.1.
    pub fn ask<Q: Questions>(&self, questions: Q) -> Result<Q::Answers, Unanswered> {
        let input = self.input();
        let mut asking = Asking::new(input);
        let answers = questions.put(&mut asking);
        match (asking.finish(), answers) {
            (None, _) => Err(Unanswered(Kind::Mistake)),
            (Some(_), Some(answers)) => Ok(answers),
            (Some(requests), None) => Err(Unanswered(Kind::Required(InputRequired {
                requests,
                state: input.state(),
            }))),
        }
    }

    /// Returns the answer under a key, for a callback that returns
    /// [`Outcome::InputRequired`] itself. It is as the client sent it: nobody has looked
    /// at it, and nobody carries it into the next round.
    #[must_use]
    pub fn answer(&self, key: &str) -> Option<&RawValue> {
        self.input().answer(key)
    }

    /// Remembers something for the next run, in place of what was remembered before.
    /// Call it before the question that ends this run. The client can neither read nor
    /// change it; it has at most a few kilobytes (R16).
    ///
    /// # Errors
    ///
    /// An internal error when `state` does not fit into JSON.
    pub fn remember(&self, state: impl Serialize) -> Result<(), ToolError> {
        match serde_json::to_value(state) {
            Ok(state) => {
                self.input().remember(state);
                Ok(())
            }
            Err(error) => {
                tracing::error!(%error, "what a callback remembers cannot be written as JSON");
                Err(ToolError::protocol(WireError::internal()))
            }
        }
    }

    /// Returns what this run, or the one before, has remembered. `None` when that was
    /// nothing, or something of another shape.
    #[must_use]
    pub fn recall<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_value(self.input().state()?).ok()
    }
}

impl From<Unanswered> for ToolError {
    fn from(unanswered: Unanswered) -> Self {
        match unanswered.0 {
            Kind::Required(required) => Self::asking(required),
            Kind::Mistake => Self::protocol(WireError::internal()),
        }
    }
}

impl<T: Answer> IntoRefusal<T> for Unanswered {
    fn into_refusal(self) -> Outcome<T> {
        ToolError::from(self).into_refusal()
    }
}

// === Behind the handle ===

#[derive(Debug)]
enum Kind {
    Required(InputRequired),
    /// A bug of the callback, which is in the log.
    Mistake,
}
