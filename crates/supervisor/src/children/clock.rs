//! Tells the actor when the time has come for something.

use std::sync::Arc;

use super::{Message, tell};
use crate::house::House;

/// Sends a tick whenever something is due, one at a time.
pub(super) async fn keep_time(house: Arc<House>) {
    let mut due = house.due.subscribe();
    loop {
        let next = *due.borrow_and_update();
        let sleep = async {
            match next {
                Some(next) => tokio::time::sleep_until(next).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = house.end.cancelled() => return,
            changed = due.changed() => {
                if changed.is_err() {
                    return;
                }
                continue;
            }
            () = sleep => {}
        }
        tell(&house, |reply| Message::Tick { reply }).await;
    }
}
