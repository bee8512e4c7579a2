//! What a callback sees of the task as which it runs.
//!
//! A task outlives its request, and its process: its client comes back for the result,
//! and asks in between how far it is. To the callback it is a call like any other,
//! that may take longer.

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use conduit_protocol::{NewTask, Outcome, WireError};

use crate::{Answer, Context, IntoOutcome, IntoRefusal, Questions, ToolError, Unanswered};

/// The task as which a callback runs. Cheap to clone.
///
/// It ends when the callback returns. A result completes it, also one with
/// `isError: true`; a protocol error ([`ToolError::protocol`]) fails it (T-TASK-11).
/// While it [asks](Self::ask), it waits without running.
#[derive(Clone)]
pub struct Task {
    part: TaskPart,
    context: Context,
}

/// What the runtime says of the task as which a callback runs.
#[derive(Clone, PartialEq, Eq)]
pub struct TaskPart {
    /// Names the task; without authentication it is the right to it (R38).
    pub id: Arc<str>,
    /// How often it has been started: 1, and one more for each process that died in
    /// it.
    pub attempt: u16,
}

/// The call has to become a task first. A callback passes it on with `?`, and runs
/// again from its start as that task.
///
/// No [`Error`](std::error::Error), because it is none. It becomes a [`ToolError`] by
/// `?`.
#[derive(Debug)]
#[must_use = "nothing becomes a task before the callback passes it on with `?`"]
pub struct BecomesTask(NewTask);

/// How it goes on as a task.
impl Context {
    /// Returns whether the call is a task, or can become one: the server and the tool
    /// allow it, and the client knows what a task is.
    #[must_use]
    pub fn allows_task(&self) -> bool {
        self.parts().allows_task || self.parts().task.is_some()
    }

    /// Returns the task as which the callback runs, if it does.
    #[must_use]
    pub fn task(&self) -> Option<Task> {
        let part = self.parts().task.clone()?;
        let context = self.clone();
        Some(Task { part, context })
    }

    /// Goes on as a task. In a call, `?` ends this run, the client learns the task's
    /// name, and the callback runs again from its start as the task. There, it returns
    /// the task.
    ///
    /// For tools that are [`asks_first`](crate::ToolBuilder::asks_first): of the others
    /// the task is made before they run. What was answered and remembered before is
    /// still there.
    ///
    /// Where a task is not [allowed](Self::allows_task), the call is refused.
    ///
    /// ```
    /// use conduit_server::schemars::JsonSchema;
    /// use conduit_server::serde::Deserialize;
    /// use conduit_server::{Context, NewTask, NoArguments, TaskSupport, ToolError, form, tool};
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Consent {
    ///     /// Whether the old index may go.
    ///     replace: bool,
    /// }
    ///
    /// async fn reindex(_: NoArguments, context: Context) -> Result<String, ToolError> {
    ///     let consent = context.ask(form::<Consent>("consent", "This takes an hour."))?;
    ///     if !consent.accepted()?.replace {
    ///         return Ok("nothing has changed".to_owned());
    ///     }
    ///     let task = context.become_task(NewTask::new().with_message("waiting"))?;
    ///     task.status("indexing");
    ///     // The long part.
    ///     Ok("all is in the index".to_owned())
    /// }
    ///
    /// let reindex = tool("reindex", "Indexes all", reindex)
    ///     .task(TaskSupport::Required)
    ///     .asks_first();
    /// ```
    ///
    /// # Errors
    ///
    /// [`BecomesTask`], which a callback passes on with `?`.
    pub fn become_task(&self, task: NewTask) -> Result<Task, BecomesTask> {
        self.task().ok_or(BecomesTask(task))
    }
}

impl Task {
    /// Returns its name. Without authentication it is the right to the task: show it to
    /// nobody else (R38).
    #[must_use]
    pub fn id(&self) -> &str {
        &self.part.id
    }

    /// Returns how often it has been started: 1, and more only for a tool that is
    /// [`restartable`](crate::ToolBuilder::restartable).
    #[must_use]
    pub const fn attempt(&self) -> u16 {
        self.part.attempt
    }

    /// Says what it is doing, to whoever asks for its status. Never blocks.
    pub fn status(&self, message: impl Into<String>) {
        self.context.status(message);
    }

    /// Reports progress, see [`Context::progress`]. Its client finds it as the
    /// [status](Self::status): there are no notifications of progress (T-TASK-27).
    pub fn progress(&self, done: f64, total: Option<f64>, message: Option<&str>) {
        self.context.progress(done, total, message);
    }

    /// Asks its client, see [`Context::ask`].
    ///
    /// # Errors
    ///
    /// [`Unanswered`], which a callback passes on with `?`.
    pub fn ask<Q: Questions>(&self, questions: Q) -> Result<Q::Answers, Unanswered> {
        self.context.ask(questions)
    }

    /// Tells whether it has been cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.context.is_cancelled()
    }

    /// Waits until it is cancelled.
    ///
    /// # Cancel safety
    ///
    /// Safe.
    pub async fn cancelled(&self) {
        self.context.cancelled().await;
    }

    /// Returns what completes it, for a callback that returns an [`Outcome`]. Others
    /// just return their answer.
    #[expect(
        clippy::unused_self,
        reason = "it is the last that is done with a task"
    )]
    pub fn complete(self, answer: impl IntoOutcome) -> Outcome {
        answer.into_outcome()
    }

    /// Returns what fails it, for a callback that returns an [`Outcome`]. Others return
    /// [`ToolError::protocol`].
    #[expect(
        clippy::unused_self,
        reason = "it is the last that is done with a task"
    )]
    #[must_use]
    pub fn fail(self, error: WireError) -> Outcome {
        error.into()
    }
}

impl From<BecomesTask> for ToolError {
    fn from(becomes: BecomesTask) -> Self {
        Self::becoming(becomes.0)
    }
}

impl<T: Answer> IntoRefusal<T> for BecomesTask {
    fn into_refusal(self) -> Outcome<T> {
        Outcome::Task(self.0)
    }
}

/// Does not show its name, which may be the right to it.
impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task")
            .field("attempt", &self.part.attempt)
            .finish_non_exhaustive()
    }
}

/// Does not show the task's name, which may be the right to it.
impl fmt::Debug for TaskPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskPart")
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}
