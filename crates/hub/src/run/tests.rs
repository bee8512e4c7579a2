use std::pin::pin;

use conduit_link::{
    CallError, FromHub, Lane, Mail, Options as LinkOptions, Recipients, Replay, Slot, Subject,
    ToChild, Topic,
};
use parking_lot::Mutex;
use tempfile::TempDir;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;
use uuid::Uuid;

use super::*;

/// Met only when something is broken.
const PATIENCE: Duration = Duration::from_secs(30);

/// Soon enough for a test to wait for it.
const SOON: Duration = Duration::from_millis(50);

/// A hub that runs, and the folder where gateways find it.
struct Hub {
    folder: TempDir,
    /// Stopped by nobody, so that the last answers are written.
    _links: Links,
    stop: CancellationToken,
    telemetry: Telemetry,
    running: JoinSet<Result<(), Error>>,
}

/// A gateway, what it was told of, and what it left unanswered.
struct Gateway {
    _links: Links,
    link: Link,
    changed: Arc<Mutex<Vec<Topic>>>,
    held: mpsc::Receiver<Answerer>,
}

/// What a gateway does with mail and changes.
#[derive(Clone, Copy)]
enum Manner {
    Takes,
    Ignores,
    Refuses,
    Holds,
    Replays,
}

fn links(folder: &TempDir, slot: Slot) -> Links {
    let build = "build".to_owned();
    let options = LinkOptions::new(folder.path().to_owned(), slot, Uuid::new_v4(), build);
    Links::start(options).unwrap()
}

async fn hub(options: Options) -> Hub {
    let folder = tempfile::tempdir().unwrap();
    let (stop, telemetry) = (CancellationToken::new(), Telemetry::new("hub-0"));
    let (ready, is_ready) = oneshot::channel();
    let links = links(&folder, Slot::hub(0));
    let mut running = JoinSet::new();
    running.spawn(run(
        options,
        links.clone(),
        telemetry.clone(),
        stop.clone(),
        || {
            ready.send(()).unwrap();
        },
    ));
    is_ready.await.unwrap();
    Hub {
        folder,
        _links: links,
        stop,
        telemetry,
        running,
    }
}

/// Starts a gateway that settles, and returns once it has.
async fn gateway(folder: &TempDir, index: u16, manner: Manner) -> Gateway {
    let gateway = unsettled(folder, index, manner).await;
    assert!(matches!(gateway.settle().await, Answer::Settled { .. }));
    gateway
}

/// Starts a gateway and returns once the hub knows it.
async fn unsettled(folder: &TempDir, index: u16, manner: Manner) -> Gateway {
    let (hold, held) = mpsc::channel(16);
    let changed: Arc<Mutex<Vec<Topic>>> = Arc::default();
    let told = Arc::clone(&changed);
    let links = links(folder, Slot::gateway(index));
    let receiver: Receiver = Arc::new(move |_, delivery| {
        let Delivery::Call(incoming, answerer) = delivery else {
            return;
        };
        let Message::FromHub(message) = incoming.message else {
            panic!("the hub says {:?}", incoming.message);
        };
        if let FromHub::Changed { topic } = message {
            told.lock().push(topic);
        }
        match manner {
            Manner::Takes => answerer.answer(Answer::Receipt { taken: true }),
            Manner::Ignores => answerer.answer(Answer::Receipt { taken: false }),
            Manner::Refuses => drop(answerer),
            Manner::Holds => hold.try_send(answerer).unwrap(),
            Manner::Replays => answerer.answer(Answer::Replay(Replay::End)),
        }
    });
    let link = links.connect(Slot::hub(0), receiver);
    let gateway = Gateway {
        _links: links,
        link,
        changed,
        held,
    };
    assert_eq!(gateway.register(&[]).await, Answer::Done);
    gateway
}

impl Gateway {
    async fn mail(&self, to: Recipients, deadline: Duration) -> Result<Answer, CallError> {
        let mail = Mail::Cancel {
            scope: "scope".to_owned(),
            request_id: "1".to_owned(),
            reason: None,
        };
        let deadline_ms = u64::try_from(deadline.as_millis()).unwrap();
        let message = Message::ToHub(ToHub::Mail {
            to,
            mail,
            deadline_ms,
        });
        self.link.call(Lane::Data, message, PATIENCE).await
    }

    async fn ask(&self, question: ToHub) -> Answer {
        let message = Message::ToHub(question);
        self.link.call(Lane::Data, message, PATIENCE).await.unwrap()
    }

    async fn register(&self, topics: &[Topic]) -> Answer {
        let topics = topics.to_vec();
        self.ask(ToHub::Register { topics }).await
    }

    async fn unregister(&self, topics: &[Topic]) -> Answer {
        let topics = topics.to_vec();
        self.ask(ToHub::Unregister { topics }).await
    }

    async fn settle(&self) -> Answer {
        self.ask(ToHub::Settle).await
    }

    async fn publish(&self, topic: Topic, deadline: Duration) -> Result<Answer, CallError> {
        let deadline_ms = u64::try_from(deadline.as_millis()).unwrap();
        Ok(self.ask(ToHub::Publish { topic, deadline_ms }).await)
    }

    fn changed(&self) -> Vec<Topic> {
        self.changed.lock().clone()
    }
}

fn tools() -> Topic {
    Topic {
        server: "demo".to_owned(),
        subject: Subject::Tools,
    }
}

fn resource(number: u32) -> Topic {
    Topic {
        server: "demo".to_owned(),
        subject: Subject::Resource(format!("file:///{number}")),
    }
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "it is compared with what a call returns"
)]
fn receipts(received: u16, taken: u16, missing: u16) -> Result<Answer, CallError> {
    Ok(Answer::Receipts {
        received,
        taken,
        missing,
    })
}

#[tokio::test]
async fn mail_that_comes_with_the_first_link_reaches_gateways_that_connect_later() {
    let hub = hub(Options {
        gateways: 2,
        gathering: PATIENCE,
        ..Options::default()
    })
    .await;
    let sender = gateway(&hub.folder, 0, Manner::Takes).await;
    let mut mail = pin!(sender.mail(Recipients::Others, PATIENCE));
    assert!(timeout(SOON, &mut mail).await.is_err(), "it waits");

    let _late = gateway(&hub.folder, 1, Manner::Takes).await;

    assert_eq!(mail.await, receipts(1, 1, 0));
}

#[tokio::test]
async fn a_gateway_that_does_not_come_holds_mail_up_for_a_while_only() {
    let hub = hub(Options {
        gateways: 2,
        gathering: SOON,
        ..Options::default()
    })
    .await;
    let sender = gateway(&hub.folder, 0, Manner::Takes).await;

    let answer = sender.mail(Recipients::Others, PATIENCE).await;

    assert_eq!(answer, receipts(0, 0, 0));
}

#[tokio::test]
async fn mail_reaches_all_other_gateways_and_their_receipts_are_counted() {
    let hub = hub(Options::default()).await;
    let sender = gateway(&hub.folder, 0, Manner::Takes).await;
    let _taking = gateway(&hub.folder, 1, Manner::Takes).await;
    let _ignoring = gateway(&hub.folder, 2, Manner::Ignores).await;
    let _refusing = gateway(&hub.folder, 3, Manner::Refuses).await;

    let answer = sender.mail(Recipients::Others, PATIENCE).await;

    assert_eq!(answer, receipts(2, 1, 1));
    let metrics = conduit_telemetry::exposition(&[hub.telemetry.encode()]).unwrap();
    for outcome in ["taken", "untaken", "missing"] {
        let line = format!("conduit_hub_mail_total{{process=\"hub-0\",outcome=\"{outcome}\"}} 1\n");
        assert!(metrics.contains(&line), "{line}\n{metrics}");
    }
}

#[tokio::test]
async fn addressed_mail_reaches_one_gateway_only() {
    let hub = hub(Options::default()).await;
    let sender = gateway(&hub.folder, 0, Manner::Takes).await;
    let _addressed = gateway(&hub.folder, 1, Manner::Takes).await;
    let _other = gateway(&hub.folder, 2, Manner::Takes).await;

    let answer = sender
        .mail(Recipients::One(Slot::gateway(1)), PATIENCE)
        .await;

    assert_eq!(answer, Ok(Answer::Receipt { taken: true }));
}

#[tokio::test]
async fn the_answer_to_addressed_mail_is_the_recipients_own() {
    let hub = hub(Options::default()).await;
    let sender = gateway(&hub.folder, 0, Manner::Takes).await;
    let _replaying = gateway(&hub.folder, 1, Manner::Replays).await;

    let answer = sender
        .mail(Recipients::One(Slot::gateway(1)), PATIENCE)
        .await;

    assert_eq!(answer, Ok(Answer::Replay(Replay::End)));
}

#[tokio::test]
async fn addressed_mail_without_an_answer_is_missing() {
    let hub = hub(Options::default()).await;
    let sender = gateway(&hub.folder, 0, Manner::Takes).await;
    let _holding = gateway(&hub.folder, 1, Manner::Holds).await;

    let late = sender.mail(Recipients::One(Slot::gateway(1)), SOON).await;
    let nobody = sender.mail(Recipients::One(Slot::gateway(2)), SOON).await;

    assert_eq!(late, receipts(0, 0, 1));
    assert_eq!(nobody, receipts(0, 0, 1));
}

#[tokio::test]
async fn a_change_is_told_to_those_who_registered_it_and_to_nobody_else() {
    let hub = hub(Options::default()).await;
    let publisher = gateway(&hub.folder, 0, Manner::Takes).await;
    let listening = gateway(&hub.folder, 1, Manner::Ignores).await;
    let elsewhere = gateway(&hub.folder, 2, Manner::Takes).await;
    let silent = gateway(&hub.folder, 3, Manner::Takes).await;
    publisher.register(&[tools()]).await;
    listening.register(&[resource(1), tools()]).await;
    elsewhere.register(&[resource(1)]).await;

    let answer = publisher.publish(tools(), PATIENCE).await;

    assert_eq!(answer, receipts(2, 1, 0));
    assert_eq!(publisher.changed(), [tools()], "the publisher hears it too");
    assert_eq!(listening.changed(), [tools()]);
    assert_eq!(elsewhere.changed(), []);
    assert_eq!(silent.changed(), []);
    let metrics = conduit_telemetry::exposition(&[hub.telemetry.encode()]).unwrap();
    for line in [
        "conduit_hub_changes_total{process=\"hub-0\",outcome=\"taken\"} 1\n",
        "conduit_hub_changes_total{process=\"hub-0\",outcome=\"untaken\"} 1\n",
        "conduit_hub_topics{process=\"hub-0\"} 4\n",
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
}

#[tokio::test]
async fn who_no_longer_registers_a_topic_hears_nothing_of_it() {
    let hub = hub(Options::default()).await;
    let publisher = gateway(&hub.folder, 0, Manner::Takes).await;
    let listening = gateway(&hub.folder, 1, Manner::Takes).await;
    listening.register(&[tools(), tools()]).await;
    assert_eq!(listening.register(&[tools()]).await, Answer::Done);

    assert_eq!(listening.unregister(&[tools()]).await, Answer::Done);
    assert_eq!(listening.unregister(&[tools()]).await, Answer::Done);

    let answer = publisher.publish(tools(), PATIENCE).await;
    assert_eq!(answer, receipts(0, 0, 0));
    assert_eq!(listening.changed(), []);
}

#[tokio::test]
async fn registrations_are_done_in_the_order_in_which_they_came() {
    let hub = hub(Options::default()).await;
    let listening = gateway(&hub.folder, 0, Manner::Takes).await;

    for _ in 0..50 {
        let wanted = [tools()];
        let (_, _, _, answer) = tokio::join!(
            biased;
            listening.register(&wanted),
            listening.unregister(&wanted),
            listening.register(&wanted),
            listening.publish(tools(), PATIENCE),
        );
        assert_eq!(answer, receipts(1, 1, 0));
    }
}

#[tokio::test]
async fn a_registration_ends_with_its_link() {
    let hub = hub(Options::default()).await;
    let publisher = gateway(&hub.folder, 0, Manner::Takes).await;
    let former = gateway(&hub.folder, 1, Manner::Takes).await;
    former.register(&[tools()]).await;
    former.link.close();
    let successor = gateway(&hub.folder, 1, Manner::Takes).await;

    let answer = publisher.publish(tools(), PATIENCE).await;

    assert_eq!(answer, receipts(0, 0, 0));
    assert_eq!(successor.changed(), []);
}

#[tokio::test]
async fn a_gateway_that_does_not_note_a_change_in_time_is_missing() {
    let hub = hub(Options::default()).await;
    let publisher = gateway(&hub.folder, 0, Manner::Takes).await;
    let holding = gateway(&hub.folder, 1, Manner::Holds).await;
    publisher.register(&[tools()]).await;
    holding.register(&[tools()]).await;

    let answer = publisher.publish(tools(), SOON).await;

    assert_eq!(answer, receipts(1, 1, 1));
}

#[tokio::test]
async fn a_change_waits_until_all_gateways_have_registered_and_settled() {
    let hub = hub(Options {
        gateways: 2,
        gathering: PATIENCE,
        ..Options::default()
    })
    .await;
    let publisher = gateway(&hub.folder, 0, Manner::Takes).await;
    let mut published = pin!(publisher.publish(tools(), PATIENCE));
    assert!(timeout(SOON, &mut published).await.is_err(), "it waits");
    let late = unsettled(&hub.folder, 1, Manner::Takes).await;
    assert!(
        timeout(SOON, &mut published).await.is_err(),
        "it still waits"
    );

    late.register(&[tools()]).await;
    let settled = late.settle().await;

    assert_eq!(published.await, receipts(1, 1, 0));
    assert_eq!(late.changed(), [tools()]);
    assert_eq!(settled, Answer::Settled { missed: false });
}

#[tokio::test]
async fn a_change_that_cannot_wait_for_all_gateways_is_refused() {
    let hub = hub(Options {
        gateways: 2,
        gathering: PATIENCE,
        ..Options::default()
    })
    .await;
    let publisher = gateway(&hub.folder, 0, Manner::Takes).await;
    publisher.register(&[tools()]).await;

    let answer = publisher.publish(tools(), SOON).await;

    assert_eq!(answer, Ok(Answer::Refused(Refusal::NotNow)));
    assert_eq!(publisher.changed(), []);
    let late = unsettled(&hub.folder, 1, Manner::Takes).await;
    assert_eq!(late.settle().await, Answer::Settled { missed: false });
}

#[tokio::test]
async fn who_settles_after_the_gathering_has_missed_the_changes_before() {
    let hub = hub(Options {
        gateways: 2,
        gathering: SOON,
        ..Options::default()
    })
    .await;
    let publisher = unsettled(&hub.folder, 0, Manner::Takes).await;
    assert_eq!(publisher.settle().await, Answer::Settled { missed: false });
    let answer = publisher.publish(tools(), PATIENCE).await;
    assert_eq!(answer, receipts(0, 0, 0));

    let late = unsettled(&hub.folder, 1, Manner::Takes).await;

    assert_eq!(late.settle().await, Answer::Settled { missed: true });
    assert_eq!(late.settle().await, Answer::Settled { missed: false });
}

#[tokio::test]
async fn who_comes_back_to_a_hub_that_carried_changes_may_have_missed_some() {
    let hub = hub(Options::default()).await;
    let publisher = gateway(&hub.folder, 0, Manner::Takes).await;
    let former = gateway(&hub.folder, 1, Manner::Takes).await;
    former.register(&[tools()]).await;
    assert_eq!(
        publisher.publish(tools(), PATIENCE).await,
        receipts(1, 1, 0)
    );

    former.link.close();
    let back = unsettled(&hub.folder, 1, Manner::Takes).await;

    assert_eq!(back.settle().await, Answer::Settled { missed: true });
}

#[tokio::test]
async fn topics_past_the_limit_are_refused_as_a_whole() {
    let hub = hub(Options {
        topics: 2,
        ..Options::default()
    })
    .await;
    let one = gateway(&hub.folder, 0, Manner::Takes).await;
    let other = gateway(&hub.folder, 1, Manner::Takes).await;
    assert_eq!(one.register(&[tools()]).await, Answer::Done);

    let refused = other.register(&[tools(), resource(1)]).await;

    assert_eq!(refused, Answer::Refused(Refusal::Full));
    assert_eq!(one.publish(tools(), PATIENCE).await, receipts(1, 1, 0));
    assert_eq!(other.changed(), []);
    assert_eq!(other.register(&[tools()]).await, Answer::Done);
}

#[tokio::test]
async fn one_change_past_the_limit_is_refused() {
    let hub = hub(Options {
        mails: 1,
        ..Options::default()
    })
    .await;
    let publisher = gateway(&hub.folder, 0, Manner::Takes).await;
    let mut holding = gateway(&hub.folder, 1, Manner::Holds).await;
    holding.register(&[tools()]).await;

    let (first, second) = tokio::join!(publisher.publish(tools(), PATIENCE), async {
        let answerer = holding.held.recv().await.unwrap();
        let second = publisher.publish(tools(), PATIENCE).await;
        answerer.answer(Answer::Receipt { taken: true });
        second
    });

    assert_eq!(second, Ok(Answer::Refused(Refusal::Full)));
    assert_eq!(first, receipts(1, 1, 0));
}

#[tokio::test]
async fn a_gateway_that_does_not_answer_in_time_is_missing() {
    let hub = hub(Options::default()).await;
    let sender = gateway(&hub.folder, 0, Manner::Takes).await;
    let _taking = gateway(&hub.folder, 1, Manner::Takes).await;
    let _holding = gateway(&hub.folder, 2, Manner::Holds).await;

    let answer = sender.mail(Recipients::Others, SOON).await;

    assert_eq!(answer, receipts(1, 1, 1));
}

#[tokio::test]
async fn no_deadline_is_longer_than_the_hub_allows() {
    let hub = hub(Options {
        longest: SOON,
        ..Options::default()
    })
    .await;
    let sender = gateway(&hub.folder, 0, Manner::Takes).await;
    let _holding = gateway(&hub.folder, 1, Manner::Holds).await;

    let answer = sender.mail(Recipients::Others, PATIENCE * 2).await;

    assert_eq!(answer, receipts(0, 0, 1));
}

#[tokio::test]
async fn a_gateway_that_has_left_is_not_missed() {
    let hub = hub(Options::default()).await;
    let sender = gateway(&hub.folder, 0, Manner::Takes).await;
    let leaving = gateway(&hub.folder, 1, Manner::Holds).await;
    leaving.link.close();

    loop {
        // Until the hub knows, the gateway is missing.
        let answer = sender.mail(Recipients::Others, SOON).await;
        if answer == receipts(0, 0, 0) {
            break;
        }
        assert_eq!(answer, receipts(0, 0, 1));
    }
}

#[tokio::test]
async fn the_successor_of_a_gateway_gets_its_mail() {
    let hub = hub(Options::default()).await;
    let sender = gateway(&hub.folder, 0, Manner::Takes).await;
    let former = gateway(&hub.folder, 1, Manner::Ignores).await;
    former.link.close();
    let _successor = gateway(&hub.folder, 1, Manner::Takes).await;

    let answer = sender.mail(Recipients::Others, PATIENCE).await;

    assert_eq!(answer, receipts(1, 1, 0));
}

#[tokio::test]
async fn one_mail_past_the_limit_is_refused() {
    let hub = hub(Options {
        mails: 1,
        ..Options::default()
    })
    .await;
    let sender = gateway(&hub.folder, 0, Manner::Takes).await;
    let mut holding = gateway(&hub.folder, 1, Manner::Holds).await;

    let (first, second) = tokio::join!(sender.mail(Recipients::Others, PATIENCE), async {
        let answerer = holding.held.recv().await.unwrap();
        let second = sender.mail(Recipients::Others, PATIENCE).await;
        answerer.answer(Answer::Receipt { taken: true });
        second
    });

    assert_eq!(second, Ok(Answer::Refused(Refusal::Full)));
    assert_eq!(first, receipts(1, 1, 0));
}

#[tokio::test]
async fn what_is_no_mail_is_misplaced() {
    let hub = hub(Options::default()).await;
    let sender = gateway(&hub.folder, 0, Manner::Takes).await;

    let probe = Message::ToChild(ToChild::Probe);
    let answer = sender.link.call(Lane::Data, probe, PATIENCE).await;

    assert_eq!(answer, Ok(Answer::Refused(Refusal::Misplaced)));
}

#[tokio::test]
async fn gateways_stay_attached_and_registered_when_the_shard_is_restarted() {
    let folder = tempfile::tempdir().unwrap();
    let hub_links = links(&folder, Slot::hub(0));
    let telemetry = Telemetry::new("hub-0");
    let (tree, _shard) = start(&Options::default(), &hub_links, &telemetry)
        .await
        .unwrap();
    let sender = gateway(&folder, 0, Manner::Takes).await;
    let _taking = gateway(&folder, 1, Manner::Takes).await;
    sender.register(&[tools()]).await;

    tree.kill("shard");
    let restarted = || tree.view().iter().any(|child| child.restarts == 1);
    while !restarted() {
        tokio::task::yield_now().await;
    }

    let answer = sender.mail(Recipients::Others, PATIENCE).await;
    assert_eq!(answer, receipts(1, 1, 0));
    assert_eq!(sender.publish(tools(), PATIENCE).await, receipts(1, 1, 0));
}

#[tokio::test]
async fn a_hub_that_stops_waits_for_the_receipts_of_mail_on_its_way() {
    let mut hub = hub(Options::default()).await;
    let sender = gateway(&hub.folder, 0, Manner::Takes).await;
    let mut holding = gateway(&hub.folder, 1, Manner::Holds).await;

    let (answer, ended) = tokio::join!(sender.mail(Recipients::Others, PATIENCE), async {
        let answerer = holding.held.recv().await.unwrap();
        hub.stop.cancel();
        assert!(hub.running.try_join_next().is_none(), "it waits");
        answerer.answer(Answer::Receipt { taken: true });
        hub.running.join_next().await.unwrap().unwrap()
    });

    assert_eq!(answer, receipts(1, 1, 0));
    ended.unwrap();
}
