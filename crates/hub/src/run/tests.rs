mod changes;

use std::pin::pin;

use conduit_link::{
    CallError, Change, FromHub, Lane, Mail, Options as LinkOptions, Recipients, Replay, ShardMap,
    Subject, ToChild, Topic,
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
    rolls: watch::Sender<Option<Roll>>,
    window: Window,
    stop: CancellationToken,
    telemetry: Telemetry,
    running: JoinSet<Result<(), Error>>,
}

/// A gateway, what it was told of, and what it left unanswered.
struct Gateway {
    _links: Links,
    link: Link,
    changed: Arc<Mutex<Vec<Topic>>>,
    /// What it was told of what others listen to.
    interest: Arc<Mutex<Vec<FromHub>>>,
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
    /// Does not answer for what others listen to.
    Deaf,
}

fn links(folder: &TempDir, slot: Slot, life: Uuid) -> Links {
    let build = "build".to_owned();
    let options = LinkOptions::new(folder.path().to_owned(), slot, life, build);
    Links::start(options).unwrap()
}

/// What the supervisor says of the map of this epoch.
fn roll(epoch: u64, told: &[Uuid], reaped: &[Uuid]) -> Roll {
    Roll {
        map: ShardMap {
            epoch,
            shards: vec![0],
        },
        told: told.to_vec(),
        reaped: reaped.to_vec(),
    }
}

/// Starts a hub that has nobody to wait for.
async fn hub(options: Options) -> Hub {
    hub_that_awaits(options, &[]).await
}

async fn hub_that_awaits(options: Options, told: &[Uuid]) -> Hub {
    let (rolls, rolled) = watch::channel(Some(roll(1, told, &[])));
    let window = Window::default();
    let folder = tempfile::tempdir().unwrap();
    let (stop, telemetry) = (CancellationToken::new(), Telemetry::new("hub-0"));
    let (ready, is_ready) = oneshot::channel();
    let links = links(&folder, Slot::hub(0), Uuid::new_v4());
    let mut running = JoinSet::new();
    running.spawn(run(
        options,
        links.clone(),
        telemetry.clone(),
        rolled,
        window.clone(),
        stop.clone(),
        || {
            ready.send(()).unwrap();
        },
    ));
    is_ready.await.unwrap();
    Hub {
        folder,
        _links: links,
        rolls,
        window,
        stop,
        telemetry,
        running,
    }
}

/// Starts a gateway that settles, and returns once it has.
async fn gateway(folder: &TempDir, index: u16, manner: Manner) -> Gateway {
    gateway_in(folder, index, Uuid::new_v4(), manner).await
}

async fn gateway_in(folder: &TempDir, index: u16, life: Uuid, manner: Manner) -> Gateway {
    let gateway = unsettled(folder, index, life, manner).await;
    assert_eq!(gateway.settle().await, Answer::Done);
    gateway
}

/// Starts a gateway that follows the first map.
async fn unsettled(folder: &TempDir, index: u16, life: Uuid, manner: Manner) -> Gateway {
    let (hold, held) = mpsc::channel(16);
    let changed: Arc<Mutex<Vec<Topic>>> = Arc::default();
    let interest: Arc<Mutex<Vec<FromHub>>> = Arc::default();
    let (told, heard) = (Arc::clone(&changed), Arc::clone(&interest));
    let links = links(folder, Slot::gateway(index), life);
    let receiver: Receiver = Arc::new(move |_, delivery| {
        let Delivery::Call(incoming, answerer) = delivery else {
            return;
        };
        let Message::FromHub(message) = incoming.message else {
            panic!("the hub says {:?}", incoming.message);
        };
        let receipt = match message {
            FromHub::Interest { .. } => {
                heard.lock().push(message);
                if !matches!(manner, Manner::Deaf) {
                    return answerer.answer(Answer::Done);
                }
                Answer::Done
            }
            FromHub::Changed { changes } => {
                told.lock()
                    .extend(changes.into_iter().map(|change| change.topic));
                Answer::Done
            }
            FromHub::Mail { .. } => Answer::Receipt {
                taken: !matches!(manner, Manner::Ignores),
            },
        };
        match manner {
            Manner::Takes | Manner::Ignores => answerer.answer(receipt),
            Manner::Refuses => drop(answerer),
            Manner::Holds | Manner::Deaf => hold.try_send(answerer).unwrap(),
            Manner::Replays => answerer.answer(Answer::Replay(Replay::End)),
        }
    });
    let link = links.connect(Slot::hub(0), receiver);
    let gateway = Gateway {
        _links: links,
        link,
        changed,
        interest,
        held,
    };
    assert_eq!(gateway.enter(1).await, Answer::Done);
    gateway
}

impl Hub {
    /// Waits until so many gateways are attached.
    async fn until_gateways(&self, gateways: u64) {
        let attached = || {
            self.window
                .view()
                .is_some_and(|view| view.gateways == gateways)
        };
        while !attached() {
            tokio::task::yield_now().await;
        }
    }
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

    async fn enter(&self, epoch: u64) -> Answer {
        self.ask(ToHub::Enter { epoch }).await
    }

    async fn register(&self, topics: &[Topic]) -> Answer {
        let topics = topics.to_vec();
        self.ask(ToHub::Register { epoch: 1, topics }).await
    }

    async fn unregister(&self, topics: &[Topic]) -> Answer {
        let topics = topics.to_vec();
        self.ask(ToHub::Unregister { topics }).await
    }

    async fn settle(&self) -> Answer {
        self.ask(ToHub::Settle { epoch: 1 }).await
    }

    async fn publish(&self, topic: Topic, deadline: Duration) -> Answer {
        self.publish_by(1, &[topic], deadline).await
    }

    async fn publish_by(&self, epoch: u64, topics: &[Topic], deadline: Duration) -> Answer {
        let changes = topics.iter().map(|topic| Change {
            topic: topic.clone(),
            at_us: 7,
        });
        let question = ToHub::Publish {
            epoch,
            changes: changes.collect(),
            deadline_ms: u64::try_from(deadline.as_millis()).unwrap(),
        };
        self.ask(question).await
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

/// Everybody who listens has noted it.
fn told() -> Answer {
    Answer::Told { left: Vec::new() }
}

/// These have to be published again.
fn left(which: &[u32]) -> Answer {
    Answer::Told {
        left: which.to_vec(),
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
    let second = Uuid::new_v4();
    let hub = hub_that_awaits(Options::default(), &[second]).await;
    let sender = gateway(&hub.folder, 0, Manner::Takes).await;

    let (answer, _late) = tokio::join!(
        sender.mail(Recipients::Others, PATIENCE),
        gateway_in(&hub.folder, 1, second, Manner::Takes),
    );

    assert_eq!(answer, receipts(1, 1, 0));
}

#[tokio::test]
async fn a_gateway_that_does_not_come_holds_mail_up_for_a_while_only() {
    let hub = hub_that_awaits(Options::default(), &[Uuid::new_v4()]).await;
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
    hub.until_gateways(1).await;
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
