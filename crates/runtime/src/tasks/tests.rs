mod fake;

use std::sync::atomic::{AtomicUsize, Ordering as Order};

use conduit_link::{FromStore, TaskStatus};
use conduit_server::{
    Context, IntoServer, NoArguments, Outcome, TaskSupport, ToolError, ToolResult, Toolbox,
    raw_form, tool,
};
use conduit_telemetry::Telemetry;
use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::time::timeout;

use self::fake::Fake;
use super::*;
use crate::exchange::{Accepts, Head, MessageReply, Pipe, Reply};
use crate::gateway::Gateway;
use crate::gateway::tests::{options, sealer};
use crate::hosted::Hosted;
use crate::outbox::Events;

/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(30);

/// A gateway beside a store that is no store.
struct House {
    gateway: Gateway,
    store: Arc<Fake>,
    telemetry: Telemetry,
}

/// Tells what the `forever` tools of one test have been through.
#[derive(Default)]
struct Seen {
    begun: AtomicUsize,
    cancelled: AtomicUsize,
}

async fn start(change: impl FnOnce(&mut crate::gateway::Options)) -> (House, Arc<Seen>) {
    let mut options = options();
    change(&mut options);
    let (store, seen) = (Arc::new(Fake::default()), Arc::new(Seen::default()));
    let telemetry = Telemetry::new("test");
    let server = Arc::new(toolbox(&seen).into_server().expect("a server"));
    let hosted = Hosted::new(server, &telemetry, LONG).with_tasks(true);
    let local: Arc<dyn store::LocalStore> = Arc::<Fake>::clone(&store);
    let hosted = vec![hosted];
    let gateway = Gateway::start(options, hosted, sealer(), None, Some(local), &telemetry);
    let house = House {
        gateway: gateway.await.expect("a gateway"),
        store,
        telemetry,
    };
    (house, seen)
}

fn toolbox(seen: &Arc<Seen>) -> conduit_server::ToolboxBuilder {
    let forever = {
        let seen = Arc::clone(seen);
        move |_: NoArguments, context: Context| {
            let seen = Arc::clone(&seen);
            async move {
                seen.begun.fetch_add(1, Order::SeqCst);
                context.cancelled().await;
                seen.cancelled.fetch_add(1, Order::SeqCst);
                Err::<(), _>(ToolError::new("cancelled"))
            }
        }
    };
    let noted = |_: NoArguments, context: Context| async move {
        context.task().expect("a task").status("half of it");
        context.cancelled().await;
    };
    let hello = |_: NoArguments, _: Context| async { "hello" };
    let fails = |_: NoArguments, _: Context| async { Err::<(), _>(ToolError::new("no luck")) };
    let refuses = |_: NoArguments, _: Context| async {
        let error = WireError::invalid_params("not like that");
        Err::<(), _>(ToolError::protocol(error))
    };
    let panics = |_: NoArguments, _: Context| async { panic!("pw=hunter2") as () };
    let large = |_: NoArguments, _: Context| async { "x".repeat(10_000) };
    let asks = |_: NoArguments, context: Context| async move {
        let schema = json!({"type": "object", "properties": {"name": {"type": "string"}},
            "required": ["name"]});
        let name = context.ask(raw_form("who", "Who?", &schema))?.accepted()?;
        Ok::<_, ToolError>(format!("hello {}", name["name"]))
    };
    let again = |_: NoArguments, context: Context| async move {
        let rounds: u32 = context.recall().unwrap_or_default();
        if rounds < 2 {
            let state = Some(json!(rounds + 1));
            let requests = Vec::new();
            return Outcome::InputRequired(conduit_server::InputRequired { requests, state });
        }
        Outcome::Complete(ToolResult::text("after all"))
    };
    Toolbox::builder("test", "1")
        .tool(tool("forever", "", forever).task(TaskSupport::Optional))
        .tool(tool("noted", "", noted).task(TaskSupport::Optional))
        .tool(tool("hello", "", hello).task(TaskSupport::Optional))
        .tool(tool("fails", "", fails).task(TaskSupport::Optional))
        .tool(tool("refuses", "", refuses).task(TaskSupport::Optional))
        .tool(tool("panics", "", panics).task(TaskSupport::Optional))
        .tool(tool("large", "", large).task(TaskSupport::Optional))
        .tool(tool("asks", "", asks).task(TaskSupport::Optional))
        .tool(tool("again", "", again).task(TaskSupport::Optional))
        .tool(
            tool("late", "", |_: NoArguments, context: Context| async move {
                context.cancelled().await;
            })
            .time_limit(Duration::from_millis(20))
            .task(TaskSupport::Optional),
        )
}

/// Yields until something holds.
async fn until(holds: impl Fn() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::task::yield_now().await;
        }
    };
    timeout(LONG, waiting).await.expect("in time");
}

fn parsed(rendered: Rendered) -> Value {
    serde_json::from_slice(&rendered.into_bytes()).expect("JSON")
}

impl House {
    fn shared(&self) -> &Arc<Shared> {
        self.gateway.shared()
    }

    fn making(&self, tool: &str, era: Era, capabilities: &str) -> Making {
        Making {
            hosted: Arc::clone(&self.shared().hosted[0]),
            era,
            version: None,
            session: None,
            principal: None,
            request_id: RequestId::from(7),
            tool: tool.into(),
            arguments: Bytes::from_static(b"{}"),
            capabilities: ClientCapabilities::from_json(capabilities).expect("capabilities"),
            client_info: None,
            log_level: None,
            trace: TraceContext::default(),
            progress_token: None,
            new: NewTask::default(),
            restartable: false,
            carried: Carried::default(),
        }
    }

    /// Makes a task and returns its id.
    async fn begin_with(&self, making: Making) -> Uuid {
        let created = begin(self.shared(), making).await.expect("a task");
        let created = parsed(created);
        let result = &created["result"];
        let task = if result["task"].is_object() {
            &result["task"]
        } else {
            result
        };
        let id = task["taskId"].as_str().expect("an id");
        Uuid::try_parse(id).expect("a UUID")
    }

    async fn begin(&self, tool: &str) -> Uuid {
        self.begin_with(self.making(tool, Era::Modern, "{}")).await
    }

    /// Waits until a task has this status.
    async fn until_status(&self, id: Uuid, status: TaskStatus) -> TaskRecord {
        until(|| self.store.status(id) == Some(status)).await;
        self.store.record(id).expect("a record")
    }

    async fn outcome(&self, tool: &str, era: Era, status: TaskStatus) -> Value {
        let id = self.begin_with(self.making(tool, era, "{}")).await;
        let record = self.until_status(id, status).await;
        serde_json::from_slice(&record.outcome.expect("an outcome")).expect("JSON")
    }

    fn running(&self) -> i64 {
        self.telemetry.tasks_running().level()
    }

    fn foreman(&self, message: Message) {
        let seat = &self.shared().executor.shared.seat;
        assert!(seat.cast(message).is_ok(), "a foreman");
    }

    async fn submit(&self, head: Head, message: &Value) -> Reply {
        self.gateway.submit(head, message.to_string().into()).await
    }

    /// Asks as a modern client that knows of tasks.
    async fn ask(&self, method: &str, params: Value) -> (u16, Value) {
        let tasks = json!({"extensions": {TASKS: {}}});
        let request = modern(method, params, &tasks);
        message(self.submit(reads_events(), &request).await)
    }

    /// Asks as a client of 2025-11-25 on a pipe.
    async fn ask_on(&self, pipe: &Arc<Pipe>, method: &str, params: Value) -> Value {
        let request = json!({"jsonrpc": "2.0", "id": 3, "method": method, "params": params});
        let head = Head {
            pipe: Some(Arc::clone(pipe)),
            ..reads_events()
        };
        match self.submit(head, &request).await {
            Reply::Message(reply) => parsed(reply.message),
            Reply::Stream(events) => last(events).await,
            Reply::Accepted => panic!("an answer"),
        }
    }

    async fn pipe(&self, capabilities: Value) -> (Arc<Pipe>, Events) {
        let (pipe, events) = Pipe::new();
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities,
            "clientInfo": {"name": "c", "version": "1"}});
        let answer = self.ask_on(&pipe, "initialize", hello).await;
        assert!(
            answer["result"]["capabilities"]["tasks"].is_object(),
            "{answer}"
        );
        (pipe, events)
    }
}

const TASKS: &str = conduit_protocol::TASKS_EXTENSION;

fn modern(method: &str, mut params: Value, capabilities: &Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    json!({"jsonrpc": "2.0", "id": 3, "method": method, "params": params})
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

fn message(reply: Reply) -> (u16, Value) {
    let Reply::Message(MessageReply {
        status, message, ..
    }) = reply
    else {
        panic!("one message expected, got {reply:?}");
    };
    (status, parsed(message))
}

async fn next(events: &mut Events) -> Value {
    loop {
        let event = timeout(LONG, events.next()).await.expect("in time");
        if let Some(message) = event.expect("an event").message {
            return parsed(message);
        }
    }
}

async fn last(mut events: Events) -> Value {
    loop {
        let event = next(&mut events).await;
        if event.get("id").is_some() && event.get("method").is_none() {
            return event;
        }
    }
}

// === What becomes of the work ===

#[tokio::test]
async fn a_task_is_kept_before_its_call_is_answered_and_then_done() {
    let (house, _) = start(|_| {}).await;
    let making = house.making("hello", Era::Modern, "{}");

    let answer = parsed(begin(house.shared(), making).await.expect("a task"));

    let result = &answer["result"];
    assert_eq!(answer["id"], 7);
    assert_eq!(result["resultType"], "task");
    assert_eq!(result["status"], "working");
    assert_eq!(result["ttlMs"], 60_000);
    assert_eq!(result["pollIntervalMs"], 1_000);
    let id = Uuid::try_parse(result["taskId"].as_str().expect("an id")).expect("a UUID");
    let record = house.until_status(id, TaskStatus::Completed).await;
    let outcome: Value = serde_json::from_slice(&record.outcome.expect("it")).expect("JSON");
    assert_eq!(outcome["content"][0]["text"], "hello");
    assert_eq!(record.owner, TaskOwner::Bearer);
    until(|| house.running() == 0).await;
}

#[tokio::test]
async fn a_result_that_tells_of_a_failure_completes_a_modern_task_and_fails_a_legacy_one() {
    let (house, _) = start(|_| {}).await;

    let modern = house
        .outcome("fails", Era::Modern, TaskStatus::Completed)
        .await;
    let legacy = house
        .outcome("fails", Era::Legacy, TaskStatus::Failed)
        .await;

    for outcome in [modern, legacy] {
        assert_eq!(outcome["isError"], true);
        assert_eq!(outcome["content"][0]["text"], "no luck");
    }
}

#[tokio::test]
async fn an_error_of_the_protocol_fails_a_task_with_itself() {
    let (house, _) = start(|_| {}).await;
    let id = house.begin("refuses").await;

    let record = house.until_status(id, TaskStatus::Failed).await;

    assert_eq!(record.message.as_deref(), Some("not like that"));
    let outcome: Value = serde_json::from_slice(&record.outcome.expect("it")).expect("JSON");
    assert_eq!(outcome["code"], -32602);
}

#[tokio::test]
async fn a_panic_fails_a_task_without_detail() {
    let (house, _) = start(|_| {}).await;

    let outcome = house
        .outcome("panics", Era::Modern, TaskStatus::Failed)
        .await;

    assert_eq!(outcome["code"], -32603);
    assert!(!outcome.to_string().contains("hunter2"));
}

#[tokio::test]
async fn a_result_that_is_too_large_fails_its_task_and_says_how_large_one_may_be() {
    let (house, _) = start(|_| {}).await;

    let outcome = house
        .outcome("large", Era::Modern, TaskStatus::Failed)
        .await;

    assert!(
        outcome["message"]
            .as_str()
            .is_some_and(|text| text.contains("1024 bytes"))
    );
}

#[tokio::test]
async fn a_task_that_overruns_its_tool_s_limit_completes_with_a_failure() {
    let (house, _) = start(|_| {}).await;

    let outcome = house
        .outcome("late", Era::Modern, TaskStatus::Completed)
        .await;

    assert_eq!(outcome["isError"], true);
}

#[tokio::test]
async fn a_tool_that_is_gone_fails_its_task() {
    let (house, _) = start(|_| {}).await;

    let outcome = house
        .outcome("nobody", Era::Modern, TaskStatus::Failed)
        .await;

    assert_eq!(outcome["code"], -32603);
}

#[tokio::test]
async fn a_task_asks_and_goes_on_with_the_answer_at_whoever_has_room() {
    let (house, _) = start(|_| {}).await;
    let making = house.making("asks", Era::Modern, r#"{"elicitation":{}}"#);
    let id = house.begin_with(making).await;
    let record = house.until_status(id, TaskStatus::InputRequired).await;
    assert_eq!(record.questions[0].key, "who");
    until(|| house.running() == 0).await;

    let answer = json!({"action": "accept", "content": {"name": "Ada"}});
    let params = json!({"taskId": id, "inputResponses": {"who": answer}});
    let (status, ack) = house.ask("tasks/update", params).await;
    house.gateway.hear_store(FromStore::TasksReady);

    assert_eq!(
        (status, &ack["result"]["resultType"]),
        (200, &json!("complete"))
    );
    let record = house.until_status(id, TaskStatus::Completed).await;
    let outcome: Value = serde_json::from_slice(&record.outcome.expect("it")).expect("JSON");
    assert_eq!(outcome["content"][0]["text"], "hello \"Ada\"");
}

#[tokio::test]
async fn a_task_may_not_ask_what_its_client_cannot_answer() {
    let (house, _) = start(|_| {}).await;

    let outcome = house.outcome("asks", Era::Modern, TaskStatus::Failed).await;

    assert_eq!(outcome["code"], -32021);
    assert!(outcome["data"]["requiredCapabilities"]["elicitation"].is_object());
}

#[tokio::test]
async fn a_callback_that_asks_nothing_runs_again_with_what_it_has_noted() {
    let (house, _) = start(|_| {}).await;

    let outcome = house
        .outcome("again", Era::Modern, TaskStatus::Completed)
        .await;

    assert_eq!(outcome["content"][0]["text"], "after all");
}

#[tokio::test]
async fn what_the_work_says_of_itself_is_its_status() {
    let (house, _) = start(|_| {}).await;
    let id = house.begin("noted").await;

    until(|| {
        let record = house.store.record(id);
        record.is_some_and(|record| record.message.as_deref() == Some("half of it"))
    })
    .await;

    house
        .gateway
        .hear_store(FromStore::StopTasks { ids: vec![id] });
}

// === What may not be begun ===

#[tokio::test]
async fn where_there_are_as_many_tasks_as_there_may_be_another_is_refused() {
    let (house, _) = start(|_| {}).await;
    house.store.fill();

    let refused = begin(house.shared(), house.making("hello", Era::Modern, "{}")).await;

    assert_eq!(refused.expect_err("a refusal").code, Code(42_900));
}

#[tokio::test]
async fn without_an_answer_of_the_store_there_is_no_task() {
    let (house, seen) = start(|_| {}).await;
    house.store.go_away();

    let refused = begin(house.shared(), house.making("forever", Era::Modern, "{}")).await;

    assert_eq!(refused.expect_err("a refusal").code, Code(50_300));
    assert_eq!(seen.begun.load(Order::SeqCst), 0);
}

#[tokio::test]
async fn a_task_lives_no_longer_than_any_may() {
    let (house, _) = start(|_| {}).await;
    let mut making = house.making("hello", Era::Modern, "{}");
    making.new.ttl_ms = Some(u64::MAX);

    let id = house.begin_with(making).await;

    assert_eq!(
        house.store.record(id).and_then(|task| task.ttl_ms),
        Some(3_600_000)
    );
}

// === What is held ===

#[tokio::test]
async fn work_is_asked_for_while_there_is_room_and_again_when_there_is_some() {
    let (house, seen) = start(|options| options.tasks.running = 1).await;
    let first = house.begin("forever").await;
    until(|| seen.begun.load(Order::SeqCst) == 1).await;
    house.store.make_others_hold();
    let second = house.begin("hello").await;
    let taken = house.store.takes();

    house.foreman(Message::Ready);
    house.foreman(Message::Tick);
    until(|| house.shared().executor.shared.seat.depth() == 0).await;
    assert_eq!(house.store.takes(), taken, "there is no room");

    house
        .gateway
        .hear_store(FromStore::StopTasks { ids: vec![first] });
    house.until_status(second, TaskStatus::Completed).await;
}

#[tokio::test]
async fn what_the_store_has_given_to_somebody_else_is_stopped_and_not_written() {
    let (house, seen) = start(|_| {}).await;
    let id = house.begin("forever").await;
    until(|| seen.begun.load(Order::SeqCst) == 1).await;
    house.store.lose(id);

    house.foreman(Message::StoreBack);

    until(|| house.running() == 0).await;
    assert_eq!(seen.cancelled.load(Order::SeqCst), 1);
    assert_eq!(house.store.finishes(), 0);
    assert_eq!(house.store.status(id), Some(TaskStatus::Working));
}

#[tokio::test]
async fn a_foreman_that_fails_leaves_the_work_and_goes_on_with_it() {
    let (house, seen) = start(|_| {}).await;
    let id = house.begin("forever").await;
    until(|| seen.begun.load(Order::SeqCst) == 1).await;

    house.gateway.kill("tasks");
    house.store.make_others_hold();
    let other = house.begin("hello").await;

    house.until_status(other, TaskStatus::Completed).await;
    assert_eq!(seen.cancelled.load(Order::SeqCst), 0);
    house.store.lose(id);
    house.foreman(Message::StoreBack);
    until(|| house.running() == 0).await;
}

#[tokio::test]
async fn work_is_stopped_when_no_store_was_heard_of_for_a_whole_lease() {
    let lease = Duration::from_millis(150);
    let (house, seen) = start(|options| options.tasks.lease = lease).await;
    house.begin("forever").await;
    until(|| seen.begun.load(Order::SeqCst) == 1).await;
    house.store.go_away();

    let ticking = async {
        while house.running() > 0 {
            house.foreman(Message::Tick);
            sleep(lease / 10).await;
        }
    };

    timeout(LONG, ticking).await.expect("in time");
    assert_eq!(seen.cancelled.load(Order::SeqCst), 1);
}

#[tokio::test]
async fn the_store_is_told_every_third_of_a_lease_what_is_held() {
    let third = Duration::from_millis(50);
    let (house, _) = start(|options| options.tasks.lease = 3 * third).await;
    let begun = Instant::now();

    let ticking = async {
        while house.store.renewals() < 4 {
            house.foreman(Message::Tick);
            sleep(third / 10).await;
        }
    };

    timeout(LONG, ticking).await.expect("in time");
    assert!(begun.elapsed() >= 3 * third);
}

#[tokio::test]
async fn a_task_whose_time_is_up_is_told_to_stop_and_frees_its_place() {
    let (house, seen) = start(|_| {}).await;
    let mut making = house.making("forever", Era::Modern, "{}");
    making.new.ttl_ms = Some(30);

    house.begin_with(making).await;

    until(|| seen.cancelled.load(Order::SeqCst) == 1).await;
    until(|| house.running() == 0).await;
    assert_eq!(house.store.finishes(), 0);
}

#[tokio::test]
async fn a_task_that_the_store_calls_over_is_stopped() {
    let (house, seen) = start(|_| {}).await;
    let id = house.begin("forever").await;
    until(|| seen.begun.load(Order::SeqCst) == 1).await;

    house
        .gateway
        .hear_store(FromStore::StopTasks { ids: vec![id] });

    until(|| house.running() == 0).await;
    assert_eq!(house.store.finishes(), 0);
}

#[tokio::test]
async fn a_result_is_told_again_until_the_store_has_it() {
    let (house, seen) = start(|options| {
        options.store_patience = Duration::from_millis(20);
    })
    .await;
    let id = house.begin("late").await;
    house.store.go_away();
    sleep(Duration::from_millis(100)).await;
    assert_eq!(seen.begun.load(Order::SeqCst), 0);

    house.store.come_back();

    house.until_status(id, TaskStatus::Completed).await;
}

#[tokio::test]
async fn at_the_end_of_the_process_work_that_stops_is_given_back() {
    let (house, seen) = start(|_| {}).await;
    house.begin("forever").await;
    until(|| seen.begun.load(Order::SeqCst) == 1).await;

    house.gateway.drain(Duration::from_millis(20)).await;

    assert_eq!(house.running(), 0);
    assert_eq!(house.store.released(), 1);
    assert_eq!(house.store.finishes(), 0);
}

// === What clients ask ===

#[tokio::test]
async fn a_task_that_is_unknown_and_one_that_is_no_id_are_the_same() {
    let (house, _) = start(|_| {}).await;

    for method in ["tasks/get", "tasks/cancel"] {
        for id in ["nonsense", "00000000-0000-4000-8000-000000000000"] {
            let (status, answer) = house.ask(method, json!({"taskId": id})).await;

            assert_eq!((status, &answer["error"]["code"]), (200, &json!(-32602)));
            assert_eq!(answer["error"]["message"], format!("Unknown task: {id}"));
        }
    }
}

#[tokio::test]
async fn a_client_that_does_not_declare_tasks_is_told_to() {
    let (house, _) = start(|_| {}).await;

    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let request = modern(method, json!({"taskId": "x"}), &json!({"tasks": {}}));
        let (status, answer) = message(house.submit(Head::default(), &request).await);

        assert_eq!((status, &answer["error"]["code"]), (400, &json!(-32021)));
        assert!(answer["error"]["data"]["requiredCapabilities"]["extensions"][TASKS].is_object());
    }
}

#[tokio::test]
async fn legacy_methods_are_unknown_to_modern_clients() {
    let (house, _) = start(|_| {}).await;

    for method in ["tasks/list", "tasks/result"] {
        let (status, answer) = house.ask(method, json!({"taskId": "x"})).await;

        assert_eq!((status, &answer["error"]["code"]), (404, &json!(-32601)));
    }
}

#[tokio::test]
async fn a_modern_client_may_cancel_what_has_ended() {
    let (house, _) = start(|_| {}).await;
    let id = house.begin("hello").await;
    house.until_status(id, TaskStatus::Completed).await;

    let (status, answer) = house.ask("tasks/cancel", json!({"taskId": id})).await;

    assert_eq!(
        (status, &answer["result"]["resultType"]),
        (200, &json!("complete"))
    );
    let (_, shown) = house.ask("tasks/get", json!({"taskId": id})).await;
    assert_eq!(shown["result"]["status"], "completed");
    assert_eq!(shown["result"]["result"]["content"][0]["text"], "hello");
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_refused_and_nothing_is_kept() {
    let (house, _) = start(|_| {}).await;
    let making = house.making("asks", Era::Modern, r#"{"elicitation":{}}"#);
    let id = house.begin_with(making).await;
    house.until_status(id, TaskStatus::InputRequired).await;

    for (answer, code) in [
        (
            json!({"who": {"action": "accept", "content": {}}}),
            Some(-32602),
        ),
        (json!({"who": 7}), Some(-32602)),
        (json!({"what": 7}), None),
    ] {
        let params = json!({"taskId": id, "inputResponses": answer});
        let (_, reply) = house.ask("tasks/update", params).await;
        assert_eq!(reply["error"]["code"].as_i64(), code, "{reply}");
    }
    assert_eq!(house.store.status(id), Some(TaskStatus::InputRequired));
}

#[tokio::test]
async fn a_session_s_task_is_its_own_from_its_making_to_its_result() {
    let (house, _) = start(|_| {}).await;
    let (pipe, _events) = house.pipe(json!({})).await;
    let (other, _others) = house.pipe(json!({})).await;
    let call = json!({"name": "hello", "task": {"ttl": 5_000}});
    let created = house.ask_on(&pipe, "tools/call", call).await;
    let task = &created["result"]["task"];
    assert_eq!(task["ttl"], 5_000, "{created}");
    let params = json!({"taskId": task["taskId"]});

    let result = house.ask_on(&pipe, "tasks/result", params.clone()).await;
    assert_eq!(result["result"]["content"][0]["text"], "hello", "{result}");
    let related = &result["result"]["_meta"]["io.modelcontextprotocol/related-task"];
    assert_eq!(related["taskId"], task["taskId"]);

    let listed = house.ask_on(&pipe, "tasks/list", json!({})).await;
    assert_eq!(listed["result"]["tasks"][0]["taskId"], task["taskId"]);
    let late = house.ask_on(&pipe, "tasks/cancel", params.clone()).await;
    assert_eq!(late["error"]["code"], -32602);
    assert_eq!(late["error"]["message"], "Task is already completed");

    let foreign = house.ask_on(&other, "tasks/get", params.clone()).await;
    assert_eq!(foreign["error"]["code"], -32602);
    let listed = house.ask_on(&other, "tasks/list", json!({})).await;
    assert_eq!(listed["result"]["tasks"], json!([]));
    let (_, foreign) = house.ask("tasks/get", params).await;
    assert_eq!(foreign["error"]["code"], -32602, "another era");
}

#[tokio::test]
async fn only_sessions_that_may_know_of_tasks_see_which_tools_can_be_one() {
    let (house, _) = start(|_| {}).await;
    let (pipe, _events) = house.pipe(json!({})).await;

    let session = house.ask_on(&pipe, "tools/list", json!({})).await;
    let (_, modern) = house.ask("tools/list", json!({})).await;
    let request = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list"});
    let (_, nobody) = message(house.submit(Head::default(), &request).await);

    let execution = |answer: &Value| answer["result"]["tools"][0].get("execution").cloned();
    assert_eq!(
        execution(&session),
        Some(json!({"taskSupport": "optional"}))
    );
    assert_eq!((execution(&modern), execution(&nobody)), (None, None));
}

#[tokio::test]
async fn who_has_no_session_gets_no_list() {
    let (house, _) = start(|_| {}).await;
    let request = json!({"jsonrpc": "2.0", "id": 3, "method": "tasks/list"});

    let (status, answer) = message(house.submit(Head::default(), &request).await);

    assert_eq!((status, &answer["error"]["code"]), (200, &json!(-32601)));
}

#[tokio::test]
async fn a_cursor_of_another_list_is_refused() {
    let (house, _) = start(|_| {}).await;
    let (pipe, _events) = house.pipe(json!({})).await;

    let answer = house
        .ask_on(&pipe, "tasks/list", json!({"cursor": "x"}))
        .await;

    assert_eq!(answer["error"]["code"], -32602);
}

#[tokio::test]
async fn a_result_is_waited_for_and_a_cancel_ends_the_wait() {
    let (house, seen) = start(|_| {}).await;
    let (pipe, _events) = house.pipe(json!({})).await;
    let call = json!({"name": "forever", "task": {}});
    let created = house.ask_on(&pipe, "tools/call", call).await;
    let params = json!({"taskId": created["result"]["task"]["taskId"]});

    let (result, cancelled) =
        tokio::join!(house.ask_on(&pipe, "tasks/result", params.clone()), async {
            until(|| seen.begun.load(Order::SeqCst) == 1).await;
            house.ask_on(&pipe, "tasks/cancel", params.clone()).await
        });

    assert_eq!(cancelled["result"]["status"], "cancelled", "{cancelled}");
    assert_eq!(result["error"]["message"], "Task cancelled");
}

#[tokio::test]
async fn a_session_s_task_asks_on_the_stream_of_whoever_waits_for_its_result() {
    let (house, _) = start(|_| {}).await;
    let (pipe, _events) = house.pipe(json!({"elicitation": {}})).await;
    let call = json!({"name": "asks", "task": {}});
    let created = house.ask_on(&pipe, "tools/call", call).await;
    let id = created["result"]["task"]["taskId"].clone();
    let head = || Head {
        pipe: Some(Arc::clone(&pipe)),
        ..reads_events()
    };
    let wait = json!({"jsonrpc": "2.0", "id": 9, "method": "tasks/result",
        "params": {"taskId": id}});

    let Reply::Stream(mut events) = house.submit(head(), &wait).await else {
        panic!("a stream");
    };
    let question = next(&mut events).await;
    assert_eq!(question["method"], "elicitation/create");
    let related = &question["params"]["_meta"]["io.modelcontextprotocol/related-task"];
    assert_eq!(related["taskId"], id);
    let answer = json!({"jsonrpc": "2.0", "id": question["id"],
        "result": {"action": "accept", "content": {"name": "Ada"}}});
    house.submit(head(), &answer).await;
    let task = Uuid::try_parse(id.as_str().expect("an id")).expect("a UUID");
    until(|| house.store.status(task) != Some(TaskStatus::InputRequired)).await;
    house.gateway.hear_store(FromStore::TasksReady);

    let result = last(events).await;
    assert_eq!(result["result"]["content"][0]["text"], "hello \"Ada\"");
}

// === Who hears of it ===

#[tokio::test]
async fn a_session_hears_what_becomes_of_its_tasks() {
    let (house, _) = start(|_| {}).await;
    let (pipe, mut events) = house.pipe(json!({})).await;

    let created = house
        .ask_on(&pipe, "tools/call", json!({"name": "hello", "task": {}}))
        .await;

    let told = next(&mut events).await;
    assert_eq!(told["method"], "notifications/tasks/status");
    assert_eq!(
        told["params"]["taskId"],
        created["result"]["task"]["taskId"]
    );
    assert_eq!(told["params"]["status"], "completed");
}

#[tokio::test]
async fn a_listener_is_told_what_its_tasks_are_and_what_becomes_of_them() {
    let (house, _) = start(|_| {}).await;
    let making = house.making("asks", Era::Modern, r#"{"elicitation":{}}"#);
    let id = house.begin_with(making).await;
    house.until_status(id, TaskStatus::InputRequired).await;
    let ids = json!([id, "nonsense", Uuid::from_u128(1)]);
    let listen = modern(
        "subscriptions/listen",
        json!({"notifications": {"taskIds": ids}}),
        &json!({"extensions": {TASKS: {}}}),
    );

    let Reply::Stream(mut events) = house.submit(reads_events(), &listen).await else {
        panic!("a stream");
    };

    let acknowledged = next(&mut events).await;
    assert_eq!(
        acknowledged["params"]["notifications"]["taskIds"],
        json!([id])
    );
    let told = next(&mut events).await;
    assert_eq!(told["method"], "notifications/tasks");
    assert_eq!(told["params"]["status"], "input_required");
    assert!(told["params"]["inputRequests"]["who"].is_object());
    let subscription = &told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
    assert_eq!(*subscription, 3);

    house.ask("tasks/cancel", json!({"taskId": id})).await;

    let told = next(&mut events).await;
    assert_eq!(told["params"]["status"], "cancelled");
}

#[tokio::test]
async fn a_listener_is_told_of_what_the_store_alone_knows() {
    let (house, _) = start(|_| {}).await;
    let id = house.begin("forever").await;
    let listen = modern(
        "subscriptions/listen",
        json!({"notifications": {"taskIds": [id]}}),
        &json!({"extensions": {TASKS: {}}}),
    );
    let Reply::Stream(mut events) = house.submit(reads_events(), &listen).await else {
        panic!("a stream");
    };
    for _ in 0..2 {
        next(&mut events).await;
    }
    house.store.cancel_unheard(id);

    house
        .gateway
        .hear_store(FromStore::TasksChanged { ids: Vec::new() });

    let told = next(&mut events).await;
    assert_eq!(told["params"]["status"], "cancelled");
}

#[tokio::test]
async fn where_tasks_are_switched_off_nobody_knows_them() {
    let telemetry = Telemetry::new("test");
    let server = toolbox(&Arc::default()).into_server().expect("a server");
    let hosted = Hosted::new(Arc::new(server), &telemetry, LONG).with_tasks(false);
    let gateway = Gateway::start(options(), vec![hosted], sealer(), None, None, &telemetry)
        .await
        .expect("a gateway");
    let request = modern(
        "tasks/get",
        json!({"taskId": "x"}),
        &json!({"extensions": {TASKS: {}}}),
    );

    let (status, answer) = message(
        gateway
            .submit(Head::default(), request.to_string().into())
            .await,
    );

    assert_eq!((status, &answer["error"]["code"]), (404, &json!(-32601)));
}
