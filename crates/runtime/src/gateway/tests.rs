use std::path::PathBuf;

use bytes::Bytes;
use conduit_link::Options as LinkOptions;
use conduit_server::{Context, IntoServer, NoArguments, Toolbox, blocking_tool, tool};
use futures_util::StreamExt;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::exchange::Accepts;

const PATIENCE: Duration = Duration::from_millis(200);

/// A gateway without store and hub, and what it needs to live.
struct House {
    gateway: Gateway,
    telemetry: Telemetry,
    _folder: TempDir,
}

async fn start(toolbox: impl IntoServer, change: impl FnOnce(&mut Options)) -> House {
    start_with(toolbox, change, true).await
}

/// Starts a gateway that knows of no other processes, as on a pipe.
async fn start_alone(toolbox: impl IntoServer) -> House {
    start_with(toolbox, |_| {}, false).await
}

async fn start_with(
    toolbox: impl IntoServer,
    change: impl FnOnce(&mut Options),
    has_links: bool,
) -> House {
    let mut options = options();
    change(&mut options);
    let folder = TempDir::new().expect("a folder");
    let telemetry = Telemetry::new("gateway-0");
    let links = Links::start(LinkOptions::new(
        PathBuf::from(folder.path()),
        Slot::gateway(0),
        Uuid::new_v4(),
        "test".to_owned(),
    ))
    .expect("links");
    let server = Arc::new(toolbox.into_server().expect("a server"));
    let hosted = Hosted::new(server, &telemetry, Duration::from_secs(30));
    let links = has_links.then_some(&links);
    let gateway = Gateway::start(options, vec![hosted], sealer(), links, None, &telemetry)
        .await
        .expect("a gateway");
    House {
        gateway,
        telemetry,
        _folder: folder,
    }
}

/// What a gateway in tests is started with.
pub(crate) fn options() -> Options {
    Options {
        index: 0,
        hub_patience: PATIENCE,
        in_flight: 100,
        dispatch_patience: PATIENCE,
        actor_patience: PATIENCE,
        worker_threads: 2,
        blocking: 4,
        sessions_cached: 10,
        store_patience: PATIENCE,
        require_session: false,
        address_scope: AddressScope::Strict,
        cancelled_per_scope: 10,
        mail_deadline: PATIENCE,
        input_rounds: 4,
        bridge_input: true,
        bridge_patience: Duration::from_secs(30),
        streams: StreamOptions {
            most: 1_000,
            per_owner: 100,
            topics: 1_000,
            age: None,
        },
        tasks: tasks::Options {
            ttl: Duration::from_mins(1),
            most_ttl: Duration::from_hours(1),
            poll: Duration::from_secs(1),
            attempts: 3,
            running: 4,
            lease: Duration::from_secs(30),
            result_bytes: 1_024,
        },
    }
}

/// Seals with a key of its own.
pub(crate) fn sealer() -> Sealer {
    Sealer::new(conduit_auth::KeyRing::ephemeral(), Duration::from_mins(1))
}

async fn forever(_: NoArguments, context: Context) -> &'static str {
    context.cancelled().await;
    "cancelled"
}

async fn boom(_: NoArguments, _: Context) -> &'static str {
    panic!("pw=hunter2")
}

async fn steps(_: NoArguments, context: Context) -> &'static str {
    context.progress(1.0, Some(2.0), None);
    context.progress(2.0, Some(2.0), None);
    "done"
}

async fn hello(_: NoArguments, _: Context) -> &'static str {
    "hello"
}

fn toolbox() -> conduit_server::ToolboxBuilder {
    Toolbox::builder("test", "1")
        .tool(tool("hello", "", hello).inline())
        .tool(tool("hello_pool", "", hello))
        .tool(tool("forever", "", forever))
        .tool(tool("boom", "", boom).inline())
        .tool(tool("boom_pool", "", boom))
        .tool(tool("steps", "", steps))
        .tool(
            blocking_tool("asleep", "", |_: NoArguments, context: Context| {
                // Ends with its call, and not a moment before.
                while !context.is_cancelled() {
                    std::thread::yield_now();
                }
                "woken"
            })
            .time_limit(Duration::from_millis(50)),
        )
}

fn modern(id: u32, name: &str, more: &Value) -> Bytes {
    let mut meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    for (key, value) in more.as_object().expect("an object") {
        meta[key] = value.clone();
    }
    let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": name, "_meta": meta}});
    call.to_string().into()
}

fn legacy(id: u32, name: &str) -> Bytes {
    let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": name}});
    call.to_string().into()
}

fn reads_events() -> Head {
    Head {
        accepts: Accepts {
            json: true,
            events: true,
        },
        ..Head::default()
    }
}

/// The status and the message of a reply that is one JSON body.
fn message(reply: Reply) -> (u16, Value) {
    let Reply::Message(reply) = reply else {
        panic!("one message expected, got {reply:?}");
    };
    let bytes = reply.message.into_bytes();
    (reply.status, serde_json::from_slice(&bytes).expect("JSON"))
}

impl House {
    async fn ask(&self, body: Bytes) -> (u16, Value) {
        message(self.gateway.submit(Head::default(), body).await)
    }

    fn in_flight(&self) -> i64 {
        self.telemetry.in_flight().level()
    }

    async fn until_in_flight(&self, expected: i64) {
        while self.in_flight() != expected {
            tokio::task::yield_now().await;
        }
    }

    /// Waits until a call is in the registry, and returns its token.
    async fn first_token(&self) -> tokio_util::sync::CancellationToken {
        loop {
            if let Some(token) = self.gateway.shared.registry.first_token() {
                return token;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Keeps the dispatcher from handling anything until the result is dropped.
    fn stall(&self) -> oneshot::Sender<()> {
        let (release, until) = oneshot::channel();
        let stall = dispatcher::Message::Stall(until);
        assert!(self.gateway.dispatcher.cast(stall).is_ok(), "a dispatcher");
        release
    }
}

#[tokio::test]
async fn requests_wait_for_a_stalled_dispatcher_and_are_refused_in_bound() {
    let house = start(toolbox(), |_| {}).await;
    let stall = house.stall();

    let (status, refusal) = house.ask(legacy(7, "hello")).await;

    assert_eq!(status, 503);
    assert_eq!(refusal["id"], 7);
    assert_eq!(refusal["error"]["code"], 50300);
    assert!(refusal["error"]["data"]["retryAfterMs"].is_u64());
    drop(stall);
    assert_eq!(house.ask(legacy(8, "hello")).await.0, 200);
}

#[tokio::test]
async fn a_request_that_waited_is_served_once_the_dispatcher_moves() {
    let house = start(toolbox(), |options| {
        options.dispatch_patience = Duration::from_mins(1);
    })
    .await;
    let stall = house.stall();

    let (answer, ()) = tokio::join!(house.ask(legacy(7, "hello")), async {
        house.until_in_flight(1).await;
        drop(stall);
    });

    assert_eq!(answer.1["result"]["content"][0]["text"], "hello");
}

#[tokio::test]
async fn a_killed_dispatcher_is_restarted_and_its_caller_hears() {
    let house = start(toolbox(), |options| {
        options.dispatch_patience = Duration::from_mins(1);
    })
    .await;
    let stall = house.stall();

    let ((status, refusal), ()) = tokio::join!(house.ask(legacy(7, "hello")), async {
        house.until_in_flight(1).await;
        house.gateway.tree.kill("dispatcher");
    });

    drop(stall);
    assert_eq!(
        (status, &refusal["id"]),
        (503, &json!(7)),
        "the queued one is told"
    );
    while house.ask(legacy(8, "hello")).await.0 != 200 {
        tokio::task::yield_now().await;
    }
    let view = house.gateway.tree.view();
    let dispatcher = view.iter().find(|actor| actor.name == "dispatcher");
    assert_eq!(dispatcher.map(|actor| actor.restarts), Some(1));
}

#[tokio::test]
async fn past_the_limit_requests_are_refused_but_discovery_is_not() {
    let house = start(toolbox(), |options| options.in_flight = 1).await;
    let discover = json!({"jsonrpc": "2.0", "id": "d", "method": "server/discover"});

    let (_cancelled, (refused, discovered)) =
        tokio::join!(house.ask(modern(1, "forever", &json!({}))), async {
            house.until_in_flight(1).await;
            let refused = house.ask(legacy(2, "hello")).await;
            let discovered = house.ask(discover.to_string().into()).await;
            house.gateway.shared.registry.cancel_all();
            (refused, discovered)
        });

    assert_eq!((refused.0, &refused.1["id"]), (503, &json!(2)));
    assert_eq!((discovered.0, &discovered.1["id"]), (200, &json!("d")));
    house.until_in_flight(0).await;
}

#[tokio::test]
async fn a_panic_is_an_internal_error_without_detail() {
    let house = start(toolbox(), |_| {}).await;

    for tool in ["boom", "boom_pool"] {
        let (status, error) = house.ask(legacy(1, tool)).await;

        assert_eq!(
            (status, &error["error"]["code"]),
            (200, &json!(-32603)),
            "{tool}"
        );
        assert!(!error.to_string().contains("hunter2"), "{tool}");
    }
    assert_eq!(
        house.ask(legacy(2, "hello")).await.0,
        200,
        "nothing else broke"
    );
}

#[tokio::test]
async fn a_modern_client_that_leaves_cancels_its_call() {
    let house = start(toolbox(), |_| {}).await;
    let call = house
        .gateway
        .submit(Head::default(), modern(1, "forever", &json!({})));

    tokio::select! {
        reply = call => panic!("it never answers by itself: {reply:?}"),
        _token = house.first_token() => {}
    }

    house.until_in_flight(0).await;
}

#[tokio::test]
async fn a_legacy_client_that_leaves_does_not_cancel_its_call() {
    let house = start(toolbox(), |_| {}).await;
    let call = house.gateway.submit(Head::default(), legacy(1, "forever"));

    tokio::select! {
        reply = call => panic!("it never answers by itself: {reply:?}"),
        _token = house.first_token() => {}
    }

    let entries = house.gateway.shared.registry.cancel_all();
    assert_eq!(entries, 1, "it was still in flight");
    house.until_in_flight(0).await;
}

#[tokio::test]
async fn progress_opens_a_stream_that_ends_with_the_response() {
    let house = start(toolbox(), |_| {}).await;
    let call = modern(1, "steps", &json!({"progressToken": "p"}));

    let reply = house.gateway.submit(reads_events(), call).await;

    let Reply::Stream(events) = reply else {
        panic!("a stream expected, got {reply:?}");
    };
    let sent: Vec<Value> = events
        .filter_map(async |event| event.message)
        .map(|message| serde_json::from_slice(&message.into_bytes()).expect("JSON"))
        .collect()
        .await;
    let methods: Vec<_> = sent.iter().map(|event| event["method"].as_str()).collect();
    assert_eq!(
        methods,
        [
            Some("notifications/progress"),
            Some("notifications/progress"),
            None
        ]
    );
    assert_eq!(sent[0]["params"]["progressToken"], "p");
    assert_eq!(sent[2]["result"]["content"][0]["text"], "done");
}

#[tokio::test]
async fn without_a_token_or_a_reader_of_events_there_is_one_body() {
    let house = start(toolbox(), |_| {}).await;
    let unasked = modern(1, "steps", &json!({}));
    let unread = modern(2, "steps", &json!({"progressToken": 0}));

    let unasked = message(house.gateway.submit(reads_events(), unasked).await);
    let unread = message(house.gateway.submit(Head::default(), unread).await);

    assert_eq!(unasked.1["result"]["content"][0]["text"], "done");
    assert_eq!(unread.1["result"]["content"][0]["text"], "done");
}

#[tokio::test]
async fn a_blocking_tool_past_its_limit_is_answered_for_and_counted() {
    let house = start(toolbox(), |_| {}).await;
    let abandoned = house
        .telemetry
        .workers_abandoned(conduit_telemetry::Pool::Blocking);
    let call = modern(1, "asleep", &json!({}));
    let reply = house.gateway.submit(Head::default(), call);
    let mut reply = std::pin::pin!(reply);
    let token = tokio::select! {
        reply = reply.as_mut() => panic!("too early: {reply:?}"),
        token = house.first_token() => token,
    };

    let (status, answer) = message(reply.await);

    assert_eq!(status, 200);
    assert_eq!(answer["result"]["isError"], true);
    assert_eq!(abandoned.level(), 1, "its thread still runs");
    token.cancel();
    while abandoned.level() != 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_drain_waits_for_calls_and_answers_those_that_do_not_end() {
    let house = start(toolbox(), |_| {}).await;

    let (answer, drained) = tokio::join!(house.ask(modern(1, "forever", &json!({}))), async {
        house.until_in_flight(1).await;
        house.gateway.drain(Duration::from_millis(20)).await
    });

    assert_eq!(drained.stopped, 1);
    assert_eq!(answer.1["id"], 1, "nobody is left without an answer");
}

#[tokio::test]
async fn a_probe_comes_back_through_the_pipeline_and_not_past_a_stalled_dispatcher() {
    let house = start(toolbox(), |_| {}).await;
    assert!(house.gateway.probe().await);

    let _stall = house.stall();

    assert!(!house.gateway.probe().await);
}

#[tokio::test]
async fn a_session_that_nobody_can_look_up_is_refused_for_now() {
    let house = start(toolbox(), |_| {}).await;
    let mut headers = http::HeaderMap::new();
    let id = Uuid::new_v4().to_string();
    headers.insert("mcp-session-id", id.parse().expect("a value"));
    let head = Head {
        headers: Some(headers.into()),
        ..Head::default()
    };

    let (status, refusal) = message(house.gateway.submit(head, legacy(1, "hello")).await);

    assert_eq!(
        (status, &refusal["id"]),
        (503, &json!(1)),
        "the store is away"
    );
}

#[tokio::test]
async fn a_pipe_that_initializes_again_still_hears_of_changes() {
    let announce = tool(
        "announce",
        "",
        |_: NoArguments, context: Context| async move {
            context.changes().tools().await;
        },
    );
    let house = start_alone(Toolbox::builder("test", "1").tool(announce).list_changes()).await;
    let (pipe, mut events) = crate::exchange::Pipe::new();
    let say = async |message: Value| {
        let head = Head {
            pipe: Some(Arc::clone(&pipe)),
            ..reads_events()
        };
        house.gateway.submit(head, message.to_string().into()).await
    };
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"}}});

    for _ in 0..2 {
        say(hello.clone()).await;
        say(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": {"name": "announce"}}))
        .await;

        let told = timeout(Duration::from_secs(30), events.next()).await;
        let told = told.expect("in time").expect("an event").message;
        let told = told.expect("a message").into_bytes();
        let told: Value = serde_json::from_slice(&told).expect("JSON");
        assert_eq!(told["method"], "notifications/tools/list_changed");
    }
}
