//! Server-sent events: one JSON-RPC message an event, comments while it is quiet.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use conduit_protocol::Rendered;
use futures_util::Stream;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};
use warp::Reply;
use warp::reply::Response;

use crate::body::Share;
use crate::routes::State;

/// Answers with a stream of messages that ends when `messages` does; until then the
/// request keeps its share of the budget.
pub(crate) fn respond(
    state: &State,
    messages: impl Stream<Item = Rendered> + Send + Sync + Unpin + 'static,
    share: Share,
) -> Response {
    let events = Events {
        messages,
        comments: comments(state.keep_alive),
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

fn comments(every: Duration) -> Interval {
    let mut comments = interval_at(Instant::now() + every, every);
    comments.set_missed_tick_behavior(MissedTickBehavior::Delay);
    comments
}

struct Events<S> {
    messages: S,
    comments: Interval,
    share: Share,
}

impl<S: Stream<Item = Rendered> + Unpin> Stream for Events<S> {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match Pin::new(&mut self.messages).poll_next(context) {
            Poll::Ready(Some(message)) => {
                self.comments.reset();
                let event = event(&message);
                Poll::Ready(Some(Ok(self.share.another().hold(event))))
            }
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => self
                .comments
                .poll_tick(context)
                .map(|_due| Some(Ok(Bytes::from_static(b": keep-alive\n\n")))),
        }
    }
}

/// Frames a message: compact JSON has no line breaks, so one `data:` line.
fn event(message: &Rendered) -> Bytes {
    const HEAD: &[u8] = b"event: message\ndata: ";
    let mut event = BytesMut::with_capacity(HEAD.len() + message.size() + 2);
    event.put_slice(HEAD);
    for part in message.parts() {
        event.put_slice(part);
    }
    event.put_slice(b"\n\n");
    event.freeze()
}

#[cfg(test)]
mod tests {
    use futures_util::{StreamExt, stream};

    use super::*;
    use crate::body::Budget;

    const KEEP_ALIVE: Duration = Duration::from_secs(15);

    fn events<S>(messages: S) -> Events<S> {
        Events {
            messages,
            comments: comments(KEEP_ALIVE),
            share: Budget::new(0).share(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_is_one_event_with_one_data_line() {
        let message = Rendered::from(Bytes::from_static(b"{\"a\":1}"));

        let sent: Vec<_> = events(stream::iter([message])).collect().await;

        assert_eq!(
            sent,
            [Ok(Bytes::from_static(
                b"event: message\ndata: {\"a\":1}\n\n"
            ))]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_quiet_stream_gets_a_comment_each_time_the_interval_is_over() {
        let start = Instant::now();
        let mut quiet = events(stream::pending());

        for round in 1..=3 {
            let comment = quiet.next().await.expect("a comment").expect("no error");
            assert!(comment.starts_with(b":"));
            assert_eq!(start.elapsed(), KEEP_ALIVE * round);
        }
    }
}
