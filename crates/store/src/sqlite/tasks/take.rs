//! Hands ready tasks to whoever has room.
//!
//! The oldest ones first. When so many of the oldest may not run now that a look at
//! them finds nothing, such as a thousand of one owner, the groups of server and owner
//! take turns, so that nobody's tasks wait behind another's.

use conduit_link::{TakenTask, TaskEntry, TaskWork};
use rusqlite::{OptionalExtension, named_params};
use serde_bytes::ByteBuf;

use super::Transaction;
use super::row::{NOBODY, Row, select};
use crate::clock::Moment;
use crate::task::{Holder, Limits, TAKEN};

/// How many of the oldest tasks, and then how many groups, one call looks at.
const LOOK: i64 = 256;

/// What one call hands over.
struct Hand<'a> {
    holder: Holder,
    limits: &'a Limits,
    now: Moment,
    limit: usize,
    taken: Vec<TakenTask>,
    bytes: usize,
    /// The next one does not fit in.
    full: bool,
}

/// A task that is ready.
struct Candidate {
    number: i64,
    server: String,
    owner: i64,
}

impl Hand<'_> {
    const fn is_full(&self) -> bool {
        self.full || self.taken.len() >= self.limit
    }
}

impl Transaction<'_> {
    pub(super) fn try_take(
        &mut self,
        holder: Holder,
        limit: u16,
        limits: &Limits,
        now: Moment,
    ) -> rusqlite::Result<Vec<TakenTask>> {
        let mut hand = Hand {
            holder,
            limits,
            now,
            limit: usize::from(limit),
            taken: Vec::new(),
            bytes: 0,
            full: false,
        };
        if self.tally.census().ready() == 0 {
            return Ok(hand.taken);
        }
        let oldest = self.oldest_ready(now)?;
        let were_all = i64::try_from(oldest.len()).is_ok_and(|seen| seen < LOOK);
        for candidate in oldest {
            self.offer(&candidate, &mut hand)?;
        }
        if !were_all {
            self.take_turns(&mut hand)?;
        }
        Ok(hand.taken)
    }

    fn oldest_ready(&self, now: Moment) -> rusqlite::Result<Vec<Candidate>> {
        self.connection
            .prepare_cached(
                "SELECT number, server, owner FROM tasks
                 WHERE ready = 1 AND (expires_ms IS NULL OR expires_ms > :now)
                 ORDER BY created_ms LIMIT :look",
            )?
            .query_map(
                named_params! { ":now": now.since_1970(), ":look": LOOK },
                candidate,
            )?
            .collect()
    }

    /// Goes round the groups once, from where the last call has stopped.
    fn take_turns(&mut self, hand: &mut Hand<'_>) -> rusqlite::Result<()> {
        let mut at_the_end = false;
        for _ in 0..LOOK {
            if hand.is_full() {
                return Ok(());
            }
            let Some(group) = self.next_group()? else {
                if at_the_end {
                    return Ok(());
                }
                at_the_end = true;
                self.turn.0.clear();
                self.turn.1 = NOBODY - 1;
                continue;
            };
            self.turn.0.clone_from(&group.server);
            self.turn.1 = group.owner;
            for candidate in self.oldest_ready_of(&group, hand)? {
                self.offer(&candidate, hand)?;
            }
        }
        Ok(())
    }

    fn next_group(&self) -> rusqlite::Result<Option<Candidate>> {
        self.connection
            .prepare_cached(
                "SELECT number, server, owner FROM tasks
                 WHERE ready = 1 AND (server, owner) > (:server, :owner)
                 ORDER BY server, owner LIMIT 1",
            )?
            .query_row(
                named_params! { ":server": self.turn.0, ":owner": self.turn.1 },
                candidate,
            )
            .optional()
    }

    fn oldest_ready_of(
        &self,
        group: &Candidate,
        hand: &Hand<'_>,
    ) -> rusqlite::Result<Vec<Candidate>> {
        let room = hand.limit.saturating_sub(hand.taken.len());
        self.connection
            .prepare_cached(
                "SELECT number, server, owner FROM tasks
                 WHERE ready = 1 AND server = :server AND owner = :owner
                   AND (expires_ms IS NULL OR expires_ms > :now)
                 ORDER BY created_ms LIMIT :room",
            )?
            .query_map(
                named_params! {
                    ":server": group.server,
                    ":owner": group.owner,
                    ":now": hand.now.since_1970(),
                    ":room": i64::try_from(room).unwrap_or(LOOK).min(LOOK),
                },
                candidate,
            )?
            .collect()
    }

    /// Hands a task over, if it may run and there is room for it.
    fn offer(&mut self, candidate: &Candidate, hand: &mut Hand<'_>) -> rusqlite::Result<()> {
        let owner = Some(candidate.owner).filter(|&owner| owner != NOBODY);
        let held = self.tally.held(hand.holder.life, &candidate.server, owner);
        if hand.is_full() || !hand.limits.may_hold(held) {
            return Ok(());
        }
        let mut row: Row = self
            .connection
            .prepare_cached(select!("", "WHERE t.number = :number"))?
            .query_row(named_params! { ":number": candidate.number }, Row::read)?;
        let mut work = self.work(row.number)?;
        let bytes = work.input.len() + work.journal.len() + crate::task::size(&work.answers);
        hand.bytes = hand.bytes.saturating_add(bytes);
        if hand.bytes > TAKEN && !hand.taken.is_empty() {
            hand.full = true;
            return Ok(());
        }
        let before = row.standing();
        row.course.hold(hand.holder, hand.now);
        self.save(before, &row)?;
        work.attempt = row.course.attempt;
        hand.taken.push(TakenTask {
            record: row.record(),
            work,
            fence: row.course.fence,
        });
        Ok(())
    }

    fn work(&self, task: i64) -> rusqlite::Result<TaskWork> {
        let answers = self
            .connection
            .prepare_cached(
                "SELECT key, answer FROM task_questions
                 WHERE task = :task AND answer IS NOT NULL ORDER BY place",
            )?
            .query_map(named_params! { ":task": task }, |columns| {
                Ok(TaskEntry {
                    key: columns.get(0)?,
                    json: ByteBuf::from(columns.get::<_, Vec<u8>>(1)?),
                })
            })?
            .collect::<rusqlite::Result<_>>()?;
        self.connection
            .prepare_cached("SELECT input, journal FROM task_work WHERE task = :task")?
            .query_row(named_params! { ":task": task }, |columns| {
                Ok(TaskWork {
                    input: ByteBuf::from(columns.get::<_, Vec<u8>>(0)?),
                    journal: ByteBuf::from(columns.get::<_, Vec<u8>>(1)?),
                    answers,
                    attempt: 0,
                })
            })
    }
}

fn candidate(columns: &rusqlite::Row<'_>) -> rusqlite::Result<Candidate> {
    Ok(Candidate {
        number: columns.get(0)?,
        server: columns.get(1)?,
        owner: columns.get(2)?,
    })
}
