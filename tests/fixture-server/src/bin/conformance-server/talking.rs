//! Tools that say something before they answer.

use std::time::Duration;

use conduit::{Cancelled, Context, LogLevel, NoArguments, ToolBuilder, tool};

/// Between two things that a tool says.
const PAUSE: Duration = Duration::from_millis(50);

/// Between the end of a stream and the result for which its client comes back.
const ABSENCE: Duration = Duration::from_millis(100);

pub(crate) fn tools() -> [ToolBuilder; 4] {
    [
        tool(
            "test_tool_with_logging",
            "Writes three lines to the log before it answers.",
            log_three,
        ),
        tool(
            "test_logging_tool",
            "Writes a line to the log before it answers.",
            log_one,
        ),
        tool(
            "test_tool_with_progress",
            "Reports progress before it answers.",
            progress,
        ),
        tool(
            "test_reconnection",
            "Closes the stream of the call, and answers to whoever comes back.",
            reconnect,
        )
        .streams(),
    ]
}

async fn log_three(_: NoArguments, context: Context) -> Result<&'static str, Cancelled> {
    context.log(LogLevel::Info, None, "Tool execution started");
    context.sleep(PAUSE).await?;
    context.log(LogLevel::Info, None, "Tool processing data");
    context.sleep(PAUSE).await?;
    context.log(LogLevel::Info, None, "Tool execution completed");
    Ok("Tool with logging executed successfully")
}

async fn log_one(_: NoArguments, context: Context) -> &'static str {
    context.log(LogLevel::Info, None, "Tool execution");
    "Logging tool executed successfully"
}

async fn progress(_: NoArguments, context: Context) -> Result<&'static str, Cancelled> {
    context.progress(0.0, Some(100.0), None);
    context.sleep(PAUSE).await?;
    context.progress(50.0, Some(100.0), None);
    context.sleep(PAUSE).await?;
    context.progress(100.0, Some(100.0), None);
    Ok("Tool with progress executed successfully")
}

async fn reconnect(_: NoArguments, context: Context) -> Result<&'static str, Cancelled> {
    context.close_stream(PAUSE);
    context.sleep(ABSENCE).await?;
    Ok("The stream was closed, and the answer came.")
}
