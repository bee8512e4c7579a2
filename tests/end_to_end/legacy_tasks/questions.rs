//! What a task asks its client, on the stream of `tasks/result`.

use conduit_testkit::{Call, Conn, Era, Tree, Version};
use http::{Method, StatusCode};
use serde_json::json;

use super::{RELATED, accept, ask, created, next, until};
use crate::record::recorded;
use crate::{fixture, pair};

/// A task that has been made at the second of two gateways, for a client that shows forms.
struct Started {
    tree: Tree,
    session: String,
    /// To the second gateway.
    conn: Conn,
    id: String,
    /// Waits for the result.
    wait: Call,
}

async fn start(tool: &str, name: &str) -> Started {
    let tree = pair().await;
    let elicits = json!({ "elicitation": {} });
    let session = tree.session_with(Version::November2025, elicits).await;
    let mut conn = tree.conn_to("gateway-1").await;
    let call = Era::Legacy
        .tool(tool, json!({ "name": name }))
        .param("task", json!({}))
        .session(&session);
    let id = created(&conn.send(&call).await);
    Started {
        wait: ask("tasks/result", &id, &session),
        tree,
        session,
        conn,
        id,
    }
}

#[tokio::test]
async fn a_task_asks_its_client_on_the_stream_of_who_waits_for_its_result() {
    let tree = pair().await;
    let elicits = json!({ "elicitation": {} });
    let session = tree.session_with(Version::November2025, elicits).await;
    let mut conn = tree.conn_to("gateway-1").await;
    let call = Era::Legacy
        .tool("questionnaire", json!({ "name": "q" }))
        .param("task", json!({}))
        .session(&session);
    let id = created(&tree.conn_to("gateway-0").await.send(&call).await);
    until(&mut conn, &id, &session, "input_required").await;

    let wait = ask("tasks/result", &id, &session);
    let mut stream = tree.conn_to("gateway-0").await.into_stream(&wait).await;
    let both = [next(&mut stream).await, next(&mut stream).await];
    for asked in &both {
        assert_eq!(asked["method"], "elicitation/create", "{asked}");
        assert_eq!(asked["params"]["_meta"][RELATED]["taskId"], *id);
        let content = match asked["params"]["message"].as_str() {
            Some("What is your name?") => json!({ "name": "Ann" }),
            _ => json!({ "color": "red" }),
        };
        accept(&mut conn, &session, asked, content).await;
    }
    let sure = next(&mut stream).await;
    assert_eq!(sure["params"]["message"], "Ann, do you like red?");
    accept(&mut conn, &session, &sure, json!({ "ok": true })).await;

    let done = next(&mut stream).await;
    let result = &done["result"];
    assert_eq!(
        result["content"][0]["text"], "Ann likes red: true",
        "{done}"
    );
    assert_eq!(result["_meta"][RELATED]["taskId"], *id);
}

#[tokio::test]
async fn a_client_that_answers_a_task_s_question_with_an_error_ends_its_wait() {
    let tree = fixture().await;
    let elicits = json!({ "elicitation": {} });
    let session = tree.session_with(Version::November2025, elicits).await;
    let call = Era::Legacy
        .tool("questionnaire", json!({ "name": "q" }))
        .param("task", json!({}))
        .session(&session);
    let id = created(&tree.send(&call).await);
    let wait = ask("tasks/result", &id, &session);
    let mut stream = tree.conn().await.into_stream(&wait).await;
    let asked = next(&mut stream).await;

    let error = json!({ "code": -1, "message": "no" });
    let refusal = json!({ "jsonrpc": "2.0", "id": asked["id"], "error": error });
    let refusal = Call::message(refusal).session(&session);
    assert_eq!(tree.send(&refusal).await.status, StatusCode::ACCEPTED);

    loop {
        let message = next(&mut stream).await;
        if message.get("method").is_none() {
            assert!(message.get("error").is_some(), "{message}");
            break;
        }
    }
}

#[tokio::test]
async fn whoever_lost_the_stream_of_a_question_is_asked_again_when_it_comes_back() {
    let Started {
        tree,
        session,
        mut conn,
        wait,
        ..
    } = start("commission", "c").await;

    let mut lost = tree.conn_to("gateway-0").await.into_stream(&wait).await;
    let first = next(&mut lost).await;
    drop(lost);
    let mut stream = tree.conn_to("gateway-1").await.into_stream(&wait).await;
    let again = next(&mut stream).await;
    assert_eq!(again["params"], first["params"]);
    accept(&mut conn, &session, &again, json!({ "ok": true })).await;
    let asked = next(&mut stream).await;
    accept(&mut conn, &session, &asked, json!({ "name": "Ann" })).await;

    assert_eq!(
        next(&mut stream).await["result"]["content"][0]["text"],
        "done for Ann, asked before"
    );
}

#[tokio::test]
async fn of_two_that_wait_either_may_answer_and_both_get_the_result() {
    let Started {
        tree,
        session,
        mut conn,
        wait,
        ..
    } = start("questionnaire", "q").await;
    let mut first = tree.conn_to("gateway-0").await.into_stream(&wait).await;
    let both = [next(&mut first).await, next(&mut first).await];
    let mut second = tree.conn_to("gateway-1").await.into_stream(&wait).await;

    for asked in &both {
        let content = match asked["params"]["message"].as_str() {
            Some("What is your name?") => json!({ "name": "Ann" }),
            _ => json!({ "color": "red" }),
        };
        accept(&mut conn, &session, asked, content).await;
    }
    let sure = next(&mut first).await;
    accept(&mut conn, &session, &sure, json!({ "ok": true })).await;

    for stream in [&mut first, &mut second] {
        loop {
            let message = next(stream).await;
            if message.get("method").is_none() {
                let text = &message["result"]["content"][0]["text"];
                assert_eq!(*text, "Ann likes red: true", "{message}");
                break;
            }
        }
    }
}

#[tokio::test]
async fn a_task_that_is_cancelled_while_it_asks_ends_the_stream_of_its_question() {
    let Started {
        tree,
        session,
        mut conn,
        id,
        wait,
    } = start("questionnaire", "q").await;
    let mut stream = tree.conn_to("gateway-0").await.into_stream(&wait).await;
    let both = [next(&mut stream).await, next(&mut stream).await];

    let cancelled = conn.send(&ask("tasks/cancel", &id, &session)).await;

    assert_eq!(cancelled.result()["status"], "cancelled", "{cancelled}");
    let end = next(&mut stream).await;
    assert!(end.get("error").is_some(), "{end}");
    for asked in &both {
        accept(&mut conn, &session, asked, json!({ "name": "late" })).await;
    }
    assert_eq!(recorded(&tree, "q ran").await, 1);
}

#[tokio::test]
async fn an_answer_to_a_task_that_will_not_do_is_asked_for_again() {
    let Started {
        tree,
        session,
        mut conn,
        id: _,
        wait,
    } = start("commission", "c").await;
    let mut stream = tree.conn_to("gateway-0").await.into_stream(&wait).await;

    for bad in [
        json!({}),
        json!({ "action": "maybe" }),
        json!({ "action": "accept" }),
        json!({ "action": "accept", "content": { "ok": "perhaps" } }),
    ] {
        let asked = next(&mut stream).await;
        assert_eq!(asked["method"], "elicitation/create", "{asked}");
        let answer = Call::answer(&asked["id"], bad).session(&session);
        assert_eq!(conn.send(&answer).await.status, StatusCode::ACCEPTED);
    }
    let asked = next(&mut stream).await;
    accept(&mut conn, &session, &asked, json!({ "ok": false })).await;

    let done = next(&mut stream).await;
    assert_eq!(done["result"]["content"][0]["text"], "nothing was begun");
}

#[tokio::test]
async fn whoever_reads_no_stream_is_not_asked_and_gets_the_result_all_the_same() {
    let tree = fixture().await;
    let elicits = json!({ "elicitation": {} });
    let session = tree.session_with(Version::November2025, elicits).await;
    let call = Era::Legacy
        .tool("commission", json!({ "name": "c" }))
        .param("task", json!({}))
        .session(&session);
    let mut conn = tree.conn().await;
    let id = created(&conn.send(&call).await);
    let wait = ask("tasks/result", &id, &session);

    let json = wait.clone().header("accept", "application/json");
    let mut other = tree.conn().await;
    let waited = other.send(&json);
    let answered = async {
        let mut stream = tree.conn().await.into_stream(&wait).await;
        let asked = next(&mut stream).await;
        accept(&mut conn, &session, &asked, json!({ "ok": false })).await;
        next(&mut stream).await
    };

    let (waited, answered) = tokio::join!(waited, answered);

    assert_eq!(*waited.result(), answered["result"], "{waited}");
}

#[tokio::test]
async fn whoever_lost_the_stream_of_a_question_may_come_back_for_the_rest_of_it() {
    let Started {
        tree,
        session,
        mut conn,
        id: _,
        wait,
    } = start("commission", "c").await;
    let mut stream = tree.conn_to("gateway-0").await.into_stream(&wait).await;
    let primed = stream.next_event().await.expect("a whole stream");
    let last = primed.and_then(|event| event.id).expect("an id");
    let asked = next(&mut stream).await;
    drop(stream);

    let get = Call::verb(Method::GET)
        .header("accept", "text/event-stream")
        .header("last-event-id", &last)
        .session(&session);
    let mut stream = tree.conn_to("gateway-1").await.into_stream(&get).await;
    assert_eq!(next(&mut stream).await, asked);
    accept(&mut conn, &session, &asked, json!({ "ok": false })).await;

    let done = next(&mut stream).await;
    assert_eq!(done["result"]["content"][0]["text"], "nothing was begun");
}

#[tokio::test]
async fn a_task_of_a_client_that_cannot_be_asked_fails() {
    let tree = fixture().await;
    let session = tree.session(Version::November2025).await;
    let call = Era::Legacy
        .tool("questionnaire", json!({ "name": "q" }))
        .param("task", json!({}))
        .session(&session);
    let id = created(&tree.send(&call).await);

    let result = tree.send(&ask("tasks/result", &id, &session)).await;

    assert_eq!(result.code(), -32603, "{result}");
}
