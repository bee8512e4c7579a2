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

use crate::Slot;

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
}

/// Who gets a mail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Recipients {
    /// The gateway in this slot.
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
}

impl Mail {
    /// Returns the key whose shard carries this mail.
    #[must_use]
    pub fn key(&self) -> &str {
        match self {
            Self::Find { scope, .. } | Self::Cancel { scope, .. } => scope,
        }
    }
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
        /// stop.
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
    /// This end of the link does not answer such calls.
    Misplaced,
}
