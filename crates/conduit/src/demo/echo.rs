//! `echo`: repeats a message.

use conduit_server::{Context, ToolBuilder};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Echo {
    /// The text to return.
    message: String,
}

pub(super) fn tool() -> ToolBuilder {
    conduit_server::tool("echo", "Returns the message it was given, unchanged.", echo)
        .title("Echo")
        .read_only(true)
        .idempotent(true)
        .open_world(false)
        .inline()
}

async fn echo(arguments: Echo, _context: Context) -> String {
    arguments.message
}
