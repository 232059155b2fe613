//! Deletion of tasks and sessions.
//!
//! Each locks the row of what it deletes by an update first, as every database understands it: an append or a new task of the
//! session waits, and finds nothing afterwards.

use motorium_proto::domain::id::TaskName;
use sqlx::QueryBuilder;

use super::rows::parse_task_name;
use super::tasks::in_states;
use super::{Connection, StatementError, Store};
use crate::Error;

impl Store {
    pub(super) async fn remove_task(
        &self,
        name: &TaskName,
        ended: &[i32],
    ) -> Result<(), StatementError> {
        let mut writing = self.write().await?;
        remove_task(&mut writing, name, ended).await?;
        writing.commit().await?;
        Ok(())
    }

    pub(super) async fn remove_session(
        &self,
        name: &str,
        ended: &[i32],
        with_tasks: bool,
    ) -> Result<Vec<TaskName>, StatementError> {
        let mut writing = self.write().await?;
        lock_session(&mut writing, name).await?;
        let tasks = tasks_of_session(&mut writing, name).await?;
        if !(with_tasks || tasks.is_empty()) {
            let (session, tasks) = (name.to_owned(), tasks.len());
            return Err(Error::SessionNotEmpty { session, tasks }.into());
        }
        for task in &tasks {
            remove_task(&mut writing, task, ended).await?;
        }
        remove_owned(&mut writing, name).await?;
        sqlx::query("DELETE FROM resource WHERE name = $1")
            .bind(name)
            .execute(&mut *writing)
            .await?;
        writing.commit().await?;
        Ok(tasks)
    }
}

/// Deletes a task as part of the caller's transaction.
async fn remove_task(
    connection: &mut Connection,
    name: &TaskName,
    ended: &[i32],
) -> Result<(), StatementError> {
    let id = lock_ended(connection, name, ended).await?;
    for rows in [
        "DELETE FROM event WHERE task = $1",
        "DELETE FROM blob_use WHERE task = $1",
        "DELETE FROM task_upkeep WHERE task = $1",
    ] {
        sqlx::query(rows).bind(id).execute(&mut *connection).await?;
    }
    remove_owned(connection, &name.to_string()).await?;
    sqlx::query("DELETE FROM task WHERE id = $1")
        .bind(id)
        .execute(connection)
        .await?;
    Ok(())
}

/// Locks the row of a task that has ended and returns its id. A former owner of its lease can no longer write.
async fn lock_ended(
    connection: &mut Connection,
    name: &TaskName,
    ended: &[i32],
) -> Result<i64, StatementError> {
    let mut query = QueryBuilder::new("UPDATE task SET epoch = epoch + 1 WHERE name = ");
    query.push_bind(name.to_string()).push(" AND ");
    in_states(&mut query, ended);
    query.push(" RETURNING id");
    let locked = query.build_query_scalar();
    if let Some(id) = locked.fetch_optional(&mut *connection).await? {
        return Ok(id);
    }
    super::tasks::existing(connection, name).await?;
    Err(Error::TaskNotEnded { task: name.clone() }.into())
}

/// Locks the row of a session, so that no task is added to it.
async fn lock_session(connection: &mut Connection, name: &str) -> Result<(), StatementError> {
    let locked = sqlx::query("UPDATE resource SET update_time = update_time WHERE name = $1")
        .bind(name)
        .execute(connection)
        .await?;
    if locked.rows_affected() == 0 {
        return Err(Error::ResourceNotFound {
            name: name.to_owned(),
        }
        .into());
    }
    Ok(())
}

async fn tasks_of_session(
    connection: &mut Connection,
    session: &str,
) -> sqlx::Result<Vec<TaskName>> {
    let names: Vec<String> = sqlx::query_scalar("SELECT name FROM task WHERE session = $1")
        .bind(session)
        .fetch_all(connection)
        .await?;
    names.iter().map(|name| parse_task_name(name)).collect()
}

/// Deletes the labels and the request ids of the task or resource with this full name.
async fn remove_owned(connection: &mut Connection, name: &str) -> sqlx::Result<()> {
    for rows in [
        "DELETE FROM label WHERE owner = $1",
        "DELETE FROM request WHERE done = $1",
    ] {
        sqlx::query(rows)
            .bind(name)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}
