//! Conversion between database rows and domain values.
//!
//! It sends no statements but those for labels.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use motorium_proto::domain::id::{EventSeq, TaskEpoch, TaskName};
use sqlx::{FromRow, QueryBuilder, Row as _};

use super::{Connection, Database, DatabaseRow};
use crate::{EventRow, ResourceRow, TaskRow};

/// Converts a time to whole milliseconds since 1970, the stored form. Times out of range are capped.
pub(super) fn millis(time: SystemTime) -> i64 {
    let whole = |time: Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
    time.duration_since(UNIX_EPOCH)
        .map_or_else(|before| -whole(before.duration()), whole)
}

fn time(millis: i64) -> SystemTime {
    let distance = Duration::from_millis(millis.unsigned_abs());
    let time = if millis < 0 {
        UNIX_EPOCH.checked_sub(distance)
    } else {
        UNIX_EPOCH.checked_add(distance)
    };
    time.unwrap_or(UNIX_EPOCH)
}

fn bytes(row: &DatabaseRow, column: &str) -> sqlx::Result<Bytes> {
    row.try_get::<Vec<u8>, _>(column).map(Bytes::from)
}

/// A row with its id, which orders lists.
pub(super) struct WithId<T> {
    pub(super) id: i64,
    pub(super) row: T,
}

impl<'r, T: FromRow<'r, DatabaseRow>> FromRow<'r, DatabaseRow> for WithId<T> {
    fn from_row(row: &'r DatabaseRow) -> sqlx::Result<Self> {
        Ok(Self {
            id: row.try_get("id")?,
            row: T::from_row(row)?,
        })
    }
}

impl FromRow<'_, DatabaseRow> for TaskRow {
    fn from_row(row: &DatabaseRow) -> sqlx::Result<Self> {
        let owner: Option<String> = row.try_get("owner")?;
        let lease_until = time(row.try_get("lease_until")?);
        Ok(Self {
            name: parse_task_name(row.try_get("name")?)?,
            uid: row.try_get("uid")?,
            tenant: row.try_get("tenant")?,
            state: row.try_get("state")?,
            snapshot: bytes(row, "snapshot")?,
            last_seq: EventSeq(row.try_get("last_seq")?),
            epoch: TaskEpoch(row.try_get("epoch")?),
            lease_until: owner.as_ref().map(|_| lease_until),
            owner,
            create_time: time(row.try_get("create_time")?),
            update_time: time(row.try_get("update_time")?),
        })
    }
}

pub(super) fn parse_task_name(name: &str) -> sqlx::Result<TaskName> {
    TaskName::parse("name", name).map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

impl FromRow<'_, DatabaseRow> for EventRow {
    fn from_row(row: &DatabaseRow) -> sqlx::Result<Self> {
        Ok(Self {
            seq: EventSeq(row.try_get("seq")?),
            at: time(row.try_get("at")?),
            kind: row.try_get("kind")?,
            body: bytes(row, "body")?,
        })
    }
}

impl FromRow<'_, DatabaseRow> for ResourceRow {
    fn from_row(row: &DatabaseRow) -> sqlx::Result<Self> {
        Ok(Self {
            name: row.try_get("name")?,
            tenant: row.try_get("tenant")?,
            body: bytes(row, "body")?,
            create_time: time(row.try_get("create_time")?),
            update_time: time(row.try_get("update_time")?),
        })
    }
}

/// Replaces the labels of the task or resource with this full name.
pub(super) async fn set_labels(
    connection: &mut Connection,
    owner: &str,
    labels: &BTreeMap<String, String>,
) -> sqlx::Result<()> {
    sqlx::query("DELETE FROM label WHERE owner = $1")
        .bind(owner)
        .execute(&mut *connection)
        .await?;
    for (key, value) in labels {
        let insert = sqlx::query("INSERT INTO label (owner, key, value) VALUES ($1, $2, $3)");
        insert
            .bind(owner)
            .bind(key)
            .bind(value)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

/// Restricts a query to rows that have all of these labels. The rows must have a `name`.
pub(super) fn having_labels(query: &mut QueryBuilder<Database>, labels: BTreeMap<String, String>) {
    for (key, value) in labels {
        query
            .push(" AND EXISTS (SELECT 1 FROM label WHERE owner = name AND key = ")
            .push_bind(key);
        query.push(" AND value = ").push_bind(value).push(")");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_kept_in_whole_milliseconds() {
        for ms in [0, 1, 1_700_000_000_123, -1, -86_400_000] {
            assert_eq!(millis(time(ms)), ms);
        }
        assert_eq!(millis(UNIX_EPOCH + Duration::from_micros(1999)), 1);
    }
}
