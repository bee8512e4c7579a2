//! Tools that need something of the client. So far there are none that ask for it.

use conduit::serde_json::json;
use conduit::{Context, NoArguments, ToolBuilder, ToolError, WireError, tool};

pub(crate) fn tools() -> [ToolBuilder; 1] {
    [tool(
        "test_missing_capability",
        "Works only for clients that can sample a model.",
        needs_sampling,
    )]
}

async fn needs_sampling(_: NoArguments, context: Context) -> Result<&'static str, ToolError> {
    if context.client_capabilities().samples() {
        return Ok("The client can sample a model.");
    }
    let required = json!({ "sampling": {} });
    let missing = WireError::missing_capability("sampling is required", &required);
    Err(ToolError::protocol(missing))
}
