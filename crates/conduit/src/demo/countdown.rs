//! `countdown`: reports progress, and stops when it is cancelled.

use std::time::Duration;

use conduit_server::{Cancelled, Context, ToolBuilder};
use schemars::JsonSchema;
use serde::Deserialize;

/// As long as the longest countdown takes, and some more.
const TIME_LIMIT: Duration = Duration::from_hours(11);

#[derive(Deserialize, JsonSchema)]
struct Countdown {
    /// Where to start.
    #[schemars(range(min = 0, max = 3600))]
    from: u16,
    /// How long a step takes, in milliseconds.
    #[serde(default = "second")]
    #[schemars(range(min = 0, max = 10_000))]
    interval_ms: u16,
}

pub(super) fn tool() -> ToolBuilder {
    conduit_server::tool(
        "countdown",
        "Counts down to zero, a second each step unless told otherwise. Reports progress after \
         each step if the client asks for it, and stops when the call is cancelled.",
        countdown,
    )
    .title("Countdown")
    .read_only(true)
    .open_world(false)
    .time_limit(TIME_LIMIT)
}

async fn countdown(arguments: Countdown, context: Context) -> Result<String, Cancelled> {
    let Countdown { from, interval_ms } = arguments;
    let interval = Duration::from_millis(interval_ms.into());
    for done in 1..=from {
        context.sleep(interval).await?;
        let message = format!("{} to go", from - done);
        context.progress(done.into(), Some(from.into()), Some(&message));
    }
    Ok(format!("Counted down from {from} to 0."))
}

// === Behind the tool ===

const fn second() -> u16 {
    1000
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::Receiver;

    use conduit_server::{ContextParts, Emission};
    use tokio::time::Instant;
    use tokio_util::sync::CancellationToken;

    use super::super::trial;
    use super::*;

    fn context(token: CancellationToken) -> (Context, Receiver<Emission>) {
        let (parts, said) = trial::parts();
        (Context::new(ContextParts { token, ..parts }), said)
    }

    #[tokio::test(start_paused = true)]
    async fn every_step_takes_its_time_and_is_reported() {
        let (context, said) = context(CancellationToken::new());
        let start = Instant::now();

        let answer = countdown(
            serde_json::from_str(r#"{"from":3}"#).expect("arguments"),
            context,
        );

        assert_eq!(answer.await.as_deref(), Ok("Counted down from 3 to 0."));
        assert_eq!(start.elapsed(), Duration::from_secs(3));
        let progress = |done, message: &str| Emission::Progress {
            done,
            total: Some(3.0),
            message: Some(message.to_owned()),
        };
        assert_eq!(
            said.iter().collect::<Vec<_>>(),
            [
                progress(1.0, "2 to go"),
                progress(2.0, "1 to go"),
                progress(3.0, "0 to go"),
            ]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_to_count_is_done_at_once() {
        let (context, _said) = context(CancellationToken::new());
        let arguments = Countdown {
            from: 0,
            interval_ms: 1000,
        };

        let answer = countdown(arguments, context).await;

        assert_eq!(answer.as_deref(), Ok("Counted down from 0 to 0."));
    }

    #[tokio::test(start_paused = true)]
    async fn a_cancel_ends_it_before_the_next_step() {
        let token = CancellationToken::new();
        let (context, said) = context(token.clone());
        let arguments = Countdown {
            from: 3600,
            interval_ms: 1000,
        };

        let (answer, ()) = tokio::join!(countdown(arguments, context), async {
            tokio::time::sleep(Duration::from_millis(1500)).await;
            token.cancel();
        });

        assert_eq!(answer, Err(Cancelled));
        assert_eq!(said.iter().count(), 1);
    }
}
