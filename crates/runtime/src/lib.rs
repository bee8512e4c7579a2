//! The actors that answer requests in one gateway.
//!
//! A transport hands each message to [`Gateway::submit`] and gets a [`Reply`]
//! back. In between: admission (a permit, or a refusal), the dispatcher actor
//! (parse, classify, route; cheap methods are answered there), the pipeline (one
//! guarded task per call, on the loop for `inline` tools and on the worker pool
//! for all others), and the responder, which turns the first thing that the call
//! emits into one JSON body or into a stream.
//!
//! # The tree
//!
//! | actor | knows | when it fails |
//! |---|---|---|
//! | `dispatcher` | nothing | requests in its mailbox are refused with 503 |
//! | `cancellation` | the sweep; the map outlives it | nothing is lost |
//! | `sessions` | touches not yet sent; the cache outlives it | touches since the last batch |
//! | `streams` | open session streams | they end, clients open them again |
//! | `tasks` | which question to the store is on its way; the ledger outlives it | nothing is lost |
//!
//! The order of the end: stop admitting, let calls finish within their grace, stop
//! what is left with an answer, end the streams, stop the actors.
//!
//! Not here: HTTP, pipes, sockets, and what a message looks like on the wire.

mod admission;
mod bridge;
mod call;
mod cancellation;
mod clock;
mod dispatcher;
mod ears;
mod event;
mod exchange;
mod gateway;
mod header;
mod hosted;
mod interest;
mod live;
mod mail;
mod outbox;
mod publish;
mod replays;
mod responder;
mod resume;
mod rounds;
mod route;
mod sessions;
mod store;
mod stream_limits;
mod streams;
mod tasks;
mod watchdog;
mod workers;

pub use self::cancellation::AddressScope;
pub use self::event::Event;
pub use self::exchange::{Accepts, Head, MessageReply, Pipe, Reply};
pub use self::gateway::{Drained, Gateway, Options, SessionError, StartError};
pub use self::hosted::Hosted;
pub use self::outbox::Events;
pub use self::sessions::session_id;
pub use self::store::LocalStore;
pub use self::stream_limits::StreamOptions;
pub use self::tasks::Options as TaskOptions;
