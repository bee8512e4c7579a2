use conduit_actor::{ChildView, TreeOptions};
use conduit_lifecycle::Phase;
use conduit_link::{Links, Slot};
use tokio::sync::mpsc;
use uuid::Uuid;

use super::*;
use crate::event::Trace;
use crate::label::{BadState, CancelledBy, Era, ExitCause, Outcome};
use crate::server_metrics::{PromptSample, ReadSample, RequestSample, TaskSample, ToolSample};
use crate::{exposition, table};

const PATIENCE: Duration = Duration::from_secs(5);

fn text(telemetry: &Telemetry) -> String {
    exposition(&[telemetry.encode()]).expect("a good snapshot")
}

#[track_caller]
fn assert_sample(telemetry: &Telemetry, sample: &str) {
    let text = text(telemetry);
    assert!(
        text.lines().any(|line| line == sample),
        "no `{sample}` in\n{text}"
    );
}

async fn with_sink(process: &str) -> (Telemetry, Tree) {
    let telemetry = Telemetry::new(process);
    let tree = Tree::start(TreeOptions::default()).await.expect("a tree");
    telemetry.start_in(&tree).await.expect("a sink");
    (telemetry, tree)
}

fn request(method: &str) -> RequestSample<'_> {
    RequestSample {
        method: Some(method),
        era: Era::Modern,
        version: Some("2026-07-28"),
        outcome: Outcome::Ok,
        took: Duration::from_millis(2),
        trace: Trace::default(),
    }
}

fn called(tool: &str) -> ToolSample<'_> {
    ToolSample {
        tool: Some(tool),
        outcome: Outcome::Ok,
        took: Duration::from_millis(1),
    }
}

fn read(uri: &str) -> ReadSample<'_> {
    ReadSample {
        resource: Some(uri),
        outcome: Outcome::Ok,
        took: Duration::from_millis(1),
    }
}

fn prompted(prompt: &str) -> PromptSample<'_> {
    PromptSample {
        prompt: Some(prompt),
        outcome: Outcome::Ok,
        took: Duration::from_millis(1),
    }
}

fn slot() -> String {
    "gateway-0".to_owned()
}

/// One event of each kind that the sink counts.
fn counted_events() -> Vec<Event> {
    vec![
        Event::RequestCancelled {
            request_id: "1".to_owned(),
            scope: "session:secret".to_owned(),
            reason: None,
            by: CancelledBy::Notice,
        },
        Event::WorkerAbandoned {
            server: "demo".to_owned(),
            tool: "slow".to_owned(),
            pool: Pool::Blocking,
        },
        Event::LoopStalled {
            server: "demo".to_owned(),
            tool: "slow".to_owned(),
            took: Duration::from_secs(1),
        },
        Event::ChildExited {
            slot: slot(),
            pid: 7,
            cause: ExitCause::Signal,
            status: "signal 9".to_owned(),
        },
        Event::ChildRestarted {
            slot: slot(),
            pid: 8,
            delay: Duration::ZERO,
        },
        Event::ScrapeMissed { slot: slot() },
    ]
}

fn show_everything(telemetry: &Telemetry) {
    let server = telemetry.register_server("demo", &["echo"]);
    server.request(request("tools/call"));
    server.tool(called("echo"));
    server.read(read("file:///notes"));
    server.prompt(prompted("review"));
    server.input_required("tools/call", 1, true);
    telemetry.bad_state(BadState::Expired);
    server.task(TaskSample {
        tool: "echo",
        outcome: Outcome::Ok,
        took: Duration::from_mins(1),
    });
    server.subscription_started("1");
    server.subscription_stopped("1", "client", Duration::from_mins(90));
    telemetry.change_published(ChangeOutcome::Told);
    telemetry.changes_told(MailOutcome::Taken, 1);
    telemetry
        .propagation("hub-0")
        .observe(Duration::from_millis(1));
    telemetry.refused(RefusedReason::Overload);
    telemetry.store_operation(
        StoreOperation::OpenSession,
        StoreOutcome::Ok,
        Duration::from_millis(1),
    );
    telemetry.store_commit(Duration::from_millis(1));
    telemetry.store_tasks(TaskState::Working, 5);
    telemetry.store_tasks_at_work(3, 2);
    telemetry.store_takeovers(1, 2);
    telemetry.store_tasks_expired(4);
    telemetry.mail(MailOutcome::Taken);
    telemetry.lost(LostKind::Notification, 2);
    telemetry.slot(
        "gateway-0",
        SlotSample {
            up: true,
            parked: false,
            probe_age: Some(Duration::from_millis(1500)),
        },
    );
    telemetry.link(
        "store",
        LinkSample {
            up: true,
            frames_in: 3,
            frames_out: 4,
            reconnects: 1,
            queued: 0,
            silence: Some(Duration::from_millis(250)),
        },
    );
    telemetry.actors(&[ChildView {
        name: "dispatcher",
        phase: Phase::Serving,
        restarts: 2,
        depth: 5,
    }]);
    telemetry.loop_lag(Duration::from_millis(4));
}

#[tokio::test]
async fn every_metric_of_the_table_is_registered_and_shown_with_its_process() {
    let (telemetry, _tree) = with_sink("gateway-0").await;
    show_everything(&telemetry);
    for event in counted_events() {
        telemetry.emit(event);
    }
    telemetry.flush(PATIENCE).await.expect("a sink at work");

    let text = text(&telemetry);

    for metric in table() {
        let name = metric.name;
        assert!(
            text.contains(&format!("# HELP {name} {}", metric.help)),
            "{name}"
        );
        assert!(
            text.contains(&format!("# TYPE {name} {}", metric.kind.as_str())),
            "{name}"
        );
    }
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        assert!(line.contains("{process=\"gateway-0\""), "{line}");
    }
}

#[test]
fn a_process_shows_itself_before_anything_happened() {
    let telemetry = Telemetry::new("hub-0");

    let text = text(&telemetry);

    for name in [
        "conduit_build_info",
        "conduit_process_cpu_seconds_total",
        "conduit_requests_refused_total",
        "conduit_telemetry_dropped_total",
    ] {
        assert!(text.contains(name), "{name}");
    }
}

#[test]
fn a_request_is_counted_and_timed_under_its_labels() {
    let telemetry = Telemetry::new("gateway-0");
    let server = telemetry.register_server("demo", &["echo"]);

    server.request(request("tools/call"));
    server.request(request("tools/call"));
    server.request(request("made/up"));

    let labels = r#"process="gateway-0",era="modern",method="tools/call""#;
    assert_sample(
        &telemetry,
        &format!(r#"conduit_requests_total{{{labels},outcome="ok",server="demo"}} 2"#),
    );
    assert_sample(
        &telemetry,
        &format!(r#"conduit_request_duration_seconds_count{{{labels},server="demo"}} 2"#),
    );
    assert!(text(&telemetry).contains(r#"method="other""#));
    assert!(!text(&telemetry).contains("made/up"));
}

#[test]
fn each_outcome_and_era_has_its_own_counter() {
    let telemetry = Telemetry::new("gateway-0");
    let server = telemetry.register_server("demo", &["echo"]);

    for era in Era::ALL {
        for outcome in Outcome::ALL {
            server.request(RequestSample {
                era: *era,
                outcome: *outcome,
                ..request("ping")
            });
        }
    }

    for era in Era::ALL {
        for outcome in Outcome::ALL {
            let labels = format!(
                r#"process="gateway-0",era="{era}",method="ping",outcome="{outcome}",server="demo""#
            );
            assert_sample(&telemetry, &format!("conduit_requests_total{{{labels}}} 1"));
        }
    }
}

#[test]
fn a_tool_that_is_not_registered_is_other() {
    let telemetry = Telemetry::new("gateway-0");
    let server = telemetry.register_server("demo", &["echo"]);

    server.tool(called("rm -rf"));
    server.tool(ToolSample {
        tool: None,
        ..called("")
    });

    assert_sample(
        &telemetry,
        r#"conduit_tool_calls_total{process="gateway-0",outcome="ok",server="demo",tool="other"} 2"#,
    );
}

#[test]
fn past_the_first_two_hundred_tools_are_other_even_when_registered_bit_by_bit() {
    let telemetry = Telemetry::new("gateway-0");
    let tools: Vec<String> = (0..=TOOLS).map(|number| format!("tool{number}")).collect();

    drop(telemetry.register_server("demo", tools.get(..TOOLS).unwrap_or_default()));
    let server = telemetry.register_server("demo", &tools);
    for tool in &tools {
        server.tool(called(tool));
    }

    let text = text(&telemetry);
    let series = text
        .lines()
        .filter(|line| line.starts_with("conduit_tool_calls_total{"));
    assert_eq!(series.count(), TOOLS + 1);
    assert!(!text.contains("tool=\"tool200\""));
}

#[test]
fn a_tool_that_is_added_later_has_its_own_label_and_nobody_loses_counts() {
    let telemetry = Telemetry::new("gateway-0");
    let server = telemetry.register_server("demo", &["echo"]);
    server.tool(called("echo"));
    server.tool(called("later"));

    server.set_tools(&["later"]);
    server.tool(called("echo"));
    server.tool(called("later"));

    for (tool, calls) in [("echo", 2), ("later", 1), ("other", 1)] {
        let labels = format!(r#"process="gateway-0",outcome="ok",server="demo",tool="{tool}""#);
        assert_sample(
            &telemetry,
            &format!("conduit_tool_calls_total{{{labels}}} {calls}"),
        );
    }
}

#[test]
fn tools_that_are_added_later_are_other_past_the_bound() {
    let telemetry = Telemetry::new("gateway-0");
    let server = telemetry.register_server("demo", &["echo"]);

    for number in 0..=TOOLS {
        let tool = format!("tool{number}");
        server.set_tools(&[&tool]);
        server.tool(called(&tool));
    }

    let text = text(&telemetry);
    assert!(text.contains(r#"tool="tool198""#));
    assert!(!text.contains(r#"tool="tool199""#));
    assert_sample(
        &telemetry,
        r#"conduit_tool_calls_total{process="gateway-0",outcome="ok",server="demo",tool="other"} 2"#,
    );
}

#[test]
fn what_is_read_and_asked_for_is_counted_and_is_no_label() {
    let telemetry = Telemetry::new("gateway-0");
    let server = telemetry.register_server("demo", &["echo"]);

    server.read(read("file:///notes"));
    server.read(ReadSample {
        resource: None,
        outcome: Outcome::Refused,
        took: Duration::ZERO,
    });
    server.prompt(prompted("review"));

    for (name, outcome) in [
        ("resource_reads", "ok"),
        ("resource_reads", "refused"),
        ("prompt_gets", "ok"),
    ] {
        let labels = format!(r#"process="gateway-0",outcome="{outcome}",server="demo""#);
        assert_sample(&telemetry, &format!("conduit_{name}_total{{{labels}}} 1"));
    }
    for (name, count) in [("resource_read", 2), ("prompt_get", 1)] {
        let labels = r#"process="gateway-0",server="demo""#;
        assert_sample(
            &telemetry,
            &format!("conduit_{name}_duration_seconds_count{{{labels}}} {count}"),
        );
    }
    let text = text(&telemetry);
    assert!(
        !text.contains("notes") && !text.contains("review"),
        "{text}"
    );
}

#[test]
fn a_subscription_of_hours_is_told_apart_from_one_of_minutes() {
    let telemetry = Telemetry::new("gateway-0");
    let server = telemetry.register_server("demo", &["echo"]);

    for lifetime in [Duration::from_mins(2), Duration::from_hours(2)] {
        server.subscription_started("1");
        server.subscription_stopped("1", "client", lifetime);
    }

    let labels = r#"process="gateway-0",server="demo""#;
    for (bound, below) in [("300", 1), ("10800", 2)] {
        assert_sample(
            &telemetry,
            &format!(
                r#"conduit_subscription_duration_seconds_bucket{{{labels},le="{bound}"}} {below}"#
            ),
        );
    }
    assert_sample(
        &telemetry,
        &format!("conduit_subscriptions_total{{{labels}}} 2"),
    );
}

#[tokio::test]
async fn a_listener_hears_of_reads_prompts_and_subscriptions() {
    let (telemetry, _tree) = with_sink("gateway-0").await;
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ear = Arc::clone(&heard);
    telemetry.listen(move |event| ear.lock().push(event.clone()));
    let server = telemetry.register_server("demo", &["echo"]);

    server.read(read("file:///notes"));
    server.prompt(prompted("review"));
    server.subscription_started("7");
    server.subscription_stopped("7", "empty", Duration::from_secs(1));
    telemetry.flush(PATIENCE).await.expect("a sink at work");

    let (outcome, took) = (Outcome::Ok, Duration::from_millis(1));
    let demo = || "demo".to_owned();
    assert_eq!(
        *heard.lock(),
        [
            Event::ResourceRead {
                server: demo(),
                uri: Some("file:///notes".to_owned()),
                outcome,
                took,
            },
            Event::PromptGot {
                server: demo(),
                prompt: Some("review".to_owned()),
                outcome,
                took,
            },
            Event::SubscriptionStarted {
                server: demo(),
                subscription: "7".to_owned(),
            },
            Event::SubscriptionStopped {
                server: demo(),
                subscription: "7".to_owned(),
                reason: "empty",
                took: Duration::from_secs(1),
            },
        ]
    );
}

#[test]
fn past_the_first_servers_are_other() {
    let telemetry = Telemetry::new("gateway-0");

    let servers: Vec<_> = (0..=SERVERS)
        .map(|number| telemetry.register_server(&format!("server{number}"), &["echo"]))
        .collect();

    let labels: Vec<_> = servers.iter().map(ServerMetrics::server).collect();
    assert_eq!(labels.first(), Some(&"server0"));
    assert_eq!(labels.last(), Some(&OTHER));
}

#[tokio::test]
async fn the_sink_counts_what_it_is_handed() {
    let (telemetry, _tree) = with_sink("supervisor").await;

    for event in counted_events() {
        telemetry.emit(event);
    }
    telemetry.flush(PATIENCE).await.expect("a sink at work");

    assert_sample(
        &telemetry,
        r#"conduit_restarts_total{process="supervisor",slot="gateway-0"} 1"#,
    );
    assert_sample(
        &telemetry,
        r#"conduit_child_exits_total{process="supervisor",cause="signal",slot="gateway-0"} 1"#,
    );
}

#[tokio::test]
async fn more_events_than_there_is_room_for_are_dropped_and_counted() {
    let (telemetry, _tree) = with_sink("supervisor").await;

    for _ in 0..QUEUE + 3 {
        telemetry.emit(Event::ScrapeMissed { slot: slot() });
    }
    telemetry.flush(PATIENCE).await.expect("a sink at work");

    assert_sample(
        &telemetry,
        r#"conduit_telemetry_dropped_total{process="supervisor",kind="event"} 3"#,
    );
    assert_sample(
        &telemetry,
        r#"conduit_scrapes_missed_total{process="supervisor",slot="gateway-0"} 8192"#,
    );
}

#[test]
fn without_a_sink_events_are_dropped_and_counted() {
    let telemetry = Telemetry::new("supervisor");

    telemetry.emit(Event::LinkUp {
        peer: "store".to_owned(),
    });

    assert_sample(
        &telemetry,
        r#"conduit_telemetry_dropped_total{process="supervisor",kind="event"} 1"#,
    );
}

#[tokio::test]
async fn a_sink_that_died_counts_again_after_its_restart() {
    let (telemetry, tree) = with_sink("supervisor").await;

    tree.kill("telemetry");
    while tree.view().iter().all(|sink| sink.restarts == 0) {
        tokio::task::yield_now().await;
    }
    telemetry.emit(Event::ScrapeMissed { slot: slot() });
    telemetry.flush(PATIENCE).await.expect("a sink at work");

    assert_sample(
        &telemetry,
        r#"conduit_scrapes_missed_total{process="supervisor",slot="gateway-0"} 1"#,
    );
}

#[tokio::test]
async fn the_actors_of_its_tree_are_shown() {
    let (telemetry, tree) = with_sink("hub-0").await;
    tree.kill("telemetry");
    while tree.view().iter().all(|sink| sink.restarts == 0) {
        tokio::task::yield_now().await;
    }

    assert_sample(
        &telemetry,
        r#"conduit_actor_restarts_total{process="hub-0",actor="telemetry"} 1"#,
    );
}

#[tokio::test]
async fn links_that_are_watched_are_shown_and_told_of() {
    let folder = tempfile::tempdir().expect("a folder");
    let links = |slot: Slot| {
        let build = "build".to_owned();
        let options =
            conduit_link::Options::new(folder.path().to_owned(), slot, Uuid::new_v4(), build);
        Links::start(options).expect("links")
    };
    let (telemetry, _tree) = with_sink("hub-0").await;
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ear = Arc::clone(&heard);
    telemetry.listen(move |event| ear.lock().push(event.clone()));
    let (hub, gateway) = (links(Slot::hub(0)), links(Slot::gateway(0)));
    telemetry.watch_links(&hub);
    let (tell, mut told) = mpsc::channel(8);
    let telling = telemetry.clone();
    let receiver = move |link: Link, delivery: Delivery| {
        telling.tell_of_link(&link, &delivery);
        tell.try_send(()).expect("room");
    };
    hub.listen(Arc::new(receiver)).expect("a socket");

    let link = gateway.connect(Slot::hub(0), Arc::new(|_, _| {}));

    told.recv().await.expect("it is up");
    assert_sample(
        &telemetry,
        r#"conduit_link_up{process="hub-0",peer="gateway-0"} 1"#,
    );
    link.close();
    told.recv().await.expect("it is down");
    assert_sample(
        &telemetry,
        r#"conduit_link_up{process="hub-0",peer="gateway-0"} 0"#,
    );
    telemetry.flush(PATIENCE).await.expect("a sink at work");
    let peer = || "gateway-0".to_owned();
    let reason = "ended";
    assert_eq!(
        *heard.lock(),
        [
            Event::LinkUp { peer: peer() },
            Event::LinkDown {
                peer: peer(),
                reason
            }
        ]
    );
}

#[test]
fn a_request_that_nobody_listens_to_costs_no_hop() {
    let telemetry = Telemetry::new("gateway-0");
    let server = telemetry.register_server("demo", &["echo"]);

    server.request(request("tools/call"));
    server.tool(called("echo"));
    server.read(read("file:///notes"));
    server.prompt(prompted("review"));
    server.subscription_started("1");
    server.subscription_stopped("1", "client", Duration::ZERO);
    telemetry.refused(RefusedReason::Overload);

    // There is no sink, so a hop would be a drop.
    assert_sample(
        &telemetry,
        r#"conduit_telemetry_dropped_total{process="gateway-0",kind="event"} 0"#,
    );
}

#[tokio::test]
async fn a_listener_hears_each_request_with_what_the_client_said_of_its_trace() {
    let (telemetry, _tree) = with_sink("gateway-0").await;
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ear = Arc::clone(&heard);
    telemetry.listen(move |event| ear.lock().push(event.clone()));
    let server = telemetry.register_server("demo", &["echo"]);

    let trace = Trace {
        traceparent: Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
        tracestate: None,
        baggage: Some("user=1"),
    };
    server.request(RequestSample {
        trace,
        ..request("tools/list")
    });
    telemetry.flush(PATIENCE).await.expect("a sink at work");

    let heard = heard.lock().clone();
    let [
        Event::RequestStopped {
            method,
            version,
            outcome,
            trace: heard,
            ..
        },
    ] = heard.as_slice()
    else {
        panic!("one request.stop, not {heard:?}");
    };
    assert_eq!(method.as_deref(), Some("tools/list"));
    assert_eq!(version.as_deref(), Some("2026-07-28"));
    assert_eq!(outcome.status(), "ok");
    assert_eq!(heard.traceparent.as_deref(), trace.traceparent);
    assert_eq!(heard.baggage.as_deref(), Some("user=1"));
}

#[test]
fn collectors_run_at_each_encoding() {
    let telemetry = Telemetry::new("gateway-0");
    let lag = std::sync::atomic::AtomicU64::new(0);
    telemetry.collect_with(move |telemetry| {
        let seconds = lag.fetch_add(1, Ordering::Relaxed) + 1;
        telemetry.loop_lag(Duration::from_secs(seconds));
    });

    drop(telemetry.encode());

    assert_sample(
        &telemetry,
        r#"conduit_loop_lag_seconds{process="gateway-0"} 2"#,
    );
}

#[test]
fn a_slot_that_was_never_probed_has_no_probe_age() {
    let telemetry = Telemetry::new("supervisor");
    let mut sample = SlotSample {
        up: true,
        parked: false,
        probe_age: Some(Duration::from_secs(1)),
    };
    telemetry.slot("gateway-0", sample);
    assert!(text(&telemetry).contains("conduit_probe_age_seconds{"));

    sample.probe_age = None;
    telemetry.slot("gateway-0", sample);

    assert!(!text(&telemetry).contains("conduit_probe_age_seconds{"));
    assert_sample(
        &telemetry,
        r#"conduit_restarts_total{process="supervisor",slot="gateway-0"} 0"#,
    );
}

#[test]
fn a_slot_that_was_scaled_away_is_not_shown() {
    let telemetry = Telemetry::new("supervisor");
    let sample = SlotSample {
        up: true,
        parked: false,
        probe_age: Some(Duration::ZERO),
    };
    telemetry.slot("gateway-0", sample);
    telemetry.slot("gateway-1", sample);

    telemetry.forget_slot("gateway-1");
    telemetry.forget_slot("gateway-1");

    assert!(!text(&telemetry).contains("gateway-1"));
    assert!(text(&telemetry).contains("gateway-0"));
}

#[test]
fn a_connection_is_counted_for_ever_and_open_until_it_is_closed() {
    let telemetry = Telemetry::new("gateway-0");

    telemetry.connection_opened();
    assert_sample(
        &telemetry,
        r#"conduit_http_connections{process="gateway-0"} 1"#,
    );
    telemetry.connection_closed();

    assert_sample(
        &telemetry,
        r#"conduit_http_connections{process="gateway-0"} 0"#,
    );
    assert_sample(
        &telemetry,
        r#"conduit_http_connections_total{process="gateway-0"} 1"#,
    );
}
