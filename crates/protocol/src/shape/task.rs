//! Tasks as either protocol shows them.

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::call::ToolResult;
use crate::era::Era;
use crate::id::RequestId;
use crate::meta::keys;
use crate::raw;
use crate::shape::face::{Face, whole};
use crate::shape::json::Object;
use crate::shape::{Rendered, legacy, modern, notification};
use crate::task::{TaskStatus, TaskView};
use crate::wire_error::WireError;

impl Face {
    /// Answers `tools/call` with the task that the call has become: flat in the modern
    /// era, under `task` in the legacy one.
    ///
    /// Source: T-TASK-07, L-TASK-04.
    #[must_use]
    pub fn task_created(&self, era: Era, id: &RequestId, task: &TaskView<'_>) -> Rendered {
        whole(id, |out| {
            let mut result = Object::open(out);
            match era {
                Era::Modern => {
                    result.raw("resultType", r#""task""#);
                    summary(&mut result, task, &MODERN);
                    self.server_info.write(&mut result, None);
                }
                Era::Legacy => {
                    let mut inner = result.object("task");
                    summary(&mut inner, task, &LEGACY);
                    inner.close();
                }
            }
            result.close();
        })
    }

    /// Answers `tasks/get`, and `tasks/cancel` in the legacy era. A modern client finds
    /// in it the questions, the result or the error that go with the status.
    ///
    /// Source: T-TASK-09, T-TASK-15, L-TASK-06, L-TASK-09.
    #[must_use]
    pub fn task(&self, era: Era, id: &RequestId, task: &TaskView<'_>) -> Rendered {
        whole(id, |out| match era {
            Era::Modern => {
                let mut result = modern::complete(out);
                details(&mut result, task);
                self.server_info.write(&mut result, None);
                result.close();
            }
            Era::Legacy => {
                let mut result = Object::open(out);
                summary(&mut result, task, &LEGACY);
                result.close();
            }
        })
    }

    /// Answers `tasks/list`. Legacy only (L-TASK-08).
    #[must_use]
    #[expect(clippy::unused_self, reason = "a face answers, whatever is asked")]
    pub fn task_list(
        &self,
        id: &RequestId,
        tasks: &[TaskView<'_>],
        next_cursor: Option<&str>,
    ) -> Rendered {
        whole(id, |out| {
            let mut result = Object::open(out);
            result.array("tasks", tasks, |out, task| {
                let mut item = Object::open(out);
                summary(&mut item, task, &LEGACY);
                item.close();
            });
            result.option("nextCursor", next_cursor);
            result.close();
        })
    }

    /// Answers `tasks/result` with a result of [`stored_result`](Self::stored_result),
    /// as it is. Legacy only (L-TASK-07).
    #[must_use]
    #[expect(clippy::unused_self, reason = "a face answers, whatever is asked")]
    pub fn task_result(&self, id: &RequestId, outcome: &RawValue) -> Rendered {
        whole(id, |out| out.extend_from_slice(outcome.get().as_bytes()))
    }

    /// Answers `tasks/result` with an error of [`WireError::to_json`], as it is. Legacy
    /// only (L-TASK-07).
    #[must_use]
    #[expect(clippy::unused_self, reason = "a face answers, whatever is asked")]
    pub fn task_error(&self, id: &RequestId, error: &RawValue) -> Rendered {
        let mut out = Vec::new();
        let mut message = Object::open(&mut out);
        message.raw("jsonrpc", r#""2.0""#);
        message.raw("id", id.as_json());
        message.raw("error", error.get());
        message.close();
        Rendered::whole(out.into())
    }

    /// Returns the result object to keep when the tool of a task has answered: what the
    /// call itself would have been answered with. In the legacy era it says which task
    /// it belongs to.
    ///
    /// Source: T-TASK-12, L-TASK-07.
    #[must_use]
    pub fn stored_result(&self, era: Era, related: Uuid, result: &ToolResult) -> Box<RawValue> {
        let mut out = Vec::new();
        match era {
            Era::Modern => modern::call(&mut out, result, &self.server_info),
            Era::Legacy => legacy::call_of_task(&mut out, result, related),
        }
        raw::from_bytes(out)
    }
}

/// `notifications/tasks`, but for the stream that tells it: rendered once for all
/// streams. Modern only. Cloning is cheap.
///
/// Source: T-TASK-23, M-SUB-07.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskChange {
    tail: Bytes,
}

impl TaskChange {
    /// Renders what has become of a task.
    #[must_use]
    pub fn render(task: &TaskView<'_>) -> Self {
        let mut out = Vec::new();
        let mut params = Object::open(&mut out);
        details(&mut params, task);
        params.close();
        // Its first brace gives way to the head; the last one closes the message.
        out.push(b'}');
        Self {
            tail: Bytes::from(out).slice(1..),
        }
    }

    /// Tells it on the listen stream that the request `subscription` opened.
    #[must_use]
    pub fn for_subscription(&self, subscription: &RequestId) -> Rendered {
        let key = keys::SUBSCRIPTION_ID;
        let id = subscription.as_json();
        let head = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/tasks","params":{{"_meta":{{"{key}":{id}}},"#
        );
        Rendered {
            head: head.into(),
            tail: Some(self.tail.clone()),
        }
    }
}

/// Renders `notifications/tasks/status`. Legacy only (L-TASK-12).
#[must_use]
pub fn task_status(task: &TaskView<'_>) -> Rendered {
    Rendered::whole(notification::notification(
        "notifications/tasks/status",
        |params| summary(params, task, &LEGACY),
    ))
}

// === Behind the handle ===

/// What the two protocols call the same.
struct Names {
    ttl: &'static str,
    poll: &'static str,
}

const MODERN: Names = Names {
    ttl: "ttlMs",
    poll: "pollIntervalMs",
};

const LEGACY: Names = Names {
    ttl: "ttl",
    poll: "pollInterval",
};

/// What every client can read without loss, and the schema lets in.
const LONGEST: u64 = (1 << 53) - 1;

/// T-TASK-06, L-TASK-05.
fn summary(object: &mut Object<'_>, task: &TaskView<'_>, names: &Names) {
    object.value("taskId", &task.id);
    object.value("status", task.status.as_str());
    object.option("statusMessage", task.message);
    object.value("createdAt", &time(task.created_ms));
    object.value("lastUpdatedAt", &time(task.updated_ms));
    object.value(names.ttl, &task.ttl_ms.map(|ttl| ttl.min(LONGEST)));
    let poll = task.poll_ms.map(|poll| poll.min(LONGEST));
    object.option(names.poll, poll.as_ref());
}

/// T-TASK-09.
fn details(object: &mut Object<'_>, task: &TaskView<'_>) {
    summary(object, task, &MODERN);
    match task.status {
        TaskStatus::Working | TaskStatus::Cancelled => {}
        TaskStatus::InputRequired => {
            let mut requests = object.object("inputRequests");
            for (key, request) in task.questions {
                requests.entry(key, request.get());
            }
            requests.close();
        }
        TaskStatus::Completed => {
            let nothing = r#"{"resultType":"complete","content":[]}"#;
            object.raw("result", task.outcome.map_or(nothing, RawValue::get));
        }
        TaskStatus::Failed => match task.outcome {
            Some(error) => object.raw("error", error.get()),
            None => object.value("error", &WireError::internal()),
        },
    }
}

/// ISO 8601 in UTC, to the millisecond. A time that no calendar has becomes the last
/// one that has.
fn time(ms: u64) -> String {
    let time = i64::try_from(ms)
        .ok()
        .and_then(|ms| Timestamp::from_millisecond(ms).ok())
        .unwrap_or(Timestamp::MAX);
    format!("{time:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_milliseconds_even_if_they_are_none() {
        for (ms, expected) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (1, "1970-01-01T00:00:00.001Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_785_578_400_120, "2026-08-01T10:00:00.120Z"),
        ] {
            assert_eq!(time(ms), expected);
        }
        assert!(time(u64::MAX).starts_with("9999-12-30T"));
    }
}
