//! The tasks of one client: they end with the process.

use serde_json::{Value, json};

use crate::asked::{accepted, answer, opened, text};
use crate::client::Pipe;
use crate::legacy;

const RELATED: &str = "io.modelcontextprotocol/related-task";

#[tokio::test]
async fn a_modern_client_follows_a_task_and_answers_it() {
    let mut pipe = Pipe::fixture();
    let questionnaire = json!({ "name": "questionnaire", "arguments": { "name": "q" } });
    pipe.say(&modern(1, "tools/call", questionnaire)).await;
    let made = pipe.next().await;
    assert_eq!(made["result"]["resultType"], "task", "{made}");
    let id = made["result"]["taskId"].clone();

    let filter = json!({ "notifications": { "taskIds": [id] } });
    pipe.say(&modern(2, "subscriptions/listen", filter)).await;
    let acknowledged = pipe.next().await;
    assert_eq!(
        acknowledged["params"]["notifications"]["taskIds"],
        json!([id])
    );
    asks_for(&mut pipe, "name").await;
    let both = json!({
        "name": accepted(json!({ "name": "Ann" })),
        "color": accepted(json!({ "color": "red" })),
    });
    let update = json!({ "taskId": id, "inputResponses": both });
    pipe.say(&modern(3, "tasks/update", update)).await;
    asks_for(&mut pipe, "sure").await;
    let sure = json!({ "sure": accepted(json!({ "ok": true })) });
    let update = json!({ "taskId": id, "inputResponses": sure });
    pipe.say(&modern(4, "tasks/update", update)).await;

    let done = told(&mut pipe, |task| task["status"] == "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "Ann likes red: true");
    pipe.say(&modern(5, "tasks/get", json!({ "taskId": id })))
        .await;
    let shown = answered(&mut pipe, 5).await;
    assert_eq!(shown["result"]["result"], done["result"]);
    pipe.end().await;
}

#[tokio::test]
async fn a_legacy_client_waits_for_a_task_and_is_asked() {
    let mut pipe = opened(json!({ "elicitation": {} })).await;
    let id = begun(&mut pipe, 1, "questionnaire", json!({ "name": "q" })).await;

    pipe.say(&ask(2, "tasks/result", &id)).await;
    for _ in 0..2 {
        let asked = questioned(&mut pipe).await;
        assert_eq!(asked["params"]["_meta"][RELATED]["taskId"], id);
        let content = match asked["params"]["message"].as_str() {
            Some("What is your name?") => json!({ "name": "Ann" }),
            _ => json!({ "color": "red" }),
        };
        pipe.say(&answer(&asked, content)).await;
    }
    let sure = questioned(&mut pipe).await;
    pipe.say(&answer(&sure, json!({ "ok": true }))).await;

    let done = answered(&mut pipe, 2).await;
    assert_eq!(text(&done), "Ann likes red: true");
    assert_eq!(done["result"]["_meta"][RELATED]["taskId"], id);
    pipe.say(&json!({ "jsonrpc": "2.0", "id": 3, "method": "tasks/list" }))
        .await;
    let listed = answered(&mut pipe, 3).await;
    let tasks = listed["result"]["tasks"].as_array().expect("tasks");
    assert_eq!(tasks.len(), 1, "{listed}");
    assert_eq!(tasks[0]["status"], "completed", "{listed}");
    pipe.end().await;
}

#[tokio::test]
async fn a_pipe_is_told_of_its_task_and_cancels_it() {
    let mut pipe = opened(json!({})).await;
    let id = begun(&mut pipe, 1, "work", json!({ "name": "a", "hold": true })).await;
    loop {
        let message = pipe.next().await;
        assert_eq!(message["method"], "notifications/tasks/status", "{message}");
        if message["params"]["statusMessage"] == "at work" {
            break;
        }
    }

    pipe.say(&ask(2, "tasks/cancel", &id)).await;
    let cancelled = answered(&mut pipe, 2).await;
    assert_eq!(cancelled["result"]["status"], "cancelled", "{cancelled}");
    pipe.say(&ask(3, "tasks/cancel", &id)).await;
    let again = answered(&mut pipe, 3).await;
    assert_eq!(again["error"]["code"], -32602, "{again}");
    pipe.end().await;
}

#[tokio::test]
async fn the_end_of_input_does_not_wait_for_tasks() {
    let mut pipe = opened(json!({})).await;
    begun(&mut pipe, 1, "work", json!({ "name": "a", "hold": true })).await;

    pipe.end().await;
}

fn modern(id: u64, method: &str, params: Value) -> Value {
    let mut message = json!({ "jsonrpc": "2.0", "id": id, "method": method });
    message["params"] = params;
    message["params"]["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {
            "elicitation": {},
            "extensions": { "io.modelcontextprotocol/tasks": {} },
        },
    });
    message
}

fn ask(id: u64, method: &str, task: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": { "taskId": task } })
}

/// Begins a legacy task and returns its id.
async fn begun(pipe: &mut Pipe, id: u64, tool: &str, arguments: Value) -> Value {
    let mut call = legacy(&json!(id), tool, &arguments, &json!({}));
    call["params"]["task"] = json!({});
    pipe.say(&call).await;
    let made = answered(pipe, id).await;
    let task = made["result"]["task"]["taskId"].clone();
    assert!(task.is_string(), "{made}");
    task
}

/// Reads on until a request is answered; statuses may come before.
async fn answered(pipe: &mut Pipe, id: u64) -> Value {
    loop {
        let message = pipe.next().await;
        if message.get("method").is_none() && message["id"] == id {
            return message;
        }
    }
}

/// Reads on until the server asks something.
async fn questioned(pipe: &mut Pipe) -> Value {
    loop {
        let message = pipe.next().await;
        if message.get("id").is_some() {
            assert_eq!(message["method"], "elicitation/create", "{message}");
            return message;
        }
    }
}

/// Reads on until the stream tells of a task that is so.
async fn told(pipe: &mut Pipe, is_so: impl Fn(&Value) -> bool) -> Value {
    loop {
        let message = pipe.next().await;
        if message["method"] == "notifications/tasks" && is_so(&message["params"]) {
            return message["params"].clone();
        }
    }
}

async fn asks_for(pipe: &mut Pipe, key: &str) {
    told(pipe, |task| task["inputRequests"].get(key).is_some()).await;
}
