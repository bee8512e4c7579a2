//! The first frame in each direction, and whom we refuse.

use std::io;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use tokio::net::UnixStream;

use crate::frame::{self, Frame, FrameError, Reader, Writer};
use crate::{Hello, Slot};

/// A connection whose ends have accepted each other.
#[derive(Debug)]
pub(crate) struct Meeting {
    pub(crate) peer: Hello,
    pub(crate) reader: Reader,
    pub(crate) writer: Writer,
}

/// Why there was no meeting.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    #[error("cannot reach the peer's socket")]
    Unreachable(#[source] io::Error),
    #[error("cannot tell which user the peer runs as")]
    Credentials(#[source] io::Error),
    #[error("the peer runs as another user")]
    Stranger,
    #[error("the connection failed before both had said hello")]
    Lost(#[source] io::Error),
    #[error("the peer ended the connection before it said hello")]
    Ended,
    #[error("the peer's hello is no hello")]
    Garbled(#[source] FrameError),
    #[error("the peer began with something else than hello")]
    Rude,
    #[error("the peer runs build `{theirs}`, we run `{ours}`")]
    Build { ours: String, theirs: String },
    #[error("`{found}` listens where `{expected}` should")]
    Misplaced { expected: Slot, found: Slot },
    #[error("the peer did not say hello in time")]
    Late,
    #[error("as many peers as may be are known")]
    Crowded,
}

impl Refused {
    /// Returns whether the peer, or we, refused; else it was not there.
    pub(crate) const fn is_deliberate(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::Lost(_) | Self::Ended | Self::Late => false,
            Self::Credentials(_)
            | Self::Stranger
            | Self::Garbled(_)
            | Self::Rude
            | Self::Build { .. }
            | Self::Misplaced { .. }
            | Self::Crowded => true,
        }
    }
}

/// Says `ours` and hears the peer's; `expected` is whom we wanted to reach.
pub(crate) async fn meet(
    stream: UnixStream,
    ours: Hello,
    expected: Option<&Slot>,
    max_frame: usize,
    patience: Duration,
) -> Result<Meeting, Refused> {
    if !same_user(&stream).map_err(Refused::Credentials)? {
        return Err(Refused::Stranger);
    }
    let (read, write) = stream.into_split();
    let reader = frame::reader(read, max_frame);
    let writer = frame::writer(write, max_frame);
    tokio::time::timeout(
        patience,
        exchange(reader, writer, ours, expected, max_frame),
    )
    .await
    .unwrap_or(Err(Refused::Late))
}

// === The exchange ===

/// Returns whether the peer runs as the same user as this process
/// (`SO_PEERCRED`).
fn same_user(stream: &UnixStream) -> io::Result<bool> {
    let peer = stream.peer_cred()?.uid();
    Ok(peer == rustix::process::geteuid().as_raw())
}

async fn exchange(
    mut reader: Reader,
    mut writer: Writer,
    ours: Hello,
    expected: Option<&Slot>,
    max_frame: usize,
) -> Result<Meeting, Refused> {
    let build = ours.build.clone();
    let bytes = Frame::Hello(ours)
        .encode(max_frame)
        .map_err(Refused::Garbled)?;
    writer.send(bytes).await.map_err(Refused::Lost)?;
    let bytes = match reader.next().await {
        Some(Ok(bytes)) => bytes,
        Some(Err(error)) => return Err(Refused::Lost(error)),
        None => return Err(Refused::Ended),
    };
    let Frame::Hello(peer) = Frame::decode(&bytes).map_err(Refused::Garbled)? else {
        return Err(Refused::Rude);
    };
    judge(&build, expected, &peer)?;
    Ok(Meeting {
        peer,
        reader,
        writer,
    })
}

fn judge(build: &str, expected: Option<&Slot>, peer: &Hello) -> Result<(), Refused> {
    if peer.build != build {
        return Err(Refused::Build {
            ours: build.to_owned(),
            theirs: peer.build.clone(),
        });
    }
    match expected {
        Some(expected) if *expected != peer.slot => Err(Refused::Misplaced {
            expected: expected.clone(),
            found: peer.slot.clone(),
        }),
        Some(_) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    fn hello(build: &str, slot: Slot) -> Hello {
        Hello {
            build: build.to_owned(),
            slot,
            pid: 1,
            life: Uuid::from_u128(1),
            epoch: 0,
            holds_listener: false,
        }
    }

    async fn both(
        expected: &Slot,
        one: Hello,
        other: Hello,
    ) -> (Result<Meeting, Refused>, Result<Meeting, Refused>) {
        let (near, far) = UnixStream::pair().unwrap();
        tokio::join!(
            meet(near, one, Some(expected), 1024, PATIENCE),
            meet(far, other, None, 1024, PATIENCE),
        )
    }

    #[tokio::test]
    async fn a_process_is_the_same_user_as_itself() {
        let (near, _far) = UnixStream::pair().unwrap();

        assert!(same_user(&near).unwrap());
    }

    #[tokio::test]
    async fn two_of_one_build_meet() {
        let (one, other) = both(
            &Slot::STORE,
            hello("a", Slot::gateway(1)),
            hello("a", Slot::STORE),
        )
        .await;

        assert_eq!(one.unwrap().peer.slot, Slot::STORE);
        assert_eq!(other.unwrap().peer.slot, Slot::gateway(1));
    }

    #[tokio::test]
    async fn another_build_is_refused_by_both() {
        let (one, other) = both(
            &Slot::STORE,
            hello("a", Slot::gateway(1)),
            hello("b", Slot::STORE),
        )
        .await;

        assert!(matches!(one, Err(Refused::Build { .. })), "{one:?}");
        assert!(matches!(other, Err(Refused::Build { .. })), "{other:?}");
    }

    #[tokio::test]
    async fn a_peer_in_the_wrong_place_is_refused() {
        let (one, _other) = both(
            &Slot::STORE,
            hello("a", Slot::gateway(1)),
            hello("a", Slot::hub(0)),
        )
        .await;

        assert!(matches!(one, Err(Refused::Misplaced { .. })), "{one:?}");
    }

    #[tokio::test]
    async fn a_peer_that_does_not_speak_is_refused_in_time() {
        let (near, _far) = UnixStream::pair().unwrap();

        let refused = meet(
            near,
            hello("a", Slot::gateway(0)),
            None,
            1024,
            Duration::from_millis(1),
        )
        .await;

        assert!(matches!(refused, Err(Refused::Late)), "{refused:?}");
    }
}
