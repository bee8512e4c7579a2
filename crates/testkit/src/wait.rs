//! Waiting for a condition, never for a while.

use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

/// How long a test waits for what has no bound of its own to keep.
///
/// Long, because it is met only when something is broken: a slow machine must
/// not fail a test that asks nothing of time.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// How often the condition is looked at.
const AGAIN: Duration = Duration::from_millis(5);

/// Asks until the answer is there, and returns it with how long that took.
///
/// Panics with `what` when it is not there `within` the time.
pub async fn wait_until<T>(
    what: &str,
    within: Duration,
    mut ask: impl AsyncFnMut() -> Option<T>,
) -> (T, Duration) {
    let start = Instant::now();
    let mut again = interval(AGAIN);
    again.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let answer = timeout(within, async {
        loop {
            again.tick().await;
            if let Some(answer) = ask().await {
                return answer;
            }
        }
    })
    .await;
    match answer {
        Ok(answer) => (answer, start.elapsed()),
        Err(_) => panic!("waited {within:?} in vain: {what}"),
    }
}
