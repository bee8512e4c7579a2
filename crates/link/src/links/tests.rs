use std::fs;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use tempfile::TempDir;
use tokio::net::UnixListener;
use tokio::sync::mpsc;
use tokio::time::{interval, timeout};

use super::*;
use crate::frame::{self, Frame, Reader, Writer};
use crate::{
    Answer, CallError, Delivery, DownReason, Hello, Incoming, Lane, Message, Refusal, SendError,
    ToChild,
};

/// Met only when something is broken.
const PATIENCE: Duration = Duration::from_secs(30);

const HUB: Slot = Slot::hub(0);
const GATEWAY: Slot = Slot::gateway(0);

fn options(run_dir: &Path, slot: Slot) -> Options {
    let build = "build".to_owned();
    Options::new(run_dir.to_owned(), slot, Uuid::new_v4(), build)
}

fn start(folder: &TempDir, slot: Slot) -> Links {
    Links::start(options(folder.path(), slot)).unwrap()
}

/// What a link delivered, in order.
struct Inbox(mpsc::Receiver<(Link, Delivery)>);

fn inbox() -> (Receiver, Inbox) {
    let (sender, receiver) = mpsc::channel(10_000);
    let deliver = move |link, delivery| sender.try_send((link, delivery)).unwrap();
    (Arc::new(deliver), Inbox(receiver))
}

impl Inbox {
    async fn next(&mut self) -> (Link, Delivery) {
        timeout(PATIENCE, self.0.recv())
            .await
            .expect("a delivery in time")
            .expect("a link thread")
    }

    async fn up(&mut self) -> (Link, Hello) {
        match self.next().await {
            (link, Delivery::Up(hello)) => (link, hello),
            (_, other) => panic!("not up, but {other:?}"),
        }
    }

    async fn event(&mut self) -> Incoming {
        match self.next().await {
            (_, Delivery::Event(incoming)) => incoming,
            (_, other) => panic!("no event, but {other:?}"),
        }
    }

    async fn down(&mut self) -> DownReason {
        match self.next().await {
            (_, Delivery::Down(reason)) => reason,
            (_, other) => panic!("not down, but {other:?}"),
        }
    }
}

/// Answers every call.
fn answering(answer: &'static Answer) -> Receiver {
    Arc::new(move |_link, delivery| {
        if let Delivery::Call(_, answerer) = delivery {
            answerer.answer(answer.clone());
        }
    })
}

fn nobody() -> Receiver {
    Arc::new(|_, _| {})
}

/// Two ends of one link that is up, first the hub's, which listens.
struct Pair {
    _folder: TempDir,
    hub: Links,
    hub_inbox: Inbox,
    gateway: Links,
    link: Link,
    link_inbox: Inbox,
}

async fn pair(change: impl Fn(&mut Options)) -> Pair {
    let folder = tempfile::tempdir().unwrap();
    let begin = |slot| {
        let mut options = options(folder.path(), slot);
        change(&mut options);
        Links::start(options).unwrap()
    };
    let (hub, gateway) = (begin(HUB), begin(GATEWAY));
    let (receiver, mut hub_inbox) = inbox();
    hub.listen(receiver).unwrap();
    let (receiver, mut link_inbox) = inbox();
    let link = gateway.connect(HUB, receiver);
    link_inbox.up().await;
    hub_inbox.up().await;
    Pair {
        _folder: folder,
        hub,
        hub_inbox,
        gateway,
        link,
        link_inbox,
    }
}

fn numbered(number: u64) -> Message {
    Message::ToChild(ToChild::Drain { grace_ms: number })
}

fn number(incoming: &Incoming) -> u64 {
    let Message::ToChild(ToChild::Drain { grace_ms }) = incoming.message else {
        panic!("not numbered: {incoming:?}");
    };
    grace_ms
}

fn probe() -> Message {
    Message::ToChild(ToChild::Probe)
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let mut again = interval(Duration::from_millis(2));
    let wait = async {
        while !holds() {
            again.tick().await;
        }
    };
    timeout(PATIENCE, wait).await.expect(what);
}

#[tokio::test]
async fn both_ends_hear_who_the_other_is() {
    let folder = tempfile::tempdir().unwrap();
    let (hub, gateway) = (start(&folder, HUB), start(&folder, GATEWAY));
    gateway.set_epoch(7);
    let (receiver, mut hub_inbox) = inbox();
    hub.listen(receiver).unwrap();
    let (receiver, mut gateway_inbox) = inbox();

    let link = gateway.connect(HUB, receiver);

    let (_, of_hub) = gateway_inbox.up().await;
    assert_eq!(of_hub.slot, HUB);
    assert!(link.is_up());
    let (accepted, of_gateway) = hub_inbox.up().await;
    assert_eq!((of_gateway.slot, of_gateway.epoch), (GATEWAY, 7));
    assert!(accepted.is_up());
    assert_eq!(accepted.slot(), GATEWAY);
}

#[tokio::test]
async fn another_build_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let hub = start(&folder, HUB);
    let (receiver, mut hub_inbox) = inbox();
    hub.listen(receiver).unwrap();
    let gateway = Links::start(Options {
        build: "another".to_owned(),
        ..options(folder.path(), GATEWAY)
    })
    .unwrap();

    let link = gateway.connect(HUB, nobody());

    until("a refusal", || gateway.peers()[0].refused > 1).await;
    assert!(!link.is_up());
    assert_eq!(link.send(Lane::Data, probe()), Err(SendError::Down));
    assert!(hub_inbox.0.try_recv().is_err(), "the hub heard of nobody");
}

#[tokio::test]
async fn a_call_is_answered_in_either_direction() {
    let folder = tempfile::tempdir().unwrap();
    let (hub, gateway) = (start(&folder, HUB), start(&folder, GATEWAY));
    let (receiver, mut hub_inbox) = inbox();
    hub.listen(receiver).unwrap();
    let link = gateway.connect(HUB, answering(&Answer::Probed));
    let (back, _) = hub_inbox.up().await;

    let (there, ()) = tokio::join!(link.call(Lane::Data, numbered(1), PATIENCE), async {
        let (_, Delivery::Call(incoming, answerer)) = hub_inbox.next().await else {
            panic!("no call");
        };
        assert_eq!(number(&incoming), 1);
        answerer.answer(Answer::Done);
    });

    assert_eq!(there, Ok(Answer::Done));
    let back = back.call(Lane::Control, probe(), PATIENCE).await;
    assert_eq!(back, Ok(Answer::Probed));
}

#[tokio::test]
async fn a_call_that_is_dropped_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (hub, gateway) = (start(&folder, HUB), start(&folder, GATEWAY));
    hub.listen(nobody()).unwrap();
    let link = gateway.connect(HUB, nobody());

    let answer = link.call(Lane::Data, probe(), PATIENCE).await;

    assert_eq!(answer, Ok(Answer::Refused(Refusal::NotNow)));
}

#[tokio::test]
async fn events_arrive_in_order() {
    let mut pair = pair(|options| options.window = 16).await;

    for number in 0..1_000 {
        pair.link.send(Lane::Data, numbered(number)).unwrap();
    }

    for expected in 0..1_000 {
        assert_eq!(number(&pair.hub_inbox.event().await), expected);
    }
}

#[tokio::test]
async fn control_overtakes_data_whose_receiver_is_slow() {
    let mut pair = pair(|options| options.window = 4).await;
    for number in 0..10 {
        pair.link.send(Lane::Data, numbered(number)).unwrap();
    }
    let held = [
        pair.hub_inbox.event().await,
        pair.hub_inbox.event().await,
        pair.hub_inbox.event().await,
        pair.hub_inbox.event().await,
    ];

    pair.link.send(Lane::Control, numbered(99)).unwrap();

    assert_eq!(number(&pair.hub_inbox.event().await), 99);
    drop(held);
    for expected in 4..10 {
        assert_eq!(number(&pair.hub_inbox.event().await), expected);
    }
}

#[tokio::test]
async fn a_full_queue_refuses_and_control_has_room_still() {
    let mut pair = pair(|options| options.window = 1).await;
    pair.link.send(Lane::Data, numbered(0)).unwrap();
    let _held = pair.hub_inbox.event().await;

    let taken = (0..10_000)
        .take_while(|&number| pair.link.send(Lane::Data, numbered(number)).is_ok())
        .count();

    assert_eq!(taken, 4096);
    assert_eq!(
        pair.link.send(Lane::Data, numbered(0)),
        Err(SendError::Full)
    );
    assert_eq!(pair.link.send(Lane::Control, numbered(0)), Ok(()));
}

#[tokio::test]
async fn a_caller_waits_for_a_place_in_a_full_queue() {
    let mut pair = pair(|options| options.window = 1).await;
    pair.link.send(Lane::Data, numbered(0)).unwrap();
    let held = pair.hub_inbox.event().await;
    while pair.link.send(Lane::Data, numbered(1)).is_ok() {}
    let impatient = pair
        .link
        .call(Lane::Data, probe(), Duration::from_millis(1));
    assert_eq!(impatient.await, Err(CallError::Late));

    drop(held);
    let call = pair.link.call(Lane::Data, probe(), PATIENCE);
    let (answer, ()) = tokio::join!(call, async {
        loop {
            match pair.hub_inbox.next().await {
                (_, Delivery::Call(_, answerer)) => return answerer.answer(Answer::Probed),
                (_, Delivery::Event(_)) => {}
                (_, other) => panic!("{other:?}"),
            }
        }
    });

    assert_eq!(answer, Ok(Answer::Probed));
}

#[tokio::test]
async fn a_caller_who_left_takes_no_place() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = start(&folder, GATEWAY);
    let link = gateway.connect(HUB, nobody());

    let late = link
        .call(Lane::Data, probe(), Duration::from_millis(1))
        .await;

    assert_eq!(late, Err(CallError::Late));
    assert_eq!(gateway.peers()[0].queued, 0);
}

#[tokio::test]
async fn a_call_waits_for_a_peer_that_comes_late() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = start(&folder, GATEWAY);
    let link = gateway.connect(HUB, nobody());

    let (answer, _hub) = tokio::join!(link.call(Lane::Data, probe(), PATIENCE), async {
        until("the call is queued", || gateway.peers()[0].queued == 1).await;
        let hub = start(&folder, HUB);
        hub.listen(answering(&Answer::Probed)).unwrap();
        hub
    });

    assert_eq!(answer, Ok(Answer::Probed));
}

#[tokio::test]
async fn a_link_comes_back_to_the_successor_of_its_peer() {
    let folder = tempfile::tempdir().unwrap();
    let (hub, gateway) = (start(&folder, HUB), start(&folder, GATEWAY));
    hub.listen(nobody()).unwrap();
    let (receiver, mut inbox) = inbox();
    let link = gateway.connect(HUB, receiver);
    let (_, first) = inbox.up().await;

    drop(hub);
    assert_eq!(inbox.down().await, DownReason::Ended);
    let hub = start(&folder, HUB);
    hub.listen(answering(&Answer::Probed)).unwrap();

    let (up, second) = inbox.up().await;
    assert_ne!(first.life, second.life);
    assert_eq!(up, link);
    let answer = link.call(Lane::Data, probe(), PATIENCE).await;
    assert_eq!(answer, Ok(Answer::Probed));
    assert_eq!(gateway.peers()[0].reconnects, 1);
}

#[tokio::test]
async fn a_call_that_was_written_breaks_with_its_connection() {
    let mut pair = pair(|_| {}).await;

    let call = pair.link.call(Lane::Data, probe(), PATIENCE);
    let (answer, _held) = tokio::join!(call, async {
        let held = pair.hub_inbox.next().await;
        pair.hub.stop(Duration::ZERO).await;
        held
    });

    assert_eq!(answer, Err(CallError::Broken));
    assert_eq!(pair.link_inbox.down().await, DownReason::Ended);
}

#[tokio::test]
async fn a_call_that_was_not_written_waits_for_the_next_connection() {
    let folder = tempfile::tempdir().unwrap();
    let narrow = Options {
        window: 1,
        ..options(folder.path(), HUB)
    };
    let (hub, gateway) = (Links::start(narrow).unwrap(), start(&folder, GATEWAY));
    let (receiver, mut hub_inbox) = inbox();
    hub.listen(receiver).unwrap();
    let link = gateway.connect(HUB, nobody());
    hub_inbox.up().await;
    until("both ends are up", || link.is_up()).await;
    link.send(Lane::Data, numbered(0)).unwrap();
    let _held = hub_inbox.event().await;

    let (answer, _hub) = tokio::join!(link.call(Lane::Data, probe(), PATIENCE), async {
        until("the call is queued", || gateway.peers()[0].queued == 1).await;
        hub.stop(Duration::ZERO).await;
        let hub = start(&folder, HUB);
        hub.listen(answering(&Answer::Probed)).unwrap();
        hub
    });

    assert_eq!(answer, Ok(Answer::Probed));
}

#[tokio::test]
async fn a_slot_that_connects_again_replaces_its_old_link() {
    let folder = tempfile::tempdir().unwrap();
    let hub = start(&folder, HUB);
    let (receiver, mut inbox) = inbox();
    hub.listen(receiver).unwrap();
    let old = start(&folder, GATEWAY);
    let _old_link = old.connect(HUB, nobody());
    let (old_link, old_hello) = inbox.up().await;

    let new = start(&folder, GATEWAY);
    let _new_link = new.connect(HUB, nobody());

    assert_eq!(inbox.down().await, DownReason::Replaced);
    let (new_link, new_hello) = inbox.up().await;
    assert_ne!(old_hello.life, new_hello.life);
    assert_ne!(old_link.id(), new_link.id());
    let lost = old_link.call(Lane::Data, probe(), PATIENCE).await;
    assert_eq!(
        lost,
        Err(CallError::Down),
        "an accepted link does not return"
    );
}

#[tokio::test]
async fn stopping_writes_what_is_queued() {
    let mut pair = pair(|_| {}).await;
    for number in 0..500 {
        pair.link.send(Lane::Data, numbered(number)).unwrap();
    }

    pair.gateway.stop(PATIENCE).await;

    for expected in 0..500 {
        assert_eq!(number(&pair.hub_inbox.event().await), expected);
    }
    assert_eq!(pair.hub_inbox.down().await, DownReason::Ended);
    assert_eq!(pair.link.send(Lane::Data, probe()), Err(SendError::Down));
    let call = pair.link.call(Lane::Data, probe(), PATIENCE).await;
    assert_eq!(call, Err(CallError::Down));
}

#[tokio::test]
async fn a_closed_link_stays_closed() {
    let mut pair = pair(|_| {}).await;

    pair.link.close();

    assert_eq!(pair.link_inbox.down().await, DownReason::Closed);
    assert_eq!(pair.hub_inbox.down().await, DownReason::Ended);
    let call = pair.link.call(Lane::Data, probe(), PATIENCE).await;
    assert_eq!(call, Err(CallError::Down));
    until("the link is forgotten", || pair.gateway.peers().is_empty()).await;
}

#[tokio::test]
async fn a_message_that_fits_no_frame_is_refused() {
    let pair = pair(|options| options.max_frame = 512).await;
    let large = || Message::Answer(Answer::Metrics(serde_bytes::ByteBuf::from(vec![0; 512])));

    assert_eq!(
        pair.link.send(Lane::Data, large()),
        Err(SendError::TooLarge)
    );
    let call = pair.link.call(Lane::Data, large(), PATIENCE).await;
    assert_eq!(call, Err(CallError::TooLarge));
    assert!(pair.link.is_up());
}

#[tokio::test]
async fn a_receiver_that_panics_loses_no_more_than_its_delivery() {
    let folder = tempfile::tempdir().unwrap();
    let (hub, gateway) = (start(&folder, HUB), start(&folder, GATEWAY));
    hub.listen(Arc::new(|_, delivery| match delivery {
        Delivery::Event(_) => panic!("as expected"),
        Delivery::Call(_, answerer) => answerer.answer(Answer::Probed),
        Delivery::Up(_) | Delivery::Down(_) => {}
    }))
    .unwrap();
    let (receiver, mut inbox) = inbox();
    let link = gateway.connect(HUB, receiver);
    inbox.up().await;

    link.send(Lane::Data, numbered(1)).unwrap();

    let answer = link.call(Lane::Data, probe(), PATIENCE).await;
    assert_eq!(answer, Ok(Answer::Probed));
}

#[tokio::test]
async fn links_work_however_deep_the_run_directory_is() {
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join("deep".repeat(40));
    fs::create_dir(&deep).unwrap();
    let hub = Links::start(options(&deep, HUB)).unwrap();
    hub.listen(answering(&Answer::Probed)).unwrap();
    let gateway = Links::start(options(&deep, GATEWAY)).unwrap();

    let link = gateway.connect(HUB, nobody());

    let answer = link.call(Lane::Data, probe(), PATIENCE).await;
    assert_eq!(answer, Ok(Answer::Probed));
}

#[test]
fn links_live_while_no_main_loop_runs() {
    let folder = tempfile::tempdir().unwrap();
    let impatient = |slot| {
        Links::start(Options {
            heartbeat: Duration::from_millis(20),
            dead_after: Duration::from_millis(200),
            ..options(folder.path(), slot)
        })
        .unwrap()
    };
    let (hub, gateway) = (impatient(HUB), impatient(GATEWAY));
    hub.listen(nobody()).unwrap();
    let main = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    hub.watch_loop(main.handle().clone());

    let link = gateway.connect(HUB, nobody());

    let stuck = Duration::from_millis(400);
    while link.peer_lag() < stuck {
        std::thread::yield_now();
    }
    assert!(hub.lag() >= stuck, "{:?}", hub.lag());
    assert_eq!(gateway.peers()[0].reconnects, 0);
}

#[tokio::test]
async fn the_lag_of_a_loop_that_runs_is_small_again() {
    let folder = tempfile::tempdir().unwrap();
    let links = Links::start(Options {
        heartbeat: Duration::from_millis(10),
        ..options(folder.path(), HUB)
    })
    .unwrap();
    links.watch_loop(Handle::current());

    let stuck = Duration::from_millis(100);
    while links.lag() < stuck {
        std::thread::yield_now();
    }

    until("the loop runs", || links.lag() < stuck).await;
}

// === Peers that misbehave ===

/// A hub that says hello, and then what a test makes it say.
async fn raw_hub(folder: &TempDir, gateway: &Links, receiver: Receiver) -> (Link, Reader, Writer) {
    let listener = UnixListener::bind(folder.path().join("hub-0.sock")).unwrap();
    let link = gateway.connect(HUB, receiver);
    let (stream, _) = listener.accept().await.unwrap();
    let (read, write) = stream.into_split();
    let (mut reader, mut writer) = (frame::reader(read, 4096), frame::writer(write, 4096));
    let hello = reader.next().await.unwrap().unwrap();
    let Frame::Hello(hello) = Frame::decode(&hello).unwrap() else {
        panic!("no hello");
    };
    let answer = Frame::Hello(Hello { slot: HUB, ..hello });
    writer.send(answer.encode(4096).unwrap()).await.unwrap();
    (link, reader, writer)
}

#[tokio::test]
async fn a_peer_that_falls_silent_is_declared_dead() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Links::start(Options {
        heartbeat: Duration::from_millis(50),
        dead_after: Duration::from_millis(150),
        ..options(folder.path(), GATEWAY)
    })
    .unwrap();
    let (receiver, mut inbox) = inbox();

    let (link, _reader, _writer) = raw_hub(&folder, &gateway, receiver).await;

    inbox.up().await;
    assert_eq!(inbox.down().await, DownReason::Silent);
    assert!(!link.is_up());
}

#[tokio::test]
async fn a_peer_that_talks_nonsense_is_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = start(&folder, GATEWAY);
    let (receiver, mut inbox) = inbox();
    let (_link, _reader, mut writer) = raw_hub(&folder, &gateway, receiver).await;
    inbox.up().await;

    writer.send(Bytes::from_static(&[1, 200, 7])).await.unwrap();

    assert_eq!(inbox.down().await, DownReason::Garbled);
}

#[tokio::test]
async fn a_peer_that_sends_more_than_its_credit_is_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Links::start(Options {
        window: 1,
        ..options(folder.path(), GATEWAY)
    })
    .unwrap();
    let (receiver, mut inbox) = inbox();
    let (_link, mut reader, mut writer) = raw_hub(&folder, &gateway, receiver).await;
    inbox.up().await;
    let event = Frame::Event {
        lane: Lane::Data,
        message: numbered(1),
    };
    let event = event.encode(4096).unwrap();
    while Frame::decode(&reader.next().await.unwrap().unwrap()).unwrap()
        != (Frame::Credit { frames: 1 })
    {}

    writer.send(event.clone()).await.unwrap();
    let _held = inbox.event().await;
    writer.send(event).await.unwrap();

    assert_eq!(inbox.down().await, DownReason::Garbled);
}
