//! One message from a client: read it, check it, hand it on, write the reply.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Buf;
use conduit_runtime::Head;
use conduit_telemetry::RefusedReason;
use futures_util::Stream;
use http::HeaderMap;
use warp::reply::Response;

use crate::body::{self, Unread};
use crate::routes::State;
use crate::{media, refusal, reply};

/// Answers a POST.
pub(crate) async fn answer<B: Buf, E>(
    state: &Arc<State>,
    server: usize,
    peer: IpAddr,
    headers: Arc<HeaderMap>,
    stream: impl Stream<Item = Result<B, E>>,
) -> Response {
    let body = match body::read(&headers, stream, &state.limits).await {
        Ok(body) => body,
        Err(unread) => return refuse(state, unread),
    };
    let Some(accepts) = media::accepts(&headers) else {
        state.telemetry.refused(RefusedReason::Accept);
        return refusal::not_acceptable(&body.bytes);
    };
    if !media::sends_json(&headers) {
        state.telemetry.refused(RefusedReason::MediaType);
        return refusal::unsupported_media_type(&body.bytes);
    }
    let head = Head {
        client: Some(state.trusted.client(peer, &headers)),
        headers: Some(headers),
        accepts,
        server,
        ..Head::default()
    };
    let reply = state.gateway.submit(head, body.bytes.clone()).await;
    reply::write(state, reply, accepts, body.share)
}

fn refuse(state: &State, unread: Unread) -> Response {
    state.telemetry.refused(match unread {
        Unread::TooLarge => RefusedReason::BodySize,
        Unread::Late => RefusedReason::BodyTimeout,
        Unread::Broken => RefusedReason::Malformed,
        Unread::Busy => RefusedReason::Overload,
    });
    match unread {
        Unread::TooLarge => refusal::too_large(state.limits.most),
        Unread::Late => refusal::late(),
        Unread::Broken => refusal::broken(),
        Unread::Busy => refusal::busy(),
    }
}
