//! Appends in one round trip to SQLite's thread, alone or as part of a transaction.
//!
//! Both statements, the update of the row and the insertion of the events, are sent as one text. The second uses
//! `changes()` to check that the first has updated the row. Only for appends without a request id; for others, see
//! [`tasks::append_in_transaction`].

use motorium_proto::domain::id::EventSeq;
use sqlx::QueryBuilder;

use super::rows::millis;
use super::{Connection, Database, tasks};
use crate::statement_error::StatementError;
use crate::{Append, Appended};

/// Appends as part of the caller's transaction. A rejected append changes nothing.
pub(super) async fn append_in_transaction(
    connection: &mut Connection,
    append: &Append,
) -> Result<Appended, StatementError> {
    let updated = updated(connection, statements("", append)).await?;
    appended(connection, append, &updated).await
}

/// Appends in a transaction of its own, which is sent with the statements.
pub(super) async fn append_alone(
    connection: &mut Connection,
    append: &Append,
) -> Result<Appended, StatementError> {
    let mut query = statements("BEGIN IMMEDIATE; ", append);
    query.push("; COMMIT");
    let updated = match updated(connection, query).await {
        Ok(updated) => updated,
        Err(error) => {
            // Ignored: fails if the transaction was never started.
            let _ = sqlx::query("ROLLBACK").execute(&mut *connection).await;
            return Err(error.into());
        }
    };
    appended(connection, append, &updated).await
}

/// Executes the statements. Returns the last sequence number if the task's row was updated.
async fn updated(
    connection: &mut Connection,
    mut query: QueryBuilder<Database>,
) -> sqlx::Result<Vec<i64>> {
    query.build_query_scalar().fetch_all(connection).await
}

async fn appended(
    connection: &mut Connection,
    append: &Append,
    updated: &[i64],
) -> Result<Appended, StatementError> {
    let Some(last) = updated.first() else {
        return Err(tasks::rejection(connection, append).await?.into());
    };
    Ok(Appended {
        first_seq: EventSeq(last - append.events.len() as i64 + 1),
        last_seq: EventSeq(*last),
        repeated: false,
    })
}

/// Builds the statements. The update is both the fence and the sequence: it only succeeds if the epoch still matches, and
/// the events are numbered from the updated row.
fn statements(before: &str, append: &Append) -> QueryBuilder<Database> {
    let count = append.events.len() as i64;
    let name = append.name.to_string();
    let mut query = QueryBuilder::new(before);
    query.push("UPDATE task SET last_seq = last_seq + ");
    query.push_bind(count);
    query.push(", update_time = ").push_bind(millis(append.now));
    if let Some((state, snapshot)) = &append.view {
        query.push(", state = ").push_bind(*state);
        query.push(", snapshot = ").push_bind(snapshot.to_vec());
    }
    if let Some(until) = append.lease_until() {
        query.push(", lease_until = ").push_bind(millis(until));
    }
    query.push(" WHERE name = ").push_bind(name.clone());
    if let Some(epoch) = append.epoch {
        query.push(" AND epoch = ").push_bind(epoch.0);
    }
    if let Some(seq) = append.expected_seq {
        query.push(" AND last_seq = ").push_bind(seq.0);
    }
    query
        .push(
            " RETURNING last_seq;
             INSERT INTO event (task, seq, at, kind, body, notes)
             SELECT task.id, task.last_seq - ",
        )
        .push_bind(count);
    query.push(
        " + added.column1, added.column2, added.column3, added.column4, CASE added.column1 WHEN ",
    );
    query.push_bind(count).push(" THEN ");
    query.push_bind(append.notes.as_ref().map(|notes| notes.to_vec()));
    query.push(" END FROM task, ( ");
    query.push_values((1_i64..).zip(&append.events), |mut row, (number, event)| {
        row.push_bind(number).push_bind(millis(event.at));
        row.push_bind(event.kind).push_bind(event.body.to_vec());
    });
    query.push(") AS added WHERE changes() > 0 AND task.name = ");
    query.push_bind(name);
    query
}
