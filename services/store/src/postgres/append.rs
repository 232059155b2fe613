//! Appends in a single statement.
//!
//! An explicit transaction would take four round trips to the server and lock the task's row for all of them. Only an
//! append with a request id needs one, because the request is recorded with it.

use super::{PostgresStore, tasks};
use crate::statement_error::StatementError;
use crate::{Append, Appended, Error};
use motorium_proto::domain::id::EventSeq;

use super::rows::millis;

impl PostgresStore {
    pub(super) async fn add(&self, append: Append) -> Result<Appended, Error> {
        let added = match append.request {
            Some(_) => self.append_in_transaction(&append).await,
            None => self.append_in_one_statement(&append).await,
        };
        added.map_err(|fault| self.error(fault))
    }

    async fn append_in_transaction(&self, append: &Append) -> Result<Appended, StatementError> {
        let mut writing = self.write().await?;
        let appended = tasks::append_in_transaction(&mut writing, append).await?;
        writing.commit().await?;
        Ok(appended)
    }

    /// Updates the row only if the epoch still matches, and numbers the events from the updated row.
    async fn append_in_one_statement(&self, append: &Append) -> Result<Appended, StatementError> {
        let (state, snapshot) = append
            .view
            .as_ref()
            .map(|(state, snapshot)| (*state, snapshot.as_ref()))
            .unzip();
        let events = &append.events;
        let at: Vec<i64> = events.iter().map(|event| millis(event.at)).collect();
        let kinds: Vec<&str> = events.iter().map(|event| event.kind).collect();
        let bodies: Vec<&[u8]> = events.iter().map(|event| event.body.as_ref()).collect();
        let mut connection = self.writer.acquire().await?;
        let last: Option<i64> = sqlx::query_scalar(
            "WITH advanced AS (
                 UPDATE task SET last_seq = last_seq + $2, update_time = $3, state = COALESCE($4, state),
                                 snapshot = COALESCE($5, snapshot), lease_until = COALESCE($12, lease_until)
                 WHERE name = $1 AND ($6 IS NULL OR epoch = $6) AND ($7 IS NULL OR last_seq = $7)
                 RETURNING id, last_seq
             ), appended AS (
                 INSERT INTO event (task, seq, at, kind, body, notes)
                 SELECT advanced.id, advanced.last_seq - $2 + added.number, added.at, added.kind, added.body,
                        CASE added.number WHEN $2 THEN $11::bytea END
                 FROM advanced, UNNEST($8::bigint[], $9::text[], $10::bytea[])
                      WITH ORDINALITY AS added (at, kind, body, number)
             )
             SELECT last_seq FROM advanced",
        )
        .bind(append.name.to_string())
        .bind(events.len() as i64)
        .bind(millis(append.now))
        .bind(state)
        .bind(snapshot)
        .bind(append.epoch.map(|epoch| epoch.0))
        .bind(append.expected_seq.map(|seq| seq.0))
        .bind(at)
        .bind(kinds)
        .bind(bodies)
        .bind(append.notes.as_deref())
        .bind(append.lease_until().map(millis))
        .fetch_optional(&mut *connection)
        .await?;
        let Some(last) = last else {
            return Err(tasks::rejection(&mut connection, append).await?.into());
        };
        Ok(Appended {
            first_seq: EventSeq(last - events.len() as i64 + 1),
            last_seq: EventSeq(last),
            repeated: false,
        })
    }
}
