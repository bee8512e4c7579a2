//! The closed list of methods, and which era knows which.
//!
//! One table is the router and the catalogue, so that the two cannot disagree
//! (inventory H-17).

use crate::capability::Gate;
use crate::era::Era;

/// Declares the table: variant, name on the wire, kind, eras, and what a server has
/// to offer, if anything.
macro_rules! methods {
    ($(
        $(#[$doc:meta])*
        $variant:ident = $name:literal, $kind:ident, [$($era:ident),+] $(, $gate:ident)?;
    )+) => {
        /// A method that clients call or a notification that they send.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Method {
            $($(#[$doc])* $variant,)+
        }

        impl Method {
            const ALL: &[Self] = &[$(Self::$variant,)+];

            /// Returns the name on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            const fn gates(self) -> &'static [Gate] {
                match self {
                    $(Self::$variant => &[$(Gate::$gate)?],)+
                }
            }

            const fn kind(self) -> Kind {
                match self {
                    $(Self::$variant => Kind::$kind,)+
                }
            }

            const fn is_in(self, era: Era) -> bool {
                match self {
                    $(Self::$variant => matches!(era, $(Era::$era)|+),)+
                }
            }

            fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

methods! {
    /// Who are you, and which versions do you speak?
    ServerDiscover = "server/discover", Request, [Modern];
    /// Agrees on a version and opens a session.
    Initialize = "initialize", Request, [Legacy];
    /// Are you there?
    Ping = "ping", Request, [Legacy];
    /// Which tools are there?
    ToolsList = "tools/list", Request, [Modern, Legacy], Tools;
    /// Runs a tool.
    ToolsCall = "tools/call", Request, [Modern, Legacy], Tools;
    /// Which resources are there?
    ResourcesList = "resources/list", Request, [Modern, Legacy], Resources;
    /// Which templates of resources are there?
    ResourceTemplatesList = "resources/templates/list", Request, [Modern, Legacy], Resources;
    /// What is in a resource?
    ResourcesRead = "resources/read", Request, [Modern, Legacy], Resources;
    /// Tell this session when a resource changes.
    ResourcesSubscribe = "resources/subscribe", Request, [Legacy], ResourceSubscriptions;
    /// Tell this session no longer.
    ResourcesUnsubscribe = "resources/unsubscribe", Request, [Legacy], ResourceSubscriptions;
    /// Which prompts are there?
    PromptsList = "prompts/list", Request, [Modern, Legacy], Prompts;
    /// What does a prompt say, filled in?
    PromptsGet = "prompts/get", Request, [Modern, Legacy], Prompts;
    /// What could an argument become?
    CompletionComplete = "completion/complete", Request, [Modern, Legacy], Completions;
    /// From which level on does this session want to hear?
    LoggingSetLevel = "logging/setLevel", Request, [Legacy], Logging;
    /// Tell of changes until the client leaves. Needs nothing: what is not offered is
    /// not honoured (M-SUB-04).
    SubscriptionsListen = "subscriptions/listen", Request, [Modern];
    /// How is a task?
    TasksGet = "tasks/get", Request, [Modern, Legacy], Tasks;
    /// Here is what a task has asked for.
    TasksUpdate = "tasks/update", Request, [Modern], Tasks;
    /// Stop a task.
    TasksCancel = "tasks/cancel", Request, [Modern, Legacy], Tasks;
    /// What did a task come to? Waits for its end (L-TASK-07).
    TasksResult = "tasks/result", Request, [Legacy], Tasks;
    /// Which tasks are there?
    TasksList = "tasks/list", Request, [Legacy], Tasks;
    /// The client has read the answer to `initialize`.
    Initialized = "notifications/initialized", Notification, [Legacy];
    /// The client no longer wants an answer.
    Cancelled = "notifications/cancelled", Notification, [Legacy];
}

impl Method {
    /// Finds the method of a request. `None` is answered with -32601.
    ///
    /// Source: seeds, handler page; M-TOOL-15, L-METH-07.
    #[must_use]
    pub fn route(era: Era, name: &str) -> Option<Self> {
        Self::named(name).filter(|method| method.is_in(era) && method.kind() == Kind::Request)
    }

    /// Finds a notification. `None` is logged and dropped, as all of the modern
    /// era are over HTTP (R5).
    ///
    /// Source: seeds, handler page.
    #[must_use]
    pub fn route_notification(era: Era, name: &str) -> Option<Self> {
        Self::named(name).filter(|method| method.is_in(era) && method.kind() == Kind::Notification)
    }

    /// Returns every method, in either era, notifications included.
    #[must_use]
    pub const fn methods() -> &'static [Self] {
        Self::ALL
    }

    /// Returns the methods of one era, notifications included.
    pub fn methods_of(era: Era) -> impl Iterator<Item = Self> {
        Self::ALL
            .iter()
            .copied()
            .filter(move |method| method.is_in(era))
    }

    /// Returns what a server has to offer for this method to be served; otherwise it
    /// is answered with -32601. `None` when every server serves it.
    ///
    /// Source: C-TYPE-16, R9.
    #[must_use]
    pub const fn capability(self) -> Option<Gate> {
        self.gates().first().copied()
    }

    /// Whether its parameters name a task, and `Mcp-Name` may repeat that (R27).
    pub(crate) const fn names_a_task(self) -> bool {
        matches!(
            self,
            Self::TasksGet | Self::TasksUpdate | Self::TasksCancel | Self::TasksResult
        )
    }

    /// Returns whether this is a notification rather than a request.
    #[must_use]
    pub const fn is_notification(self) -> bool {
        matches!(self.kind(), Kind::Notification)
    }
}

// === Behind the handle ===

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Request,
    Notification,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_era_lists_it_also_routes() {
        for era in [Era::Modern, Era::Legacy] {
            for method in Method::methods_of(era) {
                let found = if method.is_notification() {
                    Method::route_notification(era, method.as_str())
                } else {
                    Method::route(era, method.as_str())
                };
                assert_eq!(found, Some(method));
            }
        }
    }

    #[test]
    fn methods_of_one_era_are_unknown_to_the_other() {
        for name in [
            "initialize",
            "ping",
            "logging/setLevel",
            "resources/subscribe",
            "resources/unsubscribe",
            "tasks/result",
            "tasks/list",
        ] {
            assert_eq!(Method::route(Era::Modern, name), None, "{name}");
        }
        for name in ["server/discover", "subscriptions/listen", "tasks/update"] {
            assert_eq!(Method::route(Era::Legacy, name), None, "{name}");
        }
    }

    #[test]
    fn the_modern_era_has_no_notifications() {
        assert!(!Method::methods_of(Era::Modern).any(Method::is_notification));
        let found = Method::route_notification(Era::Modern, "notifications/cancelled");
        assert_eq!(found, None);
    }

    #[test]
    fn a_request_cannot_name_a_notification_nor_the_other_way_round() {
        assert_eq!(Method::route(Era::Legacy, "notifications/cancelled"), None);
        assert_eq!(Method::route_notification(Era::Legacy, "tools/call"), None);
    }

    #[test]
    fn a_method_needs_what_its_family_needs() {
        for (method, gate) in [
            (Method::ToolsCall, Some(Gate::Tools)),
            (Method::ResourceTemplatesList, Some(Gate::Resources)),
            (Method::ResourcesRead, Some(Gate::Resources)),
            (
                Method::ResourcesUnsubscribe,
                Some(Gate::ResourceSubscriptions),
            ),
            (Method::PromptsGet, Some(Gate::Prompts)),
            (Method::CompletionComplete, Some(Gate::Completions)),
            (Method::LoggingSetLevel, Some(Gate::Logging)),
            (Method::TasksGet, Some(Gate::Tasks)),
            (Method::TasksList, Some(Gate::Tasks)),
            (Method::Ping, None),
            (Method::SubscriptionsListen, None),
            (Method::Cancelled, None),
        ] {
            assert_eq!(method.capability(), gate, "{method:?}");
        }
    }

    #[test]
    fn names_are_compared_exactly() {
        for name in ["Ping", "tools/list ", "", "foo/bar"] {
            assert_eq!(Method::route(Era::Legacy, name), None, "{name}");
        }
    }

    #[test]
    fn the_catalogue_is_the_union_of_both_eras() {
        for method in Method::methods() {
            assert!(
                [Era::Modern, Era::Legacy]
                    .into_iter()
                    .any(|era| Method::methods_of(era).any(|found| found == *method))
            );
        }
    }

    #[test]
    fn tasks_are_looked_at_and_stopped_in_both_eras() {
        for era in [Era::Modern, Era::Legacy] {
            for method in [Method::TasksGet, Method::TasksCancel] {
                assert_eq!(Method::route(era, method.as_str()), Some(method));
            }
        }
    }
}
