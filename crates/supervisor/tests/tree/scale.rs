//! What an operator asks, and how the tree follows.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use conduit_lifecycle::Phase;
use conduit_link::{
    Answer, CallError, Lane, Link, Links, Message, Operation, Refusal, Role, Slot, ToChild,
    build_id,
};
use conduit_supervisor::{Options, TreePhase};
use rustix::process::Signal;
use uuid::Uuid;

use crate::child::Settings;
use crate::house::{House, block_on, exists, notes, quick, start};

tests! {
    a_wish_is_on_the_disk_when_it_is_answered_and_comes_true,
    what_is_scaled_away_leaves_no_trace,
    the_last_of_many_wishes_comes_true,
    a_slot_that_drains_is_filled_again_when_it_is_wanted_again,
    what_nobody_can_have_is_refused,
    a_wish_that_cannot_be_kept_is_refused,
    nobody_but_an_operator_may_ask,
    hubs_hear_whom_to_wait_for,
    hubs_that_do_not_answer_are_left_out,
    a_tree_scales_though_its_actor_failed_before,
    a_tree_that_scales_can_be_stopped,
}

const PATIENCE: Duration = Duration::from_secs(5);

struct Operator {
    links: Links,
    supervisor: Link,
}

impl Operator {
    fn at(house: &House) -> Self {
        Self::called(house, Slot::operator(0))
    }

    fn called(house: &House, slot: Slot) -> Self {
        let options = conduit_link::Options::new(
            house.path().join("run"),
            slot,
            Uuid::new_v4(),
            build_id().unwrap(),
        );
        let links = Links::start(options).unwrap();
        let supervisor = links.connect(Slot::SUPERVISOR, Arc::new(|_link, _delivery| {}));
        Self { links, supervisor }
    }

    async fn ask(&self, question: Message) -> Result<Answer, CallError> {
        self.supervisor
            .call(Lane::Control, question, PATIENCE)
            .await
    }

    async fn scale(&self, role: Role, count: u16) -> Answer {
        let operation = Operation::Scale { role, count };
        self.ask(Message::Operation(operation)).await.unwrap()
    }

    async fn leave(self) {
        self.links.stop(Duration::ZERO).await;
    }
}

/// Times by which a hub is soon scaled away.
fn brief() -> Options {
    Options {
        handover: Duration::from_millis(100),
        ..quick()
    }
}

fn names(house: &House) -> Vec<String> {
    let slots = house.supervisor.board().status().slots;
    slots.into_iter().map(|slot| slot.slot).collect()
}

/// Waits until these slots are there, no other, and all of them serve.
async fn become_(house: &House, expected: &[&str]) {
    house
        .until(|house| {
            let status = house.supervisor.board().status();
            let serves = status.slots.iter().all(|slot| slot.phase == Phase::Serving);
            serves && names(house) == expected
        })
        .await;
}

async fn end(house: House, operator: Operator) {
    operator.leave().await;
    house.supervisor.stop().await;
}

fn a_wish_is_on_the_disk_when_it_is_answered_and_comes_true() {
    block_on(async {
        let house = start(&brief(), &Settings::default()).await;
        let operator = Operator::at(&house);

        let answer = operator.scale(Role::Hub, 3).await;

        let kept = fs::read_to_string(house.path().join("scale.json")).unwrap();
        assert_eq!(answer, Answer::Scaled { from: 1 });
        assert_eq!(kept, "{\"hub\":{\"count\":3,\"configured\":1}}\n");
        let expected = ["store", "hub-0", "hub-1", "hub-2", "gateway-0", "gateway-1"];
        become_(&house, &expected).await;
        let status = house.supervisor.board().status();
        assert_eq!(status.shard_map.shards, [0, 1, 2]);
        assert_eq!(status.phase, TreePhase::Serving);
        end(house, operator).await;
    });
}

fn what_is_scaled_away_leaves_no_trace() {
    block_on(async {
        let house = start(&brief(), &Settings::default()).await;
        let operator = Operator::at(&house);
        for role in [Role::Hub, Role::Gateway] {
            operator.scale(role, 3).await;
        }
        let all = [
            "store",
            "hub-0",
            "hub-1",
            "hub-2",
            "gateway-0",
            "gateway-1",
            "gateway-2",
        ];
        become_(&house, &all).await;
        house
            .until(|house| house.supervisor.board().ready().is_ok())
            .await;
        let before = house.pids();

        for role in [Role::Hub, Role::Gateway] {
            assert_eq!(operator.scale(role, 1).await, Answer::Scaled { from: 3 });
            assert_eq!(
                house.supervisor.board().ready(),
                Ok(()),
                "who leaves is not missed"
            );
        }

        become_(&house, &["store", "hub-0", "gateway-0"]).await;
        let after = house.pids();
        assert_eq!(
            after,
            [before[0], before[1], before[4]],
            "those that stay are the same"
        );
        assert!(
            before
                .iter()
                .all(|pid| after.contains(pid) || !exists(*pid))
        );
        let mut ended = notes(&house.path(), "end");
        ended.sort_unstable();
        assert_eq!(ended, ["gateway-1", "gateway-2", "hub-1", "hub-2"]);
        let status = house.supervisor.board().status();
        assert_eq!(
            (status.shard_map.shards, status.phase),
            (vec![0], TreePhase::Serving)
        );
        end(house, operator).await;
    });
}

fn the_last_of_many_wishes_comes_true() {
    block_on(async {
        let house = start(&brief(), &Settings::default()).await;
        let operator = Operator::at(&house);

        for count in [4, 1, 3, 2, 4, 1, 2] {
            for role in [Role::Hub, Role::Gateway] {
                operator.scale(role, count).await;
            }
        }

        let expected = ["store", "hub-0", "hub-1", "gateway-0", "gateway-1"];
        become_(&house, &expected).await;
        assert_eq!(house.supervisor.board().status().shard_map.shards, [0, 1]);
        end(house, operator).await;
    });
}

fn a_slot_that_drains_is_filled_again_when_it_is_wanted_again() {
    block_on(async {
        let settings = Settings {
            deaf: vec!["gateway-1".to_owned()],
            ..Settings::default()
        };
        let options = Options {
            drain_grace: Duration::from_millis(300),
            kill_after: Duration::from_millis(200),
            ..brief()
        };
        let house = start(&options, &settings).await;
        let (operator, before) = (Operator::at(&house), house.pid("gateway-1"));
        operator.scale(Role::Gateway, 1).await;
        assert_eq!(house.slot("gateway-1").phase, Phase::Draining);

        operator.scale(Role::Gateway, 2).await;

        become_(&house, &["store", "hub-0", "gateway-0", "gateway-1"]).await;
        assert_ne!(house.pid("gateway-1"), before);
        assert_eq!(house.slot("gateway-1").restarts, 0);
        end(house, operator).await;
    });
}

fn what_nobody_can_have_is_refused() {
    block_on(async {
        let house = start(&brief(), &Settings::default()).await;
        let operator = Operator::at(&house);

        for (role, count, refusal) in [
            (Role::Store, 1, Refusal::Misplaced),
            (Role::Supervisor, 1, Refusal::Misplaced),
            (Role::Hub, 0, Refusal::Misplaced),
            (Role::Hub, 65, Refusal::Full),
            (Role::Gateway, 257, Refusal::Full),
        ] {
            let answer = operator.scale(role, count).await;

            assert_eq!(answer, Answer::Refused(refusal), "{role:?} {count}");
        }
        let probe = Message::ToChild(ToChild::Probe);
        let misplaced = operator.ask(probe).await;
        assert_eq!(misplaced, Ok(Answer::Refused(Refusal::Misplaced)));
        assert!(!house.path().join("scale.json").exists());
        end(house, operator).await;
    });
}

fn a_wish_that_cannot_be_kept_is_refused() {
    block_on(async {
        let house = start(&brief(), &Settings::default()).await;
        fs::create_dir(house.path().join("scale.json")).unwrap();
        let operator = Operator::at(&house);

        let answer = operator.scale(Role::Hub, 3).await;

        assert_eq!(answer, Answer::Refused(Refusal::Storage));
        fs::remove_dir(house.path().join("scale.json")).unwrap();
        let again = operator.scale(Role::Hub, 1).await;
        assert_eq!(again, Answer::Scaled { from: 1 }, "it was forgotten");
        assert_eq!(names(&house).len(), 4);
        end(house, operator).await;
    });
}

fn nobody_but_an_operator_may_ask() {
    block_on(async {
        let house = start(&brief(), &Settings::default()).await;
        let stranger = Operator::called(&house, Slot::hub(7));
        let operation = Operation::Scale {
            role: Role::Hub,
            count: 3,
        };

        let answer = stranger.ask(Message::Operation(operation)).await;

        assert!(!matches!(answer, Ok(Answer::Scaled { .. })), "{answer:?}");
        assert!(!house.path().join("scale.json").exists());
        end(house, stranger).await;
    });
}

fn hubs_hear_whom_to_wait_for() {
    block_on(async {
        let house = start(&brief(), &Settings::default()).await;
        let operator = Operator::at(&house);
        let heard = |roll: &'static str| {
            move |house: &House| {
                notes(&house.path(), "roll")
                    .iter()
                    .any(|noted| noted == roll)
            }
        };
        assert_eq!(
            notes(&house.path(), "roll"),
            ["hub-0 1 0 0"],
            "before any gateway"
        );

        house.signal("gateway-0", Signal::KILL);
        house.until(heard("hub-0 1 1 1")).await;
        house.back("gateway-0", 1).await;
        operator.scale(Role::Hub, 2).await;

        // It is told the old map when it comes, and both the new one once it is ready.
        for roll in ["hub-1 1 2 1", "hub-0 2 2 1", "hub-1 2 2 1"] {
            house.until(heard(roll)).await;
        }
        operator.scale(Role::Hub, 1).await;
        for roll in ["hub-0 3 2 1", "hub-1 3 2 1"] {
            house.until(heard(roll)).await;
        }
        end(house, operator).await;
    });
}

fn hubs_that_do_not_answer_are_left_out() {
    block_on(async {
        let options = Options {
            scrape_patience: Duration::from_millis(200),
            dead_after: Duration::from_secs(20),
            ..brief()
        };
        let house = start(&options, &Settings::default()).await;
        let operator = Operator::at(&house);
        operator.scale(Role::Hub, 3).await;
        let all = ["store", "hub-0", "hub-1", "hub-2", "gateway-0", "gateway-1"];
        become_(&house, &all).await;
        house.signal("hub-1", Signal::STOP);

        let answer = operator.ask(Message::Operation(Operation::ShowHub)).await;

        let Ok(Answer::Hub(shards)) = answer else {
            unreachable!("{answer:?}");
        };
        let shown: Vec<_> = shards
            .iter()
            .map(|shard| (shard.slot.to_string(), shard.topics))
            .collect();
        assert_eq!(shown, [("hub-0".to_owned(), 0), ("hub-2".to_owned(), 2)]);
        house.signal("hub-1", Signal::CONT);
        end(house, operator).await;
    });
}

fn a_tree_scales_though_its_actor_failed_before() {
    block_on(async {
        let house = start(&brief(), &Settings::default()).await;
        let operator = Operator::at(&house);
        operator.scale(Role::Hub, 2).await;

        house.supervisor.kill_actor("children");

        let all = ["store", "hub-0", "hub-1", "gateway-0", "gateway-1"];
        become_(&house, &all).await;
        // Nobody may be in the seat for a moment.
        while operator.scale(Role::Hub, 1).await != (Answer::Scaled { from: 2 }) {
            tokio::task::yield_now().await;
        }
        become_(&house, &["store", "hub-0", "gateway-0", "gateway-1"]).await;
        end(house, operator).await;
    });
}

fn a_tree_that_scales_can_be_stopped() {
    block_on(async {
        let house = start(&brief(), &Settings::default()).await;
        let operator = Operator::at(&house);
        operator.scale(Role::Hub, 4).await;
        operator.scale(Role::Gateway, 4).await;
        operator.scale(Role::Gateway, 1).await;
        let pids = house.pids();

        house.supervisor.stop().await;

        assert!(!pids.iter().any(|&pid| exists(pid)), "all are reaped");
        operator.leave().await;
    });
}
