//! What is read of tasks, by the writer too.

use conduit_link::{Holding, TaskEntry, TaskRecord};
use rusqlite::{Connection, OptionalExtension, Row as Columns, named_params};
use serde_bytes::ByteBuf;
use uuid::Uuid;

use super::SqliteReader;
use super::row::{NEXT, Row, era_code, moment, owner_key, select, unsigned, uuid};
use crate::backend::{Failure, Listed, Place, TaskReader};
use crate::clock::Moment;
use crate::task::Holder;

impl TaskReader for SqliteReader {
    fn task(&self, id: Uuid, now: Moment) -> Result<Option<TaskRecord>, Failure> {
        look(self.connection(), id, now).map_err(|error| Failure::new("look up a task", error))
    }

    fn versions(&self, ids: &[Uuid], now: Moment) -> Result<Vec<(Uuid, u64)>, Failure> {
        versions(self.connection(), ids, now)
            .map_err(|error| Failure::new("look up the versions of tasks", error))
    }

    fn tasks(
        &self,
        of: Listed<'_>,
        after: Option<Place>,
        limit: usize,
        now: Moment,
    ) -> Result<Vec<TaskRecord>, Failure> {
        tasks(self.connection(), of, after, limit, now)
            .map_err(|error| Failure::new("list tasks", error))
    }

    fn holders(&self) -> Result<Vec<Holder>, Failure> {
        holders(self.connection()).map_err(|error| Failure::new("look who holds tasks", error))
    }

    fn held(&self, life: Uuid) -> Result<Vec<(Holding, Moment)>, Failure> {
        held(self.connection(), life)
            .map_err(|error| Failure::new("look what a gateway holds", error))
    }

    fn next_expiry(&self) -> Result<Option<Moment>, Failure> {
        self.connection()
            .prepare_cached("SELECT min(expires_ms) FROM tasks WHERE expires_ms IS NOT NULL")
            .and_then(|mut next| next.query_row((), |columns| moment(columns, 0)))
            .map_err(|error| Failure::new("look for the next task to end", error))
    }
}

// === Behind the reader ===

/// Looks a task up with its questions and its outcome, in one statement and so in one
/// state of the database.
pub(in crate::sqlite) fn look(
    connection: &Connection,
    id: Uuid,
    now: Moment,
) -> rusqlite::Result<Option<TaskRecord>> {
    let mut look = connection.prepare_cached(select!(
        ", d.outcome, q.key, q.question",
        "LEFT JOIN task_outcomes d ON d.task = t.number
         LEFT JOIN task_questions q ON q.task = t.number AND q.answer IS NULL AND t.status = 1
         WHERE t.id = :id AND (t.expires_ms IS NULL OR t.expires_ms > :now)
         ORDER BY q.place"
    ))?;
    let mut rows = look.query(named_params! { ":id": id.as_bytes(), ":now": now.since_1970() })?;
    let Some(columns) = rows.next()? else {
        return Ok(None);
    };
    let mut record = Row::read(columns)?.record();
    record.outcome = columns.get::<_, Option<Vec<u8>>>(NEXT)?.map(ByteBuf::from);
    record.questions.extend(question(columns)?);
    while let Some(columns) = rows.next()? {
        record.questions.extend(question(columns)?);
    }
    Ok(Some(record))
}

/// Returns what a life holds.
pub(super) fn held(
    connection: &Connection,
    life: Uuid,
) -> rusqlite::Result<Vec<(Holding, Moment)>> {
    connection
        .prepare_cached("SELECT id, fence, leased_ms FROM tasks WHERE holder = :life")?
        .query_map(named_params! { ":life": life.as_bytes() }, |columns| {
            let holding = Holding {
                id: uuid(columns, 0)?,
                fence: columns.get(1).map(unsigned)?,
            };
            let leased = moment(columns, 2)?.unwrap_or(Moment::new(0));
            Ok((holding, leased))
        })?
        .collect()
}

fn question(columns: &Columns<'_>) -> rusqlite::Result<Option<TaskEntry>> {
    let key: Option<String> = columns.get(NEXT + 1)?;
    let Some(key) = key else {
        return Ok(None);
    };
    let json = ByteBuf::from(columns.get::<_, Vec<u8>>(NEXT + 2)?);
    Ok(Some(TaskEntry { key, json }))
}

fn versions(
    connection: &Connection,
    ids: &[Uuid],
    now: Moment,
) -> rusqlite::Result<Vec<(Uuid, u64)>> {
    let mut look = connection.prepare_cached(
        "SELECT version FROM tasks
         WHERE id = :id AND (expires_ms IS NULL OR expires_ms > :now)",
    )?;
    let mut found = Vec::with_capacity(ids.len());
    for id in ids {
        let version = look
            .query_row(
                named_params! { ":id": id.as_bytes(), ":now": now.since_1970() },
                |columns| columns.get(0).map(unsigned),
            )
            .optional()?;
        found.extend(version.map(|version| (*id, version)));
    }
    Ok(found)
}

fn tasks(
    connection: &Connection,
    of: Listed<'_>,
    after: Option<Place>,
    limit: usize,
    now: Moment,
) -> rusqlite::Result<Vec<TaskRecord>> {
    let after = after.unwrap_or(Place {
        created: Moment::new(i64::MAX),
        id: Uuid::max(),
    });
    connection
        .prepare_cached(select!(
            "",
            "WHERE t.owner = (SELECT number FROM task_owners WHERE owner = :owner)
               AND t.owner <> 0 AND t.server = :server AND t.era = :era
               AND (t.created_ms, t.id) < (:created, :id)
               AND (t.expires_ms IS NULL OR t.expires_ms > :now)
             ORDER BY t.created_ms DESC, t.id DESC LIMIT :limit"
        ))?
        .query_map(
            named_params! {
                ":owner": owner_key(of.owner),
                ":server": of.server,
                ":era": era_code(of.era),
                ":created": after.created.since_1970(),
                ":id": after.id.as_bytes(),
                ":now": now.since_1970(),
                ":limit": i64::try_from(limit).unwrap_or(i64::MAX),
            },
            |columns| Ok(Row::read(columns)?.record()),
        )?
        .collect()
}

/// Jumps from one life to the next: each may hold thousands.
fn holders(connection: &Connection) -> rusqlite::Result<Vec<Holder>> {
    let mut next = connection.prepare_cached(
        "SELECT holder, holder_slot FROM tasks WHERE holder > :after ORDER BY holder LIMIT 1",
    )?;
    let mut found: Vec<Holder> = Vec::new();
    loop {
        let after = found
            .last()
            .map(|holder| holder.life.as_bytes().as_slice())
            .unwrap_or_default();
        let holder = next
            .query_row(named_params! { ":after": after }, |columns| {
                Ok(Holder {
                    life: uuid(columns, 0)?,
                    slot: columns.get(1)?,
                })
            })
            .optional()?;
        match holder {
            Some(holder) => found.push(holder),
            None => return Ok(found),
        }
    }
}
