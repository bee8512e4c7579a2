//! Tasks, as gateways and the store speak of them.
//!
//! What a task is asked, answers and returns is JSON text that the store keeps and never
//! reads. Times are milliseconds since 1970.

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use uuid::Uuid;

/// What is known of a task, apart from what its work needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskRecord {
    /// Its id, a random UUID (version 4).
    pub id: Uuid,
    /// The server that it belongs to (R37).
    pub server: String,
    /// The era in which it was made; it is reached in no other (L-TASK-14).
    pub era: TaskEra,
    /// Who may see it.
    pub owner: TaskOwner,
    /// The tool whose call it is.
    pub tool: String,
    /// Grows with every change that a client could see.
    pub version: u64,
    /// How far it is.
    pub status: TaskStatus,
    /// When it was made.
    pub created_ms: u64,
    /// When a client could last see a change of it.
    pub updated_ms: u64,
    /// For how long after its creation it can be read; `None` for ever.
    pub ttl_ms: Option<u64>,
    /// How often a client should ask, if somebody has said.
    pub poll_ms: Option<u64>,
    /// What its work says of itself.
    pub message: Option<String>,
    /// What its client is asked and has not answered, while it waits for input.
    pub questions: Vec<TaskEntry>,
    /// The result, or the error, once it is completed or failed.
    pub outcome: Option<ByteBuf>,
}

/// A question or an answer, by its key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskEntry {
    /// The key under which both travel; never used twice by one task (T-TASK-20).
    pub key: String,
    /// The JSON text.
    pub json: ByteBuf,
}

/// What the work of a task needs to go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskWork {
    /// With what it was called. Never changes.
    pub input: ByteBuf,
    /// What it has noted when it last ended a round.
    pub journal: ByteBuf,
    /// What its client has answered since.
    pub answers: Vec<TaskEntry>,
    /// How often it was started without having ended a round, this time included.
    pub attempt: u16,
}

/// A task that is to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewTask {
    /// Its id, a random UUID (version 4). The same one again is the same task.
    pub id: Uuid,
    /// See [`TaskRecord`].
    pub server: String,
    /// See [`TaskRecord`].
    pub era: TaskEra,
    /// See [`TaskRecord`].
    pub owner: TaskOwner,
    /// See [`TaskRecord`].
    pub tool: String,
    /// See [`TaskRecord`].
    pub ttl_ms: Option<u64>,
    /// See [`TaskRecord`].
    pub poll_ms: Option<u64>,
    /// See [`TaskRecord`].
    pub message: Option<String>,
    /// See [`TaskWork`].
    pub input: ByteBuf,
    /// See [`TaskWork`].
    pub journal: ByteBuf,
    /// How often its work may be started in all without ending a round: 1 unless its
    /// author has declared it restartable.
    pub attempts: u16,
}

/// A task whose work its receiver has to do now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenTask {
    /// The task.
    pub record: TaskRecord,
    /// What its work needs.
    pub work: TaskWork,
    /// Names this holding of it; whatever a later holder has replaced is refused.
    pub fence: u64,
}

/// How far a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TaskStatus {
    /// Its work goes on, or is about to.
    Working,
    /// It waits for its client.
    InputRequired,
    /// It has a result.
    Completed,
    /// It has an error, or (legacy) a result that tells of one.
    Failed,
    /// It was cancelled.
    Cancelled,
}

impl TaskStatus {
    /// Tells whether it will never change again.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// In which era a task was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TaskEra {
    /// As the extension of 2026-07-28.
    Modern,
    /// As in 2025-11-25.
    Legacy,
}

/// Who may see a task (R38).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TaskOwner {
    /// Whoever authenticates as this principal.
    Principal(String),
    /// The session that made it.
    Session(Uuid),
    /// Whoever knows its id.
    Bearer,
}

/// Who asks for tasks.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Asker {
    /// The server that is asked.
    pub server: String,
    /// The era of the request.
    pub era: TaskEra,
    /// On whose behalf it is made.
    pub principal: Option<String>,
    /// The session that it belongs to.
    pub session: Option<Uuid>,
}

impl Asker {
    /// Tells whether it may see a task.
    #[must_use]
    pub fn may_see(&self, task: &TaskRecord) -> bool {
        let owns = match &task.owner {
            TaskOwner::Principal(owner) => self.principal.as_ref() == Some(owner),
            TaskOwner::Session(owner) => self.session == Some(*owner),
            TaskOwner::Bearer => true,
        };
        owns && self.era == task.era && self.server == task.server
    }
}

/// The work of a task, as whoever does it names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Holding {
    /// The task.
    pub id: Uuid,
    /// See [`TakenTask`].
    pub fence: u64,
}

/// What a gateway asks of the store about tasks; all of them are calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TaskQuestion {
    /// Keep a new task, and let the asker do its work unless as many are done as may be.
    /// [`TaskAnswer::Created`] after the commit; [`Refusal::Full`](crate::Refusal::Full)
    /// when there are as many as there may be, in all or of this owner.
    Create(NewTask),
    /// What is known of a task? [`TaskAnswer::Task`].
    Get {
        /// Which.
        id: Uuid,
        /// Who asks.
        asker: Asker,
    },
    /// Which versions have these tasks? Those that are no more are left out.
    /// [`TaskAnswer::Versions`].
    Versions {
        /// Which; at most 10,000.
        ids: Vec<Uuid>,
    },
    /// Which tasks does the asker own? The newest first, without their outcomes and
    /// questions. [`TaskAnswer::Tasks`].
    List {
        /// Who asks.
        asker: Asker,
        /// The last one of the page before, as it was answered with that page.
        after: Option<String>,
        /// The most to answer with.
        limit: u32,
    },
    /// Its client has answered a task. Keys that it was not asked are ignored; once all
    /// are answered, its work goes on. [`TaskAnswer::Task`] after the commit.
    Answer {
        /// Which.
        id: Uuid,
        /// Who answers.
        asker: Asker,
        /// The answers, each of the shape that its question asks for.
        answers: Vec<TaskEntry>,
    },
    /// End a task, unless it has ended. [`TaskAnswer::Cancelled`] after the commit.
    Cancel {
        /// Which.
        id: Uuid,
        /// Who asks; nobody for the operator.
        asker: Option<Asker>,
    },
    /// Give me work. [`TaskAnswer::Taken`], empty when there is none.
    Take {
        /// The most.
        limit: u16,
    },
    /// I still do the work of these, and of no others. [`TaskAnswer::Lost`] with those
    /// that are no longer the asker's.
    Renew {
        /// Which.
        held: Vec<Holding>,
    },
    /// A task says something of itself. [`TaskAnswer::Task`], or
    /// [`Refusal::Fenced`](crate::Refusal::Fenced).
    Note {
        /// Which.
        holding: Holding,
        /// What.
        message: String,
    },
    /// A task has ended a round with questions. [`TaskAnswer::Task`] after the commit, or
    /// [`Refusal::Fenced`](crate::Refusal::Fenced).
    Suspend {
        /// Which.
        holding: Holding,
        /// What its next round needs.
        journal: ByteBuf,
        /// What its client is asked; at least one.
        questions: Vec<TaskEntry>,
    },
    /// A task has ended. [`TaskAnswer::Task`] after the commit, or
    /// [`Refusal::Fenced`](crate::Refusal::Fenced).
    Finish {
        /// Which.
        holding: Holding,
        /// [`TaskStatus::Completed`] or [`TaskStatus::Failed`].
        status: TaskStatus,
        /// The result or the error.
        outcome: ByteBuf,
        /// What it says last.
        message: Option<String>,
    },
    /// The asker is about to end and gives work back: what may be started again is, the
    /// rest fails. [`TaskAnswer::Done`] after the commit.
    Release {
        /// Which.
        held: Vec<Holding>,
    },
    /// May a sealed state be used that holds for one use? [`TaskAnswer::Done`] once, then
    /// [`Refusal::Spent`](crate::Refusal::Spent) (R15).
    Spend {
        /// The name of the state.
        nonce: Uuid,
        /// Until when it could be used again.
        until_ms: u64,
    },
}

/// What the store answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TaskAnswer {
    /// It is done, and durable.
    Done,
    /// The task is kept.
    Created {
        /// The task.
        record: TaskRecord,
        /// With which the asker does its work now; otherwise it waits for its turn.
        fence: Option<u64>,
    },
    /// A task, or none that the asker may see.
    Task(Option<TaskRecord>),
    /// A task is cancelled.
    Cancelled {
        /// The task as it is now, or none that the asker may see.
        record: Option<TaskRecord>,
        /// Whether it had ended before.
        had_ended: bool,
    },
    /// A page of tasks.
    Tasks {
        /// The tasks.
        tasks: Vec<TaskRecord>,
        /// Where the next page begins, if there is one.
        next: Option<String>,
    },
    /// Tasks and their versions.
    Versions(Vec<(Uuid, u64)>),
    /// Work for the asker.
    Taken(Vec<TakenTask>),
    /// These are no longer the asker's.
    Lost(Vec<Uuid>),
}
