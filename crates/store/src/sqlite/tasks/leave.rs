//! How tasks leave: their holder, or altogether. And spent states, which leave too.

use std::collections::HashMap;

use rusqlite::{OptionalExtension, named_params};
use uuid::Uuid;

use super::Transaction;
use super::read::held;
use super::row::{Row, select};
use crate::backend::{Expired, Losses, SPENT_LONGER, Spending, Which};
use crate::clock::Moment;
use crate::task::{Fate, Limits, Loss, SLICE};

impl Transaction<'_> {
    pub(super) fn try_lose(
        &mut self,
        life: Uuid,
        which: Which<'_>,
        loss: Loss,
        now: Moment,
    ) -> rusqlite::Result<Losses> {
        let lost = held(self.connection, life)?
            .into_iter()
            .filter(|(holding, leased)| match which {
                Which::All => true,
                Which::Only(these) => these.contains(holding),
                Which::AllBut(these, before) => !these.contains(holding) && *leased < before,
            })
            .take(SLICE);
        let mut losses = Losses::default();
        for (holding, _) in lost {
            let Some(mut row) = self.find(holding.id, Moment::new(i64::MIN))? else {
                continue;
            };
            let before = row.standing();
            let fate = row.course.lose(loss, now);
            self.save(before, &row)?;
            match fate {
                Fate::Ready => losses.ready.push(row.id),
                Fate::Failed => {
                    self.end_with(&row, &loss.outcome())?;
                    losses.failed.push(row.id);
                }
            }
        }
        Ok(losses)
    }

    pub(super) fn try_expire(&mut self, now: Moment) -> rusqlite::Result<Vec<Expired>> {
        let rows: Vec<Row> = self
            .connection
            .prepare_cached(select!(
                "",
                "WHERE t.expires_ms <= :now ORDER BY t.expires_ms LIMIT :slice"
            ))?
            .query_map(
                named_params! {
                    ":now": now.since_1970(),
                    ":slice": i64::try_from(SLICE).unwrap_or(i64::MAX),
                },
                Row::read,
            )?
            .collect::<rusqlite::Result<_>>()?;
        let mut owners = HashMap::new();
        let mut expired = Vec::with_capacity(rows.len());
        for row in rows {
            self.delete_task(&row)?;
            if let Some(owner) = row.owner {
                *owners.entry(owner).or_default() += 1;
            }
            expired.push(Expired {
                id: row.id,
                holder: row.course.holder,
                had_ended: row.course.status.is_terminal(),
            });
        }
        self.uncount_owners(&owners)?;
        Ok(expired)
    }

    /// Deletes a task, and by its key whatever belongs to it.
    fn delete_task(&mut self, row: &Row) -> rusqlite::Result<()> {
        self.connection
            .prepare_cached("DELETE FROM tasks WHERE number = :number")?
            .execute(named_params! { ":number": row.number })?;
        self.tally.step(Some(row.standing()), None);
        Ok(())
    }

    fn uncount_owners(&self, owners: &HashMap<i64, i64>) -> rusqlite::Result<()> {
        for (number, gone) in owners {
            self.connection
                .prepare_cached(
                    "UPDATE task_owners SET tasks = tasks - :gone WHERE number = :number",
                )?
                .execute(named_params! { ":number": number, ":gone": gone })?;
            self.connection
                .prepare_cached("DELETE FROM task_owners WHERE number = :number AND tasks <= 0")?
                .execute(named_params! { ":number": number })?;
        }
        Ok(())
    }

    pub(super) fn try_spend(
        &mut self,
        nonce: Uuid,
        until: Moment,
        limits: &Limits,
        now: Moment,
    ) -> rusqlite::Result<Spending> {
        let spent: Option<i64> = self
            .connection
            .prepare_cached("SELECT until_ms FROM spent_states WHERE nonce = :nonce")?
            .query_row(named_params! { ":nonce": nonce.as_bytes() }, |columns| {
                columns.get(0)
            })
            .optional()?;
        if spent.is_some() {
            return Ok(Spending::Before);
        }
        if self.counts.spent >= limits.spent {
            self.try_forget_spent(now)?;
            if self.counts.spent >= limits.spent {
                return Ok(Spending::Full);
            }
        }
        self.connection
            .prepare_cached("INSERT INTO spent_states (nonce, until_ms) VALUES (:nonce, :until)")?
            .execute(named_params! {
                ":nonce": nonce.as_bytes(),
                ":until": until.since_1970(),
            })?;
        self.counts.spent = self.counts.spent.saturating_add(1);
        Ok(Spending::Now)
    }

    pub(super) fn try_forget_spent(&mut self, now: Moment) -> rusqlite::Result<usize> {
        let forgotten = self
            .connection
            .prepare_cached(
                "DELETE FROM spent_states WHERE nonce IN (
                     SELECT nonce FROM spent_states WHERE until_ms < :before
                     ORDER BY until_ms LIMIT :slice
                 )",
            )?
            .execute(named_params! {
                ":before": now.minus(SPENT_LONGER).since_1970(),
                ":slice": i64::try_from(SLICE).unwrap_or(i64::MAX),
            })?;
        let gone = u64::try_from(forgotten).unwrap_or(u64::MAX);
        self.counts.spent = self.counts.spent.saturating_sub(gone);
        Ok(forgotten)
    }
}
