//! Tools of the acceptance tests: one that ends when it is told to, one that does not
//! listen, and one with an error of its own.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use conduit::schemars::JsonSchema;
use conduit::serde::Deserialize;
use conduit::serde_json::json;
use conduit::{Context, NoArguments, ToolBuilder, WireCode, WireError, blocking_tool, tool};

/// How often `stubborn` was told to give in.
static LET_GO: AtomicU64 = AtomicU64::new(0);

/// How often `stubborn` looks at that, in milliseconds.
const LOOK: u64 = 5;

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
struct Wait {
    /// How long, in milliseconds.
    #[schemars(range(max = 86_400_000))]
    ms: u64,
}

pub(crate) fn tools() -> [ToolBuilder; 4] {
    [
        tool(
            "wait",
            "Waits, and says whether it was `done` or `cancelled`.",
            wait,
        )
        .read_only(true),
        blocking_tool(
            "stubborn",
            "Waits, cancelled or not, until the time is over or `let_go` is called.",
            stubborn,
        )
        .read_only(true)
        .never_aborted(),
        tool("let_go", "Ends every call of `stubborn`.", let_go),
        tool(
            "refuse",
            "Answers with a protocol error of its own.",
            refuse,
        ),
    ]
}

async fn wait(arguments: Wait, context: Context) -> &'static str {
    match context.sleep(Duration::from_millis(arguments.ms)).await {
        Ok(()) => "done",
        Err(_cancelled) => "cancelled",
    }
}

#[expect(
    clippy::disallowed_methods,
    clippy::needless_pass_by_value,
    reason = "blocks on purpose, and has the signature of a handler"
)]
fn stubborn(arguments: Wait, _context: Context) -> &'static str {
    let before = LET_GO.load(Ordering::Relaxed);
    for _ in 0..arguments.ms / LOOK {
        if LET_GO.load(Ordering::Relaxed) != before {
            break;
        }
        std::thread::sleep(Duration::from_millis(LOOK));
    }
    "done"
}

async fn let_go(_: NoArguments, _context: Context) -> &'static str {
    LET_GO.fetch_add(1, Ordering::Relaxed);
    "told"
}

async fn refuse(_: NoArguments, _context: Context) -> Result<String, WireError> {
    Err(WireError::new(WireCode(1234), "m").with_data(&json!({ "a": 1 })))
}
