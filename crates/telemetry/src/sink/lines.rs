//! The log line of each event.

use std::time::Duration;

use tracing::{debug, error, info, warn};

use crate::event::{Event, Trace};
use crate::label::{Era, ExitCause, Outcome};

/// The target of events that the seeds did not have.
const OURS: &str = "conduit";

/// Writes the line of an event.
///
/// Texts of clients are written as Rust strings, so that they cannot look like
/// lines of ours; what a client did not say is left out. Events of the seeds keep their names, as targets, and the
/// names of their fields.
pub(super) fn write(event: &Event) {
    match event {
        Event::RequestStopped {
            server,
            method,
            era,
            version,
            outcome,
            took,
            trace,
        } => {
            let method = method.as_deref();
            request_stopped(
                server,
                method,
                *era,
                version.as_deref(),
                *outcome,
                *took,
                trace,
            );
        }
        Event::ToolExecuted {
            server,
            tool,
            outcome,
            took,
        } => debug!(
            target: "conduit_mcp.tool.execute",
            duration = ?took, tool_name = tool.as_deref(), server_module = server,
            status = outcome.status(), %outcome, "tool executed"
        ),
        Event::ResourceRead {
            server,
            uri,
            outcome,
            took,
        } => debug!(
            target: "conduit_mcp.resource.read",
            duration = ?took, uri = uri.as_deref(), server_module = server,
            status = outcome.status(), %outcome, "resource read"
        ),
        Event::PromptGot {
            server,
            prompt,
            outcome,
            took,
        } => debug!(
            target: "conduit_mcp.prompt.get",
            duration = ?took, prompt_name = prompt.as_deref(), server_module = server,
            status = outcome.status(), %outcome, "prompt got"
        ),
        Event::InputRequired {
            server,
            method,
            requests,
            has_state,
        } => debug!(
            target: "conduit_mcp.mrtr.input_required",
            method, server_module = server, requests, has_state, "input required"
        ),
        Event::TaskRun {
            server,
            tool,
            outcome,
            took,
        } => debug!(target: OURS, server, tool, %outcome, ?took, "work of a task ended"),
        Event::SubscriptionStarted {
            server,
            subscription,
        } => debug!(
            target: "conduit_mcp.subscription.start",
            subscription_id = subscription, server_module = server, "subscription started"
        ),
        Event::SubscriptionStopped {
            server,
            subscription,
            reason,
            took,
        } => debug!(
            target: "conduit_mcp.subscription.stop",
            duration = ?took, subscription_id = subscription, server_module = server,
            reason, "subscription stopped"
        ),
        Event::RequestCancelled {
            request_id,
            reason,
            by,
            scope: _secret,
        } => debug!(
            target: "conduit_mcp.request.cancelled",
            request_id, reason = reason.as_deref(), %by, "request cancelled"
        ),
        Event::CallRefused { reason } => {
            debug!(target: OURS, %reason, "call refused");
        }
        Event::CallbackPanicked { server, tool } => {
            error!(target: OURS, server, tool, "callback panicked");
        }
        Event::WorkerAbandoned { server, tool, pool } => {
            warn!(target: OURS, server, tool, %pool, "callback overran its grace, left to itself");
        }
        Event::LoopStalled { server, tool, took } => {
            warn!(target: OURS, server, tool, ?took, "inline callback held up the loop");
        }
        Event::ChildStarted { slot, pid } => info!(target: OURS, slot, pid, "child started"),
        Event::ChildReady { slot, pid, took } => {
            info!(target: OURS, slot, pid, ?took, "child ready");
        }
        Event::ChildExited {
            slot,
            pid,
            cause: ExitCause::Asked,
            status,
        } => info!(target: OURS, slot, pid, status, "child exited"),
        Event::ChildExited {
            slot,
            pid,
            cause,
            status,
        } => warn!(target: OURS, slot, pid, status, %cause, "child exited unasked"),
        Event::ChildRestarted { slot, pid, delay } => {
            info!(target: OURS, slot, pid, ?delay, "child restarted");
        }
        Event::SlotParked { slot, pause } => {
            error!(target: OURS, slot, ?pause, "slot failed too often, parked");
        }
        Event::LinkUp { peer } => info!(target: OURS, peer, "link up"),
        Event::LinkDown {
            peer,
            reason: reason @ ("ended" | "closed"),
        } => info!(target: OURS, peer, reason, "link down"),
        Event::LinkDown { peer, reason } => warn!(target: OURS, peer, reason, "link down"),
        Event::ScrapeMissed { slot } => {
            warn!(target: OURS, slot, "child did not answer a scrape in time");
        }
    }
}

fn request_stopped(
    server: &str,
    method: Option<&str>,
    era: Era,
    version: Option<&str>,
    outcome: Outcome,
    took: Duration,
    trace: &Trace<String>,
) {
    let Trace {
        traceparent,
        tracestate,
        baggage,
    } = trace;
    debug!(
        target: "conduit_mcp.request.stop",
        duration = ?took, method, server_module = server,
        status = outcome.status(), %outcome, %era, protocol_version = version,
        traceparent = traceparent.as_deref(), tracestate = tracestate.as_deref(),
        baggage = baggage.as_deref(), "request stopped"
    );
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::label::CancelledBy;
    use crate::logging::LogFormat;
    use crate::logging::tests::logged;

    fn line_of(event: &Event) -> Value {
        let text = logged(LogFormat::Json, "trace", || write(event));
        serde_json::from_str(text.trim_end()).expect("one line")
    }

    #[test]
    fn a_request_is_told_under_the_name_and_with_the_fields_of_the_seeds() {
        let line = line_of(&Event::RequestStopped {
            server: "demo".to_owned(),
            method: Some("tools/list".to_owned()),
            era: Era::Modern,
            version: Some("2026-07-28".to_owned()),
            outcome: Outcome::Ok,
            took: Duration::from_millis(2),
            trace: Trace {
                traceparent: Some("00-1".to_owned()),
                tracestate: Some("a=b".to_owned()),
                baggage: Some("c=d".to_owned()),
            },
        });

        assert_eq!(line["target"], "conduit_mcp.request.stop");
        assert_eq!(line["level"], "DEBUG");
        for field in [
            "duration",
            "method",
            "server_module",
            "status",
            "era",
            "protocol_version",
            "traceparent",
            "tracestate",
            "baggage",
        ] {
            assert!(line["fields"].get(field).is_some(), "no {field} in {line}");
        }
    }

    #[test]
    fn a_tool_that_failed_has_status_error() {
        let line = line_of(&Event::ToolExecuted {
            server: "demo".to_owned(),
            tool: Some("boom".to_owned()),
            outcome: Outcome::Panic,
            took: Duration::ZERO,
        });

        assert_eq!(line["target"], "conduit_mcp.tool.execute");
        assert_eq!(line["fields"]["tool_name"], "boom");
        assert_eq!(line["fields"]["status"], "error");
        assert_eq!(line["fields"]["outcome"], "panic");
    }

    #[test]
    fn a_resource_and_a_prompt_are_told_under_the_names_and_with_the_fields_of_the_seeds() {
        let read = line_of(&Event::ResourceRead {
            server: "demo".to_owned(),
            uri: Some("file:///notes".to_owned()),
            outcome: Outcome::Ok,
            took: Duration::from_millis(2),
        });
        let got = line_of(&Event::PromptGot {
            server: "demo".to_owned(),
            prompt: Some("review".to_owned()),
            outcome: Outcome::Timeout,
            took: Duration::from_millis(2),
        });

        assert_eq!(read["target"], "conduit_mcp.resource.read");
        assert_eq!(read["fields"]["uri"], "file:///notes");
        assert_eq!(read["fields"]["status"], "ok");
        assert_eq!(got["target"], "conduit_mcp.prompt.get");
        assert_eq!(got["fields"]["prompt_name"], "review");
        assert_eq!(got["fields"]["status"], "error");
        for line in [read, got] {
            for field in ["duration", "server_module"] {
                assert!(line["fields"].get(field).is_some(), "no {field} in {line}");
            }
        }
    }

    #[test]
    fn a_subscription_is_told_at_its_start_and_with_its_lifetime_at_its_end() {
        let start = line_of(&Event::SubscriptionStarted {
            server: "demo".to_owned(),
            subscription: "7".to_owned(),
        });
        let stop = line_of(&Event::SubscriptionStopped {
            server: "demo".to_owned(),
            subscription: "7".to_owned(),
            reason: "drain",
            took: Duration::from_hours(1),
        });

        assert_eq!(start["target"], "conduit_mcp.subscription.start");
        assert_eq!(start["fields"]["subscription_id"], "7");
        assert_eq!(stop["target"], "conduit_mcp.subscription.stop");
        assert_eq!(stop["fields"]["subscription_id"], "7");
        assert_eq!(stop["fields"]["reason"], "drain");
        assert_eq!(stop["fields"]["duration"], "3600s");
    }

    #[test]
    fn a_scope_that_may_hold_a_session_is_not_told() {
        let line = line_of(&Event::RequestCancelled {
            request_id: "7".to_owned(),
            scope: "session:0f8fad5b".to_owned(),
            reason: Some("changed\nmy mind".to_owned()),
            by: CancelledBy::Notice,
        });

        assert_eq!(line["target"], "conduit_mcp.request.cancelled");
        assert_eq!(line["fields"]["request_id"], "7");
        assert_eq!(line["fields"]["reason"], "changed\nmy mind");
        assert!(!line.to_string().contains("0f8fad5b"));
    }

    #[test]
    fn a_text_of_a_client_cannot_begin_a_line() {
        let text = logged(LogFormat::Text, "trace", || {
            write(&Event::ToolExecuted {
                server: "demo".to_owned(),
                tool: Some("x\ngateway-0  ERROR all is lost".to_owned()),
                outcome: Outcome::Refused,
                took: Duration::ZERO,
            });
        });

        assert_eq!(text.lines().count(), 1, "{text}");
    }

    #[test]
    fn what_a_client_did_not_say_is_left_out() {
        let line = line_of(&Event::ToolExecuted {
            server: "demo".to_owned(),
            tool: None,
            outcome: Outcome::Refused,
            took: Duration::ZERO,
        });

        assert_eq!(line["fields"].get("tool_name"), None);
    }

    #[test]
    fn a_link_that_was_closed_is_no_warning() {
        let down = |reason| {
            let peer = "hub-0".to_owned();
            let line = line_of(&Event::LinkDown { peer, reason });
            (line["target"].clone(), line["level"].clone())
        };

        assert_eq!(down("ended"), ("conduit".into(), "INFO".into()));
        assert_eq!(down("closed"), ("conduit".into(), "INFO".into()));
        assert_eq!(down("silent"), ("conduit".into(), "WARN".into()));
        assert_eq!(down("lost"), ("conduit".into(), "WARN".into()));
    }

    #[test]
    fn a_child_that_was_asked_to_end_is_no_warning() {
        let ended = |cause| {
            let line = line_of(&Event::ChildExited {
                slot: "gateway-0".to_owned(),
                pid: 7,
                cause,
                status: "exit status: 0".to_owned(),
            });
            line["level"].clone()
        };

        assert_eq!(ended(ExitCause::Asked), "INFO");
        assert_eq!(ended(ExitCause::Left), "WARN");
        assert_eq!(ended(ExitCause::Hung), "WARN");
    }
}
