//! The tasks extension (6.8).

use conduit_testkit::{Call, Era, Reply, Tree, Version};
use http::StatusCode;
use serde_json::{Value, json};

use crate::{fixture, options};

const EXTENSION: &str = "io.modelcontextprotocol/tasks";

#[tokio::test]
async fn at_200_a_call_that_becomes_a_task_is_answered_with_it() {
    let tree = fixture().await;

    let reply = tree.send(&job()).await;

    let task = reply.result();
    assert_eq!(task["resultType"], "task", "{reply}");
    assert!(task["taskId"].is_string(), "{reply}");
    assert_eq!(task["status"], "working", "{reply}");
}

#[tokio::test]
async fn at_201_a_task_is_got_updated_and_cancelled() {
    let tree = fixture().await;
    let id = created(&tree.send(&job()).await);

    for call in about(&id) {
        let reply = tree.send(&call).await;
        assert_eq!(reply.result()["resultType"], "complete", "{reply}");
    }
}

#[tokio::test]
async fn at_202_a_client_that_has_not_declared_tasks_is_told_that_it_has_to() {
    let tree = fixture().await;
    let id = created(&tree.send(&job()).await);

    for call in about(&id).into_iter().chain([job()]) {
        let reply = tree.send(&call.capabilities(json!({}))).await;
        assert_eq!(
            (reply.status, reply.code()),
            (StatusCode::BAD_REQUEST, -32021),
            "{reply}"
        );
        let required = &reply.message()["error"]["data"]["requiredCapabilities"];
        assert!(required["extensions"][EXTENSION].is_object(), "{reply}");
    }
}

#[tokio::test]
async fn at_203_without_the_extension_there_are_no_tasks() {
    let options = options().argument("--set").argument("tasks.enabled=false");
    let tree = Tree::start(options).await;

    let refused = tree.send(&job()).await;

    assert_eq!(
        (refused.status, refused.code()),
        (StatusCode::OK, -32603),
        "{refused}"
    );
    for call in about("any") {
        is_unknown_method(&tree.send(&call).await);
    }
}

#[tokio::test]
async fn at_204_nothing_but_a_modern_call_of_a_tool_becomes_a_task() {
    let tree = fixture().await;
    let session = tree.session(Version::November2025).await;

    for call in [
        Era::Modern.call("resources/read", json!({ "uri": "task://r" })),
        Era::Modern.call("prompts/get", json!({ "name": "taskp" })),
    ] {
        is_internal(&tree.send(&call.capabilities(tasks())).await);
    }
    let legacy = Era::Legacy.tool("job", json!({}));
    is_internal(&tree.send(&legacy).await);
    is_internal(&tree.send(&legacy.session(&session)).await);
}

#[tokio::test]
async fn at_205_tasks_are_neither_listed_nor_waited_for() {
    let tree = fixture().await;
    let id = created(&tree.send(&job()).await);

    for method in ["tasks/list", "tasks/result"] {
        let call = Call::modern(method, json!({ "taskId": id })).capabilities(tasks());
        is_unknown_method(&tree.send(&call).await);
    }
}

#[tokio::test]
async fn at_206_a_task_is_there_as_soon_as_it_is_answered() {
    let tree = fixture().await;

    for _ in 0..20 {
        let id = created(&tree.send(&job()).await);
        let [get, ..] = about(&id);
        assert_eq!(tree.send(&get).await.result()["taskId"], *id);
    }
}

#[tokio::test]
async fn at_207_a_task_of_somebody_else_is_as_one_that_is_not_there() {
    let tree = fixture().await;
    let session = tree.session(Version::November2025).await;
    let foreign = Era::Legacy
        .tool("work", json!({ "name": "foreign", "hold": true }))
        .param("task", json!({}))
        .session(&session);
    let foreign = tree.send(&foreign).await.result()["task"]["taskId"].clone();
    let foreign = foreign.as_str().expect("a task of a session");
    let nobody_s = "786512e2-9e0d-44bd-8f29-789f320fe840";

    for (theirs, unknown) in about(foreign).iter().zip(about(nobody_s)) {
        let [theirs, unknown] = [tree.send(theirs).await, tree.send(&unknown).await];
        assert_eq!(
            (theirs.status, theirs.code()),
            (StatusCode::OK, -32602),
            "{theirs}"
        );
        let put = |reply: &Reply, id: &str| reply.message().to_string().replace(id, "");
        assert_eq!(put(&theirs, foreign), put(&unknown, nobody_s));
    }
}

/// `TASKS`.
fn tasks() -> Value {
    json!({ "extensions": { EXTENSION: {} } })
}

fn job() -> Call {
    Era::Modern
        .tool("job", json!({}))
        .id(json!(200))
        .capabilities(tasks())
}

/// `tasks/get`, `tasks/update` and `tasks/cancel`.
fn about(id: &str) -> [Call; 3] {
    let call = |method: &str| Call::modern(method, json!({ "taskId": id })).capabilities(tasks());
    [
        call("tasks/get"),
        call("tasks/update").param("inputResponses", json!({})),
        call("tasks/cancel"),
    ]
}

#[track_caller]
fn created(reply: &Reply) -> String {
    let id = reply.result()["taskId"].as_str();
    id.unwrap_or_else(|| panic!("no task in {reply}"))
        .to_owned()
}

#[track_caller]
fn is_unknown_method(reply: &Reply) {
    assert_eq!(
        (reply.status, reply.code()),
        (StatusCode::NOT_FOUND, -32601),
        "{reply}"
    );
}

#[track_caller]
fn is_internal(reply: &Reply) {
    assert_eq!(
        (reply.status, reply.code()),
        (StatusCode::OK, -32603),
        "{reply}"
    );
}
