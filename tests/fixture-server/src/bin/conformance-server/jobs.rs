//! Tools of the tasks extension. So far there are none that become a task.

use conduit::schemars::JsonSchema;
use conduit::serde::Deserialize;
use conduit::{Context, ToolBuilder, tool};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
struct Greet {
    /// Who is to be greeted.
    name: String,
}

pub(crate) fn tools() -> [ToolBuilder; 1] {
    [tool("greet", "Greets somebody, at once.", greet).read_only(true)]
}

async fn greet(arguments: Greet, _context: Context) -> String {
    format!("Hello, {}!", arguments.name)
}
