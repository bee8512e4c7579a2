//! The tasks of 2025-11-25: a client asks for one with its call, in a session (9.2, R10).

mod questions;
mod waits;

use conduit_testkit::process::{self, Signal};
use conduit_testkit::{
    Call, Conn, Era, Events, Options, PATIENCE, Reply, Tree, Version, initialize, wait_until,
};
use futures_util::future::join_all;
use http::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::record::{recorded, release, wait_recorded};
use crate::{fixture, pair};

const RELATED: &str = "io.modelcontextprotocol/related-task";

#[tokio::test]
async fn only_sessions_of_2025_11_25_hear_of_tasks() {
    let tree = fixture().await;
    let (newer, older) = (
        tree.session(Version::November2025).await,
        tree.session(Version::June2025).await,
    );
    let list = Call::legacy("tools/list", Value::Null);

    for (version, expected) in [
        (
            Version::November2025,
            json!({ "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } }),
        ),
        (Version::June2025, Value::Null),
    ] {
        let reply = tree.send(&initialize(version)).await;
        let capabilities = &reply.result()["capabilities"];
        assert_eq!(capabilities["tasks"], expected, "{reply}");
    }
    let unknown = json!({ "taskId": "786512e2-9e0d-44bd-8f29-789f320fe840" });
    let call = Call::legacy("tasks/get", unknown)
        .session(&older)
        .version(Version::June2025);
    assert_eq!(tree.send(&call).await.code(), -32602, "it is routed: R10");
    for (what, list, is_shown) in [
        ("newer", list.clone().session(&newer), true),
        (
            "older",
            list.clone().session(&older).version(Version::June2025),
            false,
        ),
        ("no session", list, false),
        ("modern", Call::modern("tools/list", json!({})), false),
    ] {
        let reply = tree.send(&list).await;
        for (tool, support) in [
            ("work", json!("optional")),
            ("must_work", json!("required")),
            ("whoami", Value::Null),
        ] {
            let tools = reply.result()["tools"].as_array().expect("tools");
            let tool = tools.iter().find(|listed| listed["name"] == tool);
            let shown = &tool.expect("it is listed")["execution"]["taskSupport"];
            let expected = if is_shown { support } else { Value::Null };
            let is_default = expected.is_null() && *shown == "forbidden" && is_shown;
            assert!(*shown == expected || is_default, "{what}: {shown}");
        }
    }
}

#[tokio::test]
async fn a_call_is_a_task_where_it_may_be_one_and_its_client_asks_for_it() {
    let tree = fixture().await;
    let session = tree.session(Version::November2025).await;
    let older = tree.session(Version::June2025).await;
    let plain = |tool: &str| match tool {
        "job" => Era::Legacy.tool(tool, json!({})),
        _ => Era::Legacy.tool(tool, json!({ "name": "a" })),
    };
    let asking = |tool: &str| plain(tool).param("task", json!({}));
    let old = |call: Call| call.session(&older).version(Version::June2025);
    let echo = Era::Legacy.tool("echo", json!({ "message": "x" }));

    for (what, call, expected) in [
        (
            "forbidden, asked",
            echo.clone().param("task", json!({})),
            Becomes::Error(-32601),
        ),
        ("forbidden", echo.clone(), Becomes::Result),
        ("optional, asked", asking("work"), Becomes::Task),
        ("optional", plain("work"), Becomes::Result),
        ("required, asked", asking("must_work"), Becomes::Task),
        ("required", plain("must_work"), Becomes::Error(-32601)),
        ("becomes one, asked", asking("job"), Becomes::Task),
        ("becomes one", plain("job"), Becomes::Error(-32603)),
    ] {
        let reply = tree.send(&call.session(&session)).await;
        expected.is(&reply, what);
    }
    for (what, call) in [
        ("no session, asked", asking("work")),
        ("older, asked", old(asking("work"))),
    ] {
        Becomes::Result.is(&tree.send(&call).await, what);
    }
    for (what, call) in [
        ("no session, becomes one", asking("job")),
        ("no session, required", asking("must_work")),
        ("older, becomes one", old(asking("job"))),
        ("older, required", old(plain("must_work"))),
    ] {
        Becomes::Error(-32603).is(&tree.send(&call).await, what);
    }
    let echo = echo.param("task", json!({}));
    assert_eq!(tree.send(&echo).await.text(), "x");
    assert_eq!(tree.send(&old(echo)).await.text(), "x");
}

#[tokio::test]
async fn a_wish_that_cannot_be_read_is_refused() {
    let tree = fixture().await;
    let session = tree.session(Version::November2025).await;

    for wish in [
        json!(7),
        json!([]),
        json!({ "ttl": "long" }),
        json!({ "ttl": -1 }),
    ] {
        let call = Era::Legacy
            .tool("work", json!({ "name": "a" }))
            .param("task", wish.clone());
        let reply = tree.send(&call.session(&session)).await;
        assert_eq!(reply.code(), -32602, "{wish}: {reply}");
    }
    assert_eq!(recorded(&tree, "a began").await, 0);
}

#[tokio::test]
async fn a_task_is_made_within_the_time_that_its_client_wishes_for() {
    let tree = with(&["tasks.max_ttl_ms=100000", "tasks.ttl_ms=50000"]).await;
    let session = tree.session(Version::November2025).await;

    for (wish, ttl) in [
        (json!({}), 50_000),
        (json!({ "ttl": 60_000 }), 60_000),
        (json!({ "ttl": 600_000 }), 100_000),
    ] {
        let call = Era::Legacy
            .tool("work", json!({ "name": "a", "hold": true }))
            .param("task", wish)
            .session(&session);
        let reply = tree.send(&call).await;

        let task = &reply.result()["task"];
        assert_eq!(task["status"], "working", "{reply}");
        assert_eq!(task["ttl"], ttl, "{reply}");
        assert_eq!(task["pollInterval"], 1_000, "{reply}");
        for absent in ["ttlMs", "pollIntervalMs", "resultType"] {
            assert_eq!(task.get(absent), None, "{reply}");
        }
        for absent in ["taskId", "resultType", "content"] {
            assert_eq!(reply.result().get(absent), None, "{reply}");
        }
    }
}

#[tokio::test]
async fn a_tool_that_failed_has_failed_its_task_and_its_result_is_there() {
    let tree = fixture().await;
    let session = tree.session(Version::November2025).await;
    let call = Era::Legacy
        .tool("work", json!({ "name": "a", "end": "failure" }))
        .param("task", json!({}))
        .session(&session);
    let id = created(&tree.send(&call).await);

    let result = tree.send(&ask("tasks/result", &id, &session)).await;

    assert_eq!(result.result()["isError"], true, "{result}");
    assert_eq!(result.text(), "a has failed");
    assert_eq!(result.result()["_meta"][RELATED]["taskId"], *id);
    let shown = tree.send(&ask("tasks/get", &id, &session)).await;
    assert_eq!(shown.result()["status"], "failed", "{shown}");
    assert!(shown.result()["statusMessage"].is_string(), "{shown}");
}

#[tokio::test]
async fn a_protocol_error_is_the_answer_to_who_asks_for_the_result() {
    let tree = fixture().await;
    let session = tree.session(Version::November2025).await;
    let call = Era::Legacy
        .tool("work", json!({ "name": "a", "end": "error" }))
        .param("task", json!({}))
        .session(&session);
    let id = created(&tree.send(&call).await);

    let result = tree.send(&ask("tasks/result", &id, &session)).await;

    assert_eq!((result.status, result.code()), (StatusCode::OK, 1234));
    assert_eq!(result.message()["error"]["message"], "it broke");
    let shown = tree.send(&ask("tasks/get", &id, &session)).await;
    assert_eq!(shown.result()["status"], "failed", "{shown}");
}

#[tokio::test]
async fn a_task_is_cancelled_once() {
    let tree = pair().await;
    let session = tree.session(Version::November2025).await;
    let mut first = tree.conn_to("gateway-0").await;
    let mut second = tree.conn_to("gateway-1").await;
    let id = created(&first.send(&work(&session, "a")).await);
    wait_recorded(&tree, "a began", 1).await;

    let cancelled = second.send(&ask("tasks/cancel", &id, &session)).await;

    let task = cancelled.result();
    assert_eq!(
        (&task["status"], &task["taskId"]),
        (&json!("cancelled"), &json!(id))
    );
    wait_recorded(&tree, "a was cancelled", 1).await;
    for conn in [&mut first, &mut second] {
        let again = conn.send(&ask("tasks/cancel", &id, &session)).await;
        assert_eq!((again.status, again.code()), (StatusCode::OK, -32602));
        let message = again.message()["error"]["message"].to_string();
        assert!(message.contains("cancelled"), "{message}");
        let shown = conn.send(&ask("tasks/get", &id, &session)).await;
        assert_eq!(shown.result()["status"], "cancelled", "{shown}");
        let result = conn.send(&ask("tasks/result", &id, &session)).await;
        assert!(result.message().get("error").is_some(), "{result}");
    }
}

#[tokio::test]
async fn a_task_that_has_ended_is_not_cancelled() {
    let tree = fixture().await;
    let session = tree.session(Version::November2025).await;

    for end in ["text", "failure", "error"] {
        let call = Era::Legacy
            .tool("work", json!({ "name": "a", "end": end }))
            .param("task", json!({}))
            .session(&session);
        let id = created(&tree.send(&call).await);
        tree.send(&ask("tasks/result", &id, &session)).await;

        let reply = tree.send(&ask("tasks/cancel", &id, &session)).await;

        assert_eq!(reply.code(), -32602, "{end}: {reply}");
    }
}

#[tokio::test]
async fn a_session_lists_its_own_tasks_page_by_page() {
    // A busy disk must not fail it.
    let options = Options::fixture().gateways(2);
    let tree = Tree::start(options.environment("CONDUIT_STORE_PATIENCE_MS", "20000")).await;
    let (mine, other) = (
        tree.session(Version::November2025).await,
        tree.session(Version::November2025).await,
    );
    let mut conn = tree.conn_to("gateway-0").await;
    let quick = |session: &str| {
        Era::Legacy
            .tool("work", json!({ "name": "a" }))
            .param("task", json!({}))
            .session(session)
    };
    // More than there are on a page (R45).
    let making = (0..6).map(async |_| {
        let mut conn = tree.conn().await;
        let mut made = Vec::new();
        for _ in 0..90 {
            made.push(created(&conn.send(&quick(&mine)).await));
        }
        made
    });
    let made = join_all(making).await.concat();
    let foreign = created(&conn.send(&quick(&other)).await);

    let mut listed = Vec::new();
    let mut call = Call::legacy("tasks/list", Value::Null).session(&mine);
    let mut pages = 0;
    let mut second = tree.conn_to("gateway-1").await;
    loop {
        let conn = if pages % 2 == 0 {
            &mut second
        } else {
            &mut conn
        };
        let reply = conn.send(&call).await;
        let tasks = reply.result()["tasks"].as_array().expect("tasks");
        assert!(!tasks.is_empty(), "{reply}");
        listed.extend(tasks.iter().map(|task| task["taskId"].clone()));
        pages += 1;
        match reply.result().get("nextCursor") {
            Some(cursor) => call = call.param("cursor", cursor.clone()),
            None => break,
        }
    }

    assert!(pages > 1, "one page");
    let sorted = |mut ids: Vec<Value>| {
        ids.sort_by_key(Value::to_string);
        ids
    };
    assert_eq!(
        sorted(listed),
        sorted(made.into_iter().map(Value::from).collect())
    );
    let theirs = Call::legacy("tasks/list", Value::Null).session(&other);
    let theirs = conn.send(&theirs).await;
    let theirs = theirs.result()["tasks"].as_array().expect("tasks");
    assert_eq!(theirs.len(), 1);
    assert_eq!(theirs[0]["taskId"], foreign);
    for cursor in ["junk", "", "é"] {
        let call = Call::legacy("tasks/list", json!({ "cursor": cursor }));
        let reply = conn.send(&call.session(&mine)).await;
        assert_eq!(reply.code(), -32602, "{cursor}: {reply}");
    }
}

#[tokio::test]
async fn another_session_s_task_is_as_one_that_is_not_there() {
    let tree = fixture().await;
    let (mine, other) = (
        tree.session(Version::November2025).await,
        tree.session(Version::November2025).await,
    );
    let foreign = created(&tree.send(&work(&other, "a")).await);
    let unknown = "786512e2-9e0d-44bd-8f29-789f320fe840";
    let mut answers = Vec::new();

    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        for id in [&foreign, unknown, "unknown"] {
            for call in [
                ask(method, id, &mine),
                Call::legacy(method, json!({ "taskId": id })),
            ] {
                let reply = tree.send(&call).await;
                assert_eq!(
                    (reply.status, reply.code()),
                    (StatusCode::OK, -32602),
                    "{method}: {reply}"
                );
                answers.push(reply.message()["error"].to_string().replace(id, ""));
            }
        }
    }

    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:?}");
    let shown = tree.send(&ask("tasks/get", &foreign, &other)).await;
    assert_eq!(shown.result()["status"], "working", "{shown}");
}

#[tokio::test]
async fn a_list_is_for_sessions() {
    let reply = fixture()
        .await
        .send(&Call::legacy("tasks/list", Value::Null))
        .await;

    assert_eq!(reply.code(), -32601, "{reply}");
}

#[tokio::test]
async fn of_two_cancels_one_has_cancelled() {
    let tree = pair().await;
    let session = tree.session(Version::November2025).await;
    let mut conns = [
        tree.conn_to("gateway-0").await,
        tree.conn_to("gateway-1").await,
    ];

    for round in 0..20 {
        let [first, second] = &mut conns;
        let call = work(&session, &format!("r{round}"));
        let id = created(&first.send(&call).await);
        let cancel = ask("tasks/cancel", &id, &session);

        let (one, other) = tokio::join!(first.send(&cancel), second.send(&cancel));

        let replies = [one, other];
        let cancelled = replies
            .iter()
            .filter(|reply| reply.message()["result"]["status"] == "cancelled");
        assert_eq!(cancelled.count(), 1, "{replies:?}");
        let refused = replies
            .iter()
            .filter(|reply| reply.message()["error"]["code"] == -32602);
        assert_eq!(refused.count(), 1, "{replies:?}");
    }
}

#[tokio::test]
async fn a_session_hears_of_its_tasks_on_its_own_stream() {
    let tree = pair().await;
    let (mine, other) = (
        tree.session(Version::November2025).await,
        tree.session(Version::November2025).await,
    );
    let get = Call::verb(Method::GET)
        .header("accept", "text/event-stream")
        .session(&mine);
    let mut stream = tree.conn_to("gateway-1").await.into_stream(&get).await;
    assert_eq!(stream.status, StatusCode::OK);
    let mut conn = tree.conn_to("gateway-0").await;
    created(&conn.send(&work(&other, "other")).await);
    let id = created(&conn.send(&work(&mine, "mine")).await);
    wait_recorded(&tree, "mine began", 1).await;

    for name in ["other", "mine"] {
        release(&tree, name).await;
    }

    loop {
        let told = next(&mut stream).await;
        assert_eq!(told["method"], "notifications/tasks/status", "{told}");
        let task = &told["params"];
        assert_eq!(task["taskId"], *id, "{told}");
        for absent in ["ttlMs", "result"] {
            assert_eq!(task.get(absent), None, "{told}");
        }
        if task["status"] == "completed" {
            break;
        }
    }
}

#[tokio::test]
async fn a_session_has_so_many_tasks_and_no_more() {
    let tree = with(&["tasks.max_per_owner=2"]).await;
    let (mine, other) = (
        tree.session(Version::November2025).await,
        tree.session(Version::November2025).await,
    );
    let ids = [
        created(&tree.send(&work(&mine, "first")).await),
        created(&tree.send(&work(&mine, "second")).await),
    ];

    let refused = tree.send(&work(&mine, "third")).await;

    assert_eq!(
        (refused.status, refused.code()),
        (StatusCode::TOO_MANY_REQUESTS, 42_900),
        "{refused}"
    );
    assert_eq!(recorded(&tree, "third began").await, 0);
    created(&tree.send(&work(&other, "fourth")).await);
    for (name, id) in ["first", "second"].iter().zip(&ids) {
        release(&tree, name).await;
        let result = tree.send(&ask("tasks/result", id, &mine)).await;
        assert_eq!(result.text(), format!("{name} is done in attempt 1"));
    }
}

#[tokio::test]
async fn a_session_that_runs_many_tasks_does_not_keep_others_waiting() {
    let tree = with(&["tasks.running_per_owner=1"]).await;
    let (mine, other) = (
        tree.session(Version::November2025).await,
        tree.session(Version::November2025).await,
    );
    let first = created(&tree.send(&work(&mine, "first")).await);
    wait_recorded(&tree, "first began", 1).await;
    let second = created(&tree.send(&work(&mine, "second")).await);

    let third = created(&tree.send(&work(&other, "third")).await);
    wait_recorded(&tree, "third began", 1).await;

    assert_eq!(recorded(&tree, "second began").await, 0);
    for name in ["first", "second", "third"] {
        release(&tree, name).await;
    }
    for (id, session) in [(&first, &mine), (&second, &mine), (&third, &other)] {
        let result = tree.send(&ask("tasks/result", id, session)).await;
        assert!(result.text().contains("is done"), "{result}");
    }
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug)]
enum Becomes {
    Task,
    Result,
    Error(i64),
}

impl Becomes {
    #[track_caller]
    fn is(self, reply: &Reply, what: &str) {
        let message = reply.message();
        let is_so = match self {
            Self::Task => message["result"]["task"]["taskId"].is_string(),
            Self::Result => message["result"]["content"].is_array(),
            Self::Error(code) => message["error"]["code"] == code,
        };
        assert!(is_so, "{what} becomes {self:?}: {reply}");
    }
}

/// A call that becomes a task, and waits to be released.
#[tokio::test]
async fn a_task_that_was_refused_is_not_left_to_be_done() {
    let tree = with(&["store.patience_ms=300"]).await;
    let session = tree.session(Version::November2025).await;
    let call = Era::Legacy
        .tool("sturdy_work", json!({ "name": "w", "hold": true }))
        .param("task", json!({}))
        .session(&session);
    let mut conn = tree.conn().await;
    assert_eq!(
        conn.send(&Call::legacy("ping", Value::Null)).await.status,
        StatusCode::OK
    );

    let store = tree.signal_slot("store", Signal::STOP).await;
    let refused = conn.send(&call).await;
    process::signal(store, Signal::CONT);

    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE, "{refused}");
    let list = Call::legacy("tasks/list", Value::Null).session(&session);
    wait_until("nothing to be left to do", PATIENCE, async || {
        let reply = tree.conn().await.send(&list).await;
        let tasks = reply.message()["result"]["tasks"].as_array()?.clone();
        let is_over = |task: &Value| task["status"] == "cancelled";
        tasks.iter().all(is_over).then_some(())
    })
    .await;
    assert_eq!(recorded(&tree, "w began").await, 0);
}

fn work(session: &str, name: &str) -> Call {
    Era::Legacy
        .tool("work", json!({ "name": name, "hold": true }))
        .param("task", json!({}))
        .session(session)
}

fn ask(method: &str, id: &str, session: &str) -> Call {
    Call::legacy(method, json!({ "taskId": id })).session(session)
}

#[track_caller]
fn created(reply: &Reply) -> String {
    let id = reply.result()["task"]["taskId"].as_str();
    id.unwrap_or_else(|| panic!("no task in {reply}"))
        .to_owned()
}

/// Waits until somebody waits for the result of a task.
async fn waiting(tree: &Tree) {
    wait_until("a call in flight", PATIENCE, async || {
        let now = tree.metrics().await.sum("conduit_requests_in_flight", &[]);
        (now > 0.5).then_some(())
    })
    .await;
}

async fn until(conn: &mut Conn, id: &str, session: &str, status: &str) {
    wait_until(&format!("a task that is {status}"), PATIENCE, async || {
        let shown = conn.send(&ask("tasks/get", id, session)).await;
        (shown.result()["status"] == status).then_some(())
    })
    .await;
}

async fn accept(conn: &mut Conn, session: &str, asked: &Value, content: Value) {
    let mut answer = json!({ "action": "accept" });
    answer["content"] = content;
    let taken = conn
        .send(&Call::answer(&asked["id"], answer).session(session))
        .await;
    assert_eq!(taken.status, StatusCode::ACCEPTED, "{taken}");
}

async fn next(stream: &mut Events) -> Value {
    let next = timeout(PATIENCE, stream.next()).await.expect("in time");
    next.expect("a whole stream").expect("a message")
}

async fn with(set: &[&str]) -> Tree {
    let options = Options::fixture().gateways(1);
    let options = set.iter().fold(options, |options, setting| {
        options.argument("--set").argument(setting)
    });
    Tree::start(options).await
}
