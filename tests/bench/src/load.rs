//! The requests that targets are driven with, and what a good answer to each is.

pub(crate) mod calls;

use clap::ValueEnum;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::endpoint::Endpoint;
use crate::request::{FIRST_ID, ID, Request, TASK};

const LEGACY: &str = "2025-11-25";
const MODERN: &str = "2026-07-28";
/// How many tools a list has at least, so that lists are comparable.
const TOOLS: usize = 100;

/// One kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Load {
    /// The tool `echo`, 2026-07-28
    Modern,
    /// The tool `echo`, 2025-11-25, without a session
    Call,
    /// The tool `echo`, 2025-11-25, one session for each connection
    Session,
    /// The tool `echo_pool`, which the worker pool runs, 2026-07-28
    Pool,
    /// The tool `echo_pool`, 2025-11-25, without a session
    PoolLegacy,
    /// A list of 100 tools, 2026-07-28
    List,
    /// A list of 100 tools, 2025-11-25, without a session
    ListLegacy,
    /// A ping, 2025-11-25, without a session
    Ping,
    /// A call that becomes a task whose work goes on, or waits for its turn
    #[value(skip)]
    Create,
    /// A call that becomes a task which is done at once
    #[value(skip)]
    CreateDone,
    /// A look at one of the tasks that were stored
    #[value(skip)]
    LookTask,
}

/// What the first slice promises.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Goal {
    /// At least this share of the floor's requests a second.
    pub(crate) rate: f64,
    /// At most this many times the floor's CPU time for a request.
    pub(crate) cpu: Option<f64>,
}

/// The era of a request: a version, and how it is told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Era {
    Modern,
    Legacy,
}

impl Load {
    /// Returns the heading of its table.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Modern => "modern: 2026-07-28 tools/call echo",
            Self::Call => "call: 2025-11-25 tools/call echo, no session",
            Self::Session => "session: 2025-11-25 tools/call echo, one session a connection",
            Self::Pool => "pool: 2026-07-28 tools/call echo_pool",
            Self::PoolLegacy => "pool-legacy: 2025-11-25 tools/call echo_pool, no session",
            Self::List => "list: 2026-07-28 tools/list, 100 tools",
            Self::ListLegacy => "list-legacy: 2025-11-25 tools/list, 100 tools, no session",
            Self::Ping => "ping: 2025-11-25 ping, no session",
            Self::Create => "create: 2026-07-28 tools/call that becomes a task",
            Self::CreateDone => "create-done: the same with a task that is done at once",
            Self::LookTask => "look: 2026-07-28 tasks/get",
        }
    }

    /// Returns what is promised; nothing for a ping.
    pub(crate) const fn goal(self) -> Option<Goal> {
        let (rate, cpu) = match self {
            Self::Modern | Self::Call | Self::Session => (0.75, Some(1.6)),
            Self::Pool | Self::PoolLegacy => (0.6, None),
            Self::List | Self::ListLegacy => (0.85, None),
            Self::Ping | Self::Create | Self::CreateDone | Self::LookTask => return None,
        };
        Some(Goal { rate, cpu })
    }

    /// Says whether each connection has a session of its own.
    pub(crate) const fn has_session(self) -> bool {
        matches!(self, Self::Session)
    }

    /// Says whether it looks at tasks that were stored.
    pub(crate) const fn looks(self) -> bool {
        matches!(self, Self::LookTask)
    }

    /// Renders the request.
    pub(crate) fn request(self, endpoint: &Endpoint, session: Option<&str>) -> Request {
        let hello = r#"{"message":"hello"}"#;
        let long = r#"{"tag":"hello","ms":86400000}"#;
        let (method, name, arguments) = match self {
            Self::Modern | Self::Call | Self::Session => ("tools/call", Some("echo"), hello),
            Self::Pool | Self::PoolLegacy => ("tools/call", Some("echo_pool"), hello),
            Self::Create => ("tools/call", Some("sturdy_task"), long),
            Self::CreateDone => ("tools/call", Some("single_task"), r#"{"tag":"hello"}"#),
            Self::LookTask => ("tasks/get", Some(TASK), ""),
            Self::List | Self::ListLegacy => ("tools/list", None, ""),
            Self::Ping => ("ping", None, ""),
        };
        let mut members = Vec::new();
        match name {
            Some(task) if self.looks() => members.push(format!(r#""taskId":"{task}""#)),
            Some(tool) => members.push(format!(r#""name":"{tool}","arguments":{arguments}"#)),
            None => {}
        }
        if self.era() == Era::Modern {
            members.push(meta(self.capabilities()));
        }
        let params = match members.as_slice() {
            [] => String::new(),
            members => format!(r#","params":{{{}}}"#, members.join(",")),
        };
        let body = format!(r#"{{"jsonrpc":"2.0","id":{ID},"method":"{method}"{params}}}"#);
        let mut more = Vec::new();
        if self.era() == Era::Modern {
            more.push(("Mcp-Method", method));
            more.extend(name.map(|name| ("Mcp-Name", name)));
        }
        post(endpoint, self.era(), session, &more, &body)
    }

    /// Says what is wrong with an answer to the first request.
    pub(crate) fn check(self, status: u16, body: &[u8]) -> Result<(), String> {
        let said = || {
            String::from_utf8_lossy(body)
                .chars()
                .take(200)
                .collect::<String>()
        };
        if status != 200 {
            return Err(format!("status {status}: {}", said()));
        }
        let answer: Value = serde_json::from_slice(body)
            .map_err(|error| format!("no JSON ({error}): {}", said()))?;
        let result = answer.get("result").filter(|result| result.is_object());
        let (true, Some(result)) = (answer.get("id") == Some(&FIRST_ID.into()), result) else {
            return Err(format!("no result of this request: {}", said()));
        };
        match self {
            Self::Ping => Ok(()),
            Self::Create | Self::CreateDone => {
                let made = result.get("resultType").and_then(Value::as_str) == Some("task");
                made.then_some(())
                    .ok_or_else(|| format!("no task: {}", said()))
            }
            Self::LookTask => {
                let done = result.get("status").and_then(Value::as_str) == Some("completed");
                done.then_some(())
                    .ok_or_else(|| format!("not completed: {}", said()))
            }
            Self::List | Self::ListLegacy => {
                let tools = result
                    .get("tools")
                    .and_then(Value::as_array)
                    .map_or(0, Vec::len);
                (tools >= TOOLS)
                    .then_some(())
                    .ok_or_else(|| format!("{tools} tools, not {TOOLS}"))
            }
            Self::Modern | Self::Call | Self::Session | Self::Pool | Self::PoolLegacy => {
                let echoed =
                    result.pointer("/content/0/text").and_then(Value::as_str) == Some("hello");
                let fails = result.get("isError").and_then(Value::as_bool) == Some(true);
                (echoed && !fails)
                    .then_some(())
                    .ok_or_else(|| format!("no echo: {}", said()))
            }
        }
    }

    /// What the client says that it can do: most loads need nothing.
    const fn capabilities(self) -> &'static str {
        if matches!(self, Self::Create | Self::CreateDone | Self::LookTask) {
            r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#
        } else {
            "{}"
        }
    }

    const fn era(self) -> Era {
        match self {
            Self::Modern
            | Self::Pool
            | Self::List
            | Self::Create
            | Self::CreateDone
            | Self::LookTask => Era::Modern,
            Self::Call | Self::Session | Self::PoolLegacy | Self::ListLegacy | Self::Ping => {
                Era::Legacy
            }
        }
    }
}

impl Goal {
    /// Says whether these ratios keep it.
    pub(crate) fn is_met(self, rate: f64, cpu: f64) -> bool {
        rate >= self.rate && self.cpu.is_none_or(|most| cpu <= most)
    }
}

/// Returns the result in an answer, as it came.
pub(crate) fn result(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Answer<'a> {
        #[serde(borrow)]
        result: &'a RawValue,
    }
    let answer: Answer<'_> = serde_json::from_slice(body).ok()?;
    Some(answer.result.get().to_owned())
}

/// Renders the request for a session.
pub(crate) fn initialize(endpoint: &Endpoint) -> Request {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":{ID},"method":"initialize","params":{{"protocolVersion":"{LEGACY}","capabilities":{{}},"clientInfo":{}}}}}"#,
        client()
    );
    post(endpoint, Era::Legacy, None, &[], &body)
}

/// Renders the notification that a session is in use.
pub(crate) fn initialized(endpoint: &Endpoint, session: &str) -> Request {
    let body = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    post(endpoint, Era::Legacy, Some(session), &[], body)
}

/// Renders the end of a session.
pub(crate) fn end(endpoint: &Endpoint, session: &str) -> Request {
    let headers = [
        ("MCP-Protocol-Version", LEGACY),
        ("Mcp-Session-Id", session),
    ];
    Request::new("DELETE", endpoint, &headers, "")
}

// === Behind the loads ===

fn post(
    endpoint: &Endpoint,
    era: Era,
    session: Option<&str>,
    more: &[(&str, &str)],
    body: &str,
) -> Request {
    let version = match era {
        Era::Modern => MODERN,
        Era::Legacy => LEGACY,
    };
    let mut headers = vec![
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", version),
    ];
    headers.extend_from_slice(more);
    headers.extend(session.map(|session| ("Mcp-Session-Id", session)));
    Request::new("POST", endpoint, &headers, body)
}

fn client() -> String {
    format!(
        r#"{{"name":"conduit-bench","version":"{}"}}"#,
        env!("CARGO_PKG_VERSION")
    )
}

fn meta(capabilities: &str) -> String {
    let key = "io.modelcontextprotocol";
    let client = client();
    format!(
        r#""_meta":{{"{key}/protocolVersion":"{MODERN}","{key}/clientInfo":{client},"{key}/clientCapabilities":{capabilities}}}"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_load_is_a_request_with_an_id_and_a_json_body() {
        let endpoint = Endpoint {
            address: ([127, 0, 0, 1], 80).into(),
            path: "/mcp".to_owned(),
        };

        for load in Load::value_variants() {
            let request = load.request(&endpoint, Some("s"));
            let text = str::from_utf8(request.bytes()).expect("text");
            let (head, body) = text.split_once("\r\n\r\n").expect("a body");
            let body: Value = serde_json::from_str(body).expect("JSON");
            assert_eq!(body["id"], FIRST_ID, "{load:?}");
            let modern = load.era() == Era::Modern;
            assert_eq!(head.contains("Mcp-Method: "), modern, "{load:?}");
            assert_eq!(body.pointer("/params/_meta").is_some(), modern, "{load:?}");
        }
    }

    #[test]
    fn an_answer_counts_only_with_the_expected_result() {
        let check = |load: Load, body: &str| load.check(200, body.as_bytes()).is_ok();
        let echo =
            r#"{"jsonrpc":"2.0","id":1000,"result":{"content":[{"type":"text","text":"hello"}]}}"#;
        let list = r#"{"jsonrpc":"2.0","id":1000,"result":{"tools":[{},{}]}}"#;

        assert!(check(Load::Call, echo));
        assert!(check(Load::Ping, echo));
        assert!(!check(Load::Call, &echo.replace("1000", "1001")));
        assert!(!check(Load::Call, &echo.replace("hello", "bye")));
        assert!(!check(
            Load::Call,
            &echo.replace(r#""content""#, r#""isError":true,"content""#)
        ));
        assert!(!check(Load::List, list));
        assert!(check(
            Load::List,
            &list.replace("{},{}", &["{}"; 100].join(","))
        ));
        assert!(!check(
            Load::Ping,
            r#"{"jsonrpc":"2.0","id":1000,"error":{}}"#
        ));
        assert!(Load::Ping.check(503, echo.as_bytes()).is_err());
    }

    #[test]
    fn a_task_is_named_in_the_head_and_in_the_body() {
        let endpoint = Endpoint {
            address: ([127, 0, 0, 1], 80).into(),
            path: "/mcp".to_owned(),
        };

        let request = Load::LookTask.request(&endpoint, None);

        let text = str::from_utf8(request.bytes()).expect("text");
        assert_eq!(text.matches(TASK).count(), 2, "{text}");
        assert!(text.contains("Mcp-Name: ") && text.contains("/tasks\":{}"));
    }

    #[test]
    fn a_result_is_taken_as_it_came() {
        let body = br#"{"jsonrpc":"2.0","id":1,"result":{"b": 1, "a":[]}}"#;

        assert_eq!(result(body).as_deref(), Some(r#"{"b": 1, "a":[]}"#));
        assert_eq!(result(b"{}"), None);
    }
}
