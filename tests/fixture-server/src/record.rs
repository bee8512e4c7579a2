//! What callbacks have done, where every process of the tree sees it: files in the
//! folder that the tree was started in.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use conduit::schemars::JsonSchema;
use conduit::serde::Deserialize;
use conduit::{Cancelled, Context, ToolBuilder, ToolError, tool};

const RECORD: &str = "record";

/// How often a callback looks whether it was released.
const LOOK: Duration = Duration::from_millis(5);

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
struct Line {
    /// How the lines begin that count.
    line: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
struct Name {
    /// What is waiting.
    name: String,
}

pub(crate) fn tools() -> [ToolBuilder; 2] {
    [
        tool(
            "recorded",
            "Tells how often callbacks have done something.",
            recorded,
        )
        .read_only(true),
        tool("release", "Lets go on what waits for it.", release),
    ]
}

/// Writes a line down.
pub(crate) fn note(line: &str) -> io::Result<()> {
    let mut record = OpenOptions::new().create(true).append(true).open(RECORD)?;
    record.write_all(format!("{line}\n").as_bytes())
}

/// Waits until somebody calls `release` with that name, in any process.
pub(crate) async fn released(name: &str, context: &Context) -> Result<(), Cancelled> {
    while !mark(name).exists() {
        context.sleep(LOOK).await?;
    }
    Ok(())
}

async fn recorded(arguments: Line, _context: Context) -> Result<String, ToolError> {
    let record = match fs::read_to_string(RECORD) {
        Ok(record) => record,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error.into()),
    };
    let lines = record
        .lines()
        .filter(|line| line.starts_with(&arguments.line));
    Ok(lines.count().to_string())
}

async fn release(arguments: Name, _context: Context) -> Result<&'static str, ToolError> {
    fs::write(mark(&arguments.name), "")?;
    Ok("released")
}

fn mark(name: &str) -> PathBuf {
    Path::new(&format!("released-{name}")).to_owned()
}
