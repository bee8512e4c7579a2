use std::time::Duration;

use super::*;
use crate::{AskError, Failure, Reply};

const PATIENCE: Duration = Duration::from_secs(5);

enum Message {
    Add { number: u64, reply: Reply<u64> },
    Boom { reply: Reply<u64> },
    Stall { reply: Reply<u64> },
}

#[derive(Default)]
struct Sum(u64);

impl Actor for Sum {
    type Message = Message;

    async fn handle(&mut self, message: Message) -> Result<(), Failure> {
        match message {
            Message::Add { number, reply } => {
                self.0 += number;
                reply.send(self.0).expect("the asker waits");
            }
            Message::Boom { reply } => {
                drop(reply);
                panic!("as asked");
            }
            Message::Stall { reply } => {
                tokio::time::sleep(PATIENCE * 2).await;
                drop(reply);
            }
        }
        Ok(())
    }
}

async fn start(options: TreeOptions) -> (Tree, Seat<Message>) {
    let tree = Tree::start(options).await.expect("a tree");
    let seat = Seat::new("sum");
    tree.start_at(&seat, Sum::default).await.expect("an actor");
    (tree, seat)
}

async fn add(seat: &Seat<Message>, number: u64) -> Result<u64, AskError> {
    seat.ask(PATIENCE, |reply| Message::Add { number, reply })
        .await
}

async fn boom(seat: &Seat<Message>) -> AskError {
    seat.ask(PATIENCE, |reply| Message::Boom { reply })
        .await
        .expect_err("a panic answers nobody")
}

/// Asks until somebody is in the seat again.
async fn add_again(seat: &Seat<Message>, number: u64) -> u64 {
    loop {
        match add(seat, number).await {
            Ok(sum) => return sum,
            Err(AskError::Vacant(_) | AskError::Lost(_)) => tokio::task::yield_now().await,
            Err(AskError::Late(name)) => panic!("`{name}` never came back"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_seat_reaches_the_next_incarnation_with_fresh_state() {
    let (tree, seat) = start(TreeOptions::default()).await;
    assert_eq!(add(&seat, 2).await, Ok(2));

    assert_eq!(boom(&seat).await, AskError::Lost("sum"));

    assert_eq!(add_again(&seat, 3).await, 3, "the sum starts from nothing");
    assert_eq!(tree.view()[0].restarts, 1);
}

#[tokio::test(start_paused = true)]
async fn a_killed_actor_comes_back() {
    let (tree, seat) = start(TreeOptions::default()).await;

    tree.kill("sum");

    while tree.view()[0].restarts == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(add_again(&seat, 1).await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_tree_fails_once_a_child_spent_its_budget() {
    let (tree, seat) = start(TreeOptions {
        restarts: 1,
        ..TreeOptions::default()
    })
    .await;
    boom(&seat).await;
    add_again(&seat, 1).await;

    boom(&seat).await;

    assert_eq!(tree.failed().await, "sum");
    assert_eq!(tree.view()[0].phase, Phase::Parked);
}

#[tokio::test(start_paused = true)]
async fn a_stalled_actor_shows_what_waits_for_it() {
    let (_tree, seat) = start(TreeOptions::default()).await;
    let stall = seat.ask(PATIENCE, |reply| Message::Stall { reply });
    let asks = async {
        tokio::join!(stall, add(&seat, 1), async {
            tokio::task::yield_now().await;
            seat.depth()
        })
    };

    let (stalled, late, depth) = asks.await;

    assert_eq!(stalled, Err(AskError::Late("sum")));
    assert_eq!(late, Err(AskError::Late("sum")));
    assert_eq!(depth, 2);
}
