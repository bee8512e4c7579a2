//! What clients hear while no gateway can serve them.
//!
//! Connections wait in the backlog while a gateway is replaced, which takes less than
//! a second. When all of them are parked nobody would ever accept, and clients would
//! hang; so whoever owns the socket turns them away until a gateway is back.

use std::io;
use std::net::TcpListener;

use tokio_util::task::TaskTracker;
use tracing::debug;

use crate::accept::turn_away;

/// The most connections that are being turned away at once.
const AT_ONCE: usize = 256;

/// Answers every connection 503 and closes it, for as long as it is polled.
///
/// # Errors
///
/// Fails when the socket cannot be watched or accepted from.
///
/// # Cancel safety
///
/// Dropping it stops accepting; answers that are on their way go on.
pub async fn turn_away_all(listener: TcpListener) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let answers = TaskTracker::new();
    loop {
        let (stream, _peer) = listener.accept().await?;
        if answers.len() < AT_ONCE {
            answers.spawn(turn_away(stream));
        } else {
            debug!("too many to turn away, closing without an answer");
        }
    }
}
