//! Keeps a link that we open: connects, and connects again, until it is closed.

use std::sync::Arc;
use std::time::Duration;

use conduit_lifecycle::Backoff;
use tokio::time::Instant;
use tracing::{debug, warn};

use crate::connection;
use crate::delivery::Receiver;
use crate::hello::{Meeting, Refused, meet};
use crate::line::{EndOfLine, Line};
use crate::process::Process;

/// The delays between attempts.
const BACKOFF: Backoff = Backoff {
    first: Duration::from_millis(10),
    most: Duration::from_millis(500),
};

/// Runs until the line is closed or the process stops.
pub(crate) async fn keep(process: Arc<Process>, line: Arc<Line>, receiver: Receiver) {
    let end = EndOfLine(Arc::clone(&line));
    let mut failures = 0_usize;
    let mut complaint = String::new();
    while let Some(met) = unless_over(&process, &line, attempt(&process, &line)).await {
        match met {
            Ok(meeting) => {
                let up = Instant::now();
                connection::run(&process, &line, meeting, &receiver).await;
                complaint.clear();
                // A peer that falls over at once is not hammered.
                let lasted = up.elapsed() > BACKOFF.most;
                failures = if lasted { 1 } else { failures + 1 };
            }
            Err(refused) => {
                complain(&line, &refused, &mut complaint);
                failures += 1;
            }
        }
        let pause = tokio::time::sleep(BACKOFF.delay(failures - 1));
        if unless_over(&process, &line, pause).await.is_none() {
            break;
        }
    }
    process.registry.forget(&line);
    drop(end);
}

// === Attempts ===

/// Does `it`, unless the line is closed or the process stops.
async fn unless_over<T>(process: &Process, line: &Line, it: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        () = process.stop.cancelled() => None,
        () = line.closing.cancelled() => None,
        done = it => Some(done),
    }
}

async fn attempt(process: &Process, line: &Line) -> Result<Meeting, Refused> {
    let options = &process.options;
    let stream = process
        .run_dir
        .connect(&line.peer.to_string())
        .await
        .map_err(Refused::Unreachable)?;
    let ours = process.hello();
    let expected = Some(&line.peer);
    meet(
        stream,
        ours,
        expected,
        options.max_frame,
        options.dead_after,
    )
    .await
}

/// Logs a refusal, but not the same one at every attempt.
fn complain(line: &Line, refused: &Refused, last: &mut String) {
    if !refused.is_deliberate() {
        debug!(peer = %line.peer, %refused, "no link yet");
        return;
    }
    line.counters.refused();
    let text = refused.to_string();
    if *last != text {
        warn!(peer = %line.peer, %refused, "no link");
        *last = text;
    }
}
