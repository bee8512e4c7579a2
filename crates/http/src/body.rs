//! The only reader of request bodies: bounded in bytes, in time and in sum. Large
//! answers count in that sum until they are written.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use futures_util::{Stream, StreamExt, pin_mut};
use http::HeaderMap;
use http::header::CONTENT_LENGTH;

/// Bodies below this size are not charged to the budget: connections bound them.
const SMALL: usize = 64 * 1024;

/// How bodies are bounded.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    pub(crate) most: usize,
    pub(crate) timeout: Duration,
    pub(crate) budget: Budget,
}

/// Bytes that all large bodies and answers together may take.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    used: Arc<AtomicUsize>,
    most: usize,
}

/// Why a body was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    /// It is, or says that it is, longer than allowed.
    TooLarge,
    /// It did not arrive in time.
    Late,
    /// The connection broke, or the framing was wrong.
    Broken,
    /// Too many large bodies are being read.
    Busy,
}

/// A body, and its share of the budget.
#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) bytes: Bytes,
    pub(crate) share: Share,
}

/// What one request and its answer take of the budget, until it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Budget,
    bytes: usize,
}

impl Budget {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            used: Arc::default(),
            most,
        }
    }

    /// Returns a share that takes nothing yet.
    pub(crate) fn share(&self) -> Share {
        Share {
            budget: self.clone(),
            bytes: 0,
        }
    }
}

impl Share {
    /// Charges for an answer in place of its request. It is not refused any more: it
    /// keeps further large bodies out until the client has taken it.
    ///
    /// The answer holds the share until it is written, or dropped.
    pub(crate) fn hold(mut self, answer: Bytes) -> Bytes {
        let charged = charged(answer.len());
        if charged == 0 {
            return answer;
        }
        let used = &self.budget.used;
        if charged > self.bytes {
            used.fetch_add(charged - self.bytes, Ordering::Relaxed);
        } else {
            used.fetch_sub(self.bytes - charged, Ordering::Relaxed);
        }
        self.bytes = charged;
        Bytes::from_owner(Held {
            answer,
            _share: self,
        })
    }

    /// Returns a share of the same budget that takes nothing yet.
    pub(crate) fn another(&self) -> Self {
        self.budget.share()
    }
}

/// Reads a body.
pub(crate) async fn read<B: Buf, E>(
    headers: &HeaderMap,
    stream: impl Stream<Item = Result<B, E>>,
    limits: &Limits,
) -> Result<Body, Unread> {
    if declared(headers).is_some_and(|length| length > limits.most) {
        return Err(Unread::TooLarge);
    }
    pin_mut!(stream);
    let mut share = limits.budget.share();
    let first = async {
        stream
            .next()
            .await
            .transpose()
            .map_err(|_broken| Unread::Broken)
    };
    let Some(first) = within(limits.timeout, first).await? else {
        return Ok(Body {
            bytes: Bytes::new(),
            share,
        });
    };
    let bytes = collect(first, stream, limits, &mut share).await?;
    Ok(Body { bytes, share })
}

async fn collect<B: Buf, E>(
    mut first: B,
    mut stream: impl Stream<Item = Result<B, E>> + Unpin,
    limits: &Limits,
    share: &mut Share,
) -> Result<Bytes, Unread> {
    let first = first.copy_to_bytes(first.remaining());
    if first.len() > limits.most {
        return Err(Unread::TooLarge);
    }
    // Almost every body is one chunk: it is not copied.
    let mut whole: Option<BytesMut> = None;
    let rest = async {
        while let Some(chunk) = stream.next().await {
            let chunk = chunk.map_err(|_broken| Unread::Broken)?;
            let whole = whole.get_or_insert_with(|| BytesMut::from(&first[..]));
            let length = whole.len().saturating_add(chunk.remaining());
            if length > limits.most {
                return Err(Unread::TooLarge);
            }
            share.grow_to(length)?;
            whole.put(chunk);
        }
        Ok(())
    };
    within(limits.timeout, rest).await?;
    Ok(whole.map_or(first, BytesMut::freeze))
}

/// Waits for what is arriving; what has arrived already needs no timer.
async fn within<T>(
    timeout: Duration,
    arriving: impl Future<Output = Result<T, Unread>>,
) -> Result<T, Unread> {
    pin_mut!(arriving);
    match futures_util::poll!(arriving.as_mut()) {
        Poll::Ready(arrived) => arrived,
        Poll::Pending => tokio::time::timeout(timeout, arriving)
            .await
            .map_err(|_elapsed| Unread::Late)?,
    }
}

/// The length that the head declares; hyper refuses contradictory ones.
fn declared(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// An answer, and what it takes of the budget.
struct Held {
    answer: Bytes,
    _share: Share,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.answer
    }
}

const fn charged(length: usize) -> usize {
    if length > SMALL { length } else { 0 }
}

impl Share {
    fn grow_to(&mut self, length: usize) -> Result<(), Unread> {
        let more = charged(length).saturating_sub(self.bytes);
        if more == 0 {
            return Ok(());
        }
        let before = self.budget.used.fetch_add(more, Ordering::Relaxed);
        self.bytes += more;
        if before.saturating_add(more) > self.budget.most {
            return Err(Unread::Busy);
        }
        Ok(())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    type Chunk = Result<Bytes, ()>;

    fn limits(most: usize, budget: usize) -> Limits {
        Limits {
            most,
            timeout: Duration::from_secs(30),
            budget: Budget::new(budget),
        }
    }

    fn chunks(sizes: &[usize]) -> impl Stream<Item = Chunk> {
        let chunks: Vec<Chunk> = sizes
            .iter()
            .map(|&size| Ok(Bytes::from(vec![7; size])))
            .collect();
        stream::iter(chunks)
    }

    #[tokio::test]
    async fn chunks_become_one_body() {
        let body = read(&HeaderMap::new(), chunks(&[3, 4, 0, 5]), &limits(12, 0)).await;

        assert_eq!(body.expect("a body").bytes.len(), 12);
    }

    #[tokio::test]
    async fn one_byte_too_many_is_refused_whatever_the_head_says() {
        let body = read(&HeaderMap::new(), chunks(&[6, 7]), &limits(12, 0)).await;

        assert_eq!(body.expect_err("too large"), Unread::TooLarge);
    }

    #[tokio::test]
    async fn a_declared_length_is_refused_before_it_is_sent() {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_LENGTH, 13.into());

        let body = read(&headers, stream::pending::<Chunk>(), &limits(12, 0)).await;

        assert_eq!(body.expect_err("too large"), Unread::TooLarge);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_stops_arriving_is_given_up() {
        let started =
            stream::iter([Ok(Bytes::from_static(b"{"))]).chain(stream::pending::<Chunk>());

        let body = read(&HeaderMap::new(), started, &limits(12, 0)).await;

        assert_eq!(body.expect_err("late"), Unread::Late);
    }

    #[tokio::test]
    async fn large_bodies_share_a_budget_and_give_it_back() {
        let limits = limits(10 * SMALL, 3 * SMALL);
        let two = [SMALL, SMALL];
        let first = read(&HeaderMap::new(), chunks(&two), &limits)
            .await
            .expect("room");

        let second = read(&HeaderMap::new(), chunks(&two), &limits).await;
        assert_eq!(second.expect_err("no room"), Unread::Busy);

        drop(first);
        read(&HeaderMap::new(), chunks(&two), &limits)
            .await
            .expect("room again");
    }

    #[tokio::test]
    async fn a_large_answer_keeps_others_out_until_it_is_written() {
        let limits = limits(10 * SMALL, 3 * SMALL);
        let two = [SMALL, SMALL];
        let asked = read(&HeaderMap::new(), chunks(&[1]), &limits)
            .await
            .expect("room");

        let answer = asked.share.hold(Bytes::from(vec![7; 2 * SMALL]));
        assert_eq!(answer.len(), 2 * SMALL);
        let other = read(&HeaderMap::new(), chunks(&two), &limits).await;
        assert_eq!(other.expect_err("no room"), Unread::Busy);

        drop(answer);
        read(&HeaderMap::new(), chunks(&two), &limits)
            .await
            .expect("room again");
    }

    #[tokio::test]
    async fn a_small_answer_gives_its_requests_share_back() {
        let limits = limits(10 * SMALL, 3 * SMALL);
        let two = [SMALL, SMALL];
        let asked = read(&HeaderMap::new(), chunks(&two), &limits)
            .await
            .expect("room");

        let answer = asked.share.hold(Bytes::from_static(b"{}"));

        read(&HeaderMap::new(), chunks(&two), &limits)
            .await
            .expect("room");
        drop(answer);
    }
}
