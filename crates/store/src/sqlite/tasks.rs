//! The SQL of tasks.

mod leave;
mod read;
mod round;
pub(super) mod row;
mod take;

use conduit_link::{Asker, Holding, NewTask, TakenTask, TaskEntry, TaskRecord, TaskStatus};
use rusqlite::{Connection, OptionalExtension, named_params};
use uuid::Uuid;

pub(super) use self::read::look;
use self::row::{Row, owner_key, select, signed, status, unsigned};
use super::SqliteReader;
use super::transaction::Transaction;
use crate::backend::{
    Answering, Cancelling, Creating, Expired, Failure, Holdings, Losses, Spending, TaskTables,
    Which,
};
use crate::clock::Moment;
use crate::tally::Tally;
use crate::task::{Course, Holder, Limits, Load, Loss};

/// Counts the tasks; takes time in proportion to them.
pub(super) fn tally(connection: &Connection) -> rusqlite::Result<Tally> {
    let statuses: Vec<(TaskStatus, u64)> = connection
        .prepare("SELECT status, count(*) FROM tasks GROUP BY status")?
        .query_map((), |columns| {
            Ok((status(columns, 0)?, columns.get(1).map(unsigned)?))
        })?
        .collect::<rusqlite::Result<_>>()?;
    let held: Vec<Row> = connection
        .prepare(select!("", "WHERE t.holder IS NOT NULL"))?
        .query_map((), Row::read)?
        .collect::<rusqlite::Result<_>>()?;
    Ok(Tally::begin(statuses, held.iter().map(Row::standing)))
}

impl TaskTables for Transaction<'_> {
    fn create(
        &mut self,
        task: &NewTask,
        holder: Holder,
        limits: &Limits,
        now: Moment,
    ) -> Result<Creating, Failure> {
        self.try_create(task, holder, limits, now)
            .map_err(|error| Failure::new("keep a task", error))
    }

    fn answer(
        &mut self,
        id: Uuid,
        asker: &Asker,
        answers: &[TaskEntry],
        now: Moment,
    ) -> Result<Answering, Failure> {
        self.try_answer(id, asker, answers, now)
            .map_err(|error| Failure::new("keep the answers to a task", error))
    }

    fn cancel(
        &mut self,
        id: Uuid,
        asker: Option<&Asker>,
        now: Moment,
    ) -> Result<Option<Cancelling>, Failure> {
        self.try_cancel(id, asker, now)
            .map_err(|error| Failure::new("cancel a task", error))
    }

    fn take(
        &mut self,
        holder: Holder,
        limit: u16,
        limits: &Limits,
        now: Moment,
    ) -> Result<Vec<TakenTask>, Failure> {
        self.try_take(holder, limit, limits, now)
            .map_err(|error| Failure::new("hand tasks over", error))
    }

    fn note(&mut self, holding: Holding, message: &str, now: Moment) -> Result<Holdings, Failure> {
        self.try_note(holding, message, now)
            .map_err(|error| Failure::new("note what a task says", error))
    }

    fn suspend(
        &mut self,
        holding: Holding,
        journal: &[u8],
        questions: &[TaskEntry],
        now: Moment,
    ) -> Result<Holdings, Failure> {
        self.try_suspend(holding, journal, questions, now)
            .map_err(|error| Failure::new("keep the questions of a task", error))
    }

    fn finish(
        &mut self,
        holding: Holding,
        status: TaskStatus,
        outcome: &[u8],
        message: Option<&str>,
        now: Moment,
    ) -> Result<Holdings, Failure> {
        self.try_finish(holding, status, outcome, message, now)
            .map_err(|error| Failure::new("keep the outcome of a task", error))
    }

    fn lose(
        &mut self,
        life: Uuid,
        which: Which<'_>,
        loss: Loss,
        now: Moment,
    ) -> Result<Losses, Failure> {
        self.try_lose(life, which, loss, now)
            .map_err(|error| Failure::new("take tasks from their holder", error))
    }

    fn expire(&mut self, now: Moment) -> Result<Vec<Expired>, Failure> {
        self.try_expire(now)
            .map_err(|error| Failure::new("remove tasks whose time is over", error))
    }

    fn spend(
        &mut self,
        nonce: Uuid,
        until: Moment,
        limits: &Limits,
        now: Moment,
    ) -> Result<Spending, Failure> {
        self.try_spend(nonce, until, limits, now)
            .map_err(|error| Failure::new("spend a state", error))
    }

    fn forget_spent(&mut self, now: Moment) -> Result<usize, Failure> {
        self.try_forget_spent(now)
            .map_err(|error| Failure::new("forget spent states", error))
    }
}

// === Behind the tables ===

impl Transaction<'_> {
    fn try_create(
        &mut self,
        task: &NewTask,
        holder: Holder,
        limits: &Limits,
        now: Moment,
    ) -> rusqlite::Result<Creating> {
        if let Some(kept) = self.known(task.id, holder, now)? {
            return Ok(Creating {
                kept: Some(kept),
                expired: Vec::new(),
            });
        }
        let owner = owner_key(&task.owner);
        let mut expired = Vec::new();
        if !limits.may_keep(self.load(owner.as_deref())?) {
            expired = self.try_expire(now)?;
            if !limits.may_keep(self.load(owner.as_deref())?) {
                return Ok(Creating {
                    kept: None,
                    expired,
                });
            }
        }
        let owner = owner.map(|owner| self.count_owner(&owner)).transpose()?;
        let mut row = Row {
            number: 0,
            id: task.id,
            server: task.server.clone(),
            era: task.era,
            owner,
            owned_by: task.owner.clone(),
            tool: task.tool.clone(),
            created: now,
            ttl_ms: task.ttl_ms.map(storable),
            expires: task.ttl_ms.map(|ttl| now.plus(ttl)),
            poll_ms: task.poll_ms.map(storable),
            course: Course::begin(task.attempts, task.message.clone(), now),
        };
        let may_hold = limits.may_hold(self.tally.held(holder.life, &task.server, owner));
        if may_hold {
            row.course.hold(holder, now);
        }
        self.insert_row(&mut row)?;
        self.connection
            .prepare_cached(
                "INSERT INTO task_work (task, input, journal) VALUES (:task, :input, :journal)",
            )?
            .execute(named_params! {
                ":task": row.number,
                ":input": task.input.as_slice(),
                ":journal": task.journal.as_slice(),
            })?;
        let fence = may_hold.then_some(row.course.fence);
        Ok(Creating {
            kept: Some((row.record(), fence)),
            expired,
        })
    }

    /// Returns a task that exists already, and whether the asker holds it. One whose
    /// time is over counts too, until it is removed: it must not be done twice.
    fn known(
        &self,
        id: Uuid,
        holder: Holder,
        now: Moment,
    ) -> rusqlite::Result<Option<(TaskRecord, Option<u64>)>> {
        let ever = Moment::new(i64::MIN);
        let Some(row) = self.find(id, ever)? else {
            return Ok(None);
        };
        let live = row.expires.is_none_or(|expires| expires > now);
        let holds = row
            .course
            .holder
            .is_some_and(|held| held.life == holder.life);
        let fence = (live && holds).then_some(row.course.fence);
        Ok(look(self.connection, id, ever)?.map(|record| (record, fence)))
    }

    /// Returns how many tasks there are, and how many of this owner.
    fn load(&self, owner: Option<&[u8]>) -> rusqlite::Result<Load> {
        let of_owner = owner
            .map(|owner| {
                let tasks: Option<i64> = self
                    .connection
                    .prepare_cached("SELECT tasks FROM task_owners WHERE owner = :owner")?
                    .query_row(named_params! { ":owner": owner }, |columns| columns.get(0))
                    .optional()?;
                Ok::<_, rusqlite::Error>(tasks.map(unsigned).unwrap_or_default())
            })
            .transpose()?;
        Ok(Load {
            all: self.tally.census().all(),
            of_owner,
        })
    }

    /// Counts one more task of an owner and returns the owner's number.
    fn count_owner(&self, owner: &[u8]) -> rusqlite::Result<i64> {
        self.connection
            .prepare_cached(
                "INSERT INTO task_owners (owner, tasks) VALUES (:owner, 1)
                 ON CONFLICT (owner) DO UPDATE SET tasks = tasks + 1 RETURNING number",
            )?
            .query_row(named_params! { ":owner": owner }, |columns| columns.get(0))
    }

    /// Finds a task whose time is not over.
    fn find(&self, id: Uuid, now: Moment) -> rusqlite::Result<Option<Row>> {
        self.connection
            .prepare_cached(select!(
                "",
                "WHERE t.id = :id AND (t.expires_ms IS NULL OR t.expires_ms > :now)"
            ))?
            .query_row(
                named_params! { ":id": id.as_bytes(), ":now": now.since_1970() },
                Row::read,
            )
            .optional()
    }

    /// Finds a task that the asker may see; the operator sees all.
    fn find_for(
        &self,
        id: Uuid,
        asker: Option<&Asker>,
        now: Moment,
    ) -> rusqlite::Result<Option<Row>> {
        let found = self.find(id, now)?;
        Ok(found.filter(|row| asker.is_none_or(|asker| asker.may_see(&row.record()))))
    }
}

/// Cuts a number to what is read back as it was.
fn storable(number: u64) -> u64 {
    unsigned(signed(number))
}
