//! Calls that go on as tasks, for modern clients that know the extension (9.1).

mod deaths;
mod input;
mod limits;
mod listen;
mod operator;

use conduit_testkit::{Call, Conn, Era, Options, PATIENCE, Reply, Tree, Version, wait_until};
use http::StatusCode;
use serde_json::{Value, json};

use crate::record::{recorded, release, wait_recorded};
use crate::{fixture, pair};

const EXTENSION: &str = "io.modelcontextprotocol/tasks";

#[tokio::test]
async fn a_call_is_answered_with_a_task_and_with_nothing_else() {
    let tree = fixture().await;

    let reply = tree.send(&work("a", json!({ "hold": true }))).await;

    assert_eq!(reply.status, StatusCode::OK);
    let task = reply.result();
    assert_eq!(task["resultType"], "task", "{reply}");
    assert_eq!(task["status"], "working");
    assert_eq!(
        (&task["ttlMs"], &task["pollIntervalMs"]),
        (&json!(3_600_000), &json!(1_000))
    );
    assert!(task["taskId"].as_str().expect("an id").len() >= 32);
    for time in ["createdAt", "lastUpdatedAt"] {
        let text = task[time].as_str().expect("a time");
        assert!(text.contains('T') && text.ends_with('Z'), "{text}");
    }
    for absent in [
        "task",
        "result",
        "error",
        "inputRequests",
        "requestState",
        "ttl",
        "pollInterval",
        "content",
        "ttlMS",
    ] {
        assert_eq!(task.get(absent), None, "{reply}");
    }
}

#[tokio::test]
async fn a_task_is_there_at_every_gateway_before_its_client_hears_of_it() {
    let tree = pair().await;
    let (mut first, mut second) = (
        tree.conn_to("gateway-0").await,
        tree.conn_to("gateway-1").await,
    );

    for number in 0..20 {
        let call = work(&format!("a{number}"), json!({}));
        let id = created(&first.send(&call).await);
        let shown = second.send(&get(&id)).await;
        assert_eq!(shown.result()["taskId"], *id);
        std::mem::swap(&mut first, &mut second);
    }
}

#[tokio::test]
async fn a_task_ends_with_the_result_that_its_call_would_have_had() {
    let tree = fixture().await;
    let id = begin(&tree, &work("a", json!({}))).await;

    let done = until(&tree, &id, "completed").await;

    let result = &done["result"];
    assert_eq!(result["resultType"], "complete", "{done}");
    assert_eq!(result["content"][0]["text"], "a is done in attempt 1");
    assert_ne!(result["isError"], true, "{done}");
    assert!(!done.to_string().contains("related-task"), "{done}");
    for absent in ["error", "inputRequests"] {
        assert_eq!(done.get(absent), None, "{done}");
    }
}

#[tokio::test]
async fn a_tool_that_failed_has_completed_its_task() {
    let tree = fixture().await;
    let id = begin(&tree, &work("a", json!({ "end": "failure" }))).await;

    let done = until(&tree, &id, "completed").await;

    assert_eq!(done["result"]["isError"], true, "{done}");
    assert_eq!(done["result"]["content"][0]["text"], "a has failed");
}

#[tokio::test]
async fn a_protocol_error_and_a_panic_have_failed_it() {
    let tree = fixture().await;

    for (end, code, message) in [
        ("error", 1234, "it broke"),
        ("panic", -32603, "Internal error"),
    ] {
        let id = begin(&tree, &work(end, json!({ "end": end }))).await;
        let failed = until(&tree, &id, "failed").await;

        let error = &failed["error"];
        assert_eq!(
            (&error["code"], &error["message"]),
            (&json!(code), &json!(message)),
            "{failed}"
        );
        assert!(failed["statusMessage"].is_string(), "{failed}");
        assert!(!failed.to_string().contains("hunter2"), "{failed}");
        assert_eq!(failed.get("result"), None, "{failed}");
    }
}

#[tokio::test]
async fn a_task_says_what_it_does() {
    let tree = fixture().await;
    let id = begin(&tree, &work("a", json!({ "hold": true }))).await;

    wait_until("a status message", PATIENCE, async || {
        let shown = tree.send(&get(&id)).await;
        (shown.result()["statusMessage"] == "at work").then_some(())
    })
    .await;

    let shown = tree.send(&get(&id)).await;
    assert_eq!(shown.result()["status"], "working", "{shown}");
}

#[tokio::test]
async fn a_client_that_knows_no_tasks_gets_a_result_where_there_can_be_one() {
    let tree = fixture().await;
    let legacy_slot = json!({ "tasks": { "requests": { "tools": { "call": {} } } } });

    for declared in [json!({}), legacy_slot, json!({ "extensions": {} })] {
        let optional = work("a", json!({})).capabilities(declared.clone());
        let reply = tree.send(&optional).await;
        assert_eq!(reply.text(), "a is done in attempt 0", "{declared}");

        let required = Era::Modern.tool("must_work", json!({ "name": "a" }));
        for call in [required, Era::Modern.tool("job", json!({}))] {
            is_undeclared(&tree.send(&call.capabilities(declared.clone())).await);
        }
    }
}

#[tokio::test]
async fn the_way_in_which_older_clients_ask_for_a_task_is_ignored() {
    let tree = fixture().await;
    let call = work("a", json!({})).param("task", json!({ "ttl": 1_000 }));

    let plain = tree.send(&call.clone().capabilities(json!({}))).await;
    let task = tree.send(&call).await;

    assert_eq!(plain.text(), "a is done in attempt 0");
    assert_eq!(task.result()["ttlMs"], 3_600_000, "{task}");
}

#[tokio::test]
async fn each_request_about_tasks_has_to_declare_the_extension() {
    let tree = fixture().await;
    let id = begin(&tree, &work("a", json!({}))).await;

    for call in about(&id) {
        is_undeclared(
            &tree
                .send(&call.capabilities(json!({ "elicitation": {} })))
                .await,
        );
    }
}

#[tokio::test]
async fn what_is_not_a_client_s_task_is_as_one_that_is_not_there() {
    let tree = fixture().await;
    let session = tree.session(Version::November2025).await;
    let legacy = Era::Legacy
        .tool("work", json!({ "name": "legacy" }))
        .param("task", json!({}))
        .session(&session);
    let legacy = tree.send(&legacy).await.result()["task"]["taskId"].clone();
    let legacy = legacy.as_str().expect("a legacy task").to_owned();
    let own = begin(&tree, &work("a", json!({}))).await;
    let mut messages = Vec::new();

    for id in [
        "786512e2-9e0d-44bd-8f29-789f320fe840".to_owned(),
        "00000000-0000-0000-0000-000000000000".to_owned(),
        "unknown".to_owned(),
        String::new(),
        "x".repeat(300),
        format!("{own}0"),
        own[..own.len() - 1].to_owned(),
        legacy,
    ] {
        for call in about(&id) {
            // Not each of these can stand in a header.
            let reply = tree.send(&call.without("mcp-name")).await;
            messages.push(unknown(&reply, &id));
        }
    }

    messages.dedup();
    assert_eq!(messages.len(), 1, "{messages:?}");
}

#[tokio::test]
async fn a_request_about_a_task_has_to_say_which() {
    let tree = fixture().await;

    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        for params in [json!({}), json!({ "taskId": 7 }), json!({ "taskId": null })] {
            let call = Call::modern(method, params).capabilities(declares());
            let reply = tree.send(&call).await;
            assert_eq!(reply.code(), -32602, "{method}: {reply}");
        }
    }
}

#[tokio::test]
async fn the_name_in_the_header_is_that_of_the_task_or_is_left_out() {
    let tree = fixture().await;
    let id = begin(&tree, &work("a", json!({ "hold": true }))).await;

    for call in about(&id) {
        let wrong = tree.send(&call.clone().header("mcp-name", "another")).await;
        assert_eq!(
            (wrong.status, wrong.code()),
            (StatusCode::BAD_REQUEST, -32020),
            "{wrong}"
        );
        let without = tree.send(&call.without("mcp-name")).await;
        assert_eq!(without.result()["resultType"], "complete", "{without}");
    }
}

#[tokio::test]
async fn what_the_extension_has_given_up_is_unknown() {
    let tree = fixture().await;
    let id = begin(&tree, &work("a", json!({}))).await;

    for method in ["tasks/list", "tasks/result"] {
        let call = Call::modern(method, json!({ "taskId": id })).capabilities(declares());
        let reply = tree.send(&call).await;

        assert_eq!(
            (reply.status, reply.code()),
            (StatusCode::NOT_FOUND, -32601),
            "{reply}"
        );
    }
}

#[tokio::test]
async fn a_task_is_cancelled_from_any_gateway_and_its_callback_hears_of_it() {
    let tree = pair().await;
    let (mut first, mut second) = (
        tree.conn_to("gateway-0").await,
        tree.conn_to("gateway-1").await,
    );
    for (name, far) in [("near", false), ("far", true)] {
        let id = created(&first.send(&work(name, json!({ "hold": true }))).await);
        wait_recorded(&tree, &format!("{name} began"), 1).await;

        let conn = if far { &mut second } else { &mut first };
        let cancelled = conn.send(&cancel(&id)).await;

        is_acknowledged(&cancelled);
        for conn in [&mut first, &mut second] {
            let shown = conn.send(&get(&id)).await;
            let shown = shown.result();
            assert_eq!(shown["status"], "cancelled", "{shown}");
            for absent in ["result", "error", "inputRequests"] {
                assert_eq!(shown.get(absent), None, "{shown}");
            }
            is_acknowledged(&conn.send(&cancel(&id)).await);
        }
        wait_recorded(&tree, &format!("{name} was cancelled"), 1).await;
    }
}

#[tokio::test]
async fn a_task_that_has_ended_stays_as_it_is() {
    let tree = fixture().await;

    for (end, status) in [("text", "completed"), ("error", "failed")] {
        let id = begin(&tree, &work(end, json!({ "end": end }))).await;
        let before = until(&tree, &id, status).await;

        is_acknowledged(&tree.send(&cancel(&id)).await);
        is_acknowledged(&tree.send(&update(&id, json!({ "x": 1 }))).await);

        assert_eq!(*tree.send(&get(&id)).await.result(), before);
    }
}

#[tokio::test]
async fn a_task_does_not_mind_what_becomes_of_its_request() {
    let tree = fixture().await;
    let mut conn = tree.conn().await;
    let call = work("a", json!({ "hold": true })).id(json!("create"));
    let id = created(&conn.send(&call).await);
    wait_recorded(&tree, "a began", 1).await;

    for notice in [
        Call::modern("notifications/cancelled", json!({ "requestId": "create" })),
        Call::legacy("notifications/cancelled", json!({ "requestId": "create" })),
    ] {
        let taken = conn.send(&notice.notification()).await;
        assert_eq!(taken.status, StatusCode::ACCEPTED, "{taken}");
    }
    drop(conn);
    release(&tree, "a").await;

    until(&tree, &id, "completed").await;
    assert_eq!(recorded(&tree, "a was cancelled").await, 0);
}

#[tokio::test]
async fn a_callback_may_ask_before_it_becomes_a_task_and_after() {
    let tree = fixture().await;
    let call = Era::Modern
        .tool("commission", json!({ "name": "c" }))
        .capabilities(declares());

    let asked = tree.send(&call).await;
    assert_eq!(asked.result()["resultType"], "input_required", "{asked}");
    assert!(asked.result()["inputRequests"]["sure"].is_object());
    let yes = json!({ "sure": { "action": "accept", "content": { "ok": true } } });
    let retry = call
        .id(json!(2))
        .param("requestState", asked.result()["requestState"].clone())
        .param("inputResponses", yes);
    let made = tree.send(&retry).await;
    let id = created(&made);
    for absent in ["requestState", "inputRequests"] {
        assert_eq!(made.result().get(absent), None, "{made}");
    }

    let waiting = until(&tree, &id, "input_required").await;
    let questions = waiting["inputRequests"].as_object().expect("questions");
    assert_eq!(questions.keys().collect::<Vec<_>>(), ["name"]);
    assert_eq!(waiting.get("requestState"), None, "{waiting}");
    let name = json!({ "name": { "action": "accept", "content": { "name": "Ann" } } });
    is_acknowledged(&tree.send(&update(&id, name)).await);

    let done = until(&tree, &id, "completed").await;
    assert_eq!(
        done["result"]["content"][0]["text"],
        "done for Ann, asked before"
    );
}

#[tokio::test]
async fn a_callback_that_asks_first_need_not_become_a_task() {
    let tree = fixture().await;
    let no = json!({ "sure": { "action": "accept", "content": { "ok": false } } });
    let call = Era::Modern
        .tool("commission", json!({ "name": "c" }))
        .capabilities(declares())
        .param("inputResponses", no);

    let reply = tree.send(&call).await;

    assert_eq!(reply.text(), "nothing was begun");
}

#[tokio::test]
async fn a_server_says_that_it_has_tasks() {
    let tree = fixture().await;

    let reply = tree.send(&Call::modern("server/discover", json!({}))).await;

    let capabilities = &reply.result()["capabilities"];
    assert_eq!(capabilities["extensions"][EXTENSION], json!({}));
    assert_eq!(capabilities.get("tasks"), None, "{capabilities}");
}

#[tokio::test]
async fn with_tasks_switched_off_nothing_of_them_is_to_be_had() {
    let options = Options::fixture()
        .gateways(1)
        .argument("--set")
        .argument("tasks.enabled=false");
    let tree = Tree::start(options).await;

    let found = tree.send(&Call::modern("server/discover", json!({}))).await;
    assert!(!found.result().to_string().contains(EXTENSION), "{found}");
    for call in about("x") {
        let reply = tree.send(&call).await;
        assert_eq!(
            (reply.status, reply.code()),
            (StatusCode::NOT_FOUND, -32601),
            "{reply}"
        );
    }
    let optional = tree.send(&work("a", json!({}))).await;
    assert_eq!(optional.text(), "a is done in attempt 0");
    let must = Era::Modern.tool("must_work", json!({ "name": "a" }));
    for call in [must, Era::Modern.tool("job", json!({}))] {
        let reply = tree.send(&call.capabilities(declares())).await;
        assert_eq!(
            (reply.status, reply.code()),
            (StatusCode::OK, -32603),
            "{reply}"
        );
    }
    let listen = Call::modern(
        "subscriptions/listen",
        json!({ "notifications": { "taskIds": ["x"] } }),
    );
    let reply = tree.send(&listen.capabilities(declares())).await;
    let [acknowledged] = reply.notifications() else {
        panic!("an acknowledgement and an end expected: {reply}");
    };
    assert_eq!(acknowledged["params"]["notifications"], json!({}));
}

/// A client that knows the extension, and can fill in forms.
fn declares() -> Value {
    json!({ "elicitation": {}, "extensions": { EXTENSION: {} } })
}

/// A call that becomes a task.
fn work(name: &str, more: Value) -> Call {
    let mut arguments = more;
    arguments["name"] = json!(name);
    Era::Modern.tool("work", arguments).capabilities(declares())
}

fn sturdy_work(name: &str) -> Call {
    let arguments = json!({ "name": name, "hold": true });
    Era::Modern
        .tool("sturdy_work", arguments)
        .capabilities(declares())
}

fn get(id: &str) -> Call {
    Call::modern("tasks/get", json!({ "taskId": id })).capabilities(declares())
}

fn cancel(id: &str) -> Call {
    Call::modern("tasks/cancel", json!({ "taskId": id })).capabilities(declares())
}

fn update(id: &str, answers: Value) -> Call {
    Call::modern("tasks/update", json!({ "taskId": id }))
        .param("inputResponses", answers)
        .capabilities(declares())
}

/// A request of each kind.
fn about(id: &str) -> [Call; 3] {
    let name = json!({ "name": { "action": "decline" } });
    [get(id), update(id, name), cancel(id)]
}

/// The id of a task that was made.
#[track_caller]
fn created(reply: &Reply) -> String {
    let task = reply.result();
    assert_eq!(task["resultType"], "task", "{reply}");
    task["taskId"].as_str().expect("an id").to_owned()
}

/// Makes a task and returns its id.
async fn begin(tree: &Tree, call: &Call) -> String {
    created(&tree.send(call).await)
}

/// Waits until a task has a status, and returns the task.
async fn until(tree: &Tree, id: &str, status: &str) -> Value {
    let mut conn = tree.conn().await;
    until_at(&mut conn, id, status).await
}

/// As [`until`], of one gateway.
async fn until_at(conn: &mut Conn, id: &str, status: &str) -> Value {
    let what = format!("a task that is {status}");
    let (task, _) = wait_until(&what, PATIENCE, async || {
        let task = conn.send(&get(id)).await;
        let task = task.result();
        let now = task["status"].as_str().expect("a status");
        let is_over = !["working", "input_required"].contains(&now);
        assert!(now == status || !is_over, "not {status}: {task}");
        (now == status).then(|| task.clone())
    })
    .await;
    task
}

#[track_caller]
fn is_acknowledged(reply: &Reply) {
    let result = reply.result();
    assert_eq!(result["resultType"], "complete", "{reply}");
    for absent in ["taskId", "status", "result"] {
        assert_eq!(result.get(absent), None, "{reply}");
    }
}

#[track_caller]
fn is_undeclared(reply: &Reply) {
    assert_eq!(
        (reply.status, reply.code()),
        (StatusCode::BAD_REQUEST, -32021),
        "{reply}"
    );
    assert_eq!(
        reply.message()["error"]["data"]["requiredCapabilities"],
        json!({ "extensions": { EXTENSION: {} } })
    );
}

/// Asserts that there is no such task, and returns how that is put, but for its id.
#[track_caller]
fn unknown(reply: &Reply, id: &str) -> String {
    assert_eq!(
        (reply.status, reply.code()),
        (StatusCode::OK, -32602),
        "{reply}"
    );
    let error = &reply.message()["error"];
    assert_eq!(error.get("data"), None, "{reply}");
    let message = error["message"].as_str().expect("a message");
    let (said, named) = message.split_once(": ").unwrap_or((message, ""));
    assert!(
        named.is_empty() || named.starts_with(&id[..id.len().min(10)]),
        "{reply}"
    );
    said.to_owned()
}
