//! Server-sent events: one JSON-RPC message an event, comments while it is quiet.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{BufMut, Bytes, BytesMut};
use conduit_protocol::Rendered;
use conduit_runtime::Event;
use futures_util::Stream;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use warp::Reply;
use warp::reply::Response;

use crate::body::Share;
use crate::keep_alive::Seat;
use crate::routes::State;

/// Answers with a stream of messages that ends when `messages` does; until then the
/// request keeps its share of the budget.
pub(crate) fn respond(
    state: &State,
    events: impl Stream<Item = Event> + Send + Sync + Unpin + 'static,
    share: Share,
) -> Response {
    let events = Events {
        events,
        silence: state.keep_alive.seat(),
        share,
    };
    let mut response = warp::reply::stream(events).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // Proxies that buffer would turn a stream into one late lump (A12).
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// What a stream says when it has nothing to say.
const COMMENT: &[u8] = b": keep-alive\n\n";

struct Events<S> {
    events: S,
    silence: Seat,
    share: Share,
}

impl<S: Stream<Item = Event> + Unpin> Stream for Events<S> {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match Pin::new(&mut self.events).poll_next(context) {
            Poll::Ready(Some(event)) => {
                self.silence.spoke();
                let event = frame(&event);
                Poll::Ready(Some(Ok(self.share.another().hold(event))))
            }
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending if self.silence.is_due(context.waker()) => {
                Poll::Ready(Some(Ok(Bytes::from_static(COMMENT))))
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

/// Frames an event. Compact JSON has no line breaks, so a message is one `data:` line;
/// without a message that line is empty (L-HTTP-17).
fn frame(event: &Event) -> Bytes {
    const AROUND: usize = 96;
    let size = event.message.as_ref().map_or(0, Rendered::size);
    let mut framed = BytesMut::with_capacity(AROUND + size);
    if let Some(id) = &event.id {
        line(&mut framed, b"id: ", id.as_bytes());
    }
    if let Some(retry) = event.retry {
        line(
            &mut framed,
            b"retry: ",
            retry.as_millis().to_string().as_bytes(),
        );
    }
    match &event.message {
        Some(message) => {
            framed.put_slice(b"event: message\ndata: ");
            for part in message.parts() {
                framed.put_slice(part);
            }
            framed.put_u8(b'\n');
        }
        None => line(&mut framed, b"data:", b""),
    }
    framed.put_u8(b'\n');
    framed.freeze()
}

fn line(framed: &mut BytesMut, name: &[u8], value: &[u8]) {
    framed.put_slice(name);
    framed.put_slice(value);
    framed.put_u8(b'\n');
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::{StreamExt, stream};
    use tokio::time::Instant;

    use super::*;
    use crate::body::Budget;
    use crate::keep_alive::KeepAlive;

    const KEEP_ALIVE: Duration = Duration::from_secs(15);

    fn events<S>(events: S) -> Events<S> {
        Events {
            events,
            silence: KeepAlive::new(KEEP_ALIVE).seat(),
            share: Budget::new(0).share(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_is_one_event_with_one_data_line() {
        let message = Rendered::from(Bytes::from_static(b"{\"a\":1}"));

        let message = Event::message(message);
        let sent: Vec<_> = events(stream::iter([message])).collect().await;

        assert_eq!(
            sent,
            [Ok(Bytes::from_static(
                b"event: message\ndata: {\"a\":1}\n\n"
            ))]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn an_event_may_carry_an_id_and_nothing_else() {
        let primed = Event {
            id: Some("0-7-0".to_owned()),
            retry: Some(Duration::from_millis(500)),
            message: None,
        };

        let sent: Vec<_> = events(stream::iter([primed])).collect().await;

        let expected = b"id: 0-7-0\nretry: 500\ndata:\n\n";
        assert_eq!(sent, [Ok(Bytes::from_static(expected))]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_quiet_stream_gets_a_comment_in_each_interval() {
        let mut quiet = events(stream::pending::<Event>());

        for _ in 0..3 {
            let start = Instant::now();
            let comment = quiet.next().await.expect("a comment").expect("no error");
            assert!(comment.starts_with(b":"));
            assert!(start.elapsed() <= KEEP_ALIVE);
        }
    }
}
