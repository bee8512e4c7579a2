//! A transaction at work, whatever it works on.

use rusqlite::Connection;

use crate::tally::Tally;

/// A transaction at work.
pub(super) struct Transaction<'a> {
    pub(super) connection: &'a Connection,
    pub(super) counts: Counts,
    pub(super) tally: &'a mut Tally,
    /// The group of ready tasks whose turn is next. May outlive a failure: it decides
    /// about nothing but order.
    pub(super) turn: &'a mut Turn,
}

/// Rows that are too many to be counted anew for each new one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    /// Sessions.
    pub(super) live: u64,
    /// Spent states.
    pub(super) spent: u64,
}

/// A server, and the number of an owner.
pub(super) type Turn = (String, i64);

impl Counts {
    /// Counts; takes time in proportion to what there is.
    pub(super) fn begin(connection: &Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            live: count(connection, "SELECT count(*) FROM sessions")?,
            spent: count(connection, "SELECT count(*) FROM spent_states")?,
        })
    }
}

fn count(connection: &Connection, query: &str) -> rusqlite::Result<u64> {
    let count: i64 = connection.query_row(query, (), |row| row.get(0))?;
    Ok(count.unsigned_abs())
}
