use super::*;

/// An ear, and what it passes on.
struct Heard {
    ear: Ear,
    orders: mpsc::Receiver<Order>,
    maps: watch::Receiver<Option<ShardMap>>,
}

fn listen() -> Heard {
    let (send, orders) = mpsc::channel(ORDERS);
    let (map, maps) = watch::channel(None);
    let ear = Ear {
        telemetry: Telemetry::new("gateway-0"),
        ready: Arc::default(),
        orders: send,
        lives: watch::channel(None).0,
        roll: watch::channel(None).0,
        map,
        window: Window::default(),
    };
    Heard { ear, orders, maps }
}

fn map(epoch: u64) -> Message {
    Message::ToChild(ToChild::ShardMap(ShardMap {
        epoch,
        shards: vec![0],
    }))
}

#[test]
fn the_newest_map_is_there_whatever_else_waits() {
    let mut heard = listen();
    for _order in 0..=ORDERS {
        heard
            .ear
            .hear(Message::ToChild(ToChild::Drain { grace_ms: 1 }));
    }

    heard.ear.hear(map(2));
    heard.ear.hear(map(3));

    let newest = heard.maps.borrow_and_update().clone();
    assert_eq!(newest.map(|map| map.epoch), Some(3));
    assert!(matches!(heard.orders.try_recv(), Ok(Order::Drain(_))));
}
