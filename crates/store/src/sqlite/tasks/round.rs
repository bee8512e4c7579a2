//! The rounds of a task: what its work says, asks and returns, and what its client
//! answers.

use conduit_link::{Asker, Holding, TaskEntry, TaskRecord, TaskStatus};
use rusqlite::named_params;
use serde_bytes::ByteBuf;
use uuid::Uuid;

use super::Transaction;
use super::read::look;
use super::row::Row;
use crate::backend::{Answering, Cancelling, Holdings};
use crate::clock::Moment;
use crate::task::{Ending, Fenced, ROOM, size};

impl Transaction<'_> {
    pub(super) fn try_note(
        &mut self,
        holding: Holding,
        message: &str,
        now: Moment,
    ) -> rusqlite::Result<Holdings> {
        let Some(mut row) = self.find(holding.id, now)? else {
            return Ok(Holdings::Fenced);
        };
        let before = row.standing();
        match row.course.note(holding.fence, message.to_owned(), now) {
            Ok(()) => {
                self.save(before, &row)?;
                Ok(done(row.record()))
            }
            Err(Fenced) => Ok(Holdings::Fenced),
        }
    }

    pub(super) fn try_suspend(
        &mut self,
        holding: Holding,
        journal: &[u8],
        questions: &[TaskEntry],
        now: Moment,
    ) -> rusqlite::Result<Holdings> {
        let Some(mut row) = self.find(holding.id, now)? else {
            return Ok(Holdings::Fenced);
        };
        let before = row.standing();
        match row.course.suspend(holding.fence, now) {
            Ok(Ending::Now) => {}
            Ok(Ending::Before) => return self.as_it_is(holding.id, now),
            Err(Fenced) => return Ok(Holdings::Fenced),
        }
        let (input, _) = self.work_sizes(row.number)?;
        let questioned = journal.len().saturating_add(size(questions));
        if input.saturating_add(questioned) > ROOM {
            return Ok(Holdings::Full);
        }
        self.save(before, &row)?;
        self.connection
            .prepare_cached("UPDATE task_work SET journal = :journal WHERE task = :task")?
            .execute(named_params! { ":task": row.number, ":journal": journal })?;
        self.forget_questions(&row)?;
        self.insert_questions(&row, questions)?;
        self.as_it_is(holding.id, now)
    }

    pub(super) fn try_finish(
        &mut self,
        holding: Holding,
        status: TaskStatus,
        outcome: &[u8],
        message: Option<&str>,
        now: Moment,
    ) -> rusqlite::Result<Holdings> {
        let Some(mut row) = self.find(holding.id, now)? else {
            return Ok(Holdings::Fenced);
        };
        let before = row.standing();
        let message = message.map(str::to_owned);
        match row.course.finish(holding.fence, status, message, now) {
            Ok(Ending::Now) => {
                self.save(before, &row)?;
                self.end_with(&row, outcome)?;
                let mut record = row.record();
                record.outcome = Some(ByteBuf::from(outcome));
                Ok(done(record))
            }
            Ok(Ending::Before) => match self.as_it_is(holding.id, now)? {
                Holdings::Done(record) if ended_with(&record, outcome) => {
                    Ok(Holdings::Done(record))
                }
                Holdings::Done(_) | Holdings::Fenced | Holdings::Full => Ok(Holdings::Fenced),
            },
            Err(Fenced) => Ok(Holdings::Fenced),
        }
    }

    pub(super) fn try_cancel(
        &mut self,
        id: Uuid,
        asker: Option<&Asker>,
        now: Moment,
    ) -> rusqlite::Result<Option<Cancelling>> {
        let Some(mut row) = self.find_for(id, asker, now)? else {
            return Ok(None);
        };
        let before = row.standing();
        let cancelled = row.course.cancel(now);
        if cancelled.is_ok() {
            self.save(before, &row)?;
            self.forget_questions(&row)?;
        }
        Ok(look(self.connection, id, now)?.map(|record| Cancelling {
            record,
            had_ended: cancelled.is_err(),
            holder: cancelled.ok().flatten(),
        }))
    }

    pub(super) fn try_answer(
        &mut self,
        id: Uuid,
        asker: &Asker,
        answers: &[TaskEntry],
        now: Moment,
    ) -> rusqlite::Result<Answering> {
        let Some(mut row) = self.find_for(id, Some(asker), now)? else {
            return Ok(Answering::Unknown);
        };
        let mut resumed = false;
        if row.course.status == TaskStatus::InputRequired {
            let outstanding = self.outstanding(&row)?;
            let asked = |answer: &&TaskEntry| outstanding.contains(&answer.key);
            let answers: Vec<TaskEntry> = answers.iter().filter(asked).cloned().collect();
            let (input, rest) = self.work_sizes(row.number)?;
            if input.saturating_add(rest).saturating_add(size(&answers)) > ROOM {
                return Ok(Answering::Full);
            }
            let answered = self.insert_answers(&row, &answers)?;
            if answered > 0 {
                let before = row.standing();
                resumed = answered == outstanding.len();
                row.course.answer(resumed, now);
                self.save(before, &row)?;
            }
        }
        Ok(match look(self.connection, id, now)? {
            Some(record) => Answering::Kept {
                record: Box::new(record),
                resumed,
            },
            None => Answering::Unknown,
        })
    }

    /// Keeps how a task has ended, of which nobody is asked any more.
    pub(super) fn end_with(&self, row: &Row, outcome: &[u8]) -> rusqlite::Result<()> {
        self.forget_questions(row)?;
        self.connection
            .prepare_cached("INSERT INTO task_outcomes (task, outcome) VALUES (:task, :outcome)")?
            .execute(named_params! { ":task": row.number, ":outcome": outcome })
            .map(drop)
    }

    fn as_it_is(&self, id: Uuid, now: Moment) -> rusqlite::Result<Holdings> {
        Ok(look(self.connection, id, now)?.map_or(Holdings::Fenced, done))
    }

    /// Returns how many bytes the input has, and the journal with the answers.
    fn work_sizes(&self, task: i64) -> rusqlite::Result<(usize, usize)> {
        self.connection
            .prepare_cached(
                "SELECT length(input), length(journal) + (
                     SELECT ifnull(sum(length(key) + length(answer)), 0)
                     FROM task_questions WHERE task = :task
                 ) FROM task_work WHERE task = :task",
            )?
            .query_row(named_params! { ":task": task }, |columns| {
                let size = |size: i64| usize::try_from(size).unwrap_or(usize::MAX);
                Ok((columns.get(0).map(size)?, columns.get(1).map(size)?))
            })
    }

    /// Returns the keys under which the client has not answered.
    fn outstanding(&self, row: &Row) -> rusqlite::Result<Vec<String>> {
        self.connection
            .prepare_cached("SELECT key FROM task_questions WHERE task = :task AND answer IS NULL")?
            .query_map(named_params! { ":task": row.number }, |columns| {
                columns.get(0)
            })?
            .collect()
    }

    /// A key that comes twice is asked once, with the first question.
    fn insert_questions(&self, row: &Row, questions: &[TaskEntry]) -> rusqlite::Result<()> {
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO task_questions (task, place, key, question)
             SELECT :task, :place, :key, :question WHERE NOT EXISTS (
                 SELECT 1 FROM task_questions WHERE task = :task AND key = :key
             )",
        )?;
        for (place, TaskEntry { key, json }) in (0_i64..).zip(questions) {
            insert.execute(named_params! {
                ":task": row.number,
                ":place": place,
                ":key": key,
                ":question": json.as_slice(),
            })?;
        }
        Ok(())
    }

    /// Returns how many questions are answered by this.
    fn insert_answers(&self, row: &Row, answers: &[TaskEntry]) -> rusqlite::Result<usize> {
        let mut update = self.connection.prepare_cached(
            "UPDATE task_questions SET answer = :answer
             WHERE task = :task AND key = :key AND answer IS NULL",
        )?;
        let mut answered = 0;
        for TaskEntry { key, json } in answers {
            answered += update.execute(named_params! {
                ":task": row.number,
                ":key": key,
                ":answer": json.as_slice(),
            })?;
        }
        Ok(answered)
    }

    fn forget_questions(&self, row: &Row) -> rusqlite::Result<()> {
        self.connection
            .prepare_cached("DELETE FROM task_questions WHERE task = :task")?
            .execute(named_params! { ":task": row.number })
            .map(drop)
    }
}

fn done(record: TaskRecord) -> Holdings {
    Holdings::Done(Box::new(record))
}

fn ended_with(record: &TaskRecord, outcome: &[u8]) -> bool {
    record
        .outcome
        .as_ref()
        .is_some_and(|kept| kept.as_slice() == outcome)
}
