//! The floor's event streams: each has a queue, and an update goes into all of them.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::Full;
use hyper::Response;
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use tokio::sync::Mutex;
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// How many updates a stream may be behind; who is further behind misses some.
const BEHIND: usize = 8;
const ACKNOWLEDGED: &[u8] = b"event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\"}\n\n";
/// As long as what a hub sends to a listen stream.
const UPDATED: &[u8] = b"event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\"params\":{\"uri\":\"bench://resource/1\",\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":1000}}}\n\n";

/// The streams that are open.
#[derive(Debug, Default)]
pub(super) struct Streams(Mutex<Vec<Sender<Bytes>>>);

/// An answer: whole, or a stream.
#[derive(Debug)]
pub(super) enum Answer {
    Whole(Full<Bytes>),
    Stream(Receiver<Bytes>),
}

impl Streams {
    /// Opens one more, with its acknowledgement.
    pub(super) async fn open(&self) -> Response<Answer> {
        let (sender, receiver) = channel(BEHIND);
        // There is room: it is new.
        drop(sender.try_send(Bytes::from_static(ACKNOWLEDGED)));
        self.0.lock().await.push(sender);
        let mut response = Response::new(Answer::Stream(receiver));
        let kind = HeaderValue::from_static("text/event-stream");
        response.headers_mut().insert(CONTENT_TYPE, kind);
        response
    }

    /// Writes an update to all of them, and forgets those that are gone.
    pub(super) async fn update(&self) {
        let update = Bytes::from_static(UPDATED);
        let mut streams = self.0.lock().await;
        streams.retain(|stream| !stream.is_closed());
        for stream in &*streams {
            drop(stream.try_send(update.clone()));
        }
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(body) => Pin::new(body).poll_frame(context),
            Self::Stream(updates) => updates
                .poll_recv(context)
                .map(|update| update.map(|update| Ok(Frame::data(update)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(body) => body.is_end_stream(),
            Self::Stream(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(body) => body.size_hint(),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}
