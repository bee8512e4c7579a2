//! What a callback may know about its call, and say before it answers.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use conduit_protocol::{ClientCapabilities, Era, LogLevel, ProgressToken, RequestId, TraceContext};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use crate::{Changes, Emission, Emit, Input, TaskPart};

/// One call, as its callback sees it. Cloning is cheap.
#[derive(Clone)]
pub struct Context {
    call: Arc<ContextParts>,
    changes: Changes,
}

/// What the runtime makes a [`Context`] of.
#[derive(Clone)]
pub struct ContextParts {
    /// Which of the two ways of speaking the client uses.
    pub era: Era,
    /// The revision of the protocol, such as `2026-07-28`; `None` when the client
    /// named none.
    pub version: Option<Cow<'static, str>>,
    /// The legacy session, if the call belongs to one.
    pub session: Option<Arc<str>>,
    /// On whose behalf the call is made, once somebody has authenticated.
    pub principal: Option<Arc<str>>,
    /// The client's name for the call; two clients may choose the same.
    pub request_id: RequestId,
    /// What the client says it is, as it wrote it.
    pub client_info: Option<Box<RawValue>>,
    /// What the client can be asked for.
    pub capabilities: ClientCapabilities,
    /// The lowest level of the log lines that the client wants; `None` for no lines.
    pub log_level: Option<LogLevel>,
    /// The trace that the client asks to be continued.
    pub trace: TraceContext,
    /// With which the client asked for progress.
    pub progress_token: Option<ProgressToken>,
    /// Cancelled when nobody waits for the result any more.
    pub token: CancellationToken,
    /// Where emissions go; `None` drops them.
    pub emit: Option<Arc<dyn Emit>>,
    /// What earlier rounds have brought; [`Input::none`] in the first one.
    pub input: Arc<Input>,
    /// Whether the call may become a task.
    pub allows_task: bool,
    /// The task as which the callback runs, if it does.
    pub task: Option<TaskPart>,
}

/// A call that nobody has made, of a modern client that can do nothing: for tests of
/// callbacks.
///
/// ```
/// use conduit_server::{ClientCapabilities, Context, ContextParts};
///
/// let context = Context::new(ContextParts {
///     capabilities: ClientCapabilities::from_json(r#"{"elicitation":{}}"#).unwrap_or_default(),
///     ..ContextParts::default()
/// });
/// assert!(context.client_capabilities().elicits_forms());
/// ```
impl Default for ContextParts {
    fn default() -> Self {
        Self {
            era: Era::Modern,
            version: None,
            session: None,
            principal: None,
            request_id: RequestId::from(0),
            client_info: None,
            capabilities: ClientCapabilities::default(),
            log_level: None,
            trace: TraceContext::default(),
            progress_token: None,
            token: CancellationToken::new(),
            emit: None,
            input: Input::none(),
            allows_task: false,
            task: None,
        }
    }
}

/// The call was cancelled: nobody waits for its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the call was cancelled")]
pub struct Cancelled;

impl Context {
    /// Makes the context of one call.
    #[must_use]
    pub fn new(parts: ContextParts) -> Self {
        Self {
            call: Arc::new(parts),
            changes: Changes::default(),
        }
    }

    /// Returns the same call in its next round.
    #[must_use]
    pub fn with_input(&self, input: Arc<Input>) -> Self {
        let call = ContextParts {
            input,
            ..ContextParts::clone(&self.call)
        };
        Self {
            call: Arc::new(call),
            changes: self.changes.clone(),
        }
    }

    /// Lets the callback publish what has changed.
    #[must_use]
    pub fn with_changes(self, changes: Changes) -> Self {
        Self { changes, ..self }
    }

    /// Returns which of the two ways of speaking the client uses. A tool rarely
    /// needs it: its answers fit both.
    #[must_use]
    pub fn era(&self) -> Era {
        self.call.era
    }

    /// Returns the revision of the protocol, such as `2026-07-28`, unless the
    /// client named none.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        self.call.version.as_deref()
    }

    /// Returns the legacy session, if the call belongs to one.
    #[must_use]
    pub fn session(&self) -> Option<&str> {
        self.call.session.as_deref()
    }

    /// Returns on whose behalf the call is made, if that is known.
    #[must_use]
    pub fn principal(&self) -> Option<&str> {
        self.call.principal.as_deref()
    }

    /// Returns the client's name for the call. Two clients may choose the same.
    #[must_use]
    pub fn request_id(&self) -> &RequestId {
        &self.call.request_id
    }

    /// Returns what the client says it is, such as `{"name":"x","version":"1"}`.
    /// Nobody has checked it.
    #[must_use]
    pub fn client_info(&self) -> Option<&RawValue> {
        self.call.client_info.as_deref()
    }

    /// Returns what the client says it can be asked for.
    #[must_use]
    pub fn client_capabilities(&self) -> &ClientCapabilities {
        &self.call.capabilities
    }

    /// Returns the lowest level of the log lines that the client wants; `None` when it
    /// wants no lines. Whoever only wants to write some calls [`log`](Self::log).
    #[must_use]
    pub fn log_level(&self) -> Option<LogLevel> {
        self.call.log_level
    }

    /// Returns the trace that the client asks to be continued.
    #[must_use]
    pub fn trace(&self) -> &TraceContext {
        &self.call.trace
    }

    /// Returns the token with which the client asked for progress. Whoever only
    /// wants to report some calls [`progress`](Self::progress).
    #[must_use]
    pub fn progress_token(&self) -> Option<&ProgressToken> {
        self.call.progress_token.as_ref()
    }

    /// Tells whether anybody still waits for the result. A blocking tool asks this
    /// now and then.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.call.token.is_cancelled()
    }

    /// Waits until nobody waits for the result any more.
    ///
    /// # Cancel safety
    ///
    /// Safe.
    pub async fn cancelled(&self) {
        self.call.token.cancelled().await;
    }

    /// Waits for `work`, unless the call is cancelled first; `work` is then dropped.
    ///
    /// # Errors
    ///
    /// [`Cancelled`], which a handler passes on with `?`.
    ///
    /// # Cancel safety
    ///
    /// As safe as `work`.
    pub async fn unless_cancelled<T>(&self, work: impl Future<Output = T>) -> Result<T, Cancelled> {
        self.call
            .token
            .run_until_cancelled(work)
            .await
            .ok_or(Cancelled)
    }

    /// Sleeps, unless the call is cancelled first.
    ///
    /// # Errors
    ///
    /// [`Cancelled`], which a handler passes on with `?`.
    ///
    /// # Cancel safety
    ///
    /// Safe.
    pub async fn sleep(&self, duration: Duration) -> Result<(), Cancelled> {
        self.unless_cancelled(tokio::time::sleep(duration)).await
    }

    /// Reports progress, if the client asked for it: `done` of `total`, in any unit. Of a
    /// task it becomes the status that its client finds.
    ///
    /// Each report should have more `done` than the one before. What is not a
    /// finite number is not sent. Never blocks.
    pub fn progress(&self, done: f64, total: Option<f64>, message: Option<&str>) {
        let Some(emit) = self.progress_emit() else {
            return;
        };
        if done.is_finite() {
            emit.emit(Emission::Progress {
                done,
                total: total.filter(|total| total.is_finite()),
                message: message.map(str::to_owned),
            });
        }
    }

    /// Says what the task is doing, to whoever asks for its status; does nothing in a
    /// call. Never blocks.
    pub fn status(&self, message: impl Into<String>) {
        if let (Some(_task), Some(emit)) = (&self.call.task, &self.call.emit) {
            emit.emit(Emission::Status {
                message: message.into(),
            });
        }
    }

    /// Writes a line to the client's log, if the client wants lines of this level:
    /// `logger` is what speaks, `data` a text or any other JSON. Never blocks.
    pub fn log(&self, level: LogLevel, logger: Option<&str>, data: impl Into<Value>) {
        if let Some(emit) = &self.call.emit {
            emit.emit(Emission::Log {
                level,
                logger: logger.map(str::to_owned),
                data: data.into(),
            });
        }
    }
}

/// How its answer travels.
impl Context {
    /// Ends the stream of this call early, so that nobody has to hold a connection open
    /// for as long as the call lasts: the client comes back after `retry` and gets the
    /// rest. Does nothing where that is not possible, which is everywhere but in
    /// sessions of 2025-11-25 over HTTP.
    pub fn close_stream(&self, retry: Duration) {
        if let Some(emit) = &self.call.emit {
            emit.emit(Emission::Close { retry });
        }
    }
}

/// What it can tell others.
impl Context {
    /// Returns what to tell clients with that something of the server has changed.
    #[must_use]
    pub const fn changes(&self) -> &Changes {
        &self.changes
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.call.fmt(f)
    }
}

/// Shows neither the session nor the principal: with a session's id one can act
/// as its client.
impl fmt::Debug for ContextParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("era", &self.era)
            .field("version", &self.version)
            .field("request_id", &self.request_id)
            .finish_non_exhaustive()
    }
}

// === Behind the handle ===

impl Context {
    pub(crate) fn parts(&self) -> &ContextParts {
        &self.call
    }

    pub(crate) fn input(&self) -> &Input {
        &self.call.input
    }

    fn progress_emit(&self) -> Option<&Arc<dyn Emit>> {
        let wanted = self.call.progress_token.is_some() || self.call.task.is_some();
        self.call.emit.as_ref().filter(|_| wanted)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    impl Emit for Sender<Emission> {
        fn emit(&self, emission: Emission) {
            self.send(emission).expect("a listener");
        }
    }

    fn parts() -> (ContextParts, Receiver<Emission>) {
        let (sender, receiver) = channel();
        let parts = ContextParts {
            era: Era::Modern,
            version: None,
            session: Some("secret-session".into()),
            principal: Some("secret-principal".into()),
            request_id: RequestId::from(1),
            client_info: None,
            capabilities: ClientCapabilities::default(),
            log_level: None,
            trace: TraceContext::default(),
            progress_token: ProgressToken::from_json("1").ok(),
            token: CancellationToken::new(),
            emit: Some(Arc::new(sender)),
            input: Input::none(),
            allows_task: false,
            task: None,
        };
        (parts, receiver)
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_goes_on_sleeps_to_the_end() {
        let context = Context::new(parts().0);

        assert_eq!(context.sleep(Duration::from_hours(1)).await, Ok(()));
    }

    #[tokio::test]
    async fn a_call_that_nobody_waits_for_does_not_sleep() {
        let (parts, _said) = parts();
        parts.token.cancel();
        let context = Context::new(parts);

        let slept = context.sleep(Duration::from_hours(1)).await;

        assert_eq!(slept, Err(Cancelled));
        assert!(context.is_cancelled());
        context.cancelled().await;
    }

    #[test]
    fn progress_is_sent_in_finite_numbers() {
        let (parts, said) = parts();
        let context = Context::new(parts);

        context.progress(f64::NAN, None, None);
        context.progress(1.0, Some(f64::INFINITY), Some("one"));
        drop(context);

        assert_eq!(
            said.iter().collect::<Vec<_>>(),
            [Emission::Progress {
                done: 1.0,
                total: None,
                message: Some("one".to_owned()),
            }]
        );
    }

    #[test]
    fn progress_is_sent_only_to_who_asked_for_it() {
        let (mut parts, said) = parts();
        parts.progress_token = None;

        Context::new(parts).progress(1.0, None, None);

        assert_eq!(said.iter().count(), 0);
    }

    #[test]
    fn a_log_line_is_passed_on() {
        let (parts, said) = parts();

        Context::new(parts).log(LogLevel::Info, None, "hello");

        assert_eq!(
            said.iter().collect::<Vec<_>>(),
            [Emission::Log {
                level: LogLevel::Info,
                logger: None,
                data: "hello".into(),
            }]
        );
    }

    #[test]
    fn a_context_does_not_print_who_calls() {
        let printed = format!("{:?}", Context::new(parts().0));

        assert!(!printed.contains("secret"), "{printed}");
    }
}
