//! Lets peers in at our own socket.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::MissedTickBehavior;
use tokio_util::task::TaskTracker;
use tracing::warn;

use crate::connection;
use crate::delivery::Receiver;
use crate::hello::{Meeting, Refused, meet};
use crate::line::EndOfLine;
use crate::process::Process;
use crate::registry::Accepted;

/// The most connections that have not said hello yet; others wait in the backlog.
const STRANGERS: usize = 64;

/// How long to wait after the kernel refused us a connection.
const PAUSE: Duration = Duration::from_millis(100);

/// Accepts until the process stops.
pub(crate) async fn accept(
    process: Arc<Process>,
    mut listener: UnixListener,
    receiver: Receiver,
    tasks: TaskTracker,
) {
    let mut looks = tokio::time::interval(process.options.heartbeat);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let strangers = Arc::new(Semaphore::new(STRANGERS));
    let door = async {
        while let Ok(stranger) = Arc::clone(&strangers).acquire_owned().await {
            let accepted = loop {
                tokio::select! {
                    biased;
                    accepted = listener.accept() => break accepted,
                    _ = looks.tick() => mend(&process, &mut listener),
                }
            };
            match accepted {
                Ok((stream, _address)) => {
                    let process = Arc::clone(&process);
                    let receiver = Arc::clone(&receiver);
                    tasks.spawn(welcome(process, stream, stranger, receiver));
                }
                Err(error) => {
                    warn!(%error, "cannot accept a link");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    };
    tokio::select! {
        () = process.stop.cancelled() => {}
        () = door => {}
    }
}

/// Listens again if somebody took our socket away; links that are up go on.
fn mend(process: &Process, listener: &mut UnixListener) {
    let name = process.options.slot.to_string();
    if !process.run_dir.misses(&name) {
        return;
    }
    match process.run_dir.listen(&name) {
        Ok(fresh) => {
            warn!("our socket was taken away, listening again");
            *listener = fresh;
        }
        Err(error) => warn!(%error, "our socket was taken away, cannot listen again"),
    }
}

// === One connection ===

async fn welcome(
    process: Arc<Process>,
    stream: UnixStream,
    stranger: OwnedSemaphorePermit,
    receiver: Receiver,
) {
    let met = tokio::select! {
        () = process.stop.cancelled() => return,
        met = introduce(&process, stream) => met,
    };
    drop(stranger);
    let (meeting, Accepted { line, former }) = match met {
        Ok(met) => met,
        Err(refused) => {
            warn!(%refused, "a peer was not let in");
            return;
        }
    };
    let end = EndOfLine(Arc::clone(&line));
    // One slot has one link: the receiver hears of the old one's end first.
    if let Some(former) = former {
        former.replaced.cancel();
        former.gone.cancelled().await;
    }
    if !line.replaced.is_cancelled() {
        connection::run(&process, &line, meeting, &receiver).await;
    }
    drop(end);
}

async fn introduce(process: &Process, stream: UnixStream) -> Result<(Meeting, Accepted), Refused> {
    let options = &process.options;
    let ours = process.hello();
    let meeting = meet(stream, ours, None, options.max_frame, options.dead_after).await?;
    let accepted = process
        .registry
        .accept(&meeting.peer.slot, options.max_frame)
        .ok_or(Refused::Crowded)?;
    Ok((meeting, accepted))
}
