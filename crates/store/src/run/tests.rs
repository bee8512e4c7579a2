//! Over real sockets, with gateways that only remember what they had to forget.

mod tasks;

use std::path::Path;
use std::time::Duration;

use conduit_link::{CallError, FromStore, Lane, Options as LinkOptions, Slot, ToStore};
use parking_lot::Mutex;
use rusqlite::Connection;
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use uuid::Uuid;

use super::*;
use crate::backend::Backend;
use crate::backend::suite::session;
use crate::clock::Clock;
use crate::options::tests::{TASKS, options};
use crate::retention::{Retention, SUBSCRIPTIONS, Second};
use crate::sqlite::Sqlite;

/// Met only when something is broken.
const PATIENCE: Duration = Duration::from_secs(30);

struct House {
    folder: TempDir,
    links: Links,
    lives: watch::Sender<Option<Vec<Uuid>>>,
    stop: CancellationToken,
    running: JoinSet<Result<(), Error>>,
}

impl House {
    async fn start(adjust: impl FnOnce(&mut Options)) -> Self {
        Self::start_in(tempfile::tempdir().expect("a folder"), adjust).await
    }

    async fn start_in(folder: TempDir, adjust: impl FnOnce(&mut Options)) -> Self {
        let mut options = options(&folder.path().join("conduit.db"));
        adjust(&mut options);
        let links = links(folder.path(), Slot::STORE);
        let stop = CancellationToken::new();
        let (ready, mut is_ready) = watch::channel(false);
        let (lives, heard) = watch::channel(None);
        let mut running = JoinSet::new();
        running.spawn(run(
            options,
            links.clone(),
            Telemetry::new("store"),
            heard,
            stop.clone(),
            move || ready.send_modify(|ready| *ready = true),
        ));
        is_ready
            .wait_for(|&ready| ready)
            .await
            .expect("the store is ready");
        Self {
            folder,
            links,
            lives,
            stop,
            running,
        }
    }

    async fn gateway(&self, index: u16, behaviour: Behaviour) -> Gateway {
        self.peer(Slot::gateway(index), behaviour).await
    }

    async fn peer(&self, slot: Slot, behaviour: Behaviour) -> Gateway {
        let life = Uuid::new_v4();
        let links = links_of(self.folder.path(), slot, life);
        let (forgot, forgets) = watch::channel(Vec::new());
        let (told, news) = watch::channel(Vec::new());
        let told = Arc::new(told);
        let tells = Arc::clone(&told);
        let kept = Mutex::new(Vec::new());
        let receiver: Receiver = Arc::new(move |_link, delivery| {
            if let Delivery::Call(incoming, answerer) = delivery {
                let Message::FromStore(word) = incoming.message else {
                    panic!("the store says {:?}", incoming.message);
                };
                if let FromStore::ForgetSessions { ids, ended } = word {
                    forgot.send_modify(|forgets| forgets.push(Forget { ids, ended }));
                } else {
                    tells.send_modify(|news: &mut Vec<_>| news.push(word));
                }
                match behaviour {
                    Behaviour::Forgets => answerer.answer(Answer::Done),
                    Behaviour::Stalls => kept.lock().push(answerer),
                }
            }
        });
        let link = links.connect(Slot::STORE, receiver);
        let gateway = Gateway {
            life,
            links,
            link,
            forgets,
            told,
            news,
        };
        // Whoever was answered is attached.
        gateway.ask(ToStore::LookSession { id: Uuid::nil() }).await;
        gateway
    }

    /// Ends the store in good order and returns what it leaves.
    async fn end(mut self) -> TempDir {
        self.stop.cancel();
        let ended = timeout(PATIENCE, self.running.join_next()).await;
        ended
            .expect("an end in time")
            .expect("the store runs")
            .expect("no panic")
            .expect("a clean end");
        self.links.stop(Duration::ZERO).await;
        self.folder
    }
}

struct Gateway {
    life: Uuid,
    links: Links,
    link: Link,
    forgets: watch::Receiver<Vec<Forget>>,
    told: Arc<watch::Sender<Vec<FromStore>>>,
    news: watch::Receiver<Vec<FromStore>>,
}

#[derive(Clone, Copy)]
enum Behaviour {
    Forgets,
    Stalls,
}

#[derive(Clone, Debug, PartialEq)]
struct Forget {
    ids: Vec<Uuid>,
    ended: bool,
}

impl Gateway {
    async fn ask(&self, question: ToStore) -> Answer {
        self.try_ask(question).await.expect("an answer")
    }

    async fn try_ask(&self, question: ToStore) -> Result<Answer, CallError> {
        let message = Message::ToStore(question);
        self.link.call(Lane::Data, message, PATIENCE).await
    }

    async fn open(&self, number: u128) -> Answer {
        self.ask(ToStore::OpenSession(session(number))).await
    }

    async fn look(&self, number: u128) -> Answer {
        let id = Uuid::from_u128(number);
        self.ask(ToStore::LookSession { id }).await
    }

    async fn subscribe(&self, number: u128, uri: &str, on: bool) -> Answer {
        let (id, uri) = (Uuid::from_u128(number), uri.to_owned());
        self.ask(ToStore::SubscribeSession { id, uri, on }).await
    }

    async fn end(&self, number: u128) -> Answer {
        let id = Uuid::from_u128(number);
        self.ask(ToStore::EndSession { id }).await
    }

    fn forgot(&self) -> Vec<Forget> {
        self.forgets.borrow().clone()
    }

    async fn has_heard(&mut self, forget: &Forget) {
        let heard = self.forgets.wait_for(|forgets| forgets.contains(forget));
        timeout(PATIENCE, heard)
            .await
            .expect("in time")
            .expect("a link");
    }
}

fn links(folder: &Path, slot: Slot) -> Links {
    links_of(folder, slot, Uuid::new_v4())
}

fn links_of(folder: &Path, slot: Slot, life: Uuid) -> Links {
    let build = "build".to_owned();
    Links::start(LinkOptions::new(folder.to_owned(), slot, life, build)).expect("links")
}

fn ended(number: u128) -> Forget {
    Forget {
        ids: vec![Uuid::from_u128(number)],
        ended: true,
    }
}

fn changed(number: u128) -> Forget {
    Forget {
        ended: false,
        ..ended(number)
    }
}

/// Puts sessions into the database of a store that does not run yet.
fn prepare(folder: &TempDir, numbers: std::ops::Range<u128>, used: Duration) {
    let mut sqlite = Sqlite::open(&folder.path().join("conduit.db")).expect("a database");
    let ago = i64::try_from(used.as_secs()).expect("seconds");
    let then = Second::new(Clock::start().now().since_1970() - ago);
    let kept = Retention {
        idle: Duration::MAX,
        cap: u64::MAX,
    };
    sqlite
        .transaction(&mut |tables| {
            numbers
                .clone()
                .try_for_each(|number| tables.open(&session(number), kept, then).map(drop))
        })
        .expect("a transaction");
}

#[tokio::test]
async fn a_session_opened_at_one_gateway_is_found_at_another() {
    let house = House::start(|_| {}).await;
    let one = house.gateway(0, Behaviour::Forgets).await;
    let other = house.gateway(1, Behaviour::Forgets).await;

    assert_eq!(one.open(7).await, Answer::Done);

    assert_eq!(other.look(7).await, Answer::Session(Some(session(7))));
}

#[tokio::test]
async fn every_gateway_forgets_a_session_before_its_end_is_answered() {
    let house = House::start(|_| {}).await;
    let one = house.gateway(0, Behaviour::Forgets).await;
    let other = house.gateway(1, Behaviour::Forgets).await;
    one.open(7).await;

    let answer = other.end(7).await;

    assert_eq!(one.forgot(), [ended(7)]);
    assert_eq!(other.forgot(), [ended(7)]);
    assert_eq!(answer, Answer::Session(Some(session(7))));
    assert_eq!(one.look(7).await, Answer::Session(None));
}

#[tokio::test]
async fn the_end_of_an_unknown_session_is_nobodys_business() {
    let house = House::start(|_| {}).await;
    let gateway = house.gateway(0, Behaviour::Forgets).await;

    assert_eq!(gateway.end(7).await, Answer::Session(None));

    assert_eq!(gateway.forgot(), []);
}

#[tokio::test]
async fn the_other_gateways_forget_a_session_before_its_new_level_is_answered() {
    let house = House::start(|_| {}).await;
    let one = house.gateway(0, Behaviour::Forgets).await;
    let other = house.gateway(1, Behaviour::Forgets).await;
    one.open(7).await;

    let id = Uuid::from_u128(7);
    let level = "warning".to_owned();
    let answer = one.ask(ToStore::SetSessionLevel { id, level }).await;

    let mut expected = session(7);
    expected.level = Some("warning".to_owned());
    assert_eq!(other.forgot(), [changed(7)]);
    assert_eq!(one.forgot(), []);
    assert_eq!(answer, Answer::Session(Some(expected.clone())));
    assert_eq!(other.look(7).await, Answer::Session(Some(expected)));
}

#[tokio::test]
async fn a_session_that_ends_while_its_level_is_set_is_not_returned() {
    let deadline = Duration::from_secs(1);
    let house = House::start(|options| options.forget_deadline = deadline).await;
    let one = house.gateway(0, Behaviour::Forgets).await;
    let mut stalled = house.gateway(1, Behaviour::Stalls).await;
    one.open(7).await;

    let id = Uuid::from_u128(7);
    let level = "warning".to_owned();
    let (answer, _) = tokio::join!(one.ask(ToStore::SetSessionLevel { id, level }), async {
        stalled.has_heard(&changed(7)).await;
        one.end(7).await
    });

    assert_eq!(answer, Answer::Session(None));
}

/// A session that hears of these resources.
fn subscribed(number: u128, uris: &[&str]) -> Answer {
    let mut record = session(number);
    record.subscriptions = uris.iter().copied().map(str::to_owned).collect();
    Answer::Session(Some(record))
}

#[tokio::test]
async fn every_gateway_forgets_a_session_before_its_new_subscription_is_answered() {
    let house = House::start(|_| {}).await;
    let one = house.gateway(0, Behaviour::Forgets).await;
    let other = house.gateway(1, Behaviour::Forgets).await;
    one.open(7).await;

    let answer = one.subscribe(7, "file:///b", true).await;

    assert_eq!(one.forgot(), [changed(7)], "the asker too");
    assert_eq!(other.forgot(), [changed(7)]);
    assert_eq!(answer, subscribed(7, &["file:///b"]));
    assert_eq!(
        other.subscribe(7, "file:///a", true).await,
        subscribed(7, &["file:///a", "file:///b"])
    );
    assert_eq!(
        other.subscribe(7, "file:///b", false).await,
        subscribed(7, &["file:///a"])
    );
    assert_eq!(one.look(7).await, subscribed(7, &["file:///a"]));
    assert_eq!(one.forgot().len(), 3);
}

#[tokio::test]
async fn a_subscription_that_changes_nothing_makes_nobody_forget() {
    let house = House::start(|_| {}).await;
    let gateway = house.gateway(0, Behaviour::Forgets).await;
    gateway.open(7).await;
    gateway.subscribe(7, "file:///a", true).await;

    let again = gateway.subscribe(7, "file:///a", true).await;
    let other = gateway.subscribe(7, "file:///b", false).await;

    assert_eq!(again, subscribed(7, &["file:///a"]));
    assert_eq!(other, subscribed(7, &["file:///a"]));
    assert_eq!(gateway.forgot(), [changed(7)]);
}

#[tokio::test]
async fn an_unknown_session_subscribes_to_nothing() {
    let house = House::start(|_| {}).await;
    let gateway = house.gateway(0, Behaviour::Forgets).await;

    let answer = gateway.subscribe(7, "file:///a", true).await;

    assert_eq!(answer, Answer::Session(None));
    assert_eq!(gateway.forgot(), []);
}

#[tokio::test]
async fn a_subscription_past_the_limit_is_refused() {
    let house = House::start(|_| {}).await;
    let gateway = house.gateway(0, Behaviour::Forgets).await;
    let mut record = session(7);
    record.subscriptions = (0..SUBSCRIPTIONS)
        .map(|number| format!("file:///{number}"))
        .collect();
    gateway.ask(ToStore::OpenSession(record)).await;

    let refused = gateway.subscribe(7, "file:///one/more", true).await;

    assert_eq!(refused, Answer::Refused(Refusal::Full));
    assert_eq!(gateway.forgot(), []);
}

#[tokio::test]
async fn a_session_that_ends_while_it_subscribes_is_not_returned() {
    let deadline = Duration::from_secs(1);
    let house = House::start(|options| options.forget_deadline = deadline).await;
    let one = house.gateway(0, Behaviour::Forgets).await;
    let mut stalled = house.gateway(1, Behaviour::Stalls).await;
    one.open(7).await;

    let (answer, _) = tokio::join!(one.subscribe(7, "file:///a", true), async {
        stalled.has_heard(&changed(7)).await;
        one.end(7).await
    });

    assert_eq!(answer, Answer::Session(None));
}

#[tokio::test]
async fn subscriptions_outlive_the_store() {
    let house = House::start(|_| {}).await;
    let gateway = house.gateway(0, Behaviour::Forgets).await;
    gateway.open(7).await;
    gateway.subscribe(7, "file:///a", true).await;

    let folder = house.end().await;
    let _successor = House::start_in(folder, |_| {}).await;

    assert_eq!(gateway.look(7).await, subscribed(7, &["file:///a"]));
}

#[tokio::test]
async fn a_stalled_gateway_delays_an_end_by_the_deadline_at_most() {
    let deadline = Duration::from_millis(200);
    let house = House::start(|options| options.forget_deadline = deadline).await;
    let one = house.gateway(0, Behaviour::Forgets).await;
    let stalled = house.gateway(1, Behaviour::Stalls).await;
    one.open(7).await;

    let start = Instant::now();
    let answer = one.end(7).await;

    assert!(start.elapsed() >= deadline);
    assert!(start.elapsed() < PATIENCE / 2);
    assert_eq!(answer, Answer::Session(Some(session(7))));
    assert_eq!(stalled.forgot(), [ended(7)]);
}

#[tokio::test]
async fn a_stalled_gateway_delays_no_look() {
    let house = House::start(|_| {}).await;
    let one = house.gateway(0, Behaviour::Forgets).await;
    let mut stalled = house.gateway(1, Behaviour::Stalls).await;
    one.open(7).await;
    one.open(8).await;

    let look = async {
        stalled.has_heard(&ended(7)).await;
        one.look(8).await
    };
    let seen = tokio::select! {
        _ = one.end(7) => panic!("the end waits for the stalled gateway"),
        seen = look => seen,
    };

    assert_eq!(seen, Answer::Session(Some(session(8))));
}

#[tokio::test]
async fn a_gateway_that_leaves_is_not_waited_for() {
    let house = House::start(|_| {}).await;
    let one = house.gateway(0, Behaviour::Forgets).await;
    let mut stalled = house.gateway(1, Behaviour::Stalls).await;
    one.open(7).await;

    let start = Instant::now();
    let (answer, ()) = tokio::join!(one.end(7), async {
        stalled.has_heard(&ended(7)).await;
        stalled.links.stop(Duration::ZERO).await;
    });

    assert_eq!(answer, Answer::Session(Some(session(7))));
    assert!(start.elapsed() < PATIENCE / 2);
}

#[tokio::test]
async fn no_session_in_use_leaves_for_a_new_one() {
    let house = House::start(|options| options.session_cap = 1).await;
    let gateway = house.gateway(0, Behaviour::Forgets).await;
    gateway.open(7).await;

    let refused = gateway.open(8).await;

    assert_eq!(refused, Answer::Refused(Refusal::Full));
    assert_eq!(gateway.look(7).await, Answer::Session(Some(session(7))));
}

#[tokio::test]
async fn an_idle_session_leaves_for_a_new_one_and_every_gateway_forgets_it() {
    let folder = tempfile::tempdir().expect("a folder");
    prepare(&folder, 1..3, Duration::from_mins(2));
    let house = House::start_in(folder, |options| options.session_cap = 2).await;
    let one = house.gateway(0, Behaviour::Forgets).await;
    let other = house.gateway(1, Behaviour::Forgets).await;
    let ids = vec![Uuid::from_u128(2)];
    assert_eq!(one.ask(ToStore::TouchSessions { ids }).await, Answer::Done);

    assert_eq!(one.open(7).await, Answer::Done);

    assert_eq!(one.forgot(), [ended(1)]);
    assert_eq!(other.forgot(), [ended(1)]);
    assert_eq!(other.look(2).await, Answer::Session(Some(session(2))));
}

#[tokio::test]
async fn a_session_whose_time_is_over_ends_everywhere() {
    let idle = Duration::from_secs(1);
    let house = House::start(|options| options.session_idle = idle).await;
    let mut gateway = house.gateway(0, Behaviour::Forgets).await;
    gateway.open(7).await;

    gateway.has_heard(&ended(7)).await;

    assert_eq!(gateway.look(7).await, Answer::Session(None));
}

#[tokio::test]
async fn more_sessions_than_a_slice_end_in_one_sweep() {
    let folder = tempfile::tempdir().expect("a folder");
    prepare(&folder, 0..1200, Duration::from_hours(2));
    let hour = Duration::from_hours(1);
    let house = House::start_in(folder, |options| options.sweep_every = hour).await;
    let gateway = house.gateway(0, Behaviour::Forgets).await;

    let swept = async { while gateway.look(1199).await != Answer::Session(None) {} };

    timeout(PATIENCE, swept).await.expect("in time");
}

#[tokio::test]
async fn a_peer_that_is_no_gateway_gets_nothing() {
    let house = House::start(|_| {}).await;
    let hub = house.peer(Slot::hub(0), Behaviour::Forgets).await;

    assert_eq!(hub.look(7).await, Answer::Refused(Refusal::Misplaced));
}

#[tokio::test]
async fn a_database_that_fails_refuses_calls_and_the_store_goes_on() {
    let house = House::start(|_| {}).await;
    let gateway = house.gateway(0, Behaviour::Forgets).await;
    let vandal = Connection::open(house.folder.path().join("conduit.db")).expect("a database");
    vandal
        .execute_batch("ALTER TABLE sessions RENAME TO taken")
        .expect("a rename");

    assert_eq!(gateway.open(7).await, Answer::Refused(Refusal::Storage));
    assert_eq!(gateway.look(7).await, Answer::Refused(Refusal::Storage));
    vandal
        .execute_batch("ALTER TABLE taken RENAME TO sessions")
        .expect("a rename");

    assert_eq!(gateway.open(7).await, Answer::Done);
    assert_eq!(gateway.look(7).await, Answer::Session(Some(session(7))));
}

#[tokio::test]
async fn sessions_outlive_the_store() {
    let house = House::start(|_| {}).await;
    let gateway = house.gateway(0, Behaviour::Forgets).await;
    gateway.open(7).await;

    let folder = house.end().await;
    let _successor = House::start_in(folder, |_| {}).await;

    // The link comes back by itself.
    assert_eq!(gateway.look(7).await, Answer::Session(Some(session(7))));
}

#[tokio::test]
async fn a_store_that_ends_leaves_one_file() {
    let house = House::start(|_| {}).await;
    let gateway = house.gateway(0, Behaviour::Forgets).await;
    gateway.open(7).await;

    let folder = house.end().await;

    assert!(folder.path().join("conduit.db").exists());
    assert!(!folder.path().join("conduit.db-wal").exists());
}

#[tokio::test]
async fn a_store_that_was_stopped_refuses_calls() {
    let mut house = House::start(|_| {}).await;
    let gateway = house.gateway(0, Behaviour::Forgets).await;

    house.stop.cancel();
    timeout(PATIENCE, house.running.join_next())
        .await
        .expect("in time");

    assert_eq!(gateway.look(7).await, Answer::Refused(Refusal::NotNow));
}

#[tokio::test]
async fn a_database_that_is_too_new_fails_the_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("conduit.db");
    let newer = Connection::open(&path).expect("a database");
    newer
        .pragma_update(None, "user_version", 99)
        .expect("a version");
    let options = Options {
        path,
        session_idle: PATIENCE,
        session_cap: 1,
        tasks: TASKS,
        batch: 0,
        sweep_every: PATIENCE,
        forget_deadline: PATIENCE,
        queue: 0,
    };

    let failed = run(
        options,
        links(folder.path(), Slot::STORE),
        Telemetry::new("store"),
        watch::channel(None).1,
        CancellationToken::new(),
        || panic!("it is not ready"),
    );

    let error = failed.await.expect_err("too new");
    assert!(matches!(error, Error::TooNew { found: 99, .. }), "{error}");
}
