//! What crosses a socket: length, version, kind, body.
//!
//! ```text
//! 00 00 00 05   the number of bytes that follow, big-endian
//! 01            the version
//! 01            the kind: 0 hello, 1 heartbeat, 2 credit, 3 event, 4 call, 5 answer
//! ac 02 ..      the body, in postcard's encoding
//! ```

use bytes::{Bytes, BytesMut};
use serde::{Deserialize, Serialize};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio_util::codec::{FramedRead, FramedWrite, LengthDelimitedCodec};

use crate::{Answer, Hello, Lane, Message};

/// The version of the lines above. The messages are not versioned: both ends run
/// the same build.
const VERSION: u8 = 1;

/// Buffers start with this many bytes and grow with the frames.
const BUFFER: usize = 8 * 1024;

/// Buffers that a frame of more bytes has blown up are not kept.
const LARGE: usize = 64 * 1024;

pub(crate) type Reader = FramedRead<OwnedReadHalf, LengthDelimitedCodec>;
pub(crate) type Writer = FramedWrite<OwnedWriteHalf, LengthDelimitedCodec>;

/// One frame. The order of the variants is on the wire.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Frame {
    Hello(Hello),
    Heartbeat {
        lag_ms: u64,
    },
    Credit {
        frames: u32,
    },
    Event {
        lane: Lane,
        message: Message,
    },
    Call {
        lane: Lane,
        id: u64,
        message: Message,
    },
    Answer {
        id: u64,
        answer: Answer,
    },
}

/// Why bytes are no frame.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FrameError {
    #[error("a frame of version {0:?}, not {VERSION}")]
    Version(Option<u8>),
    #[error("a frame that cannot be decoded")]
    Body(#[source] postcard::Error),
    #[error("a frame with {0} bytes too many")]
    Trailing(usize),
    #[error("a message that cannot be encoded")]
    Encode(#[source] postcard::Error),
    #[error("a frame of {bytes} bytes, when {most} are allowed")]
    TooLarge { bytes: usize, most: usize },
}

impl Frame {
    /// Encodes the frame, without its length.
    pub(crate) fn encode(&self, most: usize) -> Result<Bytes, FrameError> {
        let encoded = postcard::to_extend(self, vec![VERSION]).map_err(FrameError::Encode)?;
        if encoded.len() > most {
            return Err(FrameError::TooLarge {
                bytes: encoded.len(),
                most,
            });
        }
        Ok(encoded.into())
    }

    /// Decodes a frame, without its length; any bytes are fine to try.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, FrameError> {
        let body = match bytes.split_first() {
            Some((&VERSION, body)) => body,
            other => return Err(FrameError::Version(other.map(|(&version, _)| version))),
        };
        match postcard::take_from_bytes(body) {
            Ok((frame, [])) => Ok(frame),
            Ok((_, rest)) => Err(FrameError::Trailing(rest.len())),
            Err(error) => Err(FrameError::Body(error)),
        }
    }
}

pub(crate) fn reader(half: OwnedReadHalf, most: usize) -> Reader {
    FramedRead::with_capacity(half, codec(most), BUFFER)
}

pub(crate) fn writer(half: OwnedWriteHalf, most: usize) -> Writer {
    let mut writer = FramedWrite::new(half, codec(most));
    writer.set_backpressure_boundary(8 * BUFFER);
    writer
}

/// Lets go of the buffer that a frame of so many bytes has left behind.
pub(crate) fn shrink_reader(reader: &mut Reader, frame: usize) {
    if frame > LARGE && reader.read_buffer().is_empty() {
        *reader.read_buffer_mut() = BytesMut::with_capacity(BUFFER);
    }
}

/// Lets go of the buffer that a frame of so many bytes has left behind.
pub(crate) fn shrink_writer(writer: &mut Writer, frame: usize) {
    if frame > LARGE && writer.write_buffer().is_empty() {
        *writer.write_buffer_mut() = BytesMut::with_capacity(BUFFER);
    }
}

fn codec(most: usize) -> LengthDelimitedCodec {
    LengthDelimitedCodec::builder()
        .max_frame_length(most)
        .new_codec()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_bytes::ByteBuf;
    use uuid::Uuid;

    use super::*;
    use crate::{
        Change, FromHub, Mail, Recipients, Replay, SessionRecord, Slot, Subject, ToHub, ToStore,
        Topic,
    };

    const MOST: usize = 1024 * 1024;

    fn session(text: &str, bytes: Vec<u8>) -> SessionRecord {
        SessionRecord {
            id: Uuid::from_u128(7),
            server: text.to_owned(),
            version: text.to_owned(),
            principal: Some(text.to_owned()),
            capabilities: ByteBuf::from(bytes),
            client: ByteBuf::new(),
            level: None,
            subscriptions: vec![text.to_owned()],
        }
    }

    fn topics(text: &str) -> Vec<Topic> {
        let uri = Subject::Resource(text.to_owned());
        let task = Subject::Task(Uuid::from_u128(6));
        [
            Subject::Tools,
            Subject::Prompts,
            Subject::Resources,
            uri,
            task,
        ]
        .into_iter()
        .map(|subject| Topic {
            server: text.to_owned(),
            subject,
        })
        .collect()
    }

    /// What goes between gateways and a hub.
    fn hub_messages(text: &str, number: u64) -> Vec<Message> {
        let resume = Mail::Resume {
            session: text.to_owned(),
            stream: Uuid::from_u128(8),
            after: number,
            offset: number,
            patience_ms: number,
        };
        let changes: Vec<_> = topics(text)
            .into_iter()
            .map(|topic| Change {
                topic,
                at_us: number,
            })
            .collect();
        let interest = FromHub::Interest {
            added: vec![number, 0],
            removed: Vec::new(),
            complete: Some(number),
        };
        vec![
            Message::ToHub(ToHub::Enter { epoch: number }),
            Message::ToHub(ToHub::Register {
                epoch: number,
                topics: topics(text),
            }),
            Message::ToHub(ToHub::Unregister {
                topics: topics(text),
            }),
            Message::ToHub(ToHub::Settle { epoch: number }),
            Message::ToHub(ToHub::Publish {
                epoch: number,
                changes: changes.clone(),
                deadline_ms: number,
            }),
            Message::FromHub(FromHub::Changed { changes }),
            Message::FromHub(interest),
            Message::ToHub(ToHub::Mail {
                to: Recipients::One(Slot::gateway(2)),
                mail: resume,
                deadline_ms: number,
            }),
        ]
    }

    fn answers(bytes: &[u8], number: u64) -> Vec<Answer> {
        let event = Replay::Event {
            number,
            part: ByteBuf::from(bytes),
            more: true,
        };
        let replays = [Replay::Unknown, Replay::Wait, event, Replay::End];
        let told = Answer::Told { left: vec![7, 0] };
        let metrics = Answer::Metrics(ByteBuf::from(bytes));
        let replays = replays.into_iter().map(Answer::Replay);
        [metrics, told].into_iter().chain(replays).collect()
    }

    fn frames(text: &str, bytes: Vec<u8>, number: u64) -> Vec<Frame> {
        let calls = hub_messages(text, number).into_iter().map(|message| {
            let lane = Lane::Data;
            Frame::Call {
                lane,
                id: number,
                message,
            }
        });
        let answers = answers(&bytes, number)
            .into_iter()
            .map(|answer| Frame::Answer { id: number, answer });
        let mut frames = vec![
            Frame::Hello(Hello {
                build: text.to_owned(),
                slot: Slot::hub(3),
                pid: 4,
                life: Uuid::from_u128(5),
                epoch: number,
                holds_listener: true,
            }),
            Frame::Heartbeat { lag_ms: number },
            Frame::Credit { frames: 6 },
            Frame::Event {
                lane: Lane::Control,
                message: Message::Answer(Answer::Done),
            },
            Frame::Call {
                lane: Lane::Data,
                id: number,
                message: Message::ToStore(ToStore::OpenSession(session(text, bytes))),
            },
            Frame::Call {
                lane: Lane::Data,
                id: number,
                message: Message::ToStore(ToStore::SubscribeSession {
                    id: Uuid::from_u128(9),
                    uri: text.to_owned(),
                    on: true,
                }),
            },
        ];
        frames.extend(calls);
        frames.extend(answers);
        frames
    }

    #[test]
    fn a_frame_of_another_version_is_refused() {
        let mut bytes = Frame::Credit { frames: 1 }.encode(MOST).unwrap().to_vec();
        bytes[0] += 1;

        let refusal = Frame::decode(&bytes).unwrap_err();

        assert!(matches!(refusal, FrameError::Version(Some(2))), "{refusal}");
    }

    #[test]
    fn bytes_behind_a_frame_are_refused() {
        let mut bytes = Frame::Credit { frames: 1 }.encode(MOST).unwrap().to_vec();
        bytes.push(0);

        let refusal = Frame::decode(&bytes).unwrap_err();

        assert!(matches!(refusal, FrameError::Trailing(1)), "{refusal}");
    }

    #[test]
    fn a_frame_that_is_too_large_is_not_sent() {
        let frame = Frame::Answer {
            id: 1,
            answer: Answer::Metrics(ByteBuf::from(vec![0; 100])),
        };

        let refusal = frame.encode(100).unwrap_err();

        assert!(
            matches!(refusal, FrameError::TooLarge { most: 100, .. }),
            "{refusal}"
        );
    }

    proptest! {
        #[test]
        fn decoding_what_was_encoded_gives_it_back(
            text in ".*",
            bytes in proptest::collection::vec(any::<u8>(), 0..2_000),
            number in any::<u64>(),
        ) {
            for frame in frames(&text, bytes, number) {
                let encoded = frame.encode(MOST).unwrap();
                prop_assert_eq!(Frame::decode(&encoded).unwrap(), frame);
            }
        }

        #[test]
        fn any_bytes_decode_or_fail(bytes in proptest::collection::vec(any::<u8>(), 0..500)) {
            drop(Frame::decode(&bytes));
        }

        #[test]
        fn damaged_frames_decode_or_fail(
            which in any::<prop::sample::Index>(),
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut frames = frames("text", vec![1; 50], 1 << 40);
            let frame = frames.swap_remove(which.index(frames.len()));
            let mut bytes = frame.encode(MOST).unwrap().to_vec();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            bytes.truncate(cut.index(bytes.len()) + 1);

            drop(Frame::decode(&bytes));
        }
    }
}
