//! Queries for old tasks and sessions, for the index of used blobs, and for duties.
//!
//! They do not decide what is old or used: their caller says it.

use std::collections::HashSet;
use std::time::{Duration, SystemTime};

use motorium_proto::domain::id::{EventSeq, TaskName};
use sqlx::QueryBuilder;

use super::rows::{millis, parse_task_name};
use super::tasks::in_states;
use super::{Connection, Database, StatementError, Store};
use crate::{BlobId, Error, OldSessions, OldTasks, TaskCursor, TaskPart, Tenants, UnindexedTask};

/// Maximum number of blobs in one statement.
// Far below the number of values that a statement may have.
const MAX_BLOBS_PER_STATEMENT: usize = 1000;

/// Adds the condition that a row belongs to one of these tenants.
fn of_tenants(statement: &mut QueryBuilder<Database>, tenants: &Tenants) {
    let (operator, names) = match tenants {
        Tenants::AllBut(names) if names.is_empty() => return,
        Tenants::AllBut(names) => (" AND tenant NOT IN (", names.as_slice()),
        Tenants::One(name) => (" AND tenant IN (", std::slice::from_ref(name)),
    };
    statement.push(operator);
    let mut list = statement.separated(", ");
    for name in names {
        list.push_bind(name.clone());
    }
    statement.push(")");
}

impl Store {
    pub(super) async fn tasks_before(
        &self,
        query: OldTasks,
    ) -> Result<Vec<TaskName>, StatementError> {
        let mut statement = QueryBuilder::new(
            "SELECT name FROM task LEFT JOIN task_upkeep ON task_upkeep.task = task.id WHERE ",
        );
        in_states(&mut statement, &query.states);
        of_tenants(&mut statement, &query.tenants);
        statement
            .push(" AND update_time < ")
            .push_bind(millis(query.before));
        statement.push(match query.with {
            None => "",
            Some(TaskPart::Notes) => " AND COALESCE(task_upkeep.notes_deleted, 0) = 0",
            Some(TaskPart::Blobs) => " AND COALESCE(task_upkeep.blobs_released, 0) = 0",
        });
        statement
            .push(" ORDER BY task.id LIMIT ")
            .push_bind(i64::from(query.limit));
        let names = statement.build_query_scalar().fetch_all(&self.readers);
        let names: Vec<String> = names.await?;
        let names = names.iter().map(|name| parse_task_name(name));
        Ok(names.collect::<sqlx::Result<_>>()?)
    }

    pub(super) async fn sessions_before(
        &self,
        query: OldSessions,
    ) -> Result<Vec<String>, StatementError> {
        let mut statement =
            QueryBuilder::new("SELECT name FROM resource WHERE collection = 'sessions'");
        of_tenants(&mut statement, &query.tenants);
        statement
            .push(" AND update_time < ")
            .push_bind(millis(query.before))
            .push(" AND NOT EXISTS (SELECT 1 FROM task WHERE session = resource.name)")
            .push(" ORDER BY id LIMIT ")
            .push_bind(i64::from(query.limit));
        let names = statement.build_query_scalar().fetch_all(&self.readers);
        Ok(names.await?)
    }

    pub(super) async fn uploads_before(
        &self,
        before: SystemTime,
        after: &str,
        limit: u32,
    ) -> Result<Vec<String>, StatementError> {
        let names = sqlx::query_scalar(
            "SELECT name FROM resource WHERE collection = 'uploads' AND update_time < $1 AND name > $2
             ORDER BY name LIMIT $3",
        );
        let names = names.bind(millis(before)).bind(after.to_owned());
        Ok(names
            .bind(i64::from(limit))
            .fetch_all(&self.readers)
            .await?)
    }

    pub(super) async fn remove_unused_upload(
        &self,
        name: &str,
        before: SystemTime,
    ) -> Result<bool, StatementError> {
        let digits = name.rsplit('/').next().unwrap_or_default();
        // A name without a hash stands for no content.
        let blob = BlobId::parse(digits).map_or_else(Vec::new, |blob| blob.sha256().to_vec());
        let deleted = sqlx::query(
            "DELETE FROM resource WHERE name = $1 AND collection = 'uploads' AND update_time < $2 AND NOT EXISTS
             (SELECT 1 FROM blob_use JOIN task ON task.id = blob_use.task
              WHERE blob_use.blob = $3 AND task.tenant = resource.tenant)",
        );
        let deleted = deleted
            .bind(name.to_owned())
            .bind(millis(before))
            .bind(blob);
        let deleted = deleted.execute(&self.writer).await?;
        Ok(deleted.rows_affected() > 0)
    }

    pub(super) async fn remove_notes(&self, name: &TaskName) -> Result<(), StatementError> {
        let mut writing = self.write().await?;
        let id = id(&mut writing, name).await?;
        sqlx::query("UPDATE event SET notes = NULL WHERE task = $1 AND notes IS NOT NULL")
            .bind(id)
            .execute(&mut *writing)
            .await?;
        set_upkeep(&mut writing, id, "notes_deleted", 1).await?;
        writing.commit().await?;
        Ok(())
    }

    pub(super) async fn tasks_to_index(
        &self,
        after: TaskCursor,
        limit: u32,
    ) -> Result<Vec<UnindexedTask>, StatementError> {
        let rows: Vec<(i64, String, String, i64, i64)> = sqlx::query_as(
            "SELECT id, name, uid, COALESCE(indexed_seq, 0), last_seq
             FROM task LEFT JOIN task_upkeep ON task_upkeep.task = task.id
             WHERE id > $1 AND last_seq > COALESCE(indexed_seq, 0) ORDER BY id LIMIT $2",
        )
        .bind(after.0)
        .bind(i64::from(limit))
        .fetch_all(&self.readers)
        .await?;
        let task = |(id, name, uid, indexed, last): (i64, String, String, i64, i64)| {
            Ok(UnindexedTask {
                cursor: TaskCursor(id),
                name: parse_task_name(&name)?,
                uid,
                indexed_seq: EventSeq(indexed),
                last_seq: EventSeq(last),
            })
        };
        Ok(rows.into_iter().map(task).collect::<sqlx::Result<_>>()?)
    }

    pub(super) async fn add_uses(
        &self,
        task: &UnindexedTask,
        blobs: &[BlobId],
    ) -> Result<(), StatementError> {
        let mut writing = self.write().await?;
        // Locks the row, so that the task is not deleted meanwhile.
        let id: Option<i64> = sqlx::query_scalar(
            "UPDATE task SET epoch = epoch WHERE name = $1 AND uid = $2 RETURNING id",
        )
        .bind(task.name.to_string())
        .bind(&task.uid)
        .fetch_optional(&mut *writing)
        .await?;
        let Some(id) = id else {
            return Ok(());
        };
        for batch in blobs.chunks(MAX_BLOBS_PER_STATEMENT) {
            let mut query = QueryBuilder::new("INSERT INTO blob_use (blob, task) ");
            query.push_values(batch, |mut row, blob| {
                row.push_bind(blob.sha256().to_vec()).push_bind(id);
            });
            query.push(" ON CONFLICT DO NOTHING");
            query.build().execute(&mut *writing).await?;
        }
        set_upkeep(&mut writing, id, "indexed_seq", task.last_seq.0).await?;
        writing.commit().await?;
        Ok(())
    }

    pub(super) async fn remove_uses(
        &self,
        name: &TaskName,
        kept: &[BlobId],
    ) -> Result<(), StatementError> {
        let mut writing = self.write().await?;
        let id = id(&mut writing, name).await?;
        let used: Vec<Vec<u8>> = sqlx::query_scalar("SELECT blob FROM blob_use WHERE task = $1")
            .bind(id)
            .fetch_all(&mut *writing)
            .await?;
        let kept: HashSet<[u8; 32]> = kept.iter().map(|blob| blob.sha256()).collect();
        for blob in used {
            if kept.iter().any(|kept| kept[..] == blob[..]) {
                continue;
            }
            sqlx::query("DELETE FROM blob_use WHERE blob = $1 AND task = $2")
                .bind(blob)
                .bind(id)
                .execute(&mut *writing)
                .await?;
        }
        set_upkeep(&mut writing, id, "blobs_released", 1).await?;
        writing.commit().await?;
        Ok(())
    }

    pub(super) async fn uses(&self, ids: &[BlobId]) -> Result<HashSet<BlobId>, StatementError> {
        let mut used = HashSet::new();
        for batch in ids.chunks(MAX_BLOBS_PER_STATEMENT) {
            let mut query = QueryBuilder::new("SELECT DISTINCT blob FROM blob_use WHERE blob IN (");
            let mut list = query.separated(", ");
            for id in batch {
                list.push_bind(id.sha256().to_vec());
            }
            query.push(")");
            let found: Vec<Vec<u8>> = query.build_query_scalar().fetch_all(&self.readers).await?;
            let found = found.into_iter().filter_map(|blob| blob.try_into().ok());
            used.extend(found.map(|sha256: [u8; 32]| BlobId::from(sha256)));
        }
        Ok(used)
    }

    pub(super) async fn take(
        &self,
        duty: &str,
        owner: &str,
        ttl: Duration,
        now: SystemTime,
    ) -> Result<bool, StatementError> {
        let taken = sqlx::query(
            "INSERT INTO duty (name, owner, lease_until) VALUES ($1, $2, $3)
             ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, lease_until = excluded.lease_until
             WHERE duty.owner = excluded.owner OR duty.lease_until <= $4",
        )
        .bind(duty)
        .bind(owner)
        .bind(millis(now + ttl))
        .bind(millis(now))
        .execute(&self.writer)
        .await?;
        Ok(taken.rows_affected() > 0)
    }

    pub(super) async fn give_back(&self, duty: &str, owner: &str) -> Result<(), StatementError> {
        sqlx::query("DELETE FROM duty WHERE name = $1 AND owner = $2")
            .bind(duty)
            .bind(owner)
            .execute(&self.writer)
            .await?;
        Ok(())
    }

    pub(super) async fn has_copy_mark(&self) -> Result<bool, StatementError> {
        let mark = sqlx::query("SELECT 1 FROM meta WHERE key = 'copy'");
        Ok(mark.fetch_optional(&self.readers).await?.is_some())
    }

    pub(super) async fn remove_copy_mark(&self) -> Result<(), StatementError> {
        sqlx::query("DELETE FROM meta WHERE key = 'copy'")
            .execute(&self.writer)
            .await?;
        Ok(())
    }

    pub(super) async fn read_generation(&self) -> Result<(), StatementError> {
        sqlx::query("SELECT value FROM meta WHERE key = 'generation'")
            .fetch_one(&self.readers)
            .await?;
        Ok(())
    }
}

/// Sets a column of the upkeep of a task, which has none before the first one is set.
async fn set_upkeep(
    connection: &mut Connection,
    task: i64,
    column: &'static str,
    value: i64,
) -> Result<(), StatementError> {
    sqlx::query(
        "INSERT INTO task_upkeep (task, indexed_seq, notes_deleted, blobs_released) VALUES ($1, 0, 0, 0)
         ON CONFLICT (task) DO NOTHING",
    )
    .bind(task)
    .execute(&mut *connection)
    .await?;
    QueryBuilder::<Database>::new("UPDATE task_upkeep SET ")
        .push(column)
        .push(" = ")
        .push_bind(value)
        .push(" WHERE task = ")
        .push_bind(task)
        .build()
        .execute(&mut *connection)
        .await?;
    Ok(())
}

/// Returns the id of a task, whose row it locks.
async fn id(connection: &mut Connection, name: &TaskName) -> Result<i64, StatementError> {
    let id = sqlx::query_scalar("UPDATE task SET epoch = epoch WHERE name = $1 RETURNING id")
        .bind(name.to_string())
        .fetch_optional(&mut *connection)
        .await?;
    id.ok_or_else(|| Error::TaskNotFound { task: name.clone() }.into())
}
