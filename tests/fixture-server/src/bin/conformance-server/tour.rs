//! Tools that tours of clients need beyond the suite.

mod record;

use std::time::Duration;

use conduit::schemars::JsonSchema;
use conduit::serde::{Deserialize, Serialize};
use conduit::{Cancelled, Context, Json, ToolBuilder, ToolError, tool};

use self::record::{Record, Running, Seen};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
struct Echo {
    /// The text to return.
    text: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
struct Add {
    a: f64,
    b: f64,
}

#[derive(Serialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
struct Sum {
    sum: f64,
    label: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
struct Slow {
    /// How long to sleep, in milliseconds.
    #[schemars(range(min = 0, max = 600_000))]
    ms: u64,
    /// By what `tour_slow_status` finds this call.
    #[schemars(length(min = 1, max = 64))]
    tag: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
struct Status {
    /// The tag of a call of `tour_slow`, anybody's.
    #[schemars(length(min = 1, max = 64))]
    tag: String,
}

pub(crate) fn tools() -> [ToolBuilder; 4] {
    [
        tool("tour_echo", "Returns the text.", echo).read_only(true),
        tool("tour_structured", "Adds, and answers in structure.", add).read_only(true),
        tool(
            "tour_slow",
            "Sleeps, unless it is cancelled, and records what became of it.",
            slow,
        ),
        tool(
            "tour_slow_status",
            "Tells what became of a call of `tour_slow`.",
            status,
        )
        .read_only(true),
    ]
}

async fn echo(arguments: Echo, _context: Context) -> String {
    arguments.text
}

async fn add(arguments: Add, _context: Context) -> Json<Sum> {
    Json(Sum {
        sum: arguments.a + arguments.b,
        label: "sum".to_owned(),
    })
}

async fn slow(arguments: Slow, context: Context) -> Result<String, ToolError> {
    let running = Running::start(Record::of(&arguments.tag))?;
    let slept: Result<(), Cancelled> = context.sleep(Duration::from_millis(arguments.ms)).await;
    slept?;
    running.complete()?;
    Ok(format!("slept for {} ms", arguments.ms))
}

async fn status(arguments: Status, _context: Context) -> Json<Seen> {
    Json(Record::of(&arguments.tag).seen())
}
