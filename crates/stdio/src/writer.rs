//! The only writer: whole messages, one a line.

use std::io;

use bytes::{BufMut, BytesMut};
use conduit_protocol::Rendered;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

/// Answers that may wait for the writer.
pub const ANSWERS: usize = 64;

/// Writes messages until nobody can send any more.
///
/// # Errors
///
/// Fails when the output is closed or broken.
pub(crate) async fn write(
    mut output: impl AsyncWrite + Unpin,
    mut messages: mpsc::Receiver<Rendered>,
) -> io::Result<()> {
    let mut lines = BytesMut::new();
    while let Some(message) = messages.recv().await {
        put(&mut lines, &message);
        // What else is ready goes into the same system call.
        while lines.len() < BATCH
            && let Ok(message) = messages.try_recv()
        {
            put(&mut lines, &message);
        }
        output.write_all(&lines).await?;
        output.flush().await?;
        lines.clear();
    }
    Ok(())
}

/// The bytes that one system call should have at most, unless a message is larger.
const BATCH: usize = 64 * 1024;

/// Compact JSON has no line feed, so a message is a line.
fn put(lines: &mut BytesMut, message: &Rendered) {
    for part in message.parts() {
        lines.put_slice(part);
    }
    lines.put_u8(b'\n');
}
