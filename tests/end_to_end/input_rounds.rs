//! What a modern client is asked before it gets its result, round after round (6.1).

use conduit_testkit::{Call, Era, Options, PATIENCE, Reply, Tree};
use http::StatusCode;
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use crate::fixture;
use crate::record::recorded;

#[tokio::test]
async fn what_was_answered_stays_answered_in_later_rounds() {
    let tree = fixture().await;
    let call = interview();

    let first = tree.send(&call).await;
    let second = tree.send(&next_round(&call, &first, name("Ann"))).await;
    let third = tree.send(&next_round(&call, &second, color("red"))).await;

    assert_eq!(asked_for(&first), ["name"]);
    assert_eq!(asked_for(&second), ["color"]);
    assert_ne!(
        first.result()["requestState"],
        second.result()["requestState"]
    );
    assert_eq!(third.text(), "tea: Ann likes red, in round 3");
    assert_eq!(third.result()["resultType"], "complete");
}

#[tokio::test]
async fn a_question_says_what_it_asks_and_how_it_is_answered() {
    let tree = fixture().await;

    let reply = tree.send(&interview()).await;

    let result = reply.result();
    let question = &result["inputRequests"]["name"];
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(question["params"]["message"], "What is your name?");
    let schema = &question["params"]["requestedSchema"];
    assert_eq!(schema["properties"]["name"]["type"], "string");
    assert_eq!(schema["properties"]["name"]["minLength"], 2);
    assert_eq!(schema["required"], json!(["name"]));
    for absent in ["jsonrpc", "id"] {
        assert_eq!(question.get(absent), None, "{question}");
    }
    for absent in ["content", "ttlMs", "cacheScope", "isError"] {
        assert_eq!(result.get(absent), None, "{reply}");
    }
}

#[tokio::test]
async fn an_answer_that_will_not_do_is_asked_for_again() {
    let tree = fixture().await;
    let call = interview();
    let first = tree.send(&call).await;

    for answers in [
        json!({}),
        json!({ "Name": { "action": "accept", "content": { "name": "Ann" } } }),
        json!({ "name": null }),
        json!({ "name": 5 }),
        json!({ "name": "Ann" }),
        json!({ "name": [] }),
        json!({ "name": {} }),
        json!({ "name": { "content": { "name": "Ann" } } }),
        json!({ "name": { "action": "maybe", "content": { "name": "Ann" } } }),
        json!({ "name": { "action": "accept" } }),
        json!({ "name": { "action": "accept", "content": "Ann" } }),
        json!({ "name": { "action": "accept", "content": {} } }),
        json!({ "name": { "action": "accept", "content": { "name": 7 } } }),
        json!({ "name": { "action": "accept", "content": { "name": "A" } } }),
        json!({ "name": { "role": "assistant", "content": { "type": "text", "text": "Ann" }, "model": "m" } }),
        json!({ "name": { "roots": [] } }),
    ] {
        let again = tree.send(&next_round(&call, &first, answers.clone())).await;

        assert_eq!(again.status, StatusCode::OK, "{answers}: {again}");
        assert_eq!(asked_for(&again), ["name"], "{answers}");
    }
}

#[tokio::test]
async fn keys_that_nobody_asked_for_are_ignored() {
    let tree = fixture().await;
    let call = interview();
    let first = tree.send(&call).await;
    let mut answers = name("Ann");
    answers["junk"] = json!({ "action": "accept", "content": { "name": "Eve" } });
    answers["more"] = json!(7);

    let second = tree.send(&next_round(&call, &first, answers)).await;

    assert_eq!(asked_for(&second), ["color"]);
}

#[tokio::test]
async fn an_answer_that_was_taken_is_not_replaced_by_a_later_one() {
    let tree = fixture().await;
    let call = interview();
    let first = tree.send(&call).await;
    let second = tree.send(&next_round(&call, &first, name("Ann"))).await;
    let mut answers = color("red");
    answers["name"] = name("Eve")["name"].clone();

    let third = tree.send(&next_round(&call, &second, answers)).await;

    assert_eq!(third.text(), "tea: Ann likes red, in round 3");
}

#[tokio::test]
async fn a_person_may_say_no_or_nothing() {
    let tree = fixture().await;
    let call = interview();
    let first = tree.send(&call).await;

    for (action, word) in [("decline", "declined"), ("cancel", "dismissed")] {
        let answers = json!({ "name": { "action": action } });
        let reply = tree.send(&next_round(&call, &first, answers)).await;

        assert_eq!(reply.result()["isError"], true, "{reply}");
        assert!(reply.text().contains(word), "{reply}");
    }
}

#[tokio::test]
async fn answers_count_without_a_state() {
    let tree = fixture().await;
    let call = hello();

    let asked = tree.send(&call).await;
    let answered = tree
        .send(&call.clone().param("inputResponses", name("Ann")))
        .await;

    assert_eq!(asked_for(&asked), ["name"]);
    assert_eq!(asked.result().get("requestState"), None, "{asked}");
    assert_eq!(answered.text(), "Hello, Ann!");
}

#[tokio::test]
async fn several_questions_are_asked_at_once_and_answered_in_any_order() {
    let tree = fixture().await;
    let all = json!({ "elicitation": {}, "sampling": {}, "roots": {} });
    let call = Era::Modern.tool("trio", json!({})).capabilities(all);

    let first = tree.send(&call).await;
    let model = json!({ "model": {
        "role": "assistant", "content": { "type": "text", "text": "hi" }, "model": "m",
    } });
    let second = tree.send(&next_round(&call, &first, model)).await;
    let mut rest = name("Ann");
    rest["roots"] = json!({ "roots": [{ "uri": "file:///w" }] });
    let third = tree.send(&next_round(&call, &second, rest)).await;

    let method = |key: &str| first.result()["inputRequests"][key]["method"].clone();
    assert_eq!(method("name"), "elicitation/create");
    assert_eq!(method("model"), "sampling/createMessage");
    assert_eq!(method("roots"), "roots/list");
    assert_eq!(asked_for(&second), ["name", "roots"]);
    assert_eq!(third.text(), "Ann, 1 roots: hi");
}

#[tokio::test]
async fn a_request_has_so_many_rounds_and_no_more() {
    let options = Options::fixture()
        .gateways(1)
        .environment("CONDUIT_INPUT_MAX_ROUNDS", "3");
    let tree = Tree::start(options).await;
    let call = Era::Modern.tool("nag", json!({})).capabilities(elicits());
    let mut reply = tree.send(&call).await;

    for round in 1..=3 {
        let key = format!("again-{round}");
        assert_eq!(asked_for(&reply), [&key]);
        let answers = json!({ key: name("Ann")["name"] });
        reply = tree.send(&next_round(&call, &reply, answers)).await;
    }

    assert_eq!((reply.status, reply.code()), (StatusCode::OK, -32603));
}

#[tokio::test]
async fn answers_that_are_no_object_are_refused() {
    let tree = fixture().await;
    let call = interview();
    let first = tree.send(&call).await;
    let runs = recorded(&tree, "interview").await;

    for answers in [json!([]), json!("name"), json!(7), json!(true)] {
        let reply = tree.send(&next_round(&call, &first, answers.clone())).await;

        assert_eq!(reply.code(), -32602, "{answers}: {reply}");
    }
    let state = call.param("requestState", json!(7));
    assert_eq!(tree.send(&state).await.code(), -32602);
    assert_eq!(recorded(&tree, "interview").await, runs);
}

#[tokio::test]
async fn what_a_client_has_not_declared_is_not_asked_of_it() {
    let tree = fixture().await;

    for (tool, declared, required) in [
        ("interview", json!({}), json!({ "elicitation": {} })),
        (
            "interview",
            json!({ "sampling": {}, "roots": {} }),
            json!({ "elicitation": {} }),
        ),
        (
            "interview",
            json!({ "elicitation": { "url": {} } }),
            json!({ "elicitation": {} }),
        ),
        (
            "trio",
            json!({ "elicitation": {} }),
            json!({ "sampling": {}, "roots": {} }),
        ),
        (
            "trio",
            json!({}),
            json!({ "elicitation": {}, "sampling": {}, "roots": {} }),
        ),
        (
            "excursion",
            json!({ "elicitation": {} }),
            json!({ "elicitation": { "url": {} } }),
        ),
        (
            "excursion",
            json!({ "elicitation": { "form": {} } }),
            json!({ "elicitation": { "url": {} } }),
        ),
    ] {
        let call = Era::Modern.tool(tool, json!({}));
        let reply = tree.send(&call.capabilities(declared.clone())).await;

        assert_eq!(
            (reply.status, reply.code()),
            (StatusCode::BAD_REQUEST, -32021),
            "{tool} with {declared}: {reply}"
        );
        assert_eq!(
            reply.message()["error"]["data"]["requiredCapabilities"],
            required,
            "{tool} with {declared}"
        );
    }
}

#[tokio::test]
async fn what_a_client_can_is_looked_at_in_each_round() {
    let tree = fixture().await;
    let first = tree.send(&interview()).await;

    let again = next_round(&interview(), &first, name("Ann")).capabilities(json!({}));
    let reply = tree.send(&again).await;

    assert_eq!(reply.code(), -32021, "{reply}");
}

#[tokio::test]
async fn a_page_to_visit_is_a_question_without_an_id() {
    let tree = fixture().await;
    let call = Era::Modern
        .tool("excursion", json!({}))
        .capabilities(json!({ "elicitation": { "url": {} } }));

    let first = tree.send(&call).await;
    let answers = json!({ "page": { "action": "accept" } });
    let second = tree.send(&next_round(&call, &first, answers)).await;

    let params = &first.result()["inputRequests"]["page"]["params"];
    assert_eq!(
        *params,
        json!({
            "mode": "url",
            "message": "Please sign in.",
            "url": "https://example.com/sign-in",
        })
    );
    assert_eq!(second.text(), "accepted");
}

#[tokio::test]
async fn a_stream_ends_with_the_questions() {
    let tree = fixture().await;
    let call = Era::Modern
        .tool("announced", json!({}))
        .capabilities(elicits())
        .progress(json!("p"));

    let reply = tree.send(&call).await;
    let answered = tree
        .send(&call.clone().param("inputResponses", name("Ann")))
        .await;

    assert!(reply.is_stream(), "{reply}");
    let [progress] = reply.notifications() else {
        panic!("one report expected: {reply}");
    };
    assert_eq!(progress["method"], "notifications/progress");
    assert_eq!(asked_for(&reply), ["name"]);
    assert_eq!(answered.text(), "Hello, Ann!");
}

#[tokio::test]
async fn a_stream_that_is_open_ends_with_what_its_client_has_not_declared() {
    let tree = fixture().await;
    let call = Era::Modern
        .tool("announced", json!({}))
        .progress(json!("p"));

    let mut events = tree.conn().await.into_stream(&call).await;

    let mut messages = Vec::new();
    let reading = async {
        while let Some(message) = events.next().await.expect("a whole stream") {
            messages.push(message);
        }
    };
    timeout(PATIENCE, reading).await.expect("an end");
    let [progress, end] = messages.as_slice() else {
        panic!("a report and an end expected: {messages:?}");
    };
    assert_eq!(progress["method"], "notifications/progress");
    assert_eq!(end["error"]["code"], -32021);
}

#[tokio::test]
async fn what_was_read_after_a_round_is_for_its_reader_alone() {
    let tree = fixture().await;
    let call = Era::Modern
        .call("resources/read", json!({ "uri": "card://me" }))
        .capabilities(elicits());

    let asked = tree.send(&call).await;
    let read = tree
        .send(&call.clone().param("inputResponses", name("Ann")))
        .await;

    assert_eq!(asked_for(&asked), ["name"]);
    let result = read.result();
    assert_eq!(result["contents"][0]["text"], "The card of Ann.");
    assert_eq!(
        (&result["ttlMs"], &result["cacheScope"]),
        (&json!(0), &json!("private"))
    );
}

#[tokio::test]
async fn what_never_asks_does_not_look_at_answers() {
    let tree = fixture().await;

    for (method, params) in [
        ("tools/list", json!({})),
        ("prompts/list", json!({})),
        ("resources/list", json!({})),
        ("server/discover", json!({})),
        (
            "completion/complete",
            json!({
                "ref": { "type": "ref/prompt", "name": "greet" },
                "argument": { "name": "name", "value": "A" },
            }),
        ),
    ] {
        let call = Call::modern(method, params)
            .param("requestState", json!("forged"))
            .param("inputResponses", json!([]));
        let reply = tree.send(&call).await;

        assert_eq!(reply.result()["resultType"], "complete", "{method}");
    }
}

#[tokio::test]
async fn a_callback_may_ask_its_client_to_come_again_and_nothing_else() {
    let tree = fixture().await;
    let call = Era::Modern.tool("pause", json!({}));

    let first = tree.send(&call).await;
    let second = tree
        .send(
            &call
                .clone()
                .param("requestState", first.result()["requestState"].clone()),
        )
        .await;

    assert_eq!(first.result()["resultType"], "input_required");
    assert_eq!(first.result().get("inputRequests"), None, "{first}");
    assert_eq!(second.text(), "you are back");
}

#[tokio::test]
async fn a_callback_that_remembers_too_much_fails_and_says_nothing_of_it() {
    let tree = fixture().await;
    let call = Era::Modern.tool("hoard", json!({})).capabilities(elicits());

    let reply = tree.send(&call).await;

    assert_eq!((reply.status, reply.code()), (StatusCode::OK, -32603));
    assert!(!reply.message().to_string().contains("xxx"), "{reply}");
}

#[tokio::test]
async fn each_round_is_a_request_of_its_own_and_nothing_waits_between() {
    let tree = fixture().await;
    let call = interview();

    for _ in 0..10 {
        tree.send(&call).await;
    }

    let metrics = tree.metrics().await;
    assert!(metrics.sum("conduit_requests_in_flight", &[]) < 0.5);
    assert!(metrics.sum("conduit_workers_busy", &[]) < 0.5);
    assert_eq!(recorded(&tree, "interview").await, 10);
}

fn elicits() -> Value {
    json!({ "elicitation": {} })
}

fn interview() -> Call {
    Era::Modern
        .tool("interview", json!({ "about": "tea" }))
        .capabilities(elicits())
}

fn hello() -> Call {
    Era::Modern.tool("hello", json!({})).capabilities(elicits())
}

/// Comes again, with answers and the state of the round before, if it had one.
fn next_round(call: &Call, before: &Reply, answers: Value) -> Call {
    let call = call.clone().id(json!(2)).param("inputResponses", answers);
    match before.result().get("requestState") {
        Some(state) => call.param("requestState", state.clone()),
        None => call,
    }
}

fn name(name: &str) -> Value {
    json!({ "name": { "action": "accept", "content": { "name": name } } })
}

fn color(color: &str) -> Value {
    json!({ "color": { "action": "accept", "content": { "color": color } } })
}

/// The keys of the questions, in alphabetical order.
fn asked_for(reply: &Reply) -> Vec<&str> {
    let result = reply.result();
    assert_eq!(result["resultType"], "input_required", "{reply}");
    let requests = result["inputRequests"].as_object();
    let requests: &Map<String, Value> = requests.expect("questions");
    let mut keys: Vec<&str> = requests.keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}
