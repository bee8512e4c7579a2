//! One row of the table of tasks.

use conduit_link::{TaskEra, TaskOwner, TaskRecord, TaskStatus};
use rusqlite::types::Type;
use rusqlite::{Row as Columns, named_params};
use uuid::Uuid;

use super::Transaction;
use crate::clock::Moment;
use crate::tally::Standing;
use crate::task::{Course, Holder};

/// Selects rows, and whatever else `$more` names, as [`Row::read`] reads them.
macro_rules! select {
    ($more:literal, $rest:literal) => {
        concat!(
            "SELECT t.number, t.id, t.server, t.era, t.owner, o.owner, t.tool, t.created_ms,
                    t.ttl_ms, t.expires_ms, t.poll_ms, t.version, t.status, t.updated_ms,
                    t.message, t.attempt, t.attempts, t.fence, t.holder, t.holder_slot,
                    t.leased_ms ",
            $more,
            " FROM tasks t LEFT JOIN task_owners o ON o.number = t.owner ",
            $rest
        )
    };
}

pub(in crate::sqlite) use select;

/// The first column after those of a row.
pub(in crate::sqlite) const NEXT: usize = 21;

/// A task, without what its work needs and without its outcome.
#[derive(Clone, Debug)]
pub(in crate::sqlite) struct Row {
    pub(in crate::sqlite) number: i64,
    pub(super) id: Uuid,
    pub(super) server: String,
    pub(super) era: TaskEra,
    /// The number of its owner.
    pub(super) owner: Option<i64>,
    pub(super) owned_by: TaskOwner,
    pub(super) tool: String,
    pub(super) created: Moment,
    pub(super) ttl_ms: Option<u64>,
    pub(super) expires: Option<Moment>,
    pub(super) poll_ms: Option<u64>,
    pub(in crate::sqlite) course: Course,
}

impl Row {
    pub(in crate::sqlite) fn read(columns: &Columns<'_>) -> rusqlite::Result<Self> {
        let owner = columns.get(4)?;
        let key: Option<Vec<u8>> = columns.get(5)?;
        let slot: Option<u16> = columns.get(19)?;
        Ok(Self {
            number: columns.get(0)?,
            id: uuid(columns, 1)?,
            server: columns.get(2)?,
            era: era(columns, 3)?,
            owner: Some(owner).filter(|&owner| owner != NOBODY),
            owned_by: owner_of(owner, key.as_deref()).ok_or_else(|| unknown(5))?,
            tool: columns.get(6)?,
            created: Moment::new(columns.get(7)?),
            ttl_ms: columns.get::<_, Option<i64>>(8)?.map(unsigned),
            expires: moment(columns, 9)?,
            poll_ms: columns.get::<_, Option<i64>>(10)?.map(unsigned),
            course: Course {
                version: columns.get(11).map(unsigned)?,
                status: status(columns, 12)?,
                updated: Moment::new(columns.get(13)?),
                message: columns.get(14)?,
                attempt: columns.get(15)?,
                attempts: columns.get(16)?,
                fence: columns.get(17).map(unsigned)?,
                holder: columns
                    .get::<_, Option<[u8; 16]>>(18)?
                    .map(Uuid::from_bytes)
                    .zip(slot)
                    .map(|(life, slot)| Holder { life, slot }),
                leased: moment(columns, 20)?,
            },
        })
    }

    /// Returns what is known of the task, but for its questions and its outcome.
    pub(in crate::sqlite) fn record(&self) -> TaskRecord {
        TaskRecord {
            id: self.id,
            server: self.server.clone(),
            era: self.era,
            owner: self.owned_by.clone(),
            tool: self.tool.clone(),
            version: self.course.version,
            status: self.course.status,
            created_ms: self.created.unsigned(),
            updated_ms: self.course.updated.unsigned(),
            ttl_ms: self.ttl_ms,
            poll_ms: self.poll_ms,
            message: self.course.message.clone(),
            questions: Vec::new(),
            outcome: None,
        }
    }

    pub(super) fn standing(&self) -> Standing {
        Standing {
            status: self.course.status,
            server: self.server.clone(),
            owner: self.owner,
            holder: self.course.holder.map(|holder| holder.life),
        }
    }
}

impl Transaction<'_> {
    /// Inserts a task, whose number is then known.
    pub(super) fn insert_row(&mut self, row: &mut Row) -> rusqlite::Result<()> {
        let course = &row.course;
        self.connection
            .prepare_cached(
                "INSERT INTO tasks (
                     id, server, era, owner, tool, version, status, created_ms, updated_ms, ttl_ms,
                     expires_ms, poll_ms, message, attempts, attempt, fence, ready, holder,
                     holder_slot, leased_ms
                 ) VALUES (
                     :id, :server, :era, :owner, :tool, :version, :status, :created, :updated, :ttl,
                     :expires, :poll, :message, :attempts, :attempt, :fence, :ready, :holder,
                     :slot, :leased
                 )",
            )?
            .execute(named_params! {
                ":id": row.id.as_bytes(),
                ":server": row.server,
                ":era": era_code(row.era),
                ":owner": row.owner.unwrap_or(NOBODY),
                ":tool": row.tool,
                ":version": signed(course.version),
                ":status": status_code(course.status),
                ":created": row.created.since_1970(),
                ":updated": course.updated.since_1970(),
                ":ttl": row.ttl_ms.map(signed),
                ":expires": row.expires.map(Moment::since_1970),
                ":poll": row.poll_ms.map(signed),
                ":message": course.message,
                ":attempts": course.attempts,
                ":attempt": course.attempt,
                ":fence": signed(course.fence),
                ":ready": course.is_ready(),
                ":holder": course.holder.as_ref().map(|holder| holder.life.as_bytes()),
                ":slot": course.holder.map(|holder| holder.slot),
                ":leased": course.leased.map(Moment::since_1970),
            })?;
        row.number = self.connection.last_insert_rowid();
        self.tally.step(None, Some(row.standing()));
        Ok(())
    }

    /// Saves the course of a task that was `before`.
    pub(super) fn save(&mut self, before: Standing, row: &Row) -> rusqlite::Result<()> {
        let course = &row.course;
        self.connection
            .prepare_cached(
                "UPDATE tasks SET
                     version = :version, status = :status, updated_ms = :updated,
                     message = :message, attempt = :attempt, fence = :fence, ready = :ready,
                     holder = :holder, holder_slot = :slot, leased_ms = :leased
                 WHERE number = :number",
            )?
            .execute(named_params! {
                ":number": row.number,
                ":version": signed(course.version),
                ":status": status_code(course.status),
                ":updated": course.updated.since_1970(),
                ":message": course.message,
                ":attempt": course.attempt,
                ":fence": signed(course.fence),
                ":ready": course.is_ready(),
                ":holder": course.holder.as_ref().map(|holder| holder.life.as_bytes()),
                ":slot": course.holder.map(|holder| holder.slot),
                ":leased": course.leased.map(Moment::since_1970),
            })?;
        self.tally.step(Some(before), Some(row.standing()));
        Ok(())
    }
}

/// The number that stands for no owner.
pub(super) const NOBODY: i64 = 0;

/// Returns the text under which an owner is kept; nothing for whoever knows the id.
pub(super) fn owner_key(owner: &TaskOwner) -> Option<Vec<u8>> {
    match owner {
        TaskOwner::Principal(name) => Some([b"p", name.as_bytes()].concat()),
        TaskOwner::Session(id) => Some([b"s", id.as_bytes().as_slice()].concat()),
        TaskOwner::Bearer => None,
    }
}

pub(in crate::sqlite) const fn status_code(status: TaskStatus) -> i64 {
    match status {
        TaskStatus::Working => 0,
        TaskStatus::InputRequired => 1,
        TaskStatus::Completed => 2,
        TaskStatus::Failed => 3,
        TaskStatus::Cancelled => 4,
    }
}

pub(super) const fn era_code(era: TaskEra) -> i64 {
    match era {
        TaskEra::Modern => 0,
        TaskEra::Legacy => 1,
    }
}

pub(super) fn status(columns: &Columns<'_>, column: usize) -> rusqlite::Result<TaskStatus> {
    let code: i64 = columns.get(column)?;
    let all = [
        TaskStatus::Working,
        TaskStatus::InputRequired,
        TaskStatus::Completed,
        TaskStatus::Failed,
        TaskStatus::Cancelled,
    ];
    all.into_iter()
        .find(|&status| status_code(status) == code)
        .ok_or_else(|| unknown(column))
}

pub(super) fn uuid(columns: &Columns<'_>, column: usize) -> rusqlite::Result<Uuid> {
    columns.get(column).map(Uuid::from_bytes)
}

pub(super) fn moment(columns: &Columns<'_>, column: usize) -> rusqlite::Result<Option<Moment>> {
    Ok(columns.get::<_, Option<i64>>(column)?.map(Moment::new))
}

/// Turns a number into one that the database takes; whatever is larger becomes the
/// largest.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(in crate::sqlite) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

fn era(columns: &Columns<'_>, column: usize) -> rusqlite::Result<TaskEra> {
    let code: i64 = columns.get(column)?;
    [TaskEra::Modern, TaskEra::Legacy]
        .into_iter()
        .find(|&era| era_code(era) == code)
        .ok_or_else(|| unknown(column))
}

/// Nobody's task is never taken for one whose owner is lost.
fn owner_of(number: i64, key: Option<&[u8]>) -> Option<TaskOwner> {
    match key {
        None => (number == NOBODY).then_some(TaskOwner::Bearer),
        Some([b'p', name @ ..]) => String::from_utf8(name.to_vec())
            .ok()
            .map(TaskOwner::Principal),
        Some([b's', id @ ..]) => Uuid::from_slice(id).ok().map(TaskOwner::Session),
        Some(_) => None,
    }
}

/// A value that none of our versions writes.
fn unknown(column: usize) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Null, "not a known value".into())
}
