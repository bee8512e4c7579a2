use serde_json::value::RawValue;
use uuid::Uuid;

use super::*;
use crate::input::{InputRequest, InputRequired};
use crate::task::{NewTask, TaskStatus, TaskView};

const TASK: &str = "67e55044-10b1-426f-9247-bb680e5fe0c8";
const MODERN: &str = r#""createdAt":"2026-08-01T10:00:00.000Z","lastUpdatedAt":"2026-08-01T10:00:05.250Z","ttlMs":600000,"pollIntervalMs":1000"#;
const LEGACY: &str = r#""createdAt":"2026-08-01T10:00:00.000Z","lastUpdatedAt":"2026-08-01T10:00:05.250Z","ttl":600000,"pollInterval":1000"#;

fn task_id() -> Uuid {
    Uuid::try_parse(TASK).expect("an id")
}

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).expect("valid JSON")
}

fn view(status: TaskStatus) -> TaskView<'static> {
    TaskView {
        id: task_id(),
        status,
        created_ms: 1_785_578_400_000,
        updated_ms: 1_785_578_405_250,
        ttl_ms: Some(600_000),
        poll_ms: Some(1000),
        message: None,
        questions: &[],
        outcome: None,
    }
}

#[test]
fn a_call_that_became_a_task_says_so_in_the_shape_of_its_era() {
    let task = view(TaskStatus::Working);

    check(
        face().task_created(Era::Modern, &id(), &task),
        &answer(&format!(
            r#"{{"resultType":"task","taskId":"{TASK}","status":"working",{MODERN},"_meta":{INFO}}}}}"#
        )),
    );
    check(
        face().task_created(Era::Legacy, &id(), &task),
        &answer(&format!(
            r#"{{"task":{{"taskId":"{TASK}","status":"working",{LEGACY}}}}}"#
        )),
    );
}

#[test]
fn a_task_that_is_kept_for_ever_says_null() {
    let task = TaskView {
        ttl_ms: None,
        poll_ms: None,
        message: Some("building"),
        ..view(TaskStatus::Working)
    };
    let times =
        r#""createdAt":"2026-08-01T10:00:00.000Z","lastUpdatedAt":"2026-08-01T10:00:05.250Z""#;

    check(
        face().task(Era::Legacy, &id(), &task),
        &answer(&format!(
            r#"{{"taskId":"{TASK}","status":"working","statusMessage":"building",{times},"ttl":null}}"#
        )),
    );
}

#[track_caller]
fn check_task(task: &TaskView<'_>, more: &str) {
    let status = task.status.as_str();
    let shown = format!(r#""taskId":"{TASK}","status":"{status}",{MODERN}{more}"#);
    check(
        face().task(Era::Modern, &id(), task),
        &answer(&format!(
            r#"{{"resultType":"complete",{shown},"_meta":{INFO}}}}}"#
        )),
    );
    check(
        face().task(Era::Legacy, &id(), task),
        &answer(&format!(
            r#"{{"taskId":"{TASK}","status":"{status}",{LEGACY}}}"#
        )),
    );
    check(
        TaskChange::render(task).for_subscription(&id()),
        &format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/tasks","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":"\u0061"}},{shown}}}}}"#
        ),
    );
    check(
        task_status(task),
        &format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{{"taskId":"{TASK}","status":"{status}",{LEGACY}}}}}"#
        ),
    );
}

#[test]
fn a_modern_task_shows_what_goes_with_its_status_and_nothing_else() {
    let question = InputRequest::Roots.write_json();
    let questions = [("a\"".to_owned(), question)];
    let outcome = raw(r#"{"x":1}"#);
    for (status, more) in [
        (TaskStatus::Working, ""),
        (
            TaskStatus::InputRequired,
            r#","inputRequests":{"a\"":{"method":"roots/list"}}"#,
        ),
        (TaskStatus::Completed, r#","result":{"x":1}"#),
        (TaskStatus::Failed, r#","error":{"x":1}"#),
        (TaskStatus::Cancelled, ""),
    ] {
        let task = TaskView {
            questions: &questions,
            outcome: Some(&outcome),
            ..view(status)
        };
        check_task(&task, more);
    }
}

#[test]
fn a_task_whose_outcome_is_lost_still_has_the_shape_of_its_status() {
    check_task(&view(TaskStatus::InputRequired), r#","inputRequests":{}"#);
    check_task(
        &view(TaskStatus::Completed),
        r#","result":{"resultType":"complete","content":[]}"#,
    );
    check_task(
        &view(TaskStatus::Failed),
        r#","error":{"code":-32603,"message":"Internal error"}"#,
    );
}

#[test]
fn a_list_of_tasks_says_where_it_goes_on() {
    let tasks = [view(TaskStatus::Working), view(TaskStatus::Cancelled)];

    check(
        face().task_list(&id(), &tasks, Some("p2")),
        &answer(&format!(
            r#"{{"tasks":[{{"taskId":"{TASK}","status":"working",{LEGACY}}},{{"taskId":"{TASK}","status":"cancelled",{LEGACY}}}],"nextCursor":"p2"}}"#
        )),
    );
    check(
        face().task_list(&id(), &[], None),
        &answer(r#"{"tasks":[]}"#),
    );
}

#[test]
fn a_stored_result_is_what_the_call_would_have_been_answered_with() {
    let related = format!(r#""io.modelcontextprotocol/related-task":{{"taskId":"{TASK}"}}"#);
    let theirs = r#"{"a":1.50,"io.modelcontextprotocol/related-task":{"taskId":"x"}}"#;
    let meta = Meta::from_raw(raw(theirs)).expect("an object");
    for (meta, modern, legacy) in [
        (None, String::new(), String::new()),
        (
            Some(meta),
            r#","a":1.50"#.to_owned(),
            r#","a":1.50"#.to_owned(),
        ),
    ] {
        let result = ToolResult {
            meta,
            ..ToolResult::failure("no")
        };
        let body = r#""content":[{"type":"text","text":"no"}],"isError":true"#;

        let stored = face().stored_result(Era::Modern, task_id(), &result);
        assert_eq!(
            stored.get(),
            format!(r#"{{"resultType":"complete",{body},"_meta":{INFO}{modern}}}}}"#)
        );

        let stored = face().stored_result(Era::Legacy, task_id(), &result);
        let expected = format!(r#"{{{body},"_meta":{{{related}{legacy}}}}}"#);
        assert_eq!(stored.get(), expected);
        check(face().task_result(&id(), &stored), &answer(&expected));
    }
}

#[test]
fn a_stored_error_is_answered_as_it_is() {
    let stored = WireError::new(Code(7), "m").to_json();

    check(
        face().task_error(&id(), &stored),
        r#"{"jsonrpc":"2.0","id":"\u0061","error":{"code":7,"message":"m"}}"#,
    );
}

#[test]
fn a_change_is_rendered_once_for_all_streams() {
    let change = TaskChange::render(&view(TaskStatus::Working));

    let streams = [RequestId::from(1), RequestId::from(2)];
    let tails = streams.map(|id| change.for_subscription(&id).into_parts().1);

    let [one, other] = tails.map(|tail| tail.expect("a shared part"));
    assert_eq!(one.as_ptr(), other.as_ptr());
}

#[test]
fn questions_are_asked_with_a_token_or_without() {
    let requests = [("a\"".to_owned(), InputRequest::Roots)];
    let map = r#","inputRequests":{"a\"":{"method":"roots/list"}}"#;
    for (requests, token, shown) in [
        (
            &requests[..],
            Some("v1"),
            format!(r#"{map},"requestState":"v1""#),
        ),
        (&requests, None, map.to_owned()),
        (&[], Some("v1"), r#","requestState":"v1""#.to_owned()),
    ] {
        check(
            face().input_required(&id(), requests, token),
            &answer(&format!(
                r#"{{"resultType":"input_required"{shown},"_meta":{INFO}}}}}"#
            )),
        );
    }
}

#[test]
fn what_the_caller_has_not_dealt_with_is_an_error() {
    let input = Outcome::from(InputRequired::new().with("a", InputRequest::Roots));
    let task = Outcome::from(NewTask::new());
    for era in [Era::Modern, Era::Legacy] {
        for (outcome, refusal) in [
            (&input, WireError::input_not_possible()),
            (&task, WireError::task_not_possible()),
        ] {
            let rendered = face().outcome::<ToolResult>(era, &id(), outcome);
            assert_eq!(rendered, error(Some(&id()), &refusal));
        }
    }
}

#[test]
fn tasks_are_an_extension_here_and_a_capability_there() {
    let capabilities = ServerCapabilities {
        tasks: true,
        ..ServerCapabilities::default()
    };
    let implementation = Implementation::new("demo", "1.0.0");
    let face = Face::new(&implementation, &capabilities, None, CacheHints::default());
    let shown = |rendered: Rendered| {
        let message: Value = serde_json::from_slice(&rendered.into_bytes()).expect("valid JSON");
        message["result"]["capabilities"].clone()
    };

    assert_eq!(
        shown(face.discover(&id())),
        json!({"extensions": {"io.modelcontextprotocol/tasks": {}}})
    );
    assert_eq!(
        shown(face.initialize(&id(), "2025-11-25")),
        json!({"tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}})
    );
    assert_eq!(shown(face.initialize(&id(), "2025-06-18")), json!({}));
}
