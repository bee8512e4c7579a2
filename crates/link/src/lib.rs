//! Frames, messages and sockets between our own processes.
//!
//! [`Links`] owns every socket of a process on a thread of its own, so that
//! heartbeats flow while the process' main loop is blocked. A process listens at
//! the socket of its [`Slot`] in the run directory and connects to the sockets of
//! others; each connection is a [`Link`], which carries [`Message`]s both ways.
//!
//! # What a link promises
//!
//! - Events and calls of one lane arrive at most once and in order. What was lost
//!   was lost with the connection, and both ends hear [`Delivery::Down`].
//! - [`Lane::Control`] overtakes [`Lane::Data`], which needs credit of its
//!   receiver; so the reader always reads, and heartbeats never wait.
//! - [`Link::send`] never waits. A call hears something within its deadline.
//! - A peer is of the same build and runs as the same user, or it is refused.
//!
//! # Bounds
//!
//! For each link: 1,024 control frames and 4,096 data frames in the queue, four
//! times [`Options::max_frame`] in bytes; 4,096 open calls; 8,192 answers that wait
//! to be written; [`Options::window`] data frames that the peer may have
//! unanswered. For each process: 1,024 slots that ever connected, 64 connections
//! that have not said hello.
//!
//! Not here: what the messages mean, and who restarts whom.

mod accept;
mod calls;
mod connect;
mod connection;
mod credit;
mod delivery;
mod frame;
mod hello;
mod identity;
mod lag;
mod line;
mod link;
mod links;
mod message;
mod outbox;
mod places;
mod process;
mod queued;
mod registry;
mod shard;
mod silence;
mod slot;
mod socket;
mod thread;
mod view;

pub use self::delivery::{Answerer, Delivery, DownReason, Incoming, Receiver};
pub use self::identity::build_id;
pub use self::link::{CallError, Lane, Link, SendError};
pub use self::links::{Error, Links, Options};
pub use self::message::{
    Answer, Asker, Change, FromHub, FromStore, Hello, Holding, Mail, Message, NewTask, Operation,
    Recipients, Refusal, Replay, Roll, SessionRecord, ShardMap, ShardView, SlotState, Subject,
    TakenTask, TaskAnswer, TaskEntry, TaskEra, TaskOwner, TaskQuestion, TaskRecord, TaskStatus,
    TaskWork, ToChild, ToHub, ToStore, ToSupervisor, Topic, TreeView,
};
pub use self::shard::{owner, owner_of};
pub use self::slot::{NotASlot, Role, Slot};
pub use self::view::PeerView;
