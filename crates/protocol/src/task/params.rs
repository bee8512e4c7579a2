//! What requests about tasks say.

use serde_json::value::RawValue;
use uuid::Uuid;

use crate::limits::REFLECTED_CHARS;
use crate::params::Params;
use crate::reflected::reflected;
use crate::wire_error::WireError;
use crate::{demand, raw, retry};

/// The parameters of `tasks/get`, `tasks/cancel` and `tasks/result`:
/// `{"taskId":"…"}`. Other members are ignored.
///
/// Source: T-TASK-15, T-TASK-18, L-TASK-06, L-TASK-07.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskParams {
    /// The task that is asked for, known or not. `None` when the text is none of our
    /// ids, spelt as we spell them: then there is no such task.
    pub task_id: Option<Uuid>,
    /// The id as it was written, fit for a message, at most [`REFLECTED_CHARS`]
    /// characters.
    pub text: String,
}

/// The parameters of `tasks/update`: `{"taskId":"…","inputResponses":{…}}`. Modern
/// only.
///
/// Source: T-TASK-16, T-TASK-17.
#[derive(Clone, Debug)]
pub struct UpdateTaskParams {
    /// The task that is answered.
    pub task: TaskParams,
    /// The answers, each once under its key, as they were written: see
    /// [`InputAnswer::read`](crate::InputAnswer::read). Keys that nobody asked with are
    /// to be ignored.
    pub responses: Vec<(String, Box<RawValue>)>,
}

/// What `tools/call` says of the task that it wants to be: `{"ttl":60000}`. Counts in
/// sessions of 2025-11-25 alone (R10).
///
/// Source: L-TASK-04.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskAugmentation {
    /// For how many milliseconds the client wants the task to be kept.
    pub ttl_ms: Option<u64>,
}

impl TaskParams {
    /// Reads which task is asked for.
    ///
    /// # Errors
    ///
    /// -32602 when the id is missing, not a string, or occurs twice.
    pub fn read(params: &Params<'_>) -> Result<Self, WireError> {
        let text = demand::string(params.members()?.task_id, "params.taskId")?;
        Ok(Self {
            task_id: canonical(&text),
            text: reflected(&text, REFLECTED_CHARS),
        })
    }
}

impl UpdateTaskParams {
    /// Reads the answers to the questions of a task.
    ///
    /// # Errors
    ///
    /// As [`TaskParams::read`], and -32602 when the answers are missing, no object, or
    /// more than [`limits::INPUT_RESPONSES`](crate::limits::INPUT_RESPONSES), or when a
    /// key occurs twice.
    pub fn read(params: &Params<'_>) -> Result<Self, WireError> {
        Ok(Self {
            task: TaskParams::read(params)?,
            responses: retry::responses(params.members()?.input_responses)?,
        })
    }
}

impl TaskAugmentation {
    /// Reads what a call says of its task. `None` when it wants to be none.
    ///
    /// # Errors
    ///
    /// -32602 when the member is no object or occurs twice, or when its `ttl` is no
    /// integer from 0 on.
    pub fn read(params: &Params<'_>) -> Result<Option<Self>, WireError> {
        let slot = params.members()?.task;
        if slot.is_absent() {
            return Ok(None);
        }
        let [ttl] = demand::object(slot, "params.task", &["ttl"])?;
        let ttl_ms = match demand::once(ttl, TTL)? {
            Some(raw) => Some(milliseconds(raw)?),
            None => None,
        };
        Ok(Some(Self { ttl_ms }))
    }
}

// === Behind the handle ===

const TTL: &str = "params.task.ttl";

/// Reads an id that is spelt as we spell ours, so that each has one spelling.
fn canonical(text: &str) -> Option<Uuid> {
    let id = Uuid::try_parse(text).ok()?;
    let mut buffer = Uuid::encode_buffer();
    (id.hyphenated().encode_lower(&mut buffer) == text).then_some(id)
}

fn milliseconds(raw: &RawValue) -> Result<u64, WireError> {
    let text = raw.get();
    if !raw::is_integer(raw) || text.starts_with('-') {
        return Err(demand::mistyped(TTL, "an integer from 0 on"));
    }
    // More than we can count is as long as we keep anything.
    Ok(text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire_error::Code;

    const ID: &str = "67e55044-10b1-426f-9247-bb680e5fe0c8";

    fn params(text: &str) -> Params<'_> {
        Params::read(Some(serde_json::from_str(text).expect("valid JSON")))
    }

    #[track_caller]
    fn refused<T: std::fmt::Debug>(read: Result<T, WireError>, key: &str) {
        let error = read.expect_err("a refusal");

        assert_eq!(error.code, Code::INVALID_PARAMS);
        assert!(error.message.contains(&format!("`{key}`")), "{error}");
    }

    #[test]
    fn a_task_is_named_by_its_id() {
        let text = format!(r#"{{"taskId":"{ID}","novel":1}}"#);

        let task = TaskParams::read(&params(&text)).expect("an id");

        assert_eq!(task.task_id.expect("one of ours").to_string(), ID);
        assert_eq!(task.text, ID);
    }

    #[test]
    fn a_text_that_is_spelt_otherwise_names_no_task() {
        let long = "t".repeat(5000);
        for id in [
            "",
            "t_9f2c",
            &ID.to_uppercase(),
            &ID.replace('-', ""),
            &format!("{{{ID}}}"),
            &format!("urn:uuid:{ID}"),
            &long,
        ] {
            let text = format!(r#"{{"taskId":"{id}"}}"#);

            let task = TaskParams::read(&params(&text)).expect("an id");

            assert_eq!(task.task_id, None, "{id}");
            assert!(task.text.chars().count() <= REFLECTED_CHARS + 1);
        }
    }

    #[test]
    fn an_id_that_is_missing_twice_or_no_string_is_refused() {
        for text in [
            "{}",
            r#"{"taskId":null}"#,
            r#"{"taskId":5}"#,
            r#"{"taskId":"a","taskId":"b"}"#,
        ] {
            refused(TaskParams::read(&params(text)), "params.taskId");
        }
        refused(TaskParams::read(&params("[]")), "params");
        refused(TaskParams::read(&Params::read(None)), "params.taskId");
    }

    #[test]
    fn answers_to_a_task_stay_as_they_were_written() {
        let text = format!(r#"{{"taskId":"{ID}","inputResponses":{{"b":{{"n": 1.50}},"a":5}}}}"#);

        let update = UpdateTaskParams::read(&params(&text)).expect("answers");

        let answers = update
            .responses
            .iter()
            .map(|(key, raw)| (&**key, raw.get()));
        assert_eq!(
            answers.collect::<Vec<_>>(),
            [("b", r#"{"n": 1.50}"#), ("a", "5")]
        );
    }

    #[test]
    fn an_update_without_answers_is_refused() {
        for member in ["", r#","inputResponses":[]"#, r#","inputResponses":null"#] {
            let text = format!(r#"{{"taskId":"{ID}"{member}}}"#);
            refused(
                UpdateTaskParams::read(&params(&text)),
                "params.inputResponses",
            );
        }
        refused(UpdateTaskParams::read(&params("{}")), "params.taskId");
    }

    #[test]
    fn a_call_may_want_to_be_a_task() {
        for (text, expected) in [
            ("{}", None),
            (r#"{"task":{}}"#, Some(None)),
            (r#"{"task":{"ttl":0,"x":1}}"#, Some(Some(0))),
            (r#"{"task":{"ttl":60000}}"#, Some(Some(60_000))),
        ] {
            let read = TaskAugmentation::read(&params(text)).expect("readable");
            assert_eq!(read.map(|task| task.ttl_ms), expected, "{text}");
        }
        assert_eq!(TaskAugmentation::read(&Params::read(None)).ok(), Some(None));
    }

    #[test]
    fn a_time_beyond_counting_is_the_longest_there_is() {
        let text = r#"{"task":{"ttl":99999999999999999999}}"#;

        let read = TaskAugmentation::read(&params(text)).expect("readable");

        assert_eq!(read.and_then(|task| task.ttl_ms), Some(u64::MAX));
    }

    #[test]
    fn a_task_of_another_type_is_refused() {
        for text in ["null", "[]", "true"] {
            let text = format!(r#"{{"task":{text}}}"#);
            refused(TaskAugmentation::read(&params(&text)), "params.task");
        }
        for ttl in ["-1", "1.5", "1e3", "null", "\"1\""] {
            let text = format!(r#"{{"task":{{"ttl":{ttl}}}}}"#);
            refused(TaskAugmentation::read(&params(&text)), TTL);
        }
        let twice = r#"{"task":{},"task":{}}"#;
        refused(TaskAugmentation::read(&params(twice)), "params.task");
    }
}
