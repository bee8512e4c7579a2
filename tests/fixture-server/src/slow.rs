//! Tools that take their time: one that can be cancelled, one that cannot.

use std::time::Duration;

use conduit::schemars::JsonSchema;
use conduit::serde::Deserialize;
use conduit::{Cancelled, Context, ToolBuilder, blocking_tool, tool};

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

pub(crate) fn tools() -> [ToolBuilder; 2] {
    [
        tool("slow", "Waits, unless it is cancelled.", slow).read_only(true),
        blocking_tool(
            "slow_blocking",
            "Blocks a thread, cancelled or not.",
            slow_blocking,
        )
        .read_only(true)
        .grace(GRACE),
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
