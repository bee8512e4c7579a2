use super::*;

const A: &str = "mem://a";

#[test]
fn a_filter_is_what_it_was_made_of() {
    let asked = Asked {
        topics: [A, "tools", "resources"].map(str::to_owned).into(),
        tasks: ["t".to_owned()].into(),
    };

    assert_eq!(Asked::of_filter(&asked.filter()), asked);
    assert_eq!(asked.uris().collect::<Vec<_>>(), [A]);
}

#[test]
fn a_change_that_was_answered_has_to_be_told_after_it_was_sent() {
    let mut life = acknowledged();
    let mut published = Published::default();
    published.sent(&[A.to_owned()], at(2));
    assert!(life.untold(&published).is_empty(), "nothing is promised");

    published.answered(&[A.to_owned()], at(2));
    assert_eq!(life.untold(&published).len(), 1);
    life.see(at(3), &updated(A)).expect("it was asked for");
    assert!(life.untold(&published).is_empty());

    published.sent(&[A.to_owned()], at(4));
    published.answered(&[A.to_owned()], at(4));
    assert_eq!(life.untold(&published).len(), 1, "an earlier one");
}

#[test]
fn answers_may_overtake_each_other() {
    let mut life = acknowledged();
    let mut published = Published::default();
    for sent in [3, 2] {
        published.sent(&[A.to_owned()], at(sent));
        published.answered(&[A.to_owned()], at(sent));
    }
    life.see(at(2), &updated(A)).expect("it was asked for");

    assert_eq!(life.untold(&published).len(), 1);
}

#[test]
fn what_was_sent_before_the_acknowledgement_need_not_be_told() {
    let life = acknowledged();
    let mut published = Published::default();
    published.sent(&[A.to_owned()], at(0));
    published.answered(&[A.to_owned()], at(0));

    assert!(life.untold(&published).is_empty());
    let silent = Life::new(listen(), asked());
    assert_eq!(silent.untold(&published).len(), 1, "no acknowledgement");
}

#[test]
fn what_was_never_published_is_unfounded() {
    let mut life = acknowledged();
    let mut published = Published::default();
    life.see(at(2), &updated(A)).expect("it was asked for");
    assert_eq!(life.unfounded(&published).len(), 1);

    published.sent(&[A.to_owned()], at(3));
    assert_eq!(life.unfounded(&published).len(), 1, "too early");
    let mut early = Published::default();
    early.sent(&[A.to_owned()], at(2));
    assert!(life.unfounded(&early).is_empty());
}

#[test]
fn nothing_comes_before_the_acknowledgement_or_after_the_end() {
    let mut life = Life::new(listen(), asked());
    assert!(life.see(at(1), &updated(A)).is_err());

    let mut life = acknowledged();
    assert!(
        life.see(at(2), &acknowledgement(&asked())).is_err(),
        "twice"
    );
    let end = json!({ "id": 7, "result": { "_meta": { SUBSCRIPTION: 7 } } });
    life.see(at(3), &end).expect("an end");
    assert!(life.is_over() && !life.is_heard());
    assert!(life.see(at(4), &updated(A)).is_err());
}

#[test]
fn an_acknowledgement_of_something_else_is_wrong() {
    let mut life = Life::new(listen(), asked());
    let less = Asked::default();

    assert!(life.see(at(1), &acknowledgement(&less)).is_err());
}

#[test]
fn what_was_not_asked_for_is_wrong() {
    let mut life = acknowledged();

    assert!(life.see(at(2), &updated("mem://b")).is_err());
    let list = json!({
        "method": "notifications/tools/list_changed",
        "params": { "_meta": { SUBSCRIPTION: 7 } },
    });
    assert!(life.see(at(2), &list).is_err());
    assert!(life.see(at(2), &task("u", "working", json!(7))).is_err());
    let other = json!("7");
    assert!(life.see(at(2), &task("t", "working", other)).is_err());
}

#[test]
fn a_session_needs_no_subscription_and_no_acknowledgement() {
    let asked = Asked {
        topics: ["tools".to_owned()].into(),
        ..Asked::default()
    };
    let mut life = Life::new(Kind::Session, asked);
    life.opened(at(1));

    assert!(life.is_heard());
    let list = json!({ "method": "notifications/tools/list_changed" });
    life.see(at(2), &list).expect("it was asked for");
    assert_eq!((life.count_but(""), life.count_but("tools")), (1, 0));
}

#[test]
fn a_session_that_goes_on_has_to_be_told_of_what_changed_meanwhile() {
    let asked = Asked {
        topics: [A.to_owned()].into(),
        ..Asked::default()
    };
    let mut life = Life::new(Kind::Session, asked);
    life.opened(at(1));
    life.broke();
    let mut published = Published::default();
    assert_eq!(life.untold(&published).len(), 1, "it is not open");

    published.sent(&[A.to_owned()], at(2));
    published.answered(&[A.to_owned()], at(2));
    life.opened(at(3));
    assert_eq!(life.untold(&published).len(), 1);
    let update = json!({ "method": "notifications/resources/updated", "params": { "uri": A } });
    life.see(at(4), &update).expect("it was asked for");

    assert!(life.untold(&published).is_empty());
}

#[test]
fn the_last_state_of_a_task_has_to_be_told_if_it_came_after_the_acknowledgement() {
    let untold = |life: &Life, status: &str, other: Option<Duration>| {
        let state = json!({ "taskId": "t", "status": status });
        let end = Final { state, other };
        let finals = HashMap::from([("t".to_owned(), end)]);
        life.untold_tasks(&finals).len()
    };
    let mut life = acknowledged();

    assert_eq!(untold(&life, "completed", None), 1, "told in any case");
    assert_eq!(untold(&life, "input_required", Some(at(0))), 0);
    assert_eq!(untold(&life, "input_required", Some(at(2))), 1);

    life.see(at(3), &task("t", "working", json!(7)))
        .expect("it was asked for");
    assert_eq!(untold(&life, "input_required", Some(at(0))), 1, "outdated");
    life.see(at(4), &task("t", "completed", json!(7)))
        .expect("it was asked for");
    assert_eq!(untold(&life, "completed", Some(at(2))), 0);
}

fn at(second: u64) -> Duration {
    Duration::from_secs(second)
}

fn listen() -> Kind {
    Kind::Listen(json!(7))
}

fn asked() -> Asked {
    Asked {
        topics: [A.to_owned()].into(),
        tasks: ["t".to_owned()].into(),
    }
}

fn acknowledged() -> Life {
    let mut life = Life::new(listen(), asked());
    life.opened(at(1));
    life.see(at(1), &acknowledgement(&asked()))
        .expect("an acknowledgement");
    life
}

fn acknowledgement(asked: &Asked) -> Value {
    json!({
        "method": "notifications/subscriptions/acknowledged",
        "params": { "_meta": { SUBSCRIPTION: 7 }, "notifications": asked.filter() },
    })
}

fn updated(uri: &str) -> Value {
    json!({
        "method": "notifications/resources/updated",
        "params": { "_meta": { SUBSCRIPTION: 7 }, "uri": uri },
    })
}

fn task(id: &str, status: &str, subscription: Value) -> Value {
    let mut message = json!({
        "method": "notifications/tasks",
        "params": { "taskId": id, "status": status, "_meta": {} },
    });
    message["params"]["_meta"][SUBSCRIPTION] = subscription;
    message
}
