//! The SQL of sessions.

use conduit_link::SessionRecord;
use rusqlite::{Connection, Row, named_params};
use serde_bytes::ByteBuf;
use uuid::Uuid;

use super::SqliteReader;
use super::transaction::Transaction;
use crate::backend::{Failure, Opening, Reader, Subscribing, Tables};
use crate::retention::{Retention, SLICE, SUBSCRIPTIONS, Second};

impl Reader for SqliteReader {
    fn session(&self, id: Uuid) -> Result<Option<SessionRecord>, Failure> {
        look(self.connection(), id).map_err(|error| Failure::new("look up a session", error))
    }
}

impl Tables for Transaction<'_> {
    fn open(
        &mut self,
        record: &SessionRecord,
        kept: Retention,
        now: Second,
    ) -> Result<Opening, Failure> {
        self.try_open(record, kept, now)
            .map_err(|error| Failure::new("open a session", error))
    }

    fn set_level(&mut self, id: Uuid, level: &str, now: Second) -> Result<bool, Failure> {
        self.connection
            .prepare_cached(
                "UPDATE sessions SET level = :level, used_at = max(used_at, :now) WHERE id = :id",
            )
            .and_then(|mut set| {
                set.execute(named_params! {
                    ":id": id.as_bytes(),
                    ":level": level,
                    ":now": now.since_1970(),
                })
            })
            .map(|changed| changed > 0)
            .map_err(|error| Failure::new("set the log level of a session", error))
    }

    fn subscribe(
        &mut self,
        id: Uuid,
        uri: &str,
        on: bool,
        now: Second,
    ) -> Result<Subscribing, Failure> {
        self.try_subscribe(id, uri, on, now)
            .map_err(|error| Failure::new("change the subscriptions of a session", error))
    }

    fn touch(&mut self, ids: &[Uuid], now: Second) -> Result<(), Failure> {
        self.try_touch(ids, now)
            .map_err(|error| Failure::new("note the use of sessions", error))
    }

    fn end(&mut self, id: Uuid) -> Result<Option<SessionRecord>, Failure> {
        let ended = self
            .try_end(id)
            .map_err(|error| Failure::new("end a session", error))?;
        self.counts.live = self.counts.live.saturating_sub(u64::from(ended.is_some()));
        Ok(ended)
    }

    fn sweep(&mut self, kept: Retention, now: Second) -> Result<Vec<Uuid>, Failure> {
        self.try_sweep(kept, now)
            .map_err(|error| Failure::new("end idle sessions", error))
    }
}

// === Behind the tables ===

impl Transaction<'_> {
    fn try_open(
        &mut self,
        record: &SessionRecord,
        kept: Retention,
        now: Second,
    ) -> rusqlite::Result<Opening> {
        let known = self
            .connection
            .prepare_cached("SELECT 1 FROM sessions WHERE id = :id")?
            .exists(named_params! { ":id": record.id.as_bytes() })?;
        if known {
            return Ok(Opening::Opened { left: Vec::new() });
        }
        let Some(left) = self.make_room(kept, now)? else {
            return Ok(Opening::Full);
        };
        self.insert(record, now)?;
        Ok(Opening::Opened { left })
    }

    /// Returns who left, or nothing if too few may leave.
    fn make_room(&mut self, kept: Retention, now: Second) -> rusqlite::Result<Option<Vec<Uuid>>> {
        let wanted = kept.must_leave(self.counts.live);
        if wanted == 0 {
            return Ok(Some(Vec::new()));
        }
        let oldest = self.oldest(wanted)?;
        let enough = u64::try_from(oldest.len()) == Ok(wanted);
        if !enough
            || !oldest
                .iter()
                .all(|&(_, used)| Retention::may_leave(used, now))
        {
            return Ok(None);
        }
        for &(id, _) in &oldest {
            self.delete(id)?;
        }
        self.counts.live = self.counts.live.saturating_sub(wanted);
        Ok(Some(oldest.into_iter().map(|(id, _)| id).collect()))
    }

    fn oldest(&self, wanted: u64) -> rusqlite::Result<Vec<(Uuid, Second)>> {
        self.connection
            .prepare_cached("SELECT id, used_at FROM sessions ORDER BY used_at LIMIT :wanted")?
            .query_map(
                named_params! { ":wanted": i64::try_from(wanted).unwrap_or(i64::MAX) },
                |row| Ok((id(row)?, Second::new(row.get(1)?))),
            )?
            .collect()
    }

    fn insert(&mut self, record: &SessionRecord, now: Second) -> rusqlite::Result<()> {
        self.connection
            .prepare_cached(
                "INSERT INTO sessions (
                     id, server, version, principal, capabilities, client, level, opened_at, used_at
                 ) VALUES (
                     :id, :server, :version, :principal, :capabilities, :client, :level, :now, :now
                 )",
            )?
            .execute(named_params! {
                ":id": record.id.as_bytes(),
                ":server": record.server,
                ":version": record.version,
                ":principal": record.principal,
                ":capabilities": record.capabilities.as_slice(),
                ":client": record.client.as_slice(),
                ":level": record.level,
                ":now": now.since_1970(),
            })?;
        for uri in &record.subscriptions {
            self.insert_subscription(record.id, uri)?;
        }
        self.counts.live = self.counts.live.saturating_add(1);
        Ok(())
    }

    fn try_subscribe(
        &self,
        id: Uuid,
        uri: &str,
        on: bool,
        now: Second,
    ) -> rusqlite::Result<Subscribing> {
        let known = self
            .connection
            .prepare_cached("UPDATE sessions SET used_at = max(used_at, :now) WHERE id = :id")?
            .execute(named_params! { ":id": id.as_bytes(), ":now": now.since_1970() })?;
        if known == 0 {
            return Ok(Subscribing::Unknown);
        }
        let changed = if on {
            let subscribed = self.subscribed(id, uri)?;
            if !subscribed && self.subscriptions(id)? >= SUBSCRIPTIONS {
                return Ok(Subscribing::Full);
            }
            !subscribed && self.insert_subscription(id, uri)?
        } else {
            self.delete_subscription(id, uri)?
        };
        Ok(if changed {
            Subscribing::Changed
        } else {
            Subscribing::Unchanged
        })
    }

    fn subscribed(&self, id: Uuid, uri: &str) -> rusqlite::Result<bool> {
        self.connection
            .prepare_cached(
                "SELECT 1 FROM session_subscriptions WHERE session = :id AND uri = :uri",
            )?
            .exists(named_params! { ":id": id.as_bytes(), ":uri": uri })
    }

    fn subscriptions(&self, id: Uuid) -> rusqlite::Result<u64> {
        let count: i64 = self
            .connection
            .prepare_cached("SELECT count(*) FROM session_subscriptions WHERE session = :id")?
            .query_row(named_params! { ":id": id.as_bytes() }, |row| row.get(0))?;
        Ok(count.unsigned_abs())
    }

    /// Tells whether it was not there.
    fn insert_subscription(&self, id: Uuid, uri: &str) -> rusqlite::Result<bool> {
        let inserted = self
            .connection
            .prepare_cached(
                "INSERT INTO session_subscriptions (session, uri) VALUES (:id, :uri)
                 ON CONFLICT DO NOTHING",
            )?
            .execute(named_params! { ":id": id.as_bytes(), ":uri": uri })?;
        Ok(inserted > 0)
    }

    /// Tells whether it was there.
    fn delete_subscription(&self, id: Uuid, uri: &str) -> rusqlite::Result<bool> {
        let deleted = self
            .connection
            .prepare_cached("DELETE FROM session_subscriptions WHERE session = :id AND uri = :uri")?
            .execute(named_params! { ":id": id.as_bytes(), ":uri": uri })?;
        Ok(deleted > 0)
    }

    fn try_end(&self, id: Uuid) -> rusqlite::Result<Option<SessionRecord>> {
        let ended = look(self.connection, id)?;
        if ended.is_some() {
            self.delete(id)?;
        }
        Ok(ended)
    }

    /// Deletes a session, and by its key what it wants to hear of.
    fn delete(&self, id: Uuid) -> rusqlite::Result<()> {
        self.connection
            .prepare_cached("DELETE FROM sessions WHERE id = :id")?
            .execute(named_params! { ":id": id.as_bytes() })
            .map(drop)
    }

    fn try_touch(&self, ids: &[Uuid], now: Second) -> rusqlite::Result<()> {
        let mut touch = self.connection.prepare_cached(
            "UPDATE sessions SET used_at = :now WHERE id = :id AND used_at < :now",
        )?;
        for id in ids {
            touch.execute(named_params! { ":id": id.as_bytes(), ":now": now.since_1970() })?;
        }
        Ok(())
    }

    fn try_sweep(&mut self, kept: Retention, now: Second) -> rusqlite::Result<Vec<Uuid>> {
        self.connection
            .prepare_cached("UPDATE sessions SET used_at = :now WHERE used_at > :now")?
            .execute(named_params! { ":now": now.since_1970() })?;
        let swept: Vec<Uuid> = self
            .connection
            .prepare_cached(
                "DELETE FROM sessions WHERE id IN (
                     SELECT id FROM sessions WHERE used_at < :before ORDER BY used_at LIMIT :slice
                 ) RETURNING id",
            )?
            .query_map(
                named_params! {
                    ":before": kept.over_before(now).since_1970(),
                    ":slice": i64::try_from(SLICE).unwrap_or(i64::MAX),
                },
                id,
            )?
            .collect::<rusqlite::Result<_>>()?;
        let gone = u64::try_from(swept.len()).unwrap_or(u64::MAX);
        self.counts.live = self.counts.live.saturating_sub(gone);
        Ok(swept)
    }
}

/// Looks a session up with its subscriptions, in one statement and so in one state of
/// the database.
fn look(connection: &Connection, id: Uuid) -> rusqlite::Result<Option<SessionRecord>> {
    let mut look = connection.prepare_cached(
        "SELECT id, server, version, principal, capabilities, client, level, uri
         FROM sessions LEFT JOIN session_subscriptions ON session = id
         WHERE id = :id ORDER BY uri",
    )?;
    let mut rows = look.query(named_params! { ":id": id.as_bytes() })?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let mut session = record(row)?;
    session.subscriptions.extend(uri(row)?);
    while let Some(row) = rows.next()? {
        session.subscriptions.extend(uri(row)?);
    }
    Ok(Some(session))
}

/// Reads the id in the first column.
fn id(row: &Row<'_>) -> rusqlite::Result<Uuid> {
    row.get(0).map(Uuid::from_bytes)
}

/// Reads the resource in the last column of a look-up, if there is any.
fn uri(row: &Row<'_>) -> rusqlite::Result<Option<String>> {
    row.get(7)
}

/// Reads the columns before it.
fn record(row: &Row<'_>) -> rusqlite::Result<SessionRecord> {
    Ok(SessionRecord {
        id: id(row)?,
        server: row.get(1)?,
        version: row.get(2)?,
        principal: row.get(3)?,
        capabilities: ByteBuf::from(row.get::<_, Vec<u8>>(4)?),
        client: ByteBuf::from(row.get::<_, Vec<u8>>(5)?),
        level: row.get(6)?,
        subscriptions: Vec::new(),
    })
}
