//! Tools that can be tasks: as calls for a client that knows none, and as tasks.

use std::collections::BTreeMap;

use conduit_testkit::{PATIENCE, wait_until};
use rmcp::model::{
    CallToolResponse, CancelTaskParams, DetailedTask, ErrorCode, GetTaskParams, InputRequests,
    JsonObject, Task, TaskPayload, TaskStatus, UpdateTaskParams,
};
use serde_json::{Value, json};

use crate::answers::{Can, accept};
use crate::client::{Client, Mode, Place, params, refusal, text};

/// What `protocol_error_job` breaks with.
const BROKEN: i32 = -32000;

pub(crate) async fn as_calls(client: &Client) {
    let sums = json!({ "seconds": 0.05, "label": "sums" });
    let answer = client.call("slow_compute", sums).await;
    assert_eq!(text(&answer), "Computed sums in 0.05 s.");

    client
        .answers()
        .prepare([accept(json!({ "confirm": true }))])
        .await;
    let deleted = client
        .call("confirm_delete", json!({ "filename": "a.txt" }))
        .await;
    assert_eq!(text(&deleted), "Deleted a.txt.");

    let call = params("failing_job", &json!({}));
    let refused = refusal(client.service.call_tool(call).await);
    assert_eq!(
        refused.code,
        match client.mode {
            Mode::Modern | Mode::Auto => ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY,
            Mode::Legacy => ErrorCode::METHOD_NOT_FOUND,
        }
    );
}

/// This client knows those of the modern era.
pub(crate) async fn as_tasks(place: &Place<'_>, mode: Mode) {
    if mode == Mode::Legacy {
        return;
    }
    let client = Client::connect_as(place, mode, Can::FollowTasks).await;

    is_followed(&client).await;
    asks(&client).await;
    asks_one_by_one(&client).await;
    asks_before(&client).await;
    fails_or_breaks(&client).await;
    is_cancelled(&client).await;
    let unknown = client.service.get_task(GetTaskParams::new("no-such-task"));
    assert_eq!(refusal(unknown.await).code, ErrorCode::INVALID_PARAMS);

    client.end().await;
}

async fn is_followed(client: &Client) {
    let sums = json!({ "seconds": 0.3, "label": "sums" });

    let task = begin(client, "slow_compute", sums).await;

    assert_eq!(task.status, TaskStatus::Working);
    assert_eq!(task.ttl_ms, Some(600_000));
    assert_eq!(task.poll_interval_ms, Some(100));
    assert_eq!(
        completed(client, &task).await["content"][0]["text"],
        "Computed sums in 0.3 s."
    );
}

async fn asks(client: &Client) {
    let task = begin(client, "confirm_delete", json!({ "filename": "a.txt" })).await;

    let asked = questions(client, &task).await;
    assert_eq!(
        json!(asked["confirm"])["params"]["message"],
        "Do you want to delete a.txt?"
    );
    answer(client, &task, "confirm", &json!({ "confirm": true })).await;

    assert_eq!(
        completed(client, &task).await["content"][0]["text"],
        "Deleted a.txt."
    );
}

async fn asks_one_by_one(client: &Client) {
    let task = begin(client, "multi_input", json!({})).await;
    let keys = |questions: InputRequests| questions.into_keys().collect::<Vec<_>>();

    assert_eq!(
        keys(questions(client, &task).await),
        ["confirmation", "name"]
    );
    answer(client, &task, "name", &json!({ "name": "Ada" })).await;
    assert_eq!(keys(questions(client, &task).await), ["confirmation"]);
    answer(client, &task, "confirmation", &json!({ "confirm": true })).await;

    assert_eq!(
        completed(client, &task).await["content"][0]["text"],
        "name=Ada, confirm=true"
    );
}

/// The input round comes first, then the task.
async fn asks_before(client: &Client) {
    let mut call = params("test_tool_with_task", &json!({}));
    let first = client.service.call_tool_once(call.clone()).await;
    let CallToolResponse::InputRequired(required) = first.expect("an answer") else {
        panic!("no question");
    };

    let name = json!({ "action": "accept", "content": { "name": "Ada" } });
    call.input_responses = Some(BTreeMap::from([("user_name".to_owned(), name)]));
    call.request_state = required.request_state;
    let second = client.service.call_tool_once(call).await;
    let CallToolResponse::Task(created) = second.expect("an answer") else {
        panic!("no task");
    };

    assert_eq!(
        completed(client, &created.task).await["content"][0]["text"],
        "Hello, Ada!"
    );
}

async fn fails_or_breaks(client: &Client) {
    let failing = begin(client, "failing_job", json!({})).await;
    assert_eq!(completed(client, &failing).await["isError"], true);

    let breaking = begin(client, "protocol_error_job", json!({})).await;
    let TaskPayload::Failed { error } = ended(client, &breaking).await.payload else {
        panic!("it did not break");
    };
    assert_eq!(error["code"], BROKEN);
}

async fn is_cancelled(client: &Client) {
    let sums = json!({ "seconds": 60, "label": "sums" });
    let task = begin(client, "slow_compute", sums).await;
    wait_until("it is at work", PATIENCE, async || {
        let status = look(client, &task).await.task.status_message;
        (status.as_deref() == Some("computing sums")).then_some(())
    })
    .await;

    for _ in 0..2 {
        let params = CancelTaskParams::new(&task.task_id);
        client.service.cancel_task(params).await.expect("an answer");
        assert_eq!(ended(client, &task).await.status(), TaskStatus::Cancelled);
    }
}

/// Calls a tool, which has to become a task.
async fn begin(client: &Client, tool: &'static str, arguments: Value) -> Task {
    let call = params(tool, &arguments);
    match client.service.call_tool_once(call).await {
        Ok(CallToolResponse::Task(created)) => created.task,
        other => panic!("no task but {other:?}"),
    }
}

async fn look(client: &Client, task: &Task) -> DetailedTask {
    let params = GetTaskParams::new(&task.task_id);
    client.service.get_task(params).await.expect("a task").task
}

async fn questions(client: &Client, task: &Task) -> InputRequests {
    let (questions, _) = wait_until("it asks", PATIENCE, async || {
        let TaskPayload::InputRequired { input_requests } = look(client, task).await.payload else {
            return None;
        };
        Some(input_requests)
    })
    .await;
    questions
}

async fn answer(client: &Client, task: &Task, key: &str, content: &Value) {
    let answer = json!({ "action": "accept", "content": content });
    let answers = BTreeMap::from([(key.to_owned(), answer)]);
    let params = UpdateTaskParams::new(&task.task_id, answers);
    client.service.update_task(params).await.expect("an answer");
}

async fn ended(client: &Client, task: &Task) -> DetailedTask {
    let (task, _) = wait_until("it ends", PATIENCE, async || {
        let task = look(client, task).await;
        task.status().is_terminal().then_some(task)
    })
    .await;
    task
}

async fn completed(client: &Client, task: &Task) -> JsonObject {
    let ended = ended(client, task).await;
    let TaskPayload::Completed { result } = &ended.payload else {
        panic!("no result but {ended:?}");
    };
    result.clone()
}
