//! Legacy clients are asked while their call goes on, on the stream of the call, and
//! may answer at any gateway (R6).

mod limits;
mod losses;

use conduit_testkit::{Call, Conn, Era, Events, PATIENCE, Version};
use http::StatusCode;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{fixture, pair};

const LEGACY: [Version; 2] = [Version::November2025, Version::June2025];

#[tokio::test]
async fn a_client_answers_at_any_gateway_and_the_call_goes_on() {
    let tree = pair().await;

    for version in LEGACY {
        let session = tree.session_with(version, everything()).await;
        for gateway in ["gateway-0", "gateway-1"] {
            let call = interview(&session).version(version);
            let mut stream = tree.conn_to("gateway-0").await.into_stream(&call).await;
            let mut other = tree.conn_to(gateway).await;

            let name = question(&mut stream).await;
            accept(&mut other, &session, &name, json!({ "name": "Ann" })).await;
            let color = question(&mut stream).await;
            accept(&mut other, &session, &color, json!({ "color": "red" })).await;

            assert_eq!(name["method"], "elicitation/create");
            assert_eq!(name["params"]["message"], "What is your name?");
            assert_ne!(name["id"], color["id"]);
            let done = next(&mut stream).await;
            assert_eq!(done["id"], "call", "{done}");
            assert_eq!(text(&done), "tea: Ann likes red, in round 3");
            assert_eq!(ended(&mut stream).await, Vec::<Value>::new());
        }
    }
}

#[tokio::test]
async fn each_callback_that_may_ask_does_so_in_a_session() {
    let tree = fixture().await;
    let session = tree.session_with(Version::November2025, everything()).await;
    let mut conn = tree.conn().await;

    for call in [
        Era::Legacy.tool("ask", json!({})),
        Era::Legacy.call("resources/read", json!({ "uri": "ask://r" })),
        Era::Legacy.call("prompts/get", json!({ "name": "askp" })),
    ] {
        let mut stream = tree.conn().await.into_stream(&call.session(&session)).await;
        let who = question(&mut stream).await;
        accept(&mut conn, &session, &who, json!({ "name": "Ann" })).await;

        let done = next(&mut stream).await;
        assert!(done["result"].to_string().contains("Ann"), "{done}");
    }
}

#[tokio::test]
async fn several_questions_are_requests_of_their_own() {
    let tree = fixture().await;
    let session = tree.session_with(Version::November2025, everything()).await;
    let mut conn = tree.conn().await;
    let call = Era::Legacy.tool("trio", json!({})).session(&session);
    let mut stream = tree.conn().await.into_stream(&call).await;
    let mut questions = Vec::new();
    for _ in 0..3 {
        questions.push(question(&mut stream).await);
    }
    let methods: Vec<_> = questions
        .iter()
        .map(|asked| asked["method"].clone())
        .collect();
    assert_eq!(
        methods,
        ["elicitation/create", "sampling/createMessage", "roots/list"]
    );

    // The last one first.
    let roots = json!({ "roots": [{ "uri": "file:///w" }] });
    answer(&mut conn, &session, &questions[2], roots).await;
    let said = json!({
        "role": "assistant", "content": { "type": "text", "text": "hi" }, "model": "m",
    });
    answer(&mut conn, &session, &questions[1], said).await;
    accept(&mut conn, &session, &questions[0], json!({ "name": "Ann" })).await;

    assert_eq!(text(&next(&mut stream).await), "Ann, 1 roots: hi");
}

#[tokio::test]
async fn an_answer_that_will_not_do_is_asked_for_again() {
    let tree = fixture().await;
    let session = tree.session_with(Version::November2025, everything()).await;
    let mut conn = tree.conn().await;
    let call = hello(&session);
    let mut stream = tree.conn().await.into_stream(&call).await;

    for bad in [
        json!({}),
        json!({ "action": "maybe" }),
        json!({ "action": "accept" }),
        json!({ "action": "accept", "content": { "name": 7 } }),
        json!({ "action": "accept", "content": { "name": "A" } }),
    ] {
        let asked = question(&mut stream).await;
        answer(&mut conn, &session, &asked, bad).await;
    }
    let asked = question(&mut stream).await;
    accept(&mut conn, &session, &asked, json!({ "name": "Ann" })).await;

    assert_eq!(text(&next(&mut stream).await), "Hello, Ann!");
}

#[tokio::test]
async fn a_large_answer_reaches_its_call_from_any_gateway() {
    const LARGE: usize = 3_000_000;
    let tree = pair().await;
    let session = tree.session_with(Version::November2025, everything()).await;

    for gateway in ["gateway-0", "gateway-1"] {
        let conn = tree.conn_to("gateway-0").await;
        let mut stream = conn.into_stream(&hello(&session)).await;
        let asked = question(&mut stream).await;
        let mut conn = tree.conn_to(gateway).await;

        let name = json!({ "name": "n".repeat(LARGE) });
        accept(&mut conn, &session, &asked, name).await;

        let done = next(&mut stream).await;
        assert_eq!(text(&done).len(), LARGE + "Hello, !".len(), "{gateway}");
    }
}

#[tokio::test]
async fn a_person_may_say_no() {
    let tree = fixture().await;
    let session = tree.session_with(Version::November2025, everything()).await;
    let mut stream = tree.conn().await.into_stream(&hello(&session)).await;
    let asked = question(&mut stream).await;

    let no = json!({ "action": "decline" });
    answer(&mut tree.conn().await, &session, &asked, no).await;

    let done = next(&mut stream).await;
    assert_eq!(done["result"]["isError"], true, "{done}");
    assert!(text(&done).contains("declined"), "{done}");
}

#[tokio::test]
async fn a_client_that_answers_with_an_error_ends_its_call() {
    let tree = pair().await;
    let session = tree.session_with(Version::November2025, everything()).await;

    for gateway in ["gateway-0", "gateway-1"] {
        let conn = tree.conn_to("gateway-0").await;
        let mut stream = conn.into_stream(&hello(&session)).await;
        let asked = question(&mut stream).await;

        let error = json!({ "code": -1, "message": "User rejected the request" });
        let refusal = json!({ "jsonrpc": "2.0", "id": asked["id"], "error": error });
        let refusal = Call::message(refusal).session(&session);
        let taken = tree.conn_to(gateway).await.send(&refusal).await;

        assert_eq!(taken.status, StatusCode::ACCEPTED, "{taken}");
        let done = next(&mut stream).await;
        assert_eq!(done["error"]["code"], -32603, "{done}");
        assert_eq!(done["id"], "call");
    }
}

#[tokio::test]
async fn nobody_else_answers_for_a_client() {
    let tree = pair().await;
    let (mine, other) = (
        tree.session_with(Version::November2025, everything()).await,
        tree.session_with(Version::November2025, everything()).await,
    );
    let conn = tree.conn_to("gateway-0").await;
    let mut stream = conn.into_stream(&hello(&mine)).await;
    let asked = question(&mut stream).await;
    let eve = accepted(json!({ "name": "Eve" }));

    for gateway in ["gateway-0", "gateway-1"] {
        let mut conn = tree.conn_to(gateway).await;
        answer(&mut conn, &other, &asked, eve.clone()).await;
        let sessionless = Call::answer(&asked["id"], eve.clone());
        assert_eq!(conn.send(&sessionless).await.status, StatusCode::ACCEPTED);
        for id in [json!("unknown"), json!(7), json!("0-7")] {
            answer(&mut conn, &mine, &json!({ "id": id }), eve.clone()).await;
        }
    }
    let mut conn = tree.conn().await;
    accept(&mut conn, &mine, &asked, json!({ "name": "Ann" })).await;

    assert_eq!(text(&next(&mut stream).await), "Hello, Ann!");
}

#[tokio::test]
async fn an_answer_counts_once() {
    let tree = fixture().await;
    let session = tree.session_with(Version::November2025, everything()).await;
    let mut conn = tree.conn().await;
    let mut stream = tree.conn().await.into_stream(&interview(&session)).await;
    let asked = question(&mut stream).await;

    for name in ["Ann", "Eve"] {
        accept(&mut conn, &session, &asked, json!({ "name": name })).await;
    }
    let asked = question(&mut stream).await;
    accept(&mut conn, &session, &asked, json!({ "color": "red" })).await;

    assert_eq!(
        text(&next(&mut stream).await),
        "tea: Ann likes red, in round 3"
    );
}

#[tokio::test]
async fn a_page_to_visit_has_an_id_where_there_are_such_pages() {
    let tree = fixture().await;
    let mut conn = tree.conn().await;
    let visits = json!({ "elicitation": { "url": {} } });
    let session = tree
        .session_with(Version::November2025, visits.clone())
        .await;
    let call = Era::Legacy.tool("excursion", json!({})).session(&session);
    let mut stream = tree.conn().await.into_stream(&call).await;

    let asked = question(&mut stream).await;
    answer(&mut conn, &session, &asked, json!({ "action": "accept" })).await;

    let params = &asked["params"];
    assert_eq!(params["mode"], "url");
    assert_eq!(params["url"], "https://example.com/sign-in");
    let id = params["elicitationId"].as_str().expect("an id");
    assert!(id.len() >= 32, "{id}");
    assert_eq!(text(&next(&mut stream).await), "accepted");

    let older = tree.session_with(Version::June2025, visits).await;
    let call = Era::Legacy
        .tool("excursion", json!({}))
        .session(&older)
        .version(Version::June2025);
    assert_eq!(conn.send(&call).await.code(), -32603);
}

#[tokio::test]
async fn what_a_call_says_before_its_question_comes_before_it() {
    let tree = fixture().await;
    let session = tree.session_with(Version::November2025, everything()).await;
    let call = Era::Legacy
        .tool("announced", json!({}))
        .session(&session)
        .progress(json!("p"));
    let mut stream = tree.conn().await.into_stream(&call).await;

    let mut methods = Vec::new();
    let asked = loop {
        let message = next(&mut stream).await;
        methods.push(message["method"].clone());
        if message.get("id").is_some() {
            break message;
        }
    };
    let mut conn = tree.conn().await;
    accept(&mut conn, &session, &asked, json!({ "name": "Ann" })).await;

    assert_eq!(
        methods,
        [
            "notifications/progress",
            "notifications/message",
            "elicitation/create"
        ]
    );
    let rest = ended(&mut stream).await;
    assert_eq!(text(rest.last().expect("a result")), "Hello, Ann!");
}

#[tokio::test]
async fn many_calls_wait_side_by_side_and_each_gets_its_own_answer() {
    const CALLS: usize = 40;
    let tree = pair().await;
    let session = tree.session_with(Version::November2025, everything()).await;
    let mut streams = Vec::new();
    for number in 0..CALLS {
        let gateway = format!("gateway-{}", number % 2);
        let conn = tree.conn_to(&gateway).await;
        let call = hello(&session).id(json!(number));
        let mut stream = conn.into_stream(&call).await;
        let asked = question(&mut stream).await;
        streams.push((stream, asked));
    }
    let mut conns = [
        tree.conn_to("gateway-1").await,
        tree.conn_to("gateway-0").await,
    ];

    for (number, (_, asked)) in streams.iter().enumerate().rev() {
        let name = json!({ "name": format!("number {number}") });
        accept(&mut conns[number % 2], &session, asked, name).await;
    }

    for (number, (stream, _)) in streams.iter_mut().enumerate() {
        let done = next(stream).await;
        assert_eq!(done["id"], number);
        assert_eq!(text(&done), format!("Hello, number {number}!"));
    }
}

/// What a client can that can be asked anything.
fn everything() -> Value {
    json!({ "elicitation": { "form": {}, "url": {} }, "sampling": {}, "roots": {} })
}

fn interview(session: &str) -> Call {
    Era::Legacy
        .tool("interview", json!({ "about": "tea" }))
        .id(json!("call"))
        .session(session)
}

fn hello(session: &str) -> Call {
    Era::Legacy
        .tool("hello", json!({}))
        .id(json!("call"))
        .session(session)
}

async fn next(stream: &mut Events) -> Value {
    let next = timeout(PATIENCE, stream.next()).await.expect("in time");
    next.expect("a whole stream").expect("a message")
}

/// The next message, which is a request of the server.
async fn question(stream: &mut Events) -> Value {
    let asked = next(stream).await;
    assert!(
        asked.get("method").is_some() && asked.get("id").is_some(),
        "not a question: {asked}"
    );
    asked
}

/// Reads a stream to its end.
async fn ended(stream: &mut Events) -> Vec<Value> {
    let mut rest = Vec::new();
    let reading = async {
        while let Some(message) = stream.next().await.expect("a whole stream") {
            rest.push(message);
        }
    };
    timeout(PATIENCE, reading).await.expect("an end");
    rest
}

fn accepted(content: Value) -> Value {
    let mut answer = json!({ "action": "accept" });
    answer["content"] = content;
    answer
}

async fn accept(conn: &mut Conn, session: &str, asked: &Value, content: Value) {
    answer(conn, session, asked, accepted(content)).await;
}

/// Answers a question, which is taken without a word.
async fn answer(conn: &mut Conn, session: &str, asked: &Value, result: Value) {
    let taken = conn
        .send(&Call::answer(&asked["id"], result).session(session))
        .await;
    assert_eq!(
        (taken.status, taken.body.len()),
        (StatusCode::ACCEPTED, 0),
        "{taken}"
    );
}

fn text(message: &Value) -> &str {
    let text = message["result"]["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("no text in {message}"))
}
