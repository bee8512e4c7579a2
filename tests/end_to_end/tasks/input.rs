//! What a task asks, and how it is answered (T-TASK-16, T-TASK-17, T-TASK-20).

use conduit_testkit::{Call, Era, Options, PATIENCE, Tree, wait_until};
use http::StatusCode;
use serde_json::{Value, json};

use super::{
    EXTENSION, begin, cancel, created, declares, get, is_acknowledged, until, until_at, update,
};
use crate::record::recorded;
use crate::{fixture, pair};

#[tokio::test]
async fn answers_may_come_one_by_one_and_to_any_gateway() {
    let tree = pair().await;
    let (mut first, mut second) = (
        tree.conn_to("gateway-0").await,
        tree.conn_to("gateway-1").await,
    );
    let id = created(&first.send(&questionnaire("q")).await);
    let asked = until_at(&mut second, &id, "input_required").await;
    assert_eq!(keys(&asked), ["color", "name"]);
    let question = &asked["inputRequests"]["name"];
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(question["params"]["message"], "What is your name?");

    is_acknowledged(&second.send(&update(&id, name("Ann"))).await);
    for conn in [&mut first, &mut second] {
        let shown = conn.send(&get(&id)).await;
        assert_eq!(shown.result()["status"], "input_required", "{shown}");
        assert_eq!(keys(shown.result()), ["color"]);
    }
    assert_eq!(recorded(&tree, "q ran").await, 1, "it ran too early");
    is_acknowledged(&first.send(&update(&id, color("red"))).await);
    let asked = until_at(&mut second, &id, "input_required").await;
    assert_eq!(keys(&asked), ["sure"]);
    let question = &asked["inputRequests"]["sure"]["params"]["message"];
    assert_eq!(question, "Ann, do you like red?");
    is_acknowledged(&second.send(&update(&id, sure(true))).await);

    let done = until_at(&mut first, &id, "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "Ann likes red: true");
    assert_eq!(recorded(&tree, "q ran").await, 3);
}

#[tokio::test]
async fn answers_that_come_at_once_are_all_taken_and_the_work_goes_on_once() {
    let tree = pair().await;
    let mut conns = [
        tree.conn_to("gateway-0").await,
        tree.conn_to("gateway-1").await,
    ];

    for round in 0..20 {
        let [first, second] = &mut conns;
        let called = format!("q{round}.");
        let id = created(&first.send(&questionnaire(&called)).await);
        until_at(second, &id, "input_required").await;
        let (name, color) = (update(&id, name("Ann")), update(&id, color("red")));

        let (one, other) = tokio::join!(first.send(&name), second.send(&color));

        for reply in [one, other] {
            is_acknowledged(&reply);
        }
        until_asked(&tree, &id, "sure").await;
        let sure = update(&id, sure(true));
        let (one, other) = tokio::join!(first.send(&sure), second.send(&sure));
        for reply in [one, other] {
            is_acknowledged(&reply);
        }
        until_at(first, &id, "completed").await;
        assert_eq!(recorded(&tree, &format!("{called} ran")).await, 3);
    }
}

#[tokio::test]
async fn keys_that_are_not_outstanding_are_ignored() {
    let tree = fixture().await;
    let id = begin(&tree, &questionnaire("q")).await;
    until(&tree, &id, "input_required").await;

    for answers in [
        json!({ "junk": { "action": "accept" } }),
        json!({ "sure": sure(true)["sure"] }),
        json!({ "junk": 7, "name": name("Ann")["name"] }),
        name("Eve"),
        json!({ "name": "not even an answer" }),
        json!({}),
    ] {
        let reply = tree.send(&update(&id, answers.clone())).await;
        is_acknowledged(&reply);
    }
    let mut rest = color("red");
    rest["name"] = name("Eve")["name"].clone();
    is_acknowledged(&tree.send(&update(&id, rest)).await);
    until_asked(&tree, &id, "sure").await;
    is_acknowledged(&tree.send(&update(&id, sure(false))).await);

    let done = until(&tree, &id, "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "Ann likes red: false");
}

#[tokio::test]
async fn an_answer_that_will_not_do_is_refused_and_nothing_is_taken_of_it() {
    let tree = fixture().await;
    let id = begin(&tree, &questionnaire("q")).await;
    let before = until(&tree, &id, "input_required").await;

    for answers in [
        json!({ "name": 7 }),
        json!({ "name": null }),
        json!({ "name": {} }),
        json!({ "name": { "action": "maybe" } }),
        json!({ "name": { "action": "accept" } }),
        json!({ "name": { "action": "accept", "content": { "name": 7 } } }),
        json!({ "name": { "action": "accept", "content": {} } }),
        json!({ "color": color("red")["color"], "name": 7 }),
    ] {
        let reply = tree.send(&update(&id, answers.clone())).await;
        assert_eq!(
            (reply.status, reply.code()),
            (StatusCode::OK, -32602),
            "{answers}: {reply}"
        );
        let message = reply.message()["error"]["message"].to_string();
        assert!(message.contains("name"), "which one? {message}");
    }
    for answers in [json!([]), json!("name"), Value::Null] {
        let reply = tree.send(&update(&id, answers.clone())).await;
        assert_eq!(reply.code(), -32602, "{answers}: {reply}");
    }
    let without = Call::modern("tasks/update", json!({ "taskId": id }));
    let reply = tree.send(&without.capabilities(declares())).await;
    assert_eq!(reply.code(), -32602, "{reply}");

    assert_eq!(*tree.send(&get(&id)).await.result(), before);
}

#[tokio::test]
async fn an_answer_is_taken_or_refused_for_its_size_and_the_task_goes_on() {
    let tree = pair().await;
    let id = begin(&tree, &questionnaire("q")).await;
    until(&tree, &id, "input_required").await;

    for bytes in [4_000_000, 2_000_000, 1_000_000, 100_000] {
        let reply = tree.send(&update(&id, name(&"n".repeat(bytes)))).await;
        if reply.message().get("result").is_some() {
            break;
        }
        assert_eq!(reply.code(), -32602, "{bytes}: {reply}");
    }
    is_acknowledged(&tree.send(&update(&id, color("red"))).await);
    until_asked(&tree, &id, "sure").await;
    is_acknowledged(&tree.send(&update(&id, sure(true))).await);

    let (task, _) = wait_until("an end", PATIENCE, async || {
        let task = tree.send(&get(&id)).await;
        let task = task.result().clone();
        ["completed", "failed"]
            .map(Value::from)
            .contains(&task["status"])
            .then_some(task)
    })
    .await;
    assert!(
        task["status"] == "completed" || task["error"]["message"].is_string(),
        "{}",
        task["status"]
    );
}

#[tokio::test]
async fn a_person_may_say_no() {
    let tree = fixture().await;
    let id = begin(&tree, &questionnaire("q")).await;
    until(&tree, &id, "input_required").await;

    let no = json!({ "name": { "action": "decline" }, "color": { "action": "cancel" } });
    is_acknowledged(&tree.send(&update(&id, no)).await);

    let done = until(&tree, &id, "completed").await;
    assert_eq!(done["result"]["isError"], true, "{done}");
}

#[tokio::test]
async fn a_key_is_never_used_twice() {
    let tree = fixture().await;
    let call = Era::Modern
        .tool("riddle", json!({}))
        .capabilities(declares());
    let id = begin(&tree, &call).await;
    let mut used: Vec<String> = Vec::new();

    for guess in [5, 6, 7] {
        let (key, _) = until_asked_anew(&tree, &id, &used).await;
        let answer = json!({ "action": "accept", "content": { "guess": guess } });
        let mut answers = json!({ key.clone(): answer });
        for old in &used {
            answers[old] = json!({ "action": "accept", "content": { "guess": 7 } });
        }
        is_acknowledged(&tree.send(&update(&id, answers)).await);
        used.push(key);
    }

    let done = until(&tree, &id, "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "right");
}

#[tokio::test]
async fn a_task_has_so_many_rounds_and_no_more() {
    let options = Options::fixture()
        .gateways(1)
        .environment("CONDUIT_INPUT_MAX_ROUNDS", "2");
    let tree = Tree::start(options).await;
    let call = Era::Modern
        .tool("riddle", json!({}))
        .capabilities(declares());
    let id = begin(&tree, &call).await;
    let mut used = Vec::new();

    for _ in 0..2 {
        let (key, _) = until_asked_anew(&tree, &id, &used).await;
        let wrong = json!({ "action": "accept", "content": { "guess": 1 } });
        let answers = json!({ key.clone(): wrong });
        is_acknowledged(&tree.send(&update(&id, answers)).await);
        used.push(key);
    }

    let failed = until(&tree, &id, "failed").await;
    assert_eq!(failed["error"]["code"], -32603, "{failed}");
}

#[tokio::test]
async fn what_the_client_had_not_declared_when_it_made_the_task_fails_it() {
    let tree = fixture().await;
    let bare = json!({ "extensions": { EXTENSION: {} } });
    let id = begin(&tree, &questionnaire("q").capabilities(bare)).await;

    let failed = until(&tree, &id, "failed").await;

    let error = &failed["error"];
    assert_eq!(error["code"], -32021, "{failed}");
    assert_eq!(
        error["data"]["requiredCapabilities"],
        json!({ "elicitation": {} })
    );
}

#[tokio::test]
async fn a_task_that_waits_for_an_answer_is_cancelled() {
    let tree = fixture().await;
    let id = begin(&tree, &questionnaire("q")).await;
    until(&tree, &id, "input_required").await;

    is_acknowledged(&tree.send(&cancel(&id)).await);
    let mut answers = name("Ann");
    answers["color"] = color("red")["color"].clone();
    is_acknowledged(&tree.send(&update(&id, answers)).await);

    let shown = tree.send(&get(&id)).await;
    assert_eq!(shown.result()["status"], "cancelled", "{shown}");
    assert_eq!(recorded(&tree, "q ran").await, 1);
}

#[tokio::test]
async fn a_task_that_waits_holds_nothing() {
    let tree = fixture().await;
    for number in 0..10 {
        let id = begin(&tree, &questionnaire(&number.to_string())).await;
        until(&tree, &id, "input_required").await;
    }

    let metrics = tree.metrics().await;

    assert!(metrics.sum("conduit_workers_busy", &[]) < 0.5);
    assert!(metrics.sum("conduit_requests_in_flight", &[]) < 0.5);
}

pub(super) fn questionnaire(name: &str) -> Call {
    Era::Modern
        .tool("questionnaire", json!({ "name": name }))
        .capabilities(declares())
}

pub(super) fn name(name: &str) -> Value {
    json!({ "name": { "action": "accept", "content": { "name": name } } })
}

pub(super) fn color(color: &str) -> Value {
    json!({ "color": { "action": "accept", "content": { "color": color } } })
}

pub(super) fn sure(ok: bool) -> Value {
    json!({ "sure": { "action": "accept", "content": { "ok": ok } } })
}

/// The keys of the questions, in alphabetical order.
fn keys(task: &Value) -> Vec<&str> {
    let requests = task["inputRequests"].as_object().expect("questions");
    let mut keys: Vec<&str> = requests.keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

/// Waits until a task asks under this key.
pub(super) async fn until_asked(tree: &Tree, id: &str, key: &str) {
    let (found, _) = until_asked_anew(tree, id, &["name".to_owned(), "color".to_owned()]).await;
    assert_eq!(found, key);
}

/// Waits until a task asks under a key that is none of these.
async fn until_asked_anew(tree: &Tree, id: &str, old: &[String]) -> (String, Value) {
    let mut conn = tree.conn().await;
    loop {
        let task = until_at(&mut conn, id, "input_required").await;
        let requests = task["inputRequests"].as_object().expect("questions");
        let new = requests.keys().find(|key| !old.contains(key)).cloned();
        if let Some(key) = new {
            return (key, task);
        }
    }
}
