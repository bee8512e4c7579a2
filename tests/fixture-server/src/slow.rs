//! Tools that take their time: one that can be cancelled, one that cannot, one that
//! talks all the while, and one that lets its client go in the meantime.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use conduit::schemars::JsonSchema;
use conduit::serde::Deserialize;
use conduit::{Cancelled, Context, LogLevel, ToolBuilder, blocking_tool, tool};

/// When the client of `linger` should come back.
const RETRY: Duration = Duration::from_millis(50);
/// How long `slow_blocking` may go on after a cancel, before it is abandoned.
const GRACE: Duration = Duration::from_millis(100);

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
pub(crate) struct Wait {
    /// How long.
    #[schemars(range(min = 0, max = 86_400))]
    seconds: f64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
struct Linger {
    #[serde(flatten)]
    wait: Wait,
    /// What to answer with.
    echo: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
struct Steps {
    /// How many.
    n: u32,
}

pub(crate) fn tools() -> [ToolBuilder; 4] {
    [
        tool("slow", "Waits, unless it is cancelled.", slow).read_only(true),
        blocking_tool(
            "slow_blocking",
            "Blocks a thread, cancelled or not.",
            slow_blocking,
        )
        .read_only(true)
        .grace(GRACE),
        tool(
            "steps",
            "Reports progress at each step, and writes two lines to the log.",
            steps,
        )
        .read_only(true),
        tool(
            "linger",
            "Closes its stream at once, where its client can come back for the answer.",
            linger,
        )
        .read_only(true)
        .streams(),
    ]
}

impl Wait {
    pub(crate) fn duration(&self) -> Duration {
        Duration::try_from_secs_f64(self.seconds).unwrap_or_default()
    }
}

async fn slow(arguments: Wait, context: Context) -> Result<String, Cancelled> {
    context.sleep(arguments.duration()).await?;
    Ok(format!("waited for {} s", arguments.seconds))
}

#[expect(
    clippy::disallowed_methods,
    clippy::needless_pass_by_value,
    reason = "blocks on purpose, and has the signature of a handler"
)]
fn slow_blocking(arguments: Wait, _context: Context) -> String {
    std::thread::sleep(arguments.duration());
    format!("blocked for {} s", arguments.seconds)
}

async fn steps(arguments: Steps, context: Context) -> &'static str {
    let total = f64::from(arguments.n);
    for step in 1..=arguments.n {
        context.progress(f64::from(step), Some(total), None);
        if context.unless_cancelled(let_others_run()).await.is_err() {
            return "cancelled";
        }
    }
    context.log(LogLevel::Debug, Some("steps"), "all steps are done");
    context.log(LogLevel::Error, Some("steps"), "nothing is left to do");
    "ok"
}

async fn linger(arguments: Linger, context: Context) -> Result<String, Cancelled> {
    context.log(LogLevel::Info, Some("linger"), "come back later");
    context.close_stream(RETRY);
    context.sleep(arguments.wait.duration()).await?;
    Ok(arguments.echo.unwrap_or_else(|| "you are back".to_owned()))
}

/// Lets everything else that is ready run once.
pub(crate) async fn let_others_run() {
    let mut have_run = false;
    poll_fn(|context| {
        if std::mem::replace(&mut have_run, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
