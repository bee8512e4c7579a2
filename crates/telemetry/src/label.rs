//! The values that labels may have: closed sets, so that no client can add a
//! time series.

use std::sync::LazyLock;

use conduit_protocol::Method;

/// Makes an enum whose variants are the values of one label.
macro_rules! label {
    (
        $(#[$of_enum:meta])*
        $name:ident { $($(#[$of_variant:meta])* $variant:ident => $text:literal,)+ }
    ) => {
        $(#[$of_enum])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$of_variant])* $variant,)+
        }

        impl $name {
            /// Every value, in the order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Returns the value of the label.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

label! {
    /// What became of a request or of a tool call.
    Outcome {
        /// It was answered with a result.
        Ok => "ok",
        /// The tool ran and said that it failed (`isError`).
        ToolError => "tool_error",
        /// It was answered with a JSON-RPC error.
        Error => "error",
        /// The callback panicked; the client got an error.
        Panic => "panic",
        /// It ran longer than it may.
        Timeout => "timeout",
        /// It was cancelled, or its client left.
        Cancelled => "cancelled",
        /// It was turned away before its callback ran.
        Refused => "refused",
        /// Its callback has asked the client for input, and ended this round.
        InputRequired => "input_required",
        /// It goes on as a task.
        Task => "task",
    }
}

impl Outcome {
    /// Returns `ok` or `error`, the status that the events of the seeds know.
    #[must_use]
    pub const fn status(self) -> &'static str {
        match self {
            Self::Ok | Self::InputRequired | Self::Task => "ok",
            Self::ToolError
            | Self::Error
            | Self::Panic
            | Self::Timeout
            | Self::Cancelled
            | Self::Refused => "error",
        }
    }
}

label! {
    /// The era of a request, as far as it is known.
    Era {
        /// Without a session, since 2026-07-28.
        Modern => "modern",
        /// With a handshake, up to 2025-11-25.
        Legacy => "legacy",
        /// It was turned away before anybody could tell.
        Unknown => "unknown",
    }
}

label! {
    /// Why a request was turned away before its callback.
    RefusedReason {
        /// The dispatcher has as many calls as it may.
        Overload => "overload",
        /// The dispatcher did not answer in time, or was being restarted.
        Stalled => "stalled",
        /// The store cannot be reached.
        Store => "store",
        /// As many sessions are open as may be.
        Sessions => "sessions",
        /// As many streams, or topics that they listen to, are open as may be.
        Streams => "streams",
        /// The `Host` is not one of ours (R13).
        Host => "host",
        /// The `Origin` may not talk to us (R13).
        Origin => "origin",
        /// No such path.
        Path => "path",
        /// The HTTP method is not one that the path knows.
        HttpMethod => "http_method",
        /// The client accepts no type that we speak.
        Accept => "accept",
        /// The body's type is not JSON.
        MediaType => "media_type",
        /// The body is longer than it may be.
        BodySize => "body_size",
        /// The body came too slowly.
        BodyTimeout => "body_timeout",
        /// The body is not a message, or its headers contradict it.
        Malformed => "malformed",
        /// The session is not known, or has ended.
        Session => "session",
    }
}

label! {
    /// Why the state that a client brought back was refused. Clients are not told (R15).
    BadState {
        /// It is not one of ours, or was cut.
        Malformed => "malformed",
        /// It was sealed with a key that is not in the ring, or no more.
        UnknownKey => "unknown_key",
        /// It was changed, or belongs to another request.
        Forged => "forged",
        /// Its time is over.
        Expired => "expired",
        /// It holds for one use, and was used.
        Spent => "spent",
    }
}

label! {
    /// Which way a frame went.
    Direction {
        /// From the peer to us.
        In => "in",
        /// From us to the peer.
        Out => "out",
    }
}

label! {
    /// What an open event stream is for.
    StreamKind {
        /// The answer to one call.
        Call => "call",
        /// Changes that a modern client listens to.
        Listen => "listen",
        /// The standing stream of a legacy session.
        Session => "session",
    }
}

label! {
    /// What was asked of the store.
    StoreOperation {
        /// Keep a new session.
        OpenSession => "open_session",
        /// Look one up.
        LookSession => "look_session",
        /// Change the log level of one.
        SetSessionLevel => "set_session_level",
        /// Change which resources one hears of.
        SubscribeSession => "subscribe_session",
        /// Note that sessions are in use.
        TouchSessions => "touch_sessions",
        /// End one.
        EndSession => "end_session",
        /// Throw away what is too old.
        Sweep => "sweep",
        /// Keep a new task.
        CreateTask => "create_task",
        /// Look one up.
        LookTask => "look_task",
        /// Look up the versions of many.
        TaskVersions => "task_versions",
        /// List those of an owner.
        ListTasks => "list_tasks",
        /// Keep what a client has answered.
        AnswerTask => "answer_task",
        /// Cancel one.
        CancelTask => "cancel_task",
        /// Give work to a gateway.
        TakeTasks => "take_tasks",
        /// Hear which ones a gateway still works on.
        RenewTasks => "renew_tasks",
        /// Note what one says of itself.
        NoteTask => "note_task",
        /// End a round of one with questions.
        SuspendTask => "suspend_task",
        /// End one.
        FinishTask => "finish_task",
        /// Take back work that a gateway gives up.
        ReleaseTasks => "release_tasks",
        /// Take work from a gateway that has died.
        TakeOver => "take_over",
        /// Throw away tasks whose time is over.
        SweepTasks => "sweep_tasks",
        /// Use up a sealed state.
        SpendState => "spend_state",
        /// Throw away used states that are too old.
        SweepSpent => "sweep_spent",
    }
}

label! {
    /// How far a task is.
    TaskState {
        /// Its work goes on, or is about to.
        Working => "working",
        /// It waits for its client.
        InputRequired => "input_required",
        /// It has a result.
        Completed => "completed",
        /// It has an error.
        Failed => "failed",
        /// It was cancelled.
        Cancelled => "cancelled",
    }
}

label! {
    /// What became of a task that lost its gateway.
    TakeoverOutcome {
        /// Another may start it again.
        Restarted => "restarted",
        /// It has failed.
        Failed => "failed",
    }
}

label! {
    /// What the store answered.
    StoreOutcome {
        /// Done, and durable where that applies.
        Ok => "ok",
        /// There is nothing of that id.
        Missing => "missing",
        /// As many as there may be, or not ready.
        Refused => "refused",
        /// The disk or the database would not.
        Failed => "failed",
    }
}

label! {
    /// What became of a piece of mail at one recipient.
    MailOutcome {
        /// It meant something to the recipient.
        Taken => "taken",
        /// It arrived and meant nothing there.
        Untaken => "untaken",
        /// No receipt came in time.
        Missing => "missing",
        /// The hub had no room for it.
        Refused => "refused",
    }
}

label! {
    /// What became of a change that a server of a gateway has published.
    ChangeOutcome {
        /// Every gateway that listens has noted it.
        Told => "told",
        /// Nobody listens, and the gateway knew that.
        Unheard => "unheard",
        /// The same change waited to be told already.
        Coalesced => "coalesced",
        /// Not everybody who listens has noted it: it is published again.
        Retried => "retried",
        /// As many changes as may be wait to be told, and nobody waits for this one.
        Dropped => "dropped",
    }
}

label! {
    /// What became of a change at one stream.
    StreamChange {
        /// It was handed to the stream's connection.
        Delivered => "delivered",
        /// The same change waited for the client to read already.
        Coalesced => "coalesced",
        /// It was lost. Changes never are.
        Dropped => "dropped",
    }
}

label! {
    /// Where an author's callbacks run.
    Pool {
        /// Async callbacks.
        Async => "async",
        /// Blocking callbacks.
        Blocking => "blocking",
    }
}

label! {
    /// Who stopped a request.
    CancelledBy {
        /// The client said so.
        Notice => "notice",
        /// The client hung up.
        HangUp => "hang_up",
        /// The client said so to another gateway.
        Mail => "mail",
        /// Its time was over.
        Deadline => "deadline",
        /// The process is ending.
        Drain => "drain",
    }
}

label! {
    /// Why a child process ended.
    ExitCause {
        /// We had asked it to.
        Asked => "asked",
        /// By itself, with status zero.
        Left => "left",
        /// By itself, with another status.
        Failed => "failed",
        /// A signal that we did not send.
        Signal => "signal",
        /// We killed it because it hung.
        Hung => "hung",
        /// We killed it because it did not get ready in time.
        NeverReady => "never_ready",
    }
}

label! {
    /// What was thrown away rather than waited for.
    LostKind {
        /// An event that found the sink's queue full, or no sink.
        Event => "event",
        /// A log line that found nobody reading.
        Line => "line",
        /// A notification of a call that its client read too slowly to get.
        Notification => "notification",
    }
}

impl From<conduit_protocol::Era> for Era {
    fn from(era: conduit_protocol::Era) -> Self {
        match era {
            conduit_protocol::Era::Modern => Self::Modern,
            conduit_protocol::Era::Legacy => Self::Legacy,
        }
    }
}

/// The label of whatever is in no closed set.
pub(crate) const OTHER: &str = "other";

/// Returns how many values the label `method` may have.
pub(crate) fn method_count() -> usize {
    METHODS.len() + 1
}

/// Returns the index of a method; the last one for any that is not routed.
pub(crate) fn method_index(method: Option<&str>) -> usize {
    method
        .and_then(|method| METHODS.binary_search(&method).ok())
        .unwrap_or(METHODS.len())
}

/// Returns the label of the method with this index.
pub(crate) fn method_label(index: usize) -> &'static str {
    METHODS.get(index).copied().unwrap_or(OTHER)
}

// === Behind the labels ===

/// The methods that the protocol routes, sorted.
static METHODS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let mut names: Vec<_> = Method::methods()
        .iter()
        .map(|method| method.as_str())
        .collect();
    names.sort_unstable();
    names
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_routed_method_finds_itself() {
        for method in Method::methods() {
            let name = method.as_str();
            assert_eq!(method_label(method_index(Some(name))), name);
        }
    }

    #[test]
    fn a_method_that_a_client_made_up_is_other() {
        assert_eq!(method_label(method_index(Some("tools/delete"))), OTHER);
        assert_eq!(method_label(method_index(None)), OTHER);
    }

    #[test]
    fn the_index_of_an_outcome_is_its_place_in_all() {
        for (place, outcome) in Outcome::ALL.iter().enumerate() {
            assert_eq!(*outcome as usize, place);
        }
        for (place, era) in Era::ALL.iter().enumerate() {
            assert_eq!(*era as usize, place);
        }
        for (place, reason) in RefusedReason::ALL.iter().enumerate() {
            assert_eq!(*reason as usize, place);
        }
    }
}
