//! What our processes say to each other.
//!
//! Every conversation has a direction in its name. Calls have an answer, events
//! have none; both travel in frames (see `frame.rs`). All processes
//! of one tree run the same executable (they compare build ids when they meet),
//! so these types may change from build to build without versions of their own.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use uuid::Uuid;

use crate::shard::Hash;
use crate::{Role, Slot};

mod task;

pub use self::task::{
    Asker, Holding, NewTask, TakenTask, TaskAnswer, TaskEntry, TaskEra, TaskOwner, TaskQuestion,
    TaskRecord, TaskStatus, TaskWork,
};

/// The first frame in each direction of a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Which executable speaks: links between different builds are refused.
    pub build: String,
    /// Who speaks.
    pub slot: Slot,
    /// The process id of the speaker.
    pub pid: u32,
    /// Names this life of the process; a successor in the slot has another.
    pub life: Uuid,
    /// The epoch of the newest shard map that the speaker knows; zero for none.
    pub epoch: u64,
    /// Whether the speaker holds the listening socket and could hand it back over
    /// `SCM_RIGHTS` to a new supervisor. Nobody asks for it before adoption exists.
    pub holds_listener: bool,
}

/// Any message; what it may be depends on the two ends of the link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Message {
    /// A child to its supervisor.
    ToSupervisor(ToSupervisor),
    /// The supervisor to a child.
    ToChild(ToChild),
    /// A gateway to a hub.
    ToHub(ToHub),
    /// A hub to a gateway.
    FromHub(FromHub),
    /// A gateway to the store.
    ToStore(ToStore),
    /// The store to a gateway.
    FromStore(FromStore),
    /// An operator to the supervisor.
    Operation(Operation),
    /// The answer to a call.
    Answer(Answer),
}

/// What a child tells its supervisor; all of them are events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToSupervisor {
    /// The child is ready to work.
    Ready {
        /// Where it serves clients; empty for hubs and the store.
        addresses: Vec<SocketAddr>,
    },
    /// The child has finished everything and is about to end.
    Drained {
        /// Calls that were stopped because time ran out.
        stopped: u64,
    },
}

/// What the supervisor asks of a child.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToChild {
    /// Event: these are the shards of the hub from now on.
    ShardMap(ShardMap),
    /// Event, to the store: these lives of gateways may be running. Every other one is
    /// dead: it was reaped. Sent whenever that changes, before a new one is linked.
    Gateways {
        /// The lives.
        lives: Vec<Uuid>,
    },
    /// Event, to a hub: the newest map, and whom to wait for. Sent when the link comes up,
    /// with each new map, and when a gateway was reaped.
    Roll(Roll),
    /// Call, to a hub: how is the shard? [`Answer::Shard`].
    ShowShard,
    /// Event: take nothing new, finish, say [`ToSupervisor::Drained`] and end.
    Drain {
        /// Calls still open after this long are stopped, in milliseconds.
        grace_ms: u64,
    },
    /// Call: send one request through the real pipeline. [`Answer::Probed`].
    Probe,
    /// Call: what are your metrics? [`Answer::Metrics`].
    Scrape,
}

/// Which hubs exist, and since when.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardMap {
    /// Grows with each change; older maps are refused.
    pub epoch: u64,
    /// The indices of the hub slots that own keys.
    pub shards: Vec<u16>,
}

/// The newest map, and which gateways a hub has to wait for before it can know who
/// listens to what.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Roll {
    /// The map.
    pub map: ShardMap,
    /// The lives of gateways that are not known to be dead and that were told a map before
    /// this message: each may have registered at another shard, or at another life of this
    /// one. Whoever is told its first map later begins with this one, or a newer one.
    pub told: Vec<Uuid>,
    /// The lives of gateways that were reaped last, of all that there were.
    pub reaped: Vec<Uuid>,
}

/// How one shard of the hub is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardView {
    /// Its slot.
    pub slot: Slot,
    /// The newest map that it knows of.
    pub epoch: u64,
    /// Whether it knows by that map who listens to what.
    pub is_open: bool,
    /// Topics that some gateway has registered.
    pub topics: u64,
    /// Registrations: topics, counted once for each gateway that has registered them.
    pub registrations: u64,
    /// Gateways that are attached.
    pub gateways: u64,
    /// Mails and batches of changes that are on their way to gateways.
    pub in_flight: u64,
    /// Changes that were published here, since the start of its process.
    pub published: u64,
    /// Changes that gateways have noted, once for each, since the start of its process.
    pub delivered: u64,
    /// How long its main loop stood still at its last heartbeat, in milliseconds.
    pub lag_ms: u64,
    /// Since its process started, in milliseconds.
    pub uptime_ms: u64,
}

/// What an operator asks of the supervisor; all of them are calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operation {
    /// Let there be so many processes of a role, gateway or hub. [`Answer::Scaled`] once
    /// that is durable (R40); the processes follow.
    Scale {
        /// Of which role.
        role: Role,
        /// How many.
        count: u16,
    },
    /// How is the hub? [`Answer::Hub`].
    ShowHub,
    /// What is in the tree, and what should be? [`Answer::Tree`].
    ShowTree,
}

/// What is in the tree, and what should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeView {
    /// Every slot that is there, kind after kind, those that are scaled away until their
    /// last process is reaped.
    pub slots: Vec<SlotState>,
    /// How many hubs there are to be.
    pub hubs: u16,
    /// How many gateways there are to be.
    pub gateways: u16,
}

/// One slot of the tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotState {
    /// Its name.
    pub slot: Slot,
    /// What it is doing, such as `serving` or `parked`.
    pub phase: String,
    /// Whether its process serves.
    pub serves: bool,
    /// For a hub, whether the newest shard map has it; true for the others.
    pub mapped: bool,
}

/// What a gateway asks of a hub.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToHub {
    /// Call: deliver mail to gateways and wait for their receipts.
    /// [`Answer::Receipts`].
    Mail {
        /// Who shall get it.
        to: Recipients,
        /// What it says.
        mail: Mail,
        /// Receipts that come later than this do not count, in milliseconds.
        deadline_ms: u64,
    },
    /// Call: from now on this gateway follows the shard map of this epoch, and has
    /// forgotten what another shard, another life of this one, or an older map made it
    /// believe about who listens. Comes first on each connection and with each new map.
    /// [`Answer::Done`].
    Enter {
        /// The epoch.
        epoch: u64,
    },
    /// Call: this gateway wants to hear of these topics, until it takes that back, leaves
    /// it out on its next connection, or is dead. [`Answer::Done`] once no gateway believes any more that nobody listens to them;
    /// [`Refusal::Full`], and then of none of them.
    Register {
        /// The map by which this shard owns them.
        epoch: u64,
        /// Which.
        topics: Vec<Topic>,
    },
    /// Call: this gateway has registered all that it wants to hear of and that this
    /// shard owns. [`Answer::Done`].
    Settle {
        /// By which map.
        epoch: u64,
    },
    /// Call: this gateway no longer wants to hear of these topics. [`Answer::Done`].
    Unregister {
        /// Which.
        topics: Vec<Topic>,
    },
    /// Call: tell all gateways that registered these topics that they have changed, the
    /// sender too. [`Answer::Told`] once they have noted it.
    Publish {
        /// The map by which this shard owns them.
        epoch: u64,
        /// What has changed.
        changes: Vec<Change>,
        /// Receipts that come later than this do not count, in milliseconds.
        deadline_ms: u64,
    },
}

/// Something that has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// What.
    pub topic: Topic,
    /// When that was published, in microseconds of the machine's monotonic clock.
    pub at_us: u64,
}

/// Something that clients ask to hear of.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Topic {
    /// The server that it belongs to (R37).
    pub server: String,
    /// What of the server.
    pub subject: Subject,
}

/// What of a server can change.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Subject {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The lists of resources and of templates.
    Resources,
    /// What is in the resource of this URI.
    Resource(String),
    /// How far a task is.
    Task(Uuid),
}

impl Topic {
    /// Returns a hash that is the same in every process, by which shards own topics
    /// ([`owner_of`](crate::owner_of)) and gateways know them.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        let Self { server, subject } = self;
        let hash = Hash::new().add(server.as_bytes()).add(b" ");
        let hash = match subject {
            Subject::Tools => hash.add(b"tools"),
            Subject::Prompts => hash.add(b"prompts"),
            Subject::Resources => hash.add(b"resources"),
            Subject::Resource(uri) => hash.add(b"resource ").add(uri.as_bytes()),
            Subject::Task(id) => hash.add(b"task ").add(id.as_bytes()),
        };
        hash.end()
    }

    /// Returns about how many bytes it has in a frame.
    #[must_use]
    pub fn size(&self) -> usize {
        const AROUND: usize = 16;
        let uri = match &self.subject {
            Subject::Tools | Subject::Prompts | Subject::Resources => 0,
            Subject::Task(_) => size_of::<Uuid>(),
            Subject::Resource(uri) => uri.len(),
        };
        AROUND + self.server.len() + uri
    }
}

/// Who gets a mail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Recipients {
    /// The gateway in this slot. The sender gets that gateway's own answer, or
    /// [`Answer::Receipts`] with one missing.
    One(Slot),
    /// Every gateway but the sender.
    Others,
}

/// What gateways tell each other, through the shard that owns the mail's key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mail {
    /// Does the receiver hold a request that bears this id in this scope?
    Find {
        /// The scope in which the request was tracked (R4).
        scope: String,
        /// The JSON text of the request id.
        request_id: String,
    },
    /// A client cancels a request that the sender does not hold.
    Cancel {
        /// The scope in which the request was tracked (R4).
        scope: String,
        /// The JSON text of the request id.
        request_id: String,
        /// The client's reason, already cleaned.
        reason: Option<String>,
    },
    /// A session has opened a stream of its own at the sender, which is the newest unless
    /// the receiver has a newer one (R25). Holds for a while; sent again and again. Taken if
    /// the receiver has an older one, or keeps what changes for the session; what the
    /// session was not told of is handed over before that is answered.
    StreamOpened {
        /// The session.
        session: String,
        /// When, in microseconds since 1970.
        opened: u64,
    },
    /// That stream is closed: an older one counts again. Taken if the receiver has one, and
    /// believes nobody else to have a newer one.
    StreamClosed {
        /// The session.
        session: String,
        /// When it was opened, in microseconds since 1970.
        opened: u64,
    },
    /// These topics have changed, and a session whose stream the receiver has was not told
    /// of it. Taken if the receiver has one, or keeps what changes for the session.
    Unheard {
        /// The session.
        session: String,
        /// Which.
        topics: Vec<Topic>,
        /// Whether these are, with those of the mails before, all that the session was
        /// not told of before the receiver heard of changes itself.
        is_whole: bool,
    },
    /// A client wants what is left of a response stream that the receiver holds.
    /// Waits for the event for at most the patience; [`Answer::Replay`].
    Resume {
        /// The session whose stream it is.
        session: String,
        /// The stream.
        stream: Uuid,
        /// The number of the last event that the client has.
        after: u64,
        /// How many bytes of the next event were sent already.
        offset: u64,
        /// The longest that the receiver waits for an event, in milliseconds.
        patience_ms: u64,
    },
    /// A client has answered what a call at the receiver has asked it.
    Response {
        /// The session, within which the id means something.
        session: String,
        /// The receiver's name for its question.
        question: Uuid,
        /// The result, as JSON text; empty for an error.
        json: ByteBuf,
        /// Whether it is an error.
        is_error: bool,
    },
    /// A task of a session has changed. Taken if the receiver has a stream of the session,
    /// or keeps what changes for it and has not let it go to another gateway.
    TaskStatus {
        /// The session.
        session: String,
        /// The task.
        task: Uuid,
        /// Its version.
        version: u64,
        /// The notification, as JSON text.
        notification: ByteBuf,
    },
}

impl Mail {
    /// Returns the key whose shard carries this mail.
    #[must_use]
    pub fn key(&self) -> &str {
        match self {
            Self::Find { scope, .. } | Self::Cancel { scope, .. } => scope,
            Self::Resume { session, .. }
            | Self::StreamOpened { session, .. }
            | Self::StreamClosed { session, .. }
            | Self::Unheard { session, .. }
            | Self::Response { session, .. }
            | Self::TaskStatus { session, .. } => session,
        }
    }
}

/// What is next on a stream that goes on at another gateway.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Replay {
    /// There is no such stream, or no more.
    Unknown,
    /// Nothing yet; ask again.
    Wait,
    /// A message, or a part of one.
    Event {
        /// Its number on the stream.
        number: u64,
        /// As much of it as fits into a frame.
        part: ByteBuf,
        /// Whether there is more of it.
        more: bool,
    },
    /// The stream has ended behind the last event.
    End,
}

/// What a hub asks of a gateway.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromHub {
    /// Call: here is mail. [`Answer::Receipt`].
    Mail {
        /// The gateway that sent it.
        from: Slot,
        /// What it says.
        mail: Mail,
    },
    /// Call: these topics have changed. [`Answer::Done`] once that is noted for every
    /// stream here that listens to one of them.
    Changed {
        /// Which.
        changes: Vec<Change>,
    },
    /// Call: somebody listens to these topics of this shard, or nobody any more.
    /// [`Answer::Done`] once it holds here.
    Interest {
        /// [`Topic::fingerprint`] of those that somebody listens to now.
        added: Vec<u64>,
        /// [`Topic::fingerprint`] of those that nobody listens to any more.
        removed: Vec<u64>,
        /// By the map of this epoch nobody listens to any topic of this shard but those
        /// that were added on this connection and not removed. Nothing is said about
        /// that without it.
        complete: Option<u64>,
    },
}

/// What a gateway asks of the store; all of them are calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ToStore {
    /// Keep a new session. [`Answer::Done`] after the commit.
    OpenSession(SessionRecord),
    /// Look one up. [`Answer::Session`].
    LookSession {
        /// Which.
        id: Uuid,
    },
    /// Change the log level of one. [`Answer::Session`] with the new record; the
    /// other gateways have forgotten the old one before.
    SetSessionLevel {
        /// Which.
        id: Uuid,
        /// The MCP log level, such as `warning`.
        level: String,
    },
    /// A session wants to hear of a resource, or no longer. [`Answer::Session`] with
    /// the new record; every gateway, the asker too, has taken note before. [`Refusal::Full`]
    /// when it hears of as many as it may.
    SubscribeSession {
        /// Which.
        id: Uuid,
        /// The resource.
        uri: String,
        /// Whether it wants to hear of it.
        on: bool,
    },
    /// These sessions were used since the last such message. [`Answer::Done`].
    TouchSessions {
        /// Which.
        ids: Vec<Uuid>,
    },
    /// End one. [`Answer::Session`] with what it was, once every live gateway
    /// has forgotten it (R12); empty when there was none.
    EndSession {
        /// Which.
        id: Uuid,
    },
    /// About tasks. [`Answer::Task`].
    Task(TaskQuestion),
}

/// What the store asks of a gateway.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromStore {
    /// Call: forget what you know of these sessions. [`Answer::Done`].
    ForgetSessions {
        /// Which.
        ids: Vec<Uuid>,
        /// Whether they have ended, so that their streams have to end too.
        ended: bool,
    },
    /// Call: stop the work of these tasks, they are over. [`Answer::Done`].
    StopTasks {
        /// Which.
        ids: Vec<Uuid>,
    },
    /// Call: there is work for whoever has room. [`Answer::Done`].
    TasksReady,
    /// Call: these tasks have changed, or any of them if none is named.
    /// [`Answer::Done`].
    TasksChanged {
        /// Which.
        ids: Vec<Uuid>,
    },
}

/// A legacy session, as the store keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRecord {
    /// Its id, a random UUID (version 4).
    pub id: Uuid,
    /// The server of this process that it belongs to (R37).
    pub server: String,
    /// The negotiated protocol version, such as `2025-11-25`.
    pub version: String,
    /// Who opened it; nobody without authentication.
    pub principal: Option<String>,
    /// The client's capabilities, as JSON text.
    pub capabilities: ByteBuf,
    /// The client's name and version, as JSON text.
    pub client: ByteBuf,
    /// The lowest log level that it gets, if it ever set one.
    pub level: Option<String>,
    /// The resources that it wants to hear of, in the order of the alphabet.
    pub subscriptions: Vec<String>,
}

/// The answers to calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// It is done, and durable where that applies.
    Done,
    /// A session, or none of that id.
    Session(Option<SessionRecord>),
    /// The probe came back through the pipeline.
    Probed,
    /// Encoded metrics, see `telemetry`.
    Metrics(ByteBuf),
    /// Whether the mail meant anything to its receiver.
    Receipt {
        /// For a find: a request is here. For a cancel: it was, and has been told to
        /// stop. For a stream that was opened, and for what a session is to be told: it
        /// has a stream here, or what changes is kept for it. For a stream that was
        /// closed: there is an older one here. For a response: its question is asked here.
        taken: bool,
    },
    /// What became of a mail.
    Receipts {
        /// Gateways that answered.
        received: u16,
        /// Gateways that took it.
        taken: u16,
        /// Gateways that did not answer in time.
        missing: u16,
    },
    /// The changes were told.
    Told {
        /// But for these, by their place in the question: not everybody who listens is
        /// known to have noted them, so they have to be published again.
        left: Vec<u32>,
    },
    /// How a shard is.
    Shard(ShardView),
    /// How the hub is: each of its shards that answers.
    Hub(Vec<ShardView>),
    /// What is in the tree.
    Tree(TreeView),
    /// There were so many processes of that role, and shall be as many as were asked for.
    Scaled {
        /// How many there were to be.
        from: u16,
    },
    /// What is next on a stream.
    Replay(Replay),
    /// About tasks.
    Task(TaskAnswer),
    /// It could not be done.
    Refused(Refusal),
}

/// Why a call was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Refusal {
    /// As many as there may be.
    Full,
    /// The disk, or the database, would not take it.
    Storage,
    /// Draining, or not ready.
    NotNow,
    /// The shard map has changed since.
    Stale,
    /// This end of the link does not answer such calls.
    Misplaced,
    /// The task has another holder by now, or has ended.
    Fenced,
    /// It was used before.
    Spent,
}
