//! Tasks, in the extension and in 2025-11-25.

use conduit_protocol::{
    CacheHints, Dialect, Era, Face, Implementation, InputRequest, Page, RequestId,
    ServerCapabilities, TaskChange, TaskStatus, TaskSupport, TaskView, ToolResult, WireError,
    error, task_status,
};
use serde_json::Value;
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::sample::{blocks, face, id, meta, raw, tools};
use crate::{fits, fits_notification, fits_result, json_of};

const EXTENSION: &str = "ext-tasks-draft";
const MODERN: &str = "2026-07-28";
const LEGACY: &str = "2025-11-25";

fn questions() -> Vec<(String, Box<RawValue>)> {
    let form = InputRequest::form("Deploy?", raw(r#"{"type":"object","properties":{}}"#));
    vec![
        ("a".to_owned(), form.write_json()),
        ("b".to_owned(), InputRequest::Roots.write_json()),
    ]
}

fn view(status: TaskStatus) -> TaskView<'static> {
    TaskView {
        id: Uuid::from_u128(7),
        status,
        created_ms: 1_785_578_400_000,
        updated_ms: 1_785_578_405_250,
        ttl_ms: None,
        poll_ms: None,
        message: None,
        questions: &[],
        outcome: None,
    }
}

/// Does something with a task in each status, with all that it can have and with
/// nothing.
fn each_task(mut check: impl FnMut(&TaskView<'_>)) {
    let result = ToolResult {
        content: blocks(),
        meta: Some(meta()),
        ..ToolResult::default()
    };
    let result = face().stored_result(Era::Modern, Uuid::nil(), &result);
    let refusal = WireError::unsupported_version("x").to_json();
    let questions = questions();
    for status in TaskStatus::ALL {
        check(&view(status));
        let outcome = match status {
            TaskStatus::Failed => &refusal,
            TaskStatus::Working
            | TaskStatus::InputRequired
            | TaskStatus::Completed
            | TaskStatus::Cancelled => &result,
        };
        check(&TaskView {
            ttl_ms: Some(u64::MAX),
            poll_ms: Some(u64::MAX),
            message: Some("on its way"),
            questions: &questions,
            outcome: Some(outcome),
            ..view(status)
        });
    }
}

#[test]
fn a_modern_task_fits_the_extension() {
    each_task(|task| {
        let created = face().task_created(Era::Modern, &id(), task);
        fits_result(MODERN, "Result", created.clone());
        fits(EXTENSION, "CreateTaskResult", &json_of(created)["result"]);

        let shown = face().task(Era::Modern, &id(), task);
        fits_result(MODERN, "Result", shown.clone());
        let result = &json_of(shown)["result"];
        fits(EXTENSION, "GetTaskResult", result);
        fits(EXTENSION, "DetailedTask", result);
        let own = match task.status {
            TaskStatus::Working => "WorkingTask",
            TaskStatus::InputRequired => "InputRequiredTask",
            TaskStatus::Completed => "CompletedTask",
            TaskStatus::Failed => "FailedTask",
            TaskStatus::Cancelled => "CancelledTask",
        };
        fits(EXTENSION, own, result);
    });
}

#[test]
fn a_modern_change_fits_the_extension() {
    each_task(|task| {
        let rendered = TaskChange::render(task).for_subscription(&RequestId::from(7));
        let message = json_of(rendered);
        fits(MODERN, "JSONRPCMessage", &message);
        fits(MODERN, "JSONRPCNotification", &message);
        fits(EXTENSION, "TaskStatusNotification", &message);
    });
}

#[test]
fn modern_acknowledgements_fit_the_extension() {
    let message = json_of(face().empty(Era::Modern, &id()));

    fits(EXTENSION, "UpdateTaskResult", &message["result"]);
    fits(EXTENSION, "CancelTaskResult", &message["result"]);
}

#[test]
fn what_a_modern_task_keeps_fits_what_its_call_answers() {
    let result = ToolResult {
        content: blocks(),
        ..ToolResult::failure("no")
    };

    let stored = face().stored_result(Era::Modern, Uuid::nil(), &result);

    let stored: Value = serde_json::from_str(stored.get()).expect("valid JSON");
    fits(MODERN, "CallToolResult", &stored);
}

#[test]
fn a_legacy_task_fits_2025_11_25() {
    each_task(|task| {
        let created = face().task_created(Era::Legacy, &id(), task);
        fits_result(LEGACY, "CreateTaskResult", created);
        let shown = face().task(Era::Legacy, &id(), task);
        fits_result(LEGACY, "GetTaskResult", shown.clone());
        fits_result(LEGACY, "CancelTaskResult", shown);
        let list = face().task_list(&id(), &[*task, *task], Some("p2"));
        fits_result(LEGACY, "ListTasksResult", list);
        let bytes = task_status(task).into_bytes();
        fits_notification(LEGACY, "TaskStatusNotification", &bytes);
    });
}

#[test]
fn what_a_legacy_task_came_to_fits_2025_11_25() {
    let result = ToolResult {
        content: blocks(),
        meta: Some(meta()),
        ..ToolResult::structured(serde_json::json!({"sum": 3}))
    };

    let stored = face().stored_result(Era::Legacy, Uuid::nil(), &result);

    let rendered = face().task_result(&id(), &stored);
    fits_result(LEGACY, "GetTaskPayloadResult", rendered.clone());
    fits_result(LEGACY, "CallToolResult", rendered.clone());
    let related = &json_of(rendered)["result"]["_meta"]["io.modelcontextprotocol/related-task"];
    fits(LEGACY, "RelatedTaskMetadata", related);
    let refused = face().task_error(&id(), &WireError::internal().to_json());
    fits(LEGACY, "JSONRPCErrorResponse", &json_of(refused));
}

#[test]
fn tools_that_can_be_tasks_fit_2025_11_25() {
    let mut tools = tools();
    let support = [TaskSupport::Required, TaskSupport::Optional];
    for (tool, support) in tools.iter_mut().zip(support) {
        tool.task_support = support;
    }
    let hints = CacheHints::default();

    let page = Page::render_for(Dialect::LegacyWithTasks, &tools, None, hints, &face());

    let rendered = page.respond(&id());
    let shown = json_of(rendered.clone());
    fits_result(LEGACY, "ListToolsResult", rendered);
    let execution = &shown["result"]["tools"][0]["execution"];
    assert_eq!(execution["taskSupport"], "required");
}

#[test]
fn a_server_with_tasks_fits_each_version() {
    let capabilities = ServerCapabilities {
        tasks: true,
        ..ServerCapabilities::base()
    };
    let implementation = Implementation::new("demo", "1.0.0");
    let face = Face::new(&implementation, &capabilities, None, CacheHints::default());

    fits_result(MODERN, "DiscoverResult", face.discover(&id()));
    for version in conduit_protocol::LEGACY_VERSIONS {
        let rendered = face.initialize(&id(), version);
        fits_result(version, "InitializeResult", rendered);
    }
}

#[test]
fn an_undeclared_extension_fits_its_own_definition() {
    let message = json_of(error(Some(&id()), &WireError::tasks_undeclared()));

    fits(MODERN, "MissingRequiredClientCapabilityError", &message);
}
