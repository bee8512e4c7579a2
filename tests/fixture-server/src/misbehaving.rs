//! Tools as a bad author writes them.

use conduit::{Context, NoArguments, ToolBuilder, ToolError, tool};

use crate::slow::Wait;

pub(crate) fn tools() -> [ToolBuilder; 3] {
    [
        tool(
            "block_loop",
            "Blocks the loop that it promised not to.",
            block_loop,
        )
        .inline(),
        tool("boom", "Panics, with a secret in its text.", boom),
        tool("fail", "Fails.", fail),
    ]
}

#[expect(clippy::disallowed_methods, reason = "blocks on purpose")]
async fn block_loop(arguments: Wait, _context: Context) -> &'static str {
    std::thread::sleep(arguments.duration());
    "blocked the loop"
}

#[expect(clippy::panic, reason = "panics on purpose")]
async fn boom(_: NoArguments, _context: Context) -> String {
    panic!("db 10.0.0.5 pw=hunter2");
}

async fn fail(_: NoArguments, _context: Context) -> Result<String, ToolError> {
    Err(ToolError::new("this tool always fails; call another one"))
}
