//! Appending in one go to SQLite's thread and back, alone or as a part of a transaction.
//!
//! The row is updated and the events are inserted by one text of two statements; what would tell them apart, whether the
//! first has updated anything, the second asks SQLite itself. Only for an append that nobody repeats; one with a request
//! to remember is [`tasks::add`].

use motorium_proto::domain::id::EventSeq;
use sqlx::QueryBuilder;

use super::rows::millis;
use super::{Connection, Database, tasks};
use crate::fault::Fault;
use crate::{Append, Appended};

/// As a part of a transaction that somebody else ends. What is refused has changed nothing.
pub(super) async fn at_once(
    connection: &mut Connection,
    append: &Append,
) -> Result<Appended, Fault> {
    let updated = updated(connection, statements("", append)).await?;
    appended(connection, append, &updated).await
}

/// As a transaction of its own, which goes to SQLite's thread with the rest.
pub(super) async fn alone(connection: &mut Connection, append: &Append) -> Result<Appended, Fault> {
    let mut query = statements("BEGIN IMMEDIATE; ", append);
    query.push("; COMMIT");
    let updated = match updated(connection, query).await {
        Ok(updated) => updated,
        Err(error) => {
            // Where it never began there is none to be left.
            let _ = sqlx::query("ROLLBACK").execute(&mut *connection).await;
            return Err(error.into());
        }
    };
    appended(connection, append, &updated).await
}

/// The last sequence number, if the task's row was updated.
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
) -> Result<Appended, Fault> {
    let Some(last) = updated.first() else {
        return Err(tasks::refusal(connection, append).await?.into());
    };
    Ok(Appended {
        first_seq: EventSeq(last - append.events.len() as i64 + 1),
        last_seq: EventSeq(*last),
        repeated: false,
    })
}

/// The fence and the sequence at once, as everywhere: the row is updated only if the epoch is still the caller's, and the
/// events take the numbers that it gives.
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
